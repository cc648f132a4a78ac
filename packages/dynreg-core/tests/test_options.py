"""Options: what a dataclass or a manifest takes, and what an error says."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynreg_core import OptionSpec, parse_options
from dynreg_core._options import check_options, matches_type, option_specs
from dynreg_core.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendOptionError,
    IgnoredOptionWarning,
    OptionTypeError,
    OptionValueError,
    UnknownOptionError,
)


@dataclass(frozen=True)
class Options:
    """Options of a sample backend."""

    threads: int = 0
    fallback: Literal["torch", "error"] = "torch"
    dump: str | Path | None = field(default=None, metadata={"description": "where to write"})
    ratio: float = 0.5
    verbose: bool = False
    passes: tuple[str, ...] = ()
    table: dict[str, int] = field(default_factory=dict)
    hook: Callable[[int], int] | None = None
    derived: int = field(default=7, init=False)


def parse(**options):
    return parse_options(Options, options, backend="sample")


def test_what_was_not_passed_has_the_default_of_the_dataclass():
    assert parse_options(Options, None, backend="sample") == Options()
    assert parse(threads=4) == Options(threads=4)


def test_the_mapping_is_not_changed_and_may_be_any_mapping():
    given_options = {"threads": 4}
    parse_options(Options, given_options, backend="sample")
    assert given_options == {"threads": 4}
    frozen = MappingProxyType({"threads": 4})
    assert parse_options(Options, frozen, backend="sample") == Options(threads=4)
    with pytest.raises(ArgumentTypeError, match="must be a mapping of names to values, not list"):
        parse_options(Options, ["threads"], backend="sample")


def test_an_unknown_option_suggests_the_closest():
    with pytest.raises(UnknownOptionError) as caught:
        parse(thread=4)
    assert str(caught.value) == (
        "backend 'sample' has no option 'thread'\nhint: did you mean 'threads'?"
    )
    assert isinstance(caught.value, (TypeError, ValueError))
    with pytest.raises(UnknownOptionError, match="its options are threads, fallback, dump"):
        parse(zzz=4)
    with pytest.raises(UnknownOptionError, match="it takes no options"):
        check_options((), {"zzz": 4}, backend="sample")
    with pytest.raises(UnknownOptionError, match="has no option 3"):
        parse_options(Options, {3: 4}, backend="sample")


def test_an_option_that_the_dataclass_computes_cannot_be_passed():
    with pytest.raises(UnknownOptionError):
        parse(derived=1)


def test_unknown_options_can_be_left_out_with_a_warning():
    with pytest.warns(IgnoredOptionWarning) as caught:
        found = parse_options(
            Options, {"thread": 4, "ratio": 1}, backend="sample", on_unknown_option="warn"
        )
    assert found == Options(ratio=1)
    assert [str(warning.message) for warning in caught] == [
        "backend 'sample' has no option 'thread', which was left out; did you mean 'threads'?"
    ]


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("threads", "4", "int, not str '4'"),
        ("threads", 4.0, "int, not float 4.0"),
        ("threads", True, "int, not bool True"),
        ("ratio", "0.5", "float, not str '0.5'"),
        ("ratio", True, "float, not bool True"),
        ("verbose", 1, "bool, not int 1"),
        ("dump", 3, "str or Path or None, not int 3"),
        ("passes", ["a"], "tuple[str, ...], not list ['a']"),
        ("passes", (1,), "tuple[str, ...], not tuple (1,)"),
        ("table", {"a": "b"}, "dict[str, int], not dict {'a': 'b'}"),
        ("table", {1: 1}, "dict[str, int], not dict {1: 1}"),
        ("hook", 3, "Callable[[int], int] or None, not int 3"),
    ],
)
def test_a_wrong_type_says_what_was_given_and_what_is_wanted(option, value, expected):
    with pytest.raises(OptionTypeError) as caught:
        parse(**{option: value})
    assert caught.value.sentence == f"option {option!r} of backend 'sample' must be {expected}"
    assert caught.value.hint.endswith("; `dynreg info sample` shows all options")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("threads", -3),
        ("ratio", 1),
        ("ratio", float("nan")),
        ("dump", None),
        ("dump", Path("x")),
        ("passes", ()),
        ("passes", ("a", "b")),
        ("table", {"a": 1}),
        ("hook", abs),
        ("hook", None),
    ],
)
def test_a_right_type_is_taken(option, value):
    found = getattr(parse(**{option: value}), option)
    assert found is value


def test_a_choice_that_is_none_suggests_the_closest():
    with pytest.raises(OptionValueError) as caught:
        parse(fallback="tortch")
    assert str(caught.value) == (
        "option 'fallback' of backend 'sample' cannot be 'tortch'\n"
        "hint: did you mean 'torch'? choices are 'torch', 'error'"
    )
    with pytest.raises(OptionValueError, match="hint: choices are 'torch', 'error'"):
        parse(fallback=3)


def test_a_missing_option_is_named():
    @dataclass
    class Needs:
        key: str

    with pytest.raises(BackendOptionError) as caught:
        parse_options(Needs, {}, backend="sample")
    assert str(caught.value) == "option 'key' of backend 'sample' is missing\nhint: pass key as str"


def test_what_the_dataclass_refuses_becomes_an_option_error():
    @dataclass
    class Picky:
        a: int = 0
        b: int = 0

        def __post_init__(self):
            if self.a == 13:
                raise BackendOptionError("a is unlucky", hint="pass another")
            if self.a and self.b:
                raise ValueError("a and b exclude one another")

    with pytest.raises(BackendOptionError) as caught:
        parse_options(Picky, {"a": 1, "b": 1}, backend="sample")
    assert str(caught.value) == (
        "backend 'sample' cannot take these options: a and b exclude one another\n"
        "hint: `dynreg info sample` shows all options"
    )
    with pytest.raises(BackendOptionError, match="a is unlucky"):
        parse_options(Picky, {"a": 13}, backend="sample")


class Colour(enum.Enum):
    RED = 1


Count = NewType("Count", int)
T = TypeVar("T")


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (Any, [1, None, "x"], []),
        (object, [1, None], []),
        (None, [None], [0]),
        (Optional[int], [1, None], ["1"]),  # noqa: UP045 - older spellings are read as well
        (Union[int, str], [1, "1"], [1.5]),  # noqa: UP007 - as above
        (bool | Literal["auto"], [True, "auto"], ["autos", 1]),
        (Literal[1, 2], [1, 2], [True, 3]),
        (list[Annotated[int, "note"]], [[1]], [["1"]]),
        (Annotated[int, "note"], [1], ["1"]),
        (Count, [1], ["1"]),
        (Colour, [Colour.RED], [1]),
        (list[int], [[], [1]], [(1,), ["1"]]),
        (list, [[], ["a"]], [()]),
        (set[int], [{1}], [{"1"}]),
        (tuple[int, str], [(1, "a")], [(1,), (1, 2), [1, "a"]]),
        (Sequence[int], [(1,), [1]], ["1", 1, ["a"]]),
        (Sequence[str], [["a"]], ["a"]),
        (Mapping[str, int], [{"a": 1}], [{"a": "b"}, [("a", 1)]]),
        (Callable[[int], int], [abs], [1]),
        (type[int], [int, str], [1]),
        (list[int | None], [[1, None]], [["a"]]),
    ],
)
def test_annotations(annotation, good, bad):
    @dataclass
    class Holder:
        value: annotation = 0

    for value in good:
        assert check_options(Holder, {"value": value}, backend="b") == {"value": value}
    for value in bad:
        with pytest.raises(BackendOptionError):
            check_options(Holder, {"value": value}, backend="b")


def test_an_annotation_that_is_not_understood_fails_for_its_author():
    @dataclass
    class Odd:
        value: T = 0

    with pytest.raises(ArgumentValueError) as caught:
        option_specs(Odd)
    assert str(caught.value) == (
        "annotation ~T is not understood\n"
        "hint: use classes, unions, Literal, list, tuple, dict, Callable or Any"
    )


def test_an_annotation_that_cannot_be_resolved_fails_for_its_author():
    @dataclass
    class Odd:
        value: "Missing" = 0  # noqa: F821 - that is the point

    with pytest.raises(ArgumentValueError) as caught:
        option_specs(Odd)
    assert caught.value.sentence.endswith(
        "has an annotation that cannot be resolved: name 'Missing' is not defined"
    )


def test_only_a_dataclass_declares_options():
    with pytest.raises(ArgumentTypeError, match="must be a dataclass"):
        option_specs(int)


def test_what_a_dataclass_declares_is_listed():
    specs = {spec.name: spec for spec in option_specs(Options)}
    assert list(specs)[:3] == ["threads", "fallback", "dump"]
    assert specs["fallback"] == OptionSpec(
        "fallback", "'torch' or 'error'", "torch", ("torch", "error")
    )
    assert specs["dump"].description == "where to write"
    assert specs["table"].default == {}
    assert "derived" not in specs


# --- manifests ---------------------------------------------------------------------------------

SPECS = (
    OptionSpec("level", "int", 2, (0, 1, 2)),
    OptionSpec("dump", "str or bool"),
    OptionSpec("names", "list", ()),
    OptionSpec("key", "str", required=True),
)


def test_options_of_a_manifest():
    good = {"level": 1, "dump": None, "key": "x", "names": ["a"]}
    assert check_options(SPECS, good, backend="sample") == good
    for bad in (
        {"level": 3},
        {"level": True},
        {"dump": 3},
        {"names": "a"},
        {"key": None},
        {"x": 1},
    ):
        with pytest.raises(BackendOptionError):
            check_options(SPECS, {"key": "x", **bad}, backend="sample")
    with pytest.raises(BackendOptionError, match="'key' of backend 'sample' is missing"):
        check_options(SPECS, {}, backend="sample")
    assert option_specs(SPECS) == SPECS


@given(st.one_of(st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.none())))
def test_types_of_a_manifest_are_told_apart(value):
    kinds = {kind for kind in ("bool", "int", "float", "str", "list") if matches_type(value, kind)}
    expected = {
        bool: {"bool"},
        int: {"int", "float"},
        float: {"float"},
        str: {"str"},
        list: {"list"},
    }
    assert kinds == expected[type(value)]
    assert matches_type(value, "any")
    assert not matches_type(value, "table")
