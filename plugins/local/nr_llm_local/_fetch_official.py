"""The publisher's own file comes over HTTPS, and what has come is never fetched twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from http.client import HTTPException, HTTPResponse
from typing import Final, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from nr_llm_local._cache import Shelf
from nr_llm_local._errors import SourceError
from nr_llm_local._sink import Sink

T = TypeVar("T")

OPENING: Final = 8.0
"""Seconds until the reply has begun, names, redirects and handshakes included; another source stands by."""

SILENCE: Final = 20.0
"""Seconds without a byte after which a connection counts as cut."""

ATTEMPTS: Final = 10
"""Connections that one pull makes at most; each goes on where the last one was cut."""

READING: Final = 1 << 18
"""Bytes taken from a connection at once."""


def fetch_official(shelf: Shelf, at: Callable[[int], None]) -> tuple[Sink, str]:
    """
    Fetch the rest of the official file.

    Args:
        shelf: Where the model's files are; ``partial`` is added to, and kept whatever happens.
        at: Told how many bytes are here.

    Returns:
        The finished file, closed, and who gave it.

    Raises:
        SourceError: It cannot be reached, or is not the file it should be.
        OSError: The disk.
    """
    url, size = shelf.weights.url, shelf.weights.size
    with Sink(shelf.partial, keep=True) as sink:
        if sink.count > size:
            sink.restart()
        at(sink.count)
        attempts = ATTEMPTS
        while sink.count < size:
            if not attempts:
                raise SourceError(f"the connection was cut {ATTEMPTS} times, with {size - sink.count:,} bytes to go")
            attempts -= 1
            before = sink.count
            reason = _go_on(url, sink, size, at=at)
            if sink.count == before:
                raise SourceError(reason)
    return sink, url


def _go_on(url: str, sink: Sink, size: int, *, at: Callable[[int], None]) -> str:
    """Take what one connection gives; returns why no more came."""
    try:
        with _within(OPENING, lambda: _open(url, sink.count)) as reply:
            _place(reply, sink, size)
            while data := reply.read1(READING):
                if sink.count + len(data) > size:
                    sink.restart()
                    raise SourceError("sent more bytes than the file has")
                sink.write(data)
                at(sink.count)
    except HTTPError as error:
        error.close()
        if error.code == 416:  # what is here is longer than the file there
            sink.restart()
        raise SourceError(f"answered {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        return _said(error)
    return "the connection was closed before the file's end"


def _open(url: str, start: int) -> HTTPResponse:
    headers = {"User-Agent": "nr-llm-local", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    reply: HTTPResponse = urlopen(Request(url, headers=headers), timeout=SILENCE)  # noqa: S310  # the catalogue's own
    return reply


def _place(reply: HTTPResponse, sink: Sink, size: int) -> None:
    """Put the file where the reply begins, and refuse a reply about another file."""
    if reply.status == 206:
        where = reply.headers.get("Content-Range", "")
        if where != f"bytes {sink.count}-{size - 1}/{size}":
            raise SourceError(f"answered with another range: {where or 'none'}")
        return
    length = reply.headers.get("Content-Length")
    if length is not None and length != str(size):
        raise SourceError(f"has a file of {length} bytes, not of {size}")
    if sink.count:
        sink.restart()


def _within(seconds: float, function: Callable[[], T]) -> T:
    """Return what a blocking call returns if it does so in time: looking up a name knows no time-out of its own."""
    outcome = Future[T]()

    def call() -> None:
        try:
            outcome.set_result(function())
        except Exception as error:  # noqa: BLE001  # whatever it is, it is the caller's
            outcome.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    try:
        return outcome.result(seconds)
    except TimeoutError as error:
        raise error if outcome.done() else TimeoutError(f"no reply within {seconds:g} seconds") from None


def _said(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason) or type(error).__name__
