"""Holds the entry points of the checkout to what the documents say of them."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
import subprocess
import sys

import pytest

from tests.support import ROOT


def sessions() -> set[str]:
    """Return the names of the sessions that the noxfile defines."""
    body = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    return {node.name for node in functions if any("nox.session" in ast.unparse(d) for d in node.decorator_list)}


def test_every_session_is_explained() -> None:
    """The contributors' page names each session, and none that is gone."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The checks")[2].partition("\n## ")[0]

    assert set(re.findall(r"`(\w+)`", page)) == sessions()


def test_every_test_is_run_somewhere() -> None:
    """What one Python leaves out is tried on another or in a session of its own; a single Python leaves out nothing."""
    nox = pytest.importorskip("nox", reason="nox is not installed here")
    del nox
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    noxfile = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(noxfile)
    named = {"core", "corpus", *(f"plugins/{name}" for name in noxfile.CODECS)}  # by the sessions `core` and `oracles`

    for count in range(1, len(noxfile.PYTHONS) + 1):
        for found in itertools.combinations(noxfile.PYTHONS, count):
            for shared in (True, False):
                left = [set(noxfile.tried_elsewhere(python, found=found, shared=shared)) for python in found]
                everywhere = set.intersection(*left)
                assert not everywhere
                assert all((ROOT / "tests" / folder).is_dir() for folder in set.union(*left))
                assert left[0] <= (named if shared else {"core"})
                assert left[-1] <= {"docs", "packaging"} | (named if shared else {"core"})


def test_dev_without_a_command_explains_itself() -> None:
    """Without a command it installs nothing, shows the two it has, and ends with the code of wrong usage."""
    done = subprocess.run([sys.executable, ROOT / "dev.py"], check=False, capture_output=True, encoding="utf-8")

    assert done.returncode == 2
    assert "dev.py run" in done.stdout
    assert "dev.py test" in done.stdout


def test_dev_needs_only_the_standard_library() -> None:
    """It runs before anything is installed."""
    nodes = ast.walk(ast.parse((ROOT / "dev.py").read_text(encoding="utf-8")))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}

    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_ci_never_reads_from_a_person() -> None:
    """Every job of `.ci/run` runs without standard input, and its script is executable."""
    script = ROOT / ".ci" / "run"

    assert '"$@" </dev/null' in script.read_text(encoding="utf-8")
    assert script.stat().st_mode & 0o111
