"""
Send requests over HTTP, in both colours: the one module that knows an HTTP client.

Codecs make and read bytes; here they travel.  The client library is imported at the first request, a TLS context
is made at the first ``https:`` one, and connections live as long as the transport.  Requests go straight to
httpcore's connection pools, on which httpx is built: what httpx adds is half of the cost of a call, and cookies,
redirects and merged defaults are nothing that a model service needs.  It still reads addresses and compressed
replies.  A client of one's own is used as it is.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import AsyncIterable, Coroutine, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import attrs

from nr_llm._explain import explained
from nr_llm._reach import Target, no_trust, proxy_for, target, tls_context
from nr_llm._receive import AsyncHttpStream, HttpStream, agathered, gathered
from nr_llm.errors import ConfigurationError
from nr_llm.providers import HttpReply, HttpRequest, TransportOptions

if TYPE_CHECKING:
    import asyncio

    import httpcore

CONNECTIONS = 1000
"""Connections a pool may open and keep; httpx's own 100 and 20 make bursts wait and reconnect."""

KEEP_SECONDS = 60.0
"""Seconds an idle connection is kept: longer than most tools take, so that the next round finds it open."""

_DEFAULTS = (("user-agent", "nr-llm"), ("accept", "*/*"))


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
        self._pools: dict[str, httpcore.ConnectionPool] = {}
        self._lock = threading.Lock()

    def send(self, request: HttpRequest, *, seconds: float | None = None) -> HttpReply:
        """
        Send a request and return the whole reply, whatever its status; redirects are not followed.

        Args:
            request: The request.
            seconds: How long to wait at most for each piece of the reply, where that is less than the options say.

        Raises:
            TransportError: No reply came; `url` and the message say where and what to check.
            ConfigurationError: The address, a header or a certificate file cannot be used.
            MalformedReplyError: The reply is too large, or compressed in a way that cannot be read.
        """
        request = self._signed(request)
        place, options = target(request.url), _within(self._options, seconds)
        with explained(place, options):
            response = self._open(request, place, options)
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
        place, options = target(request.url), _within(self._options, seconds)
        with explained(place, options):
            response = self._open(request, place, options)
            headers = _headers(response)
            pieces = iter(self._pieces(response, headers))
            return HttpStream(_status(response), headers, response, pieces, place, options)

    def close(self) -> None:
        """Close all connections; the transport may be used again and opens new ones."""
        with self._lock:
            pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.close()

    def _open(self, request: HttpRequest, place: Target, options: TransportOptions) -> Any:
        if self._client is None:
            return self._pool(place).handle_request(_own_request(request, place, options))
        built = _client_request(self._client, request, place, options)
        return self._client.send(built, stream=True, follow_redirects=False)

    def _pieces(self, response: Any, headers: Mapping[str, str]) -> Iterable[bytes]:
        if self._client is None:
            if headers.get("content-encoding", "identity") == "identity":
                return response.stream  # type: ignore[no-any-return]
            response = _inflating(response)
        return response.iter_bytes()  # type: ignore[no-any-return]

    def _signed(self, request: HttpRequest) -> HttpRequest:
        if self._options.auth is None:
            return request
        signed = self._options.auth(request)
        if isinstance(signed, Coroutine):
            signed.close()
        return _checked(signed)

    def _pool(self, place: Target) -> httpcore.ConnectionPool:
        pool = self._pools.get(place.origin)
        if pool is None:
            with self._lock:
                pool = self._pools.get(place.origin) or _new_pool(place, self._options)
                self._pools[place.origin] = pool
        return pool


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
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, httpcore.AsyncConnectionPool]]
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
            headers = _headers(response)
            pieces = aiter(self._pieces(response, headers))
            return AsyncHttpStream(_status(response), headers, response, pieces, place, self._options)

    async def aclose(self) -> None:
        """Close the connections of the running loop; the transport may be used again and opens new ones."""
        import asyncio

        for pool in self._loops.pop(asyncio.get_running_loop(), {}).values():
            await pool.aclose()

    async def _open(self, request: HttpRequest, place: Target) -> Any:
        if self._client is None:
            return await self._pool(place).handle_async_request(_own_request(request, place, self._options))
        built = _client_request(self._client, request, place, self._options)
        return await self._client.send(built, stream=True, follow_redirects=False)

    def _pieces(self, response: Any, headers: Mapping[str, str]) -> AsyncIterable[bytes]:
        if self._client is None:
            if headers.get("content-encoding", "identity") == "identity":
                return response.stream  # type: ignore[no-any-return]
            response = _inflating(response)
        return response.aiter_bytes()  # type: ignore[no-any-return]

    async def _signed(self, request: HttpRequest) -> HttpRequest:
        if self._options.auth is None:
            return request
        signed = self._options.auth(request)
        return _checked(await signed if isawaitable(signed) else signed)

    def _pool(self, place: Target) -> httpcore.AsyncConnectionPool:
        import asyncio

        pools = self._loops.get(asyncio.get_running_loop())
        if pools is None:
            pools = self._begin(asyncio.get_running_loop())
        pool = pools.get(place.origin)
        if pool is None:
            from nr_llm._link import Links

            pool = pools[place.origin] = _new_pool(place, self._options, "Async", network_backend=Links())
        return pool

    def _begin(self, loop: asyncio.AbstractEventLoop) -> dict[str, httpcore.AsyncConnectionPool]:
        """Give `loop` pools of its own, and let go of loops that ended: their connections hold on to them."""
        with self._lock:
            for ended in [old for old in self._loops if old.is_closed()]:
                del self._loops[ended]
            return self._loops.setdefault(loop, {})


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


def _wire_headers(request: HttpRequest, place: Target) -> list[tuple[str, str]]:
    headers = list(request.headers)
    given = {name.lower() for name, _ in headers}
    # A compressing proxy holds deltas back until it has a block, so a stream asks for none.
    defaults = (*_DEFAULTS, ("accept-encoding", "identity" if request.stream else "gzip, deflate"))
    headers += [pair for pair in defaults if pair[0] not in given]
    if place.basic is not None and "authorization" not in given:
        headers.append(("authorization", place.basic))
    return headers


def _own_request(request: HttpRequest, place: Target, options: TransportOptions) -> httpcore.Request:
    import httpcore

    host, address = _address(place.url)
    headers = [(b"host", host)]
    headers += [(name.encode("ascii"), value.encode("ascii")) for name, value in _wire_headers(request, place)]
    headers.append((b"content-length", b"%d" % len(request.body)))
    return httpcore.Request(
        request.method,
        address,
        headers=headers,
        content=request.body,
        extensions={"timeout": _named_limits(options.connect_seconds, options.read_seconds)},
    )


@lru_cache(maxsize=64)
def _address(url: str) -> tuple[bytes, httpcore.URL]:
    """Return the `Host` header and the address, percent-encoded and the host in its form for the wire."""
    import httpx

    parsed = httpx.URL(url)
    _ = parsed.host  # refuses what has no form in the domain name system
    return parsed.netloc, _core_url(parsed)


def _core_url(url: Any) -> httpcore.URL:
    import httpcore

    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


@lru_cache(maxsize=64)
def _named_limits(connect: float, read: float) -> Mapping[str, float]:
    return {"connect": connect, "read": read, "write": read, "pool": connect}


def _client_request(client: Any, request: HttpRequest, place: Target, options: TransportOptions) -> Any:
    timeout = client.timeout
    # Untouched, the library's default of 5 s would end most answers of a model.
    own = (
        {}
        if timeout != type(timeout)(5.0)
        else {"timeout": tuple(_named_limits(options.connect_seconds, options.read_seconds).values())}
    )
    headers = _wire_headers(request, place)
    return client.build_request(request.method, place.url, headers=headers, content=request.body, **own)


def _new_pool(place: Target, options: TransportOptions, colour: str = "", **settings: Any) -> Any:
    """
    Open a pool of connections to `place`.

    Args:
        place: Where to.
        options: The certificates.
        colour: Prefix of the names of httpcore's classes: ``Async``, or nothing.
        **settings: Further arguments of the class.
    """
    import httpcore

    proxy = proxy_for(place, options.proxy)
    settings |= {
        "ssl_context": tls_context(options.ca_file, options.client_certificate) if place.secure else no_trust(),
        "max_connections": CONNECTIONS,
        "max_keepalive_connections": CONNECTIONS,
        "keepalive_expiry": KEEP_SECONDS,
    }
    if proxy is None:
        return getattr(httpcore, f"{colour}ConnectionPool")(**settings)
    import httpx

    way = httpx.Proxy(proxy)
    settings |= {"proxy_url": _core_url(way.url), "proxy_auth": way.raw_auth}
    if way.url.scheme.startswith("socks"):
        import_module("socksio")  # said here what httpcore would say in an exception of no class of its own
        return getattr(httpcore, f"{colour}SOCKSProxy")(**settings)
    trust = tls_context(options.ca_file, None) if way.url.scheme == "https" else None
    return getattr(httpcore, f"{colour}HTTPProxy")(proxy_ssl_context=trust, **settings)


def _inflating(response: Any) -> Any:
    import httpx

    return httpx.Response(200, headers=response.headers, content=response.stream)


def _status(response: Any) -> int:
    status: int = response.status_code if hasattr(response, "status_code") else response.status
    return status


def _headers(response: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in getattr(response.headers, "raw", response.headers):
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
