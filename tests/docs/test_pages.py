"""Runs what the documentation shows: its Python, its commands, its files."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.docs.pages import LANGUAGES, Block, blocks, commands, every_block, pages, shows
from tests.support import ROOT

NOT_RUN = {
    ("CONTRIBUTING.md", "sets up the environment that runs these tests"),
    ("CONTRIBUTING.md", "would run these tests in themselves"),
    ("README.md", ".ci/run runs both lines"),
    ("docs/how-to/playground.md", "it serves until somebody stops it"),
    ("docs/tutorial/first-tool.md", "needs a model"),
    ("plugins/anthropic/README.md", "it needs a key and costs money"),
    ("plugins/gemini/README.md", "it needs a key and costs money"),
    ("plugins/ollama/README.md", "it needs a running server"),
    ("plugins/openai/README.md", "it needs a key and costs money"),
    ("plugins/playground/README.md", "it serves until somebody stops it"),
}
"""The only blocks that are not run, each with its reason."""


def runnable(page: Path) -> list[Block]:
    return [b for b in blocks(page) if b.reason is None and (b.title or b.language in {"python", "console"})]


def environment(folder: Path) -> dict[str, str]:
    """Make an environment that sees what the tests see, and takes installations without touching theirs."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    site = sysconfig.get_paths()["purelib"]
    inner = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (inner / "outer.pth").write_text(f"import site; site.addsitedir({site!r})\n", encoding="utf-8")
    for script in importlib.metadata.entry_points(group="console_scripts"):
        body = f"#!{python}\nimport sys\nfrom {script.module} import {script.attr}\nsys.exit({script.attr}())\n"
        target = folder / "bin" / script.name
        target.write_text(body, encoding="utf-8")
        target.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NR_LLM_", "OPENAI_"))}
    home = {"NR_LLM_HOME": str(folder / "home")}  # runs are kept there, and not among those of whoever tests
    return kept | home | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}


def run_commands(block: Block, folder: Path, variables: dict[str, str]) -> None:
    for command in commands(block):
        done = subprocess.run(
            ["bash", "-c", command.line],
            check=False,
            cwd=folder,
            encoding="utf-8",
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == 0, f"{block}: {command.line}\n{done.stdout}"
        assert not command.output.strip() or shows(command.output, done.stdout), f"{block}: printed\n{done.stdout}"


@pytest.mark.parametrize("page", [p for p in pages() if runnable(p)], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's blocks work in the order in which a reader meets them."""
    found = runnable(page)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.syspath_prepend(work)
    names: dict[str, object] = {"__name__": "__page__"}
    has_commands = any(block.language == "console" for block in found)
    variables = environment(tmp_path / "environment") if has_commands else {}
    for block in found:
        if block.title:
            target = work / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
            monkeypatch.delitem(sys.modules, target.stem, raising=False)
        elif block.language == "console":
            run_commands(block, work, variables)
        else:
            source = "\n" * block.line + block.text
            exec(compile(source, str(page), "exec", dont_inherit=True), names)


def test_every_fence_has_a_language() -> None:
    """No command or snippet escapes by standing in a fence of another kind."""
    strays = [str(block) for block in every_block() if block.language not in LANGUAGES]

    assert strays == []


def test_what_is_not_run_is_listed() -> None:
    """A block is left out only for a reason that stands in the list above, and the list holds no old ones."""
    marked = {(block.page, block.reason) for block in every_block() if block.reason is not None}

    assert marked == NOT_RUN


def test_a_shown_output_is_compared() -> None:
    """A page that shows other output than the command printed fails, and `...` stands for any text."""
    assert shows("a ... c", "a b\nc")
    assert not shows("a b", "a c")
