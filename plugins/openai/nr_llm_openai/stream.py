"""Streamed reply to deltas and answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nr_llm.codecs.faults import error_in, fault_in, fault_of
from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON
from nr_llm.codecs.reading import text_of
from nr_llm.codecs.sse import Event
from nr_llm.errors import MalformedReplyError
from nr_llm.events import Delta, ReasoningDelta, TextDelta
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai.answers import Parts, answer
from nr_llm_openai.assemble import CallAssembly
from nr_llm_openai.decode import reasoning_of, texts_of
from nr_llm_openai.dialects import Dialect
from nr_llm_openai.replay import Replay

DONE = "[DONE]"

NAMED = frozenset({"", "message", "error"})
"""Names of events that matter; others, such as ``ping``, may carry anything."""


class ChatStream(FrameStream):
    """
    Reads one streamed reply.

    Args:
        request: What was asked.
        dialect: The service's ways.
        provider: Name for answers and errors.
        redact: Masks secrets in what errors repeat.
        whole: Reads a reply that is no stream.
    """

    end_mark = DONE

    def __init__(
        self,
        request: CompletionRequest,
        *,
        dialect: Dialect,
        provider: str,
        redact: Callable[[str], str],
        whole: Callable[[bytes], CompletionResponse],
    ) -> None:
        super().__init__(provider=provider, redact=redact, whole=whole)
        self._request = request
        self._parts = Parts()
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls = CallAssembly()
        self._replay = Replay(dialect.replayed, self._content)
        self._named = self._answered = False

    @property
    def ended(self) -> bool:
        """Whether a reason for the end was given."""
        return self._parts.finish is not None

    def needed(self, event: Event) -> bool:
        """Whether the event must be JSON."""
        return event.name in NAMED and super().needed(event)

    def answer(self) -> CompletionResponse:
        """Return the whole answer."""
        if not self._answered:
            raise MalformedReplyError("the stream held no answer", provider=self._provider)
        parts = self._parts
        parts.content, parts.reasoning = self.partial, "".join(self._reasoning)
        parts.refusal, parts.calls = "".join(self._refusal), self._calls.parts()
        parts.state = self._replay.state()
        return answer(parts, self._request, self._provider)

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """Take one chunk."""
        if not isinstance(payload, dict) or event.name or "error" in payload or payload.get("object") == "error":
            self._look_for_fault(payload, event)
        if not isinstance(payload, dict):
            return
        if not self._named or payload.get("usage") or "x_groq" in payload:
            self._envelope(payload)
        choices = payload.get("choices")
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict) and not choice.get("index"):
                    self._choice(choice, deltas)

    def _look_for_fault(self, payload: JSON, event: Event) -> None:
        fault = fault_in(payload) or (fault_of(payload) if event.name == "error" else None)
        if fault is not None:
            raise error_in(self._provider, fault, redact=self._redact, body=event.data)

    def _envelope(self, payload: Mapping[str, JSON]) -> None:
        parts = self._parts
        if not parts.model and isinstance(model := payload.get("model"), str):
            parts.model = model
        if not parts.id and isinstance(answer_id := payload.get("id"), str):
            parts.id = answer_id or None
        self._named = bool(parts.model and parts.id)
        usage = payload.get("usage")
        if "x_groq" in payload and isinstance(groq := payload["x_groq"], dict):
            usage = usage or groq.get("usage")
        if usage:
            parts.usage = usage

    def _choice(self, choice: Mapping[str, JSON], deltas: list[Delta]) -> None:
        self._answered = True
        if word := choice.get("finish_reason"):
            self._parts.finish = word
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")  # some servers send all of an answer as its only chunk
            if not isinstance(delta, dict) or self._content or self._calls:
                return
        text = delta.get("content")
        if len(delta) > 1 or not isinstance(text, str):  # most pieces are text and nothing else
            text = "" if len(delta) == 1 and "tool_calls" in delta else self._mixed(delta, deltas)
        if text:
            self._content.append(text)
            deltas.append(TextDelta(text))
        if "tool_calls" in delta or "function_call" in delta:
            self._pieces(delta, deltas)

    def _mixed(self, delta: Mapping[str, JSON], deltas: list[Delta]) -> str:
        """Take what a piece brings beside text, and return its text."""
        text, thinking, refusal = texts_of(delta.get("content"))
        if thinking := thinking + reasoning_of(delta):
            self._reasoning.append(thinking)
            deltas.append(ReasoningDelta(thinking))
        if refusal := refusal + text_of(delta.get("refusal")):
            self._refusal.append(refusal)
        self._replay.add(delta)
        return text

    def _pieces(self, delta: Mapping[str, JSON], deltas: list[Delta]) -> None:
        pieces, single = delta.get("tool_calls"), delta.get("function_call")
        if isinstance(single, dict):
            pieces = [{"index": 0, "function": single}]
        if isinstance(pieces, list):
            deltas += [added for piece in pieces if (added := self._calls.add(piece)) is not None]
