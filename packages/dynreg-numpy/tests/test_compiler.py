"""The pipeline: what a compilation gives, counts, writes, refuses, and leaves alone."""

import copy
import logging
import traceback
from pathlib import Path

import pytest
import torch
from torch import nn

import dynreg_numpy
import dynreg_numpy.lowerings
from dynreg_core import errors
from dynreg_numpy import MissingLoweringError, get_op_counts, reset_op_counts
from dynreg_numpy.lowering import LOWERINGS, lowers
from dynreg_numpy.passes import PASSES

aten = torch.ops.aten
HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    reset_op_counts()
    torch.manual_seed(0)


def compiled(f, **options):
    return torch.compile(f, backend="numpy", fullgraph=True, options=options or None)


# --- the lowering table ------------------------------------------------------------------------


def test_a_second_lowering_of_an_overload_is_refused_and_enters_nothing():
    before = dict(LOWERINGS)
    with pytest.raises(ValueError, match=r"aten\.add\.Tensor has a lowering already"):
        lowers(doubled._opoverload, aten.add.Tensor)
    assert before == LOWERINGS


# --- fallback ----------------------------------------------------------------------------------


@torch.library.custom_op("dynreg_test::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@doubled.register_fake
def _(x):
    return torch.empty_like(x)


def test_an_op_without_a_lowering_runs_in_torch_logged_once_and_counted(caplog):
    from dynreg_numpy import _lower

    _lower._logged.discard("dynreg_test.doubled.default")
    with caplog.at_level(logging.WARNING, "dynreg_numpy"):
        for _ in range(2):
            torch._dynamo.reset()
            f = compiled(lambda x: doubled(x + 1).t() * 3)
            x = torch.randn(2, 3)
            torch.testing.assert_close(f(x), ((x + 1) * 2).t() * 3)
    assert get_op_counts().fallback == {"dynreg_test.doubled.default": 2}
    assert get_op_counts().native["aten.add.Tensor"] == 2
    messages = [record.getMessage() for record in caplog.records if record.name == "dynreg_numpy"]
    assert messages == ["dynreg_test.doubled.default has no lowering and runs with torch's kernel"]


def test_fallback_error_names_the_op_and_the_line():
    f = compiled(lambda x: doubled(x) + 1, fallback="error")
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as caught:
        f(torch.ones(2))
    error = caught.value.inner_exception
    assert isinstance(error, MissingLoweringError)
    assert error.op == "dynreg_test.doubled.default"
    assert HERE in error.location
    assert "hint: leave out options={'fallback': 'error'}" in str(caught.value)


def test_an_unknown_option_is_refused_with_the_closest_name():
    f = compiled(lambda x: x + 1, falback="error")
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="did you mean 'fallback'"):
        f(torch.ones(2))


# --- source ------------------------------------------------------------------------------------


def test_dump_writes_the_source_with_the_lines_of_the_user(tmp_path):
    def f(x, y):
        z = torch.sin(x)  # this very line
        return z + y

    compiled(f, dump=str(tmp_path))(torch.ones(2), torch.ones(2))
    (file,) = tmp_path.glob("graph_*_inference.py")
    source = file.read_text()
    assert "np.sin(" in source
    assert "torch" not in source
    line = f.__code__.co_firstlineno + 1
    assert f"{HERE}:{line}" in source


def test_the_source_runs_without_torch(tmp_path):
    import subprocess
    import sys

    compiled(lambda x, y: torch.softmax(x @ y, 0), dump=str(tmp_path))(
        torch.eye(2), torch.ones(2, 2)
    )
    (file,) = tmp_path.glob("graph_*_inference.py")
    program = f"""
import runpy, sys
import numpy as np
kernel = runpy.run_path({str(file)!r})["kernel"]
(out,) = kernel(np.eye(2, dtype=np.float32), np.ones((2, 2), np.float32))
assert out.tolist() == [[0.5, 0.5], [0.5, 0.5]]
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_error_in_generated_code_shows_both_lines():
    def f(x, index):
        return x[index]  # the guilty line

    with pytest.raises(IndexError) as caught:
        compiled(f)(torch.zeros(3), torch.tensor([7]))
    text = "".join(traceback.format_exception(caught.value))
    assert "<dynreg_numpy graph_" in text
    assert "indexing.index(" in text
    (note,) = caught.value.__notes__
    assert note.startswith("in aten.index.Tensor at ")
    assert "return x[index]" in note


# --- memory ------------------------------------------------------------------------------------


def test_inputs_are_mutated_where_the_program_mutates_them():
    def f(x, y):
        x.add_(y)
        return x * 2

    x, y = torch.ones(3), torch.ones(3)
    out = compiled(f)(x, y)
    assert x.tolist() == [2, 2, 2]
    assert y.tolist() == [1, 1, 1]
    assert out.tolist() == [4, 4, 4]


def test_outputs_alias_inputs_where_torch_says_so():
    x = torch.ones(2, 3)
    view, same, copy_ = compiled(lambda x: (x.t(), x, x.clone()))(x)
    assert view.data_ptr() == x.data_ptr()
    assert same is x
    assert copy_.data_ptr() != x.data_ptr()


def test_a_result_that_equals_an_input_is_not_the_input():
    def f(x):
        total = x.cumsum(0)  # of one number, which it is
        x.mul_(2)
        return total

    x = torch.tensor(0.5)
    total = compiled(f)(x)
    assert (total, x) == (0.5, 1)
    assert total.data_ptr() != x.data_ptr()


def test_equal_outputs_do_not_share_memory():
    one, other = compiled(lambda x: (x + 1, x + 1))(torch.zeros(3))
    one.add_(5)
    assert other.tolist() == [1, 1, 1]


def test_a_returned_constant_is_a_copy():
    table = torch.arange(3.0)
    f = compiled(lambda x: (x + 1, torch.ones(2)))
    f(table)[1].zero_()
    assert f(table)[1].tolist() == [1, 1]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.permute(2, 0, 1) + 1,
        lambda x: torch.conv2d(x[None], torch.ones(1, 4, 1, 1)),
        lambda x: (x + 1).expand(2, *x.shape),
        lambda x: x.transpose(0, 1).contiguous(),
        lambda x: x.to(memory_format=torch.preserve_format, dtype=torch.float64),
        lambda x: x[:, ::2, 1:],
        lambda x: (x * 2).sum(1),
    ],
)
def test_outputs_have_the_strides_that_torch_promises(f):
    x = torch.randn(4, 5, 6)
    torch.testing.assert_close(compiled(f)(x), f(x), check_stride=True)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_empty_and_0d(shape):
    x = torch.randn(shape)
    for f in (lambda x: x * 2 + 1, lambda x: x.sum() + x, lambda x: x.reshape(-1).exp()):
        torch._dynamo.reset()
        torch.testing.assert_close(compiled(f)(x), f(x), check_stride=True)


# --- dtypes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [torch.int32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("right", [torch.bool, torch.int64, torch.float32, torch.bfloat16])
def test_types_are_promoted_as_torch_does(left, right):
    x = torch.tensor([1, 2, 3]).to(left)
    y = torch.tensor([3, 0, 2]).to(right)
    scalar = torch.tensor(2).to(right)

    def f(x, y, scalar):
        return x + y, x * 2, x / 2.5, x * scalar, x > y, (x + y).sum(), x - 1.5

    for one, other in zip(compiled(f)(x, y, scalar), f(x, y, scalar), strict=True):
        torch.testing.assert_close(one, other)


# --- random numbers ----------------------------------------------------------------------------


def test_the_same_seed_gives_the_numbers_of_eager():
    def f(x):
        return nn.functional.dropout(x, 0.5) + torch.rand(3) + torch.randn(3)

    x = torch.ones(3)
    torch.manual_seed(5)
    expected = f(x)
    torch.manual_seed(5)
    torch.testing.assert_close(compiled(f)(x), expected)


def test_dropout_in_training_uses_one_mask_forward_and_backward():
    x = torch.ones(1000, requires_grad=True)
    out = compiled(lambda x: nn.functional.dropout(x, 0.5))(x)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out.detach())


# --- passes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("disabled", [[], *([name] for name in PASSES), list(PASSES)])
def test_each_pass_can_be_left_out(disabled):
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten())
    plain = copy.deepcopy(model)
    x = torch.randn(2, 1, 6, 6)
    torch.testing.assert_close(compiled(model, disable_passes=disabled)(x), plain(x))


def test_an_unknown_pass_is_refused():
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no pass is named fuze"):
        compiled(lambda x: x + 1, disable_passes=["fuze"])(torch.ones(1))


def test_buffers_are_reused_without_touching_inputs(tmp_path):
    def f(x):
        return ((x + 1) * 2).exp().tanh()

    x = torch.zeros(4)
    compiled(f, dump=str(tmp_path))(x)
    assert x.tolist() == [0, 0, 0, 0]
    (file,) = tmp_path.glob("*.py")
    assert file.read_text().count("out=") == 3


# --- the package -------------------------------------------------------------------------------


def test_the_package_exports_what_it_says_and_is_lazy():
    import subprocess
    import sys

    for name in dynreg_numpy.__all__:
        assert getattr(dynreg_numpy, name) is not None
    assert set(dynreg_numpy.__all__) <= set(dir(dynreg_numpy))
    with pytest.raises(AttributeError):
        dynreg_numpy.nothing  # noqa: B018 - the access is what is tested
    program = "import sys, dynreg_numpy.runtime; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_errors_are_dynregs():
    assert issubclass(MissingLoweringError, errors.DynregError)
