"""The plugin as a host and a model meet it: names, schemas, and calls through the one seam."""

from __future__ import annotations

import threading

import pytest
from nr_llm import Tool, ToolCall, ToolEffect, ToolResult, invoke
from nr_llm_tools import ToolsSettings, nr_llm_tools

from tests.plugins.tools.conftest import Desk

NAMES = [
    "list_directory",
    "find_files",
    "read_file",
    "search_code",
    "list_packages",
    "get_python_info",
    "calculate",
    "get_time",
]


@pytest.fixture
def tools(desk: Desk) -> list[Tool]:
    """Return the tools a host gets for one root folder."""
    desk.write("docs/a.txt", "hello marker\n")
    return list(nr_llm_tools(ToolsSettings(root=desk.root)))


def call(tools: list[Tool], name: str, /, **arguments: object) -> ToolResult:
    """Call one tool as a run would."""
    return invoke(ToolCall("1", name, arguments), tools)


def test_the_tools_are_these_and_all_of_them_read(tools: list[Tool]) -> None:
    """Enabled, without approval, in three groups."""
    assert [tool.name for tool in tools] == NAMES
    assert {tool.effect for tool in tools} == {ToolEffect.READ}
    assert {tool.group for tool in tools} == {"files", "system", "general"}
    assert all(tool.enabled and not tool.needs_approval and not tool.remote for tool in tools)


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_is_described_and_so_is_each_argument(tools: list[Tool], name: str) -> None:
    """A model knows nothing else of it; the context is no argument."""
    (tool,) = (tool for tool in tools if tool.name == name)

    assert tool.description.endswith(".")
    assert "Args" not in tool.description
    assert "context" not in tool.parameters["properties"]
    for argument in tool.parameters["properties"].values():
        assert len(argument["description"]) > 10


@pytest.mark.parametrize("name", NAMES)
def test_each_example_is_a_call_that_can_be_made(tools: list[Tool], name: str) -> None:
    """Small models copy examples, so they have to be right."""
    (tool,) = (tool for tool in tools if tool.name == name)

    assert tool.examples
    for example in tool.examples:
        assert set(tool.structure(example)) == set(example) or set(example) <= set(tool.structure(example))


@pytest.mark.parametrize(
    ("name", "arguments", "content"),
    [
        ("list_directory", {}, ".: 1 entry\nkind | bytes | name\nfolder | - | docs"),
        ("find_files", {"pattern": "*.txt"}, "1 file matching '*.txt' in .\nbytes | path\n13 | docs/a.txt"),
        ("read_file", {"path": "docs/a.txt"}, "docs/a.txt: lines 1 to 1 of 1\n1: hello marker"),
        (
            "search_code",
            {"text": "marker"},
            "1 line with 'marker'; in 1 of the 1 files of .\ndocs/a.txt:1: hello marker",
        ),
        ("calculate", {"expression": "37 * 48"}, "37 * 48 = 1776"),
        ("calculate", {"expression": "0.1+0.2"}, "0.1+0.2 = 0.3"),
    ],
)
def test_a_call_answers_through_the_seam(
    tools: list[Tool], name: str, arguments: dict[str, object], content: str
) -> None:
    """Validated, run in a thread, bounded."""
    result = call(tools, name, **arguments)

    assert result.content == content
    assert not result.is_error


def test_the_tools_without_arguments_answer_too(tools: list[Tool]) -> None:
    """Packages, interpreter and clock."""
    assert " packages installed\n" in call(tools, "list_packages").content
    assert call(tools, "get_python_info").content.startswith("Python 3.")
    assert ", in UTC (UTC+00:00)" in call(tools, "get_time").content


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("read_file", {"path": "../outside.txt"}, "no '..'"),
        ("read_file", {"path": "missing"}, "There is no readable file or folder 'missing'."),
        ("search_code", {"text": "(a", "regex": True}, "Not searched"),
        ("calculate", {"expression": "9**9**9"}, "grows"),
        ("get_time", {"zone": "Mars"}, "There is no time zone 'Mars'."),
        ("read_file", {"path": 5}, "path"),
        ("read_file", {"file": "a"}, "file"),
    ],
)
def test_a_refusal_is_an_error_the_model_can_read(
    tools: list[Tool], name: str, arguments: dict[str, object], text: str
) -> None:
    """It says what is wrong, and carries no artifact."""
    result = call(tools, name, **arguments)

    assert result.is_error
    assert text in result.content
    assert result.artifacts == ()


@pytest.mark.parametrize("name", ["list_directory", "find_files", "search_code", "list_packages"])
def test_a_listing_comes_with_its_table(tools: list[Tool], name: str) -> None:
    """One table, which passes the bounds as it is."""
    arguments = {"find_files": {"pattern": "*"}, "search_code": {"text": "marker"}}.get(name, {})

    (table,) = call(tools, name, **arguments).artifacts

    assert table.type == "table"
    assert table.data["rows"]
    assert all(len(row) == len(table.data["columns"]) for row in table.data["rows"])


def test_calls_at_the_same_time_do_not_disturb_each_other(desk: Desk, tools: list[Tool]) -> None:
    """Reads of one turn run side by side and share the matchers of refused names."""
    for i in range(20):
        desk.write(f"many/{i}.txt", f"marker {i}")
    expected = call(tools, "search_code", text=r"marker \d+", regex=True).content
    answers: list[str] = []

    def search() -> None:
        answers.append(call(tools, "search_code", text=r"marker \d+", regex=True).content)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [expected] * 8
