"""Tensors and arrays are the same memory, whatever their strides and dtypes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy._dtypes import NUMPY
from dynreg_numpy.interop import from_array, to_array
from dynreg_numpy.runtime import layout

#: complex32 has no arithmetic in NumPy, and making one warns once per process: a test of its own.
DTYPES = sorted(NUMPY.keys() - {torch.complex32}, key=str)


@st.composite
def views(draw):
    """A tensor that is a view: transposed, expanded, sliced with a step and an offset."""
    shape = draw(st.lists(st.integers(1, 4), min_size=0, max_size=4))
    dtype = draw(st.sampled_from(DTYPES))
    x = torch.arange(int(np.prod(shape)) * 3 + 5).to(torch.float32).to(dtype)
    x = x[draw(st.integers(0, 4)) :][: int(np.prod(shape))].reshape(shape)
    if shape:
        x = x.permute(draw(st.permutations(range(len(shape)))))
        axis = draw(st.integers(0, len(shape) - 1))
        x = x.narrow(axis, 0, draw(st.integers(0, x.shape[axis])))
    if draw(st.booleans()):
        x = x.unsqueeze(0).expand(3, *x.shape)
    return x


@given(views())
def test_there_and_back_is_the_same_memory(x):
    array = to_array(x)
    assert array.shape == tuple(x.shape)
    if x.numel():
        assert array.strides == tuple(step * x.element_size() for step in x.stride())
        assert array.__array_interface__["data"][0] == x.data_ptr()
    back = from_array(array)
    assert (back.dtype, back.shape) == (x.dtype, x.shape)
    if x.numel():
        assert (back.data_ptr(), back.stride()) == (x.data_ptr(), x.stride())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_survive(dtype):
    x = torch.tensor([0, 1, 2, 3]).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    array = to_array(x).astype(np.complex128 if dtype.is_complex else np.float64)
    assert array.tolist() == x.to(wide).tolist()
    assert torch.equal(from_array(to_array(x)).to(wide), x.to(wide))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_complex_of_halves_is_a_pair_in_the_same_memory():
    x = torch.tensor([1 + 2j, 3 - 4j]).to(torch.complex32)
    array = to_array(x)
    assert (array["real"].tolist(), array["imag"].tolist()) == ([1, 3], [2, -4])
    back = from_array(array)
    assert (back.dtype, back.data_ptr()) == (torch.complex32, x.data_ptr())
    assert torch.equal(torch.view_as_real(back), torch.view_as_real(x))


def test_conjugate_and_negative_bits_are_resolved():
    x = torch.tensor([1 + 2j, 3 - 4j])
    assert to_array(x.conj()).tolist() == [1 - 2j, 3 + 4j]
    assert x.conj().imag.is_neg()
    assert to_array(x.conj().imag).tolist() == [-2, 4]


def test_a_numpy_scalar_becomes_a_tensor_without_dimensions():
    x = from_array(np.float32(1.5))
    assert (x.shape, x.dtype, x.item()) == ((), torch.float32, 1.5)


def test_negative_strides_are_copied():
    assert from_array(np.arange(3)[::-1]).tolist() == [2, 1, 0]


def test_read_only_memory_is_never_handed_out_writable():
    array = np.arange(3.0)
    array.flags.writeable = False
    x = from_array(array)
    x.zero_()
    assert array.tolist() == [0, 1, 2]


def test_a_sparse_tensor_is_refused():
    with pytest.raises(TypeError, match="dense CPU tensors"):
        to_array(torch.eye(2).to_sparse())


@given(views(), st.data())
def test_promised_strides_are_given(x, data):
    array = to_array(x)
    order = data.draw(st.permutations(range(array.ndim)))
    like = np.empty([array.shape[i] for i in order], array.dtype)
    strides = like.transpose(np.argsort(order)).strides
    result = layout.strided(array, strides)
    assert result.strides == strides
    assert (result == array).all()
