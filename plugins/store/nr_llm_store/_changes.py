"""A change of a run as one conditional update: its guards are the conditions, and it returns what the run is now."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from nr_llm.records import RunChange, RunTotals
from sqlalchemy import Update, bindparam, case, exists, literal_column, select, update
from sqlalchemy.sql import ColumnElement

from nr_llm_store._money import split
from nr_llm_store._tables import LIVE, RUN, TOKENS, USED
from nr_llm_store._text import plain

TOTALS: Final = ("rounds", "calls", "seconds", "truncated", *USED)
"""Columns of a run's totals."""

MOST_TOKENS: Final = 2**50
"""Tokens that are kept of one run: thousands of runs that a service reported nonsense of can be added up."""


class Shape(NamedTuple):  # found by every write, and a tuple is hashed ten times as fast as a class of our own
    """
    Which parts a change has: all that its statement depends on.

    Attributes:
        expect: How many statuses it expects.
        owner: Whether it asks who holds the run.
        expired: Whether it asks whether the lease has ended.
        after_steps: Whether it asks how many steps there are.
        unless_stopped: Whether it asks that nobody wished a stop.
        status: Whether it sets the status.
        over: Whether that ends the run.
        claim: Whether it sets who holds the run.
        lease: Whether it sets until when.
        freed: Whether it gives the run up.
        checkpoint: Whether it sets the live state.
        totals: Whether it sets what was used.
        reason: Whether it sets why the run ended.
        error: Whether it sets by which error.
    """

    expect: int
    owner: bool
    expired: bool
    after_steps: bool
    unless_stopped: bool
    status: bool
    over: bool
    claim: bool
    lease: bool
    freed: bool
    checkpoint: bool
    totals: bool
    reason: bool
    error: bool


def shape_of(change: RunChange) -> Shape:
    """Return the shape of a change."""
    over = change.status is not None and change.status.terminal
    freed = over or change.claim == ""
    return Shape(
        len(change.expect),
        change.owner is not None,
        change.expired is not None,
        change.after_steps is not None,
        change.unless_stopped,
        change.status is not None,
        over,
        bool(change.claim) and not over,
        bool(change.lease) and not freed,
        freed,
        change.checkpoint is not None and not over,
        change.totals is not None,
        bool(change.reason),
        bool(change.error),
    )


def parameters(change: RunChange, state: str | None) -> dict[str, Any]:
    """
    Return the values of a change by the names its statement gives them; a statement takes those it knows.

    Args:
        change: The change.
        state: The live state as it is stored, or None.
    """
    given: dict[str, Any] = {
        "_run_id": plain(change.run_id),
        "_at": change.at,
        "_owner": plain(change.owner),
        "_expired": change.expired,
        "_after_steps": change.after_steps,
        "_status": None if change.status is None else change.status.value,
        "_claim": plain(change.claim),
        "_lease": change.lease,
        "_steps": len(change.steps),
        "_entries": len(change.transcript),
        "_reason": plain(change.reason),
        "_error": plain(change.error),
    }
    for i, status in enumerate(change.expect):
        given[f"_expect{i}"] = status.value
    if change.checkpoint is not None:
        given.update(_state=state, _start=change.checkpoint.start, _new=len(change.checkpoint.messages))
    if change.totals is not None:
        given.update(totals(change.totals))
    return given


def totals(used: RunTotals) -> dict[str, Any]:
    """Return what a run used as columns."""
    cost, rest = split(used.cost)
    return {
        "rounds": used.rounds,
        "calls": used.calls,
        "seconds": used.seconds,
        "truncated": int(used.truncated),
        "cost": cost,
        "cost_rest": rest,
        "unpriced": int(used.unpriced),
        **{name: _countable(getattr(used.usage, name)) for name in TOKENS},
    }


def _countable(tokens: int | None) -> int | None:
    return None if tokens is None else min(tokens, MOST_TOKENS)


def change_statement(shape: Shape) -> Update:
    """
    Return the update of changes of one shape.

    It returns status, stop, steps, entries, live messages, and whether messages are in the way of new ones.
    """
    live = RUN.c.live_messages
    in_the_way: ColumnElement[Any] = (
        exists(select(LIVE.c.number).where(LIVE.c.run_id == bindparam("_run_id"), LIVE.c.number >= bindparam("_start")))
        if shape.checkpoint
        else literal_column("0 = 1")
    )
    return (
        update(RUN)
        .where(*_guards(shape))
        .values(**_facts(shape))
        .returning(
            RUN.c.status,
            RUN.c.stop,
            RUN.c.steps,
            RUN.c.entries,
            live,
            case((in_the_way, literal_column("1")), else_=literal_column("0")),
        )
    )


def _guards(shape: Shape) -> list[ColumnElement[bool]]:
    guards = [
        RUN.c.run_id == bindparam("_run_id"),
        RUN.c.status.in_([bindparam(f"_expect{i}") for i in range(shape.expect)]),
    ]
    if shape.owner:
        guards.append(RUN.c.owner == bindparam("_owner"))
    if shape.expired:
        guards.append(RUN.c.lease < bindparam("_expired"))
    if shape.after_steps:
        guards.append(RUN.c.steps == bindparam("_after_steps"))
    if shape.unless_stopped:
        guards.append(RUN.c.stop == literal_column("0"))
    return guards


def _facts(shape: Shape) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "updated": bindparam("_at"),
        "steps": RUN.c.steps + bindparam("_steps"),
        "entries": RUN.c.entries + bindparam("_entries"),
    }
    for name, has in (
        ("status", shape.status),
        ("reason", shape.reason),
        ("error", shape.error),
        ("lease", shape.lease),
    ):
        if has:
            facts[name] = bindparam(f"_{name}")
    if shape.claim:
        facts["owner"] = bindparam("_claim")
    if shape.freed:
        facts |= {"owner": None, "lease": None}
    if shape.totals:
        facts |= {name: bindparam(name) for name in TOTALS}
    if shape.over:
        facts |= {"ended": bindparam("_at"), "stop": 0, "live_state": None, "live_messages": 0}
    if shape.checkpoint:
        start: ColumnElement[int] = bindparam("_start")
        kept = case((RUN.c.live_messages < start, RUN.c.live_messages), else_=start)
        facts |= {"live_state": bindparam("_state"), "live_messages": kept + bindparam("_new")}
    return facts
