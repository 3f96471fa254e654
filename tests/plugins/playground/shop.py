"""A shop whose tools read, write, ask and wait, and a playground over it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from nr_llm import Actor, MemoryStore, Runtime, ToolArtifact, ToolContext, ToolResult, tool
from nr_llm.testing import ScriptedProvider, calling
from nr_llm_playground import Caps, Playground, create_app

from tests.plugins.playground.client import Client

ANN, BOB, EVE = Actor("ann"), Actor("bob", approver=True), Actor("eve")
ROOT = Actor("root", admin=True)
PEOPLE = {actor.id: actor for actor in (ANN, BOB, EVE, ROOT)}

REMOVED: list[str] = []
"""What was removed."""


@tool
def stock(article: str) -> ToolResult:
    """Say how many of an article are in stock."""
    return ToolResult.text("12 in stock", ToolArtifact.table("Stock", ["article", "count"], [[article, 12]]))


@tool(effect="write", preview=lambda article: f"{article}: 12 in stock")
def remove(article: str) -> str:
    """Remove an article."""
    REMOVED.append(article)
    return f"{article} is removed"


@tool(form={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
def send(city: str = "") -> str:
    """Send what was ordered."""
    return f"sent to {city}"


@tool(effect="write", admin_only=True)
def close_shop() -> str:
    """Close the shop."""
    return "closed"


class Gate:
    """A tool that waits until a test lets it go on, telling of its progress."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.reached = asyncio.Event()
        self.tool = tool(timeout=None)(self._function())

    def _function(self) -> Callable[..., Any]:
        async def wait(context: ToolContext) -> str:
            """Wait."""
            self.reached.set()
            context.progress("waiting")
            await self.opened.wait()
            return "went on"

        return wait


def who(request: Any) -> Actor | None:
    """Say who asks, as a host application would that has signed them in."""
    return PEOPLE.get(request.headers.get("x-user", ""))


def runtime_of(
    *replies: Any, tools: Any = (stock, remove, send, close_shop), host: Any = None, **settings: Any
) -> Runtime:
    """Return a Runtime whose model says what a test wrote."""
    settings = {"store": MemoryStore()} | settings
    return Runtime(host, tools=tools, providers=[ScriptedProvider(*replies)], model="scripted:demo", **settings)


@asynccontextmanager
async def opened(
    *replies: Any, caps: Caps | None = None, user: str = "root", **settings: Any
) -> AsyncIterator[tuple[Client, Playground, Runtime]]:
    """Open a playground over the shop."""
    async with runtime_of(*replies, **settings) as runtime:
        app = create_app(runtime, actor=who, caps=caps)
        async with app:
            yield Client(app, x_user=user), app, runtime


ORDER = calling(("stock", {"article": "lamp"}), ("remove", {"article": "lamp"}))
"""A turn with a read and a write that has to be approved."""

SENDS = calling(("send", {}))
"""A turn with a call that asks for a form."""


def ended(app: Playground) -> bool:
    """Say whether nothing is under way."""
    return app.live.under_way == 0
