"""What all endpoints work with: the Runtime, the live runs, who asks, and a thread for a store that blocks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import attrs
from nr_llm._aside import aside
from nr_llm._threads import DaemonThreads
from nr_llm.actors import Actor
from nr_llm.history import RunHistory
from nr_llm.redaction import Redactor
from nr_llm.runtime import Runtime
from nr_llm.stores import RunStore
from starlette.requests import Request

from nr_llm_playground.bodies import Held
from nr_llm_playground.caps import Caps
from nr_llm_playground.guard import Doors
from nr_llm_playground.live import LiveRuns
from nr_llm_playground.rates import Rates
from nr_llm_playground.refusals import Refusal
from nr_llm_playground.tokens import Token

T = TypeVar("T")

ASIDE: Final = 16
"""Calls that wait for the store or for plugins at the same time, each in a thread of its own."""

Naming = Callable[[Request], Actor | Awaitable[Actor | None] | None]
"""Says who sends a request, or None for nobody who may; plain or async."""


@attrs.define(kw_only=True, eq=False)
class Server:
    """
    The parts of a playground.

    Attributes:
        runtime: What runs the conversations.
        naming: Says who asks.
        token: What lets in, or None where the host application decides.
        doors: Which hosts and origins are served.
        caps: How much of it anybody may use.
        live: The runs under way.
        rates: How often somebody asked.
        bodies: Requests that are being read.
        streams: Feeds that are being read.
    """

    runtime: Runtime
    naming: Naming
    token: Token | None
    doors: Doors
    caps: Caps
    live: LiveRuns
    rates: Rates
    bodies: Held
    streams: int = 0
    _threads: DaemonThreads = attrs.field(factory=DaemonThreads, init=False)
    _places: asyncio.Semaphore = attrs.field(factory=lambda: asyncio.Semaphore(ASIDE), init=False)

    @property
    def redactor(self) -> Redactor:
        """Masks secrets in whatever leaves."""
        return self.runtime.redactor

    @property
    def store(self) -> RunStore | None:
        """Where runs are kept, or None."""
        return self.runtime.store

    async def actor(self, request: Request) -> Actor:
        """
        Return who asks.

        Raises:
            Refusal: Nobody who may.
        """
        if self.token is not None and not self.token.admits(request.headers.getlist("cookie")):
            raise Refusal(401, "token", "Open the address that the command printed: it holds the key to this page.")
        named = self.naming(request)
        found = await named if inspect.isawaitable(named) else named
        if not isinstance(found, Actor):
            raise Refusal(401, "nobody", "Sign in first: nobody in particular may not use this page.")
        self.rates.take(f"{found.kind}:{found.id}")
        return found

    def history(self, actor: Actor) -> RunHistory | None:
        """Return the stored runs as somebody may see them, or None without a store."""
        return None if self.store is None else RunHistory(self.store, actor, redactor=self.redactor)

    async def asked(self, call: Callable[[], T]) -> T:
        """Return what a call returns that may wait for the store or for plugins, without holding up anybody else."""
        async with self._places:
            return await aside(self._threads, call)

    def take_stream(self) -> Callable[[], None]:
        """
        Count a reader of a feed; return what to call when they have gone.

        Raises:
            Refusal: There are as many as the server takes.
        """
        if self.streams >= self.caps.streams:
            text = f"{self.caps.streams} feeds are being read, as many as this server takes; close one."
            raise Refusal(429, "busy", text, headers={"Retry-After": "5"})
        self.streams += 1
        return self._leave

    def _leave(self) -> None:
        self.streams -= 1
