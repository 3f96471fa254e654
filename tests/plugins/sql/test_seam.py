"""The tools in a host: settings from outside, calls through the seam, artifacts beside the conversation."""

from __future__ import annotations

import tomllib
from pathlib import Path

import attrs
import nr_llm_sql
import pytest
from nr_llm import Redactor, RunResult, Runtime
from nr_llm._host import PluginHost
from nr_llm.errors import ConfigurationError
from nr_llm.settings import load_settings
from nr_llm.testing import ScriptedProvider, calling
from nr_llm_sql import SqlSettings, sql_tools

from tests.plugins.sql.databases import Make, cells
from tests.support import ROOT


@pytest.fixture
def runtime(shop: Path) -> Runtime:
    """Return a runtime with the shop's tools."""
    return Runtime(tools=sql_tools(SqlSettings(database=shop)))


def test_each_tool_is_called_through_the_seam(runtime: Runtime) -> None:
    """Checked arguments in, text and table out, nothing lost on the way."""
    with runtime:
        listed = runtime.call("list_tables")
        schema = runtime.call("table_schema", {"table": "orders"})
        records = runtime.call("read_records", {"table": "orders", "limit": "1"})

    assert [result.is_error for result in (listed, schema, records)] == [False] * 3
    assert cells(records) == (["id", "customer", "status", "total", "paid"], [["4", "1", "open", "9.5", "0"]])
    assert len(cells(schema)[1]) == 5
    assert len(cells(listed)[1]) == 2


def test_a_call_without_a_database_says_what_to_set() -> None:
    """Whoever calls a tool by name before there is a database reads which setting it needs."""
    with Runtime(tools=sql_tools(SqlSettings())) as runtime:
        result = runtime.call("list_tables")

    assert result.is_error
    assert "NR_LLM_SQL_DATABASE" in result.content


def test_a_list_as_a_filter_is_an_error_turn(runtime: Runtime) -> None:
    """A value that cannot be compared is refused by its place, before the tool runs."""
    with runtime:
        result = runtime.call("read_records", {"table": "orders", "filters": {"status": ["open"]}})

    assert result.is_error
    assert "filters.status" in result.content


def test_the_largest_answer_passes_every_bound(make: Make) -> None:
    """A table that fills its room arrives whole in both channels."""
    path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)", t=[(i, '"€' * 150, "\\x" * 150) for i in range(60)])

    with Runtime(tools=sql_tools(SqlSettings(database=path))) as runtime:
        result = runtime.call("read_records", {"table": "t", "limit": 50})

    assert result.content.endswith(f"More rows follow: go on with offset {len(cells(result)[1])}.")


def test_the_table_stays_out_of_the_conversation(runtime: Runtime) -> None:
    """The model is sent the text; the table is in the run's invocations and in no request."""
    provider = ScriptedProvider(calling(("read_records", {"table": "customers", "fields": ["city"]})), "Done.")

    with Runtime(tools=runtime.tools().values(), providers=[provider], model="scripted:x") as runtime:
        outcome = runtime.run("Who is in Leipzig?")

    assert isinstance(outcome, RunResult)
    [invocation] = outcome.invocations
    assert [artifact.label for artifact in invocation.artifacts] == ["customers rows"]
    assert invocation.content == provider.requests[1].messages[-1].content
    assert "customers rows" not in repr(provider.requests) + repr(outcome.messages)


class TestHost:
    def test_a_variable_sets_it_up(self, shop: Path) -> None:
        """In a host one variable is enough: the tools are offered and read that database."""
        host = PluginHost({"sql": nr_llm_sql}, environ={"NR_LLM_SQL_DATABASE": str(shop)})

        with host, Runtime(tools=[registered.tool for registered in host.tools()]) as runtime:
            result = runtime.call("read_records", {"table": "customers", "filters": {"city": "Leipzig"}})

        assert cells(result) == (["id", "name", "city"], [["1", "Ada", "Leipzig"], ["3", "Cem", "Leipzig"]])

    def test_without_a_database_it_is_sound_and_silent(self) -> None:
        """An unconfigured plugin is no problem to report, and its tools go to no model."""
        provider = ScriptedProvider("Nothing to call.")

        with PluginHost({"sql": nr_llm_sql}, environ={}) as host:
            found = [registered.tool for registered in host.tools()]
            findings = host.doctor()
        with Runtime(tools=found, providers=[provider], model="scripted:x") as runtime:
            runtime.run("Which tables are there?")

        assert [tool.name for tool in found] == [
            "list_tables",
            "table_schema",
            "read_records",
            "search_records",
            "count_by",
        ]
        assert findings == ()
        assert provider.requests[0].tools == ()


class TestSettings:
    def test_from_a_file(self, tmp_path: Path) -> None:
        """A table of the configuration file fills the class."""
        values = {"database": str(tmp_path / "a.db"), "tables": ["orders"], "max_rows": 10, "snapshot": True}

        settings = load_settings(SqlSettings, plugin="sql", values=values, environ={}, redactor=Redactor())

        assert settings == SqlSettings(database=tmp_path / "a.db", tables=("orders",), max_rows=10, snapshot=True)

    def test_from_variables(self) -> None:
        """So do variables."""
        environ = {"NR_LLM_SQL_DATABASE": "/srv/a.db", "NR_LLM_SQL_TABLES": "orders,customers", "NR_LLM_SQL_ROWS": "5"}

        settings = load_settings(SqlSettings, plugin="sql", environ=environ)

        assert settings == SqlSettings(database=Path("/srv/a.db"), tables=("orders", "customers"), rows=5)

    def test_the_readme_is_right(self) -> None:
        """The file the README shows can be read, and its table names every setting."""
        page = (ROOT / "plugins/sql/README.md").read_text(encoding="utf-8")
        shown = page.split('```toml title="nr-llm.toml"\n')[1].split("```")[0]

        settings = load_settings(SqlSettings, plugin="sql", values=tomllib.loads(shown)["plugins"]["sql"], environ={})

        assert settings.tables == ("orders", "customers")
        assert all(f"`{field.name}`" in page for field in attrs.fields(SqlSettings))

    def test_a_bad_value_is_a_configuration_error(self) -> None:
        """A value out of range is refused with the setting's name."""
        with pytest.raises(ConfigurationError, match="max_rows"):
            load_settings(SqlSettings, plugin="sql", values={"max_rows": 0}, environ={})
