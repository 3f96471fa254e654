"""Every recorded conversation, whoever it was held with, encoded for Gemini, is a request the service takes."""

from __future__ import annotations

import json
import re
from typing import Any

import attrs
import pytest
from nr_llm.errors import InvalidValueError
from nr_llm.memo import Memo
from nr_llm.requests import CompletionRequest
from nr_llm_gemini import GeminiCodec

from tests.corpus.conversations import READERS, conversation
from tests.corpus.oracle import checker
from tests.corpus.requests_gemini import camel, read_request, urlsafe
from tests.corpus.traffic import Case, recorded

CODEC = GeminiCodec()
MODELS = ("gemini-1.5-flash", "gemini-2.0-flash", "gemini-3-pro-preview")

KINDS = {"text", "functionCall", "functionResponse", "inlineData", "fileData", "toolCall", "toolResponse"}
"""What a part is, by the field that says it."""


def request_of(case: Case) -> CompletionRequest:
    """Return the request of `case`."""
    return read_request(case.exchange["request"], case.exchange["endpoint_path"])


def encoded(request: CompletionRequest) -> dict[str, Any]:
    """Return the body as the service reads it."""
    body: dict[str, Any] = json.loads(CODEC.encode(request).body)
    return body


def found(body: dict[str, Any]) -> list[str]:
    """Return what the request checkers object to, habits apart."""
    check = checker("gemini", "google.genai", "/v1beta/models/m:generateContent")
    return [text for text in check(body) if not text.startswith("lint:")]


def test_the_checkers_object_to_what_the_service_refuses() -> None:
    """So that the tests below mean something."""
    turn = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}

    assert found({"contents": []}) != []
    assert found({"contents": [turn]}) != []
    assert found({"contents": [{"role": "user", "parts": [{"text": "x"}]}], "unknown": 1}) != []


@pytest.mark.parametrize("case", recorded("gemini"))
def test_a_recorded_request_is_valid_when_encoded_again(case: Case) -> None:
    """The checkers made from the SDK's own types, and the service's rules, find nothing to object to."""
    assert found(encoded(request_of(case))) == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("case", recorded(*READERS, holding="request"))
def test_a_conversation_with_any_service_is_valid_here(case: Case, model: str) -> None:
    """Whatever the generation of the model that goes on with it; the oldest takes schemas in the older form."""
    request = attrs.evolve(conversation(case), model=model)
    try:
        body = encoded(request)
    except InvalidValueError as error:
        if re.search("no open call has|no message to send", str(error)) is None:
            raise
        pytest.skip(f"no service takes it: {error}")

    assert found(body) == []


@pytest.mark.parametrize("case", recorded("gemini"))
def test_a_recorded_conversation_says_the_same_when_encoded_again(case: Case) -> None:
    """The model's parts are byte for byte those of the recording; calls, answers, texts and files stand in order."""
    request = attrs.evolve(request_of(case), model="gemini-2.5-flash")

    ours, theirs = _flat(encoded(request)), _flat(camel(case.exchange["request"]))

    assert ours == theirs


def _flat(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what a conversation says: kind and value of each part, with the files of a turn before its texts."""
    said: list[tuple[str, Any]] = []
    listed: list[Any] = body["contents"] if isinstance(body["contents"], list) else [body["contents"]]
    for content in listed:
        model = content.get("role") == "model"
        parts: list[dict[str, Any]] = [{"text": part} if isinstance(part, str) else part for part in content["parts"]]
        for part in sorted(parts, key=lambda part: not model and "text" in part):
            [name] = part.keys() & KINDS
            value = _value(name, part[name])
            if said and said[-1][0] == name == "text" and not model:
                said[-1] = (name, f"{said[-1][1]}\n{value}")
            else:
                said.append((name, (value, part.get("thoughtSignature")) if model else value))
    return said


def _value(name: str, value: Any) -> Any:
    if name == "functionResponse":
        return value["name"], value.get("response"), value.get("id")
    if name == "functionCall":
        return {**value, "args": value.get("args", {})}
    return {**value, "data": urlsafe(value["data"])} if name == "inlineData" else value


@pytest.mark.parametrize("case", recorded("gemini"))
def test_a_memo_changes_no_byte(case: Case) -> None:
    """Encoded round by round with one memo, each request equals the one encoded afresh."""
    memo, request = Memo(), request_of(case)
    for end in range(1, len(request.messages) + 1):
        part = attrs.evolve(request, messages=request.messages[:end])
        try:
            afresh = CODEC.encode(part)
        except InvalidValueError:  # the cut lies between a call and its answer
            continue
        assert CODEC.encode(part, memo) == afresh
