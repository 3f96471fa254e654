"""Streamed reply to deltas and answer: a JSON object a line, the last one says that it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nr_llm.codecs.faults import error_in, fault_in
from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON, encode
from nr_llm.codecs.reading import filled, object_of, objects_of, text_of
from nr_llm.codecs.sse import Event
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_ollama.answers import answer


class ChatStream(FrameStream):
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
        super().__init__(provider=provider, redact=redact, whole=whole, framing="lines")
        self._request = request
        self._thinking: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._end: dict[str, Any] = {}

    @property
    def ended(self) -> bool:
        """Whether the service said that it is done."""
        return self.done

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """Take one line."""
        if (fault := fault_in(payload)) is not None:
            raise error_in(self._provider, fault, redact=self._redact, body=event.data)
        line = object_of(payload)
        message = object_of(line.get("message"))
        if thinking := text_of(message.get("thinking")):
            self._thinking.append(thinking)
            deltas.append(ReasoningDelta(thinking))
        if text := text_of(message.get("content")):
            self._content.append(text)
            deltas.append(TextDelta(text))
        for call in objects_of(message.get("tool_calls")):
            function = object_of(call.get("function"))
            name, given = filled(function.get("name")), function.get("arguments")
            if name is None and not given:  # which is no call
                continue
            written = given if isinstance(given, str) else encode(given or {})
            deltas.append(ToolCallDelta(str(len(self._calls)), name, written))
            self._calls.append(call)
        if line.get("done") is True:
            self.done, self._end = True, dict(line)

    def answer(self) -> CompletionResponse:
        """Return the whole answer."""
        return answer(
            self._end,
            self._request,
            self._provider,
            content=self.partial,
            thinking="".join(self._thinking),
            calls=self._calls,
        )
