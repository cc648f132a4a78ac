"""The conformance suite passes what is right, and finds what is wrong on purpose."""

import json

import pytest
from click.testing import CliRunner

import dynreg_core
from dynreg_core import conformance, errors
from dynreg_core._types import BackendInfo, BackendManifest
from dynreg_core.cli import cli
from dynreg_core.conformance import CASES, run_case, run_cases

torch = pytest.importorskip("torch", reason="the suite runs torch.compile")
pytest.importorskip("torch._dynamo", reason="likewise")

BY_NAME = {case.name: case for case in CASES}


@pytest.fixture(autouse=True)
def _undo():
    with dynreg_core.using():
        yield
    torch._dynamo.reset()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_eager_conforms(case):
    result = run_case(case, "eager")
    assert (result.outcome, result.detail) == ("passed", "")
    assert result.seconds > 0


def wrong(change):
    """Register a backend that runs eager and changes what it takes or gives."""

    def backend(graph_module, example_inputs, *, options=None):
        def run(*inputs):
            return change(graph_module, inputs)

        return run

    dynreg_core.register_backend(backend, name="wrong")


def tensors(values):
    return [value for value in values if isinstance(value, torch.Tensor)]


def run_on_copies(graph_module, inputs):
    copies = [v.detach().clone() if isinstance(v, torch.Tensor) else v for v in inputs]
    return graph_module(*copies)


def add_a_little(graph_module, inputs):
    outputs = graph_module(*inputs)
    return tuple(v + 0.01 if isinstance(v, torch.Tensor) else v for v in outputs)


def widen(graph_module, inputs):
    outputs = graph_module(*inputs)
    return tuple(v.double() if isinstance(v, torch.Tensor) else v for v in outputs)


def copy_outputs(graph_module, inputs):
    outputs = graph_module(*inputs)
    return tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in outputs)


def share_outputs(graph_module, inputs):
    outputs = list(graph_module(*inputs))
    if len(outputs) == 2:
        outputs[1] = outputs[0]
    return tuple(outputs)


def raises(graph_module, inputs):
    raise ValueError("it cannot be done")


@pytest.mark.parametrize(
    ("change", "case", "told"),
    [
        (add_a_little, "pointwise", "output 0 differs"),
        (widen, "pointwise", "output 0 differs: The values for attribute 'dtype'"),
        (run_on_copies, "mutation", "input 0 after the call differs"),
        (run_on_copies, "training", "gradient of"),
        (run_on_copies, "buffers", "buffer "),
        (copy_outputs, "views", "which results share memory differs"),
        (share_outputs, "equal-outputs", "which results share memory differs"),
        (raises, "linear", "ValueError: it cannot be done"),
        (add_a_little, "dynamic", "output 0 differs"),
    ],
)
def test_what_is_wrong_is_found(change, case, told):
    wrong(change)
    result = run_case(BY_NAME[case], "wrong")
    assert not result.passed
    assert told in result.detail


def test_what_the_manifest_rules_out_is_not_applicable(monkeypatch):
    manifest = BackendManifest("eager", "dynreg.toml", 1, training=False)
    info = BackendInfo("eager", "torch", "", manifest=manifest)
    monkeypatch.setattr(dynreg_core, "get_backend_info", lambda name: info)
    result = run_case(BY_NAME["training"], "eager")
    assert (result.outcome, result.passed) == ("not applicable", True)
    assert run_case(BY_NAME["linear"], "eager").outcome == "passed"


def test_an_unknown_backend_is_an_error_before_any_case():
    with pytest.raises(errors.UnknownBackendError):
        next(run_cases("nothing_of_this_name"))


def test_every_case_has_a_name_of_its_own_and_leaves_the_seed_alone():
    assert len(BY_NAME) == len(CASES)
    state = torch.get_rng_state()
    run_case(BY_NAME["linear"], "eager")
    assert torch.equal(torch.get_rng_state(), state)


# --- the command -------------------------------------------------------------------------------


@pytest.fixture
def few_cases(monkeypatch):
    cases = (BY_NAME["pointwise"], BY_NAME["linear"])
    monkeypatch.setattr(conformance, "CASES", cases)


@pytest.mark.usefixtures("few_cases")
def test_the_command_tells_what_passed_and_what_failed():
    done = CliRunner().invoke(cli, ["conform", "eager"])
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "passed   a chain of pointwise ops agrees, with broadcasting",
        "passed   a module with parameters agrees",
        "",
        "2 of 2 cases passed, 0 failed",
    ]
    wrong(raises)
    done = CliRunner().invoke(cli, ["conform", "wrong"])
    assert done.exit_code == 1
    assert "failed   a module with parameters agrees\n         ValueError: " in done.output
    assert "0 of 2 cases passed, 2 failed" in done.output


@pytest.mark.usefixtures("few_cases")
def test_the_command_passes_options_and_prints_json():
    seen = []

    def backend(graph_module, example_inputs, *, options=None):
        seen.append(options)
        return graph_module.forward

    dynreg_core.register_backend(backend, name="with_options")
    arguments = ["conform", "with_options", "--json", "--option", "level=3", "--option", "a=b=c"]
    done = CliRunner().invoke(cli, arguments)
    assert [row["outcome"] for row in json.loads(done.output)] == ["passed", "passed"]
    assert seen[0] == {"level": 3, "a": "b=c"}


@pytest.mark.parametrize("pair", ["level", "=3"])
def test_an_option_that_is_none_is_a_usage_error(pair):
    done = CliRunner().invoke(cli, ["conform", "eager", "--option", pair])
    assert done.exit_code == 2
    assert "is not KEY=VALUE" in done.output
