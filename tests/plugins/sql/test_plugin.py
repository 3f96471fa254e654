"""What the plugin contributes to a host."""

from __future__ import annotations

from pathlib import Path

import nr_llm_sql
import pytest
from nr_llm.tools import ToolEffect
from nr_llm_sql import SqlSettings, nr_llm_tools

NAMES = ["list_tables", "table_schema", "read_records", "search_records", "count_by"]


def test_it_contributes_five_reading_tools(shop: Path) -> None:
    """With a database the tools are offered; all of them only read."""
    tools = nr_llm_tools(SqlSettings(database=shop))

    assert [tool.name for tool in tools] == NAMES
    assert {(tool.effect, tool.enabled, tool.group) for tool in tools} == {(ToolEffect.READ, True, "sql")}


def test_without_a_database_they_are_off_and_say_why() -> None:
    """Without a database they can be found and say what they need, but no model is offered them."""
    tools = nr_llm_tools(SqlSettings())

    assert [(tool.name, tool.enabled) for tool in tools] == [(name, False) for name in NAMES]
    assert all("NR_LLM_SQL_DATABASE" in tool.description for tool in tools)


def test_the_runtime_waits_longer_than_the_database() -> None:
    """The database's own deadline comes first, so that its message is the one that is read."""
    [timeout] = {tool.timeout for tool in nr_llm_tools(SqlSettings(seconds=120))}

    assert timeout is not None
    assert timeout > 120


def test_the_page_size_is_in_the_schema() -> None:
    """A model is told the number of records it gets without asking."""
    for tool in nr_llm_tools(SqlSettings(rows=7))[2:]:
        assert tool.parameters["properties"]["limit"]["default"] == 7


def test_no_value_but_a_plain_one_is_accepted_as_a_filter() -> None:
    """The schema already refuses a filter that is a list or an object."""
    from nr_llm.errors import InvalidValueError

    structure = nr_llm_tools(SqlSettings())[2].structure

    assert structure({"table": "t", "filters": {"a": None, "b": 1.5, "c": "x"}})["filters"]["a"] is None
    with pytest.raises(InvalidValueError):
        structure({"table": "t", "filters": {"a": ["x"]}})


def test_all_is_sorted_and_there() -> None:
    """The package's public names are its `__all__`."""
    assert nr_llm_sql.__all__ == sorted(nr_llm_sql.__all__)
    assert all(hasattr(nr_llm_sql, name) for name in nr_llm_sql.__all__)
