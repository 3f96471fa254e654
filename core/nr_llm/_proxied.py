"""Send through a proxy: over httpcore, in both colours, since proxies are rare and their ways many."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from nr_llm._kept import CONNECTIONS, KEEP_SECONDS
from nr_llm._link import connected
from nr_llm._outgoing import Address, Outgoing
from nr_llm._reach import no_trust, tls_context

if TYPE_CHECKING:
    import ssl


class Proxied:
    """
    The way to one place through a proxy.

    Args:
        proxy: The proxy's address.
        context: The trust for TLS with the place, or None for none.
        ca_file: Authorities to trust for TLS with the proxy.
    """

    def __init__(self, proxy: str, context: ssl.SSLContext | None, *, ca_file: str | None) -> None:
        self._pool: httpcore.ConnectionPool = _pool("", proxy, context, ca_file=ca_file)

    def open(self, request: Outgoing) -> httpcore.Response:
        """Send a request and return its reply as soon as the head is there."""
        return self._pool.handle_request(_request(request))

    def close(self) -> None:
        """End all connections."""
        self._pool.close()

    def drop(self) -> None:
        """Leave all connections to another process: nobody holds the pool any more."""


class AsyncProxied:
    """The asynchronous twin of `Proxied`."""

    def __init__(self, proxy: str, context: ssl.SSLContext | None, *, ca_file: str | None) -> None:
        self._pool: httpcore.AsyncConnectionPool
        self._pool = _pool("Async", proxy, context, ca_file=ca_file, network_backend=_Links())

    async def open(self, request: Outgoing) -> httpcore.Response:
        """Send a request and return its reply as soon as the head is there."""
        return await self._pool.handle_async_request(_request(request))

    async def aclose(self) -> None:
        """End all connections."""
        await self._pool.aclose()


class _Links(httpcore.AsyncNetworkBackend):
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's form
        local_address: str | None = None,  # noqa: ARG002  # our pools do not have it
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002  # nor this
    ) -> Any:
        return await connected(host, port, timeout, httpcore)


def _pool(colour: str, proxy: str, context: ssl.SSLContext | None, *, ca_file: str | None, **settings: Any) -> Any:
    way = httpx.Proxy(proxy)
    settings |= {
        "ssl_context": context or no_trust(),
        "max_connections": CONNECTIONS,
        "max_keepalive_connections": CONNECTIONS,
        "keepalive_expiry": KEEP_SECONDS,
        "proxy_url": httpcore.URL(
            scheme=way.url.raw_scheme, host=way.url.raw_host, port=way.url.port, target=way.url.raw_path
        ),
        "proxy_auth": way.raw_auth,
    }
    if way.url.scheme.startswith("socks"):
        import_module("socksio")  # said here what httpcore would say in an exception of no class of its own
        return getattr(httpcore, f"{colour}SOCKSProxy")(**settings)
    trust = tls_context(ca_file, None) if way.url.scheme == "https" else None
    return getattr(httpcore, f"{colour}HTTPProxy")(proxy_ssl_context=trust, **settings)


def _request(request: Outgoing) -> httpcore.Request:
    head, connect, read = request.head, request.connect_seconds, request.patience.seconds
    return httpcore.Request(
        head.method,
        _url(head.address),
        headers=[*head.headers, (b"content-length", b"%d" % len(request.body))],
        content=request.body,
        extensions={"timeout": {"connect": connect, "read": read, "write": read, "pool": connect}},
    )


@lru_cache(maxsize=64)
def _url(address: Address) -> httpcore.URL:
    return httpcore.URL(scheme=address.scheme, host=address.host, port=address.port, target=address.path)
