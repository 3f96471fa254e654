"""Hear replies in HTTP/1.1, whoever carries the bytes: the one module that knows httptools, and by it llhttp."""

from __future__ import annotations

import re

import httptools

from nr_llm._failures import RemoteProtocolError
from nr_llm._outgoing import Outgoing, RawHeaders

MOST_EARLY = 100
"""Heads a server may send before that of its reply; one that has only such says nothing for ever."""

MOST_HEAD = 100 * 1024
"""Bytes the head of a reply may have, and what stands between two pieces of its body: far above those of servers."""

_START = b"HTTP/"
"""How every head begins; llhttp passes over line ends before it, and knows two protocols more."""

_BLANK = re.compile(rb"\r?\n\r?\n")
_VERSIONS = frozenset({"1.0", "1.1"})
_MARKED = frozenset(
    {b"content-length", b"transfer-encoding"}
)  # a reply with either has an end of its own (RFC 9112, 6.3)


class Talk:
    """What is said on one connection, a request at a time."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._said = True
        self._early = 0
        self._waiting = bytearray()  # heads are read whole, so that what comes byte by byte costs no more
        self._reading: Reading | None = None
        self._error: RemoteProtocolError | None = None

    def say(self, request: Outgoing) -> tuple[bytes, ...]:
        """Return the bytes of `request`, to be sent in turn."""
        self._begin()
        return request.pieces()

    def unsaid(self) -> None:
        """Note that not all of a request could be sent: a reply may come, but the connection is of no more use."""
        self._said = False

    def hear(self, data: bytes) -> None:
        """
        Take in what came; nothing means that nothing follows.

        Raises:
            RemoteProtocolError: This is no HTTP, has no end, or was cut off.
        """
        if self._reading is None:
            self._hear_head(data)
        elif not data:
            self._reading.end()
        else:
            self._feed(self._reading, data)

    def _hear_head(self, data: bytes) -> None:
        if not data:
            cut = "before its reply was complete" if self._waiting else "without sending a response"
            raise RemoteProtocolError(f"the server disconnected {cut}")
        known = max(0, len(self._waiting) - 3)
        self._waiting += data
        self._check_start()
        while (blank := _BLANK.search(self._waiting, known)) is not None and blank.end() <= MOST_HEAD:
            reading, known = Reading(), 0
            reading.feed(bytes(self._waiting[: blank.end()]))
            del self._waiting[: blank.end()]
            if not reading.early:
                self._reading = reading
                if self._waiting:
                    self._feed(reading, bytes(self._waiting))
                return
            self._early += 1
            if self._early > MOST_EARLY:
                raise RemoteProtocolError("too many interim responses")
            self._check_start()
        if len(self._waiting) > MOST_HEAD:
            raise RemoteProtocolError("the head of the reply has no end")

    def _check_start(self) -> None:
        if not self._waiting.startswith(_START[: len(self._waiting)]):
            raise RemoteProtocolError("this is no HTTP: a head begins otherwise")

    def _feed(self, reading: Reading, data: bytes) -> None:
        try:
            reading.feed(data)
        except RemoteProtocolError as error:
            if not reading.pieces:
                raise
            self._error = error  # what came before it is handed on first

    def head(self) -> tuple[int, RawHeaders] | None:
        """Return status and headers of the reply, or None until all of them were heard."""
        return None if self._reading is None else (self._reading.status, self._reading.headers)

    def body(self) -> bytes:
        """Return what was heard of the body since, if anything."""
        assert self._reading is not None, "the head comes first"
        pieces, self._reading.pieces = self._reading.pieces, []
        return b"".join(pieces)

    def ended(self) -> bool:
        """
        Return whether the body was heard to its end.

        Raises:
            RemoteProtocolError: Behind what `body` gave last, this is no HTTP.
        """
        assert self._reading is not None, "the head comes first"
        if self._error is not None:
            raise self._error
        return self._reading.whole

    def over(self) -> bool:
        """Return whether all was said and heard and nothing else, and the connection is ready for another request."""
        reading = self._reading
        return reading is not None and reading.whole and reading.again and self._said


class Reading:
    """
    One reply as llhttp reads it, which calls what is named ``on_…``.

    Attributes:
        headers: What its head says.
        status: Its status; 0 before its head was heard.
        pieces: What was heard of its body and not yet handed on.
        whole: Whether it was heard to its end.
        again: Whether the connection may serve again.
    """

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.status = 0
        self.pieces: list[bytes] = []
        self.whole = self.again = False
        self._fault: str | None = "this is no HTTP: a reply has a head"  # until there is one
        self._silent = 0  # bytes since the last piece: there may be much that is none
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    @property
    def early(self) -> bool:
        """Whether it is said beforehand, and the reply follows; a switch to another protocol is a reply."""
        return self.status < 200 and self.status != 101

    def feed(self, data: bytes) -> None:
        """
        Take in what came.

        Raises:
            RemoteProtocolError: This is no HTTP, or has no end.
        """
        if self._parser is None:  # it belongs to nothing
            self.again = False
            return
        self._silent += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.again = False
        except httptools.HttpParserCallbackError as error:  # whoever interrupts us does so wherever we are
            self.again = False
            raise (error.__context__ or error) from None
        except httptools.HttpParserError as error:
            self.again = False
            if not self.whole:
                raise RemoteProtocolError(f"this is no HTTP: {error}") from None
        if self._fault is not None:
            raise RemoteProtocolError(self._fault)
        if self.whole:
            self._parser = None  # which holds on to this
        elif self._silent > MOST_HEAD:
            raise RemoteProtocolError("what stands beside the body of the reply has no end")

    def end(self) -> None:
        """
        Take in that nothing follows.

        Raises:
            RemoteProtocolError: Something is missing.
        """
        if not _MARKED.isdisjoint(name.lower() for name, _ in self.headers):
            raise RemoteProtocolError("the server disconnected before its reply was complete")
        self.whole, self._parser = True, None

    # -- what llhttp tells --------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Note that what follows a whole reply belongs to nothing."""
        self.again = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; what stands behind the body is passed over."""
        if not self.status:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Note what the head says."""
        if self.whole:
            return
        assert self._parser is not None, "it is what calls"
        self.status, self._silent = self._parser.get_status_code(), 0
        version = self._parser.get_http_version()
        # llhttp takes a tab behind a coding for a part of it.
        coded = [value.rstrip(b" ").lower() for name, value in self.headers if name.lower() == b"transfer-encoding"]
        self.headers = [(name, value.rstrip(b" \t")) for name, value in self.headers]
        self.again = self._parser.should_keep_alive() and self.status != 101
        if coded and version == "1.0":  # RFC 9112, 6.1
            self.again = False
        if self.status < 100 or version not in _VERSIONS:
            self._fault = "this is no HTTP/1.1"
        elif coded and coded != [b"chunked"]:
            self._fault = "the reply is encoded in a way that was not asked for"
        else:
            self._fault = None

    def on_body(self, piece: bytes) -> None:
        """Keep a piece of the body."""
        if not self.whole:
            self.pieces.append(piece)
            self._silent = 0

    def on_message_complete(self) -> None:
        """Note that it is whole."""
        self.whole = True
