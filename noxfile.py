"""
Holds every check in one place, so that people, CI and the README's test command run the same ones.

`nox` runs the default sessions; `nox --list` names all. Environments are kept and refilled only when a requirement,
a constraint or a member's `pyproject.toml` changes. Slow sessions come first, for those who run several at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = False

ROOT = Path(__file__).parent
PYTHONS = ["3.11", "3.12", "3.13"]
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
CODECS = ("anthropic", "gemini", "ollama", "openai")
MEMBERS = [".", *sorted(f"plugins/{path.parent.name}" for path in ROOT.glob("plugins/*/pyproject.toml"))]
SOURCES = os.pathsep.join(str(ROOT / ("core" if member == "." else member)) for member in MEMBERS)
CONSTRAINTS = ("-c", "constraints.txt")
EVERYTHING = ("-r", "requirements.txt", "-r", "requirements-dev.txt")
BROWSER = ("axe-playwright-python", "playwright")
CORE = ("-e", ".", "coverage", "httpx2", "hypothesis", "pytest")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests with everything installed, but for what another session tries; with arguments, just those."""
    install(session, *EVERYTHING)
    elsewhere = tried_elsewhere(str(session.python), found=found_pythons(), shared=shared().is_dir())
    chosen = session.posargs or [f"--ignore=tests/{folder}" for folder in elsewhere]
    session.run("pytest", *chosen)


@nox.session
def core(session: nox.Session) -> None:
    """Run the core's tests with the core alone installed: they reach each of its lines and branches."""
    install(session, *CORE)
    session.run("coverage", "erase", env=coverage_file(session))
    session.run("coverage", "run", "--branch", "-m", "pytest", "tests/core", env=coverage_file(session))
    session.run("coverage", "combine", "--quiet", env=coverage_file(session))
    session.run("coverage", "report", "--include=core/*", "--fail-under=100", env=coverage_file(session))


@nox.session
def browser(session: nox.Session) -> None:
    """Use the playground's page in Debian's Chromium, as a person would; the one session that needs a browser."""
    install_browser(session)
    session.run("pytest", "tests/browser", *session.posargs)


@nox.session
def types(session: nox.Session) -> None:
    """Check all source with mypy, strictly."""
    install(session, *EVERYTHING)
    session.run("mypy", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build each member as sdist and wheel, and use the wheels in an environment made by venv and pip alone."""
    install(session, "build")
    wheels = build_members(session, *MEMBERS)
    python = clean_environment(session)
    session.run(python, "-m", "pip", "install", "--quiet", *wheels, *CONSTRAINTS, external=True)
    session.run(python, "-m", "pip", "check", external=True)
    imports = "; ".join(f"import {wheel.name.split('-')[0]}" for wheel in map(Path, wheels))
    session.run(python, "-I", "-c", imports, external=True)
    session.run(str(Path(python).with_name("nr-llm")), "--version", external=True)
    session.run(str(Path(python).with_name("nr-llm")), "plugins", "list", external=True)


@nox.session
def third_party(session: nox.Session) -> None:
    """Install strangers' packages beside core and cli, call a tool of theirs and run their tests."""
    install(session, "build")
    dice, parrot = (ROOT / "tests/thirdparty" / name for name in ("nr-llm-dice", "nr-llm-parrot"))
    wheels = build_members(session, ".", "plugins/cli", str(dice), str(parrot))
    python = clean_environment(session)
    session.run(python, "-m", "pip", "install", "--quiet", *wheels, "pytest", *CONSTRAINTS, external=True)
    call = ("tools", "call", "roll", "--json", '{"sides": 6}')
    session.run(str(Path(python).with_name("nr-llm")), *call, external=True)
    with session.chdir(session.create_tmp()):
        for package in (dice, parrot):
            configuration = ("-c", str(package / "pyproject.toml"))
            session.run(python, "-m", "pytest", *configuration, str(package / "tests"), external=True)


@nox.session
def oracles(session: nox.Session) -> None:
    """Hold the requests that our codecs encode against the request types of the official SDKs."""
    requirements = shared_folder(session) / "oracles" / "requirements.txt"
    editable = [argument for name in CODECS for argument in ("-e", f"plugins/{name}")]
    install(session, "-e", ".", *editable, "hypothesis", "pytest")
    session.install("-r", str(requirements))
    session.run("pytest", "tests/corpus", *(f"tests/plugins/{name}" for name in CODECS), *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and form."""
    install(session, "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def imports(session: nox.Session) -> None:
    """Hold the boundaries between modules and packages."""
    install(session, "import-linter")
    session.run("lint-imports", env={"PYTHONPATH": SOURCES})


@nox.session
def sizes(session: nox.Session) -> None:
    """Print the largest modules and functions, and the medians."""
    session.run("python", "tests/packaging/sizes.py", *session.posargs)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Run what the documentation shows, and draft the changelog from its fragments."""
    install(session, *EVERYTHING)
    session.run("pytest", "tests/docs", *session.posargs)
    session.run("towncrier", "build", "--draft")


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Report what all tests together reach in core and plugins."""
    install(session, *EVERYTHING)
    session.run("coverage", "erase", env=coverage_file(session))
    session.run("coverage", "run", "--branch", "-m", "pytest", *session.posargs, env=coverage_file(session))
    session.run("coverage", "combine", "--quiet", env=coverage_file(session))
    session.run("coverage", "report", env=coverage_file(session))
    session.run("coverage", "report", "--include=core/*", "--fail-under=100", env=coverage_file(session))


@nox.session(default=False)
def local_eval(session: nox.Session) -> None:
    """Ask the embedded model the evaluation's tasks and print its score; the weights are fetched where absent."""
    shown = ("-e", "plugins/tools", "-e", "plugins/sql")
    install(session, "-e", ".", "-e", "plugins/cli", "-e", "plugins/local", *shown)
    session.run("nr-llm", "models", "pull", "qwen2.5-coder-1.5b")
    session.run("python", "tests/local_eval/run.py", *session.posargs)


@nox.session(default=False)
def screenshots(session: nox.Session) -> None:
    """Take pictures of the page's main states into the folder `screenshots`, to look at."""
    install_browser(session)
    session.run("python", "-m", "tests.browser.screenshots", *session.posargs, env={"PYTHONPATH": str(ROOT)})


@nox.session(default=False)
def bench_page(session: nox.Session) -> None:
    """Print the time from a step to its pixels on the playground's page, and what 10,000 events cost it."""
    install_browser(session)
    session.run("python", "-m", "tests.bench.playground_page", env={"PYTHONPATH": str(ROOT)})


@nox.session(default=False)
@nox.parametrize("server", ["xllamacpp==0.2.14", "xllamacpp"])
def live(session: nox.Session, server: str) -> None:
    """Ask a real llama.cpp server, an older and the current one, with the small model; the weights are fetched."""
    ask_live(session, server)


@nox.session(default=False)
def live_built(session: nox.Session) -> None:
    """Ask the server of llama-cpp-python too; apart, since its build takes a quarter of an hour and a C++ compiler."""
    ask_live(session, "llama-cpp-python[server]")


def ask_live(session: nox.Session, server: str) -> None:
    """Run the tests that ask a real server."""
    install(
        session, "-e", ".", "-e", "plugins/cli", "-e", "plugins/local", "-e", "plugins/openai", "hypothesis", "pytest"
    )
    session.install(server)
    session.run("nr-llm", "models", "pull", "qwen2.5-coder-0.5b")
    code = "from nr_llm_local._cache import locate; print(locate('qwen2.5-coder-0.5b'))"
    path = session.run("python", "-c", code, silent=True)
    session.run("pytest", "tests/live", *session.posargs, env={"NR_LLM_LIVE_MODEL": str(path).strip()})


@nox.session(default=False)
def corpus(session: nox.Session) -> None:
    """Cut every recorded stream at every byte up to 64 kB, and print what holds for each service."""
    install(session, *EVERYTHING)
    session.run("pytest", "tests/corpus", *session.posargs, env={"NR_LLM_TEST_DEPTH": "2"})
    session.run("python", "tests/corpus/table.py")


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Print what a round costs beside hand-written loops and two peers; arguments go to the shared benchmark."""
    shared = shared_folder(session) / "bench"
    install(session, *EVERYTHING)
    work = Path(session.virtualenv.location).resolve() / "bench"
    work.mkdir(exist_ok=True)
    variables = {"BENCH_WORK": str(work), "PYTHON": "python"}
    if not (work / "venvs").is_dir():
        peers = ("floor", "floor_plus", "openai_sdk", "pydantic_ai")
        session.run("bash", str(shared / "setup_venvs.sh"), *peers, env=variables, external=True)
    client = f"nr-llm={ROOT / 'tests/bench/nr_llm_client.py'}@{work.parent / 'bin' / 'python'}"
    only = "floor_httpx_sniffio,openai_sdk,pydantic_ai"
    measured = session.posargs or ["--stages", "rounds,long"]
    results = str(work / "results.json")
    driver = ("python", str(shared / "bench.py"), "--only", only, "--client", client, "--out", results)
    session.run(*driver, *measured, env=variables)
    session.run("python", str(shared / "report.py"), results, env=variables)
    session.run("python", "tests/bench/encoded_bytes.py")


@nox.session(python=PYTHONS[0], default=False)
def constraints(session: nox.Session) -> None:
    """
    Choose the newest version of everything and write it to `constraints.txt` and to uv's table.

    The floor's Python chooses, since what supports it supports newer ones too.
    """
    report = Path(session.create_tmp()) / "report.json"
    options = ("--quiet", "--dry-run", "--ignore-installed", "--report", str(report))
    session.run("python", "-m", "pip", "install", *options, *EVERYTHING, *BROWSER)
    metadata = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    pins = sorted(f"{canonical(each['name'])}=={each['version']}" for each in metadata if not is_member(each["name"]))
    head = "# Written by `nox --session constraints`: exact versions of all that requirements*.txt bring.\n"
    (ROOT / "constraints.txt").write_text(head + "\n".join(pins) + "\n", encoding="utf-8")
    manifest = ROOT / "pyproject.toml"
    table = "constraint-dependencies = [\n" + "".join(f'    "{pin}",\n' for pin in pins) + "]"
    text = re.sub(r"constraint-dependencies = \[.*?\]", table, manifest.read_text(encoding="utf-8"), flags=re.DOTALL)
    manifest.write_text(text, encoding="utf-8")


def tried_elsewhere(python: str, *, found: Sequence[str], shared: bool) -> list[str]:
    """
    Return the folders of tests that a Python leaves to other sessions.

    Pages and the checkout's files are what they are under any Python: the oldest reads them, whose grammar is the
    smallest. What holds on the oldest and the newest holds between them: there the packages are tried alone, not
    all together, nor what databases refuse. Core and codecs have sessions of their own, under the Python of nox itself.

    Args:
        python: The version that is to run tests.
        found: Those of `PYTHONS` that are installed; a single one leaves nothing out.
        shared: Whether there is shared test material, without which `oracles` is skipped.
    """
    left: set[str] = set()
    if len(found) > 1:
        if python != found[0]:
            left |= {"docs", "packaging"}
        if python not in (found[0], found[-1]):
            left |= {"corpus", "integration", "plugins/sql", "runs"}
        if python == RUNNING:
            left |= {"core", *(["corpus", *(f"plugins/{name}" for name in CODECS)] if shared else [])}
    return sorted(left)


def found_pythons() -> list[str]:
    """Return which of `PYTHONS` start here; where pyenv owns their names, not all do that are on the path."""

    def starts(python: str) -> bool:
        path = shutil.which(f"python{python}")
        return path is not None and subprocess.call([path, "-c", ""], stderr=subprocess.DEVNULL) == 0

    return [python for python in PYTHONS if python == RUNNING or starts(python)]


def install(session: nox.Session, *requirements: str) -> None:
    """
    Install under the constraints, unless the environment already holds just this.

    Args:
        session: The running session.
        requirements: Arguments of `pip install`; editables are built with the session's own hatchling.
    """
    decisive = [*ROOT.glob("*.txt"), *(ROOT / member / "pyproject.toml" for member in MEMBERS)]
    seen = hashlib.sha256(repr(requirements).encode())
    for path in sorted(decisive):
        seen.update(path.read_bytes())
    stamp = Path(session.virtualenv.location) / "nr-llm-installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == seen.hexdigest():
        return
    session.install("hatchling", *CONSTRAINTS)
    session.install("--no-build-isolation", *requirements, *CONSTRAINTS)
    stamp.write_text(seen.hexdigest(), encoding="utf-8")


def install_browser(session: nox.Session) -> None:
    """Install what looks at the page; without a Chromium the session is skipped, but in CI it fails."""
    if shutil.which("chromium") is None:
        say = session.error if os.environ.get("CI") else session.skip
        say("there is no chromium; on Debian: apt-get install chromium")
    members = ("-e", ".", "-e", "plugins/cli", "-e", "plugins/playground")
    install(session, *members, *BROWSER, "hypothesis", "pytest")


def build_members(session: nox.Session, *folders: str) -> list[str]:
    """
    Build each folder's sdist, and its wheel from that sdist.

    Returns:
        The paths of the wheels.
    """
    target = Path(session.create_tmp()) / "dist"
    for old in target.glob("*"):
        old.unlink()
    for folder in folders:
        session.run("python", "-m", "build", "--no-isolation", "--outdir", str(target), folder, silent=True)
    return sorted(map(str, target.glob("*.whl")))


def clean_environment(session: nox.Session) -> str:
    """Make an empty environment with the standard library's venv and return the path of its Python."""
    folder = Path(session.create_tmp()).resolve() / "clean"
    session.run("python", "-m", "venv", "--clear", str(folder))
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def coverage_file(session: nox.Session) -> dict[str, str]:
    """Return the variable that keeps one session's measurements apart from another's."""
    return {"COVERAGE_FILE": str(Path(session.create_tmp()).resolve() / ".coverage")}


def shared() -> Path:
    """Return where shared test material is, if there is any."""
    return Path(os.environ.get("NR_LLM_SHARED") or ROOT.parent / "shared")


def shared_folder(session: nox.Session) -> Path:
    """Return the folder of shared test material, or skip the session where there is none."""
    folder = shared()
    if not folder.is_dir():
        session.skip(f"no shared test material at {folder}; set NR_LLM_SHARED to its folder")
    return folder


def canonical(name: str) -> str:
    """Return a distribution's name in its normal form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_member(name: str) -> bool:
    """Say whether a distribution is one of this repository."""
    return canonical(name) == "nr-llm" or canonical(name).startswith("nr-llm-")
