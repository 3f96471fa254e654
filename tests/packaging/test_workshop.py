"""Holds the entry points of the checkout to what the documents say of them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

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
