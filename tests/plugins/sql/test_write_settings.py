"""What a host may permit to be written, and what nobody may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nr_llm_sql
import pytest
from nr_llm import PluginHost, Runtime, ToolEffect
from nr_llm.config import read_config
from nr_llm.errors import ConfigurationError, InvalidValueError
from nr_llm.settings import load_settings
from nr_llm.testing import ScriptedProvider
from nr_llm_sql import Draft, SqlSettings, nr_llm_tools

from tests.plugins.sql.books import CREATE, DRAFTS, UPDATE, WRITE

BOTH = [UPDATE, CREATE]


def test_nothing_is_written_by_default(shop: Path) -> None:
    """Without the settings there are no such tools, whatever database there is."""
    assert not {*BOTH} & {tool.name for tool in nr_llm_tools(SqlSettings(database=shop))}


def test_each_has_its_effect_and_waits_for_a_person(shop: Path) -> None:
    """A change to given values can be made twice, a creation cannot; who chooses the readers gets neither."""
    tools = nr_llm_tools(SqlSettings(database=shop, write=WRITE, drafts=DRAFTS))[-2:]

    assert [(tool.name, tool.effect) for tool in tools] == [
        (UPDATE, ToolEffect.IDEMPOTENT_WRITE),
        (CREATE, ToolEffect.WRITE),
    ]
    assert all(tool.needs_approval and tool.preview and tool.group == "sql_writing" for tool in tools)


def test_without_a_database_they_are_off() -> None:
    """They say what they need, as the readers do."""
    tools = nr_llm_tools(SqlSettings(write=WRITE, drafts=DRAFTS))[-2:]

    assert [(tool.name, tool.enabled) for tool in tools] == [(UPDATE, False), (CREATE, False)]
    assert all("NR_LLM_SQL_DATABASE" in tool.description for tool in tools)


def test_a_run_of_the_default_set_has_none(shop: Path) -> None:
    """A run that does not name them is not offered them."""
    settings = {"sql": {"database": shop, "write": WRITE, "drafts": DRAFTS}}
    provider = ScriptedProvider("x")
    with (
        PluginHost({"sql": nr_llm_sql}, settings=settings, environ={}) as host,
        Runtime(host, providers=[provider], model="scripted:") as runtime,
    ):
        runtime.run("x")

    assert {*BOTH} <= {found.name for found in host.tools()}
    assert not {*BOTH} & {spec.name for spec in provider.requests[0].tools}


def test_from_a_file() -> None:
    """The tables of a configuration file fill the settings."""
    values = {"database": "a.db", "write": {"orders": ["status"]}, "drafts": DRAFTS}
    settings = load_settings(SqlSettings, plugin="sql", values=values, environ={})

    assert settings.write == {"orders": ("status",)}
    assert settings.drafts == {"orders": Draft(("customer", "total", "note", "number"), {"status": "draft"})}


def test_from_variables() -> None:
    """So do variables, as JSON."""
    environ = {
        "NR_LLM_SQL_URL": "postgresql://reader@h/d",
        "NR_LLM_SQL_WRITE_URL": "postgresql://writer@h/d",
        "NR_LLM_SQL_WRITE": '{"orders": ["status"]}',
    }
    settings = load_settings(SqlSettings, plugin="sql", environ=environ)

    assert settings.write == {"orders": ("status",)}
    assert "writer" not in repr(settings)


def test_a_description_has_its_bounds(shop: Path) -> None:
    """However much may be written, a model is not sent all of it with each request."""
    write = {f"t{i}": [f"field{j}" for j in range(50)] for i in range(50)}
    [tool] = [each for each in nr_llm_tools(SqlSettings(database=shop, write=write)) if each.name == UPDATE]

    assert len(tool.description) < 5_000
    assert "t0 (field0, field1," in tool.description


@pytest.mark.parametrize(
    "line",
    [
        'write = { orders = ["status"] }',
        'drafts = { orders = { fields = ["note"], set = { status = "x" } } }',
        'write_url = "postgresql://evil@h/d"',
    ],
)
def test_a_file_that_is_not_trusted_cannot_switch_them_on(line: str, tmp_path: Path) -> None:
    """A cloned project that could would write where it likes."""
    config = tmp_path / "nr-llm.toml"
    config.write_text(f"[plugins.sql]\n{line}\n")

    with pytest.raises(ConfigurationError, match=line.split(maxsplit=1)[0]):
        PluginHost({"sql": nr_llm_sql}, environ={}, config=read_config(config, trusted=False)).require("sql")


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"write": ["orders"]}, "write"),
        ({"write": {"": ["a"]}}, "write"),
        ({"write": {"orders": []}}, "write.orders"),
        ({"write": {"orders": {"a": 1}}}, "write.orders"),
        ({"write": {"orders": ["a", ""]}}, "write.orders[1]"),
        ({"write": {"orders": ["a", 5]}}, "write.orders[1]"),
        ({"write": {"orders": ["*"]}}, "write.orders[0]"),
        ({"write": {"orders": ["a", "A"]}}, "write.orders"),
        ({"write": {"orders": ["a", "api_key"]}}, "write.orders[1]"),
        ({"write": {"orders": ["Password"]}}, "write.orders[0]"),
        ({"write": {"orders": ["a"]}, "denied_tables": ["Orders"]}, "write.orders"),
        ({"write": {"orders": ["a"]}, "denied_columns": ["A"]}, "write.orders"),
        ({"write": {"orders": ["a"]}, "denied_columns": ["orders.a"]}, "write.orders"),
        ({"write": {"orders": ["a"]}, "database": "a.db", "snapshot": True}, "snapshot"),
        ({"write": {"orders": ["a"]}, "url": "postgresql://h/d"}, "write_url"),
        ({"write_url": "postgresql://h/d"}, "write_url"),
        ({"write_url": "mysql://h/d", "url": "postgresql://h/d"}, "write_url"),
        ({"drafts": ["orders"]}, "drafts"),
        ({"drafts": {"orders": ["a"]}}, "drafts.orders"),
        ({"drafts": {"orders": {"fields": ["a"]}}}, "drafts.orders"),
        ({"drafts": {"orders": {"set": {"a": 1}}}}, "drafts.orders"),
        ({"drafts": {"orders": {"fields": ["a"], "set": {}}}}, "drafts.orders.set"),
        ({"drafts": {"orders": {"fields": ["a"], "set": {"b": 1}, "more": 1}}}, "drafts.orders.more"),
        ({"drafts": {"orders": {"fields": ["token"], "set": {"b": 1}}}}, "drafts.orders.fields[0]"),
        ({"drafts": {"orders": {"fields": ["a"], "set": {"token": 1}}}}, "drafts.orders.set.token"),
        ({"drafts": {"orders": {"fields": ["a"], "set": {"A": 1}}}}, "drafts.orders.set.A"),
        ({"drafts": {"orders": {"fields": ["a"], "set": {"b": [1]}}}}, "drafts.orders.set.b"),
        ({"drafts": {"orders": {"fields": ["a"], "set": {"b": float("nan")}}}}, "drafts.orders.set.b"),
        ({"drafts": {"orders": {"fields": ["a"], "set": {"b": "\0"}}}}, "drafts.orders.set.b"),
        ({"drafts": {"orders": {"fields": ["a"], "set": {"b": 1}}}, "denied_columns": ["b"]}, "drafts.orders"),
    ],
    ids=repr,
)
def test_what_cannot_be_permitted(values: dict[str, Any], path: str) -> None:
    """A mistake is told with its place, when the settings are made and not when somebody writes."""
    with pytest.raises(InvalidValueError) as caught:
        SqlSettings(**values)

    assert caught.value.path == path


def test_they_cannot_be_changed(shop: Path) -> None:
    """What was checked is what counts."""
    given = {"orders": ["status"]}
    settings = SqlSettings(database=shop, write=given, drafts=DRAFTS)
    given["orders"].append("id")

    assert settings.write == {"orders": ("status",)}
    for mapping in (settings.write, settings.drafts, settings.drafts["orders"].set):
        with pytest.raises(TypeError):
            mapping["x"] = ()  # type: ignore[index]
