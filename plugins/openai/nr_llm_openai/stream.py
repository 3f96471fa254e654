"""Streamed reply to deltas and answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nr_llm._json import JSON, decode
from nr_llm._sse import MAX_FRAME, Event, EventDecoder
from nr_llm.errors import MalformedJsonError, MalformedReplyError, StreamInterruptedError
from nr_llm.events import Delta, ReasoningDelta, TextDelta
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai.answers import Parts, answer
from nr_llm_openai.assemble import CallAssembly
from nr_llm_openai.decode import reasoning_of, text_of, texts_of
from nr_llm_openai.dialects import Dialect
from nr_llm_openai.errors import error_in, excerpt, fault_in, fault_of
from nr_llm_openai.replay import Replay

DONE = "[DONE]"

NAMED = frozenset({"", "message", "error"})
"""Names of events that matter; others, such as ``ping``, may carry anything."""


class ChatStream:
    """
    Reads one streamed reply; pure, and the same however the bytes are cut.

    Args:
        request: What was asked.
        dialect: The service's ways.
        provider: Name for answers and errors.
        redact: Masks secrets in what errors repeat.
        whole: Reads a reply that is no stream: some servers ignore the wish for one.

    Attributes:
        done: Whether the service has said that nothing follows; reading on might wait for ever.
    """

    def __init__(
        self,
        request: CompletionRequest,
        *,
        dialect: Dialect,
        provider: str,
        redact: Callable[[str], str],
        whole: Callable[[bytes], CompletionResponse],
    ) -> None:
        self._request, self._provider = request, provider
        self._redact, self._whole = redact, whole
        self._read: Callable[[bytes], list[Delta]] = self._begin
        self._body = bytearray()
        self._events = EventDecoder()
        self._parts = Parts()
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls = CallAssembly()
        self._replay = Replay(dialect.replayed)
        self._named = self._answered = False
        self.done = False

    @property
    def partial(self) -> str:
        """The text so far."""
        return "".join(self._content)

    def feed(self, data: bytes) -> list[Delta]:
        """
        Take the next bytes and return what they add.

        Raises:
            ProviderError: The stream reports a failure or is not understood.
        """
        return self._read(data)

    def finish(self) -> CompletionResponse:
        """
        Return the whole answer once the bytes have ended.

        Raises:
            StreamInterruptedError: The service had not come to an end; `partial` has the text until then.
            ProviderError: As `feed`.
        """
        if self._read == self._collect:
            return self._whole(bytes(self._body))
        for event in self._events.finish(_is_payload):
            self._event(event, [])
        if self._parts.finish is None and not self.done:
            cut = StreamInterruptedError("the stream ended in the middle", provider=self._provider, retryable=True)
            cut.partial = self.partial
            raise cut
        if not self._answered:
            raise MalformedReplyError("the stream held no answer", provider=self._provider)
        parts = self._parts
        parts.content, parts.reasoning = self.partial, "".join(self._reasoning)
        parts.refusal, parts.calls = "".join(self._refusal), self._calls.parts()
        parts.state = self._replay.state()
        return answer(parts, self._request, self._provider)

    def _begin(self, data: bytes) -> list[Delta]:
        """Wait for the first byte that tells a stream from a JSON document or a web page."""
        self._collect(data)
        first = data.lstrip()[:1]
        if not first:
            return []
        begun, self._body = bytes(self._body), bytearray()
        self._read = self._collect if first in b"{[<" else self._stream
        return self._read(begun)

    def _collect(self, data: bytes) -> list[Delta]:
        self._body += data
        if len(self._body) > MAX_FRAME:
            raise MalformedReplyError(f"the reply exceeds {MAX_FRAME:,} bytes", provider=self._provider)
        return []

    def _stream(self, data: bytes) -> list[Delta]:
        deltas: list[Delta] = []
        for event in self._events.feed(data):
            if self.done:
                break
            self._event(event, deltas)
        return deltas

    def _event(self, event: Event, deltas: list[Delta]) -> None:
        if event.data == DONE:
            self.done = True
            return
        payload = self._payload(event)
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

    def _payload(self, event: Event) -> JSON:
        try:
            return decode(event.data)
        except MalformedJsonError as error:
            if not event.data.strip() or event.name not in NAMED:
                return None
            raise MalformedReplyError(
                f"an event of the stream is no JSON: {excerpt(event.data, self._redact)}", provider=self._provider
            ) from error

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


def _is_payload(data: str) -> bool:
    try:
        decode(data)
    except MalformedJsonError:
        return data == DONE
    return True
