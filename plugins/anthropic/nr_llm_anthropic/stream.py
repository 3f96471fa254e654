"""Streamed reply to deltas and answer: blocks are begun, written and ended, by index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nr_llm.codecs.faults import error_in, fault_in, fault_of
from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON, decode
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
        self._blocks: dict[object, dict[str, Any]] = {}
        self._pieces: dict[tuple[object, str], list[str]] = {}
        self._parts = Parts()
        self._begun = False

    @property
    def ended(self) -> bool:
        """Whether a reason for the end was given."""
        return self._parts.stop is not None

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """Take one event."""
        fields = object_of(payload)
        match fields.get("type"):
            case "message_start":
                self._begun = True
                message = object_of(fields.get("message"))
                self._parts.model, self._parts.id = text_of(message.get("model")), filled(message.get("id"))
                self._count(message.get("usage"))
            case "content_block_start":
                self._start(fields, deltas)
            case "content_block_delta":
                self._delta(fields, deltas)
            case "message_delta":
                end = object_of(fields.get("delta"))
                self._parts.stop = end.get("stop_reason") or self._parts.stop
                self._parts.details = end.get("stop_details") or self._parts.details
                self._count(fields.get("usage"))
            case "message_stop":
                self.done = True
            case _ if event.name == "error" or "error" in fields:
                fault = fault_in(payload) or fault_of(payload)
                raise error_in(self._provider, fault, redact=self._redact, body=event.data)
            case _:  # ping, and what is to come
                pass

    def answer(self) -> CompletionResponse:
        """Return the whole answer."""
        if not self._begun:
            raise MalformedReplyError("the stream held no answer", provider=self._provider)
        for (index, field), pieces in self._pieces.items():
            if field != "input":
                self._blocks[index][field] = "".join(pieces)
        inputs: dict[int, str] = {}
        for i, (index, block) in enumerate(self._blocks.items()):
            if (index, "input") in self._pieces:
                inputs[i] = "".join(self._pieces[index, "input"])
                block["input"] = _object(inputs[i])
        self._parts.blocks, self._parts.inputs = list(self._blocks.values()), inputs
        return answer(self._parts, self._request, self._provider)

    def _count(self, usage: JSON) -> None:
        # Counts grow; later ones replace earlier ones and leave out what has not changed.
        known = {name: count for name, count in object_of(usage).items() if count is not None}
        self._parts.usage = {**self._parts.usage, **known}

    def _start(self, fields: Mapping[str, Any], deltas: list[Delta]) -> None:
        index, block = fields.get("index"), dict(object_of(fields.get("content_block")))
        self._blocks[index] = block
        for field in GROWING.values():
            if isinstance(given := block.get(field), str) and given:
                self._grow(index, field, given, deltas)
        if block.get("type") == "tool_use":
            deltas.append(ToolCallDelta(self._key(index), filled(block.get("name"))))

    def _delta(self, fields: Mapping[str, Any], deltas: list[Delta]) -> None:
        index, delta = fields.get("index"), object_of(fields.get("delta"))
        block = self._blocks.setdefault(index, {})
        kind = text_of(delta.get("type"))
        if kind in GROWING:
            block.setdefault("type", GROWING[kind])
            self._grow(index, GROWING[kind], text_of(delta.get(GROWING[kind])), deltas)
        elif kind == "input_json_delta":
            if piece := text_of(delta.get("partial_json")):
                self._pieces.setdefault((index, "input"), []).append(piece)
                if block.get("type") == "tool_use":
                    deltas.append(ToolCallDelta(self._key(index), None, piece))
        elif kind == "citations_delta":
            listed = block.get("citations")
            block["citations"] = [*(listed if isinstance(listed, list) else ()), delta.get("citation")]

    def _grow(self, index: object, field: str, piece: str, deltas: list[Delta]) -> None:
        self._pieces.setdefault((index, field), []).append(piece)
        if field == "text" and piece:
            self._content.append(piece)
            deltas.append(TextDelta(piece))
        elif field == "thinking" and piece:
            deltas.append(ReasoningDelta(piece))

    def _key(self, index: object) -> str:
        return str(list(self._blocks).index(index))


def _object(text: str) -> JSON:
    try:
        value = decode(text)
    except MalformedJsonError:
        return {}
    return value if isinstance(value, dict) else {}
