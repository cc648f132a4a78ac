"""What the end-to-end tests share. They run from built wheels, in an environment with torch."""

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def run(tmp_path):
    """Run a program in a new interpreter, away from the source."""

    def run_program(program, check=True, **variables):
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("DYNREG_")
        }
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, "-I", str(file)],
            env=environment | variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    return run_program
