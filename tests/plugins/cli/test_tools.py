"""`nr-llm tools`: listing, showing, and calling without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugins.cli.shell import invoke, last_error, plugin_file

MORE = '''
@tool(timeout=None, result_bytes=300, approval=False)
def echo(text: str, times: int = 1) -> str:
    """Say it again.

    And again.
    """
    return text * times


@tool
def fail() -> ToolResult:
    """Fail."""
    return ToolResult.error("no\\x1b[2J luck")


@tool
def now() -> str:
    """Tell the time."""
    return "noon"
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with tools."""
    return plugin_file(tmp_path, more=MORE)


def test_tools_are_listed(file: Path) -> None:
    """Each tool has a line: name, what it changes, group, where it is from, what it does."""
    lines = invoke("tools", "list", "--plugin", file).stdout.splitlines()

    assert lines[0].split() == ["name", "effect", "group", "package", "summary"]
    assert lines[1] == "add    read    sums   a file   Add two numbers."
    assert lines[2] == "erase  write          a file   Erase a file."


def test_tools_are_listed_for_programs(file: Path) -> None:
    """The document has the schema of each tool."""
    found = {tool["name"]: tool for tool in json.loads(invoke("tools", "list", "--plugin", file, "--json").stdout)}

    assert found["add"]["parameters"]["required"] == ["a", "b"]
    assert found["erase"]["needs_approval"] is True
    assert found["add"]["address"] == "script:add"


def test_without_tools_the_list_says_how_to_get_some() -> None:
    """Nothing on stdout, a way on stderr; a program gets an empty list."""
    result = invoke("tools", "list")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "pip install 'nr-llm[tools]'" in result.stderr
    assert json.loads(invoke("tools", "list", "--json").stdout) == []


def test_a_tool_is_shown(file: Path) -> None:
    """What it does, what it may change, its bounds and its arguments."""
    text = invoke("tools", "show", "script:echo", "--plugin", file).stdout

    assert text.startswith("echo\n\nSay it again.\n")
    assert "\neffect          read\n" in text
    assert "\nresult_bytes    300\n" in text
    assert "timeout" not in text
    assert '\n  text (required): {"type":"string"}\n' in text
    assert '\n  times: {"type":"integer","default":1}\n' in text
    assert "arguments:\n  none\n" in invoke("tools", "show", "now", "--plugin", file).stdout


def test_a_tool_is_shown_to_programs(file: Path) -> None:
    """The document of one tool is that of the list."""
    found = json.loads(invoke("tools", "show", "echo", "--plugin", file, "--json").stdout)

    assert found["name"] == "echo"
    assert found["result_bytes"] == 300


def test_a_call_prints_its_result(file: Path) -> None:
    """Arguments as pairs or JSON, mixed too; stdout has the content alone."""
    call = ("tools", "call", "add", "--plugin", file)

    assert invoke(*call, "--arg", "a=1", "--arg", "b=2").output == "3\n"
    assert invoke(*call, "--json", '{"a": 1, "b": 2}').output == "3\n"
    assert invoke(*call, "--json", '{"a": 1, "b": 5}', "--arg", "b=2").output == "3\n"
    assert invoke(*call, "--json", "-", stdin='{"a": 1, "b": 2}').output == "3\n"


def test_a_call_prints_artifacts_when_asked(file: Path) -> None:
    """Tables are for people: on stderr beside the content, or in the document."""
    call = ("tools", "call", "add", "--plugin", file, "--arg", "a=1", "--arg", "b=2", "--artifacts")
    text, document = invoke(*call), json.loads(invoke(*call, "--format", "json").stdout)

    assert text.stdout == "3\n"
    assert text.stderr == "    Sum\n    a  b\n    1  2\n"
    assert document == {
        "tool": "add",
        "content": "3",
        "is_error": False,
        "artifacts": [{"type": "table", "label": "Sum", "data": {"columns": ["a", "b"], "rows": [[1, 2]]}}],
    }


def test_a_document_has_artifacts_only_when_asked(file: Path) -> None:
    """Content is what a model would get; the rest is asked for."""
    call = ("tools", "call", "add", "--plugin", file, "--arg", "a=1", "--arg", "b=2", "--format", "json")

    assert "artifacts" not in json.loads(invoke(*call).stdout)


def test_a_result_is_bounded_as_in_a_run(file: Path) -> None:
    """The call passes the seam of every run."""
    text = invoke("tools", "call", "echo", "--plugin", file, "--arg", "text=abc", "--arg", "times=900").stdout

    assert len(text.encode()) <= 301


def test_a_write_is_called_by_a_person(file: Path) -> None:
    """Whoever types the call approves it."""
    assert invoke("tools", "call", "erase", "--plugin", file, "--arg", "path=x").stdout == "erased x\n"


def test_a_failing_call_has_code_5(file: Path) -> None:
    """The error's text is on stderr, harmless; stdout stays empty."""
    result = invoke("tools", "call", "fail", "--plugin", file)

    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith("no\\u001b[2J luck\nError: Tool 'fail' returned an error.")


def test_a_failing_call_is_a_document_too(file: Path) -> None:
    """A program finds the error in the document."""
    result = invoke("tools", "call", "fail", "--plugin", file, "--format", "json")

    assert result.exit_code == 5
    assert json.loads(result.stdout)["is_error"] is True


def test_arguments_are_checked_before_the_tool_runs(file: Path) -> None:
    """Every fault is listed by its path."""
    result = invoke("tools", "call", "add", "--plugin", file, "--arg", "a=x", "--arg", "c=1")

    assert result.exit_code == 5
    assert "- a: " in result.stderr
    assert "- b: missing" in result.stderr


@pytest.mark.parametrize("verb", ["show", "call"])
def test_an_unknown_tool_has_code_5(verb: str, file: Path) -> None:
    """Names that look alike are told."""
    result = invoke("tools", verb, "ad", "--plugin", file)

    assert result.exit_code == 5
    assert "Did you mean 'add'?" in result.stderr


def test_the_format_of_the_output_brings_the_envelope(file: Path) -> None:
    """Arguments in JSON are what a person types too; whoever wants the result as JSON gets the error so."""
    call = ("tools", "call", "add", "--plugin", file, "--json", "[1]")
    person, program, other = invoke(*call), invoke(*call, "--format", "json"), invoke(*call, "--format=json")

    assert {result.exit_code for result in (person, program, other)} == {2}
    assert person.stderr.startswith("Error: --json takes an object")
    assert person.stderr.count("\n") == 1
    assert last_error(program.stderr)["code"] == last_error(other.stderr)["code"] == "usage"
