"""The backends pass the conformance suite."""

import pytest

from dynreg_core.conformance import CASES, run_case


@pytest.mark.parametrize("backend", ["eager_interpret", "eager_replay"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conforms(case, backend):
    result = run_case(case, backend, options=None)
    assert result.outcome == "passed", result.detail
