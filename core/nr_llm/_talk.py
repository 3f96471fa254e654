"""Say requests and hear replies in HTTP/1.1, whoever carries the bytes: the one module that knows h11."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeAlias

import attrs
import h11

from nr_llm._failures import ReadTimeout

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Headers as they are on the wire, in their order."""

PIECE = 64 * 1024
"""Bytes read at once at most; and a body of fewer is joined to its head, which costs less than to send once more."""

MOST_EARLY = 100
"""Heads a server may send before that of its reply; one that has only such says nothing for ever."""

MOST_HEAD = 100 * 1024
"""Bytes the head of a reply may have; httpcore's limit, above those of servers and far below what would hurt."""

USUAL = {"http": 80, "https": 443}
"""The ports of the schemes (RFC 9110, 4.2)."""

_END = h11.EndOfMessage()
_NOTHING_ELSE = (b"", False)


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
        told: What h11 is told of it.
        said: Its bytes.
    """

    address: Address
    method: str
    headers: RawHeaders = attrs.field(repr=False)
    told: h11.Request = attrs.field(init=False, repr=False)
    said: bytes = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """
        Have h11 look at it.

        Raises:
            h11.LocalProtocolError: It is not allowed in HTTP.
        """
        headers = [*self.headers, (b"content-length", b"0")]  # another one is refused
        told = h11.Request(method=self.method, target=self.address.path, headers=headers)
        if any(name == b"transfer-encoding" for name, _ in told.headers):
            raise h11.LocalProtocolError("a body has its length, and is sent as it is")
        lines = [b": ".join(pair) for pair in told.headers.raw_items() if pair[0].lower() != b"content-length"]
        said = b"\r\n".join((b"%b %b HTTP/1.1" % (told.method, told.target), *lines, b"content-length: "))
        object.__setattr__(self, "told", told)
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


class Talk:
    """What is said on one connection, a request at a time."""

    def __init__(self) -> None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD)
        self._error: h11.RemoteProtocolError | None = None
        self._early = 0

    def say(self, request: Outgoing) -> tuple[bytes, ...]:
        """Return the bytes of `request`, to be sent in turn; h11 is told what it needs to understand the reply."""
        self._h11.send(request.head.told)
        self._h11.send(_END)
        self._early = 0
        head = b"%b%d\r\n\r\n" % (request.head.said, len(request.body))
        return (head + request.body,) if len(request.body) < PIECE else (head, request.body)

    def unsaid(self) -> None:
        """Note that not all of a request could be sent: a reply may come, but the connection is of no more use."""
        self._h11.send_failed()

    def hear(self, data: bytes) -> None:
        """
        Take in what came; nothing means that nothing follows.

        Raises:
            h11.RemoteProtocolError: There is no reply.
        """
        if not data and self._h11.their_state is h11.SEND_RESPONSE and not self._h11.trailing_data[0]:
            raise h11.RemoteProtocolError("Server disconnected without sending a response.")
        self._h11.receive_data(data)

    def head(self) -> tuple[int, RawHeaders] | None:
        """
        Return status and headers of the reply, or None until all of them were heard.

        What a server says beforehand, such as that it has begun, is passed over.

        Raises:
            h11.RemoteProtocolError: This is no HTTP, or has no end.
        """
        while type(event := self._h11.next_event()) is h11.InformationalResponse and event.status_code != 101:
            self._early += 1
            if self._early > MOST_EARLY:
                raise h11.RemoteProtocolError("too many interim responses")
        if event is h11.NEED_DATA:
            return None
        return event.status_code, event.headers.raw_items()  # type: ignore[union-attr]

    def body(self) -> bytes:
        """
        Return what was heard of the body since, if anything.

        Raises:
            h11.RemoteProtocolError: This is no HTTP, or the reply was cut off.
        """
        pieces = []
        try:
            while type(event := self._h11.next_event()) is h11.Data:
                pieces.append(event.data)
        except h11.RemoteProtocolError as error:
            if not pieces:
                raise
            self._error = error  # what came before it is handed on first
        return b"".join(pieces)

    def ended(self) -> bool:
        """
        Return whether the body was heard to its end.

        Raises:
            h11.RemoteProtocolError: Behind what `body` gave last, this is no HTTP.
        """
        if self._error is not None:
            raise self._error
        return self._h11.their_state is not h11.SEND_BODY

    def over(self) -> bool:
        """Return whether all was said and heard and nothing else, and the connection is ready for another request."""
        talk = self._h11
        if talk.our_state is not h11.DONE or talk.their_state is not h11.DONE or talk.trailing_data != _NOTHING_ELSE:
            return False
        talk.start_next_cycle()
        return True
