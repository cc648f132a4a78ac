"""Manifests: the documented format, its errors with file and line, and its bounds."""

import re
import sys
import time
import zipfile
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynreg_core import _manifest, _metadata, _schema, _toml
from dynreg_core._types import Alias, BackendManifest, EntryPoint, OptionSpec, Requirements
from dynreg_core.errors import ManifestError

DOCUMENT = Path(__file__).parents[3] / "docs" / "manifest.md"

FULL = """\
schema = 1

[backends.acme]
description = "Compiles for Acme accelerators"
tags = ["fast"]
homepage = "https://example.com/acme"
op-counts = "acme.counters:get_op_counts"
torch = ">=2.13,<3"
devices = ["acme", "cpu"]
training = true
inference = false
dynamic-shapes = true

[backends.acme.options.level]
type = "int"
default = 2
choices = [0, 1, 2, 3]
description = "How long to search"

[backends.acme.options.dump]
type = ["str", "bool"]

[backends.acme.options.key]
type = "str"
required = true

[backends.acme.requires]
modules = ["acme.runtime"]
commands = ["acmec"]
environment = ["ACME_HOME"]

[backends.acme.aliases.acme1]
tags = ["debug"]
deprecated = "it is old"

[backends.plain]
"""


def parse(text):
    return _manifest.parse_manifest(dedent(text).encode(), "dynreg.toml")


def test_everything_that_the_format_has():
    acme, plain = parse(FULL)
    assert acme == BackendManifest(
        "acme",
        "dynreg.toml",
        3,
        description="Compiles for Acme accelerators",
        tags=("fast",),
        homepage="https://example.com/acme",
        op_counts="acme.counters:get_op_counts",
        torch=">=2.13,<3",
        devices=("acme", "cpu"),
        training=True,
        inference=False,
        dynamic=True,
        aliases=(Alias("acme1", ("debug",), "it is old"),),
        options=(
            OptionSpec("level", "int", 2, (0, 1, 2, 3), "How long to search"),
            OptionSpec("dump", "str or bool"),
            OptionSpec("key", "str", required=True),
        ),
        requires=Requirements(("acme.runtime",), ("acmec",), ("ACME_HOME",)),
    )
    assert plain == BackendManifest("plain", "dynreg.toml", 36)
    assert plain.options is None  # it does not say, which is not the same as having none


def test_an_empty_table_of_options_says_that_there_are_none():
    (acme,) = parse("schema = 1\n[backends.acme.options]\n")
    assert acme.options == ()


# Each is a text, and the line, problem and expectation of its error; None for whatever it is.
ERRORS = [
    ("schema = 2\n[backends.a]\n", 1, "schema: 2", "the number 1"),
    ("schema = true\n[backends.a]\n", 1, "schema: True", "the number 1"),
    ("[backends.a]\n", 0, "'schema' is missing", "the number 1"),
    (
        "schema = 1\n",
        0,
        "'backends' is missing",
        "a table with one table a backend, [backends.NAME]",
    ),
    ("schema = 1\n[backends]\n", 2, "backends: nothing is there", "at least 1"),
    ("schema = 1\nbackends = 3\n", 2, "backends: 3", None),
    ("schema = 1\n[backends.a]\n[other]\n", 3, "other: unknown key 'other'", None),
    (
        'schema = 1\n[backends."a b"]\n',
        2,
        "backends.a b: 'a b'",
        "a name of letters, digits, '_', '-' and '.'",
    ),
    (
        "schema = 1\n[backends.a]\ntrainin = true\n",
        3,
        "backends.a.trainin: unknown key 'trainin'",
        None,
    ),
    (
        "schema = 1\n[backends.a]\ntraining = 1\n",
        3,
        "backends.a.training: 1",
        "true or false",
    ),
    (
        'schema = 1\n[backends.a]\ntags = "debug"\n',
        3,
        "backends.a.tags: 'debug'",
        "an array of tags",
    ),
    (
        'schema = 1\n[backends.a]\ntags = [\n  "x",\n  "x",\n]\n',
        3,
        "backends.a.tags: 'x' stands twice",
        "each value once",
    ),
    (
        'schema = 1\n[backends.a]\ntags = ["A tag"]\n',
        3,
        "backends.a.tags: 'A tag'",
        "a tag of lower-case letters, digits, '_' and '-'",
    ),
    (
        'schema = 1\n[backends.a]\ndescription = """two\nlines"""\n',
        3,
        r"backends.a.description: 'two\nlines'",
        "one line of at most 200 characters",
    ),
    (
        f'schema = 1\n[backends.a]\ndescription = "{"x" * 201}"\n',
        3,
        f"backends.a.description: '{'x' * 56}...",
        "one line of at most 200 characters",
    ),
    (
        'schema = 1\n[backends.a]\ntorch = "2.13"\n',
        3,
        "backends.a.torch: '2.13'",
        'a version specifier, as in ">=2.13" or ">=2.13,<3"',
    ),
    (
        'schema = 1\n[backends.a]\nhomepage = "javascript:x"\n',
        3,
        "backends.a.homepage: 'javascript:x'",
        "an address that starts with https:// or http://",
    ),
    (
        'schema = 1\n[backends.a]\nrequires = { modules = ["a b"] }\n',
        3,
        "backends.a.requires.modules: 'a b'",
        'a module name, as in "package.module"',
    ),
    (
        'schema = 1\n[backends.a.requires]\ncommands = ["/bin/sh"]\n',
        3,
        "backends.a.requires.commands: '/bin/sh'",
        "the name of a program, without a folder",
    ),
    (
        'schema = 1\n[backends.a.requires]\nmodule = ["x"]\n',
        3,
        "backends.a.requires.module: unknown key 'module'",
        "one of 'modules', 'commands', 'environment'",
    ),
    (
        "schema = 1\n[backends.a.options.x]\ndefault = 1\n",
        2,
        "backends.a.options.x: 'type' is missing",
        "one or several of 'bool', 'int', 'float', 'str', 'list', 'table', 'any'",
    ),
    (
        'schema = 1\n[backends.a.options.x]\ntype = "integer"\n',
        3,
        "backends.a.options.x.type: 'integer'",
        "one or several of 'bool', 'int', 'float', 'str', 'list', 'table', 'any'",
    ),
    (
        'schema = 1\n[backends.a.options.x]\ntype = "int"\ndefault = true\n',
        4,
        "backends.a.options.x.default: True",
        "a value of the type int",
    ),
    (
        'schema = 1\n[backends.a.options.x]\ntype = ["int", "str"]\ndefault = 1.5\n',
        4,
        "backends.a.options.x.default: 1.5",
        "a value of the type int or str",
    ),
    (
        'schema = 1\n[backends.a.options.x]\ntype = "int"\nchoices = [1, "2"]\n',
        4,
        "backends.a.options.x.choices: '2'",
        "values of the type int",
    ),
    (
        'schema = 1\n[backends.a.options.x]\ntype = "int"\nchoices = [1]\ndefault = 2\n',
        5,
        "backends.a.options.x.default: 2",
        "one of 1",
    ),
    (
        'schema = 1\n[backends.a.options.x]\ntype = "int"\nrequired = true\ndefault = 2\n',
        5,
        "backends.a.options.x.default: 2",
        "no default for an option that is required",
    ),
    (
        "schema = 1\n[backends.a]\n[backends.b.aliases.a]\n",
        3,
        "backends.b.aliases.a: the name 'a' stands twice in this file",
        "each name once, as a backend or as an alias",
    ),
    (
        "schema = 1\n[backends.a.aliases.c]\n[backends.b.aliases.c]\n",
        3,
        "backends.b.aliases.c: the name 'c' stands twice in this file",
        "each name once, as a backend or as an alias",
    ),
    (
        f"schema = 1\n[backends.a]\ntags = {[f't{number}' for number in range(21)]}\n",
        3,
        "backends.a.tags: 21 are there",
        "at most 20",
    ),
    ("schema 1\n", 1, "not TOML: Expected '=' after a key in a key/value pair", None),
    ("schema = 1\n\n[backends.a\n", 3, None, "a file in TOML 1.0"),
    ('schema = 1\nx = """', None, None, "a file in TOML 1.0"),
]


@pytest.mark.parametrize(("text", "line", "problem", "expected"), ERRORS)
def test_errors_name_file_line_and_what_was_expected(text, line, problem, expected):
    with pytest.raises(ManifestError) as caught:
        parse(text)
    error = caught.value
    place = f"dynreg.toml:{error.line}" if error.line else "dynreg.toml"
    assert str(error) == f"{place}: {error.problem}\nhint: expected {error.expected}"
    assert error.line == (error.line if line is None else line)
    assert problem is None or error.problem == problem
    assert expected is None or error.expected == expected


def test_the_documented_example_and_its_error():
    document = DOCUMENT.read_text()
    (block,) = re.findall(r"```toml\n   # src/acme.*?\n   ```", document, re.DOTALL)
    text = dedent("   " + block.removeprefix("```toml\n").removesuffix("```").strip() + "\n")
    (acme,) = parse(text)
    assert [option.name for option in acme.options] == ["opt_level", "dump"]
    assert [alias.name for alias in acme.aliases] == ["acme_debug", "acme1"]
    with pytest.raises(ManifestError) as caught:
        _manifest.parse_manifest(
            text.replace("default = 2", "default = 7").encode(), "acme_compiler/dynreg.toml"
        )
    assert str(caught.value) in document


def test_every_key_is_documented():
    document = DOCUMENT.read_text()
    definitions = _manifest.schema()["$defs"]
    for keys in (definitions["backend"]["properties"], definitions["option"]["properties"]):
        for key in keys:
            assert f"`{key}`" in document or f"[backends.NAME.{key}" in document


# --- finding the file --------------------------------------------------------------------------


def manifest_entry(value, distribution="acme"):
    return EntryPoint("acme", value, _metadata.MANIFESTS, distribution, "1.0")


SMALL = "schema = 1\n[backends.acme]\ndescription = 'found'\n"
LOUD = "raise RuntimeError('imported')"


def test_a_manifest_is_found_without_importing_its_package(site):
    site.package("acme_pkg", LOUD, dynreg_toml=SMALL)
    (acme,) = _manifest.load_manifest(manifest_entry("acme_pkg:dynreg.toml"))
    assert (acme.description, acme.file) == ("found", str(site.folder / "acme_pkg/dynreg.toml"))


def test_a_manifest_in_a_subpackage_is_found_without_importing_its_parents(site):
    site.package("acme_pkg", LOUD)
    sub = site.folder / "acme_pkg" / "sub"
    sub.mkdir()
    (sub / "dynreg.toml").write_text(SMALL)
    (acme,) = _manifest.load_manifest(manifest_entry("acme_pkg.sub:dynreg.toml"))
    assert acme.description == "found"


def test_a_manifest_in_a_namespace_package_is_found(site):
    (site.folder / "acme_space").mkdir()
    (site.folder / "acme_space" / "dynreg.toml").write_text(SMALL)
    (acme,) = _manifest.load_manifest(manifest_entry("acme_space:dynreg.toml"))
    assert acme.description == "found"


def test_a_manifest_in_a_zip_file_is_found(tmp_path, monkeypatch):
    archive = tmp_path / "acme.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("acme_zipped/__init__.py", LOUD)
        stream.writestr("acme_zipped/dynreg.toml", SMALL)
    monkeypatch.syspath_prepend(str(archive))
    (acme,) = _manifest.load_manifest(manifest_entry("acme_zipped:dynreg.toml"))
    assert acme.description == "found"


@pytest.mark.parametrize(
    "value", ["acme_pkg", "acme_pkg:dynreg.json", ":dynreg.toml", "acme_pkg:../dynreg.toml"]
)
def test_a_place_of_another_form_is_refused(value):
    with pytest.raises(ManifestError) as caught:
        _manifest.load_manifest(manifest_entry(value))
    assert str(caught.value) == (
        f"acme: dynreg.manifests: acme = {value}: not the place of a manifest\n"
        "hint: expected package:file.toml"
    )


@pytest.mark.parametrize("package", ["missing_pkg", "acme_module", "__main__", "acme_pkg"])
def test_a_missing_file_is_reported(site, package, monkeypatch):
    site.package("acme_pkg")
    site.module("acme_module", "")
    monkeypatch.setattr("__main__.__spec__", None)
    with pytest.raises(ManifestError) as caught:
        _manifest.load_manifest(manifest_entry(f"{package}:dynreg.toml"))
    assert str(caught.value) == (
        f"acme: dynreg.manifests: acme = {package}:dynreg.toml: no such file in the package\n"
        "hint: expected dynreg.toml beside the package's modules"
    )


# --- bounds ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "line", "problem", "expected"),
    [
        (b"#" * 65537, 0, "the file has 65537 bytes", "at most 65536 bytes"),
        (b"a = 1\n# \xff\n", 2, "byte 8 is not UTF-8", "a file in UTF-8"),
        (
            b"a = 1\n" + b"a." * 600 + b"a = 1",
            2,
            "the line has 1205 characters",
            "at most 1000 characters a line",
        ),
        (b"a = " + b"[\n" * 200, 101, "brackets are nested too deeply", "at most 100 deep"),
        (b"a = " + b"{b=" * 200, 1, "brackets are nested too deeply", "at most 100 deep"),
    ],
)
def test_a_file_that_is_too_much_is_refused(data, line, problem, expected):
    with pytest.raises(ManifestError) as caught:
        _manifest.parse_manifest(data, "dynreg.toml")
    error = caught.value
    assert (error.line, error.problem, error.expected) == (line, problem, expected)


def test_the_bounds_hold_the_time_that_reading_takes():
    hostile = "\n".join("a." * 490 + f"k{number} = 1" for number in range(66))
    start = time.process_time()
    with pytest.raises(ManifestError):
        parse(hostile)
    assert time.process_time() - start < 10


def test_closing_brackets_in_texts_do_not_hide_open_ones():
    with pytest.raises(_toml.TOMLError, match="nested"):
        _toml.parse(b"a = '" + b"]" * 150 + b"'\nb = " + b"[" * 150)


# --- the schema --------------------------------------------------------------------------------


def keywords(node):
    """Every keyword that a schema uses, with names of properties left out."""
    if isinstance(node, list):
        return set().union(*map(keywords, node))
    if not isinstance(node, dict):
        return set()
    found = set()
    for key, value in node.items():
        if key in {"properties", "$defs"}:
            found |= {key}.union(*map(keywords, value.values()))
        elif key not in {"enum", "required"}:
            found |= {key} | keywords(value)
        else:
            found.add(key)
    return found


def test_the_schema_uses_only_keywords_that_are_understood():
    schema = _manifest.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert keywords(schema) - _schema.KEYWORDS <= {
        "$schema",
        "$id",
        "$defs",
        "title",
        "description",
    }


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(0, 3),
        st.sampled_from(
            ["", "a", "debug", "int", "str", "a b", "x" * 201, "https://x", "two\nlines"]
        ),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["a", "type", "default", "choices", "required", "tags", "modules", "deprecated"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
backends = st.fixed_dictionaries(
    {},
    optional={
        "description": values,
        "tags": values,
        "homepage": values,
        "op-counts": values,
        "devices": values,
        "training": values,
        "aliases": st.dictionaries(st.sampled_from(["a", "a b"]), values, max_size=2),
        "options": st.dictionaries(
            st.sampled_from(["x", "y"]),
            st.fixed_dictionaries(
                {"type": st.sampled_from(["int", ["int", "str"], [], ["int", "int"], "no"])},
                optional={"default": values, "choices": values, "required": values},
            ),
            max_size=2,
        ),
        "requires": st.dictionaries(st.sampled_from(["modules", "commands"]), values),
    },
)
documents = st.one_of(
    values,
    st.fixed_dictionaries(
        {"schema": st.just(1), "backends": st.dictionaries(st.just("a"), backends)}
    ),
)
SCHEMA = _manifest.schema()
ORACLE = jsonschema.Draft202012Validator(SCHEMA)


@given(documents)
def test_the_checker_agrees_with_the_jsonschema_library(document):
    try:
        _schema.check(document, SCHEMA)
    except _schema.Violation:
        accepted = False
    else:
        accepted = True
    assert accepted == ORACLE.is_valid(document)


def test_a_number_that_python_refuses_is_an_error_too():
    with pytest.raises(_toml.TOMLError, match="limit") as caught:
        _toml.parse(b"a = " + b"1" * 5000, bounded=False)
    assert caught.value.line == 0


def test_without_tomllib_tomli_is_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "tomllib", None)
    assert _toml.parse(b"a = 1") == {"a": 1}


def test_objects_and_arrays_of_any_size_and_kind():
    schema = {"title": "x", "type": "object", "minProperties": 1, "propertyNames": {"title": "n"}}
    _schema.check({"a": 1}, schema)
    with pytest.raises(_schema.Violation):
        _schema.check({}, schema)
    _schema.check([1, 1], {"title": "x", "type": "array"})


# --- lines -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 1\nb = 2\n", ("b",), 2),
        ("[a]\nx = 1\n[b]\nx = 2\n", ("b", "x"), 4),
        ('[a."b.c"]\nx = 1\n', ("a", "b.c", "x"), 2),
        ('a."b.c".x = 1\n', ("a", "b.c", "x"), 1),
        ("[[a]]\nx = 1\n", ("a", 0, "x"), 2),
        ("[a.b]\n", ("a",), 1),
        ("[a]\nx = { y = 1 }\n", ("a", "x", "y"), 2),
        ("# a = 1\n\na = 1\n", ("a",), 3),
        ("a = 1\n", ("b",), 0),
        ('["a\n', ("a",), 0),
        ("[a] # [b]\n[ b . c ]\n", ("b", "c"), 2),
        ("= 3\n[a]\n", ("a",), 2),
        ("[a.b]\nx = 1\n[a.c]\ny = 1\n", ("a", "z"), 1),
    ],
)
def test_lines_of_keys(text, path, line):
    assert _toml.line_of(text, path) == line
