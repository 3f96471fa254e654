"""What is heard on a connection, without one: every reply is read in one way, however it comes, or refused."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm._failures import RemoteProtocolError
from nr_llm._outgoing import Address, Head, Outgoing
from nr_llm._talk import MOST_EARLY, MOST_HEAD, Reading, Talk

REQUEST = Outgoing(Head(Address("http", "host", None, "/"), "POST", [(b"host", b"host")]), b"{}", 5.0, 5.0)
LENGTH = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
CHUNKS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
    b'1;name="value"\r\nh\r\n4\r\nello\r\n0\r\nchecksum: 7\r\nlast: yes\r\n\r\n'
)


@attrs.frozen
class Heard:
    """What became of a reply."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    again: bool


def heard(*pieces: bytes, talk: Talk | None = None) -> Heard:
    """Say a request and hear what comes, as the transports do."""
    talk = Talk() if talk is None else talk
    talk.say(REQUEST)
    coming = iter(pieces)
    while (head := talk.head()) is None:
        talk.hear(next(coming))
    body = [talk.body()]
    while not talk.ended():
        talk.hear(next(coming))
        body.append(talk.body())
    return Heard(head[0], list(head[1]), b"".join(body), talk.over())


@pytest.mark.parametrize(
    ("reply", "status", "body", "again"),
    [
        (LENGTH, 200, b"hello", True),
        (LENGTH.replace(b"1.1", b"1.0"), 200, b"hello", False),
        (LENGTH.replace(b"1.1", b"1.0").replace(b"OK", b"OK\r\nConnection: keep-alive"), 200, b"hello", True),
        (LENGTH.replace(b"OK", b"OK\r\nConnection: close"), 200, b"hello", False),
        (CHUNKS.replace(b"1.1 200 OK", b"1.0 200 OK\r\nConnection: keep-alive"), 200, b"hello", False),
        (CHUNKS, 200, b"hello", True),
        (b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early\r\nlink: <a>\r\n\r\n" + LENGTH, 200, b"hello", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n", 304, b"", True),
        (b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n", 101, b"", False),
        (b"HTTP/1.1 404 \r\ncontent-length: 0\r\n\r\n", 404, b"", True),
        (b"HTTP/1.1 500\r\ncontent-length: 2\r\n\r\nno", 500, b"no", True),
    ],
    ids=[
        *("length", "1.0", "1.0-kept", "close", "1.0-chunks", "chunks"),
        *("early", "204", "304", "101", "empty", "no-reason"),
    ],
)
@given(data=st.data())
def test_a_reply_is_the_same_however_it_is_cut(
    reply: bytes, status: int, body: bytes, again: bool, data: st.DataObject
) -> None:
    """Byte by byte, or all at once: status, body, and whether the connection serves again."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(reply) - 1), max_size=8)))
    pieces = [reply[a:b] for a, b in pairwise([0, *cuts, len(reply)])]
    found = heard(*pieces)

    assert (found.status, found.body, found.again) == (status, body, again)
    assert found.headers == heard(*(bytes([byte]) for byte in reply)).headers


def test_one_reply_follows_the_other() -> None:
    """Nothing of the one is left in the next, however they are marked."""
    talk = Talk()
    for reply in (LENGTH, CHUNKS, b"HTTP/1.1 204 No Content\r\n\r\n", LENGTH):
        assert heard(reply, talk=talk) == heard(reply)


def test_headers_come_as_they_were_sent() -> None:
    """In their order and spelling, without the blanks around them; those behind a body are none."""
    found = heard(b"HTTP/1.1 200 OK\r\nB:  two words \r\na: \xe4\r\nB: 3\r\ncontent-length:0\r\n\r\n")

    assert found.headers == [(b"B", b"two words"), (b"a", b"\xe4"), (b"B", b"3"), (b"content-length", b"0")]
    assert heard(CHUNKS).headers == [(b"Transfer-Encoding", b"Chunked")]


@pytest.mark.parametrize(
    "reply",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"\r\n\r\n" + LENGTH,
        b"\r\n" + LENGTH,
        b"\n" + LENGTH,
        b"HTTP/1.1 102 Processing\r\n\r\n\r\n" + LENGTH,
        LENGTH.replace(b"HTTP/1.1", b"RTSP/1.0"),
        LENGTH.replace(b"HTTP/1.1", b"ICE/1.0"),
        b"HTTP/1.1 200 OK\r\nname: 1\r\n 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nname: 1\r2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nname: \x1b[2J\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0x5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551621\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\t\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10000000000000001\r\na\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na1\r\nb\r\n0\r\n\r\n",
        LENGTH.replace(b"\r\n", b"\n"),
        b"HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 099 Low\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 20 Short\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nna me: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nname : 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nname: \0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n12",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\n12",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(reply: bytes) -> None:
    """Nothing that it holds counts, at once or byte by byte."""
    with pytest.raises(RemoteProtocolError):
        heard(reply)
    with pytest.raises(RemoteProtocolError):
        heard(*(bytes([byte]) for byte in reply))


@pytest.mark.parametrize("cut", range(1, len(LENGTH)))
def test_a_reply_that_is_cut_off_is_no_reply(cut: int) -> None:
    """Wherever it is cut."""
    with pytest.raises(RemoteProtocolError, match="disconnected before its reply was complete"):
        heard(LENGTH[:cut], b"")


@pytest.mark.parametrize("cut", [1, 40, len(CHUNKS) - 1])
def test_chunks_that_are_cut_off_are_no_reply(cut: int) -> None:
    """Their end has a mark, and the end of the connection is none."""
    with pytest.raises(RemoteProtocolError, match="disconnected before its reply was complete"):
        heard(CHUNKS[:cut], b"")


def test_no_reply_at_all() -> None:
    """It is said."""
    with pytest.raises(RemoteProtocolError, match="disconnected without sending a response"):
        heard(b"")


def test_a_reply_without_a_length_ends_with_its_connection() -> None:
    """Which then serves no more."""
    assert heard(b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo", b"") == Heard(200, [], b"hello", again=False)


@pytest.mark.parametrize("more", [LENGTH, b"junk", b"\0"])
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("reply", [LENGTH, LENGTH.replace(b"OK", b"OK\r\nConnection: close"), CHUNKS])
def test_what_nobody_asked_for_ends_a_connection(reply: bytes, more: bytes, apart: bool) -> None:
    """It belongs to no request, and must not become the reply to the next."""
    talk = Talk()
    found = heard(*((reply,) if apart else (reply + more,)), talk=talk)
    if apart:
        talk.hear(more)

    assert (found.body, talk.over()) == (b"hello", False)


def test_a_request_that_was_not_sent_whole_ends_a_connection() -> None:
    """Its reply is heard all the same."""
    talk = Talk()
    talk.say(REQUEST)
    talk.unsaid()
    talk.hear(LENGTH)

    assert talk.head() is not None
    assert (talk.body(), talk.ended(), talk.over()) == (b"hello", True, False)


def test_what_came_before_junk_is_handed_on_first() -> None:
    """Then it is said what is wrong."""
    talk = Talk()
    talk.say(REQUEST)
    talk.hear(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nh\r\nzz\r\n")

    assert talk.head() is not None
    assert talk.body() == b"h"
    with pytest.raises(RemoteProtocolError, match="chunk size"):
        talk.ended()
    assert not talk.over()


def test_what_begins_otherwise_is_refused_at_once() -> None:
    """A service that greets first would be waited for until the time is over."""
    talk = Talk()
    talk.say(REQUEST)
    talk.hear(b"HT")
    with pytest.raises(RemoteProtocolError, match="begins otherwise"):
        talk.hear(b"2")


@pytest.mark.parametrize("reply", [LENGTH, CHUNKS])
def test_who_interrupts_is_heard(reply: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser calls us, and an interrupt then is no fault of a server."""

    def interrupted(_: Reading, piece: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Reading, "on_body", interrupted)
    with pytest.raises(KeyboardInterrupt):
        heard(reply)


def test_a_head_has_an_end() -> None:
    """As long as allowed it is one; a byte more is not, whether its end comes or not."""
    start, end = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ", b"\r\n\r\n"
    longest = start + b"x" * (MOST_HEAD - len(start) - len(end)) + end

    assert heard(longest).status == 200
    for reply in (longest.replace(b"x: ", b"x: x"), longest[:-4] + b"x" * 5):
        with pytest.raises(RemoteProtocolError, match="head of the reply has no end"):
            heard(reply)


def test_heads_before_a_reply_have_an_end() -> None:
    """So many are passed over."""
    early = b"HTTP/1.1 102 Processing\r\n\r\n"

    assert heard(early * MOST_EARLY + LENGTH).body == b"hello"
    with pytest.raises(RemoteProtocolError, match="interim"):
        heard(early * (MOST_EARLY + 1))


@pytest.mark.parametrize(
    "start",
    [b"1;", b"1\r\nh\r\n0\r\nx: "],
    ids=["extension", "trailer"],
)
def test_what_is_no_body_has_an_end(start: bytes) -> None:
    """A parser that keeps nothing of it would read it for ever."""
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + start
    with pytest.raises(RemoteProtocolError, match="beside the body"):
        heard(head, *[b"x" * 1024] * 101)


def test_a_long_body_of_short_chunks_is_a_body() -> None:
    """However much stands between its pieces in all."""
    chunks = [b"1;note\r\nh\r\n"] * 20_000
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

    assert heard(head, *chunks, b"0\r\n\r\n").body == b"h" * 20_000
