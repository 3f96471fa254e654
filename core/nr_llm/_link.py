"""
Carry the bytes of asynchronous requests on asyncio itself.

It does what httpcore asks of a network too, so that requests through a proxy take the same connections: httpcore's own
way is anyio, whose cancel scopes and checkpoints cost a third of a request, and which runs need for nothing.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from nr_llm import _failures

if TYPE_CHECKING:
    import ssl

MOST_UNREAD = 256 * 1024
"""Bytes taken in ahead of a reader; then the sender has to wait."""

HEAD_START = 0.25
"""Seconds an address of a host has before the next one is tried beside it (RFC 8305)."""

NO_LIMIT = 24 * 3600.0
"""Seconds; stands for none where asyncio would set a limit of its own."""


class Link(asyncio.Protocol):
    """
    One connection; read by one task and written by one at a time, as HTTP/1.1 does.

    Args:
        failures: Where the exceptions to raise are: `nr_llm._failures`, or httpcore, which has them too.
    """

    def __init__(self, failures: Any = _failures) -> None:
        self._loop = asyncio.get_running_loop()
        self._failures = failures
        self._transport: Any = None
        self._unread = bytearray()
        self._ended = False
        self._error: Exception | None = None
        self._held = False
        self._waiter: asyncio.Future[None] | None = None

    # -- what the event loop tells ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep what came, and hold the sender back when nobody reads it."""
        self._unread += data
        if len(self._unread) > MOST_UNREAD:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Note that nothing follows; the transport closes itself."""
        self._ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Note that the connection is gone."""
        self._ended, self._error, self._held = True, error or self._error, False
        self._wake()

    def pause_writing(self) -> None:
        """Note that the other side takes no more for now."""
        self._held = True

    def resume_writing(self) -> None:
        """Note that it does again."""
        self._held = False
        self._wake()

    # -- what a request asks for --------------------------------------------------------------------------------

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  # httpcore's form
        """Return what has come, waiting for the first byte; nothing at the end."""
        while not self._unread and not self._ended:
            await self._woken(timeout, self._failures.ReadTimeout)
        if self._error is not None and not self._unread:
            raise self._failures.ReadError(str(self._error)) from self._error
        data = bytes(self._unread[:max_bytes])
        del self._unread[:max_bytes]
        if not self._ended and len(self._unread) <= MOST_UNREAD and not self._transport.is_reading():
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  # httpcore's form
        """Send `buffer`, and wait while the other side takes no more."""
        if not self._ended:
            self._transport.write(buffer)
        while self._held:
            await self._woken(timeout, self._failures.WriteTimeout)
        if self._ended:
            raise self._failures.WriteError("the connection was closed") from self._error

    def close(self) -> None:
        """End the connection; the loop closes its socket in its next turn.  Whoever reads has not come to its end."""
        self._error = self._error or ConnectionAbortedError("the connection was closed here")
        self._transport.abort()

    shut = close

    def later(self, call: Callable[[], None]) -> None:
        """Have the loop of the connection make a call, if it still runs; from any thread."""
        with suppress(RuntimeError):  # it was closed
            self._loop.call_soon_threadsafe(call)

    async def aclose(self) -> None:
        """End the connection, and let the loop close its socket."""
        self.close()
        await asyncio.sleep(0)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's form
    ) -> Self:
        """Go on in TLS."""
        try:
            async with asyncio.timeout(timeout):
                self._transport = await self._loop.start_tls(
                    self._transport,
                    self,
                    ssl_context,
                    server_hostname=server_hostname,
                    ssl_handshake_timeout=NO_LIMIT,
                )
        except TimeoutError as error:
            raise self._failures.ConnectTimeout from error
        except OSError as error:  # ssl.SSLError is one
            raise self._failures.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore wants to know: the TLS object, and whether an idle connection is of no more use."""
        return self.has_news() if info == "is_readable" else self._transport.get_extra_info(info)

    def has_news(self) -> bool:
        """Return whether an idle connection is of no more use: closed, or something came that nobody asked for."""
        return bool(self._unread) or self._ended or _has_news(self._transport.get_extra_info("socket"))

    # -- waiting ------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _woken(self, seconds: float | None, late: type[Exception]) -> None:
        """
        Wait until something happened.

        Raises:
            Exception: `late`, when `seconds` have passed.
        """
        self._waiter = waiter = self._loop.create_future()
        timer = self._loop.call_later(NO_LIMIT if seconds is None else seconds, _give_up, waiter, late)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None


async def connected(host: str, port: int, seconds: float | None, failures: Any = _failures) -> Link:
    """
    Return a connection to `host`.

    Args:
        host: Where to.
        port: Its port.
        seconds: Time to connect.
        failures: As for `Link`.
    """
    loop = asyncio.get_running_loop()
    # Other implementations of the loop do not know the setting; and a race that is cancelled late leaves the socket
    # that won to the garbage collector, so that there is none where there is only one address.
    races = isinstance(loop, asyncio.BaseEventLoop) and not host.replace(".", "").isdigit()
    more: dict[str, Any] = {"happy_eyeballs_delay": HEAD_START} if races else {}
    try:
        async with asyncio.timeout(seconds):
            _, link = await loop.create_connection(lambda: Link(failures), host, port, **more)
    except TimeoutError as error:
        raise failures.ConnectTimeout from error
    except OSError as error:
        raise failures.ConnectError(str(error)) from error
    return link


def _give_up(waiter: asyncio.Future[None], late: type[Exception]) -> None:
    if not waiter.done():
        waiter.set_exception(late())


def _has_news(sock: Any) -> bool:
    """Whether the loop has not yet seen what came: a closed connection, while something else kept it busy."""
    news = select.poll()
    news.register(sock.fileno(), select.POLLIN)
    return bool(news.poll(0))
