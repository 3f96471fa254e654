"""Carry the bytes of blocking requests over a socket."""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

from nr_llm._failures import ConnectError, ConnectTimeout, ReadError, ReadTimeout, WriteError, WriteTimeout

if TYPE_CHECKING:
    import ssl


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
        try:
            self._socket = socket.create_connection((host, port), seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._secure(context, host)
        except TimeoutError as error:
            raise ConnectTimeout from error
        except OSError as error:  # ssl.SSLError is one
            raise ConnectError(str(error)) from error
        self._seconds = seconds
        self._news = select.poll()
        self._news.register(self._socket, select.POLLIN)

    def _secure(self, context: ssl.SSLContext, host: str) -> None:
        try:
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except BaseException:
            self._socket.close()
            raise

    def write(self, data: bytes, seconds: float) -> None:
        """
        Send all of `data`.

        Raises:
            WriteTimeout: The other side took nothing for so long.
            WriteError: The connection broke.
        """
        self._within(seconds)
        try:
            sent = self._socket.send(data)
            while sent < len(data):
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
            return self._socket.recv(most)
        except TimeoutError as error:
            raise ReadTimeout from error
        except OSError as error:
            raise ReadError(str(error)) from error

    def _within(self, seconds: float) -> None:
        if seconds != self._seconds:
            self._socket.settimeout(seconds)
            self._seconds = seconds

    def has_news(self) -> bool:
        """Return whether an idle connection is of no more use: closed, or something came that nobody asked for."""
        return bool(self._news.poll(0))

    def close(self) -> None:
        """End the connection."""
        self._socket.close()
