"""Reads what the model writes: a choice of tool as JSON, and a reply's text while it is being written."""

from __future__ import annotations

import re
from typing import Any

from nr_llm._json import decode, encode
from nr_llm.errors import MalformedJsonError
from nr_llm.messages import ToolCall
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage

from nr_llm_local._constraint import REPLY

_OPENING = re.compile(r'\s*\{\s*"tool"\s*:\s*"reply"\s*,\s*"arguments"\s*:\s*\{\s*"text"\s*:\s*"')
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[^u])")
_UNFINISHED = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")


class ReplyText:
    """Gives the text of a reply piece by piece while its JSON is written; nothing for any other answer."""

    def __init__(self) -> None:
        self._waiting = ""
        self._open = False
        self._closed = False

    def feed(self, piece: str) -> str:
        """Take the next characters of the JSON and return the next characters of the text."""
        if self._closed:
            return ""
        self._waiting += piece
        if not self._open:
            opening = _OPENING.match(self._waiting)
            if opening is None:
                return ""
            self._open = True
            self._waiting = self._waiting[opening.end() :]
        return self._text()

    def _text(self) -> str:
        raw = self._waiting
        if (end := _end(raw)) is not None:
            self._closed = True
            ready = raw[:end]
        else:
            held = _UNFINISHED.search(raw)
            ready = raw[: held.start()] if held else raw
        self._waiting = raw[len(ready) :]
        return str(decode(f'"{ready}"'))


def _end(raw: str) -> int | None:
    """Return where the string's closing quote is."""
    position = 0
    while position < len(raw):
        if raw[position] == '"':
            return position
        escape = _ESCAPE.match(raw, position)
        position = escape.end() if escape else position + 1
    return None


def response(
    text: str, request: CompletionRequest, *, model: str, usage: Usage, length: bool, chosen: bool
) -> CompletionResponse:
    """
    Return the model's answer.

    Args:
        text: What it wrote.
        request: What it was asked.
        model: Its name.
        usage: Tokens it took.
        length: Whether it was cut at its longest.
        chosen: Whether it answered in JSON.
    """
    if not chosen:
        reason = FinishReason.LENGTH if length else FinishReason.STOP
        return _made(text.strip(), model, usage, finish_reason=reason)
    name, arguments = _choice(text)
    if name == REPLY or name is None:
        structured = request.options.response_schema is not None
        return _made(_content(arguments, text, structured=structured), model, usage, finish_reason=_reason(length))
    call = ToolCall("call_0", name, arguments if isinstance(arguments, dict) else {}, _malformed(arguments, text))
    return _made("", model, usage, tool_calls=(call,), finish_reason=FinishReason.TOOL_CALLS)


def _made(content: str, model: str, usage: Usage, **fields: Any) -> CompletionResponse:
    return CompletionResponse(content=content, model=model, provider="local", usage=usage, **fields)


def _reason(length: bool) -> FinishReason:  # noqa: FBT001 - one flag, told by its name
    return FinishReason.LENGTH if length else FinishReason.STOP


def _malformed(arguments: object, text: str) -> str | None:
    return None if isinstance(arguments, dict) else text


def _choice(text: str) -> tuple[str | None, object]:
    """Return the name and arguments of a choice; of one that was cut, what can be read of it."""
    try:
        value = decode(text)
    except MalformedJsonError:
        name = re.match(r'\s*\{\s*"tool"\s*:\s*"([^"]+)"', text)
        return (name[1] if name else None), None
    if isinstance(value, dict) and isinstance(value.get("tool"), str):
        return str(value["tool"]), value.get("arguments")
    return None, None


def _content(arguments: object, text: str, *, structured: bool) -> str:
    if structured:
        return encode(arguments) if isinstance(arguments, dict) else text
    if isinstance(arguments, dict) and isinstance(arguments.get("text"), str):
        return str(arguments["text"])
    return ReplyText().feed(text)
