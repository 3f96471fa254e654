"""The last lines of one segment of a run, bounded in bytes, for any number of readers who come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from nr_llm._json import encode_bytes

HEARTBEAT: Final = b'{"event":"heartbeat"}\n'
"""Tells a reader that nothing happened and the server is there; it has no number."""

ENTRY_BYTES: Final = 128
"""What Python needs to keep a line, roughly, beside its bytes: many short lines are bounded too."""

CHUNK_BYTES: Final = 64 * 1024
"""About so much is handed to a reader at once."""


class Tail:
    """
    Numbered lines, of which the oldest are given up once there are too many bytes.

    A writer never waits for a reader, and a reader has nothing but a number: one that is slow finds that lines are
    gone, and is told which.

    Args:
        most_bytes: Bytes that are kept; the newest line is kept whatever it has.

    Attributes:
        first: Number of the oldest line that is kept.
        next: Number of the line that comes next.
        size: Bytes that are kept.
        ended: Whether no line follows.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._lines: dict[int, bytes] = {}
        self._news = asyncio.Event()
        self.first = self.next = self.size = 0
        self.ended = False

    def add(self, line: bytes) -> None:
        """Keep a line, wake the readers."""
        self._lines[self.next] = line
        self.next += 1
        self.size += len(line) + ENTRY_BYTES
        while self.size > self._most and self.first < self.next - 1:
            self.size -= len(self._lines.pop(self.first)) + ENTRY_BYTES
            self.first += 1
        self._wake()

    def end(self) -> None:
        """Say that no line follows."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def read(self, after: int, *, heartbeat: float) -> AsyncIterator[bytes]:
        """
        Yield the lines behind a number, as they come, several at a time.

        Args:
            after: Number of the last line that the reader has; -1 for none.
            heartbeat: After so many seconds without a line one that says nothing is yielded.
        """
        number = max(after, -1) + 1
        while True:
            if number < self.first:
                yield gap(number, self.first - 1)
                number = self.first
            if number < self.next:
                chunk, number = self._chunk(number)
                yield chunk
            elif self.ended:
                return
            elif not await _within(heartbeat, self._news):
                yield HEARTBEAT

    def _chunk(self, number: int) -> tuple[bytes, int]:
        """Return lines from a number on, and the number behind them."""
        lines, size = [], 0
        while number < self.next and size < CHUNK_BYTES:
            lines.append(self._lines[number])
            size += len(lines[-1])
            number += 1
        return b"".join(lines), number


def gap(first: int, last: int) -> bytes:
    """Return the line that stands for lines that are gone."""
    return encode_bytes({"event": "gap", "from": first, "to": last}) + b"\n"


async def _within(seconds: float, news: asyncio.Event) -> bool:
    """Return whether something came in time."""
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return False
    return True
