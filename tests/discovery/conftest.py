"""Folders that wheels are really installed into, one a combination; torch is not there."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"


@dataclass(frozen=True)
class Environment:
    """Wheels in a folder, seen by new interpreters."""

    folder: Path

    def run(self, *args, check=True, **variables):
        """Run Python with these wheels and none of the source."""
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("DYNREG_")
        }
        environment |= {"PYTHONPATH": str(self.folder), "PYTHONSAFEPATH": "1", **variables}
        return subprocess.run(
            [sys.executable, *args],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=check,
        )

    def dynreg(self, *args, check=True, **variables):
        """Run the command line."""
        return self.run("-m", "dynreg_core", *args, check=check, **variables)

    def infos(self, **variables):
        """What `dynreg list --all --json` says."""
        return json.loads(self.dynreg("list", "--all", "--json", **variables).stdout)


def wheels(*names):
    """Find built wheels by the names of their distributions."""
    found = []
    for name in names:
        pattern = f"{name.replace('-', '_')}-*.whl"
        (wheel,) = [*DIST.glob(pattern), *(DIST / "plugins").glob(pattern)]
        found.append(str(wheel))
    return found


@pytest.fixture(scope="session")
def install(tmp_path_factory):
    """Install wheels into a new folder, with no index and nothing else."""

    def into_new_folder(*names):
        folder = tmp_path_factory.mktemp("site")
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
        subprocess.run([*command, "--target", str(folder), *wheels(*names)], check=True)
        return Environment(folder)

    return into_new_folder
