"""Both transports carry bytes unchanged, and turn every failure into an error that says what to check."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import itertools
import socket
import ssl
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
from nr_llm import _reach, _receive, http
from nr_llm.errors import (
    ConfigurationError,
    MalformedReplyError,
    NrLlmError,
    StreamInterruptedError,
    TransportError,
)
from nr_llm.http import AsyncHttpTransport, HttpTransport
from nr_llm.providers import HttpReply, HttpRequest, TransportOptions

from tests.core.wire_server import CLOSE, WireServer, chunked, reply

KEY = "sk-very-secret-key"


@attrs.frozen
class Colour:
    """
    One colour of the transports behind one synchronous face, so that each test runs for both.

    Attributes:
        name: ``sync`` or ``async``.
        over: What sends: ``direct`` connections, a ``proxy``, or a ``client`` of httpx.
    """

    name: str
    over: str = "direct"

    def send(self, request: HttpRequest, options: TransportOptions | None = None, client: Any = None) -> HttpReply:
        """Send and return the reply."""
        if self.name == "sync":
            return self._send(request, options, client)
        return asyncio.run(self._asend(request, options, client))

    def _send(self, request: HttpRequest, options: TransportOptions | None, client: Any) -> HttpReply:
        with self._own(httpx.Client) as own:
            transport = HttpTransport(options, client=client or own)
            try:
                return transport.send(request)
            finally:
                transport.close()

    async def _asend(self, request: HttpRequest, options: TransportOptions | None, client: Any) -> HttpReply:
        async with self._own(httpx.AsyncClient) as own:
            transport = AsyncHttpTransport(options, client=client or own)
            try:
                return await transport.send(request)
            finally:
                await transport.aclose()

    def _own(self, kind: Any) -> Any:
        return kind(trust_env=False) if self.over == "client" else contextlib.nullcontext()

    def stream(
        self,
        request: HttpRequest,
        options: TransportOptions | None = None,
        client: Any = None,
        into: list[bytes] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Stream and return status, headers and body; `into` gets the pieces as they come."""
        pieces = [] if into is None else into
        if self.name == "sync":
            stream = self._stream(request, options, client, pieces)
        else:
            stream = asyncio.run(self._astream(request, options, client, pieces))
        return stream.status, dict(stream.headers), b"".join(pieces)

    def _stream(self, request: HttpRequest, options: TransportOptions | None, client: Any, pieces: list[bytes]) -> Any:
        with self._own(httpx.Client) as own:
            transport = HttpTransport(options, client=client or own)
            try:
                with transport.stream(request) as stream:
                    for piece in stream:
                        pieces.append(piece)  # noqa: PERF402 - kept piece by piece when the stream breaks
                return stream
            finally:
                transport.close()

    async def _astream(
        self, request: HttpRequest, options: TransportOptions | None, client: Any, pieces: list[bytes]
    ) -> Any:
        async with self._own(httpx.AsyncClient) as own:
            transport = AsyncHttpTransport(options, client=client or own)
            try:
                async with await transport.stream(request) as stream:
                    async for piece in stream:
                        pieces.append(piece)  # noqa: PERF401 - kept piece by piece when the stream breaks
                return stream
            finally:
                await transport.aclose()

    def client(self, handler: Callable[[httpx.Request], httpx.Response], **settings: Any) -> Any:
        """Return an httpx client of this colour that asks `handler`."""
        kind = httpx.Client if self.name == "sync" else httpx.AsyncClient
        return kind(transport=httpx.MockTransport(handler), **settings)

    def raising(self, error: Exception) -> Any:
        """Return a client of this colour that fails with `error`."""
        return _Raising(error) if self.name == "sync" else _AsyncRaising(error)


class _Raising:
    """Shaped like an HTTP client, of no library."""

    timeout = 7.5

    def __init__(self, error: Exception) -> None:
        self._error = error

    def build_request(self, method: str, url: str, **more: Any) -> tuple[str, str, Any]:
        return method, url, more

    def send(self, request: object, *, stream: bool, follow_redirects: bool) -> object:
        raise self._error


class _AsyncRaising(_Raising):
    async def send(self, request: object, *, stream: bool, follow_redirects: bool) -> object:
        raise self._error


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> Colour:
    """Run the test in both colours."""
    return Colour(request.param)


@pytest.fixture(params=["direct", "proxy", "client"])
def way(colour: Colour, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Colour:
    """Run the test in both colours over all that sends; the server itself is taken for its proxy."""
    if request.param == "proxy":
        monkeypatch.setattr(http, "proxy_for", lambda place, _: place.origin)
    return attrs.evolve(colour, over=request.param)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the environment's proxies out of the tests."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def post(url: str, body: bytes = b"{}", *, stream: bool = False, **headers: str) -> HttpRequest:
    """Return a request as codecs make them."""
    return HttpRequest("POST", url, headers=tuple(headers.items()), body=body, stream=stream)


@pytest.fixture
def silent_url() -> Iterator[str]:
    """Yield the address of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


@pytest.fixture
def dead_url() -> Iterator[str]:
    """Yield an address where nothing listens, and that nobody else can take meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"


class TestSending:
    def test_a_request_travels_unchanged(self, way: Colour) -> None:
        """Method, path, headers and body arrive as the codec made them."""
        with WireServer(reply(b'{"ok": true}')) as server:
            answer = way.send(post(f"{server.url}/v1/chat?x=1", b"\x00body", Authorization=f"Bearer {KEY}"))

        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert (answer.status, answer.body) == (200, b'{"ok": true}')
        assert head.replace(server.url.encode(), b"").startswith(b"POST /v1/chat?x=1 HTTP/1.1\r\n")
        assert b"authorization: bearer " + KEY.encode() in head.lower().replace(KEY.upper().encode(), KEY.encode())
        assert body == b"\x00body"

    def test_the_same_bytes_leave_by_every_way(self, way: Colour) -> None:
        """A service cannot tell a colour, or whether a proxy stood between; an own client may add to it."""
        with WireServer(reply(b"")) as server:
            way.send(post(f"{server.url}/v1/chat", b"{}", **{"X-Mine": "1", "Authorization": "Bearer k"}))

        head = server.requests[0].replace(f"POST {server.url}/".encode(), b"POST /").lower()
        named = server.url.partition("//")[2].encode()
        lines = [
            *(b"post /v1/chat http/1.1", b"host: " + named, b"x-mine: 1", b"authorization: bearer k"),
            *(b"user-agent: nr-llm", b"accept: */*", b"accept-encoding: gzip, deflate", b"content-length: 2"),
        ]
        sent = head.removesuffix(b"\r\n\r\n{}").split(b"\r\n")
        assert lines == sent if way.over != "client" else set(lines) <= set(sent)

    def test_a_reply_of_any_status_is_a_reply(self, way: Colour) -> None:
        """What a status means is the codec's to say."""
        with WireServer(reply(b"no", b"X-Request-ID: r1", status=b"429 Too Many")) as server:
            answer = way.send(post(server.url))

        assert (answer.status, answer.headers["x-request-id"], answer.body) == (429, "r1", b"no")

    def test_repeated_headers_are_joined(self, way: Colour) -> None:
        """Nothing of a repeated header is lost."""
        with WireServer(reply(b"", b"Warning: a", b"warning: b")) as server:
            assert way.send(post(server.url)).headers["warning"] == "a, b"

    def test_redirects_are_not_followed(self, way: Colour) -> None:
        """Credentials go to the address they were given for and nowhere else."""
        with WireServer(reply(b"", b"location: /elsewhere", status=b"307 Go")) as server:
            answer = way.send(post(server.url))

        assert (answer.status, len(server.requests)) == (307, 1)

    def test_a_compressed_reply_is_read(self, way: Colour) -> None:
        """A body comes decompressed, whole or streamed."""
        with WireServer(reply(gzip.compress(b"text"), b"content-encoding: gzip")) as server:
            assert way.send(post(server.url)).body == b"text"
            assert way.stream(post(server.url))[2] == b"text"

    def test_a_reply_without_end_is_abandoned(self, way: Colour, monkeypatch: pytest.MonkeyPatch) -> None:
        """However small it travels: what it is decompressed to is counted; what just fits is read."""
        monkeypatch.setattr(_receive, "MAX_REPLY", 100_000)

        for size, fits in ((100_000, True), (100_001, False)):
            with WireServer(reply(gzip.compress(b"x" * size), b"content-encoding: gzip")) as server:
                if fits:
                    assert len(way.send(post(server.url)).body) == size
                else:
                    with pytest.raises(MalformedReplyError, match="exceeds 100,000 bytes"):
                        way.send(post(server.url))

    def test_a_stream_asks_for_no_compression(self, way: Colour) -> None:
        """A compressing proxy would hold deltas back; a header of the codec's own wins."""
        with WireServer(reply(b"")) as server:
            way.send(post(server.url))
            way.send(post(server.url, stream=True, **{"User-Agent": "mine"}))

        assert b"accept-encoding: gzip, deflate" in server.requests[0].lower()
        assert b"accept-encoding: identity" in server.requests[1].lower()
        assert b"user-agent: nr-llm" in server.requests[0].lower()
        assert b"user-agent: mine" in server.requests[1].lower()
        assert b"nr-llm" not in server.requests[1].lower()

    def test_a_user_in_the_address_becomes_a_header(self, way: Colour) -> None:
        """`http://user:password@host` signs the request and stays out of the request line."""
        with WireServer(reply(b"")) as server:
            way.send(post(server.url.replace("//", "//ann:p%40ss@")))
            way.send(post(server.url.replace("//", "//ann@"), authorization="Bearer x"))

        assert b"authorization: basic yw5uonbac3m=" in server.requests[0].lower()
        assert b"authorization: bearer x" in server.requests[1].lower()
        assert b"ann" not in server.requests[1]

    def test_connections_are_used_again(self) -> None:
        """Rounds of a run share one connection, as do threads in turn."""
        with WireServer(reply(b"1")) as server:
            transport = HttpTransport()
            for _ in range(3):
                transport.send(post(server.url))
            threads = [threading.Thread(target=transport.send, args=(post(server.url),)) for _ in range(2)]
            for thread in threads:
                thread.start()
                thread.join()
            transport.close()

        assert (len(server.requests), server.connections) == (5, 1)

    def test_a_closed_transport_opens_new_connections(self) -> None:
        """`close` ends connections, not the transport."""
        with WireServer(reply(b"1")) as server:
            transport = HttpTransport()
            transport.send(post(server.url))
            transport.close()
            transport.send(post(server.url))
            transport.close()

        assert server.connections == 2


class TestEventLoops:
    def test_one_transport_serves_one_loop_after_the_other(self) -> None:
        """`asyncio.run` may be called again with the same transport."""
        transport = AsyncHttpTransport()

        async def twice() -> bytes:
            await transport.send(post(server.url))
            body = (await transport.send(post(server.url))).body
            await transport.aclose()
            return body

        with WireServer(reply(b"1")) as server:
            assert [asyncio.run(twice()), asyncio.run(twice())] == [b"1", b"1"]
            assert server.connections == 2

    @pytest.mark.filterwarnings("ignore::ResourceWarning")
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_loops_that_ended_are_let_go(self) -> None:
        """A transport that nobody closed keeps no more than the last loop's connections."""
        transport = AsyncHttpTransport()
        with WireServer(reply(b"1")) as server:
            for _ in range(3):
                asyncio.run(transport.send(post(server.url)))
            assert len(transport._loops) == 1
        del transport
        gc.collect()


class TestStreaming:
    def test_a_body_comes_piece_by_piece(self, way: Colour) -> None:
        """Pieces are handed on as they arrive."""
        with WireServer(chunked(b"data: 1\n\n", b"data: 2\n\n")) as server:
            status, headers, body = way.stream(post(server.url, stream=True))

        assert (status, headers["content-type"], body) == (200, "text/event-stream", b"data: 1\n\ndata: 2\n\n")

    def test_an_error_reply_is_read_whole(self) -> None:
        """A stream that turns out to be an error gives a reply for the codec."""
        with WireServer(reply(b"busy", status=b"503 No")) as server:
            transport = HttpTransport()
            answer = transport.stream(post(server.url)).read()
            transport.close()

        assert (answer.status, answer.body) == (503, b"busy")

    def test_an_error_reply_is_read_whole_asynchronously(self) -> None:
        """The twin of the above."""

        async def run() -> HttpReply:
            transport = AsyncHttpTransport()
            answer = await (await transport.stream(post(server.url))).aread()
            await transport.aclose()
            return answer

        with WireServer(reply(b"busy", status=b"503 No")) as server:
            answer = asyncio.run(run())

        assert (answer.status, answer.body) == (503, b"busy")

    def test_a_cut_body_is_an_interrupted_stream(self, way: Colour) -> None:
        """What came before the cut was handed on; the error says where it broke (report 172)."""
        pieces: list[bytes] = []
        with WireServer(chunked(b"data: 1\n\n", end=CLOSE)) as server, pytest.raises(StreamInterruptedError) as caught:
            way.stream(post(f"{server.url}/v1?key=1"), into=pieces)

        assert b"".join(pieces) == b"data: 1\n\n"
        assert (f"{server.url}/v1", True) == (caught.value.url, caught.value.retryable)

    def test_a_silent_stream_is_interrupted(self, way: Colour) -> None:
        """The read limit holds between pieces too."""
        pieces: list[bytes] = []
        seconds = 0.05
        with WireServer(chunked(b"data: 1\n\n", end=b"f")) as server:
            while not pieces:  # the limit was over before the first one came
                seconds *= 2
                with pytest.raises(TransportError, match=f"silent for {seconds:g} s") as caught:
                    way.stream(post(server.url), TransportOptions(read_seconds=seconds), into=pieces)

        assert isinstance(caught.value, StreamInterruptedError)

    def test_an_abandoned_stream_ends_its_connection(self, way: Colour) -> None:
        """A consumer may stop in the middle; the next request gets a connection of its own."""
        with WireServer(chunked(b"1" * 10, b"2" * 10, end=b"5")) as server:
            if way.name == "sync":
                transport = HttpTransport()
                with transport.stream(post(server.url)) as stream:
                    next(iter(stream))
                with transport.stream(post(server.url)) as stream:
                    pass
                transport.close()
            else:
                asyncio.run(self._abandon(server.url))
            assert server.connections == 2

    async def _abandon(self, url: str) -> None:
        transport = AsyncHttpTransport()
        for _ in range(2):
            async with await transport.stream(post(url)) as stream:
                pieces = aiter(stream)
                await anext(pieces)
                await pieces.aclose()  # type: ignore[attr-defined]
        await transport.aclose()

    def test_a_connection_serves_again_after_what_is_left_was_drained(self, way: Colour) -> None:
        """A reader that leaves when all is said takes the rest of the reply from nobody."""
        with WireServer(chunked(b"1" * 10, b"2" * 10)) as server:
            if way.name == "sync":
                transport = HttpTransport()
                for _ in range(2):
                    stream = transport.stream(post(server.url))
                    pieces = iter(stream)
                    next(pieces)
                    pieces.close()  # type: ignore[attr-defined]
                    stream.drain()
                transport.close()
            else:
                asyncio.run(self._drain(server.url))

        assert server.connections == 1

    async def _drain(self, url: str) -> None:
        transport = AsyncHttpTransport()
        for _ in range(2):
            stream = await transport.stream(post(url))
            pieces = aiter(stream)
            await anext(pieces)
            await pieces.aclose()  # type: ignore[attr-defined]
            for _ in range(5):  # the loop ends in its own turns what nobody holds any more
                await asyncio.sleep(0)
            await stream.adrain()
        await transport.aclose()

    def test_a_cut_reply_is_a_transport_error(self, way: Colour) -> None:
        """A whole reply that is not whole is no reply."""
        cut = [b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n123", CLOSE]
        with WireServer(cut) as server, pytest.raises(TransportError) as caught:
            way.send(post(server.url))

        assert caught.value.retryable
        assert not isinstance(caught.value, StreamInterruptedError)


class TestFailures:
    def test_a_refused_connection_names_the_address(self, way: Colour, dead_url: str) -> None:
        """The error says where nothing answers, without query, user or password."""
        with pytest.raises(TransportError) as caught:
            way.send(post(dead_url.replace("//", "//ann:pw@") + "?key=abc"))

        text = str(caught.value)
        assert dead_url == caught.value.url
        assert dead_url in text
        assert "is the server running" in text
        assert caught.value.retryable
        assert not any(word in text for word in ("ann", "pw@", "abc"))

    def test_a_silent_server_times_out(self, way: Colour, silent_url: str) -> None:
        """The error says how long it waited and which setting to raise."""
        with pytest.raises(TransportError, match=r"silent for 0\.05 s.*read_seconds") as caught:
            way.send(post(silent_url), TransportOptions(read_seconds=0.05))

        assert caught.value.retryable

    @pytest.mark.parametrize("way", ["send", "stream"])
    def test_a_request_may_have_less_time(self, way: str, silent_url: str) -> None:
        """A run with little time left waits no longer than that, whatever the options say."""
        transport = HttpTransport(TransportOptions(read_seconds=1_000, connect_seconds=1_000))
        with pytest.raises(TransportError, match=r"silent for 0\.05 s"):
            getattr(transport, way)(post(silent_url), seconds=0.05)
        transport.close()

    def test_more_time_changes_nothing(self, silent_url: str) -> None:
        """Time beyond that of the options does not lengthen them."""
        transport = HttpTransport(TransportOptions(read_seconds=0.05, connect_seconds=0.05))
        with pytest.raises(TransportError, match=r"silent for 0\.05 s"):
            transport.send(post(silent_url), seconds=1_000)
        transport.close()

    def test_a_server_that_hangs_up_is_a_transport_error(self, way: Colour) -> None:
        """A connection closed without an answer may be tried again."""
        with WireServer([CLOSE]) as server, pytest.raises(TransportError, match="broke") as caught:
            way.send(post(server.url))

        assert caught.value.retryable

    @pytest.mark.parametrize("header", [f"Bearer {KEY}\n", f"Bearer {KEY}…"], ids=["line-break", "not-ascii"])
    def test_a_header_that_cannot_be_sent_is_not_shown(self, colour: Colour, header: str) -> None:
        """The error names the address, and neither it nor its causes hold the key."""
        with WireServer(reply(b"")) as server, pytest.raises(ConfigurationError) as caught:
            colour.send(post(server.url, Authorization=header))

        assert "API key" in str(caught.value)
        assert caught.value.__suppress_context__
        assert caught.value.__cause__ is None
        assert KEY not in str(caught.value)

    @pytest.mark.parametrize(
        "url",
        [
            *("", "ftp://host/x", "http://", "http://host:99999", "api.example.com/v1", "http://u:pw@[::1"),
            *(f"http://{'a' * 64}.test", "http://a..test"),
        ],
    )
    def test_an_address_that_is_none_is_named(self, colour: Colour, url: str) -> None:
        """A wrong base URL is a matter of configuration."""
        with pytest.raises(ConfigurationError, match="is no address of a service") as caught:
            colour.send(post(url))

        assert "pw" not in str(caught.value)

    def test_a_password_that_spoils_a_proxy_is_not_shown(self, colour: Colour) -> None:
        """One with a '#' in it looks like a port; neither the error nor its cause repeats it."""
        options = TransportOptions(proxy="http://me:tiger#7@proxy:8080")
        with pytest.raises(ConfigurationError, match="no way to") as caught:
            colour.send(post("http://host.test/"), options)

        assert "tiger" not in "".join(traceback.format_exception(caught.value))

    @pytest.mark.parametrize("host", ["exa\x7fmple.com", "xn--.test"])
    def test_an_address_the_client_refuses_is_named(self, colour: Colour, host: str) -> None:
        """What urllib takes, and httpx or the domain name system does not, is a matter of configuration too."""
        with pytest.raises(ConfigurationError, match="no way to"):
            colour.send(post(f"http://{host}/"))

    @pytest.mark.parametrize(
        ("error", "kind", "words", "retryable"),
        [
            (httpx.ConnectTimeout("x"), TransportError, "within 10 s; is the host reachable", True),
            (httpx.PoolTimeout("x"), TransportError, "too many at once", True),
            (httpx.WriteTimeout("x"), TransportError, "silent", True),
            (httpx.ProxyError("407"), TransportError, "NO_PROXY", False),
            (httpx.WriteError("x"), TransportError, "broke", True),
            (httpx.DecodingError("x"), MalformedReplyError, "compressed", False),
            (httpx.UnsupportedProtocol("x"), ConfigurationError, "Check address and proxy", None),
            (ImportError("socksio"), ConfigurationError, "socksio", None),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
    )
    def test_each_failure_says_what_to_check(
        self, colour: Colour, error: Exception, kind: type[NrLlmError], words: str, retryable: bool | None
    ) -> None:
        """Every exception of a client has its sentence."""
        with pytest.raises(kind, match=words) as caught:
            colour.send(post("http://host/v1"), client=colour.raising(error))

        assert error is caught.value.__cause__
        assert retryable is getattr(caught.value, "retryable", None)

    @pytest.mark.parametrize(
        ("cause", "words", "retryable"),
        [
            (socket.gaierror(-2, "Name or service not known"), "has no address", True),
            (ssl.SSLError("wrong version"), "does the port speak https", False),
            (ssl.SSLCertVerificationError("self-signed"), "set ca_file", False),
            (ConnectionRefusedError(111, "refused"), "is the server running", True),
        ],
        ids=["name", "tls", "certificate", "refused"],
    )
    def test_a_failed_connection_says_why(self, colour: Colour, cause: Exception, words: str, retryable: bool) -> None:
        """The reason lies in the chain of causes."""
        error = httpx.ConnectError("failed")
        error.__cause__ = cause
        with pytest.raises(TransportError, match=words) as caught:
            colour.send(post("https://host/v1"), client=colour.raising(error))

        assert retryable is caught.value.retryable

    def test_an_exception_that_is_not_the_client_s_passes(self, colour: Colour) -> None:
        """A bug is not dressed up as a network failure."""
        with pytest.raises(ZeroDivisionError):
            colour.send(post("http://host/v1"), client=colour.raising(ZeroDivisionError()))


class TestOwnClient:
    def test_any_compatible_client_is_used(self, colour: Colour) -> None:
        """A client of one's own sends the request, whole or streamed."""

        def handler(request: httpx.Request) -> httpx.Response:
            return httpx.Response(201, content=request.content + request.headers["x-mine"].encode())

        client = colour.client(handler, headers={"x-mine": "!"})

        assert colour.send(post("http://host/v1", b"body"), client=client).body == b"body!"
        assert colour.stream(post("http://host/v1", b"body"), client=client)[::2] == (201, b"body!")

    def test_the_limits_of_the_options_apply_to_an_untouched_client(self, colour: Colour) -> None:
        """The library's default of five seconds would end most answers."""
        seen: list[Any] = []

        def handler(request: httpx.Request) -> httpx.Response:
            seen.append(request.extensions["timeout"]["read"])
            return httpx.Response(200)

        options = TransportOptions(read_seconds=33)
        colour.send(post("http://host"), options, colour.client(handler))
        colour.send(post("http://host"), options, colour.client(handler, timeout=9))
        colour.send(post("http://host"), options, colour.client(handler, timeout=None))

        assert seen == [33, 9, None]

    def test_a_client_that_follows_redirects_is_told_not_to(self, colour: Colour) -> None:
        """A redirect could carry the key to another host."""

        def handler(request: httpx.Request) -> httpx.Response:
            return httpx.Response(302, headers={"location": "http://evil/"})

        client = colour.client(handler, follow_redirects=True)

        assert colour.send(post("http://host"), client=client).status == 302

    def test_the_successor_of_httpx_works_too(self, colour: Colour) -> None:
        """httpx2's clients are taken and its exceptions understood."""
        httpx2 = pytest.importorskip("httpx2")
        kind = httpx2.Client if colour.name == "sync" else httpx2.AsyncClient

        def refuse(request: Any) -> Any:
            raise httpx2.ConnectError("no")

        answering = kind(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, content=b"2")))
        refusing = kind(transport=httpx2.MockTransport(refuse))

        assert colour.send(post("http://host"), client=answering).body == b"2"
        assert colour.stream(post("http://host"), client=answering)[2] == b"2"
        with pytest.raises(TransportError, match="nothing answers at http://host"):
            colour.send(post("http://host"), client=refusing)


class TestSigning:
    def test_the_auth_function_signs_each_request(self, colour: Colour) -> None:
        """What it returns is what is sent."""

        def sign(request: HttpRequest) -> HttpRequest:
            return attrs.evolve(request, headers=(*request.headers, ("x-signature", "s1")))

        with WireServer(reply(b"")) as server:
            colour.send(post(server.url), TransportOptions(auth=sign))
            colour.stream(post(server.url), TransportOptions(auth=sign))

        assert all(b"x-signature: s1" in request.lower() for request in server.requests)
        assert len(server.requests) == 2

    def test_an_asynchronous_auth_function_is_awaited(self) -> None:
        """A token may be fetched in asynchronous runs."""

        async def sign(request: HttpRequest) -> HttpRequest:
            await asyncio.sleep(0)
            return attrs.evolve(request, headers=(("x-signature", "s2"),))

        with WireServer(reply(b"")) as server:
            Colour("async").send(post(server.url), TransportOptions(auth=sign))

        assert b"x-signature: s2" in server.requests[0].lower()

    def test_an_asynchronous_auth_function_is_refused_in_a_synchronous_run(self) -> None:
        """It is named, not sent unsigned, and leaves no coroutine behind."""

        async def sign(request: HttpRequest) -> HttpRequest:
            return request

        with WireServer(reply(b"")) as server, pytest.raises(ConfigurationError, match="asynchronous run"):
            Colour("sync").send(post(server.url), TransportOptions(auth=sign))

        assert server.requests == []

    def test_an_auth_function_that_returns_something_else_is_refused(self, colour: Colour) -> None:
        """Nothing is sent unsigned."""
        with WireServer(reply(b"")) as server, pytest.raises(ConfigurationError, match="returned a NoneType"):
            colour.send(post(server.url), TransportOptions(auth=lambda request: None))

        assert server.requests == []

    def test_a_failing_auth_function_is_not_blamed_on_the_service(self, colour: Colour) -> None:
        """Its exception passes, even one of the HTTP client."""

        def sign(request: HttpRequest) -> HttpRequest:
            raise httpx.ConnectError("token service down")

        with pytest.raises(httpx.ConnectError, match="token service down"):
            colour.send(post("http://host"), TransportOptions(auth=sign))


class TestProxies:
    @pytest.mark.parametrize(
        ("environment", "url", "proxy"),
        [
            ({"HTTP_PROXY": "http://p:1"}, "http://api.test", "http://p:1"),
            ({"HTTP_PROXY": "http://p:1"}, "https://api.test", None),
            ({"HTTPS_PROXY": "p:2"}, "https://api.test", "http://p:2"),
            ({"ALL_PROXY": "http://p:3"}, "https://api.test", "http://p:3"),
            ({"HTTPS_PROXY": "http://p:2", "NO_PROXY": "api.test"}, "https://api.test", None),
            ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "api.test"}, "http://api.test:8080", None),
            ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "api.test:8080"}, "http://api.test:8080", None),
            ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "api.test:9090"}, "http://api.test:8080", "http://p:1"),
            ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "*"}, "http://[2001:db8::1]:8080", None),
            ({"HTTP_PROXY": "http://p:1"}, "http://localhost:11434", None),
            ({"HTTP_PROXY": "http://p:1"}, "http://127.0.0.1:11434", None),
            ({"HTTP_PROXY": "http://p:1"}, "http://[::1]:11434", None),
        ],
    )
    def test_the_environment_prescribes_the_proxy(
        self, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, proxy: str | None
    ) -> None:
        """The usual variables count, except for traffic to this machine, which must not leave it."""
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

        assert proxy == _reach.proxy_for(_reach.target(url))

    def test_a_request_goes_through_the_proxy(self, colour: Colour, monkeypatch: pytest.MonkeyPatch) -> None:
        """The proxy gets the whole address."""
        with WireServer(reply(b"via")) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            answer = colour.send(post("http://api.test/v1"))

        assert answer.body == b"via"
        assert proxy.requests[0].startswith(b"POST http://api.test/v1 HTTP/1.1")

    def test_a_proxy_reached_by_tls_is_verified(self, colour: Colour, monkeypatch: pytest.MonkeyPatch) -> None:
        """A plain proxy behind an `https:` address fails in the handshake, for the address asked for."""
        with WireServer(reply(b"")) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("http:", "https:"))
            with pytest.raises(TransportError, match=r"http://api\.test/v1"):
                colour.send(post("http://api.test/v1"), TransportOptions(connect_seconds=0.1))

    @pytest.mark.parametrize(
        ("proxy", "kind"), [("gopher://ann:pw@p:1", "a 'gopher' proxy"), ("ann:pw://p", "a strange proxy")]
    )
    def test_a_proxy_of_an_unknown_kind_is_refused(
        self, colour: Colour, monkeypatch: pytest.MonkeyPatch, proxy: str, kind: str
    ) -> None:
        """The error names the kind and not the password."""
        monkeypatch.setenv("HTTP_PROXY", proxy)

        with pytest.raises(ConfigurationError, match=kind) as caught:
            colour.send(post("http://api.test/v1"))

        assert "pw" not in str(caught.value)


class TestTrust:
    def test_plain_addresses_cost_no_tls_context(self, colour: Colour) -> None:
        """The system's certificates are loaded at the first `https:` request only."""
        before = _reach.tls_context.cache_info().currsize
        with WireServer(reply(b"")) as server:
            colour.send(post(server.url))

        assert before == _reach.tls_context.cache_info().currsize

    def test_contexts_are_made_once_per_pair_of_files(self) -> None:
        """Providers with the same settings share a context."""
        assert _reach.tls_context(None, None) is _reach.tls_context(None, None)

    @pytest.mark.parametrize("setting", ["ca_file", "client_certificate"])
    def test_a_missing_certificate_file_is_named(self, colour: Colour, tmp_path: Path, setting: str) -> None:
        """The error names the setting and the file."""
        options = TransportOptions(**{setting: str(tmp_path / "absent.pem")})

        with pytest.raises(ConfigurationError, match=rf"{setting}='.*absent\.pem'"):
            colour.send(post("https://127.0.0.1:1/v1"), options)

    def test_an_untrusted_certificate_says_what_to_set(self, colour: Colour, tls_server: tuple[str, str]) -> None:
        """A certificate of one's own authority is refused, and the error names `ca_file`."""
        url, _ = tls_server

        with pytest.raises(TransportError, match=rf"certificate of {url} is not trusted.*ca_file") as caught:
            colour.send(post(url))

        assert not caught.value.retryable

    def test_a_certificate_of_a_given_authority_is_trusted(self, colour: Colour, tls_server: tuple[str, str]) -> None:
        """`ca_file` makes the same certificate good."""
        url, authority = tls_server

        assert colour.send(post(url), TransportOptions(ca_file=authority)).body == b"tls"

    def test_a_connection_with_tls_serves_again(self, colour: Colour, tls_server: tuple[str, str]) -> None:
        """What a server sends of its own accord after a handshake is no reason to end it."""
        url, authority = tls_server
        options = TransportOptions(ca_file=authority)

        async def thrice() -> list[HttpReply]:
            transport = AsyncHttpTransport(options)
            async with contextlib.aclosing(transport):
                return [await transport.send(post(url)) for _ in range(3)]

        if colour.name == "sync":
            with contextlib.closing(HttpTransport(options)) as transport:
                replies = [transport.send(post(url)) for _ in range(3)]
        else:
            replies = asyncio.run(thrice())

        assert ["1", "1", "1"] == [each.headers["x-connection"] for each in replies]


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Yield the address of an `https:` server and the file that makes it trusted."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    files = ["-keyout", str(key), "-out", str(certificate), "-addext", "subjectAltName=DNS:localhost"]
    try:
        subprocess.run(command + files, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl command to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve_tls, args=(server, context), daemon=True).start()
        yield f"https://localhost:{server.getsockname()[1]}", str(certificate)


def _serve_tls(server: socket.socket, context: ssl.SSLContext) -> None:
    for n in itertools.count(1):
        try:
            plain, _ = server.accept()
        except OSError:
            return
        with plain, contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as secure:
            asked = b""
            while data := secure.recv(65536):
                asked += data
                if asked.endswith(b"{}"):
                    secure.sendall(reply(b"tls", b"x-connection: %d" % n)[0])
                    asked = b""


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("ollama.localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("[::1]", True),
        ("192.168.0.4", False),
        ("localhost.example.com", False),
        ("api.openai.com", False),
    ],
)
def test_this_machine_is_told_from_others(host: str, local: bool) -> None:
    """Only loopback names and addresses count as local."""
    assert local is _reach.loopback(host)


def test_importing_the_transports_imports_no_http_client() -> None:
    """The client costs more than the rest of the core; it is imported at the first request."""
    heavy = {"httptools", "httpx", "ssl", "truststore", "asyncio"}
    code = f"import sys, nr_llm.http; print(sorted({heavy} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"
