"""The asynchronous twin of `nr_llm._direct`, whose connections belong to one event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import attrs

from nr_llm._failures import PoolTimeout, WriteError
from nr_llm._kept import CONNECTIONS, Connection, Kept
from nr_llm._link import connected
from nr_llm._outgoing import PIECE, Outgoing, RawHeaders

if TYPE_CHECKING:
    import ssl


class AsyncDirect:
    """
    The way to one place from one event loop.

    Args:
        context: The trust for TLS, or None for none.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._kept = Kept()
        self._free = asyncio.Semaphore(CONNECTIONS)

    async def open(self, request: Outgoing) -> AsyncReply:
        """
        Send a request, once, and return its reply as soon as the head is there.

        Raises:
            Exception: One of `nr_llm._failures`.
        """
        await (self._admitted(request) if self._free.locked() else self._free.acquire())
        connection = None
        try:
            connection = self._kept.take() or await self._connected(request)
            status, headers = await _asked(connection, request)
        except BaseException:
            self.give_back(connection)
            raise
        return AsyncReply(status, headers, connection, request.patience.seconds, self)

    async def _admitted(self, request: Outgoing) -> None:
        try:
            async with asyncio.timeout(request.connect_seconds):
                await self._free.acquire()
        except TimeoutError as error:
            raise PoolTimeout from error

    async def _connected(self, request: Outgoing) -> Connection:
        place, seconds = request.head.address, request.connect_seconds
        end = time.monotonic() + seconds
        link = await connected(place.host, place.dialled, seconds)
        if self._context is not None:
            await link.start_tls(self._context, place.host, end - time.monotonic())
        return self._kept.add(link)

    def give_back(self, connection: Connection | None) -> None:
        """Take back what a request needed."""
        if connection is not None:
            self._kept.give_back(connection)
        self._free.release()

    async def aclose(self) -> None:
        """End all connections, and let the loop close their sockets."""
        self._kept.close()
        await asyncio.sleep(0)


@attrs.define(eq=False)
class AsyncReply:
    """
    A reply whose head is there; close it.

    Attributes:
        status: HTTP status.
        headers: The headers as they came.
    """

    status: int
    headers: RawHeaders = attrs.field(repr=False)
    _connection: Connection
    _seconds: float
    _way: AsyncDirect | None

    @property
    async def stream(self) -> AsyncIterator[bytes]:
        """The body as it comes, once."""
        wire, talk = self._connection.wire, self._connection.talk
        try:
            while True:
                if piece := talk.body():
                    yield piece
                if talk.ended():
                    return
                talk.hear(await wire.read(PIECE, self._seconds))
        finally:
            self._close()

    async def aclose(self) -> None:
        """Give the connection back, or end it if the body was not read to its end."""
        self._close()

    def _close(self) -> None:
        way, self._way = self._way, None
        if way is not None:
            way.give_back(self._connection)

    def __del__(self) -> None:
        """Have the loop take back what a reply needed that nobody read or closed, from whichever thread this is."""
        if self._way is not None:
            self._connection.wire.later(self._close)


async def _asked(connection: Connection, request: Outgoing) -> tuple[int, RawHeaders]:
    wire, talk, seconds = connection.wire, connection.talk, request.patience.seconds
    try:
        for piece in talk.say(request):
            await wire.write(piece, seconds)
    except WriteError:
        talk.unsaid()  # a server may refuse a body before it has all of it, and say so
    while True:
        talk.hear(await wire.read(PIECE, seconds))
        if (head := talk.head()) is not None:
            return head
