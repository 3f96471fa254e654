"""Begins runs and goes on with them; whatever refuses that is answered with a status, before any line is written."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from nr_llm._json import JSON
from nr_llm.actors import Actor
from nr_llm.approvals import Decision, DecisionError, Submission, WaitingRun
from nr_llm.errors import InvalidValueError, NrLlmError, RunClaimedError, RunNotFoundError, StoreError
from nr_llm.messages import Role
from nr_llm.privacy import PrivacyLevel, strictest
from nr_llm.streams import AsyncRunStream

from nr_llm_playground.asked import Asked
from nr_llm_playground.bodies import known
from nr_llm_playground.context import place_of
from nr_llm_playground.live import Segment
from nr_llm_playground.past import waits
from nr_llm_playground.refusals import Refusal, refusal_of
from nr_llm_playground.server import Server
from nr_llm_playground.views import View, view_of

_DECISIONS: Final = 200
"""Decisions of one request; above the calls that a turn may have."""


async def begun(server: Server, asked: Asked, actor: Actor) -> Segment:
    """
    Begin a run.

    Raises:
        Refusal: There is no room for it.
        NrLlmError: It may not be, or could not be kept.
    """
    with server.live.room(actor):
        settings = dict(asked.settings)
        messages = asked.messages
        if asked.continues is not None:
            before = await server.asked(partial(_conversation, server, asked.continues, actor))
            messages, settings["continues"] = (*before, *messages), asked.continues
        await server.asked(server.runtime.tools)  # loads the plugins, if that is still to be done
        stream = server.runtime.astream(messages, actor=actor, **settings)
        await stream.begin()
        return _driven(server, stream, owner=actor, viewer=actor, level=strictest(stream.state.privacy))


def _conversation(server: Server, run_id: str, actor: Actor) -> tuple[Any, ...]:
    history = server.history(actor)
    run = None if history is None else history.get(run_id)
    if history is None or run is None:
        raise RunNotFoundError(run_id)
    if run.ended is None:
        raise Refusal(409, "not_ended", f"Run {run_id} has not ended: its conversation has open ends.")
    messages = history.conversation(run_id)
    while messages and messages[-1].role is Role.USER:  # a question nobody answered is not asked again
        messages = messages[:-1]
    return messages


async def gone_on(server: Server, run_id: str, given: object, *, what: str, actor: Actor) -> Segment:
    """
    Go on with a run that waits, as somebody decided or filled in.

    Args:
        server: The server.
        run_id: The run.
        given: What they said.
        what: ``decisions`` or ``submissions``.
        actor: Who.

    Raises:
        Refusal: It is refused; the run waits as it did.
    """
    with server.live.room():
        history = server.history(actor)
        if history is None:
            raise Refusal(400, "no_store", "No store is installed: a run that waits cannot be gone on with.")
        waiting = await server.asked(partial(history.waiting, run_id))
        try:
            stream = await _stream(server, run_id, _said(given, what, waiting), what=what, actor=actor)
            await stream.begin()
        except (DecisionError, StoreError, NrLlmError) as error:
            raise _refused(error, waiting) from error
        assert waiting is not None
        head = waiting.run.head
        level = strictest(stream.state.privacy, head.privacy)
        return _driven(server, stream, owner=head.actor, viewer=actor, level=level)


async def _stream(server: Server, run_id: str, said: list[Any], *, what: str, actor: Actor) -> AsyncRunStream:
    if what == "decisions":
        return await server.runtime.astream_decide(run_id, said, by=actor)
    return await server.runtime.astream_submit(run_id, said, by=actor)


def _said(given: object, what: str, waiting: WaitingRun | None) -> list[Any]:
    if not isinstance(given, list) or not 0 < len(given) <= _DECISIONS:
        raise Refusal(400, "invalid", f"{what!r} has to be a list with something in it.", field=what)
    if what == "decisions":
        rows = [known(one, ("index", "approve", "digest", "arguments"), where="a decision") for one in given]
        return [_decision(row, waiting) for row in rows]
    rows = [known(one, ("index", "digest", "values"), where="a submission") for one in given]
    return [_submission(row) for row in rows]


def _decision(row: Mapping[str, Any], waiting: WaitingRun | None) -> Decision:
    """
    Return a decision; one with other arguments names the digest of the call as it was shown.

    The digest of the changed call is made here, once the one that was shown is found to be that of the call.
    """
    given = {"index": row.get("index"), "approve": row.get("approve"), "digest": row.get("digest") or ""}
    decision = Decision(**given, arguments=row.get("arguments"))  # type: ignore[arg-type]  # it checks
    if decision.arguments is None or waiting is None:
        return decision
    shown = next((call.digest for call in waiting.calls if call.index == decision.index), "")
    if not hmac.compare_digest(shown.encode(), decision.digest.encode("utf-8", "replace")):
        return decision  # refused as stale
    return waiting.decision(decision.index, approve=decision.approve, arguments=decision.arguments)


def _submission(row: Mapping[str, Any]) -> Submission:
    index, digest, values = row.get("index"), row.get("digest") or "", row.get("values")
    if type(index) is not int or not isinstance(digest, str):
        raise InvalidValueError("names a call by number and digest", path="submissions")
    if "values" not in row:
        raise InvalidValueError("is missing; null declines", path="submissions.values")
    return Submission(index=index, values=values, digest=digest.encode("ascii", "replace").decode())


def _refused(error: NrLlmError, waiting: WaitingRun | None) -> Refusal:
    """Return why a decision is refused, and what the run waits for."""
    if isinstance(error, RunNotFoundError):  # the reference system's status here
        return Refusal(400, "unknown_run", str(error))
    refusal = refusal_of(error)
    if waiting is not None and waiting.unreadable is not None:
        refusal = Refusal(500, "unreadable", waiting.unreadable)
    if isinstance(error, InvalidValueError | DecisionError | StoreError) and not isinstance(error, RunClaimedError):
        refusal.more["status"] = None if waiting is None else waits(waiting.run.status)
    return refusal


def _driven(
    server: Server, stream: AsyncRunStream, *, owner: Actor | None, viewer: Actor, level: PrivacyLevel
) -> Segment:
    state = stream.state
    place = place_of(*server.runtime.describe(state.model))
    views = {View.WHOLE, *(view_of(one, owner=owner, level=level) for one in (owner, viewer) if one is not None)}
    if level is not PrivacyLevel.FULL:
        views.add(View.LEVEL)
    facts: dict[str, JSON] = {
        **place,
        "level": None if server.store is None else str(level),
        "configuration": state.configuration,
        "tools": None if state.allowed is None else list(state.allowed),
        "rounds_limit": state.limits.rounds,
    }
    return server.live.begin(stream, owner=owner, level=level, views=frozenset(views), facts=facts)
