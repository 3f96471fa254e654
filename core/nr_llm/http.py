"""
Send requests over HTTP, in both colours.

Codecs make and read bytes; here they travel.  What that takes is imported at the first request, a TLS context is made
at the first ``https:`` one, and connections live as long as the transport.  Requests go over connections of our own,
whose replies llhttp reads: pools, cookies, redirects and merged defaults of a client cost several times that, and a
model service needs none of them.  Only where a proxy stands between, httpcore sends; httpx still reads unusual
addresses.  A client of one's own is used as it is.
"""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from collections.abc import AsyncIterable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import attrs

from nr_llm._explain import explained
from nr_llm._inflate import ainflated, compressed, inflated
from nr_llm._reach import Target, proxy_for, target, tls_context
from nr_llm._receive import AsyncHttpStream, HttpStream, agathered, gathered
from nr_llm.errors import ConfigurationError
from nr_llm.providers import HttpReply, HttpRequest, TransportOptions

if TYPE_CHECKING:
    import asyncio
    import ssl

    from nr_llm._adirect import AsyncDirect
    from nr_llm._direct import Direct
    from nr_llm._outgoing import Address, Head, Outgoing
    from nr_llm._proxied import AsyncProxied, Proxied

_DEFAULTS = (("user-agent", "nr-llm"), ("accept", "*/*"))

_LENGTH = "content-length"

_PLAIN = re.compile(
    r"(https?)://((?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*|127\.0\.0\.1)(?::([0-9]+))?"
    r"((?:/[A-Za-z0-9_][A-Za-z0-9_.:-]*)+/?(?:\?[A-Za-z0-9_.:=&-]+)?|/?)"
)
"""An address in which nothing is to be encoded or left out, as in nearly all: httpx need not be imported for it."""


class HttpTransport:
    """
    Sends requests and waits; safe to use from several threads.

    Args:
        options: Time limits, certificates and the signing function of the provider.
        client: A client of one's own, shaped like `httpx.Client`; it is used as it is and never closed here.
            The time limits of `options` apply unless the client was given limits of its own.
    """

    def __init__(self, options: TransportOptions | None = None, *, client: Any = None) -> None:
        self._options = options or TransportOptions()
        self._client = client
        self._ways: dict[str, Direct | Proxied] = {}
        self._lock = threading.Lock()
        _TRANSPORTS.add(self)

    def send(self, request: HttpRequest, *, seconds: float | None = None) -> HttpReply:
        """
        Send a request and return the whole reply, whatever its status; redirects are not followed.

        Args:
            request: The request.
            seconds: How long to wait at most, where the limits of the options allow more.  Through a proxy or a client
                of one's own it is only the limit of each wait.

        Raises:
            TransportError: No reply came; `url` and the message say where and what to check.
            ConfigurationError: The address, a header or a certificate file cannot be used.
            MalformedReplyError: The reply is too large, or compressed in a way that cannot be read.
        """
        request = self._signed(request)
        until, place, options = _end(seconds), target(request.url), _within(self._options, seconds)
        with explained(place, options):
            response = self._open(request, place, options, until)
            try:
                headers = _headers(response)
                body = gathered(self._pieces(response, headers))
            finally:
                response.close()
            return HttpReply(_status(response), headers, body)

    def stream(self, request: HttpRequest, *, seconds: float | None = None) -> HttpStream:
        """
        Send a request and return its reply as soon as the headers are there.

        Args:
            request: The request.
            seconds: As for `send`.

        Raises:
            TransportError: As `send`.
            ConfigurationError: As `send`.
        """
        request = self._signed(request)
        until, place, options = _end(seconds), target(request.url), _within(self._options, seconds)
        with explained(place, options):
            response = self._open(request, place, options, until)
            try:
                headers = _headers(response)
                pieces = iter(self._pieces(response, headers))
            except BaseException:
                response.close()
                raise
            return HttpStream(_status(response), headers, response, pieces, place, options)

    def close(self) -> None:
        """Close all connections; the transport may be used again and opens new ones."""
        with self._lock:
            ways, self._ways = self._ways, {}
        for way in ways.values():
            way.close()

    def _forked(self) -> None:
        """Let go of the parent's connections: two processes that use one would take each other's replies."""
        ways, self._ways, self._lock = self._ways, {}, threading.Lock()  # a thread that is gone may hold the old one
        for way in ways.values():
            way.drop()

    def _open(self, request: HttpRequest, place: Target, options: TransportOptions, until: float | None) -> Any:
        if self._client is None:
            return self._way(place).open(_outgoing(request, place, options, until))
        built = _client_request(self._client, request, place, options)
        return self._client.send(built, stream=True, follow_redirects=False)

    def _pieces(self, response: Any, headers: Mapping[str, str]) -> Iterable[bytes]:
        if self._client is not None:
            return response.iter_bytes()  # type: ignore[no-any-return]
        return inflated(response.stream) if _compressed(headers) else response.stream

    def _signed(self, request: HttpRequest) -> HttpRequest:
        if self._options.auth is None:
            return request
        signed = self._options.auth(request)
        if isinstance(signed, Coroutine):
            signed.close()
        return _checked(signed)

    def _way(self, place: Target) -> Direct | Proxied:
        way = self._ways.get(place.origin)
        if way is None:
            with self._lock:
                way = self._ways[place.origin] = self._ways.get(place.origin) or _new_way(place, self._options)
        return way


_TRANSPORTS = weakref.WeakSet[HttpTransport]()
"""All there are, for a process that is forked off."""


def _forked() -> None:
    for transport in tuple(_TRANSPORTS):
        transport._forked()


with suppress(AttributeError):  # where there is no fork
    os.register_at_fork(after_in_child=_forked)


class AsyncHttpTransport:
    """
    The asynchronous twin of `HttpTransport`.

    Connections belong to an event loop, so each running loop has its own: `asyncio.run` may be called again.

    Args:
        options: As for `HttpTransport`; the signing function may be asynchronous here.
        client: A client of one's own, shaped like `httpx.AsyncClient`.
    """

    def __init__(self, options: TransportOptions | None = None, *, client: Any = None) -> None:
        self._options = options or TransportOptions()
        self._client = client
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AsyncDirect | AsyncProxied]]
        self._loops = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    async def send(self, request: HttpRequest) -> HttpReply:
        """
        Send a request and return the whole reply, whatever its status; redirects are not followed.

        Raises:
            TransportError: No reply came; `url` and the message say where and what to check.
            ConfigurationError: The address, a header or a certificate file cannot be used.
            MalformedReplyError: The reply is too large, or compressed in a way that cannot be read.
        """
        request = await self._signed(request)
        place = target(request.url)
        with explained(place, self._options):
            response = await self._open(request, place)
            try:
                headers = _headers(response)
                body = await agathered(self._pieces(response, headers))
            finally:
                await response.aclose()
            return HttpReply(_status(response), headers, body)

    async def stream(self, request: HttpRequest) -> AsyncHttpStream:
        """
        Send a request and return its reply as soon as the headers are there.

        Raises:
            TransportError: As `send`.
            ConfigurationError: As `send`.
        """
        request = await self._signed(request)
        place = target(request.url)
        with explained(place, self._options):
            response = await self._open(request, place)
            try:
                headers = _headers(response)
                pieces = aiter(self._pieces(response, headers))
            except BaseException:
                await response.aclose()
                raise
            return AsyncHttpStream(_status(response), headers, response, pieces, place, self._options)

    async def aclose(self) -> None:
        """Close the connections of the running loop; the transport may be used again and opens new ones."""
        import asyncio

        with self._lock:
            ways = self._loops.pop(asyncio.get_running_loop(), {})
        for way in ways.values():
            await way.aclose()

    async def _open(self, request: HttpRequest, place: Target) -> Any:
        if self._client is None:
            return await self._way(place).open(_outgoing(request, place, self._options, None))
        built = _client_request(self._client, request, place, self._options)
        return await self._client.send(built, stream=True, follow_redirects=False)

    def _pieces(self, response: Any, headers: Mapping[str, str]) -> AsyncIterable[bytes]:
        if self._client is not None:
            return response.aiter_bytes()  # type: ignore[no-any-return]
        return ainflated(response.stream) if _compressed(headers) else response.stream

    async def _signed(self, request: HttpRequest) -> HttpRequest:
        if self._options.auth is None:
            return request
        signed = self._options.auth(request)
        return _checked(await signed if isawaitable(signed) else signed)

    def _way(self, place: Target) -> AsyncDirect | AsyncProxied:
        import asyncio

        ways = self._loops.get(asyncio.get_running_loop())
        if ways is None:
            ways = self._begin(asyncio.get_running_loop())
        way = ways.get(place.origin)
        if way is None:
            way = ways[place.origin] = _new_async_way(place, self._options)
        return way

    def _begin(self, loop: asyncio.AbstractEventLoop) -> dict[str, AsyncDirect | AsyncProxied]:
        """Give `loop` ways of its own, and let go of loops that ended: their connections hold on to them."""
        with self._lock:
            for ended in [old for old in self._loops if old.is_closed()]:
                del self._loops[ended]
            return self._loops.setdefault(loop, {})


def _end(seconds: float | None) -> float | None:
    """Return when `seconds` will have passed, as `time.monotonic` counts."""
    return None if seconds is None else time.monotonic() + seconds


def _within(options: TransportOptions, seconds: float | None) -> TransportOptions:
    """Return options that wait no longer than `seconds`, or as long as before."""
    if seconds is None or seconds >= max(options.connect_seconds, options.read_seconds):
        return options
    least = max(seconds, 0.001)  # none at all would be refused
    return attrs.evolve(
        options,
        connect_seconds=min(options.connect_seconds, least),
        read_seconds=min(options.read_seconds, least),
    )


def _checked(signed: Any) -> HttpRequest:
    if not isinstance(signed, HttpRequest):
        raise ConfigurationError(
            f"The auth function returned a {type(signed).__name__}, not an HttpRequest.",
            remedy="Return the request to send; an async auth function needs an asynchronous run.",
        )
    return signed


def _wire_headers(given: Iterable[tuple[str, str]], place: Target, *, stream: bool) -> list[tuple[str, str]]:
    headers = list(given)
    names = {name.lower() for name, _ in headers}
    # A compressing proxy holds deltas back until it has a block, so a stream asks for none.
    defaults = (*_DEFAULTS, ("accept-encoding", "identity" if stream else "gzip, deflate"))
    headers += [pair for pair in defaults if pair[0] not in names]
    if place.basic is not None and "authorization" not in names:
        headers.append(("authorization", place.basic))
    return headers


def _outgoing(request: HttpRequest, place: Target, options: TransportOptions, until: float | None) -> Outgoing:
    from nr_llm._outgoing import Outgoing, Patience

    length = str(len(request.body))
    given = tuple((name, value) for name, value in request.headers if value != length or name.lower() != _LENGTH)
    head = _head(request.method, place, given, stream=request.stream)
    return Outgoing(head, request.body, options.connect_seconds, Patience(options.read_seconds, until))


@lru_cache(maxsize=64)
def _head(method: str, place: Target, given: tuple[tuple[str, str], ...], *, stream: bool) -> Head:
    """Return the head of a request, which is the same in all rounds of a run."""
    from nr_llm._outgoing import Head

    address = _address(place.url)
    given = tuple(pair for pair in given if (pair[0].lower(), pair[1]) != ("host", address.named))
    pairs = [("host", address.named), *_wire_headers(given, place, stream=stream)]
    return Head(address, method, [(name.encode("ascii"), value.encode("ascii")) for name, value in pairs])


@lru_cache(maxsize=64)
def _address(url: str) -> Address:
    """Return an address percent-encoded, and its host in the form for the wire."""
    from nr_llm._outgoing import USUAL, Address

    if (plain := _PLAIN.fullmatch(url)) is not None and "xn--" not in url:
        scheme, host, port, path = plain.groups()
    else:
        import httpx

        parsed = httpx.URL(url)
        _ = parsed.host  # refuses what has no form in the domain name system
        scheme, host, port, path = parsed.scheme, parsed.raw_host.decode(), parsed.port, parsed.raw_path.decode()
    number = None if port is None or int(port) == USUAL[scheme] else int(port)
    return Address(scheme, host, number, path or "/")


def _client_request(client: Any, request: HttpRequest, place: Target, options: TransportOptions) -> Any:
    connect, read, timeout = options.connect_seconds, options.read_seconds, client.timeout
    # Untouched, the library's default of 5 s would end most answers of a model.
    own = {} if timeout != type(timeout)(5.0) else {"timeout": (connect, read, read, connect)}
    headers = _wire_headers(request.headers, place, stream=request.stream)
    return client.build_request(request.method, place.url, headers=headers, content=request.body, **own)


def _new_way(place: Target, options: TransportOptions) -> Direct | Proxied:
    proxy, context = _reached(place, options)
    if proxy is None:
        from nr_llm._direct import Direct

        return Direct(context)
    from nr_llm._proxied import Proxied

    return Proxied(proxy, context, ca_file=options.ca_file)


def _new_async_way(place: Target, options: TransportOptions) -> AsyncDirect | AsyncProxied:
    proxy, context = _reached(place, options)
    if proxy is None:
        from nr_llm._adirect import AsyncDirect

        return AsyncDirect(context)
    from nr_llm._proxied import AsyncProxied

    return AsyncProxied(proxy, context, ca_file=options.ca_file)


def _reached(place: Target, options: TransportOptions) -> tuple[str | None, ssl.SSLContext | None]:
    """Return the proxy on the way to `place`, and the trust for TLS with it."""
    context = tls_context(options.ca_file, options.client_certificate) if place.secure else None
    return proxy_for(place, options.proxy), context


def _compressed(headers: Mapping[str, str]) -> bool:
    return "content-encoding" in headers and compressed(headers["content-encoding"])


def _status(response: Any) -> int:
    status: int = response.status_code if hasattr(response, "status_code") else response.status
    return status


def _headers(response: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in getattr(response.headers, "raw", response.headers):
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
