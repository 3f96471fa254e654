"""Send over connections of our own, where no proxy stands between."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import attrs

from nr_llm._failures import PoolTimeout, WriteError
from nr_llm._kept import CONNECTIONS, Connection, Kept
from nr_llm._line import Line
from nr_llm._outgoing import PIECE, Outgoing, Patience, RawHeaders

if TYPE_CHECKING:
    import ssl


class Direct:
    """
    The way to one place; safe to use from several threads.

    Args:
        context: The trust for TLS, or None for none.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._kept = Kept()
        self._free = SimpleQueue[None]()  # of all that count, the one that may be added to while it is asked
        for _ in range(CONNECTIONS):
            self._free.put(None)

    def open(self, request: Outgoing) -> Reply:
        """
        Send a request, once, and return its reply as soon as the head is there.

        Raises:
            Exception: One of `nr_llm._failures`.
        """
        try:
            self._free.get(timeout=request.connect_seconds)
        except Empty:
            raise PoolTimeout from None
        connection = None
        try:
            connection = self._kept.take() or self._connected(request)
            status, headers = _asked(connection, request)
        except BaseException:
            self.give_back(connection)
            raise
        return Reply(status, headers, connection, request.patience, [self])

    def _connected(self, request: Outgoing) -> Connection:
        place = request.head.address
        return self._kept.add(Line(place.host, place.dialled, self._context, seconds=request.connect_seconds))

    def give_back(self, connection: Connection | None) -> None:
        """Take back what a request needed."""
        if connection is not None:
            self._kept.give_back(connection)
        self._free.put(None)

    def close(self) -> None:
        """End all connections."""
        self._kept.close()

    def drop(self) -> None:
        """Leave all connections to another process."""
        self._kept.drop()


@attrs.define(eq=False)
class Reply:
    """
    A reply whose head is there; close it.

    Attributes:
        status: HTTP status.
        headers: The headers as they came.
    """

    status: int
    headers: RawHeaders = attrs.field(repr=False)
    _connection: Connection
    _patience: Patience
    _way: list[Direct]

    @property
    def stream(self) -> Iterator[bytes]:
        """The body as it comes, once."""
        wire, talk = self._connection.wire, self._connection.talk
        try:
            while True:
                if piece := talk.body():
                    yield piece
                if talk.ended():
                    return
                talk.hear(wire.read(PIECE, self._patience.left()))
        finally:
            self.close()

    def close(self) -> None:
        """Give the connection back, or end it if the body was not read to its end."""
        try:
            way = self._way.pop()  # of two threads that close it, one gives it back
        except IndexError:
            return
        way.give_back(self._connection)

    def __del__(self) -> None:
        """Give back what a reply needed that nobody read or closed."""
        self.close()


def _asked(connection: Connection, request: Outgoing) -> tuple[int, RawHeaders]:
    wire, talk = connection.wire, connection.talk
    try:
        for piece in talk.say(request):
            wire.write(piece, request.patience)
    except WriteError:
        talk.unsaid()  # a server may refuse a body before it has all of it, and say so
    while True:
        talk.hear(wire.read(PIECE, request.patience.left()))
        if (head := talk.head()) is not None:
            return head
