"""Special functions. Integers are promoted to floating numbers, as in torch."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from dynreg_numpy.ir import Argument, Value
from dynreg_numpy.lowering import Builder, Promotion, broadcast, lowers

aten = torch.ops.aten

#: Kernels of ``dynreg_numpy.runtime.special`` of one argument.
UNARY = {
    aten.digamma.default: "digamma",
    aten.erfinv.default: "erfinv",
    aten.i0.default: "i0",
    aten.lgamma.default: "lgamma",
    aten.special_airy_ai.default: "airy_ai",
    aten.special_bessel_j0.default: "bessel_j0",
    aten.special_bessel_j1.default: "bessel_j1",
    aten.special_bessel_y0.default: "bessel_y0",
    aten.special_bessel_y1.default: "bessel_y1",
    aten.special_entr.default: "entr",
    aten.special_erfcx.default: "erfcx",
    aten.special_i0e.default: "i0e",
    aten.special_i1.default: "i1",
    aten.special_i1e.default: "i1e",
    aten.special_log_ndtr.default: "log_ndtr",
    aten.special_modified_bessel_i0.default: "i0",
    aten.special_modified_bessel_i1.default: "i1",
    aten.special_modified_bessel_k0.default: "k0",
    aten.special_modified_bessel_k1.default: "k1",
    aten.special_ndtri.default: "ndtri",
    aten.special_scaled_modified_bessel_k0.default: "k0e",
    aten.special_scaled_modified_bessel_k1.default: "k1e",
    aten.special_spherical_bessel_j0.default: "spherical_bessel_j0",
}

#: Kernels of two arguments, by the name of the op; each has overloads with a number.
BINARY = {
    "igamma": "igamma",
    "igammac": "igammac",
    "xlogy": "xlogy",
    "special_xlog1py": "xlog1py",
    "special_zeta": "zeta",
    **{
        f"special_{name}": name
        for name in (
            *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
            *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
            *("hermite_polynomial_h", "hermite_polynomial_he"),
            *("laguerre_polynomial_l", "legendre_polynomial_p"),
        )
    },
}


def _unary(b: Builder, x: Value, *, source: str) -> Argument:
    (x,), result = b.promote(x, kind=Promotion.INT_TO_FLOAT)
    return b.cast(b.call(f"special.{source}", x, dtype=x.dtype), result)


def _binary(b: Builder, x: Argument, y: Argument, *, source: str) -> Argument:
    (x, y), result = b.promote(x, y, kind=Promotion.INT_TO_FLOAT)
    arrays = [arg if isinstance(arg, Value) else b.full((), arg, result) for arg in (x, y)]
    shape = broadcast(*(array.shape for array in arrays))
    return b.cast(b.call(f"special.{source}", *arrays, shape=shape, dtype=arrays[0].dtype), result)


for _overload, _name in UNARY.items():
    lowers(_overload)(partial(_unary, source=_name))
for _op, _name in BINARY.items():
    _packet: Any = getattr(aten, _op)
    lowers(
        *(getattr(_packet, o) for o in _packet.overloads() if "out" not in o.lower().split("_"))
    )(partial(_binary, source=_name))


@lowers(aten.polygamma.default)
def polygamma(b: Builder, n: int, x: Value) -> Argument:
    (x,), result = b.promote(x, kind=Promotion.INT_TO_FLOAT)
    return b.cast(b.call("special.polygamma", n, x, dtype=x.dtype), result)
