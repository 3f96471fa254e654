"""A client that speaks ASGI to an application in the same loop: it sees each line as it leaves, and may stall or go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Self

import attrs

SAFE = {"host": "localhost", "x-nr-llm": "1"}
"""What every call of the page carries."""

JSON_KIND = {"content-type": "application/json"}


@attrs.define(eq=False)
class Reply:
    """A whole answer."""

    status: int = 0
    headers: dict[str, str] = attrs.field(factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        """Return the body."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The word of a refusal."""
        found: str = self.json()["error"]["code"]
        return found

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of a feed."""
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def told(self) -> list[str]:
        """The events of a feed but steps and pieces."""
        return [line["event"] for line in self.lines if line["event"] not in {"step", "text", "tool_call"}]


class Exchange:
    """One request under way: what it is answered with comes piece by piece."""

    def __init__(self, pieces: Iterable[bytes], *, unfinished: bool = False) -> None:
        self.pieces = list(pieces)
        self._unfinished = unfinished
        self.reply = Reply()
        self.taken = 0
        self.takes = asyncio.Event()
        self.takes.set()
        self.more = True
        self._gone = asyncio.Event()
        self._news: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._rest = b""
        self.task: asyncio.Task[None] | None = None

    async def receive(self) -> dict[str, Any]:
        """Give the application the next piece of the body, then nothing until the client goes."""
        if self.pieces:
            piece = self.pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(self.pieces) or self._unfinished}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """Take the head of the answer, and a piece of it as soon as the client takes any."""
        if message["type"] == "http.response.start":
            self.reply.status = message["status"]
            pairs = [(name.decode(), value.decode()) for name, value in message["headers"]]
            assert len(dict(pairs)) == len(pairs), "a header stands twice"
            self.reply.headers = dict(pairs)
            self._news.put_nowait(b"")
            return
        await self.takes.wait()
        body = message.get("body", b"")
        self.taken += len(body)
        self.reply.body += body
        self.more = message.get("more_body", False)
        self._news.put_nowait(body)
        if not self.more:
            self._news.put_nowait(None)

    def stall(self) -> None:
        """Take nothing from here on."""
        self.takes.clear()

    def leave(self) -> None:
        """Go away."""
        self._gone.set()

    async def started(self) -> Reply:
        """Return the head of the answer once it has come."""
        while not self.reply.status:
            await self._news.get()
        return self.reply

    async def line(self) -> dict[str, Any] | None:
        """Return the next line of a feed, or None at its end."""
        while b"\n" not in self._rest:
            piece = await self._news.get()
            if piece is None:
                return None
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    async def until(self, event: str) -> dict[str, Any]:
        """Return the next line of a kind."""
        while (line := await self.line()) is not None:
            if line["event"] == event:
                return line
        raise AssertionError(f"the feed ended without {event}")


class Client:
    """
    Asks an application.

    Args:
        app: The application.
        root: Where it is mounted, if something in front of it has taken that off or left it on.
        **headers: Headers of each request, underscores standing for hyphens.
    """

    def __init__(self, app: Any, *, root: str = "", **headers: str) -> None:
        self.app = app
        self.root = root
        self.headers = SAFE | {name.replace("_", "-"): value for name, value in headers.items()}

    def with_headers(self, **headers: str | None) -> Self:
        """Return a client that sends other headers; None leaves one out."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        merged = {name: value for name, value in (self.headers | named).items() if value is not None}
        made = type(self)(self.app, root=self.root)
        made.headers = merged
        return made

    def begin(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        pieces: Iterable[bytes] | None = None,
        unfinished: bool = False,
        headers: Iterable[tuple[str, str]] = (),
        scheme: str = "http",
    ) -> Exchange:
        """Send a request, whose body may lack its end, and return what becomes of it."""
        raw = [b"" if body is None else json.dumps(body).encode()] if pieces is None else pieces
        exchange = Exchange(raw, unfinished=unfinished)
        sent = {**(JSON_KIND if method == "POST" else {}), **self.headers}
        pairs = [*sent.items(), *headers]
        place, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": scheme,
            "path": self.root + place,
            "raw_path": (self.root + place).encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
            "client": ("127.0.0.1", 50_000),
            "server": ("localhost", 80),
        }
        exchange.task = asyncio.get_running_loop().create_task(self.app(scope, exchange.receive, exchange.send))
        return exchange

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Reply:
        """Send a request and return the whole answer."""
        exchange = self.begin(method, path, body, **more)
        assert exchange.task is not None
        await exchange.task
        return exchange.reply

    async def get(self, path: str, **more: Any) -> Reply:
        """Ask for something."""
        return await self.ask("GET", path, **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> Reply:
        """Say something."""
        return await self.ask("POST", path, {} if body is None else body, **more)

    @asynccontextmanager
    async def watching(
        self, method: str, path: str, body: Any = None, *, stalled: bool = False
    ) -> AsyncIterator[Exchange]:
        """Read a feed meanwhile, or nothing but its head yet, and go in the end."""
        exchange = self.begin(method, path, body)
        if stalled:
            exchange.stall()
        assert exchange.task is not None
        try:
            await exchange.started()
            yield exchange
        finally:
            exchange.takes.set()
            exchange.leave()
            await exchange.task
