"""A request in its form for the wire: checked and written once, however often it is said with another body."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TypeAlias

import attrs

from nr_llm._failures import LocalProtocolError, ReadTimeout

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Headers as they are on the wire, in their order."""

PIECE = 64 * 1024
"""Bytes read at once at most; and a body of fewer is joined to its head, which costs less than to send once more."""

USUAL = {"http": 80, "https": 443}
"""The ports of the schemes (RFC 9110, 4.2)."""

_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_VALUE = re.compile(rb"(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?")  # RFC 9110, 5.5
_TARGET = re.compile(rb"[!-~]+")


@attrs.frozen
class Address:
    """
    An address in its form for the wire.

    Attributes:
        scheme: ``http`` or ``https``.
        host: Host name or address, without brackets.
        port: The port, unless it is the scheme's.
        path: Path and query, percent-encoded.
    """

    scheme: str
    host: str
    port: int | None
    path: str = attrs.field(repr=False)

    @property
    def dialled(self) -> int:
        """The port to connect to."""
        return USUAL[self.scheme] if self.port is None else self.port

    @property
    def named(self) -> str:
        """What the `Host` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


@attrs.frozen
class Head:
    """
    The head of a request, which is mostly that of the one before: it is made once for all that have it.

    Attributes:
        address: Where to.
        method: The method.
        headers: All headers but the length of the body, in their order.
        said: Its bytes, up to the length of the body.

    Raises:
        LocalProtocolError: It is not allowed in HTTP.
    """

    address: Address
    method: str
    headers: RawHeaders = attrs.field(repr=False)
    said: bytes = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        method, target = self.method.encode("ascii"), self.address.path.encode("ascii")
        names = [name.lower() for name, _ in self.headers]
        allowed = _TOKEN.fullmatch(method) and _TARGET.fullmatch(target)
        if not allowed or not all(_TOKEN.fullmatch(name) and _VALUE.fullmatch(value) for name, value in self.headers):
            raise LocalProtocolError("this is not allowed in HTTP")
        if names.count(b"host") != 1 or b"content-length" in names or b"transfer-encoding" in names:
            raise LocalProtocolError("a request has one host, and a body of one length that is sent as it is")
        lines = (b"%b: %b" % pair for pair in self.headers)
        said = b"\r\n".join((b"%b %b HTTP/1.1" % (method, target), *lines, b"content-length: "))
        object.__setattr__(self, "said", said)


@attrs.frozen
class Patience:
    """
    How long a reply is waited for.

    Attributes:
        seconds: Time between two pieces.
        until: When all of it is to be there, as `time.monotonic` counts; None for no such time.
    """

    seconds: float
    until: float | None = None

    def left(self) -> float:
        """
        Return how many seconds to wait for the next piece.

        Raises:
            ReadTimeout: None, even if it is there.
        """
        if self.until is None:
            return self.seconds
        left = self.until - time.monotonic()
        if left <= 0:
            raise ReadTimeout
        return min(self.seconds, left)


@attrs.frozen
class Outgoing:
    """
    A request in its form for the wire.

    Attributes:
        head: Its head.
        body: Its body.
        connect_seconds: Time to connect.
        patience: Time for all that follows.
    """

    head: Head
    body: bytes = attrs.field(repr=False)
    connect_seconds: float
    patience: Patience

    def pieces(self) -> tuple[bytes, ...]:
        """Return its bytes, to be sent in turn."""
        head = b"%b%d\r\n\r\n" % (self.head.said, len(self.body))
        return (head + self.body,) if len(self.body) < PIECE else (head, self.body)
