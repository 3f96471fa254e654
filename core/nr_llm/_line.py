"""Carry the bytes of blocking requests over a socket."""

from __future__ import annotations

import select
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from nr_llm._failures import ConnectError, ConnectTimeout, ReadError, ReadTimeout, WriteError, WriteTimeout

if TYPE_CHECKING:
    import ssl

    from nr_llm._outgoing import Patience

LEAST_SHARE = 1.0
"""Seconds an address of a host has at least: the first packet may be lost, and is sent again after one (RFC 6298)."""


class Line:
    """
    One connection; of one thread at a time.

    Args:
        host: Where to.
        port: Its port.
        context: The trust for TLS, or None for none.
        seconds: Time to connect.

    Raises:
        ConnectTimeout: It took longer.
        ConnectError: There is no connection.
    """

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None, *, seconds: float) -> None:
        end = time.monotonic() + seconds
        try:
            self._socket = _connected(host, port, end)
            if context is not None:
                self._secure(context, host, end)
        except TimeoutError as error:
            raise ConnectTimeout from error
        except OSError as error:  # ssl.SSLError is one
            raise ConnectError(str(error)) from error
        self._seconds = 0.0  # none that is asked for: it is set when first something is
        self._shut = False
        self._news = select.poll()
        self._news.register(self._socket, select.POLLIN)

    def _secure(self, context: ssl.SSLContext, host: str, end: float) -> None:
        try:
            self._socket.settimeout(_left(end))
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except BaseException:
            self._socket.close()
            raise

    def write(self, data: bytes, patience: Patience) -> None:
        """
        Send all of `data`.

        Raises:
            WriteTimeout: The other side took nothing for so long.
            ReadTimeout: It took so little at a time that no reply can come in time.
            WriteError: The connection broke.
        """
        self._within(patience.left())
        try:
            sent = self._socket.send(data)
            while sent < len(data):
                self._within(patience.left())
                sent += self._socket.send(memoryview(data)[sent:])
        except TimeoutError as error:
            raise WriteTimeout from error
        except OSError as error:
            raise WriteError(str(error)) from error

    def read(self, most: int, seconds: float) -> bytes:
        """
        Return what has come, at most so many bytes, waiting for the first; nothing at the end.

        Raises:
            ReadTimeout: Nothing came for so long.
            ReadError: The connection broke.
        """
        self._within(seconds)
        try:
            data = self._socket.recv(most)
        except TimeoutError as error:
            raise ReadTimeout from error
        except OSError as error:
            raise ReadError(str(error)) from error
        if self._shut and not data:
            raise ReadError("the connection was closed here")
        return data

    def _within(self, seconds: float) -> None:
        if seconds != self._seconds:
            self._socket.settimeout(seconds)
            self._seconds = seconds

    def has_news(self) -> bool:
        """Return whether an idle connection is of no more use: closed, or something came that nobody asked for."""
        return bool(self._news.poll(0))

    def shut(self) -> None:
        """
        Break the connection under whoever uses it, in whichever thread.

        Closing it would not wake one who waits, and its number may be another connection's when that one goes on.
        """
        self._shut = True
        with suppress(OSError):  # it broke already
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # that of a TLS socket would go on in plain text

    def close(self) -> None:
        """End the connection."""
        self.shut()
        self._socket.close()

    def drop(self) -> None:
        """Let go of the connection, which stays open in another process."""
        self._socket.close()


def _connected(host: str, port: int, end: float) -> socket.socket:
    """Return a connection to the first address of a host that takes one; each has its share of the time."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    broken = OSError("it has no address")
    for left, (family, kind, protocol, _, address) in zip(range(len(found), 0, -1), found, strict=True):
        time_left = _left(end)
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(min(time_left, max(time_left / left, LEAST_SHARE)))
            made.connect(address)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            made.close()
            broken = error
        else:
            return made
    raise broken


def _left(end: float) -> float:
    """
    Return the seconds until `end`.

    Raises:
        TimeoutError: There are none.
    """
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
