"""Discovery gives the answer of importlib.metadata, and more where that one fails."""

import importlib.metadata
import os
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynreg_core import _metadata, _scanner

GROUP = _metadata.BACKENDS

# importlib.metadata imports parts of the standard library when it first reads a file, and must not
# look for them where a test has put sys.path.
importlib.metadata.distribution("pytest").metadata["Name"]


def ours(*paths, finders=None):
    found = _metadata.scan_paths(list(map(str, paths)), finders or sys.meta_path)
    return sorted((e.name, e.value, e.group) for e in found.group(GROUP))


def theirs(*paths, finders=None):
    saved = sys.path, sys.meta_path
    sys.path = list(map(str, paths))
    sys.meta_path = finders or sys.meta_path
    try:
        found = importlib.metadata.entry_points(group=GROUP)
        return sorted((e.name, e.value, e.group) for e in found)
    finally:
        sys.path, sys.meta_path = saved


def write(folder: Path, text: str | bytes | None, metadata: str | None = None) -> Path:
    folder.mkdir(parents=True)
    if text is not None:
        data = text if isinstance(text, bytes) else text.encode()
        (folder / "entry_points.txt").write_bytes(data)
    if metadata is not None:
        name = "METADATA" if folder.suffix == ".dist-info" else "PKG-INFO"
        (folder / name).write_text(metadata)
    return folder


def entry(name="acme", value="acme:compile"):
    return f"[{GROUP}]\n{name} = {value}\n"


names = st.sampled_from(["acme", "Acme", "ac_me", "ac.me", "ac__me", "foo", "Foo-Bar"])
texts = st.one_of(
    st.none(),
    st.just(""),
    st.builds(entry, st.sampled_from("abc"), st.sampled_from(["m:f", " m.n : f ", "m", "m:f [x]"])),
    st.just(f"# {GROUP}\n[other]\na = b\n"),
    st.just(f"a = before any section\n[{GROUP}]\n\n# note\nx=m:f\ny = m:g = h\n[other]\nz = q\n"),
    st.just(f"[ {GROUP} ]\nspaces = m:f\n"),
    st.just(f"[{GROUP}]\r\ncrlf = m:f\r\n"),
    st.just(f"[{GROUP}]\ntwice = m:f\ntwice = m:g\n[[{GROUP}]]\nbrackets = m:f\n"),
)
versions = st.sampled_from(["", "-1.0", "-2.0.post1", "-1.0-py3.11"])
suffixes = st.sampled_from([".dist-info", ".egg-info"])
distributions = st.dictionaries(
    st.tuples(names, versions, suffixes), st.tuples(texts, st.booleans()), max_size=6
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(layout=st.lists(distributions, min_size=1, max_size=3))
def test_same_answer_as_importlib_for_any_layout_of_folders(layout, tmp_path_factory):
    roots = []
    for folders in layout:
        root = tmp_path_factory.mktemp("site")
        for (name, version, suffix), (text, has_metadata) in folders.items():
            metadata = f"Name: {name}\nVersion: 1.0\n\ntext\n" if has_metadata else None
            write(root / f"{name}{version}{suffix}", text, metadata)
        roots.append(root)
    assert ours(*roots) == theirs(*roots)
    assert ours(*roots, *roots) == theirs(*roots, *roots)


@pytest.mark.parametrize("group", [GROUP, "console_scripts", "pytest11"])
def test_same_answer_in_this_environment(group):
    found = _metadata.scan_paths(sys.path, sys.meta_path, (group,)).group(group)
    expected = importlib.metadata.entry_points(group=group)
    assert sorted((e.name, e.value) for e in found) == sorted((e.name, e.value) for e in expected)
    assert found or group == GROUP  # whether a backend is installed is not for this test to say


def test_folders_are_found_whatever_the_case_of_their_names(tmp_path):
    folder = write(tmp_path / "Acme-1.0.DIST-INFO", entry())
    (folder / "METADATA").write_text("Name: Acme\nVersion: 1.0\n\n")
    assert ours(tmp_path) == theirs(tmp_path) == [("acme", "acme:compile", GROUP)]


def test_the_first_folder_of_a_distribution_counts_even_without_entry_points(tmp_path):
    write(tmp_path / "a" / "acme-1.0.dist-info", None)
    write(tmp_path / "b" / "acme-2.0.dist-info", entry())
    assert ours(tmp_path / "a", tmp_path / "b") == theirs(tmp_path / "a", tmp_path / "b") == []


def test_zip_files_are_searched_as_importlib_searches_them(tmp_path):
    archive = tmp_path / "acme.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("acme-1.0.dist-info/METADATA", "Name: acme\nVersion: 1.0\n\n")
        stream.writestr("acme-1.0.dist-info/entry_points.txt", entry())
        stream.writestr("other-1.0.dist-info/METADATA", "Name: other\nVersion: 1.0\n\n")
    assert ours(archive) == theirs(archive) == [("acme", "acme:compile", GROUP)]
    found = _metadata.scan_paths([str(archive)], sys.meta_path).entry_points[0]
    assert (found.distribution, found.version, found.path) == ("acme", "1.0", "")


def test_an_egg_is_searched_as_importlib_searches_it(tmp_path):
    egg = tmp_path / "acme-1.0-py3.11.egg"
    folder = egg / "EGG-INFO"
    write(folder, entry())
    (folder / "PKG-INFO").write_text("Name: acme\nVersion: 1.0\n\n")
    assert ours(egg) == theirs(egg) == [("acme", "acme:compile", GROUP)]


def test_a_distribution_found_before_is_not_taken_from_a_zip_file(tmp_path):
    write(tmp_path / "a" / "acme-1.0.dist-info", None)
    archive = tmp_path / "acme.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("acme-1.0.dist-info/METADATA", "Name: acme\nVersion: 1.0\n\n")
        stream.writestr("acme-1.0.dist-info/entry_points.txt", entry())
    assert ours(tmp_path / "a", archive) == theirs(tmp_path / "a", archive) == []


@pytest.mark.parametrize("what", ["missing", "empty.zip", "file.txt", "file"])
def test_what_is_no_folder_has_no_entry_points(tmp_path, what):
    place = tmp_path / what
    if what != "missing":
        place.write_bytes(b"")
    assert ours(place) == theirs(place) == []


def test_a_metadata_file_in_place_of_a_folder_has_no_entry_points(tmp_path):
    (tmp_path / "acme-1.0.egg-info").write_text("Name: acme\n")
    (tmp_path / "foo-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    assert ours(tmp_path) == theirs(tmp_path) == []


def test_the_empty_path_is_the_current_folder(tmp_path, monkeypatch):
    write(tmp_path / "acme-1.0.dist-info", entry())
    monkeypatch.chdir(tmp_path)
    assert ours("") == theirs("") == [("acme", "acme:compile", GROUP)]


def test_a_long_file_is_read_to_its_end(tmp_path):
    text = "[console_scripts]\n" + "".join(f"tool{i} = m:f{i}\n" for i in range(3000)) + entry()
    write(tmp_path / "acme-1.0.dist-info", text)
    assert ours(tmp_path) == theirs(tmp_path) == [("acme", "acme:compile", GROUP)]


class Distribution(importlib.metadata.Distribution):
    """A distribution that is nowhere on the file system."""

    def __init__(self, name, text):
        self.files_by_name = {"METADATA": f"Name: {name}\nVersion: 3.0\n\n"}
        if text is not None:
            self.files_by_name["entry_points.txt"] = text

    def read_text(self, filename):
        return self.files_by_name.get(filename)

    def locate_file(self, path):
        return path


class Finder:
    """A finder of another project."""

    def __init__(self, *distributions):
        self.distributions = distributions

    def find_distributions(self, context):
        return self.distributions


def test_finders_of_other_projects_are_asked(tmp_path):
    write(tmp_path / "acme-1.0.dist-info", entry())
    finders = [Finder(Distribution("memory", entry("ram")), Distribution("none", None))]
    both = [*finders, *sys.meta_path]
    expected = [("acme", "acme:compile", GROUP), ("ram", "acme:compile", GROUP)]
    assert ours(tmp_path, finders=both) == theirs(tmp_path, finders=both) == expected
    found = _metadata.scan_paths([str(tmp_path)], both)
    assert found.stamp[1] is None
    assert _metadata.changed_since(found)  # nothing says whether such a finder's answer is the same


def test_a_finder_comes_where_it_stands(tmp_path):
    write(tmp_path / "acme-1.0.dist-info", entry("folder"))
    finder = Finder(Distribution("acme", entry("memory")))
    for finders in ([finder, *sys.meta_path], [*sys.meta_path, finder]):
        assert ours(tmp_path, finders=finders) == theirs(tmp_path, finders=finders) != []


def test_folders_are_scanned_once_whatever_finders_search_them(tmp_path):
    write(tmp_path / "acme-1.0.dist-info", entry())
    backport = type("MetadataPathFinder", (), {"find_distributions": None})
    backport.__module__ = "importlib_metadata"
    assert ours(tmp_path, finders=[backport, *sys.meta_path]) == ours(tmp_path)
    assert ours(tmp_path, finders=[backport]) == ours(tmp_path)


def test_a_broken_finder_is_reported_and_hides_nothing(tmp_path):
    class Broken:
        def find_distributions(self, context):
            raise OSError("no network")

        def __repr__(self):
            return "<broken>"

    write(tmp_path / "acme-1.0.dist-info", entry(), "Name: acme\n")
    found = _metadata.scan_paths([str(tmp_path)], [Broken(), *sys.meta_path])
    assert [e.name for e in found.entry_points] == ["acme"]
    assert [p.problem for p in found.problems] == [
        "the finder <broken> on sys.meta_path fails: OSError: no network"
    ]


# --- malformed metadata ------------------------------------------------------------------------


def test_a_malformed_line_is_reported_and_hides_nothing(tmp_path):
    folder = write(
        tmp_path / "acme-1.0.dist-info", f"[{GROUP}]\nno equals sign\na = m:f\n", "Name: A"
    )
    write(tmp_path / "foo-1.0.dist-info", entry("foo"), "Name: foo\n")
    with pytest.raises(TypeError):  # importlib.metadata finds nothing at all
        theirs(tmp_path)
    found = _metadata.scan_paths([str(tmp_path)], sys.meta_path)
    assert sorted(e.name for e in found.entry_points) == ["a", "foo"]
    (problem,) = found.problems
    assert problem.problem == (
        f"{folder}{os.sep}entry_points.txt:2 has no equals sign: 'no equals sign'; "
        "importlib.metadata fails on it, and torch with it"
    )
    assert problem.hint == "reinstall or remove acme"


def test_a_file_that_is_not_utf8_is_reported_and_hides_nothing(tmp_path):
    write(tmp_path / "acme-1.0.dist-info", entry().encode() + b"\xff")
    write(tmp_path / "foo-1.0.dist-info", entry("foo"), "Name: foo\n")
    with pytest.raises(UnicodeDecodeError):
        theirs(tmp_path)
    found = _metadata.scan_paths([str(tmp_path)], sys.meta_path)
    assert [e.name for e in found.entry_points] == ["foo"]
    assert "is not UTF-8: invalid start byte at byte " in found.problems[0].problem


def test_a_malformed_file_of_no_interest_is_found_only_by_a_thorough_scan(tmp_path):
    write(tmp_path / "acme-1.0.dist-info", "[console_scripts]\nno equals sign\n", "Name: acme\n")
    paths = [str(tmp_path)]
    assert _metadata.scan_paths(paths, sys.meta_path).problems == ()
    (problem,) = _metadata.scan_paths(paths, sys.meta_path, thorough=True).problems
    assert "entry_points.txt:2 has no equals sign" in problem.problem


def test_metadata_without_its_main_file_is_reported(tmp_path):
    folder = write(tmp_path / "ac_me-1.0.dist-info", entry())
    found = _metadata.scan_paths([str(tmp_path)], sys.meta_path)
    assert (found.entry_points[0].distribution, found.entry_points[0].version) == ("ac-me", "1.0")
    (problem,) = found.problems
    assert problem.problem == (
        f"{folder} has entry points and no METADATA: an installation was interrupted, or only "
        "partly removed"
    )


def test_a_leftover_of_an_earlier_version_is_reported(tmp_path):
    for version in ("1.0", "2.0"):
        write(tmp_path / f"acme-{version}.dist-info", entry(f"acme{version[0]}"), "Name: acme\n")
    found = _metadata.scan_paths([str(tmp_path)], sys.meta_path)
    assert len(found.entry_points) == 1
    (problem,) = found.problems
    assert "describe the same distribution, and only the latter is read" in problem.problem
    assert problem.hint == "remove the one that is left over, or reinstall acme"


# --- names, versions, headers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        ("acme-1.0.dist-info", "1.0"),
        ("acme-1.0+cpu.dist-info", "1.0+cpu"),
        ("acme-1.0-py3.11.egg-info", "1.0"),
        ("acme.egg-info", ""),
    ],
)
def test_versions_are_read_from_the_names_of_folders(tmp_path, folder, version):
    write(tmp_path / folder, None)
    assert _metadata.scan_paths([str(tmp_path)], sys.meta_path).versions == {"acme": version}


@given(st.text(st.sampled_from("aB1-_."), min_size=1))
def test_normalized_names_are_those_of_the_packaging_library(name):
    from packaging.utils import canonicalize_name

    assert _scanner.normalized(name) == canonicalize_name(name).replace("-", "_")


def test_headers_end_where_the_text_begins(tmp_path):
    (tmp_path / "METADATA").write_text(
        "Name: acme\nSummary: one\n  continued\nRequires-Dist: torch\nRequires-Dist: numpy\n"
        "\nSummary: no header\n"
    )
    headers = _scanner.read_headers(str(tmp_path))
    assert headers == {"name": ["acme"], "summary": ["one"], "requires-dist": ["torch", "numpy"]}
    assert _scanner.read_headers(str(tmp_path / "missing")) == {}


# --- one scan a process ------------------------------------------------------------------------


def test_a_process_scans_once_until_it_is_asked_to_again(site):
    first = _metadata.scan()
    site.distribution("acme", backends={"acme": "acme:compile"})
    assert _metadata.scan() is first
    again = _metadata.scan(again=True)
    assert {e.name for e in again.entry_points} - {e.name for e in first.entry_points} == {"acme"}
    assert _metadata.scan() is again


def test_a_change_of_a_folder_is_noticed_and_its_absence_too(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    long_ago = 1_000_000_000
    os.utime(tmp_path, (long_ago, long_ago))
    found = _metadata.scan_paths(sys.path, sys.meta_path)
    assert not _metadata.changed_since(found)
    write(tmp_path / "acme-1.0.dist-info", None)
    assert _metadata.changed_since(found)


def test_a_folder_changed_just_before_the_scan_counts_as_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    write(tmp_path / "acme-1.0.dist-info", None)
    assert _metadata.changed_since(_metadata.scan_paths(sys.path, sys.meta_path))


def test_another_sys_path_counts_as_changed(tmp_path, monkeypatch):
    found = _metadata.scan_paths([], sys.meta_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert _metadata.changed_since(found)


def test_an_unreadable_file_is_no_file(tmp_path, monkeypatch):
    write(tmp_path / "acme-1.0.dist-info", entry())
    read = os.read

    def refuse(descriptor, count):
        raise PermissionError

    monkeypatch.setattr(os, "read", refuse)
    assert ours(tmp_path) == []
    monkeypatch.setattr(os, "read", read)
    assert ours(tmp_path) != []
