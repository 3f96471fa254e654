"""The other statements, each built once: what is read, inserted and deleted."""

from __future__ import annotations

from typing import Any, Final

import attrs
from nr_llm.records import OPEN, TERMINAL
from nr_llm.stores import RunQuery
from sqlalchemy import (
    Delete,
    Insert,
    Select,
    Table,
    Update,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    union_all,
)
from sqlalchemy.sql import ColumnElement, CompoundSelect, Subquery

from nr_llm_store._money import PART
from nr_llm_store._tables import EVENT, LIVE, MESSAGE, RUN, TOKENS, USAGE, USED

RUN_COLUMNS: Final = (*RUN.c[:-1],)
"""A run without its live state."""

_TERMINAL: Final = tuple(sorted(status.value for status in TERMINAL))
_OPEN: Final = tuple(sorted(status.value for status in OPEN))


def among(column: ColumnElement[Any], values: tuple[str, ...]) -> ColumnElement[bool]:
    """Return that a column is one of some values, each a parameter of its own."""
    return column.in_([bindparam(None, value, unique=True) for value in values])


def insert_into(table: Table) -> Insert:
    """Return the insertion of whole rows."""
    return insert(table).values({column.name: bindparam(column.name) for column in table.c})


def create() -> Insert:
    """Insert a run, unless there is one of its name."""
    from sqlalchemy.dialects import postgresql

    values: dict[str, Any] = {column.name: bindparam(column.name) for column in RUN.c}
    # SQLite's form of it is the same.
    return postgresql.insert(RUN).values(values).on_conflict_do_nothing(index_elements=["run_id"])


def run_now() -> Select[Any]:
    """Return what a refused change says of a run."""
    return select(RUN.c.status, RUN.c.stop, RUN.c.steps, RUN.c.entries).where(_this(RUN))


def one_run() -> Select[Any]:
    """Return a run."""
    return select(*RUN_COLUMNS).where(_this(RUN))


def request_stop() -> Update:
    """Note that a run shall stop, unless it has ended."""
    noted = {"stop": 1, "updated": bindparam("_at")}
    return RUN.update().where(_this(RUN), among(RUN.c.status, _OPEN)).values(noted)


def forget_state() -> Update:
    """Wipe a run's live state."""
    return RUN.update().where(_this(RUN)).values(live_state=None, live_messages=0)


def forget_live() -> Delete:
    """Delete the live messages of a run from one on."""
    return delete(LIVE).where(_this(LIVE), LIVE.c.number >= bindparam("_start"))


def steps(*, limited: bool) -> Select[Any]:
    """Return the steps of a run above a number."""
    found = (
        select(EVENT.c.sequence, EVENT.c.at, EVENT.c.kind, EVENT.c.round, EVENT.c.duration_ms, EVENT.c.payload)
        .where(_this(EVENT), EVENT.c.sequence > bindparam("_after"))
        .order_by(EVENT.c.sequence)
    )
    return found.limit(bindparam("_limit")) if limited else found


def transcript() -> Select[Any]:
    """Return the kept messages of a run."""
    return select(MESSAGE.c.message, MESSAGE.c.said).where(_this(MESSAGE)).order_by(MESSAGE.c.number)


def live() -> CompoundSelect[Any]:
    """Return the live state as message -1, then its messages: one statement, so that they belong together."""
    state = select(literal(-1).label("number"), RUN.c.live_state.label("text")).where(
        _this(RUN), RUN.c.live_state.is_not(None)
    )
    messages = select(LIVE.c.number, LIVE.c.message).where(_this(LIVE))
    return union_all(state, messages).order_by("number")


def usage() -> Select[Any]:
    """Return what runs used, those that are deleted too, by kind and odd rest of the amount."""
    used = _used("actor_id", "configuration", "model")
    kind = (used.c.actor_id, used.c.configuration, used.c.model, used.c.cost_rest)
    sums = (func.sum(used.c[name]) for name in TOKENS)
    return select(*kind, func.count(), func.max(used.c.unpriced), *_amount(used), *sums).group_by(*kind)


def spent() -> Select[Any]:
    """Return what the runs of an actor used, those that are deleted too, by odd rest of the amount."""
    used = _used("actor_id", of_actor=True)
    tokens = func.coalesce(used.c.input_tokens, 0) + func.coalesce(used.c.output_tokens, 0)
    rest = used.c.cost_rest
    return select(rest, func.count(), func.sum(tokens), *_amount(used)).group_by(rest)


def _used(*columns: str, of_actor: bool = False) -> Subquery:
    """Return the use of each run since a time."""

    def of(table: Table) -> Select[Any]:
        mine = [table.c.actor_id == bindparam("_actor_id")] if of_actor else []
        chosen = (table.c[name] for name in (*columns, *USED))
        return select(*chosen).where(table.c.began >= bindparam("_since"), *mine)

    return union_all(of(RUN), of(USAGE)).subquery()


def _amount(used: Subquery) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    return func.sum(used.c.cost // PART), func.sum(used.c.cost % PART)


def ended_among(count: int) -> Select[Any]:
    """Return which of some runs have ended, and hold them."""
    return select(RUN.c.run_id).where(_one_of(RUN, count), among(RUN.c.status, _TERMINAL)).with_for_update()


def count_usage(count: int) -> Insert:
    """Keep what some runs used."""
    columns = ("actor_id", "configuration", "model", "began", *USED)
    used = select(*(RUN.c[name] for name in columns)).where(_one_of(RUN, count))
    return insert(USAGE).from_select(columns, used)


def delete_rows(table: Table, count: int) -> Delete:
    """Delete the rows of some runs."""
    return delete(table).where(_one_of(table, count))


def old_usage() -> Delete:
    """Delete the usage of deleted runs that began before a time."""
    return delete(USAGE).where(USAGE.c.began < bindparam("_before"))


def states_of_runs() -> Select[Any]:
    """Return stored live states of runs after one, in order."""
    return (
        select(RUN.c.run_id, RUN.c.live_state)
        .where(RUN.c.live_state.is_not(None), RUN.c.run_id > bindparam("_after"))
        .order_by(RUN.c.run_id)
        .limit(bindparam("_limit"))
    )


def stored_messages() -> Select[Any]:
    """Return the live messages of a run as they are stored."""
    return select(LIVE.c.number, LIVE.c.message).where(_this(LIVE)).order_by(LIVE.c.number)


def replace_state() -> Update:
    """Put another text in the place of a live state, if that is still there."""
    same = RUN.c.live_state == bindparam("_old")
    return RUN.update().where(_this(RUN), same).values(live_state=bindparam("_text"))


def replace_message() -> Update:
    """Put another text in the place of a live message, if that is still there."""
    same = (LIVE.c.number == bindparam("_number"), LIVE.c.message == bindparam("_old"))
    return LIVE.update().where(_this(LIVE), *same).values(message=bindparam("_text"))


@attrs.frozen
class Listing:
    """Which parts a query has: all that its statement depends on."""

    statuses: int | None
    actor_id: bool
    configuration: bool
    began_before: bool
    ended_before: bool
    lease_before: bool

    @classmethod
    def of(cls, query: RunQuery) -> Listing:
        """Return the parts of a query."""
        return cls(
            None if query.statuses is None else len(query.statuses),
            query.actor_id is not None,
            query.configuration is not None,
            query.began_before is not None,
            query.ended_before is not None,
            query.lease_before is not None,
        )

    def statement(self) -> Select[Any]:
        """Return the runs that are wanted, the newest first."""
        wanted: list[ColumnElement[bool]] = []
        if self.statuses is not None:
            wanted.append(RUN.c.status.in_([bindparam(f"_status{i}") for i in range(self.statuses)]))
        wanted += [
            RUN.c[name] == bindparam(f"_{name}") for name in ("actor_id", "configuration") if getattr(self, name)
        ]
        for name in ("began", "ended", "lease"):
            if getattr(self, f"{name}_before"):
                wanted += [RUN.c[name] < bindparam(f"_{name}_before")]
        newest = select(*RUN_COLUMNS).where(*wanted).order_by(RUN.c.began.desc(), RUN.c.run_id.desc())
        return newest.limit(bindparam("_limit"))


def asked(query: RunQuery, most: int) -> dict[str, Any]:
    """Return the values of a query by the names its statement gives them."""
    values = {
        "_actor_id": query.actor_id,
        "_configuration": query.configuration,
        "_began_before": query.began_before,
        "_ended_before": query.ended_before,
        "_lease_before": query.lease_before,
        "_limit": min(query.limit, most),
    }
    statuses = enumerate(query.statuses or ())
    return values | {f"_status{i}": status.value for i, status in statuses}


def _this(table: Table) -> ColumnElement[bool]:
    return table.c.run_id == bindparam("_run_id")


def _one_of(table: Table, count: int) -> ColumnElement[bool]:
    return table.c.run_id.in_([bindparam(f"_id{i}") for i in range(count)])
