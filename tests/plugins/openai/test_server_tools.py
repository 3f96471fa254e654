"""Tools that the service runs by itself: declared by an option, never called here, brought back with their results."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import InvalidRequestError, InvalidValueError, UnknownNameError
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage
from nr_llm_openai import ChatCodec, OpenAIOptions

from tests.corpus.oracle import checker
from tests.plugins.openai.outputs import CODEC, called, completed, happened, read, said, sent, streamed
from tests.plugins.openai.replies import ADD, asked

HELLO = ChatMessage.user("Hello")
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "nr"},
}
RAN = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "status": "completed",
    "code": "1+1",
    "container_id": "cntr_1",
    "outputs": [{"type": "logs", "logs": "2"}],
}
FILES = {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["nr"], "results": None}


def own(*tools: Any) -> OpenAIOptions:
    """Return options with tools of the service."""
    return OpenAIOptions(server_tools=tools)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("web_search", {"type": "web_search"}),
        ("code_interpreter", {"type": "code_interpreter", "container": {"type": "auto"}}),
        ({"type": "file_search", "vector_store_ids": ["v"]}, {"type": "file_search", "vector_store_ids": ["v"]}),
    ],
)
def test_a_tool_is_named_or_declared(tool: Any, expected: dict[str, Any]) -> None:
    """Beside ours or alone."""
    assert sent(HELLO, provider_options=own(tool))["tools"] == [expected]
    both = sent(HELLO, tools=(ADD,), provider_options=own(tool))["tools"]
    assert [both[0], both[1]["name"]] == [expected, "add"]


def test_the_other_form_has_none() -> None:
    """It is said, and what to set."""
    with pytest.raises(InvalidRequestError, match="set api to 'responses'"):
        ChatCodec().encode(asked(HELLO, provider_options=own("web_search")))


@pytest.mark.parametrize("kind", ["function", "custom", "computer_use_preview", "local_shell", "apply_patch"])
def test_what_a_client_has_to_run_is_refused(kind: str) -> None:
    """Nobody would answer its calls."""
    with pytest.raises(InvalidValueError, match="not run by the service"):
        own({"type": kind})


def test_a_slip_is_refused_with_a_suggestion() -> None:
    """Also out of a file."""
    with pytest.raises(UnknownNameError, match="web_search"):
        sent(HELLO, provider_options={"openai": {"server_tools": ["web-search"]}})


@pytest.mark.parametrize("item", [SEARCH, RAN, FILES], ids=lambda item: item["type"])
def test_what_the_service_ran_is_no_call_and_goes_back(item: dict[str, Any]) -> None:
    """Where it stood, beside calls of ours."""
    answer = read(item, said("I looked."), called(), request=asked(HELLO, tools=(ADD,)))

    assert [call.name for call in answer.tool_calls or ()] == ["add"]
    assert answer.provider_state == {"output": [item, said("I looked."), called()]}
    again = sent(HELLO, answer.to_message(), ChatMessage.tool_result("call_1", "2"), tools=(ADD,))["input"]
    assert [entry.get("type", entry.get("role")) for entry in again] == [
        "user", item["type"], "message", "function_call", "function_call_output",
    ]  # fmt: skip
    assert again[1] == item


def test_a_stream_gives_the_same() -> None:
    """Events of the service's own calls are passed over; their items count."""
    _, answer = streamed(
        happened("output_item.added", output_index=0, item=SEARCH | {"status": "in_progress"}),
        happened("web_search_call.in_progress", output_index=0, item_id="ws_1"),
        happened("web_search_call.searching", output_index=0, item_id="ws_1"),
        happened("web_search_call.completed", output_index=0, item_id="ws_1"),
        happened("output_item.done", output_index=0, item=SEARCH),
        completed(SEARCH, said("So.")),
    )

    assert answer == read(SEARCH, said("So."))
    assert answer.tool_calls is None


def test_the_service_takes_it() -> None:
    """As its own request types say; a memo changes no byte."""
    check = checker("openai_responses", "openai", "/v1/responses")
    options = own("web_search", "code_interpreter", {"type": "file_search", "vector_store_ids": ["v"]})
    turn = read(SEARCH, RAN, said("So.")).to_message()
    request = asked(HELLO, turn, ChatMessage.user("And?"), tools=(ADD,), provider_options=options)

    assert check(sent(HELLO, turn, ChatMessage.user("And?"), tools=(ADD,), provider_options=options)) == []
    assert CODEC.encode(request, Memo()) == CODEC.encode(request)
