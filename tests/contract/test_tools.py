"""Every first-party tool keeps the contract that plugin authors are asked to keep."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from nr_llm import Tool
from nr_llm.testing import assert_no_leak, check_installed, check_tool

from tests.contract import first_party

WORKS: Mapping[str, Mapping[str, Any]] = {
    "calculate": {"expression": "2 ** 10"},
    "count_by": {"table": "orders", "field": "status"},
    "create_record_draft": {"table": "orders", "values": {"total": 12.5}},
    "find_files": {"pattern": "*.py"},
    "get_python_info": {},
    "get_time": {"zone": "UTC"},
    "list_directory": {"path": "."},
    "list_packages": {"prefix": "nr"},
    "list_tables": {},
    "move_file": {"source": "draft.txt", "destination": "src/list.txt"},
    "read_file": {"path": "src/app.py"},
    "read_records": {"table": "orders", "filters": {"status": "open"}, "order": "total desc"},
    "search_code": {"text": "def main"},
    "search_records": {"table": "orders", "text": "OPEN", "where": [{"field": "total", "operator": ">", "value": 1}]},
    "table_schema": {"table": "orders"},
    "update_record_fields": {"table": "orders", "key": {"id": 1}, "values": {"status": "sent"}},
    "write_file": {"path": "README.md", "content": "# A project\n", "overwrite": True},
}
"""For each tool a call that must succeed; a tool that is missing here fails `test_every_tool_is_listed`."""

WRITE = {"create_record_draft", "move_file", "update_record_fields", "write_file"}
"""Those that change something, which the host has to switch on."""


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[dict[str, Tool]]:
    """Return the tools of the plugins that are here."""
    with first_party.host(tmp_path) as host:
        yield {found.name: found.tool for found in host.tools()}


def test_every_tool_is_listed(tools: dict[str, Tool]) -> None:
    """No first-party tool escapes the contract."""
    if len(first_party.modules()) < len(first_party.NAMES):
        pytest.skip(f"not all plugins are here: {', '.join(first_party.modules())}")

    assert WORKS.keys() == tools.keys()


@pytest.mark.parametrize("name", WORKS)
def test_tool_keeps_the_contract(name: str, tools: dict[str, Tool]) -> None:
    """The tool keeps every promise, and the call that must succeed does."""
    if name not in tools:
        pytest.skip(f"the plugin of {name} is not here")
    unchecked = check_tool(tools[name], WORKS[name])

    reasons = {"it takes no ToolContext, so it cannot be told", "nothing is required"}
    assert {note.partition(": ")[2] for note in unchecked} <= reasons


@pytest.mark.parametrize("name", WORKS)
def test_tool_that_writes_would_say_so(name: str, tools: dict[str, Tool]) -> None:
    """Readers are offered unasked and need nobody's approval; what writes waits for a person, who sees what it does."""
    if name not in tools:
        pytest.skip(f"the plugin of {name} is not here")

    writes = name in WRITE
    tool = tools[name]
    assert (writes, writes, writes) == (tool.writes, tool.needs_approval, tool.preview is not None)


def test_core_lets_nothing_of_a_tool_out() -> None:
    """Artifacts and secrets stay where they belong with every part of the core as shipped."""
    assert_no_leak()


@pytest.mark.parametrize("distribution", ["nr-llm-sql", "nr-llm-tools"])
def test_installed_distribution_keeps_the_contract(distribution: str, tmp_path: Path) -> None:
    """What is installed is what was checked: found by its entry point, under its own name."""
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed here; pip install -r requirements.txt -c constraints.txt")

    names = check_installed(distribution, examples=WORKS, settings=first_party.settings(tmp_path), generated=5)
    assert set(names) <= WORKS.keys()
