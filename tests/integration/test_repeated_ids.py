"""A conversation whose turns number their calls anew: no service is told one id twice, and pairs stay pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from nr_llm import ChatMessage, CompletionRequest, ToolCall
from nr_llm.memo import Memo
from nr_llm.providers import Codec

Pairs = tuple[list[tuple[str, Any]], list[tuple[str, str]]]


def round_of(number: str) -> tuple[ChatMessage, ...]:
    """Return a question, two calls, their results and an answer."""
    return (
        ChatMessage.user(f"What is {number}?"),
        ChatMessage.assistant_tool_calls([ToolCall("call_0", "add", {"a": number}), ToolCall("call_1", "look")]),
        ChatMessage.tool_result("call_1", f"looked at {number}"),
        ChatMessage.tool_result("call_0", f"added {number}"),
        ChatMessage.assistant(f"It is {number}."),
    )


HISTORY = (*round_of("1"), *round_of("2"), *round_of("3"), ChatMessage.user("And now?"))


def _chat(body: dict[str, Any]) -> Pairs:
    calls = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    results = [message for message in body["messages"] if message["role"] == "tool"]
    return (
        [(call["id"], json.loads(call["function"]["arguments"])) for call in calls],
        [(result["tool_call_id"], result["content"]) for result in results],
    )


def _responses(body: dict[str, Any]) -> Pairs:
    return (
        [
            (item["call_id"], json.loads(item["arguments"]))
            for item in body["input"]
            if item.get("type") == "function_call"
        ],
        [(item["call_id"], item["output"]) for item in body["input"] if item.get("type") == "function_call_output"],
    )


def _anthropic(body: dict[str, Any]) -> Pairs:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return (
        [(block["id"], block["input"]) for block in blocks if block["type"] == "tool_use"],
        [(block["tool_use_id"], block["content"]) for block in blocks if block["type"] == "tool_result"],
    )


FORMS: dict[str, tuple[str, Callable[[Any], Codec], Callable[[dict[str, Any]], Pairs]]] = {
    "openai": ("nr_llm_openai", lambda plugin: plugin.ChatCodec(), _chat),
    "mistral": ("nr_llm_openai", lambda plugin: plugin.ChatCodec(dialect=plugin.DIALECTS["mistral"]), _chat),
    "responses": ("nr_llm_openai", lambda plugin: plugin.ResponsesCodec(), _responses),
    "anthropic": ("nr_llm_anthropic", lambda plugin: plugin.MessagesCodec(), _anthropic),
}


def codec_of(name: str) -> Codec:
    """Return the codec of a form, or skip where its plugin is not installed."""
    module, make, _ = FORMS[name]
    return make(pytest.importorskip(module, reason=f"{module} is not installed here"))


def asked(messages: tuple[ChatMessage, ...]) -> CompletionRequest:
    """Return a request."""
    return CompletionRequest(model="m", messages=messages)


@pytest.mark.parametrize("name", [pytest.param(name, id=f"{name}-report-46-51") for name in FORMS])
def test_no_id_is_sent_twice(name: str) -> None:
    """Each result still answers its own call."""
    calls, results = FORMS[name][2](json.loads(codec_of(name).encode(asked(HISTORY)).body))

    ids = [call_id for call_id, _ in calls]
    said = dict(calls)
    assert len(set(ids)) == len(ids) == 6
    assert [said[call_id].get("a") for call_id, text in results if "added" in text] == ["1", "2", "3"]
    assert [said[call_id] for call_id, text in results if "looked" in text] == [{}, {}, {}]
    assert (calls[0][0] == "call_0") is (name != "mistral")


@pytest.mark.parametrize("name", FORMS)
def test_a_memo_changes_no_byte(name: str) -> None:
    """However far the conversation had come when it was filled."""
    codec, memo = codec_of(name), Memo()
    complete = [n for n in range(1, len(HISTORY) + 1) if n % 5 not in (2, 3)]

    for n in [*complete, 6, len(HISTORY)]:
        request = asked(HISTORY[:n])
        assert codec.encode(request, memo).body == codec.encode(request).body
