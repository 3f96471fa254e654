"""Where runs are kept: the port a store implements, and a store in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, Protocol

import attrs

from nr_llm._json import JSON
from nr_llm.budgets import Spent
from nr_llm.errors import RunExistsError, StoreError
from nr_llm.records import (
    OPEN,
    TERMINAL,
    Checkpoint,
    RunChange,
    RunHead,
    RunStatus,
    StoredRun,
    StoredStep,
    TranscriptEntry,
    Written,
)
from nr_llm.responses import Usage

LISTED: Final = 50
"""Runs that a list has unless more are asked for."""

EVERY: Final = 2**31 - 1
"""As a limit: more runs than there are."""


@attrs.frozen(kw_only=True)
class RunQuery:
    """
    Which runs are wanted; a None means that it does not matter.

    Attributes:
        statuses: Runs in one of these.
        actor_id: Runs of this actor.
        configuration: Runs of this configuration.
        began_before: Runs that began before this time, in seconds since 1970.
        ended_before: Runs that ended before this time.
        lease_before: Runs that are held by a segment whose lease ended before this time.
        limit: At most so many, the newest first.
    """

    statuses: frozenset[RunStatus] | None = None
    actor_id: str | None = None
    configuration: str | None = None
    began_before: float | None = None
    ended_before: float | None = None
    lease_before: float | None = None
    limit: int = LISTED


@attrs.frozen(kw_only=True)
class UsageRow:
    """
    What runs of one kind used together.

    Attributes:
        actor_id: Whose; None for runs of nobody in particular.
        configuration: Of which configuration, or None.
        model: Of which model.
        runs: How many.
        usage: Their tokens.
        cost: What they cost, as far as it is known.
        unpriced: Whether some of it cost what nobody knows.
    """

    actor_id: str | None
    configuration: str | None
    model: str
    runs: int
    usage: Usage
    cost: Decimal = Decimal(0)
    unpriced: bool = False

    def to_dict(self) -> dict[str, JSON]:
        """Return the row as JSON."""
        return {
            "actor": self.actor_id,
            "configuration": self.configuration,
            "model": self.model,
            "runs": self.runs,
            "cost": None if self.unpriced else str(self.cost),
            **self.usage.to_dict(),
        }


class RunStore(Protocol):
    """
    Keeps runs; thread-safe, and plain blocking methods.

    Whatever a method raises stops the run that needed it.  Nothing it is given has to be filtered any more, except
    the live state, which it may encrypt, and has to forget when a run ends.

    Attributes:
        blocking: Whether its methods wait for a disk or a network; async runs then call them in a thread.
        encrypts: Whether live states are encrypted where they are kept; may be left out by a store that keeps them
            nowhere but in memory.
        at_once: Whether each step is kept by itself, where otherwise steps that follow each other are one change; may
            be left out by a store that does not wish it.
    """

    blocking: bool

    def create(self, head: RunHead, change: RunChange) -> None:
        """
        Keep a new run, with what `change` holds.

        Raises:
            RunExistsError: There is a run of that name.
        """

    def write(self, change: RunChange) -> Written:
        """
        Apply a change as a whole, if the run is as the change expects it, else not at all.

        Raises:
            StoreError: It could not be written, or a step of that number is there already.
        """

    def request_stop(self, run_id: str, at: float) -> bool:
        """Note that a run shall stop; False if it has ended or there is none."""

    def run(self, run_id: str) -> StoredRun | None:
        """Return a run, or None."""

    def runs(self, query: RunQuery) -> Sequence[StoredRun]:
        """Return runs, the newest first."""

    def steps(self, run_id: str, *, after: int = -1, limit: int | None = None) -> Sequence[StoredStep]:
        """Return the steps of a run whose number is above `after`, in order."""

    def transcript(self, run_id: str) -> Sequence[TranscriptEntry]:
        """Return the messages of a run as they were kept, in order."""

    def live(self, run_id: str) -> Checkpoint | None:
        """Return the whole live state of a run, or None if it has ended or there is none."""

    def usage(self, *, since: float = 0.0) -> Sequence[UsageRow]:
        """Return what runs that began at or after a time used, by actor, configuration and model."""

    def spent(self, actor_id: str, since: datetime) -> Spent:
        """Return what the runs of an actor used that began at or after a time; quick, and asked before each call."""

    def delete(self, run_ids: Iterable[str]) -> int:
        """Forget runs that have ended, and what was used by them stays counted; return how many there were."""

    def close(self) -> None:
        """Give up connections; it may be used again."""


@attrs.define
class _Row:
    run: StoredRun
    steps: list[StoredStep] = attrs.field(factory=list)
    transcript: list[TranscriptEntry] = attrs.field(factory=list)
    live: Checkpoint | None = None


class MemoryStore:
    """
    A store in memory, for tests and for processes whose runs need not outlive them.

    Attributes:
        blocking: False: nothing waits.
    """

    blocking = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, _Row] = {}
        self._forgotten: list[StoredRun] = []  # what they used still counts

    def create(self, head: RunHead, change: RunChange) -> None:
        """Keep a new run."""
        with self._lock:
            if head.run_id in self._rows:
                raise RunExistsError(head.run_id)
            new = StoredRun(head=head, raw_status=str(change.status or RunStatus.RUNNING))
            self._apply(_Row(new), change)

    def write(self, change: RunChange) -> Written:
        """Apply a change, if the run is as it expects."""
        with self._lock:
            row = self._rows.get(change.run_id)
            if row is None:
                return Written(applied=False)
            applied = expected(row.run, change)
            if applied:
                self._apply(row, change)
            return Written(
                applied=applied,
                status=row.run.raw_status,
                stop=row.run.stop,
                sequence=len(row.steps),
                transcript=len(row.transcript),
            )

    def _apply(self, row: _Row, change: RunChange) -> None:
        for has, start, what in (
            (len(row.steps), change.sequence, change.steps),
            (len(row.transcript), change.transcript_start, change.transcript),
        ):
            if what and has != start:
                raise StoreError(f"Run {change.run_id} has {has} entries, and {start} was to be the next.")
        numbered = enumerate(change.steps, change.sequence)
        row.steps.extend(StoredStep(sequence=number, at=change.at, step=step) for number, step in numbered)
        row.transcript.extend(change.transcript)
        row.run = changed(row.run, change, steps=len(row.steps))
        row.live = None if row.run.status in TERMINAL else grown(row.live, change.checkpoint)
        self._rows[change.run_id] = row

    def request_stop(self, run_id: str, at: float) -> bool:
        """Note that a run shall stop."""
        with self._lock:
            row = self._rows.get(run_id)
            if row is None or row.run.status not in OPEN:
                return False
            row.run = attrs.evolve(row.run, stop=True, updated=at)
            return True

    def run(self, run_id: str) -> StoredRun | None:
        """Return a run."""
        with self._lock:
            row = self._rows.get(run_id)
            return None if row is None else row.run

    def runs(self, query: RunQuery) -> Sequence[StoredRun]:
        """Return runs."""
        with self._lock:
            found = [row.run for row in self._rows.values() if wanted(row.run, query)]
        return sorted(found, key=lambda run: (run.head.began, run.run_id), reverse=True)[: query.limit]

    def steps(self, run_id: str, *, after: int = -1, limit: int | None = None) -> Sequence[StoredStep]:
        """Return steps of a run."""
        with self._lock:
            row = self._rows.get(run_id)
            found = () if row is None else tuple(row.steps[after + 1 :])
        return found if limit is None else found[:limit]

    def transcript(self, run_id: str) -> Sequence[TranscriptEntry]:
        """Return the kept messages of a run."""
        with self._lock:
            row = self._rows.get(run_id)
            return () if row is None else tuple(row.transcript)

    def live(self, run_id: str) -> Checkpoint | None:
        """Return the live state of a run."""
        with self._lock:
            row = self._rows.get(run_id)
            return None if row is None else row.live

    def usage(self, *, since: float = 0.0) -> Sequence[UsageRow]:
        """Return what runs used."""
        with self._lock:
            runs = [*self._forgotten, *(row.run for row in self._rows.values())]
        rows: dict[tuple[str | None, str | None, str], UsageRow] = {}
        for run in (run for run in runs if run.head.began >= since):
            head, used = run.head, run.totals
            key = (None if head.actor is None else head.actor.id, head.configuration, head.model)
            row = rows.get(key) or UsageRow(actor_id=key[0], configuration=key[1], model=key[2], runs=0, usage=Usage())
            rows[key] = attrs.evolve(
                row,
                runs=row.runs + 1,
                usage=row.usage + used.usage,
                cost=row.cost + used.cost,
                unpriced=row.unpriced or used.unpriced,
            )
        return tuple(rows.values())

    def spent(self, actor_id: str, since: datetime) -> Spent:
        """Return what an actor's runs used."""
        rows = [row for row in self.usage(since=since.timestamp()) if row.actor_id == actor_id]
        return sum((spent_in(row) for row in rows), Spent())

    def delete(self, run_ids: Iterable[str]) -> int:
        """Forget runs that have ended."""
        with self._lock:
            ended = [row for run_id in run_ids if (row := self._rows.get(run_id)) and row.run.status in TERMINAL]
            for row in ended:
                self._forgotten.append(self._rows.pop(row.run.run_id).run)
        return len(ended)

    def close(self) -> None:
        """Nothing is held."""


def spent_in(row: UsageRow) -> Spent:
    """Return a row of usage as what was spent; what nobody knows counts as nothing."""
    return Spent(tokens=row.usage.total_tokens or 0, cost=row.cost, runs=row.runs)


def expected(run: StoredRun, change: RunChange) -> bool:
    """Return whether a run is as a change expects it."""
    return (
        run.status in change.expect
        and (change.owner is None or change.owner == run.owner)
        and (change.expired is None or (run.lease is not None and run.lease < change.expired))
        and change.after_steps in (None, run.steps)
        and not (change.unless_stopped and run.stop)
    )


def changed(run: StoredRun, change: RunChange, *, steps: int) -> StoredRun:
    """Return a run with the facts of a change."""
    over = change.status is not None and change.status.terminal
    return attrs.evolve(
        run,
        raw_status=run.raw_status if change.status is None else str(change.status),
        raw_reason=change.reason or run.raw_reason,
        error=change.error or run.error,
        totals=change.totals or run.totals,
        updated=change.at,
        ended=change.at if over else run.ended,
        owner=None if over else run.owner if change.claim is None else change.claim or None,
        lease=None if over or change.claim == "" else change.lease or run.lease,
        stop=run.stop and not over,
        steps=steps,
    )


def grown(live: Checkpoint | None, new: Checkpoint | None) -> Checkpoint | None:
    """Return the live state with a checkpoint added, which may begin anew from an earlier message."""
    if new is None:
        return live
    kept = () if live is None else live.messages[: new.start]
    return Checkpoint(state=new.state, messages=(*kept, *new.messages))


def wanted(run: StoredRun, query: RunQuery) -> bool:
    """Return whether a query is for a run."""
    owner = None if run.head.actor is None else run.head.actor.id
    return (
        (query.statuses is None or run.status in query.statuses)
        and (query.actor_id is None or query.actor_id == owner)
        and (query.configuration is None or query.configuration == run.head.configuration)
        and (query.began_before is None or run.head.began < query.began_before)
        and (query.ended_before is None or (run.ended is not None and run.ended < query.ended_before))
        and (query.lease_before is None or (run.lease is not None and run.lease < query.lease_before))
    )
