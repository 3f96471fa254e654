"""Keep the connections to one place: which are open, and which of them wait for another request."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

import attrs

from nr_llm._talk import Talk

CONNECTIONS = 1000
"""Connections to one place that may be open; httpx's own 100 make bursts wait."""

KEEP_SECONDS = 60.0
"""Seconds an idle connection is kept: longer than most tools take, so that the next round finds it open."""


@attrs.define(eq=False)
class Connection:
    """
    A connection and what is said on it.

    Attributes:
        wire: What carries the bytes: a `Line` or a `Link`.
        talk: What is said.
        until: Up to when it is kept while nothing is, as `time.monotonic` counts.
    """

    wire: Any
    talk: Talk = attrs.field(factory=Talk)
    until: float = 0.0


class Kept:
    """The connections to one place; safe to use from several threads."""

    def __init__(self) -> None:
        self._open = set[Connection]()
        self._idle = deque[Connection]()  # the one used last comes last
        self._closed = False
        self._lock = threading.RLock()  # a reply nobody holds is given back wherever the collector meets it: here too

    def take(self) -> Connection | None:
        """Return the connection that was used last, or None; end those that are of no more use."""
        with self._lock:
            now = time.monotonic()
            while self._idle and self._idle[0].until < now:
                self._end(self._idle.popleft())
            while self._idle:
                connection = self._idle.pop()
                if not connection.wire.has_news():
                    return connection
                self._end(connection)
        return None

    def add(self, wire: Any) -> Connection:
        """Return a new connection over `wire`."""
        connection = Connection(wire)
        with self._lock:
            self._open.add(connection)
        return connection

    def give_back(self, connection: Connection) -> bool:
        """Keep a connection whose reply was read to its end and end any other; return whether it is kept."""
        with self._lock:
            if kept := connection.talk.over() and not self._closed:
                connection.until = time.monotonic() + KEEP_SECONDS
                self._idle.append(connection)
            else:
                self._end(connection)
        return kept

    def close(self) -> None:
        """End all for good; those in use break, and are ended by whoever uses them."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._end(self._idle.pop())
            for connection in tuple(self._open):
                connection.wire.shut()

    def drop(self) -> None:
        """Let go of all in a process that was forked off: they stay open in its parent, whose threads are gone here."""
        self._closed, self._lock = True, threading.RLock()  # one of those threads may hold the old one
        for connection in self._open:
            connection.wire.drop()

    def _end(self, connection: Connection) -> None:
        self._open.discard(connection)
        connection.wire.close()
