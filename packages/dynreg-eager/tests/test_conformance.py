"""``eager_interpret`` passes the conformance suite."""

import pytest

from dynreg_core.conformance import CASES, run_case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conforms(case):
    result = run_case(case, "eager_interpret", options=None)
    assert result.outcome == "passed", result.detail
