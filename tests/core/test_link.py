"""Connections of asynchronous requests: what the network can do to them, and what a request then hears."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import httpcore
import pytest
from nr_llm import _link
from nr_llm._failures import ConnectTimeout, ReadError, ReadTimeout, WriteError, WriteTimeout
from nr_llm._link import Link, connected
from nr_llm.errors import ConfigurationError, TransportError
from nr_llm.http import AsyncHttpTransport, HttpTransport
from nr_llm.providers import HttpRequest

from tests.core.waiting import AGES

Peer = tuple[asyncio.StreamReader, asyncio.StreamWriter]


ROOM = 64 * 1024
"""Bytes for which the operating system is asked to keep room on either side; left to itself it takes megabytes."""

MANY = 4 * 1024 * 1024
"""Bytes that no buffer on the way takes in whole."""


@asynccontextmanager
async def linked() -> AsyncIterator[tuple[Link, Peer]]:
    """Yield both ends of a connection that holds little on the way."""
    peers: asyncio.Queue[Peer] = asyncio.Queue()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await peers.put((reader, writer))

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    async with await asyncio.start_server(accept, sock=listening):
        link = await connected("127.0.0.1", listening.getsockname()[1], AGES)
        link.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        peer = await peers.get()
        try:
            yield link, peer
        finally:
            await link.aclose()
            peer[1].transport.abort()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something becomes true, which it must."""
    async with asyncio.timeout(AGES):
        while not condition():  # noqa: ASYNC110  # what is watched is a state, no event
            await asyncio.sleep(0.001)


async def read(link: Link, size: int) -> bytes:
    """Read exactly `size` bytes."""
    data = b""
    while len(data) < size:
        data += await link.read(65536, AGES)
    return data


def in_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run an asynchronous test."""

    def run() -> None:
        asyncio.run(test())  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@in_loop
async def test_bytes_are_read_in_portions() -> None:
    """No more than asked for, nothing lost, and an empty read at the end."""
    async with linked() as (link, (_, peer)):
        peer.write(b"abcdef")
        peer.write_eof()
        await until(lambda: link._ended)

        assert [await link.read(4, AGES), await link.read(4, AGES), await link.read(4, None)] == [b"abcd", b"ef", b""]


@in_loop
async def test_a_sender_nobody_reads_is_held_back() -> None:
    """What was taken in stays bounded, and reading lets the rest come."""
    async with linked() as (link, (_, peer)):
        peer.write(b"x" * MANY)
        await until(lambda: not link._transport.is_reading())
        unread = len(link._unread)

        assert unread < _link.MOST_UNREAD + 1024 * 1024
        assert len(await read(link, MANY)) == MANY


@in_loop
async def test_a_reader_that_is_slower_than_the_sender_takes_in_no_more() -> None:
    """Reading a little of what is there lets no more come than there is room for."""
    async with linked() as (link, (_, peer)):
        peer.write(b"x" * MANY)
        await until(lambda: not link._transport.is_reading())
        most = 0
        for _ in range(MANY // 1024 // 4):
            await link.read(1024, AGES)
            await asyncio.sleep(0)
            most = max(most, len(link._unread))

        assert most < _link.MOST_UNREAD + 1024 * 1024


@in_loop
async def test_what_was_closed_here_has_not_come_to_its_end() -> None:
    """Whoever reads until the other side closes would take half for the whole."""
    async with linked() as (link, (_, peer)):
        peer.write(b"half")
        assert await link.read(10, AGES) == b"half"
        link.close()
        with pytest.raises(ReadError, match="closed here"):
            await link.read(10, AGES)


@in_loop
async def test_a_writer_waits_for_the_other_side() -> None:
    """A body larger than the buffers is sent as fast as it is taken."""
    body = b"x" * MANY
    async with linked() as (link, (reader, _)):
        writing = asyncio.create_task(link.write(body, AGES))
        await until(lambda: link._held)
        assert not writing.done()
        received = await reader.readexactly(len(body))
        await writing

        assert received == body


@in_loop
async def test_a_body_nobody_takes_times_out() -> None:
    """The limit of writing holds."""
    async with linked() as (link, _):
        with pytest.raises(WriteTimeout):
            await link.write(b"x" * MANY, 0.01)


@in_loop
async def test_silence_times_out_and_the_connection_still_works() -> None:
    """The limit of reading holds for each wait."""
    async with linked() as (link, (_, peer)):
        with pytest.raises(ReadTimeout):
            await link.read(10, 0.01)
        peer.write(b"late")

        assert await link.read(10, AGES) == b"late"


@in_loop
async def test_a_cancelled_reader_leaves_no_timer_that_fails() -> None:
    """A wait that ended otherwise is not given up again."""
    async with linked() as (link, _):
        waiter = asyncio.get_running_loop().create_future()
        waiter.cancel()
        _link._give_up(waiter, ReadTimeout)
        reading = asyncio.create_task(link.read(10, AGES))
        await until(lambda: link._waiter is not None)
        link._wake()
        link._wake()  # both before the reader goes on
        link._unread += b"x"

        assert await reading == b"x"


@in_loop
async def test_a_broken_connection_gives_what_came_and_then_an_error() -> None:
    """An answer sent before the reset is not lost."""
    async with linked() as (link, (_, peer)):
        link._unread += b"early"
        link.connection_lost(ConnectionResetError("reset by peer"))

        assert await link.read(10, AGES) == b"early"
        with pytest.raises(ReadError, match="reset by peer"):
            await link.read(10, AGES)
        with pytest.raises(WriteError):
            await link.write(b"x", AGES)
        peer.close()


@in_loop
async def test_an_idle_connection_knows_when_it_is_of_no_more_use() -> None:
    """Closed by the other side, or holding bytes that belong to no request."""
    async with linked() as (link, (_, peer)):
        assert not link.get_extra_info("is_readable")
        peer.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await until(lambda: bool(link._unread))
        assert link.get_extra_info("is_readable")

    async with linked() as (link, (_, peer)):
        peer.close()
        await until(lambda: link._ended)
        assert link.get_extra_info("is_readable")
        assert link.get_extra_info("ssl_object") is None


@in_loop
async def test_an_end_the_loop_has_not_seen_counts() -> None:
    """While something keeps the loop busy, the socket itself is asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = await connected("127.0.0.1", server.getsockname()[1], AGES)
        peer, _ = server.accept()
        assert not link.get_extra_info("is_readable")
        peer.close()
        while not link.get_extra_info("is_readable"):
            time.sleep(0.001)  # noqa: ASYNC251  # the loop is kept busy on purpose

        assert not link._ended
        await link.aclose()


@in_loop
async def test_a_handshake_that_gets_no_answer_times_out() -> None:
    """The limit of connecting covers TLS."""
    import ssl

    async with linked() as (link, _):
        with pytest.raises(ConnectTimeout):
            await link.start_tls(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "localhost", 0.01)


@in_loop
async def test_a_connection_that_is_not_made_in_time_is_given_up() -> None:
    """The limit of connecting holds; no time at all is never enough."""
    with pytest.raises(ConnectTimeout):
        await connected("127.0.0.1", 1, 0)


@pytest.mark.parametrize("kind", [HttpTransport, AsyncHttpTransport])
def test_a_socks_proxy_without_its_package_is_named(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the package that is missing."""
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "socksio", None)

    with pytest.raises(ConfigurationError, match="socksio"):
        sent = kind().send(HttpRequest("POST", "http://api.test/v1", body=b"{}"))
        asyncio.run(sent)


@pytest.mark.parametrize(("kind", "colour"), [(HttpTransport, ""), (AsyncHttpTransport, "Async")])
def test_a_socks_proxy_is_told_address_and_credentials(
    kind: type, colour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """User and password go to the proxy, not into its address."""
    told: dict[str, Any] = {}

    def make(**settings: Any) -> None:
        told.update(settings)
        raise httpcore.ConnectError("no")

    monkeypatch.setenv("HTTP_PROXY", "socks5://ann:pw@127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "socksio", ModuleType("socksio"))
    monkeypatch.setattr(httpcore, f"{colour}SOCKSProxy", make)

    with pytest.raises(TransportError):
        sent = kind().send(HttpRequest("POST", "http://api.test/v1", body=b"{}"))
        asyncio.run(sent)

    assert (told["proxy_url"].scheme, told["proxy_url"].host) == (b"socks5", b"127.0.0.1")
    assert told["proxy_auth"] == (b"ann", b"pw")
