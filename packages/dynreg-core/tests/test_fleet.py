"""Ranks that mean the same by a name, and ranks that do not."""

import subprocess
import sys

import pytest

from dynreg_core import _fleet, fingerprint
from dynreg_core.errors import UnknownBackendError

WORKER = """
import sys
import torch.distributed as dist
import dynreg_core

rank, difference, store = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
names = None
if difference == "unknown":
    names = ["inductor"] if rank == 0 else ["inducter"]
elif difference == "registered" and rank == 1:
    dynreg_core.register_backend(lambda graph_module, example_inputs: None, name="only_here")
try:
    dynreg_core.assert_same_backends(names=names)
    print("same")
except dynreg_core.errors.FleetMismatchError as error:
    print(error.sentence)
dist.destroy_process_group()
"""


def ranks(tmp_path, difference):
    """Run two real processes of one job, and return what each prints."""
    pytest.importorskip("torch.distributed", reason="a job needs torch")
    store = tmp_path / "store"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), difference, str(store)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    done = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], done
    return [out.strip() for out, _ in done]


def test_equal_ranks_pass(tmp_path):
    assert ranks(tmp_path, "none") == ["same", "same"]


def test_a_name_that_one_rank_has_is_named_on_both(tmp_path):
    one, other = ranks(tmp_path, "registered")
    assert one == other
    assert "rank 1 has" in one or "rank 0 has no backend" in one
    assert "'only_here'" in one


def test_a_rank_that_cannot_answer_does_not_leave_the_others_waiting(tmp_path):
    one, other = ranks(tmp_path, "unknown")
    assert one == other
    assert "rank 1 has a problem (no backend is named 'inducter')" in one


def test_a_fingerprint_does_not_change_when_a_backend_is_loaded():
    found = fingerprint()
    for name, one in found.items():
        assert one.name == name
        assert one.status != "loaded"
    assert fingerprint() == found


def test_an_unknown_name_is_an_error():
    with pytest.raises(UnknownBackendError):
        fingerprint(["nothing_of_this_name"])


COMMON = {
    "name": "numpy",
    "source": "entry point",
    "distribution": "dynreg-numpy",
    "version": "0.1.0",
    "target": "dynreg_numpy.backend:numpy_backend",
    "status": "ready",
    "sha256": "0" * 64,
}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, []),
        (
            {"version": "0.2.0"},
            ["rank 2 has 'numpy' from dynreg-numpy 0.2.0 where others have dynreg-numpy 0.1.0"],
        ),
        (
            {"sha256": "1" * 64},
            ["rank 2 has 'numpy' with another file for dynreg_numpy.backend:numpy_backend"],
        ),
        (
            {"status": "unavailable"},
            ["rank 2 has 'numpy' with status 'unavailable' where others have 'ready'"],
        ),
    ],
)
def test_what_differs_is_said(change, told):
    ranks_told = [{"numpy": COMMON}, {"numpy": COMMON}, {"numpy": {**COMMON, **change}}]
    assert list(_fleet._differences(ranks_told)) == told


def test_a_name_that_is_missing_or_extra_is_said():
    assert list(_fleet._differences([{"numpy": COMMON}, {"numpy": COMMON}, {}])) == [
        "rank 2 has no backend 'numpy'"
    ]
    assert list(_fleet._differences([{}, {}, {"numpy": COMMON}])) == [
        "rank 2 has a backend 'numpy' from dynreg-numpy 0.1.0, which others lack"
    ]
