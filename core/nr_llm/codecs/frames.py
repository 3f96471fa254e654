"""
What every streamed reply has in common: a first byte that tells a stream from a document, frames, an honest end.

A codec subclasses `FrameStream` and says what each payload means; cutting the bytes, refusing a stream that broke
off, and reading a whole reply where a server ignored the wish for a stream are done here, the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Callable
from typing import Literal

from nr_llm._json import JSON, decode, valid_text
from nr_llm.codecs.faults import excerpt
from nr_llm.codecs.sse import MAX_FRAME, Event, EventDecoder, LineDecoder
from nr_llm.errors import MalformedJsonError, MalformedReplyError, StreamInterruptedError
from nr_llm.events import Delta, ToolCallDelta
from nr_llm.responses import CompletionResponse


class FrameStream(ABC):
    """
    Reads one streamed reply; pure, and the same however the bytes are cut.

    Args:
        provider: Name for errors.
        redact: Masks secrets in what errors repeat.
        whole: Reads a reply that is no stream: some servers ignore the wish for one.
        framing: How payloads are told apart: server-sent events, or lines of JSON.

    Attributes:
        done: Whether the service has said that nothing follows; `frame` sets it.
        partial: The text so far; `frame` adds to it.
    """

    end_mark: str | None = None
    """Data of an event that ends the stream and is no payload, such as ``[DONE]``."""

    def __init__(
        self,
        *,
        provider: str,
        redact: Callable[[str], str],
        whole: Callable[[bytes], CompletionResponse],
        framing: Literal["events", "lines"] = "events",
    ) -> None:
        self._provider, self._redact, self._whole = provider, redact, whole
        self._read: Callable[[bytes], list[Delta]] = self._begin
        self._body = bytearray()
        self._frames: EventDecoder | _Lines = EventDecoder() if framing == "events" else _Lines()
        self._documents = b"[<" if framing == "lines" else b"{[<"  # what a reply that is no stream begins with
        self._content: list[str] = []
        self._halves: dict[object, Delta] = {}  # of characters that came so far, by what they are a piece of
        self.done = False

    @abstractmethod
    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """
        Take one payload and append to `deltas` what it adds.

        Args:
            payload: Decoded; None where the data of an event nobody needs is no JSON.
            event: Its name and data as they came.
            deltas: What the piece of bytes at hand has added so far.

        Raises:
            ProviderError: It reports a failure.
        """

    @abstractmethod
    def answer(self) -> CompletionResponse:
        """
        Return the answer once the stream has ended as it should.

        Raises:
            ProviderError: It held none, or one that reports a failure.
        """

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether the service came to an end, by its own mark; else the stream broke off."""

    def needed(self, event: Event) -> bool:
        """Whether the event must be JSON; data of others may be anything."""
        return bool(event.data.strip())

    @property
    def partial(self) -> str:
        """The text so far."""
        return valid_text("".join(self._content))

    def feed(self, data: bytes) -> list[Delta]:
        """
        Take the next bytes and return what they add.

        Raises:
            ProviderError: The stream reports a failure or is not understood.
        """
        deltas = self._read(data)
        if not self._halves and all(_text(delta).isascii() for delta in deltas):
            return deltas
        return self._valid(deltas)

    def finish(self) -> CompletionResponse:
        """
        Return the whole answer once the bytes have ended.

        Raises:
            StreamInterruptedError: The service had not come to an end; `partial` has the text until then.
            ProviderError: As `feed`.
        """
        if self._read == self._collect:
            return self._whole(bytes(self._body))
        for event in self._frames.finish(self._is_payload):
            self._event(event, [])
        if not (self.done or self.ended):
            cut = StreamInterruptedError("the stream ended in the middle", provider=self._provider, retryable=True)
            cut.partial = self.partial
            raise cut
        return self.answer()

    def _begin(self, data: bytes) -> list[Delta]:
        """Wait for the first byte that tells a stream from a JSON document or a web page."""
        self._collect(data)
        first = self._body.removeprefix(BOM_UTF8).lstrip()[:1]
        if not first or BOM_UTF8.startswith(self._body):
            return []
        begun, self._body = bytes(self._body), bytearray()
        self._read = self._collect if first in self._documents else self._stream
        return self._read(begun)

    def _collect(self, data: bytes) -> list[Delta]:
        self._body += data
        if len(self._body) > MAX_FRAME:
            raise MalformedReplyError(f"the reply exceeds {MAX_FRAME:,} bytes", provider=self._provider)
        return []

    def _stream(self, data: bytes) -> list[Delta]:
        deltas: list[Delta] = []
        for event in self._frames.feed(data):
            if self.done:
                break
            self._event(event, deltas)
        return deltas

    def _valid(self, deltas: list[Delta]) -> list[Delta]:
        """Return deltas that hold only valid text: a character that came in two halves is joined, as in the answer."""
        valid: list[Delta] = []
        for delta in deltas:
            kind = delta.key if isinstance(delta, ToolCallDelta) else type(delta)
            half = self._halves.pop(kind, None)
            text = _text(delta) if half is None else _text(half) + _text(delta)
            if "\ud800" <= text[-1:] <= "\udbff":
                self._halves[kind], text = _with(delta, text[-1], named=False), text[:-1]
            valid.append(_with(delta, valid_text(text)))
        if self.done:
            valid += [_with(half, "\ufffd") for half in self._halves.values()]
            self._halves.clear()
        return [delta for delta in valid if _text(delta) or isinstance(delta, ToolCallDelta)]

    def _event(self, event: Event, deltas: list[Delta]) -> None:
        if event.data == self.end_mark:
            self.done = True
            return
        self.frame(self._payload(event), event, deltas)

    def _payload(self, event: Event) -> JSON:
        try:
            return decode(event.data)
        except MalformedJsonError as error:
            if not self.needed(event):
                return None
            raise MalformedReplyError(
                f"an event of the stream is no JSON: {excerpt(event.data, self._redact)}", provider=self._provider
            ) from error

    def _is_payload(self, data: str) -> bool:
        try:
            decode(data)
        except MalformedJsonError:
            return data == self.end_mark
        return True


def _text(delta: Delta) -> str:
    return delta.arguments if isinstance(delta, ToolCallDelta) else delta.text


def _with(delta: Delta, text: str, *, named: bool = True) -> Delta:
    if isinstance(delta, ToolCallDelta):
        return ToolCallDelta(delta.key, delta.name if named else None, text)
    return type(delta)(text)


class _Lines:
    """Lines of JSON as events without a name; blank ones are none."""

    def __init__(self) -> None:
        self._lines = LineDecoder()

    def feed(self, data: bytes) -> list[Event]:
        return [Event(line.decode("utf-8", "replace")) for line in self._lines.feed(data) if line.strip()]

    def finish(self, parses: Callable[[str], bool]) -> list[Event]:
        rest = self._lines.finish().decode("utf-8", "replace")
        return [Event(rest)] if rest.strip() and parses(rest) else []
