"""Every recorded conversation, read into our values and encoded again, is a request the services take."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from nr_llm.errors import InvalidValueError
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage
from nr_llm.requests import CompletionRequest
from nr_llm_openai import COMPATIBLE, OPENAI, ChatCodec

from tests.corpus.oracle import checker
from tests.corpus.requests import read_request
from tests.corpus.traffic import Case, recorded

SERVICES = ("openai", "openai_compat")

REFUSED = {
    "error_4xx_47bff6bd": r"content\[0\]",  # parts without a type, refused by the service too
    "error_4xx_b01d8875": "no message",  # no messages, refused by the service too
    "multimodal_04403277": r"content\[0\]",  # a file that only the service has
}
"""Requests that are none of ours, and where the error points."""


def codec_for(case: Case) -> ChatCodec:
    """Return the codec that talks to the service of `case`."""
    return ChatCodec(provider=case.provider, dialect=OPENAI if case.provider == "openai" else COMPATIBLE)


def without_extras(request: CompletionRequest) -> CompletionRequest:
    """Return `request` without the unknown message keys that its sender, not we, answers for."""
    return attrs.evolve(request, messages=[attrs.evolve(message, extra={}) for message in request.messages])


def encoded(codec: ChatCodec, request: CompletionRequest) -> dict[str, Any]:
    """Return the body as a service reads it."""
    body: dict[str, Any] = json.loads(codec.encode(request).body)
    return body


def request_of(case: Case) -> CompletionRequest:
    """Return the request of `case`."""
    return read_request(case.exchange["request"])


def test_the_checkers_object_to_what_services_refuse() -> None:
    """A body that OpenAI refuses is not passed, so that the tests below mean something."""
    check = checker("openai", "openai", "/v1/chat/completions")
    turn = {"role": "tool", "tool_call_id": "nobody", "content": "x"}

    assert check({"model": "m", "messages": []}) != []
    assert check({"model": "m", "messages": [turn]}) != []
    assert check({"model": "m", "messages": [{"role": "user", "content": "x"}], "unknown": 1}) != []


@pytest.mark.parametrize("case", recorded(*SERVICES, besides=REFUSED))
def test_a_recorded_request_is_valid_when_encoded_again(case: Case) -> None:
    """The checkers made from the SDK's own types, and the servers' rules, find nothing to object to."""
    check = checker(case.provider, "openai", case.exchange["endpoint_path"])

    assert check(encoded(codec_for(case), without_extras(request_of(case)))) == []


@pytest.mark.parametrize("case", recorded(*SERVICES, besides=REFUSED))
def test_a_recorded_conversation_says_the_same_when_encoded_again(case: Case) -> None:
    """Roles, calls, answers and unknown keys of every message are those of the recording."""
    original = case.exchange["request"]["messages"]
    request = request_of(case)

    messages = encoded(codec_for(case), request)["messages"]

    assert len(messages) == len(original)
    for ours, theirs in zip(messages, original, strict=True):
        assert ours["role"] == ("system" if theirs["role"] == "developer" else theirs["role"])
        assert ours.get("tool_call_id") == theirs.get("tool_call_id")
        assert [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in ours.get("tool_calls", ())
        ] == [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in theirs.get("tool_calls") or ()
        ]
        for key in theirs.keys() - {"role", "content", "tool_calls", "tool_call_id"}:
            assert ours.get(key) == theirs[key]
        if isinstance(theirs.get("content"), str) and not theirs.get("tool_calls"):
            assert ours["content"] == theirs["content"]


@pytest.mark.parametrize("case", recorded(*SERVICES, besides=REFUSED))
def test_a_memo_changes_no_byte(case: Case) -> None:
    """Encoded round by round with one memo, each request equals the one encoded afresh."""
    codec, request, memo = codec_for(case), request_of(case), Memo()
    for end in range(1, len(request.messages) + 1):
        part = attrs.evolve(request, messages=request.messages[:end])
        try:
            afresh = codec.encode(part)
        except InvalidValueError:  # the cut lies between a call and its answer
            continue
        assert codec.encode(part, memo) == afresh


@pytest.mark.parametrize("case", recorded(*SERVICES, besides=REFUSED))
def test_a_message_without_side_fields_survives_its_wire_form(case: Case) -> None:
    """Encoding a message and encoding what its wire form reads as are the same."""
    codec, request = codec_for(case), without_extras(request_of(case))
    again = attrs.evolve(request, messages=[ChatMessage.from_wire(message.to_wire()) for message in request.messages])

    assert codec.encode(again).body == codec.encode(request).body


@pytest.mark.parametrize("case", recorded(*SERVICES, among=REFUSED))
def test_requests_that_are_none_are_refused(case: Case) -> None:
    """What the services refuse, or only they can resolve, is refused before it is sent, with its place."""
    body = case.exchange["request"]

    with pytest.raises(InvalidValueError, match=REFUSED[case.path.stem] if case.path else ""):
        codec_for(case).encode(read_request(body))
