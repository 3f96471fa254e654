"""The first-party plugins that are here, as hosts find them, and the data their tools read in tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from nr_llm import PluginHost

NAMES = ("anthropic", "gemini", "local", "ollama", "openai", "sql", "tools")
"""Entry points of the plugins that contribute tools or providers; the distributions are ``nr-llm-NAME``."""

SHOP = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, total REAL, password TEXT);
INSERT INTO orders VALUES (1, 'open', 9.5, 'x'), (2, 'sent', 20.0, 'y'), (3, 'open', NULL, NULL);
"""


def modules() -> dict[str, ModuleType]:
    """Return the plugins that can be imported here, by entry-point name."""
    return {name: import_module(f"nr_llm_{name}") for name in NAMES if find_spec(f"nr_llm_{name}") is not None}


def settings(folder: Path) -> Mapping[str, Any]:
    """Write a small project and a small database below `folder`; return the settings that open them to all tools."""
    project, database = folder / "project", folder / "shop.db"
    (project / "src").mkdir(parents=True)
    (project / "README.md").write_text("# A project\n\nTODO: say what it is for.\n", encoding="utf-8")
    (project / "src" / "app.py").write_text("def main() -> None:\n    print('ünïcode')\n", encoding="utf-8")
    (project / "src" / "data.bin").write_bytes(b"\x00\xff")
    (project / "draft.txt").write_text("Buy milk.\n", encoding="utf-8")
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(SHOP)
    drafts = {"orders": {"fields": ["total"], "set": {"status": "draft"}}}
    sql = {"database": database, "write": {"orders": ["status", "total"]}, "drafts": drafts}
    return {"tools": {"root": project, "write": ["."]}, "sql": sql}


@contextmanager
def host(folder: Path) -> Iterator[PluginHost]:
    """Open a host of the plugins that are here, their data below `folder`."""
    with PluginHost(plugins=modules(), settings=settings(folder), environ={}) as found:
        yield found
