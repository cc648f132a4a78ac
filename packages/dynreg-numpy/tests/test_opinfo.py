"""The numpy backend over torch's own databases of ops and modules.

What is run, and how it is compared, is ``dynreg_numpy.coverage``'s, which the command ``dynreg
numpy coverage`` runs too. A seeded sample runs here, everything under the marker ``long``. What
Dynamo does not capture as a whole graph is no matter of the backend.
"""

import random

import pytest

from dynreg_numpy.coverage import Entry
from dynreg_numpy.coverage._check import check, list_entries

SAMPLES = 2

#: Results in float32 that rounding takes further from torch's than its tolerance, with the cause.
ROUNDING = {
    "addbmm": "sums of products that cancel, added in another order",
    "matrix_exp": "another series than torch's",
    "linalg.cond": "a quotient of singular values, each rounded",
    "special.log_ndtr": "torch's own derivative has fewer digits",
    "ConvTranspose3d": "sums of products that cancel, added in another order",
    "LazyConvTranspose3d": "as ConvTranspose3d",
}

#: Ops that run on torch's kernels, with the reason.
FALLBACK = {
    "chalf": "NumPy has no complex numbers of float16",
    "nn.functional.linear_cross_entropy.chunked": "torch makes it a custom op",
    "nn.functional.linear_cross_entropy.chunked_none": "torch makes it a custom op",
}


def entries(mode):
    return list_entries((mode,), ("float32",))


def sampled(mode, count):
    return random.Random(0).sample(entries(mode), count)  # noqa: S311 - a sample of tests


def parameters(chosen):
    return [pytest.param(entry, id=str(entry).replace(" ", "-")) for entry in chosen]


def hold(entry: Entry, samples: int) -> None:
    result = check(entry, samples)
    allowed = {"native", "not captured", "no samples", "undetermined", "torch differs"}
    if entry.name in FALLBACK:
        allowed.add("fallback")
    if entry.name in ROUNDING and result.outcome == "mismatch":
        pytest.xfail(ROUNDING[entry.name])
    assert result.outcome in allowed, f"{result.outcome}: {result.fallback} {result.detail}"


QUICK = [
    *sampled("inference", 60),
    *sampled("gradient", 40),
    *sampled("dynamic", 20),
    *sampled("train", 25),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", parameters(QUICK))
def test_a_sample_agrees_and_is_native(entry):
    hold(entry, SAMPLES)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "entry",
    parameters(
        [entry for mode in ("inference", "gradient", "train", "eval") for entry in entries(mode)]
    ),
)
def test_everything_agrees_and_is_native(entry):
    hold(entry, 4)
