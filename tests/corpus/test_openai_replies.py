"""Every recorded Chat Completions reply gives the values it holds, whole or streamed, however it is cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from nr_llm._json import decode
from nr_llm.codecs import frames
from nr_llm.errors import (
    AuthenticationError,
    ContextLengthError,
    InvalidRequestError,
    ModelNotFoundError,
    ProviderError,
    ServiceError,
)
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason
from nr_llm_openai import COMPATIBLE, OPENAI, ChatCodec

from tests.corpus.traffic import Case, recorded

SERVICES = ("openai", "openai_compat")
REQUEST = CompletionRequest(model="asked-for", messages=(ChatMessage.user("Hello"),))

ERRORS: dict[str, type[ProviderError]] = {
    "error_4xx_00522986": ModelNotFoundError,
    "error_4xx_0765cc82": InvalidRequestError,
    "error_4xx_18573543": ContextLengthError,
    "error_4xx_2c024d69": InvalidRequestError,
    "error_4xx_2cce63d8": AuthenticationError,
    "error_4xx_47bff6bd": InvalidRequestError,
    "error_4xx_aed4832a": ModelNotFoundError,
    "error_4xx_b01d8875": InvalidRequestError,
    "error_4xx_b327fd37": InvalidRequestError,
    "error_4xx_b6ae23ec": AuthenticationError,
    "error_4xx_c5e642fc": AuthenticationError,
    "error_4xx_c8c42efc": ContextLengthError,
    "error_4xx_ef03718d": AuthenticationError,
    "error_5xx_c200990b": ServiceError,
    "error_5xx_d0a4cbe7": ServiceError,
}

WORDS = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
}


def codec_for(case: Case) -> ChatCodec:
    """Return the codec that talks to the service of `case`."""
    return ChatCodec(provider=case.provider, dialect=OPENAI if case.provider == "openai" else COMPATIBLE)


def read_stream(case: Case, *pieces: bytes) -> tuple[list[Delta], CompletionResponse]:
    """Feed `pieces` and return what came out."""
    decoder = codec_for(case).decoder(REQUEST)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas, decoder.finish()


def plainly_read(data: str) -> dict[str, Any]:
    """Assemble a well-behaved stream the simple way: one event per blank line, calls by index."""
    whole: dict[str, Any] = {"content": "", "reasoning": "", "calls": {}, "finish": None, "usage": None}
    for frame in data.split("\n\n"):
        payload = frame.strip().removeprefix("data:").strip()
        if not payload or payload.startswith(":") or payload == "[DONE]":
            continue
        event = json.loads(payload)
        whole["usage"] = event.get("usage") or whole["usage"]
        for choice in event["choices"][:1]:
            if choice["index"] != 0:
                continue
            whole["finish"] = choice.get("finish_reason") or whole["finish"]
            delta = choice["delta"]
            whole["content"] += delta.get("content") or ""
            details = "".join(detail["text"] for detail in delta.get("reasoning_details") or ())
            whole["reasoning"] += delta.get("reasoning_content") or delta.get("reasoning") or details
            for call in delta.get("tool_calls") or ():
                entry = whole["calls"].setdefault(call.get("index"), {"id": "", "name": "", "arguments": ""})
                entry["id"] += call.get("id") or ""
                entry["name"] += call["function"].get("name") or ""
                entry["arguments"] += call["function"].get("arguments") or ""
    return whole


@pytest.mark.parametrize("case", recorded(*SERVICES, failed=True))
def test_an_error_reply_becomes_the_error_of_who_must_act(case: Case) -> None:
    """Each recorded failure has its class; only the service's own failures are tried again."""
    exchange = case.exchange
    error = codec_for(case).error(HttpReply(exchange["status"], exchange["response_headers"], case.body))

    said = (exchange.get("response_json") or {}).get("error", {}).get("message", "empty")
    assert type(error) is ERRORS[exchange_name(case)]
    assert said in str(error)
    assert (error.provider, error.status) == (case.provider, exchange["status"])
    assert error.retryable is (exchange["status"] >= 500)
    assert error.request_id == exchange["response_headers"].get("x-request-id")


def exchange_name(case: Case) -> str:
    """Return the name of a case's file."""
    assert case.path is not None
    return case.path.stem


@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_json", failed=False))
def test_a_whole_reply_gives_what_it_holds(case: Case) -> None:
    """Text, calls, reason, usage and names are those of the recorded body."""
    payload = case.exchange["response_json"]
    choice = payload["choices"][0]
    message = choice["message"]
    single = message.get("function_call")
    calls = message.get("tool_calls") or ([{"function": single}] if single else [])

    answer = codec_for(case).decode(HttpReply(200, {}, case.body), REQUEST)

    assert answer.content == (message.get("content") or "")
    assert answer.refusal == message.get("refusal")
    assert (answer.model, answer.id, answer.provider) == (payload["model"], payload["id"], case.provider)
    assert answer.finish_detail == choice["finish_reason"]
    assert answer.usage.input_tokens == payload["usage"]["prompt_tokens"]
    assert answer.usage.output_tokens == payload["usage"]["completion_tokens"]
    assert [(call.name, dict(call.arguments)) for call in answer.tool_calls or ()] == [
        (call["function"]["name"], json.loads(call["function"]["arguments"] or "{}")) for call in calls
    ]
    assert [call.id for call in answer.tool_calls or ()] == [
        call.get("id") or f"call_{i}" for i, call in enumerate(calls)
    ]
    assert (answer.tool_calls is None) is (not calls)


@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_json", failed=False))
def test_the_reason_of_a_whole_reply_is_in_our_words(case: Case) -> None:
    """Calls decide, a refusal is the content filter's, the rest is a table."""
    choice = case.exchange["response_json"]["choices"][0]
    expected = WORDS[choice["finish_reason"]]
    if choice["message"].get("refusal"):
        expected = FinishReason.CONTENT_FILTER

    assert codec_for(case).decode(HttpReply(200, {}, case.body), REQUEST).finish_reason is expected


@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_sse"))
def test_a_streamed_reply_gives_what_it_holds(case: Case) -> None:
    """The assembled answer is that of a plain reading, and the deltas add up to it."""
    expected = plainly_read(case.body.decode())

    deltas, answer = read_stream(case, case.body)

    assert answer.content == expected["content"] == "".join(d.text for d in deltas if isinstance(d, TextDelta))
    assert (answer.reasoning or "") == expected["reasoning"]
    assert (answer.reasoning or "") == "".join(d.text for d in deltas if isinstance(d, ReasoningDelta))
    assert answer.finish_detail == expected["finish"]
    assert answer.usage.input_tokens == (expected["usage"] or {}).get("prompt_tokens")
    assert [(call.id, call.name, dict(call.arguments)) for call in answer.tool_calls or ()] == [
        (call["id"], call["name"], json.loads(call["arguments"] or "{}")) for call in expected["calls"].values()
    ]


@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_sse"))
def test_call_deltas_add_up_to_the_calls(case: Case) -> None:
    """Names and arguments of the deltas, joined by key, are those of the answer."""
    deltas, answer = read_stream(case, case.body)
    calls: dict[str, list[str]] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            name, arguments = calls.get(delta.key, ["", ""])
            calls[delta.key] = [name + (delta.name or ""), arguments + delta.arguments]

    assert [(name, json.loads(arguments or "{}")) for name, arguments in calls.values()] == [
        (call.name, dict(call.arguments)) for call in answer.tool_calls or ()
    ]


@pytest.fixture
def quick_json(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Decode each payload once: thousands of cuts give the same ones again and again."""
    cached = lru_cache(maxsize=None)(decode)
    monkeypatch.setattr(frames, "decode", cached)
    yield
    cached.cache_clear()


@pytest.mark.usefixtures("quick_json")
@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_sse"))
def test_a_stream_is_the_same_at_every_cut(case: Case) -> None:
    """Two pieces, cut at any byte, give the deltas and the answer of the whole."""
    body = case.body
    whole = read_stream(case, body)

    assert all(read_stream(case, body[:i], body[i:]) == whole for i in range(1, len(body)))


@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_sse"))
def test_a_stream_is_the_same_byte_by_byte_and_with_other_line_ends(case: Case) -> None:
    """Single bytes, CRLF and CR change nothing."""
    body = case.body
    whole = read_stream(case, body)

    assert read_stream(case, *(body[i : i + 1] for i in range(len(body)))) == whole
    for end in (b"\r\n", b"\r"):
        other = body.replace(b"\n", end)
        assert read_stream(case, other) == whole
        assert read_stream(case, *(other[i : i + 1] for i in range(len(other)))) == whole


@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_sse"))
def test_a_whole_reply_of_the_same_content_is_the_same_answer(case: Case) -> None:
    """What a stream adds up to equals the reply that a service would have sent whole."""
    expected = plainly_read(case.body.decode())
    _, streamed = read_stream(case, case.body)
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in expected["calls"].values()
    ]
    message = {"role": "assistant", "content": expected["content"], "tool_calls": calls}
    payload = {
        "id": streamed.id,
        "model": streamed.model,
        "choices": [{"index": 0, "message": message, "finish_reason": expected["finish"]}],
        "usage": expected["usage"],
    }

    whole = codec_for(case).decode(HttpReply(200, {}, json.dumps(payload).encode()), REQUEST)

    for field in ("content", "tool_calls", "finish_reason", "finish_detail", "usage", "model", "id"):
        assert getattr(whole, field) == getattr(streamed, field)
