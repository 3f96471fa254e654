"""Streamed reply to deltas and answer: blocks are begun, written and ended, by index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nr_llm.codecs.faults import error_in, fault_in, fault_of
from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON, decode, encode
from nr_llm.codecs.reading import filled, object_of, text_of
from nr_llm.codecs.sse import Event
from nr_llm.errors import MalformedJsonError, MalformedReplyError
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_anthropic.answers import Parts, answer

GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""Deltas that append text to a field of their block."""


class MessageStream(FrameStream):
    """
    Reads one streamed reply.

    Args:
        request: What was asked.
        provider: Name for answers and errors.
        redact: Masks secrets in what errors repeat.
        whole: Reads a reply that is no stream.
    """

    def __init__(
        self,
        request: CompletionRequest,
        *,
        provider: str,
        redact: Callable[[str], str],
        whole: Callable[[bytes], CompletionResponse],
    ) -> None:
        super().__init__(provider=provider, redact=redact, whole=whole)
        self._request = request
        self._blocks: list[dict[str, Any]] = []
        self._places: dict[object, int] = {}  # where the block is that the service has begun by a number
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._parts = Parts()
        self._begun = False

    @property
    def ended(self) -> bool:
        """Whether a reason for the end was given."""
        return self._parts.stop is not None

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """Take one event."""
        fields = object_of(payload)
        match fields.get("type") or event.name:
            case "message_start":
                self._begun = True
                message = object_of(fields.get("message"))
                self._parts.model, self._parts.id = text_of(message.get("model")), filled(message.get("id"))
                self._count(message.get("usage"))
            case "content_block_start":
                self._start(fields, deltas)
            case "content_block_delta":
                self._delta(fields, deltas)
            case "content_block_stop":
                self._stop(fields, deltas)
            case "message_delta":
                end = object_of(fields.get("delta"))
                self._parts.stop = end.get("stop_reason") or self._parts.stop
                self._parts.details = end.get("stop_details") or self._parts.details
                self._count(fields.get("usage"))
            case "message_stop":
                self.done = True
            case kind:
                fault = fault_in(payload)
                if fault is not None or "error" in (kind, event.name):
                    fault = fault or fault_of(payload)
                    raise error_in(self._provider, fault, redact=self._redact, body=event.data)
                # else ping, or what is to come

    def answer(self) -> CompletionResponse:
        """Return the whole answer."""
        if not self._begun:
            raise MalformedReplyError("the stream held no answer", provider=self._provider)
        inputs: dict[int, str] = {}
        for (place, field), pieces in self._pieces.items():
            text = "".join(pieces)
            if field == "input":
                inputs[place] = text
            self._blocks[place][field] = _object(text) if field == "input" else text
        self._parts.blocks, self._parts.inputs = self._blocks, inputs
        return answer(self._parts, self._request, self._provider)

    def _count(self, usage: JSON) -> None:
        # Counts grow; later ones replace earlier ones and leave out what has not changed.
        known = {name: count for name, count in object_of(usage).items() if count is not None}
        self._parts.usage = {**self._parts.usage, **known}

    def _start(self, fields: Mapping[str, Any], deltas: list[Delta]) -> None:
        block = dict(object_of(fields.get("content_block")))
        place = self._open(fields, block)
        for field in GROWING.values():
            if isinstance(given := block.get(field), str) and given:
                self._grow(place, field, given, deltas)
        if block.get("type") == "tool_use":
            deltas.append(ToolCallDelta(str(place), filled(block.get("name"))))

    def _delta(self, fields: Mapping[str, Any], deltas: list[Delta]) -> None:
        delta = object_of(fields.get("delta"))
        kind = text_of(delta.get("type"))
        place = self._places.get(_number(fields))
        if place is None:
            place = self._open(fields, {"type": GROWING[kind]} if kind in ("text_delta", "thinking_delta") else {})
        block = self._blocks[place]
        if kind in GROWING:
            self._grow(place, GROWING[kind], text_of(delta.get(GROWING[kind])), deltas)
        elif kind == "input_json_delta":
            if piece := text_of(delta.get("partial_json")):
                self._pieces.setdefault((place, "input"), []).append(piece)
                if block.get("type") == "tool_use":
                    deltas.append(ToolCallDelta(str(place), None, piece))
        elif kind == "citations_delta":
            listed = block.get("citations")
            block["citations"] = [*(listed if isinstance(listed, list) else ()), delta.get("citation")]
        else:  # of a block that is to come: it goes back whole
            block |= {name: value for name, value in delta.items() if name != "type"}

    def _stop(self, fields: Mapping[str, Any], deltas: list[Delta]) -> None:
        """Tell the input of a call that was begun with all of it."""
        place = self._places.get(_number(fields))
        if place is None or (place, "input") in self._pieces or self._blocks[place].get("type") != "tool_use":
            return
        if given := object_of(self._blocks[place].get("input")):
            deltas.append(ToolCallDelta(str(place), None, encode(given)))

    def _open(self, fields: Mapping[str, Any], block: dict[str, Any]) -> int:
        self._places[_number(fields)] = len(self._blocks)
        self._blocks.append(block)
        return len(self._blocks) - 1

    def _grow(self, place: int, field: str, piece: str, deltas: list[Delta]) -> None:
        self._pieces.setdefault((place, field), []).append(piece)
        if field != self._blocks[place].get("type") or not piece:
            return
        if field == "text":
            self._content.append(piece)
            deltas.append(TextDelta(piece))
        else:
            deltas.append(ReasoningDelta(piece))


def _number(fields: Mapping[str, Any]) -> object:
    """Return the service's number of a block; whatever else stands there is one number."""
    index = fields.get("index")
    return index if isinstance(index, int) else None


def _object(text: str) -> JSON:
    try:
        value = decode(text)
    except MalformedJsonError:
        return {}
    return value if isinstance(value, dict) else {}
