"""Runs the command beside an installed package that keeps runs in this process's memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest
from click.testing import Result
from nr_llm import MemoryStore, RunQuery, StoredRun

from tests.plugins.cli.installed import install, on_path
from tests.plugins.cli.shell import invoke, plugin_file

SOURCE = """
from nr_llm.hookspecs import hookimpl

@hookimpl
def nr_llm_stores():
    import nr_llm_kept_in  # each test has its own

    return [nr_llm_kept_in.store]
"""


@attrs.define(eq=False)
class Shop:
    """
    A folder with plugin files, and a store that is installed.

    Attributes:
        folder: The folder.
        store: What the commands keep runs in.
    """

    folder: Path
    store: Any

    def __call__(
        self, *arguments: str | Path, env: Mapping[str, str | None] | None = None, stdin: str | None = None
    ) -> Result:
        """Run the command."""
        return invoke(*arguments, env={"NR_LLM_PLUGINS": "nr-llm-kept", **(env or {})}, stdin=stdin)

    def ask(self, *arguments: str | Path, replies: str = '"Hello."', more: str = "", **settings: Any) -> Result:
        """Run `run` with a scripted model; the question is the first argument."""
        path = plugin_file(self.folder, replies, more=more)
        question, *rest = arguments or ("hi",)
        return self("run", question, "-m", "scripted:", "--plugin", path, *rest, **settings)

    def chat(self, lines: str, *arguments: str | Path, replies: str = '"Hello."', **settings: Any) -> Result:
        """Run `chat` with a scripted model."""
        path = plugin_file(self.folder, replies)
        return self("chat", "-m", "scripted:", "--plugin", path, *arguments, stdin=lines, **settings)

    def runs(self) -> list[StoredRun]:
        """Return the kept runs, the newest first."""
        return list(self.store.runs(RunQuery()))


def open_shop(folder: Path, monkeypatch: pytest.MonkeyPatch, store: Any = None) -> Shop:
    """Install a package that keeps runs in a store, in memory unless one is given."""
    shop = Shop(folder, MemoryStore() if store is None else store)
    shelf: Any = ModuleType("nr_llm_kept_in")
    shelf.store = shop.store
    monkeypatch.setitem(sys.modules, "nr_llm_kept_in", shelf)
    install(on_path(folder, monkeypatch), "nr_llm_kept", SOURCE)
    return shop
