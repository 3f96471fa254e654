"""The calls of the page: what each takes, whom it is for, what it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from typing import Any, Final

from nr_llm._json import JSON, encode_bytes
from nr_llm.actors import Actor, Scope
from nr_llm.errors import RunNotFoundError
from nr_llm.history import RunHistory
from nr_llm.records import RunStatus
from nr_llm_cli import exported
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from nr_llm_playground.asked import FIELDS, asked_of
from nr_llm_playground.bodies import read_object
from nr_llm_playground.context import context_of
from nr_llm_playground.demo import demo_lines
from nr_llm_playground.live import Segment
from nr_llm_playground.past import PAGE, Record, Wanted, listed, pending, replayable, summary, waits
from nr_llm_playground.refusals import Refusal
from nr_llm_playground.replies import FEED, NO_STORE, Lines, json_reply
from nr_llm_playground.running import begun, gone_on
from nr_llm_playground.server import Server
from nr_llm_playground.views import View, level_of, view_of

MOST_CHARACTERS: Final = 200
"""Of the name of a run."""

MOST_LISTED: Final = 200
"""Runs of one page of the history, however many are asked for."""


class Api:
    """
    The endpoints.

    Args:
        server: What they work with.
    """

    def __init__(self, server: Server) -> None:
        self._server = server

    # -- about the page -----------------------------------------------------------------------------------------

    async def session(self, request: Request) -> Response:
        """Give the cookie to whoever knows the token."""
        server = self._server
        server.rates.take("a session")
        body = await self._body(request, ("token",))
        if server.token is None or not server.token.is_it(body.get("token")):
            raise Refusal(401, "token", "That is not the key of this launch; open the address the command printed.")
        path = (request.scope.get("root_path") or "") + "/"
        cookie = server.token.set_cookie(path=path, secure=request.url.scheme == "https")
        return Response(status_code=204, headers={**NO_STORE, "Set-Cookie": cookie})

    async def context(self, request: Request) -> Response:
        """Tell what the form needs."""
        server, actor = self._server, await self._server.actor(request)
        return json_reply(await server.asked(partial(context_of, server.runtime, actor, server.caps)))

    async def demo(self, request: Request) -> ASGIApp:
        """Show a recorded run, without any model."""
        await self._server.actor(request)
        return self._feed(_each(demo_lines()))

    # -- running ------------------------------------------------------------------------------------------------

    async def begin(self, request: Request) -> ASGIApp:
        """Begin a run and show it."""
        server, actor = self._server, await self._server.actor(request)
        body = await self._body(request, FIELDS, most=server.caps.upload_bytes)
        segment = await begun(server, asked_of(body, server.caps), actor)
        return self._watched(segment, actor)

    async def decide(self, request: Request) -> ASGIApp:
        """Go on with a run as somebody decided, and show it."""
        return await self._go_on(request, "decisions")

    async def submit(self, request: Request) -> ASGIApp:
        """Go on with a run as somebody filled in, and show it."""
        return await self._go_on(request, "submissions")

    async def _go_on(self, request: Request, what: str) -> ASGIApp:
        actor = await self._server.actor(request)
        body = await self._body(request, (what,))
        segment = await gone_on(self._server, _run_id(request), body.get(what), what=what, actor=actor)
        return self._watched(segment, actor)

    async def cancel(self, request: Request) -> Response:
        """Have a run stop: here at once, elsewhere at its next step."""
        server, actor, run_id = self._server, await self._server.actor(request), _run_id(request)
        await self._body(request, ())
        segment, history = server.live.find(run_id), server.history(actor)
        here = segment is not None and segment.ended is None and actor.may(Scope.CANCEL, owner=segment.owner)
        if segment is not None and here:
            segment.stream.cancel("somebody stopped it on the page")
            return json_reply({"cancelled": True}, 202)
        if history is None:
            raise RunNotFoundError(run_id)
        status = await server.asked(partial(history.cancel, run_id))
        return json_reply({"cancelled": status in {RunStatus.CANCELLED, RunStatus.RUNNING}}, 202)

    # -- what there was -----------------------------------------------------------------------------------------

    async def runs(self, request: Request) -> Response:
        """List the runs that somebody may read."""
        server, actor = self._server, await self._server.actor(request)
        wanted, history = _wanted(_query(request, _LISTING)), server.history(actor)
        if history is None:
            return json_reply({"runs": [], "next": None})
        return json_reply(await server.asked(partial(listed, history, wanted)))

    async def run(self, request: Request) -> Response:
        """Show a run as it is now, with the calls it waits with for who may decide on them."""
        server, actor, run_id = self._server, await self._server.actor(request), _run_id(request)
        return json_reply(await server.asked(partial(self._run, run_id, actor)))

    def _run(self, run_id: str, actor: Actor) -> JSON:
        history, segment = self._server.history(actor), self._live(run_id, actor)
        live = segment is not None and segment.ended is None
        run = None if history is None else history.get(run_id)
        held = None if history is None else self._held(history, run_id, actor)
        if history is None or run is None:
            return {**self._unread(run_id, actor, segment), "pending": held, "live": live}
        can, why = replayable(run)
        head: dict[str, JSON] = {"run": summary(history, run), "live": live, "level": str(run.head.privacy)}
        return {**head, "pending": held, "replayable": can, "why_not": why}

    def _unread(self, run_id: str, actor: Actor, segment: Segment | None) -> dict[str, JSON]:
        """Return what is known of a run that is kept nowhere, or that somebody may decide on and not read."""
        history = self._server.history(actor)
        waiting = None if history is None else history.waiting(run_id)
        if history is not None and waiting is not None:
            told: JSON = summary(history, waiting.run)
        elif segment is not None:
            told = _facts(segment)
        else:
            raise RunNotFoundError(run_id)
        return {"run": told, "level": None, "replayable": False, "why_not": "No record of it is open to you."}

    async def events(self, request: Request) -> ASGIApp:
        """Show what happens in a run, or what happened."""
        server, actor, run_id = self._server, await self._server.actor(request), _run_id(request)
        query = _query(request, ("after", "segment"))
        after, number = _whole(query, "after", -1), _whole(query, "segment", None)
        segment = self._live(run_id, actor, number)
        if segment is None and (last := self._live(run_id, actor)) and not actor.may(Scope.READ, owner=last.owner):
            segment = last  # of what went before they see nothing: what they decided is where it begins for them
        if segment is not None and (number is not None or not await self._left_behind(segment)):
            return self._watched(segment, actor, after=-1 if after is None else after)
        record, history = await server.asked(partial(self._record, run_id, actor))
        return self._feed(self._told(record, history))

    async def _left_behind(self, segment: Segment) -> bool:
        """Return whether a run that waited here went on elsewhere, so that its record says more than its lines."""
        store = self._server.store
        if segment.ended is None or store is None or segment.stream.state.ended:
            return False
        run = await self._server.asked(partial(store.run, segment.run_id))
        return run is not None and waits(run.status) is None

    async def _told(self, record: Record, history: RunHistory) -> AsyncIterator[bytes]:
        """Yield a stored run as a feed, a few steps at a time: as many as its reader takes are held, and no more."""
        yield record.begin()
        while lines := await self._server.asked(partial(record.steps, history)):
            yield b"".join(lines)
        yield record.end()

    def _record(self, run_id: str, actor: Actor) -> tuple[Record, RunHistory]:
        history = self._server.history(actor)
        if history is None:
            raise RunNotFoundError(run_id)
        run, waiting = history.get(run_id), history.waiting(run_id)
        read = run is not None
        if run is None and waiting is not None:  # for who may decide on it and not read it: what waits, and no step
            run = waiting.run
        if run is None:
            raise RunNotFoundError(run_id)
        held = self._held(history, run_id, actor)
        level = str(run.head.privacy)
        seen = level if read else str(level_of(View.FACTS, run.head.privacy))
        facts: dict[str, JSON] = {"level": level, "view_level": seen, "filtered": seen != "full"}
        facts |= {"configuration": run.head.configuration, "host": None, "local": None}
        return Record(run=run, held=held, facts=facts, most=self._server.caps.line_bytes), history

    def _held(self, history: RunHistory, run_id: str, actor: Actor) -> list[JSON] | None:
        waiting = history.waiting(run_id)
        if waiting is None:
            return None
        return pending(waiting, self._server.runtime.toolbox(actor=actor))

    async def export(self, request: Request) -> Response:
        """Hand out the whole record of a run, as a file."""
        server, actor, run_id = self._server, await self._server.actor(request), _run_id(request)
        form = _query(request, ("form",)).get("form", "ndjson")
        if form not in {"json", "ndjson"}:
            raise Refusal(400, "invalid", "A record is exported as json or ndjson.", field="form")
        body = await server.asked(partial(self._exported, run_id, actor, form))
        kind = "application/json" if form == "json" else FEED["Content-Type"]
        named = f'attachment; filename="{_file_name(run_id)}.{form}"'
        return Response(body, headers={**NO_STORE, "Content-Type": kind, "Content-Disposition": named})

    def _exported(self, run_id: str, actor: Actor, form: str) -> bytes:
        history, store = self._server.history(actor), self._server.store
        run = None if history is None else history.get(run_id)
        if store is None or run is None:
            raise RunNotFoundError(run_id)
        if form == "json":
            return encode_bytes(exported.whole(store, run)) + b"\n"
        return b"".join(encode_bytes(line) + b"\n" for line in exported.records(store, run))

    # -- common -------------------------------------------------------------------------------------------------

    async def _body(self, request: Request, fields: Iterable[str], *, most: int | None = None) -> dict[str, Any]:
        caps, held = self._server.caps, self._server.bodies
        bound = caps.body_bytes if most is None else most
        return await read_object(request, fields=fields, most=bound, seconds=caps.body_seconds, held=held)

    def _live(self, run_id: str, actor: Actor, number: int | None = None) -> Segment | None:
        """Return a segment that somebody may watch, or None."""
        segment = self._server.live.find(run_id, number)
        if segment is None or not any(actor.may(scope, owner=segment.owner) for scope in (Scope.READ, Scope.APPROVE)):
            return None
        view = view_of(actor, owner=segment.owner, level=segment.level)  # the bare facts are told of what they decided
        return segment if view in segment.views else None

    def _watched(self, segment: Segment, actor: Actor, *, after: int = -1) -> ASGIApp:
        view = view_of(actor, owner=segment.owner, level=segment.level)
        return self._feed(segment.views[view].tail.read(after, heartbeat=self._server.caps.heartbeat_seconds))

    def _feed(self, lines: AsyncIterator[bytes]) -> ASGIApp:
        left = self._server.take_stream()
        return Lines(lines, stalled_seconds=self._server.caps.stalled_seconds, done=left)


async def _each(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


def _facts(segment: Segment) -> JSON:
    """Return what is known of a run that nobody keeps."""
    state = segment.stream.state
    owner = None if segment.owner is None else segment.owner.to_dict()
    return {
        "run_id": state.run_id,
        "status": "running" if segment.ended is None else "ended",
        "reason": None if state.reason is None else str(state.reason),
        "model": state.model,
        "configuration": state.configuration,
        "actor": owner,
        "rounds": state.rounds,
        "level": None,
    }


_LISTING: Final = ("status", "configuration", "text", "before", "limit")


def _run_id(request: Request) -> str:
    run_id: str = request.path_params["run_id"]
    if len(run_id) > MOST_CHARACTERS:
        raise RunNotFoundError(run_id[:MOST_CHARACTERS])
    return run_id


def _query(request: Request, names: Iterable[str]) -> Mapping[str, str]:
    """Return the parameters of an address, each of them known and there once."""
    given = request.query_params.multi_items()
    for name, _ in given:
        if name not in names or sum(other == name for other, _ in given) > 1:
            raise Refusal(400, "unknown_field", f"There is no parameter {name[:100]!r} here, or it stands twice.")
    return dict(given)


def _whole(query: Mapping[str, str], name: str, default: int | None) -> int | None:
    text = query.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or len(text) > 9:
        raise Refusal(400, "invalid", f"{name!r} has to be a whole number.", field=name)
    return int(text)


def _wanted(query: Mapping[str, str]) -> Wanted:
    names = [name for name in query.get("status", "").split(",") if name]
    unknown = [name for name in names if name not in set(RunStatus)]
    if unknown:
        text = f"{unknown[0][:100]!r} is none of {', '.join(RunStatus)}."
        raise Refusal(400, "invalid", text, field="status")
    limit = _whole(query, "limit", PAGE) or PAGE
    return Wanted(
        statuses=frozenset(map(RunStatus, names)) if names else None,
        configuration=query.get("configuration") or None,
        text=query.get("text", "")[:200],
        before=query.get("before", ""),
        limit=min(limit, MOST_LISTED),
    )


def _file_name(run_id: str) -> str:
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "_" for sign in run_id)[:80]
