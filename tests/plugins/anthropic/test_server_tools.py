"""Tools that the service runs by itself: declared by an option, never called here, brought back with their results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm.errors import InvalidValueError, UnknownNameError
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage
from nr_llm_anthropic import AnthropicOptions

from tests.corpus.oracle import checker
from tests.plugins.anthropic.replies import (
    ADD,
    CODEC,
    START,
    asked,
    block,
    body_of,
    end,
    payload,
    read,
    said,
    streamed,
    text,
    turns_of,
    use,
)

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "nr"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "https://host", "title": "T", "encrypted_content": "e"}],
}
RAN = {
    "type": "bash_code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {"type": "bash_code_execution_result", "stdout": "2", "stderr": "", "return_code": 0, "content": []},
}

ENDED = end("end_turn", {"output_tokens": 3})


def declared(*tools: Any, **settings: Any) -> list[dict[str, Any]]:
    """Return what is declared."""
    found: list[dict[str, Any]] = body_of(asked(own=AnthropicOptions(server_tools=tools), **settings))["tools"]
    return found


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("web_search", {"type": "web_search_20250305", "name": "web_search"}),
        ("web_fetch", {"type": "web_fetch_20250910", "name": "web_fetch"}),
        ("code_execution", {"type": "code_execution_20250825", "name": "code_execution"}),
        (
            {"type": "web_search_20260209", "max_uses": 2},
            {"type": "web_search_20260209", "name": "web_search", "max_uses": 2},
        ),
        ({"type": "mcp_toolset", "mcp_server_name": "a"}, {"type": "mcp_toolset", "mcp_server_name": "a"}),
    ],
)
def test_a_tool_is_named_or_declared(tool: Any, expected: dict[str, Any]) -> None:
    """With the name that its kind has."""
    assert declared(tool) == [expected]


def test_they_stand_beside_ours() -> None:
    """The mark for the cache is on the last tool, whoever runs it."""
    own = AnthropicOptions(server_tools="web_search", cache="auto")
    tools = body_of(asked(tools=(ADD,), own=own))["tools"]
    alone = body_of(asked(own=own))["tools"]

    assert [tool["name"] for tool in tools] == ["web_search", "add"]
    assert ["cache_control" in tool for tool in (*tools, *alone)] == [False, True, True]


@pytest.mark.parametrize("kind", ["bash_20250124", "text_editor_20250728", "computer_20250124", "memory_20250818"])
def test_what_a_client_has_to_run_is_refused(kind: str) -> None:
    """Nobody would answer its calls."""
    with pytest.raises(InvalidValueError, match="not run by the service"):
        AnthropicOptions(server_tools={"type": kind})


def test_a_slip_is_refused_with_a_suggestion() -> None:
    """It names no tool."""
    with pytest.raises(UnknownNameError, match="web_search"):
        AnthropicOptions(server_tools=["web_serch"])


@pytest.mark.parametrize("result", [FOUND, RAN], ids=["search", "code"])
def test_what_the_service_ran_is_no_call_and_goes_back(result: dict[str, Any]) -> None:
    """Byte for byte, where it stood, beside calls of ours."""
    blocks = [text("I look."), SEARCH, result, text("Now add."), use({"a": 1})]
    whole = read(payload(*blocks, stop="tool_use"), asked(tools=(ADD,)))

    assert [call.name for call in whole.tool_calls or ()] == ["add"]
    assert whole.provider_state == {"model": "claude-sonnet-4-5", "content": blocks}
    turns = turns_of(ChatMessage.user("?"), whole.to_message(), ChatMessage.tool_result("toolu_1", "2"), tools=(ADD,))
    assert turns[1]["content"] == blocks


def test_a_stream_gives_the_same() -> None:
    """The input of the service's call comes in pieces, its result at once."""
    written = json.dumps(SEARCH["input"])
    pieces = [{"type": "input_json_delta", "partial_json": part} for part in (written[:4], written[4:])]

    answer = streamed(
        START, said("I look."), block(1, SEARCH | {"input": {}}, *pieces), block(2, FOUND), said("So.", index=3), ENDED
    )

    assert answer == read(payload(text("I look."), SEARCH, FOUND, text("So.")))
    assert answer.tool_calls is None


def test_the_service_takes_it() -> None:
    """As its own request types say; a memo changes no byte."""
    check = checker("anthropic", "anthropic", "/v1/messages")
    own = AnthropicOptions(server_tools=["web_search", "web_fetch", "code_execution"])
    turn = read(payload(text("I look."), SEARCH, FOUND, text("So."))).to_message()
    request = asked(ChatMessage.user("?"), turn, ChatMessage.user("And?"), tools=(ADD,), own=own)

    assert check(body_of(request)) == []
    assert CODEC.encode(request, Memo()) == CODEC.encode(request)
