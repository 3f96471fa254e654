"""Streamed reply to deltas and answer: every chunk is a reply of its own, and calls come whole."""

from __future__ import annotations

from collections.abc import Callable

from nr_llm.codecs.faults import error_in, fault_in
from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON, encode
from nr_llm.codecs.reading import filled, object_of, text_of
from nr_llm.codecs.sse import Event
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_gemini.answers import Parts, answer


class ContentStream(FrameStream):
    """
    Reads one streamed reply.

    Args:
        request: What was asked.
        provider: Name for answers and errors.
        redact: Masks secrets in what errors repeat.
        whole: Reads a reply that is no stream, such as a list of chunks.
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
        self._parts = Parts()
        self._calls = 0

    @property
    def ended(self) -> bool:
        """Whether a reason for the end was given."""
        return bool(self._parts.finish or self._parts.blocked)

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """Take one chunk."""
        if (fault := fault_in(payload)) is not None:
            raise error_in(self._provider, fault, redact=self._redact, body=event.data)
        for part in self._parts.take(object_of(payload)):
            text = text_of(part.get("text"))
            if text and part.get("thought") is True:
                deltas.append(ReasoningDelta(text))
            elif text:
                self._content.append(text)
                deltas.append(TextDelta(text))
            if "functionCall" in part:
                call = object_of(part["functionCall"])
                args = call.get("args")
                written = args if isinstance(args, str) else encode({} if args is None else args)
                deltas.append(ToolCallDelta(str(self._calls), filled(call.get("name")), written))
                self._calls += 1

    def answer(self) -> CompletionResponse:
        """Return the whole answer."""
        return answer(self._parts, self._request, self._provider)
