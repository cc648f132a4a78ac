"""Plugins of other people, good and broken, as real wheels."""

import json

import pytest

BROKEN = {
    # name: (distribution, what the error names as the cause)
    "missing_module": ("broken-missing-module", "No module named"),
    "missing_attribute": ("broken-missing-attribute", "compile_graph"),
    "not_callable": ("broken-not-callable", "not callable"),
    "raises": ("broken-raises", "libacme.so: cannot open shared object file"),
}
ALL = ["acme-backend", "taken-name", "twin-one", "twin-two", *(row[0] for row in BROKEN.values())]

LOOKUP = """
import json, sys
from dynreg_core import errors, lookup_backend
try:
    found = lookup_backend(sys.argv[1])
    print(json.dumps({"found": f"{found.__module__}.{found.__qualname__}"}))
except errors.DynregError as error:
    print(json.dumps({"error": type(error).__name__, "text": str(error)}))
"""


@pytest.fixture(scope="module")
def environment(install):
    return install("dynreg-core", *ALL)


def lookup(environment, name):
    return json.loads(environment.run("-c", LOOKUP, name).stdout)


def test_a_plugin_that_does_not_know_dynreg_lists_and_loads(environment):
    (info,) = [info for info in environment.infos() if info["name"] == "acme"]
    assert (info["distribution"], info["version"], info["status"]) == (
        "acme-backend",
        "1.2.3",
        "ready",
    )
    assert info["description"] == "A backend that knows only torch's documentation"
    assert lookup(environment, "acme") == {"found": "acme_backend.compiler.acme_compiler"}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_named_with_its_distribution_and_cause(environment, name):
    distribution, cause = BROKEN[name]
    told = lookup(environment, name)
    assert told["error"] == "BackendLoadError"
    sentence, hint = told["text"].split("\nhint: ")
    assert f"backend {name!r} from {distribution} 1.2.3" in sentence
    assert cause in sentence
    assert hint


def test_listing_imports_none_of_them(environment):
    program = "import dynreg_core, sys; dynreg_core.list_backends(None); print(*sys.modules)"
    imported = environment.run("-c", program).stdout.split()
    assert not [name for name in imported if name.startswith(("broken_", "acme", "twin", "torch"))]


def test_two_distributions_with_one_name_are_ambiguous_until_pinned(environment):
    told = lookup(environment, "twin")
    assert told["error"] == "AmbiguousBackendError"
    assert "twin-one 1.2.3, twin-two 1.2.3" in told["text"]
    assert lookup(environment, "twin@twin-two") == {"found": "twin_two.compile_graph"}
    pinned = environment.run("-c", LOOKUP, "twin", DYNREG_PIN="twin@twin-one").stdout
    assert json.loads(pinned) == {"found": "twin_one.compile_graph"}


def test_the_doctor_finds_them(environment):
    done = environment.dynreg("doctor", "--json", check=False)
    assert done.returncode == 1
    findings = json.loads(done.stdout)["findings"]
    kinds = {(finding["backend"], finding["kind"]) for finding in findings}
    assert ("missing_module", "broken") in kinds
    assert ("twin", "ambiguous") in kinds
    assert all(finding["hint"] for finding in findings)
    assert "acme" not in {finding["backend"] for finding in findings}


def test_the_doctor_is_content_with_good_ones(install):
    environment = install("dynreg-core", "acme-backend")
    done = environment.dynreg("doctor")
    assert done.stdout == "no problems, 1 installed backend checked\n"


def test_the_doctor_finds_a_changed_file(install):
    environment = install("dynreg-core", "acme-backend")
    assert environment.dynreg("doctor", "--verify").returncode == 0
    (environment.folder / "acme_backend" / "compiler.py").write_text("changed = True\n")
    done = environment.dynreg("doctor", "--verify", check=False)
    assert done.returncode == 1
    assert "file acme_backend/compiler.py of acme-backend was changed" in done.stdout
