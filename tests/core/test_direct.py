"""Requests over connections of our own: what servers do, and what becomes of a connection then."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import httpx
import pytest
from nr_llm import _adirect, _direct, _kept
from nr_llm._failures import ReadTimeout
from nr_llm._line import Line
from nr_llm._talk import MOST_HEAD
from nr_llm.errors import ConfigurationError, StreamInterruptedError, TransportError
from nr_llm.http import AsyncHttpTransport, HttpTransport, _address
from nr_llm.providers import HttpReply, HttpRequest, TransportOptions

from tests.core.waiting import AGES, until
from tests.core.wire_server import CLOSE, WireServer, chunked, reply

MANY = 8 * 1024 * 1024
"""Bytes that no buffer on the way takes in whole."""

OK = reply(b"1")


def post(url: str, body: bytes = b"{}", **headers: str) -> HttpRequest:
    """Return a request as codecs make them."""
    return HttpRequest("POST", url, headers=tuple(headers.items()), body=body)


@attrs.frozen
class Colour:
    """One colour of a transport that sends several requests in turn."""

    name: str

    def send(self, *requests: HttpRequest, between: Callable[[Any], None] = id, **options: Any) -> list[HttpReply]:
        """Send requests one after the other over one transport; `between` is given its connections after each."""
        if self.name == "sync":
            return self._send(requests, between, TransportOptions(**options))
        return asyncio.run(self._asend(requests, between, TransportOptions(**options)))

    def _send(
        self, requests: Sequence[HttpRequest], between: Callable[[Any], None], options: TransportOptions
    ) -> list[HttpReply]:
        transport, replies = HttpTransport(options), []
        with contextlib.closing(transport):
            for request in requests:
                replies.append(transport.send(request))
                between(next(iter(transport._ways.values()))._kept)  # type: ignore[union-attr]
        return replies

    async def _asend(
        self, requests: Sequence[HttpRequest], between: Callable[[Any], None], options: TransportOptions
    ) -> list[HttpReply]:
        transport, replies = AsyncHttpTransport(options), []
        async with contextlib.aclosing(transport):
            for request in requests:
                replies.append(await transport.send(request))
                (ways,) = transport._loops.values()
                between(next(iter(ways.values()))._kept)  # type: ignore[union-attr]
        return replies


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> Colour:
    """Run the test in both colours."""
    return Colour(request.param)


@contextlib.contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Yield the address of a server that does `serve` with its one connection."""

    def accept() -> None:
        connection, _ = server.accept()
        with connection:
            serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        thread.join(AGES)


class TestConnections:
    @pytest.mark.parametrize(
        "pieces",
        [
            OK,
            reply(b"1", b"connection: keep-alive"),
            chunked(b"1", b"2", end=b"0\r\nx-checksum: 7\r\n\r\n"),
            [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;name=value\r\n1\r\n0\r\n\r\n"],
            [b"HTTP/1.1 204 No Content\r\n\r\n"],
            [b"HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n"],
        ],
        ids=["length", "keep-alive", "trailers", "extension", "204", "304"],
    )
    def test_a_connection_whose_reply_was_read_serves_again(self, colour: Colour, pieces: list[bytes]) -> None:
        """However its end is marked."""
        with WireServer(pieces) as server:
            colour.send(*[post(server.url)] * 3)

        assert (len(server.requests), server.connections) == (3, 1)

    @pytest.mark.parametrize(
        "pieces",
        [
            reply(b"1", b"connection: close"),
            [b"HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n1"],
            [b"HTTP/1.1 200 OK\r\n\r\n", b"1", CLOSE],
            [OK[0] + b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"],
        ],
        ids=["close", "1.0", "until-closed", "more-than-asked-for"],
    )
    def test_a_connection_that_is_of_no_more_use_is_ended(self, colour: Colour, pieces: list[bytes]) -> None:
        """The server ends it, or has said what belongs to no request."""
        with WireServer(pieces) as server:
            replies = colour.send(*[post(server.url)] * 2)

        assert [b"1", b"1"] == [each.body for each in replies]
        assert server.connections == 2

    def test_a_connection_the_server_has_closed_meanwhile_is_not_used(self, colour: Colour) -> None:
        """It is looked at before the next request, which is then sent once."""

        def closed(kept: Any) -> None:
            until(kept._idle[-1].wire.has_news)

        with WireServer([*OK, CLOSE]) as server:
            colour.send(*[post(server.url)] * 2, between=closed)

        assert (len(server.requests), server.connections) == (2, 2)

    def test_a_request_is_not_sent_twice(self, colour: Colour) -> None:
        """A model may have been asked already when a connection that served before breaks."""
        with WireServer(OK, [CLOSE]) as server, pytest.raises(TransportError, match="disconnected") as caught:
            colour.send(*[post(server.url)] * 2)

        assert (len(server.requests), server.connections) == (2, 1)
        assert caught.value.retryable

    def test_an_idle_connection_is_kept_for_a_while(self, colour: Colour, monkeypatch: pytest.MonkeyPatch) -> None:
        """Servers and what stands between forget it too."""
        monkeypatch.setattr(_kept, "KEEP_SECONDS", -1.0)
        with WireServer(OK) as server:
            colour.send(*[post(server.url)] * 2)

        assert server.connections == 2

    def test_threads_share_a_transport(self) -> None:
        """Each gets the reply to its own request, over no more connections than there are threads."""
        transport, bodies, start = HttpTransport(), list[bytes](), threading.Barrier(8)

        def work() -> None:
            start.wait(AGES)
            bodies.extend(transport.send(post(server.url)).body for _ in range(5))

        with WireServer(OK) as server:
            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(AGES)
            transport.close()

        assert [b"1"] * 40 == bodies
        assert server.connections <= 8

    def test_an_interrupt_leaves_no_half_read_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was not read would be taken for the reply to the next request."""
        transport, read = HttpTransport(), Line.read

        def interrupted(*_: Any) -> bytes:
            raise KeyboardInterrupt

        with WireServer(reply(b"1"), reply(b"2")) as server:
            monkeypatch.setattr(Line, "read", interrupted)
            with pytest.raises(KeyboardInterrupt):
                transport.send(post(server.url))
            monkeypatch.setattr(Line, "read", read)
            until(lambda: len(server.requests) == 1)
            assert transport.send(post(server.url)).body == b"2"
            transport.close()

        assert server.connections == 2


class TestRoom:
    def test_a_request_waits_for_a_free_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """No longer than a connection may take; a reply that is closed makes room."""
        monkeypatch.setattr(_direct, "CONNECTIONS", 1)
        transport = HttpTransport(TransportOptions(connect_seconds=0.01))
        with WireServer(chunked(b"1", b"2")) as server:
            with transport.stream(post(server.url)):
                with pytest.raises(TransportError, match="too many at once"):
                    transport.send(post(server.url))
            assert transport.send(post(server.url)).body == b"12"
            transport.close()

    def test_a_task_waits_for_a_free_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The twin of the above."""
        monkeypatch.setattr(_adirect, "CONNECTIONS", 1)

        async def main() -> bytes:
            transport = AsyncHttpTransport(TransportOptions(connect_seconds=0.01))
            async with await transport.stream(post(server.url)):
                with pytest.raises(TransportError, match="too many at once"):
                    await transport.send(post(server.url))
            body = (await transport.send(post(server.url))).body
            await transport.aclose()
            return body

        with WireServer(chunked(b"1", b"2")) as server:
            assert asyncio.run(main()) == b"12"

    def test_closing_a_transport_ends_what_is_still_read(self) -> None:
        """Nothing stays open behind it; closing the reply afterwards is no error."""
        with WireServer(chunked(b"1", end=b"5")) as server:
            transport = HttpTransport()
            stream = transport.stream(post(server.url))
            transport.close()
            with pytest.raises(StreamInterruptedError, match="broke"):
                list(stream)
            stream.close()

    @pytest.mark.parametrize("pieces", [[], [b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n123"]], ids=["head", "body"])
    def test_a_cancelled_task_ends_its_connection(self, pieces: list[bytes]) -> None:
        """The server sees it go, and its place is free again."""

        async def main() -> tuple[int, bool]:
            transport = AsyncHttpTransport()
            task = asyncio.create_task(transport.send(post(url)))
            await asyncio.to_thread(asked.wait, AGES)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(gone.wait, AGES)
            ((way,),) = (ways.values() for ways in transport._loops.values())
            await transport.aclose()
            return len(way._kept._open), way._free._value == _kept.CONNECTIONS  # type: ignore[union-attr]

        def serve(connection: socket.socket) -> None:
            connection.recv(65536)
            for piece in pieces:
                connection.sendall(piece)
            asked.set()
            with contextlib.suppress(ConnectionResetError):
                connection.recv(1)
            gone.set()

        asked, gone = threading.Event(), threading.Event()
        with listening(serve) as url:
            assert asyncio.run(main()) == (0, True)
        assert gone.is_set()


class TestReplies:
    @pytest.mark.parametrize("cut", [1, 30, 62])
    def test_what_is_said_before_a_reply_is_passed_over(self, colour: Colour, cut: int) -> None:
        """That a server has begun, or which pages it would load first; however the bytes are cut."""
        early = b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
        whole = early + reply(b"1")[0]
        with WireServer([whole[:cut], whole[cut:]]) as server:
            replies = colour.send(*[post(server.url)] * 2)

        assert [(200, b"1")] * 2 == [(each.status, each.body) for each in replies]
        assert server.connections == 1

    def test_a_switch_to_another_protocol_is_a_reply(self, colour: Colour) -> None:
        """Whoever asks for one gets the answer and no more of it."""
        switch = [b"HTTP/1.1 101 Switching\r\nupgrade: other\r\n\r\n", b"other words"]
        with WireServer(switch) as server:
            (answer, _) = colour.send(*[post(server.url, Connection="upgrade", Upgrade="other")] * 2)

        assert (answer.status, answer.body, server.connections) == (101, b"", 2)

    @pytest.mark.parametrize(
        "pieces",
        [
            [b"SSH-2.0-OpenSSH_9.2\r\n\r\n"],
            [b"HTTP/1.1 200 OK\r\nno colon here\r\ncontent-length: 1\r\n\r\n1"],
            [b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12"],
            [b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n"],
            [b"HTTP/1.1 200 OK\r\nx-long: " + b"x" * (MOST_HEAD + 65536), CLOSE],
            [b"HTTP/1.1 200 OK\r\ncontent-l", CLOSE],
            [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
            [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n1\r\nzz\r\n"],
        ],
        ids=["ssh", "header", "lengths", "coding", "endless-head", "cut-head", "chunk", "late-chunk"],
    )
    def test_what_is_no_http_is_a_transport_error(self, colour: Colour, pieces: list[bytes]) -> None:
        """A reply that can be read in two ways is none."""
        with WireServer(pieces) as server, pytest.raises(TransportError, match="broke"):
            colour.send(post(server.url))

    def test_what_came_before_junk_is_handed_on(self) -> None:
        """A stream breaks where it breaks, and says why."""
        pieces = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n1\r\nzz\r\n"]
        with WireServer(pieces) as server, contextlib.closing(HttpTransport()) as transport:
            stream = transport.stream(post(server.url))
            body = iter(stream)
            assert next(body) == b"1"
            with pytest.raises(StreamInterruptedError, match="chunk size"):
                next(body)

    def test_a_server_may_answer_before_it_has_all(self, colour: Colour) -> None:
        """One that refuses a body and hangs up is heard, not reported as broken."""

        def serve(connection: socket.socket) -> None:
            connection.recv(65536)
            connection.sendall(reply(b"too much", status=b"413 No")[0])

        with listening(serve) as url:
            (answer,) = colour.send(post(url, b"x" * MANY))

        assert (answer.status, answer.body) == (413, b"too much")

    def test_a_reset_is_a_transport_error(self, colour: Colour) -> None:
        """A connection that breaks while a reply is awaited says so."""

        def serve(connection: socket.socket) -> None:
            connection.recv(65536)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        with listening(serve) as url, pytest.raises(TransportError, match="reset by peer"):
            colour.send(post(url))


class TestTime:
    def test_a_handshake_counts_as_connecting(self, colour: Colour) -> None:
        """However long an answer may take, TLS has to be there in the time to connect."""
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            pytest.raises(TransportError, match=r"no connection to .* within 0\.05 s"),
        ):
            url = f"https://localhost:{server.getsockname()[1]}/"
            colour.send(post(url), connect_seconds=0.05, read_seconds=AGES)

    def test_the_time_to_connect_ends_with_connecting(self) -> None:
        """From then on the time between two pieces counts."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            line = Line("127.0.0.1", server.getsockname()[1], None, seconds=AGES)
            with contextlib.closing(line), pytest.raises(ReadTimeout):
                line.read(1, 0.01)

    def test_a_body_nobody_takes_times_out(self, colour: Colour) -> None:
        """The time between two pieces holds for what is sent too."""
        with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(TransportError, match=r"silent for 0\.05"):
            colour.send(post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"x" * MANY), read_seconds=0.05)


class TestAddresses:
    @pytest.mark.parametrize(
        "url",
        [
            *("http://host", "http://host/", "http://host:80/v1", "https://host:443/v1", "http://host:8080/v1?a=b&c=d"),
            *("https://api.openai.com/v1/chat/completions", "http://127.0.0.1:8000/v1/", "http://10.1.2.3/v1"),
            *(
                "http://[::1]/v1",
                "http://[2001:db8::1]:8080/v1",
                "http://bücher.example/v1",
                "http://xn--bcher-kva.de/",
            ),
            *("http://host/a b/ü?q=a b%20c", "http://host/a/../b/./c", "http://host//a", "http://host/a%2Fb:go?x=%"),
            *("http://host?x=1", "http://my_host/x", "http://host/v1beta/models/gemini-2.5:generate", "http://host/?"),
        ],
    )
    def test_an_address_is_read_as_httpx_reads_it(self, url: str) -> None:
        """Whether it is so plain that httpx is not asked, or not."""
        ours, theirs = _address(url), httpx.URL(url)

        assert (theirs.scheme, theirs.raw_host.decode(), theirs.port) == (ours.scheme, ours.host, ours.port)
        assert (theirs.netloc.decode(), theirs.raw_path.decode()) == (ours.named, ours.path)
        assert ours.dialled == (theirs.port or {"http": 80, "https": 443}[theirs.scheme])

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *(("x", "a\r\nb: c"), ("x", "a\nb"), ("x", "a\0b"), ("x y", "a"), ("x", " a"), ("", "a")),
            *(("Content-Length", "7"), ("Content-Length", "0"), ("Transfer-Encoding", "chunked"), ("Host", "other")),
        ],
    )
    def test_a_header_that_would_forge_a_request_is_refused(self, colour: Colour, name: str, value: str) -> None:
        """Nothing of it is sent."""
        with WireServer(OK) as server, pytest.raises(ConfigurationError, match="not allowed in HTTP"):
            colour.send(post(server.url, **{name: value}))

        assert server.requests == []

    def test_what_is_said_anyway_may_be_given(self, colour: Colour) -> None:
        """Functions that sign requests add host and length, and these are said once."""
        with WireServer(OK) as server:
            named = server.url.partition("//")[2]
            colour.send(post(server.url, b"123", **{"Host": named, "Content-Length": "3"}))

        assert server.requests[0].lower().count(b"\r\nhost: " + named.encode() + b"\r\n") == 1
        assert server.requests[0].lower().count(b"host:") == 1
        assert server.requests[0].lower().count(b"content-length: 3") == 1


def test_a_request_imports_no_client() -> None:
    """Clients cost more than the rest of a first request: they are imported where something is unusual."""
    code = (
        "import sys\nfrom nr_llm.http import HttpTransport\nfrom nr_llm.providers import HttpRequest\n"
        "t = HttpTransport()\nt.send(HttpRequest('POST', sys.argv[1], body=b'{}'))\nt.close()\n"
        "print(sorted({'httpx', 'httpcore', 'anyio', 'asyncio', 'ssl', 'h11', 'httptools'} & set(sys.modules)))"
    )
    with WireServer(OK) as server:
        done = subprocess.run([sys.executable, "-c", code, server.url], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "['httptools']"
