"""Read a reply piece by piece, in both colours, whoever's client brought it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self

import attrs

from nr_llm._explain import explained
from nr_llm._reach import Target
from nr_llm.errors import MalformedReplyError
from nr_llm.providers import HttpReply, TransportOptions

MAX_REPLY = 64 * 1024 * 1024
"""Bytes a reply that is read whole may have, decompressed: far above any answer, far below what would hurt the host."""

DRAINED = 16
"""Pieces read after a reply is complete; more would be no end but something new."""

DRAIN_SECONDS = 5.0
"""Seconds the end of a complete reply is waited for in an event loop."""


def gathered(pieces: Iterable[bytes]) -> bytes:
    """
    Return a whole body.

    Raises:
        MalformedReplyError: It is larger than `MAX_REPLY`.
    """
    body, size = list[bytes](), 0
    for piece in pieces:
        size = _grown(size, piece)
        body.append(piece)
    return b"".join(body)


async def agathered(pieces: AsyncIterable[bytes]) -> bytes:
    """Return a whole body; the asynchronous twin of `gathered`."""
    body, size = list[bytes](), 0
    async for piece in pieces:
        size = _grown(size, piece)
        body.append(piece)
    return b"".join(body)


def _grown(size: int, piece: bytes) -> int:
    size += len(piece)
    if size > MAX_REPLY:
        raise MalformedReplyError(f"the reply exceeds {MAX_REPLY:,} bytes and was abandoned")
    return size


@attrs.frozen(eq=False)
class HttpStream:
    """
    A reply whose body is read piece by piece; close it, or use it in a ``with`` statement.

    Attributes:
        status: HTTP status.
        headers: Headers, names in lower case.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(repr=False)
    _response: Any = attrs.field(repr=False)
    _pieces: Iterator[bytes] = attrs.field(repr=False)
    _place: Target
    _options: TransportOptions = attrs.field(repr=False)

    def __iter__(self) -> Iterator[bytes]:
        """
        Yield the body as it arrives, decompressed.

        Raises:
            StreamInterruptedError: The connection broke or fell silent.
        """
        with explained(self._place, self._options, reading=True):
            for piece in self._pieces:  # noqa: UP028  # `yield from` would end them, for `drain` too, with this reader
                yield piece

    def read(self) -> HttpReply:
        """
        Return the whole reply and close it: for error replies.

        Raises:
            StreamInterruptedError: As iteration.
            MalformedReplyError: It is larger than `MAX_REPLY`.
        """
        with self:
            return HttpReply(self.status, self.headers, gathered(self))

    def drain(self) -> None:
        """
        Read what little is left, so that the connection can serve again, and close; for a reply that is complete.

        It may block until the service ends the reply, so call it where nobody waits.
        """
        with suppress(Exception), self:
            for _ in zip(range(DRAINED), self._pieces, strict=False):
                pass

    def close(self) -> None:
        """Give the connection back, or end it if the body was not read to its end."""
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@attrs.frozen(eq=False)
class AsyncHttpStream:
    """The asynchronous twin of `HttpStream`."""

    status: int
    headers: Mapping[str, str] = attrs.field(repr=False)
    _response: Any = attrs.field(repr=False)
    _pieces: AsyncIterator[bytes] = attrs.field(repr=False)
    _place: Target
    _options: TransportOptions = attrs.field(repr=False)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """
        Yield the body as it arrives, decompressed.

        Raises:
            StreamInterruptedError: The connection broke or fell silent.
        """
        with explained(self._place, self._options, reading=True):
            async for piece in self._pieces:
                yield piece

    async def aread(self) -> HttpReply:
        """
        Return the whole reply and close it: for error replies.

        Raises:
            StreamInterruptedError: As iteration.
            MalformedReplyError: It is larger than `MAX_REPLY`.
        """
        async with self:
            return HttpReply(self.status, self.headers, await agathered(self))

    async def adrain(self) -> None:
        """Read what little is left, and close; the asynchronous twin of `HttpStream.drain`."""
        import asyncio

        with suppress(Exception):
            async with self, asyncio.timeout(DRAIN_SECONDS):
                left = DRAINED
                async for _ in self._pieces:
                    left -= 1
                    if not left:
                        break

    async def aclose(self) -> None:
        """Give the connection back, or end it if the body was not read to its end."""
        await self._response.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
