"""The functions of the IR and how each is written: data, to which lowerings refer by name."""

from __future__ import annotations

from dynreg_numpy.ir import Function, Kind

__all__ = ["CAST", "CONTIGUOUS_VIEW", "FUNCTIONS", "ITEM"]

CAST = Function("elementwise.cast", Kind.POINTWISE)
ITEM = Function("{0}[{1}]", Kind.ITEM)
CONTIGUOUS_VIEW = Function("np.reshape", Kind.VIEW)

_UFUNCS = {
    # ours: NumPy's
    "neg": "negative",
    "abs": "absolute",
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "true_divide": "true_divide",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "fmod": "fmod",
    "pow": "power",
    "float_power": "float_power",
    "maximum": "maximum",
    "minimum": "minimum",
    "fmax": "fmax",
    "fmin": "fmin",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "square": "square",
    "reciprocal": "reciprocal",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "atan2": "arctan2",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "logaddexp2": "logaddexp2",
    "copysign": "copysign",
    "nextafter": "nextafter",
    "heaviside": "heaviside",
    "ldexp": "ldexp",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "isnan": "isnan",
    "isinf": "isinf",
    "isfinite": "isfinite",
    "signbit": "signbit",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "logical_not": "logical_not",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "bitwise_not": "invert",
    "gcd": "gcd",
    "lcm": "lcm",
    "conj": "conjugate",
    "deg2rad": "deg2rad",
    "rad2deg": "rad2deg",
}

_KERNELS = (
    # of dynreg_numpy.runtime.elementwise, each with out=
    "sigmoid",
    "rsqrt",
    "erf",
    "erfc",
    "sign",
    "gelu",
    "gelu_tanh",
    "integer_power",
    "integer_floor_divide",
    "integer_trunc_divide",
    "left_shift",
    "right_shift",
)

FUNCTIONS: dict[str, Function] = {
    **{name: Function(f"np.{ufunc}", Kind.POINTWISE, out=True) for name, ufunc in _UFUNCS.items()},
    **{name: Function(f"elementwise.{name}", Kind.POINTWISE, out=True) for name in _KERNELS},
    "where": Function("np.where", Kind.POINTWISE),
    "clip": Function("np.clip", Kind.POINTWISE, out=True),
    "sum": Function("np.add.reduce", Kind.REDUCTION),
    "prod": Function("np.multiply.reduce", Kind.REDUCTION),
    "amax": Function("np.maximum.reduce", Kind.REDUCTION),
    "amin": Function("np.minimum.reduce", Kind.REDUCTION),
    "any": Function("np.logical_or.reduce", Kind.REDUCTION),
    "all": Function("np.logical_and.reduce", Kind.REDUCTION),
    "var": Function("reductions.var", Kind.REDUCTION),
}
"""Name to function: the ufuncs of NumPy, our elementwise kernels, and the reductions."""
