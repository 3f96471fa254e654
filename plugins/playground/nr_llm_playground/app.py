"""The page and its API as one ASGI application, by itself or under any path of another one."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Self

from nr_llm.actors import Actor
from nr_llm.runtime import Runtime
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from nr_llm_playground.api import Api
from nr_llm_playground.assets import PAGE, assets, served
from nr_llm_playground.bodies import Held
from nr_llm_playground.caps import Caps
from nr_llm_playground.guard import ALWAYS, LOOPBACK, Doors, check_header
from nr_llm_playground.live import LiveRuns
from nr_llm_playground.rates import Rates
from nr_llm_playground.refusals import Refusal, answer_of
from nr_llm_playground.replies import json_reply
from nr_llm_playground.server import Naming, Server
from nr_llm_playground.tokens import Token

HERE: Final = Actor("playground", admin=True, approver=True)
"""Whoever knows the token, where nobody says who that is."""

_HEADERS: Final = [(name.lower().encode(), value.encode()) for name, value in ALWAYS]


class Playground:
    """
    The page and its API; an ASGI application.  Close it before the event loop ends, so that its runs are settled.

    Attributes:
        token: What lets in, or None where the host application decides.
        live: The runs under way.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._router = _router(Api(server), server)
        self.token = server.token
        self.live = server.live

    def __repr__(self) -> str:
        return f"<Playground with {self.live.under_way} runs under way>"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await _lifespan(self, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks in web sockets
            await send({"type": "websocket.close", "code": 1008})
            return
        out = _Out(send)
        try:
            await self._guarded(scope, receive, out)
        except HTTPException as error:  # of the router: another method than the call has
            await self._answer(Refusal(error.status_code, "method", error.detail), scope, receive, out)
        except Exception as error:  # noqa: BLE001  # answered by its id, and logged
            await self._answer(error, scope, receive, out)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, doors = Request(scope, receive), self._server.doors
        host = doors.check_host(request.headers.getlist("host"))
        path = _path(scope)
        if path == "":
            address = (scope.get("root_path") or "") + "/"
            await RedirectResponse(address, 307)(scope, receive, send)
            return
        if path != "/":  # the page itself may be opened from anywhere: it holds nothing
            doors.check_origin(request.headers, host, scheme=request.url.scheme)
        if path.startswith("/api/"):
            check_header(request.headers)
        await self._router({**scope, "app": self}, receive, send)  # with one, its refusals are raised

    async def _answer(self, error: Exception, scope: Scope, receive: Receive, out: _Out) -> None:
        status, body, headers = answer_of(error, self._server.redactor)
        if out.begun:  # too late for a status: the connection breaks, and the reader comes again
            raise error
        await json_reply(body, status, headers=headers)(scope, receive, out)

    async def aclose(self) -> None:
        """End what is under way; every run is settled."""
        await self.live.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def create_app(
    runtime: Runtime,
    *,
    actor: Naming | None = None,
    token: Token | str | None = None,
    hosts: Iterable[str] | None = LOOPBACK,
    origins: Iterable[str] = (),
    caps: Caps | None = None,
) -> Playground:
    """
    Return the playground as an ASGI application.

    Mount it under any path, such as ``app.mount("/playground", create_app(runtime, actor=who))``, and close it with
    `Playground.aclose` when the host application ends.

    Args:
        runtime: What runs the conversations; its store, plugins and limits are those of the page.
        actor: Says who sends a request, by whatever means the host application has; None for nobody who may.  What they
            may see and do follows from the `Actor`: administrators see steps whole, others as the level leaves them.
        token: A secret that lets in by itself, as the command uses it; without `actor` whoever knows it may do
            everything.
        hosts: Names under which the page is reached, as browsers send them (``example.org``, ``localhost:8000``); None
            where something in front checks that.
        origins: Origins that may call beside the page's own, where something in front changes the host.
        caps: How much anybody may use.

    Raises:
        ValueError: Nothing says who may use it, or a host or origin is none.
    """
    if actor is None and token is None:
        raise ValueError("say who may use it: pass actor=, a function of the request, or token=")
    caps = caps or Caps()
    return Playground(
        Server(
            runtime=runtime,
            naming=actor or (lambda _: HERE),
            token=Token(token) if isinstance(token, str) else token,
            doors=Doors.of(hosts, origins),
            caps=caps,
            live=LiveRuns(caps, runtime.redactor),
            rates=Rates(caps.requests),
            bodies=Held(caps.held_bytes),
        )
    )


def _router(api: Api, server: Server) -> Router:
    async def page(request: Request) -> Response:
        if server.token is None:  # whom the host application does not know sees nothing
            await server.actor(request)
        return _file(PAGE, request)

    async def asset(request: Request) -> Response:
        return _file(request.path_params["name"], request)

    run = "/api/runs/{run_id}"
    calls: list[tuple[str, Any, str]] = [
        ("/", page, "GET"),
        ("/assets/{name}", asset, "GET"),
        ("/api/session", api.session, "POST"),
        ("/api/context", api.context, "GET"),
        ("/api/demo", api.demo, "GET"),
        ("/api/runs", api.runs, "GET"),
        ("/api/runs", api.begin, "POST"),
        (run, api.run, "GET"),
        (f"{run}/events", api.events, "GET"),
        (f"{run}/cancel", api.cancel, "POST"),
        (f"{run}/decide", api.decide, "POST"),
        (f"{run}/submit", api.submit, "POST"),
        (f"{run}/export", api.export, "GET"),
    ]
    routes = [Route(path, call, methods=[method]) for path, call, method in calls]
    return Router(routes, redirect_slashes=False, default=_unknown)


def _file(name: str, request: Request) -> Response:
    found = assets().get(name)
    if found is None:
        raise Refusal(404, "unknown", "There is no such file.")
    return served(found, request)


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive, send
    raise Refusal(404, "unknown", "There is no such call.")


def _path(scope: Scope) -> str:
    """Return the path below the mount point; empty for the mount point without its slash."""
    path: str = scope["path"]
    root: str = scope.get("root_path") or ""
    return path.removeprefix(root) if root and (path == root or path.startswith(f"{root}/")) else path


class _Out:
    """Sends an answer with the headers that every one has, and remembers whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await self._send(message)


async def _lifespan(app: Playground, receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            await app.aclose()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "lifespan.startup.complete"})
