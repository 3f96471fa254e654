"""
Cut a byte stream into server-sent events or lines, the same ones however the bytes arrive.

Ready-made line splitters are the classic source of lost deltas: `str.splitlines` and HTTP clients' line
iterators also end lines at U+2028, U+0085 and other characters that JSON text may hold, and text decoders
fed chunk by chunk spoil a character that straddles two chunks.  Here bytes stay bytes until a frame is whole.
Lines end at LF, CRLF and CR only, as https://html.spec.whatwg.org/multipage/server-sent-events.html says.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import NamedTuple

from nr_llm.errors import MalformedReplyError

MAX_FRAME = 16 * 1024 * 1024
"""Bytes one event or line may have: far above any reply seen on the wire, far below what would hurt the host."""

_DATA = b"data: "


class Event(NamedTuple):
    """One server-sent event: its data lines joined by newlines, and the name its `event:` line gave, or ``""``."""

    data: str
    name: str = ""


class LineDecoder:
    """
    Bytes in, whole lines out, without their ends; a byte order mark at the start is taken off.

    Args:
        limit: Most bytes one line may have.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._after_cr = False
        self._mark: bytes | None = b""

    def feed(self, data: bytes) -> list[bytes]:
        """
        Return the lines that `data` completes.

        Raises:
            MalformedReplyError: A line is longer than the limit.
        """
        data = self._plain(data)
        if b"\n" not in data:
            self._rest += data
            self._check(self._rest)
            return []
        if self._rest:
            data = bytes(self._rest) + data
            self._rest.clear()
        *lines, rest = data.split(b"\n")
        self._rest += rest
        if len(data) > self._limit:
            self._check(max(*lines, rest, key=len))
        return lines

    @property
    def between(self) -> bool:
        """Whether the next byte begins a line."""
        return not self._rest and not self._after_cr and self._mark is None

    def finish(self) -> bytes:
        """Return what came after the last line end, most often nothing."""
        return (self._mark or b"") + bytes(self._rest)

    def _plain(self, data: bytes) -> bytes:
        """Return `data` without byte order mark and with LF as the only line end."""
        if self._mark is not None:
            data = self._without_mark(data)
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _without_mark(self, data: bytes) -> bytes:
        data = (self._mark or b"") + data
        if len(data) < len(codecs.BOM_UTF8) and codecs.BOM_UTF8.startswith(data):
            self._mark = data
            return b""
        self._mark = None
        return data.removeprefix(codecs.BOM_UTF8)

    def _check(self, line: bytes | bytearray) -> None:
        if len(line) > self._limit:
            raise MalformedReplyError(f"a line of the stream exceeds {self._limit:,} bytes; the stream was abandoned")


class EventDecoder:
    """
    Bytes in, server-sent events out.

    Comments, `id`, `retry` and unknown fields are skipped; an event without a data line is none.

    Args:
        limit: Most bytes the data of one event may have.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._lines = LineDecoder(limit)
        self._data: list[bytes] = []
        self._size = 0
        self._name = ""
        self._between = False

    def feed(self, data: bytes) -> list[Event]:
        """
        Return the events that `data` completes.

        Raises:
            MalformedReplyError: An event is larger than the limit.
        """
        # Most pieces are one whole event of one line: read at a glance, it costs a third.
        if self._between and _is_one_event(data) and len(data) <= self._limit:
            return [Event(data[6:-2].decode("utf-8", "replace"))]
        events: list[Event] = []
        for line in self._lines.feed(data):
            if line.startswith(_DATA):
                self._keep(line[6:])
            elif line:
                self._field(line)
            elif self._data:
                events.append(self._event())
            else:
                self._name = ""
        self._between = self._lines.between and not self._data and not self._name
        return events

    def finish(self, parses: Callable[[str], bool]) -> list[Event]:
        """
        Return the last event if its blank line is missing and `parses` accepts its data, else nothing.

        Args:
            parses: Tells a whole payload from one that was cut.
        """
        if rest := self._lines.finish():
            self._field(rest)
        if not self._data:
            return []
        event = self._event()
        return [event] if parses(event.data) else []

    def _field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == b"data":
            self._keep(value.removeprefix(b" "))
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")

    def _keep(self, value: bytes) -> None:
        self._data.append(value)
        self._size += len(value)
        if self._size > self._limit:
            raise MalformedReplyError(f"an event of the stream exceeds {self._limit:,} bytes; the stream was abandoned")

    def _event(self) -> Event:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        event = Event(data.decode("utf-8", "replace"), self._name)
        self._data, self._size, self._name = [], 0, ""
        return event


def _is_one_event(data: bytes) -> bool:
    return data[:6] == _DATA and data.find(b"\n") == len(data) - 2 and data[-1:] == b"\n" and data.find(b"\r") < 0
