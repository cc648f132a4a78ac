"""Defaults: for all, for a device type, in a block, by policy."""

import pytest

from dynreg_core._defaults import device_type
from dynreg_core._policy import Policy, load_policy
from dynreg_core.errors import (
    AmbiguousBackendError,
    ArgumentTypeError,
    BackendDeniedError,
    BackendLoadError,
    BackendUnavailableError,
    PolicyError,
    UnknownBackendError,
)


def mine(gm, example_inputs):
    return gm


def test_a_default_is_honoured_and_taken_back(registry):
    assert registry.get_default_backend() == "inductor"
    registry.set_default_backend("eager")
    assert registry.get_default_backend() == "eager"
    registry.set_default_backend(mine)
    assert registry.get_default_backend() is mine
    registry.set_default_backend(None)
    assert registry.get_default_backend() == "inductor"
    registry.set_default_backend(None)


def test_a_default_that_cannot_be_resolved_is_refused_at_once(make_registry, entry_point):
    registry = make_registry(
        entry_point("two", "json:dumps", "a"),
        entry_point("two", "json:dumps", "b"),
        entry_point("gone", "missing_module:compile"),
    )
    before = registry.state
    for backend, error in [
        ("missing", UnknownBackendError),
        ("two", AmbiguousBackendError),
        ("tvm", BackendUnavailableError),
        ("gone", BackendLoadError),
        ("missing_module:compile", BackendLoadError),
        ("not a place:", BackendLoadError),
        (3, ArgumentTypeError),
    ]:
        for device in (None, "cpu"):
            with pytest.raises(error):
                registry.set_default_backend(backend, device=device)
    assert registry.state is before
    registry.set_default_backend("json:dumps")
    assert registry.get_default_backend() == "json:dumps"


def test_setting_a_default_imports_nothing(site, installed):
    import sys

    site.module("default_mod", "def compile(gm, example_inputs): return gm")
    site.distribution("default-mod", backends={"lazy": "default_mod:compile"})
    registry = installed()
    registry.set_default_backend("lazy")
    assert registry.get_default_backend() == "lazy"
    assert "default_mod" not in sys.modules


def test_devices_have_defaults_of_their_own(registry):
    registry.set_default_backend("eager", device="cpu")
    assert registry.default_for("cpu") == "eager"
    assert registry.default_for("cuda:1") == "inductor"
    assert registry.get_default_backend() == "inductor"
    registry.register_backend(mine)
    registry.set_default_backend("mine")
    assert registry.default_for("cpu") == "eager"
    assert registry.default_for("cuda") == "mine"
    assert registry.get_default_backend("cpu") == "eager"
    registry.set_default_backend(None, device="cpu")
    assert registry.default_for("cpu") == "mine"


def test_a_block_can_set_the_default_of_a_device(registry):
    with registry.using("eager", device="cuda:0"):
        assert registry.default_for("cuda") == "eager"
        assert registry.default_for("cpu") == "inductor"
    assert registry.default_for("cuda") == "inductor"


def test_devices_are_given_in_any_usual_way():
    torch = pytest.importorskip("torch")
    assert device_type("cuda:3") == device_type("cuda") == "cuda"
    assert device_type(torch.device("cuda", 3)) == "cuda"
    assert device_type(torch.device("cpu")) == "cpu"
    for wrong in (3, None, "", torch.float32):
        with pytest.raises(ArgumentTypeError, match="device must be a device or its type, not"):
            device_type(wrong)


def from_variables(tmp_path, **variables):
    return load_policy(str(tmp_path), variables)


def test_what_a_program_sets_comes_before_policy(make_registry, tmp_path):
    policy = from_variables(tmp_path, DYNREG_DEFAULT="eager", DYNREG_DEFAULTS="cuda=inductor")
    registry = make_registry(policy=policy)
    assert registry.get_default_backend() == "eager"
    assert registry.default_for("cpu") == "eager"
    assert registry.default_for("cuda") == "inductor"
    registry.register_backend(mine)
    registry.set_default_backend("mine")
    assert registry.default_for("cuda") == "mine"  # an explicit choice always wins


@pytest.mark.filterwarnings("ignore::dynreg_core.errors.PolicyWarning")
def test_a_default_of_policy_that_cannot_be_used_is_no_silent_fallback(make_registry, tmp_path):
    registry = make_registry(policy=from_variables(tmp_path, DYNREG_DEFAULT="eagre"))
    with pytest.raises(PolicyError) as caught:
        registry.get_default_backend()
    assert str(caught.value) == (
        "DYNREG_DEFAULT: the default 'eagre' cannot be used: no backend is named 'eagre'\n"
        "hint: did you mean 'eager'?"
    )
    denied = from_variables(tmp_path, DYNREG_DEFAULT="eager@torch", DYNREG_DENY="eager")
    with pytest.raises(
        PolicyError, match="'eager@torch' cannot be used: backend 'eager' is denied"
    ):
        make_registry(policy=denied).get_default_backend()
    qualified = make_registry(policy=from_variables(tmp_path, DYNREG_DEFAULT="json:dumps"))
    assert qualified.get_default_backend() == "json:dumps"


def test_a_device_that_inductor_does_not_know_takes_its_only_backend(site, installed):
    manifest = """
        schema = 1
        [backends.acme]
        devices = ["acme"]
        [backends.acme_slow]
        devices = ["acme"]
        tags = ["debug"]
        [backends.other]
        devices = ["other", "cuda"]
    """
    site.package("acme_mod", "", dynreg_toml=manifest)
    names = {name: f"acme_mod:{name}" for name in ("acme", "acme_slow", "other")}
    site.distribution("acme-mod", backends=names, manifests={"m": "acme_mod:dynreg.toml"})
    registry = installed()
    assert registry.default_for("acme") == "acme"
    assert registry.default_for("cuda") == "inductor"
    assert registry.default_for("unheard") == "inductor"
    site.package("rival_mod", "", dynreg_toml=manifest.replace("backends.acme]", "backends.rival]"))
    site.distribution(
        "rival-mod", backends={"rival": "rival_mod:f"}, manifests={"m": "rival_mod:dynreg.toml"}
    )
    registry.refresh()
    assert registry.default_for("acme") == "inductor"  # which of two is not for chance to decide


def test_a_denied_backend_is_no_default(make_registry, entry_point):
    from dynreg_core._policy import Rule

    registry = make_registry(
        entry_point("acme", "json:dumps"), policy=Policy(deny=(Rule("deny", "acme", "here"),))
    )
    assert registry.default_for("acme") == "inductor"
    with pytest.raises(BackendDeniedError):
        registry.set_default_backend("acme")
