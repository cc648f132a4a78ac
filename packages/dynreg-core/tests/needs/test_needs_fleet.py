"""What people hit with torch.compile backends, line by line of docs/needs.md: fleets."""

import os
import subprocess
import sys

import pytest

RANK = """
import sys
import torch.distributed as dist
import dynreg_core

rank, store = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
try:
    dynreg_core.assert_same_backends(names=["fleet_acme"])
except dynreg_core.DynregError as error:
    print(error.sentence)
dist.destroy_process_group()
"""


def test_need_37_ranks_that_resolve_other_versions_are_named(tmp_path):
    pytest.importorskip("torch.distributed", reason="a job needs torch")
    processes = []
    for rank, version in enumerate(["1.0", "2.0"]):
        folder = tmp_path / str(rank)
        metadata = folder / f"fleet_acme-{version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Name: fleet-acme\nVersion: {version}\n")
        (metadata / "entry_points.txt").write_text(
            "[torch_dynamo_backends]\nfleet_acme = fleet_acme:compile\n"
        )
        (folder / "fleet_acme.py").write_text("def compile(gm, example_inputs): return gm\n")
        path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", RANK, str(rank), str(tmp_path / "store")],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
            )
        )
    told = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], told
    for sentence, _ in told:
        assert "fleet-acme 1.0" in sentence
        assert "fleet-acme 2.0" in sentence
        assert "rank 0" in sentence or "rank 1" in sentence
