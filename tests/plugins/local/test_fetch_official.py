"""The official file: what has come is kept, and only the right file is taken."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import attrs
import pytest
from nr_llm_local import _fetch_official
from nr_llm_local._cache import Shelf
from nr_llm_local._errors import SourceError
from nr_llm_local._fetch_official import fetch_official

from tests.plugins.local.small_weights import DATA, Wanted


def at(shelf: Shelf, url: str) -> Shelf:
    """Return a shelf whose weights are somewhere else."""
    return attrs.evolve(shelf, weights=attrs.evolve(shelf.weights, url=url))


def refused(shelf: Shelf, url: str) -> str:
    """Return why the file cannot be had."""
    with pytest.raises(SourceError) as caught:
        fetch_official(at(shelf, url), lambda _: None)
    return str(caught.value)


def fetched(shelf: Shelf, url: str, told: Callable[[int], None] = lambda _: None) -> str:
    """Return the hash of what was fetched, which has to be what is on the disk."""
    sink, giver = fetch_official(at(shelf, url), told)
    assert giver == url
    assert sink.path == shelf.partial
    assert sink.count == shelf.partial.stat().st_size
    return sink.digest


def test_the_whole_file(shelf: Shelf, served: Wanted) -> None:
    """In one request, without a range; the numbers told only grow."""
    told = list[int]()
    assert fetched(shelf, served.url, told.append) == shelf.weights.sha256
    assert shelf.partial.read_bytes() == DATA
    assert served.ranges == [None]
    assert (told[0], told[-1]) == (0, len(DATA))
    assert told == sorted(told)


def test_what_is_here_is_not_fetched_again(shelf: Shelf, served: Wanted) -> None:
    """The rest is asked for, and the hash covers both."""
    shelf.partial.write_bytes(DATA[:3_000])
    assert fetched(shelf, served.url) == shelf.weights.sha256
    assert served.ranges == ["bytes=3000-"]


def test_a_file_that_is_here_whole_is_not_asked_for(shelf: Shelf, served: Wanted) -> None:
    """Only the rename was missing."""
    shelf.partial.write_bytes(DATA)
    assert fetched(shelf, served.url) == shelf.weights.sha256
    assert served.ranges == []


def test_more_than_the_file_is_thrown_away(shelf: Shelf, served: Wanted) -> None:
    """It cannot be a beginning of it."""
    shelf.partial.write_bytes(DATA + b"x")
    assert fetched(shelf, served.url) == shelf.weights.sha256
    assert served.ranges == [None]


def test_a_cut_connection_is_taken_up_where_it_was_cut(shelf: Shelf, served: Wanted) -> None:
    """In the same pull, as long as each connection brings something."""
    served.moods = ["cut", "cut"]
    assert fetched(shelf, served.url) == shelf.weights.sha256
    assert served.ranges == [None, "bytes=4000-", "bytes=8000-"]


def test_a_connection_that_brings_nothing_ends_it_and_keeps_the_rest(shelf: Shelf, served: Wanted) -> None:
    """The next pull goes on from there."""
    served.moods = ["cut", "503"]
    assert "answered 503" in refused(shelf, served.url)
    assert shelf.partial.read_bytes() == DATA[:4_000]


def test_a_server_without_ranges_begins_anew(shelf: Shelf, served: Wanted) -> None:
    """Its whole file takes the place of what was here."""
    shelf.partial.write_bytes(b"x" * 3_000)
    served.moods = ["no ranges"]
    assert fetched(shelf, served.url) == shelf.weights.sha256
    assert shelf.partial.read_bytes() == DATA


def test_a_reply_without_a_length_is_taken(shelf: Shelf, served: Wanted) -> None:
    """The catalogue knows how long the file is."""
    served.moods = ["no length"]
    assert fetched(shelf, served.url) == shelf.weights.sha256


def test_connections_that_are_always_cut_come_to_an_end(shelf: Shelf, served: Wanted) -> None:
    """A server that begins anew each time would keep it busy for ever."""
    shelf.partial.write_bytes(b"x")
    served.moods = ["cut, no ranges", "longer cut, no ranges"] * 10
    assert "was cut 10 times, with 5,244 bytes to go" in refused(shelf, served.url)
    assert len(served.ranges) == 10


@pytest.mark.parametrize(
    ("mood", "here", "why", "left"),
    [
        ("404", 0, "answered 404 Not Found", 0),
        ("404", 3_000, "answered 404 Not Found", 3_000),
        ("416", 3_000, "answered 416", 0),
        ("another size", 0, "has a file of 7 bytes, not of 10244", 0),
        ("another range", 3_000, "answered with another range: bytes 0-10243/10244", 3_000),
        ("no range", 3_000, "answered with another range: none", 3_000),
        ("longer", 0, "sent more bytes than the file has", 0),
    ],
)
def test_what_is_not_the_file_is_refused(
    shelf: Shelf, served: Wanted, mood: str, here: int, why: str, left: int
) -> None:
    """By its reason; what was here stays unless it is what is wrong."""
    shelf.partial.write_bytes(DATA[:here])
    served.moods = [mood]
    assert why in refused(shelf, served.url)
    assert shelf.partial.stat().st_size == left


def test_a_name_that_nobody_has_is_said(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the system's words, not in a number's."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert refused(shelf, "http://weights.invalid/tiny.gguf") == "Name or service not known"


def test_a_port_where_nobody_listens_is_said(shelf: Shelf) -> None:
    """At once."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert refused(shelf, f"http://127.0.0.1:{taken.getsockname()[1]}/") == "Connection refused"


def test_a_server_that_says_something_else_than_http_is_said(shelf: Shelf) -> None:
    """The protocol's errors are reasons too."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        assert "220 mail.example.org" in refused(shelf, f"http://127.0.0.1:{listening.getsockname()[1]}/")
        thread.join()


def test_a_server_that_does_not_reply_is_left(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the system would wait for it."""
    monkeypatch.setattr(_fetch_official, "OPENING", 0.01)
    waiting = threading.Event()
    monkeypatch.setattr(_fetch_official, "_open", lambda *_: waiting.wait(30) and None)
    assert refused(shelf, "http://127.0.0.1/") == "no reply within 0.01 seconds"
    waiting.set()


def test_a_time_out_of_the_connection_is_its_own(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words are kept."""

    def late(*_: object) -> None:
        raise TimeoutError("timed out in the handshake")

    monkeypatch.setattr(_fetch_official, "_open", late)
    assert refused(shelf, "http://127.0.0.1/") == "timed out in the handshake"


def test_an_error_without_words_is_called_by_its_type(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason is never empty."""

    def broken(*_: object) -> None:
        raise ConnectionResetError

    monkeypatch.setattr(_fetch_official, "_open", broken)
    assert refused(shelf, "http://127.0.0.1/") == "ConnectionResetError"
