"""A server for transport tests that sends exactly the bytes it is told to, on this machine only."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence
from typing import Self

CLOSE = b""
"""As the last piece of a reply: end the connection, as a crashing server does."""


def reply(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> list[bytes]:
    """Return a whole reply as one piece."""
    lines = [b"HTTP/1.1 " + status, b"content-length: %d" % len(body), *headers]
    return [b"\r\n".join(lines) + b"\r\n\r\n" + body]


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> list[bytes]:
    """Return a reply whose body comes in chunks; `end` as `CLOSE` cuts it off."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces), end]


class WireServer:
    """
    Answers the n-th request with the n-th reply, and the last one for ever after.

    Attributes:
        url: Address of the server.
        requests: The requests as received, head and body.
        connections: How many connections were opened.
    """

    def __init__(self, *replies: Sequence[bytes]) -> None:
        self._replies = [list(pieces) for pieces in replies]
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.requests: list[bytes] = []
        self.connections = 0

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while request := self._read(connection):
                    self.requests.append(request)
                    pieces = self._replies[min(len(self.requests), len(self._replies)) - 1]
                    for piece in pieces:
                        if piece == CLOSE:
                            return
                        connection.sendall(piece)
            except OSError:
                return

    def _read(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        while len(body) < length:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body
