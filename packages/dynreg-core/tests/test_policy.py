"""Policy: its files and variables, what its rules match, and what it warns about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynreg_core import Registry
from dynreg_core._policy import DEFAULT_ORIGIN, Policy, Rule, load_policy, yes_or_no
from dynreg_core.errors import PolicyError, PolicyWarning

FULL = """\
[project]
name = "sample"

[tool.dynreg]
plugins = true
allow = ["numpy", "eager*"]
deny = ["tvm"]
pin = [
    "turbine_cpu@iree-turbine",
]
default = "numpy"

[tool.dynreg.defaults]
cuda = "inductor"
"""


@pytest.fixture
def project(tmp_path):
    """A function that writes ``pyproject.toml`` and reads the policy from a folder in it."""

    def write(text, environment=None, folder="", place=""):
        here = tmp_path / place
        here.mkdir(parents=True, exist_ok=True)
        (here / "pyproject.toml").write_text(text)
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        return load_policy(str(tmp_path / folder), environment or {})

    return write


def values(policy):
    return {setting.key: (setting.value, setting.origin) for setting in policy.settings}


def test_without_files_and_variables_everything_is_allowed(tmp_path):
    policy = load_policy(str(tmp_path), {})
    assert values(policy) == {
        "plugins": (True, DEFAULT_ORIGIN),
        "allow": (None, DEFAULT_ORIGIN),
        "deny": ((), DEFAULT_ORIGIN),
        "pin": ((), DEFAULT_ORIGIN),
        "default": (None, DEFAULT_ORIGIN),
    }
    assert policy.denial("anything", "any") is None
    assert policy.rules == ()
    assert policy.defaults == {}
    assert policy.pin("anything") is None


def test_every_value_remembers_its_file_and_line(project, tmp_path):
    file = tmp_path / "pyproject.toml"
    policy = project(FULL)
    assert values(policy) == {
        "plugins": (True, f"{file}:5"),
        "allow": (("numpy", "eager*"), f"{file}:6"),
        "deny": (("tvm",), f"{file}:7"),
        "pin": (("turbine_cpu@iree-turbine",), f"{file}:8"),
        "default": ("numpy", f"{file}:11"),
        "defaults.cuda": ("inductor", f"{file}:14"),
    }
    assert policy.defaults == {"": "numpy", "cuda": "inductor"}
    assert str(policy.pin("turbine_cpu")) == 'pin = "turbine_cpu@iree-turbine"'
    assert policy.pin("other") is None
    assert policy.origin("deny") == f"{file}:7"
    assert policy.origin("missing") == DEFAULT_ORIGIN


def test_variables_come_before_the_file_key_by_key(project, tmp_path):
    environment = {
        "DYNREG_PLUGINS": "off",
        "DYNREG_ALLOW": "a, b ,",
        "DYNREG_DENY": "c",
        "DYNREG_PIN": "d@e",
        "DYNREG_DEFAULT": " f ",
        "DYNREG_DEFAULTS": "cuda=g, xpu = h",
    }
    assert values(project(FULL, environment)) == {
        "plugins": (False, "DYNREG_PLUGINS"),
        "allow": (("a", "b"), "DYNREG_ALLOW"),
        "deny": (("c",), "DYNREG_DENY"),
        "pin": (("d@e",), "DYNREG_PIN"),
        "default": ("f", "DYNREG_DEFAULT"),
        "defaults.cuda": ("g", "DYNREG_DEFAULTS"),
        "defaults.xpu": ("h", "DYNREG_DEFAULTS"),
    }
    only_one = values(project(FULL, {"DYNREG_DENY": "c"}))
    assert only_one["deny"] == (("c",), "DYNREG_DENY")
    assert only_one["default"] == ("numpy", f"{tmp_path / 'pyproject.toml'}:11")


def test_an_empty_variable_is_none(project):
    assert project(FULL, {"DYNREG_DENY": "", "DYNREG_ALLOW": "  "}) == project(FULL)


def test_the_nearest_file_with_the_table_counts(project):
    assert project(FULL, folder="a/b").defaults[""] == "numpy"
    assert project("[tool.other]\nx = 'dynreg'\n", folder="a/b", place="a/b").deny != ()
    assert project("tool = 3 # dynreg\n", folder="a/b", place="a/b").deny != ()
    assert project("[project]\n", folder="a/b", place="a").deny != ()
    nearer = project("[tool.dynreg]\ndeny = ['x']\n", folder="a/b", place="a")
    assert [rule.text for rule in nearer.deny] == ["x"]
    assert nearer.defaults == {}


def test_by_default_the_current_folder_and_the_environment_are_used(project, monkeypatch, tmp_path):
    project(FULL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DYNREG_DEFAULT", "eager")
    policy = load_policy()
    assert policy.defaults == {"": "eager", "cuda": "inductor"}
    with pytest.warns(PolicyWarning):
        assert Registry().policy == policy


@pytest.mark.parametrize(
    ("text", "line", "problem", "expected"),
    [
        ("[tool.dynreg]\nplugins = 1\n", 2, "plugins = 1", "true or false"),
        (
            "[tool.dynreg]\nallow = 'numpy'\n",
            2,
            "allow = 'numpy'",
            'an array of names, as in ["numpy", "eager_*"]',
        ),
        ("[tool.dynreg]\ndeny = [1]\n", 2, "deny = [1]", 'an array of names, as in ["tvm"]'),
        ("[tool.dynreg]\ndefault = 3\n", 2, "default = 3", "the name of a backend"),
        (
            "[tool.dynreg]\ndefaults = { cpu = 3 }\n",
            2,
            "defaults = {'cpu': 3}",
            'a table of backends by device type, as in { cpu = "numpy" }',
        ),
        ("[tool.dynreg]\nallwo = []\n", 2, "unknown key 'allwo'", "'allow'"),
        (
            "[tool.dynreg]\nxyzzy = []\n",
            2,
            "unknown key 'xyzzy'",
            "one of plugins, allow, deny, pin, default, defaults",
        ),
        ("[tool]\ndynreg = 3\n", 2, "tool.dynreg is no table", "a table [tool.dynreg]"),
        ("[tool.dynreg]\npin = ['a']\n", 2, "'a' in pin is no rule", "name@distribution"),
        (
            "[tool.dynreg]\ndeny = ['@a']\n",
            2,
            "'@a' in deny is no rule",
            "name or name@distribution",
        ),
        (
            "[tool.dynreg\n",
            1,
            "not TOML: Expected ']' at the end of a table declaration",
            "a file in TOML 1.0",
        ),
    ],
)
def test_what_cannot_be_understood_names_its_place(
    project, tmp_path, text, line, problem, expected
):
    with pytest.raises(PolicyError) as caught:
        project(text)
    assert str(caught.value) == (
        f"{tmp_path / 'pyproject.toml'}:{line}: {problem}\nhint: expected {expected}"
    )


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        (
            "DYNREG_PLUGINS",
            "maybe",
            (
                "DYNREG_PLUGINS: 'maybe' is neither yes nor no\n"
                "hint: expected 1, true, yes, on, 0, false, no or off"
            ),
        ),
        (
            "DYNREG_DEFAULTS",
            "cpu",
            (
                "DYNREG_DEFAULTS: 'cpu' is no default\n"
                "hint: expected device types and backends, as in cpu=numpy,cuda=inductor"
            ),
        ),
        (
            "DYNREG_PIN",
            "numpy",
            "DYNREG_PIN: 'numpy' in pin is no rule\nhint: expected name@distribution",
        ),
    ],
)
def test_variables_that_cannot_be_understood(tmp_path, variable, text, message):
    with pytest.raises(PolicyError) as caught:
        load_policy(str(tmp_path), {variable: text})
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["1", "true", "True", " YES ", "on", "y", "t", "enabled"])
def test_yes(text):
    assert yes_or_no(text, "X") is True


@pytest.mark.parametrize("text", ["0", "false", "FALSE", "no", "off ", "n", "f", "none", ""])
def test_no(text):
    assert yes_or_no(text, "X") is False


# --- rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "name", "distribution", "matches"),
    [
        ("numpy", "numpy", "dynreg-numpy", True),
        ("numpy", "numpy2", "", False),
        ("eager_*", "eager_replay", "", True),
        ("eager_?", "eager_replay", "", False),
        ("[ab]", "a", "", True),
        ("*@torch", "eager", "torch", True),
        ("*@torch", "eager", "", False),
        ("numpy@Dynreg_Numpy", "numpy", "dynreg-numpy", True),
        ("numpy@dynreg*", "numpy", "dynreg-numpy", True),
        ("numpy@other", "numpy", "dynreg-numpy", False),
        ("Numpy", "numpy", "", False),
    ],
)
def test_rules(rule, name, distribution, matches):
    assert Rule("deny", rule, "here").matches(name, distribution) is matches


@given(st.text("ab_", min_size=1), st.text("ab_", min_size=1))
def test_a_rule_without_wildcards_matches_its_own_name_only(rule, name):
    assert Rule("deny", rule, "here").matches(name, "any") is (rule == name)


def test_an_empty_allow_list_allows_nothing():
    policy = Policy(allow=())
    assert str(policy.denial("numpy", "")) == 'allow = ""'


# --- warnings ----------------------------------------------------------------------------------


def policy_of(text, tmp_path, environment=None):
    (tmp_path / "pyproject.toml").write_text(text)
    return load_policy(str(tmp_path), environment or {})


def test_rules_that_match_nothing_warn_once(make_registry, entry_point, tmp_path):
    text = (
        '[tool.dynreg]\nallow = ["*", "numpyy"]\ndeny = ["xyzzy", "mod:fn"]\n'
        'pin = ["numpy@other", "numpy@dynreg-numpy"]\ndefault = "numpi"\n'
        'defaults = { cuda = "numpy@dynreg-numpy", xpu = "mod:fn", cpu = "xyzzy" }\n'
    )
    policy = policy_of(text, tmp_path)
    registry = make_registry(entry_point("numpy", "json:dumps", "dynreg-numpy"), policy=policy)
    file = tmp_path / "pyproject.toml"
    with pytest.warns(PolicyWarning) as caught:
        registry.list_backends()
    assert [str(warning.message) for warning in caught] == [
        f"allow = \"numpyy\" in {file}:2 matches no backend: did you mean 'numpy'?",
        f'deny = "xyzzy" in {file}:3 matches no backend',
        f"pin = \"numpy@other\" in {file}:4 matches no backend: did you mean 'numpy'?",
        f"default = \"numpi\" in {file}:5 matches no backend: did you mean 'numpy'?",
        f'defaults.cpu = "xyzzy" in {file}:6 matches no backend',
    ]
    registry.list_backends()
    registry.register_backend(print, name="another")
    registry.list_backends()
    registry.refresh()
    registry.list_backends()


def test_a_rule_that_matches_warns_of_nothing(make_registry, entry_point, tmp_path):
    policy = policy_of('[tool.dynreg]\nallow = ["numpy", "tv*"]\ndefault = "numpy"\n', tmp_path)
    registry = make_registry(entry_point("numpy", "json:dumps"), policy=policy)
    assert registry.list_backends() == ["numpy", "tvm"]


def test_variables_that_look_misspelt_warn(make_registry, tmp_path):
    environment = {"DYNREG_ALOW": "x", "DYNREG_NUMPY_THREADS": "4", "DYNREG_INSTALL": "1"}
    registry = make_registry(policy=load_policy(str(tmp_path), environment))
    with pytest.warns(PolicyWarning) as caught:
        registry.list_backends()
    assert [str(warning.message) for warning in caught] == [
        "the variable DYNREG_ALOW means nothing: did you mean DYNREG_ALLOW?"
    ]
