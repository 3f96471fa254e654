"""
Makes a checkout usable with Python and pip alone: the README's two commands start here.

    python3 dev.py run QUESTION     ask the embedded model, with the first-party tools at hand
    python3 dev.py test [SESSION]   run every check (or the named ones), two at a time

Both make `.venv` on first use and install into it what the requirement files name, at the versions of
`constraints.txt`. A second use installs nothing unless one of those files has changed. Only the standard library is
imported, since this runs before anything is installed.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
PROGRAMS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(PROGRAMS / "python")
CONSTRAINTS = ["-c", str(ROOT / "constraints.txt")]
FLOOR = (3, 11)
LANES = 2
"""Sessions that run at the same time; each of the slow ones keeps about one processor busy."""


def main(arguments: list[str]) -> int:
    """
    Do what the command line asks for.

    Args:
        arguments: The words after the program's name.

    Returns:
        The exit code: 0 success, 2 usage, otherwise that of the program that failed.
    """
    if arguments[:1] == ["run"]:
        prepare("run", ["--no-build-isolation", "-r", str(ROOT / "requirements.txt")])
        return become([str(PROGRAMS / "nr-llm"), "run", "--pull", *arguments[1:]])
    if arguments[:1] == ["test"]:
        prepare("test", ["nox"])
        return run_sessions(arguments[1:] or default_sessions())
    print(__doc__)
    return 0 if arguments[:1] in (["-h"], ["--help"]) else 2


def prepare(purpose: str, requirements: list[str]) -> None:
    """
    Make `.venv` and install the requirements into it, unless that was done with the same files.

    Args:
        purpose: Names the stamp that remembers what was installed.
        requirements: Arguments of `pip install`.
    """
    if sys.version_info < FLOOR:
        sys.exit("nr-llm needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Run it with a newer one.")
    stamp = ENVIRONMENT / ("installed-" + purpose)
    wanted = digest(requirements)
    if works() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    if not works():
        print("Creating .venv and installing into it; this takes about a minute, once.", file=sys.stderr)
        create()
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *CONSTRAINTS]
    for step in (["hatchling"], requirements):
        code = subprocess.call(pip + step, cwd=ROOT, stdin=subprocess.DEVNULL)
        if code:
            sys.exit("pip could not install " + " ".join(step) + "; its message is above. Nothing else was changed.")
    stamp.write_text(wanted, encoding="utf-8")


def digest(requirements: list[str]) -> str:
    """Return what decides the outcome of an installation, as a hash."""
    seen = hashlib.sha256(repr((requirements, sys.version_info[:2], str(ROOT))).encode())
    manifests = ROOT.glob("plugins/*/pyproject.toml")
    for path in sorted([*ROOT.glob("*.txt"), ROOT / "pyproject.toml", *manifests]):
        seen.update(path.read_bytes())
    return seen.hexdigest()


def works() -> bool:
    """Say whether `.venv` holds a Python that starts and has pip (a copied or moved one may not)."""
    if not Path(PYTHON).exists() and not Path(PYTHON + ".exe").exists():
        return False
    return subprocess.call([PYTHON, "-c", "import pip"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def create() -> None:
    """Make `.venv` anew, or end with the remedy where this Python cannot."""
    try:
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    except subprocess.CalledProcessError:
        sys.exit("This Python cannot create environments with pip. On Debian and Ubuntu: apt install python3-venv")


def become(command: list[str]) -> int:
    """Replace this process by the command, so that signals and exit codes are its own."""
    if os.name == "posix":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(command[0], command)  # noqa: S606 - the program just installed, no shell
    return subprocess.call(command)


def default_sessions() -> list[str]:
    """Return the names of the sessions that nox runs by default, in its order."""
    listed = subprocess.check_output([PYTHON, "-m", "nox", "--list", "--json"], cwd=ROOT)
    return [session["session"] for session in json.loads(listed)]


def run_sessions(names: list[str]) -> int:
    """
    Run nox sessions, a few at a time, and print each one's output when it ends.

    Args:
        names: Session names as `nox --list` shows them.

    Returns:
        0 if all succeeded, else 1.
    """
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
        for running in concurrent.futures.as_completed([lanes.submit(run_session, name) for name in names]):
            name, code, seconds, output = running.result()
            outcomes.append("{:<8}{} ({:.0f} s)".format("FAILED" if code else "ok", name, seconds))
            print("\n===== " + name + "\n" + output, flush=True)
    print("\n===== all sessions\n" + "\n".join(outcomes), flush=True)
    return int(any(line.startswith("FAILED") for line in outcomes))


def run_session(name: str) -> tuple[str, int, float, str]:
    """
    Run one nox session.

    Args:
        name: The session's name.

    Returns:
        The name, the exit code, the duration in seconds, and what it printed.
    """
    began = time.monotonic()
    done = subprocess.run(
        [PYTHON, "-m", "nox", "--session", name],
        check=False,
        cwd=ROOT,
        errors="replace",
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return name, done.returncode, time.monotonic() - began, done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
