"""Torch as the oracle of the runtime's kernels."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, register_random, settings


class _TorchRandom:
    """Lets Hypothesis seed torch, so that an example that fails fails again."""

    def seed(self, seed):
        torch.manual_seed(seed)

    def getstate(self):
        return torch.get_rng_state()

    def setstate(self, state):
        torch.set_rng_state(state)


_TORCH_RANDOM = _TorchRandom()
register_random(_TORCH_RANDOM)
settings.register_profile(
    "runtime", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("runtime")

_VIA_BITS = {
    torch.bfloat16: (torch.int16, ml_dtypes.bfloat16),
    torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
    torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2),
}
_FROM_BITS = {np.dtype(scalar): (bits, dtype) for dtype, (bits, scalar) in _VIA_BITS.items()}


def to_array(value):
    """Turn tensors, also inside lists and tuples, into arrays that share their memory."""
    if isinstance(value, (list, tuple)):
        return type(value)(to_array(item) for item in value)
    if not isinstance(value, torch.Tensor):
        return value
    if value.dtype in _VIA_BITS:
        bits, scalar = _VIA_BITS[value.dtype]
        return value.view(bits).numpy().view(scalar)
    return value.numpy()


def to_tensor(value):
    """Turn an array back into a tensor."""
    value = np.ascontiguousarray(value).reshape(value.shape)
    if value.dtype in _FROM_BITS:
        bits, dtype = _FROM_BITS[value.dtype]
        raw = value.view(np.int16 if bits is torch.int16 else np.uint8)
        return torch.from_numpy(raw.copy()).view(dtype)
    return torch.from_numpy(value.copy())


class Oracle:
    """Runs one function in torch and its counterpart in NumPy on the same data."""

    array = staticmethod(to_array)
    tensor = staticmethod(to_tensor)

    def agree(self, actual, expected, by_dtype=None, **tolerances):
        """Assert that results have torch's dtype, shape and values, within its tolerances."""
        if isinstance(expected, (list, tuple)):
            assert len(actual) == len(expected)
            for one, other in zip(actual, expected, strict=True):
                self.agree(one, other, by_dtype, **tolerances)
        elif isinstance(expected, torch.Tensor):
            assert isinstance(actual, (np.ndarray, np.generic)), type(actual)
            torch.testing.assert_close(
                to_tensor(actual),
                expected.detach().resolve_conj().resolve_neg(),
                equal_nan=True,
                check_stride=False,
                **(by_dtype or {}).get(expected.dtype, tolerances),
            )
        else:
            assert actual == expected

    def exactly(self, reference, *args):
        """Run torch on float32 copies of narrow floats, and round to the dtypes of its own result.

        torch's kernels for narrow floats accumulate in different ways on different machines;
        the float32 result, rounded once, is what all of them approximate.
        """
        promised = reference(*args)
        narrow = (torch.float16, torch.bfloat16)

        def is_narrow(value):
            return isinstance(value, torch.Tensor) and value.dtype in narrow

        if not any(map(is_narrow, args)):
            return promised
        wide = reference(*(a.float() if is_narrow(a) else a for a in args))
        if isinstance(promised, torch.Tensor):
            return wide.to(promised.dtype)
        return [w if p is None else w.to(p.dtype) for w, p in zip(wide, promised, strict=True)]

    def same(self, reference, kernel, *args, tolerances=None, **kwargs):
        """Assert that ``kernel`` on arrays agrees with ``reference`` on the tensors in ``args``."""
        expected = reference(*args, **kwargs) if kwargs else self.exactly(reference, *args)
        before = [a.clone() for a in args if isinstance(a, torch.Tensor)]
        actual = kernel(*to_array(args), **{k: to_array(v) for k, v in kwargs.items()})
        self.agree(actual, expected, **(tolerances or {}))
        for was, now in zip(before, (a for a in args if isinstance(a, torch.Tensor)), strict=True):
            assert torch.equal(was.nan_to_num(), now.nan_to_num()), "an input was written"


@pytest.fixture(scope="session")
def oracle():
    return Oracle()


@pytest.fixture(autouse=True, scope="session")
def _silent_numpy():
    """Run kernels as generated code does; see the conventions of the runtime."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
