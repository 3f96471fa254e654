"""What servers, networks and programs do to a transport on purpose: nothing hangs, grows, leaks or gets mixed up."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import itertools
import socket
import subprocess
import sys
import threading
import traceback
import zlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from nr_llm import _adirect, _direct, _kept, _line, _outgoing, _receive, http
from nr_llm._adirect import AsyncDirect
from nr_llm._direct import Direct
from nr_llm._failures import ConnectError, ConnectTimeout, DecodingError, ReadTimeout
from nr_llm._inflate import PORTION, inflated
from nr_llm._line import Line
from nr_llm._outgoing import Head, Outgoing, Patience
from nr_llm._talk import MOST_EARLY, Talk
from nr_llm.errors import MalformedReplyError, NrLlmError, StreamInterruptedError, TransportError
from nr_llm.http import AsyncHttpTransport, HttpTransport, _address
from nr_llm.providers import TransportOptions

from tests.core.test_direct import MANY, Colour, listening, post
from tests.core.waiting import AGES, until
from tests.core.wire_server import CLOSE, WireServer, chunked, reply

OK = reply(b"1")
UNTIL_CLOSED = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> Colour:
    """Run the test in both colours."""
    return Colour(request.param)


def outgoing(url: str = "http://127.0.0.1/", body: bytes = b"{}", until: float | None = None) -> Outgoing:
    """Return a request as the transport makes it."""
    return Outgoing(Head(_address(url), "POST", [(b"host", b"x")]), body, AGES, Patience(AGES, until))


class TestWords:
    def test_interim_replies_have_an_end(self, colour: Colour) -> None:
        """A server that only ever says that it has begun is not listened to for ever."""
        early = b"HTTP/1.1 102 Processing\r\n\r\n"
        with WireServer([early * MOST_EARLY + OK[0]]) as server:
            assert colour.send(post(server.url))[0].body == b"1"
        with WireServer([early * (MOST_EARLY + 1)]) as server, pytest.raises(TransportError, match="interim"):
            colour.send(post(server.url))

    @pytest.mark.parametrize(
        "junk",
        [b"POST /v1?key=%b HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n%b\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: \0%b\r\n\r\n"],
    )
    def test_what_a_server_said_is_not_repeated(self, colour: Colour, junk: bytes) -> None:
        """It may be our own request with its key in it, or very long."""
        with WireServer([junk % (b"sk-secret" * 1000)]) as server, pytest.raises(TransportError) as caught:
            colour.send(post(server.url))

        assert "sk-secret" not in "".join(traceback.format_exception(caught.value))
        assert "no HTTP" in str(caught.value)

    def test_a_connection_that_has_ended_does_not_serve_again(self) -> None:
        """TLS may end while TCP does not: then no news comes any more."""
        talk = Talk()
        talk.say(outgoing())
        talk.hear(UNTIL_CLOSED + b"1")
        assert talk.head() is not None
        talk.hear(b"")

        assert talk.body() == b"1"
        assert talk.ended()
        assert not talk.over()

    def test_port_zero_is_not_another_one(self) -> None:
        """What is no port to connect to is not replaced by one at which somebody else may listen."""
        assert _address("http://host:0/").dialled == 0


class TestCompression:
    @pytest.mark.parametrize("named", [b"gzip, gzip", b"gzip, deflate, identity", b"br", b"GZIP,zstd"])
    @pytest.mark.parametrize("streamed", [False, True])
    def test_what_was_not_asked_for_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, named: bytes, streamed: bool
    ) -> None:
        """Compressed twice, 500 bytes become 200 MB; its connection makes room."""
        monkeypatch.setattr(_direct, "CONNECTIONS", 1)
        coded = reply(gzip.compress(gzip.compress(b"x")), b"content-encoding: " + named)
        with WireServer(coded, OK) as server, contextlib.closing(HttpTransport()) as transport:
            with pytest.raises(MalformedReplyError, match=r"compressed .* was not asked for"):
                (transport.stream if streamed else transport.send)(post(server.url))
            assert transport.send(post(server.url)).body == b"1"

    def test_a_task_refuses_it_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The twin of the above."""
        monkeypatch.setattr(_adirect, "CONNECTIONS", 1)

        async def main() -> bytes:
            async with contextlib.aclosing(AsyncHttpTransport()) as transport:
                with pytest.raises(MalformedReplyError, match="br was not asked for"):
                    await transport.stream(post(server.url))
                return (await transport.send(post(server.url))).body

        with WireServer(reply(b"x", b"content-encoding: br"), OK) as server:
            assert asyncio.run(main()) == b"1"

    @pytest.mark.parametrize("named", [b"identity", b"Identity", b"", b"utf-8", b"aws-chunked"])
    def test_other_names_compress_nothing(self, colour: Colour, named: bytes) -> None:
        """Servers put the charset there, and more."""
        with WireServer(reply(b"text", b"content-encoding: " + named)) as server:
            assert colour.send(post(server.url))[0].body == b"text"

    @pytest.mark.parametrize("cut", [0, 1, -1])
    def test_a_cut_reply_is_not_taken_for_a_whole_one(self, colour: Colour, cut: int) -> None:
        """Whatever its length says."""
        body = gzip.compress(b"x" * 1000)[: cut or 5]
        with WireServer(reply(body, b"content-encoding: gzip")) as server:
            with pytest.raises(MalformedReplyError, match="cut off"):
                colour.send(post(server.url))

    @pytest.mark.parametrize("size", [0, 1, PORTION - 1, PORTION, PORTION + 1, 3 * PORTION])
    @pytest.mark.parametrize("at_once", [1, 7, 65536])
    def test_every_kind_is_read_in_portions(self, size: int, at_once: int) -> None:
        """With or without what goes around it, however cut, several in turn."""
        text = bytes(range(256)) * (size // 256) + b"y" * (size % 256)
        raw = zlib.compressobj(wbits=-15)
        for data, times in (
            (gzip.compress(text), 1),
            (zlib.compress(text), 1),
            (raw.compress(text) + raw.flush(), 1),
            (gzip.compress(text) * 2, 2),
        ):
            portions = list(inflated(data[at : at + at_once] for at in range(0, len(data), at_once)))

            assert b"".join(portions) == text * times
            assert max(map(len, portions), default=0) <= PORTION

    @pytest.mark.parametrize("more", range(21, 26))
    def test_what_zlib_still_holds_is_asked_for(self, more: int) -> None:
        """It may have taken in all there is before it has given all it makes of that."""
        text, raw = b"y" * (PORTION + more), zlib.compressobj(wbits=-15)

        assert b"".join(inflated([raw.compress(text) + raw.flush()])) == text

    def test_nothing_is_nothing(self) -> None:
        """A reply without a body may name a coding; what cannot be read says so."""
        assert list(inflated([])) == list(inflated([b""])) == []
        with pytest.raises(DecodingError):
            list(inflated([b"\x1fplain text"]))


class TestTime:
    def test_bytes_that_come_one_by_one_do_not_lengthen_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """When a reply is to be there is when it is, also between two bytes that mean nothing."""

        def serve(connection: socket.socket) -> None:
            connection.recv(65536)
            with contextlib.suppress(OSError):
                connection.sendall(chunked()[0])
                while True:
                    connection.sendall(b"1\r\nx\r\n")

        monkeypatch.setattr(_receive, "MAX_REPLY", 8 * 1024 * 1024)  # comes later
        with listening(serve) as url, contextlib.closing(HttpTransport()) as transport:
            with pytest.raises(TransportError, match=r"silent|no connection"):  # a busy machine may come no further
                transport.send(post(url), seconds=0.05)

    def test_a_stream_ends_with_its_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is not waited for then, and nor is a head."""
        clock = [0.0]
        monkeypatch.setattr(_outgoing, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        way = Direct(None)
        with WireServer([UNTIL_CLOSED]) as server:
            answer = way.open(outgoing(server.url, until=1.0))
            clock[0] = 2.0
            for late in (answer.stream.__next__, lambda: way.open(outgoing(server.url, until=1.0))):
                with pytest.raises(ReadTimeout):
                    late()

        assert (way._free.qsize(), way._kept._open) == (_kept.CONNECTIONS, set())

    def test_a_body_that_is_taken_little_by_little_does_not_lengthen_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each of its parts has less time than the one before."""
        clock = itertools.count(0.0, AGES)
        monkeypatch.setattr(_outgoing, "time", SimpleNamespace(monotonic=clock.__next__))

        with WireServer(OK) as server, pytest.raises(ReadTimeout):
            Direct(None).open(outgoing(server.url, MANY * b"x", until=2.5 * AGES))  # head, body, some more

    def test_every_address_of_a_host_has_its_share(self, full: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that swallows everything leaves time for the next."""
        monkeypatch.setattr(Told, "times", [])
        monkeypatch.setattr(_line, "LEAST_SHARE", 0.01)
        monkeypatch.setattr(_line, "time", SimpleNamespace(monotonic=lambda: 0.0))  # so that none is ever too late
        with socket.create_server(("127.0.0.1", 0)) as server:
            found(monkeypatch, full, server.getsockname())
            monkeypatch.setattr(socket, "socket", Told)
            line = Line("api.test", 1, None, seconds=0.1)

            assert line._socket.getpeername() == server.getsockname()
            assert Told.times == [0.05, 0.1]
            line.close()

    def test_all_addresses_of_a_host_have_no_more_time_than_one(
        self, full: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is left may be none."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            found(monkeypatch, full, server.getsockname())
            with pytest.raises(ConnectTimeout):
                Line("api.test", 1, None, seconds=0.01)  # less than the least share, which thus is all

    def test_the_last_refusal_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As for a host with one address."""
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            found(monkeypatch, held.getsockname(), held.getsockname())
            with pytest.raises(ConnectError, match="refused"):
                Line("api.test", 1, None, seconds=AGES)

    def test_a_handshake_has_what_connecting_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Both together are connecting."""
        left: list[float] = []

        class Fake:
            async def start_tls(self, _context: Any, _host: str, seconds: float) -> None:
                left.append(seconds)
                raise ConnectTimeout

        async def connected(*_: Any) -> Fake:
            return Fake()

        monkeypatch.setattr(_adirect, "connected", connected)
        monkeypatch.setattr(_adirect, "time", SimpleNamespace(monotonic=iter((100.0, 104.0)).__next__))

        async def main() -> None:
            with pytest.raises(ConnectTimeout):
                await AsyncDirect(object()).open(outgoing())  # type: ignore[arg-type]

        asyncio.run(main())

        assert left == [AGES - 4]


@pytest.fixture
def full() -> Iterator[Any]:
    """Yield the address of a server that lets nobody in any more: what is sent there gets no answer."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()


class Told(socket.socket):
    """Keeps how long it was told to wait."""

    times: ClassVar[list[float | None]] = []

    def settimeout(self, value: float | None, /) -> None:
        self.times.append(value)
        super().settimeout(value)


def found(monkeypatch: pytest.MonkeyPatch, *addresses: Any) -> None:
    """Let every name have these addresses."""
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", address) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)


class TestRoom:
    @pytest.mark.parametrize(
        "pieces",
        [
            [CLOSE],
            [b"junk\r\n\r\n"],
            [b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1", CLOSE],
            reply(b"x", b"content-encoding: gzip"),
            reply(b"x", b"content-encoding: gzip, gzip"),
        ],
        ids=["closed", "junk", "cut", "unreadable", "refused"],
    )
    def test_every_failure_makes_room(
        self, colour: Colour, pieces: list[bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With room for one, the next request is sent all the same."""
        monkeypatch.setattr(_direct, "CONNECTIONS", 1)
        monkeypatch.setattr(_adirect, "CONNECTIONS", 1)

        async def main() -> list[Any]:
            async with contextlib.aclosing(AsyncHttpTransport()) as transport:
                return [await afailure(transport, server.url) for _ in range(3)]

        with WireServer(pieces) as server:
            if colour.name == "async":
                failures = asyncio.run(main())
            else:
                with contextlib.closing(HttpTransport()) as transport:
                    failures = [failure(transport, server.url) for _ in range(3)]

        assert len({str(each) for each in failures}) == 1
        assert "at once" not in str(failures[0])

    def test_a_reply_nobody_holds_makes_room(self) -> None:
        """One that was neither read nor closed is given back when it is gone."""
        with WireServer(chunked(b"1", end=b"")) as server, contextlib.closing(HttpTransport()) as transport:
            stream = transport.stream(post(server.url))
            (way,) = transport._ways.values()
            assert isinstance(way, Direct)
            assert way._free.qsize() == _kept.CONNECTIONS - 1
            del stream
            gc.collect()

            assert (way._free.qsize(), way._kept._open) == (_kept.CONNECTIONS, set())

    def test_a_reply_nobody_holds_makes_room_in_its_loop(self) -> None:
        """The twin of the above; behind its loop it concerns nobody."""

        async def main() -> tuple[Any, Any]:
            transport = AsyncHttpTransport()
            stream, kept = [await transport.stream(post(server.url)) for _ in range(2)]
            ((way,),) = (ways.values() for ways in transport._loops.values())
            assert isinstance(way, AsyncDirect)
            del stream
            gc.collect()
            await asyncio.sleep(0)
            assert (way._free._value, len(way._kept._open)) == (_kept.CONNECTIONS - 1, 1)
            await transport.aclose()
            return kept, way

        with WireServer(chunked(b"1", end=b"")) as server:
            kept, way = asyncio.run(main())
            del kept
            gc.collect()

        assert way._free._value == _kept.CONNECTIONS - 1

    def test_a_reply_is_given_back_once(self) -> None:
        """However often, and from wherever, it is closed."""
        with WireServer(OK) as server, contextlib.closing(HttpTransport()) as transport:
            stream = transport.stream(post(server.url))
            (way,) = transport._ways.values()
            assert isinstance(way, Direct)
            assert [*stream] == [b"1"]
            stream.close()
            stream.close()

            assert (way._free.qsize(), len(way._kept._idle)) == (_kept.CONNECTIONS, 1)

    def test_the_collector_may_give_back_at_any_time(self) -> None:
        """Also while the same thread looks for a connection."""
        with WireServer(OK) as server, contextlib.closing(HttpTransport()) as transport:
            stream = transport.stream(post(server.url))
            (way,) = transport._ways.values()

            def collect() -> None:
                with way._kept._lock:  # type: ignore[union-attr]
                    stream.close()

            thread = threading.Thread(target=collect, daemon=True)
            thread.start()
            thread.join(AGES)

            assert not thread.is_alive()

    @pytest.mark.parametrize("pieces", [chunked(b"1", b"2"), OK, [UNTIL_CLOSED + b"1", CLOSE]])
    def test_a_task_may_be_cancelled_at_any_time(self, pieces: list[bytes]) -> None:
        """Whatever it waits for: its room is free again, and no later request gets its reply."""

        async def main() -> None:
            transport = AsyncHttpTransport()
            for turns in range(24):
                task = asyncio.create_task(transport.send(post(server.url)))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                for ways in transport._loops.values():
                    for way in ways.values():
                        assert isinstance(way, AsyncDirect)
                        assert way._free._value == _kept.CONNECTIONS
                        assert way._kept._open == set(way._kept._idle)
            assert (await transport.send(post(server.url))).status == 200
            await transport.aclose()

        with WireServer(pieces) as server:
            asyncio.run(main())


def failure(transport: HttpTransport, url: str) -> NrLlmError:
    """Return what a request fails with."""
    with pytest.raises(NrLlmError) as caught:
        transport.send(post(url))
    return caught.value


async def afailure(transport: AsyncHttpTransport, url: str) -> NrLlmError:
    """Return what a request fails with."""
    with pytest.raises(NrLlmError) as caught:
        await transport.send(post(url))
    return caught.value


class TestClosing:
    @pytest.mark.parametrize("pieces", [[], [UNTIL_CLOSED], [UNTIL_CLOSED + b"half"]], ids=["head", "body", "half"])
    def test_whoever_waits_hears_that_the_transport_was_closed(self, colour: Colour, pieces: list[bytes]) -> None:
        """At once, and half a reply is not taken for a whole one."""

        def serve(connection: socket.socket) -> None:
            connection.recv(65536)
            for piece in pieces:
                connection.sendall(piece)
            asked.set()
            with contextlib.suppress(OSError):
                connection.recv(1)

        async def main() -> NrLlmError:
            transport = AsyncHttpTransport(options)
            task = asyncio.create_task(afailure(transport, url))
            await asyncio.to_thread(asked.wait, AGES)
            await transport.aclose()
            return await task

        def work() -> None:
            failures.append(failure(transport, url))

        asked, failures, options = threading.Event(), list[NrLlmError](), TransportOptions(read_seconds=AGES)
        with listening(serve) as url:
            if colour.name == "async":
                failures.append(asyncio.run(main()))
            else:
                transport = HttpTransport(options)
                thread = threading.Thread(target=work, daemon=True)
                thread.start()
                asked.wait(AGES)
                transport.close()
                thread.join(AGES)

        assert "closed here" in str(failures[0])

    def test_a_stream_that_is_closed_elsewhere_wakes_its_reader(self) -> None:
        """Whoever reads in another thread does not wait for what nobody wants."""

        def work() -> None:
            with pytest.raises(StreamInterruptedError):
                list(stream)
            woken.set()

        def waits() -> bool:
            return thread.ident is not None and sys._current_frames()[thread.ident].f_code is Line.read.__code__

        woken = threading.Event()
        with WireServer([UNTIL_CLOSED]) as server, contextlib.closing(HttpTransport()) as transport:
            stream = transport.stream(post(server.url))
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            until(waits)
            stream.close()

            assert woken.wait(AGES)

    def test_a_way_that_was_closed_keeps_nothing(self) -> None:
        """A request that was under way then ends its connection itself."""
        way = Direct(None)
        way.close()
        with WireServer(OK) as server:
            assert [*way.open(outgoing(server.url)).stream] == [b"1"]

        assert way._kept._open == set()

    def test_what_is_forked_off_lets_go_of_all_connections(self) -> None:
        """Those in use too; what is closed afterwards concerns nobody."""
        with WireServer(OK) as server, contextlib.closing(HttpTransport()) as transport:
            transport.send(post(server.url))
            stream = transport.stream(post(server.url))
            (way,) = transport._ways.values()
            http._forked()
            stream.close()

            assert transport._ways == {}
            assert isinstance(way, Direct)
            assert not way._kept._idle
            assert transport.send(post(server.url)).body == b"1"

        assert server.connections == 2

    def test_a_process_that_is_forked_off_has_connections_of_its_own(self) -> None:
        """On its parent's it would take replies that are not for it, or end them."""
        code = (
            "import os, sys\nfrom nr_llm.http import HttpTransport\nfrom nr_llm.providers import HttpRequest\n"
            "t = HttpTransport()\nask = lambda: t.send(HttpRequest('POST', sys.argv[1], body=b'{}')).body\nask()\n"
            "s = t.stream(HttpRequest('POST', sys.argv[1], body=b'{}'))\n"
            "if not (child := os.fork()):\n    s.close()\n    ask()\n    t.close()\n    os._exit(0)\n"
            "os.waitpid(child, 0)\ns.read()\nask()\nt.close()\n"
        )
        with WireServer(OK) as server:
            subprocess.run([sys.executable, "-c", code, server.url], check=True, capture_output=True, text=True)

        assert (len(server.requests), server.connections) == (4, 2)
