"""How an answer ends means the same whichever service said it: calls decide, a refusal is told, no word is unknown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from nr_llm import ChatMessage, CompletionRequest, CompletionResponse, FinishReason, Options, ToolSpec
from nr_llm.errors import MissingToolCallError
from nr_llm.providers import Codec, HttpReply

ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
CALL = {"a": 1}
Payload = dict[str, Any]


@attrs.frozen
class Form:
    """
    A wire format.

    Attributes:
        module: Its plugin.
        make: Returns its codec.
        payload: Returns a reply of (text or None, whether it calls, word for its end).
        refused: The word for an answer that a filter took; empty where the form has none.
    """

    module: str
    make: Callable[[Any], Codec]
    payload: Callable[[str | None, bool, str], Payload]
    refused: str = ""


def _chat(text: str | None, calls: bool, word: str) -> Payload:
    made = [{"id": "c", "type": "function", "function": {"name": "add", "arguments": json.dumps(CALL)}}]
    message = {"role": "assistant", "content": text} | ({"tool_calls": made} if calls else {})
    return {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": word}]}


def _responses(text: str | None, calls: bool, word: str) -> Payload:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    made = {"type": "function_call", "call_id": "c", "name": "add", "arguments": json.dumps(CALL)}
    output = ([said] if text else []) + ([made] if calls else [])
    return {"model": "m", "status": "incomplete", "incomplete_details": {"reason": word}, "output": output}


def _anthropic(text: str | None, calls: bool, word: str) -> Payload:
    said, made = {"type": "text", "text": text}, {"type": "tool_use", "id": "c", "name": "add", "input": CALL}
    return {"model": "m", "content": ([said] if text else []) + ([made] if calls else []), "stop_reason": word}


def _gemini(text: str | None, calls: bool, word: str) -> Payload:
    parts = ([{"text": text}] if text else []) + ([{"functionCall": {"name": "add", "args": CALL}}] if calls else [])
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": word}]}


def _ollama(text: str | None, calls: bool, word: str) -> Payload:
    message = {"role": "assistant", "content": text or ""}
    made = {"tool_calls": [{"function": {"name": "add", "arguments": CALL}}]} if calls else {}
    return {"model": "m", "message": message | made, "done": True, "done_reason": word}


FORMS = {
    "chat": Form("nr_llm_openai", lambda plugin: plugin.ChatCodec(), _chat, "content_filter"),
    "responses": Form("nr_llm_openai", lambda plugin: plugin.ResponsesCodec(), _responses, "content_filter"),
    "anthropic": Form("nr_llm_anthropic", lambda plugin: plugin.MessagesCodec(), _anthropic, "refusal"),
    "gemini": Form("nr_llm_gemini", lambda plugin: plugin.GeminiCodec(), _gemini, "SAFETY"),
    "ollama": Form("nr_llm_ollama", lambda plugin: plugin.OllamaCodec(), _ollama),
}
FILTERING = [name for name, form in FORMS.items() if form.refused]


def read(name: str, text: str | None, *, calls: bool, word: str, choice: str | None = None) -> CompletionResponse:
    """Return the answer that a reply is read as."""
    form = FORMS[name]
    codec = form.make(pytest.importorskip(form.module, reason=f"{form.module} is not installed here"))
    asked = CompletionRequest(
        model="m", messages=(ChatMessage.user("x"),), tools=(ADD,), options=Options(tool_choice=choice)
    )
    return codec.decode(HttpReply(200, {}, json.dumps(form.payload(text, calls, word)).encode()), asked)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("calls", [False, True], ids=["text", "calls"])
def test_a_word_that_nobody_knows_is_kept(name: str, calls: bool) -> None:
    """It fails nothing, and calls beside it are calls."""
    answer = read(name, "Well.", calls=calls, word="BORED")

    assert answer.finish_detail == "BORED"
    assert answer.finish_reason is (FinishReason.TOOL_CALLS if calls else FinishReason.OTHER)
    assert [call.name for call in answer.tool_calls or ()] == ["add"] * calls


@pytest.mark.parametrize("name", FILTERING)
def test_a_refusal_beside_calls_leaves_them_calls(name: str) -> None:
    """They were written whole; the word says what became of the rest."""
    answer = read(name, None, calls=True, word=FORMS[name].refused)

    assert answer.finish_reason is FinishReason.TOOL_CALLS
    assert answer.finish_detail == FORMS[name].refused
    assert [dict(call.arguments) for call in answer.tool_calls or ()] == [CALL]
    assert all(call.malformed is None for call in answer.tool_calls or ())


@pytest.mark.parametrize("name", FILTERING)
@pytest.mark.parametrize("choice", [None, "required", "add"])
def test_a_refusal_is_told_as_one(name: str, choice: str | None) -> None:
    """Also where a call was required: that none came has its reason."""
    answer = read(name, "No.", calls=False, word=FORMS[name].refused, choice=choice)

    assert answer.finish_reason is FinishReason.CONTENT_FILTER


@pytest.mark.parametrize("name", FORMS)
def test_a_required_call_that_does_not_come_is_an_error(name: str) -> None:
    """Whatever word stands for the end."""
    with pytest.raises(MissingToolCallError):
        read(name, "Well.", calls=False, word="BORED", choice="required")
