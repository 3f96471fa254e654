"""A streamed reply of Parrot: one JSON object a line, the last one says why it ended."""

from __future__ import annotations

from typing import Any

from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON, encode
from nr_llm.codecs.reading import filled, object_of, text_of
from nr_llm.codecs.sse import Event
from nr_llm.events import Delta, TextDelta, ToolCallDelta
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_parrot.codec import ParrotCodec


class ParrotStream(FrameStream):
    """Reads one streamed reply; the base class cuts the bytes and refuses a stream that broke off."""

    def __init__(self, codec: ParrotCodec, request: CompletionRequest) -> None:
        super().__init__(
            provider=codec.provider,
            redact=codec.redact,
            whole=lambda body: codec.whole(body, request),
            framing="lines",
        )
        self._codec, self._asked = codec, request
        self._calls: list[dict[str, Any]] = []
        self._end: dict[str, Any] = {}

    @property
    def ended(self) -> bool:
        """Whether the service said why it stopped."""
        return "why" in self._end

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """Take one line."""
        line = dict(object_of(payload))
        if line.get("trouble"):
            raise self._codec.error_in(line, event.data)
        if text := text_of(line.get("say")):
            self._content.append(text)
            deltas.append(TextDelta(text))
        if call := dict(object_of(line.get("do"))):
            deltas.append(
                ToolCallDelta(str(len(self._calls)), filled(call.get("name")), encode(call.get("with") or {}))
            )
            self._calls.append(call)
        if "why" in line:
            self._end = line
            self.done = True

    def answer(self) -> CompletionResponse:
        """Return the whole answer."""
        return self._codec.answer(self._end, self._asked, text=self.partial, calls=self._calls)
