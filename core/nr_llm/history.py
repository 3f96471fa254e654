"""Stored runs as somebody may see them: whoever asks is named first, and what is not theirs is not there."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from nr_llm._abandoned import ending, settle_abandoned
from nr_llm._deciding import live_state
from nr_llm._expand import conversation, expanded
from nr_llm.actors import Actor, ActorKind, Scope
from nr_llm.approvals import WaitingRun, waiting_calls
from nr_llm.errors import RunNotFoundError, StoreError
from nr_llm.messages import ChatMessage
from nr_llm.records import TERMINAL, WAITING, RunStatus, StoredRun, StoredStep
from nr_llm.redaction import Redactor
from nr_llm.state import TerminationReason
from nr_llm.stores import EVERY, RunQuery, RunStore, UsageRow

HOST: Final = Actor("host", admin=True)
"""The program itself, which may do everything; never what a request without a user stands for."""

RETENTION_DAYS: Final = 30
"""How long a run that has ended is kept unless another figure is set (the reference system's)."""

PURGED_AT_ONCE: Final = 500
"""Runs that are forgotten in one transaction (the reference system's figure)."""

INBOX: Final = 100
"""Waiting runs that an inbox shows (the reference system's figure)."""


_DAY: Final = 86_400.0
_LOG = logging.getLogger("nr_llm")


class RunHistory:
    """
    The stored runs, for one actor.

    A run that the actor may not read looks like one that does not exist.

    Args:
        store: Where the runs are.
        actor: Who asks; None is nobody in particular, who sees nothing.  The program itself is `HOST`.
        redactor: Masks what is added to the record of an abandoned run.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        store: RunStore,
        actor: Actor | None,
        *,
        redactor: Redactor | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._actor = actor or Actor.anonymous()
        self._redactor = redactor or Redactor()
        self._clock = clock

    def get(self, run_id: str) -> StoredRun | None:
        """Return a run, or None."""
        run = self._store.run(run_id)
        return run if run is not None and self._may(Scope.READ, run) else None

    def find(self, query: RunQuery | None = None) -> Sequence[StoredRun]:
        """Return runs, the newest first."""
        query = query or RunQuery()
        if self._sees_all:
            return self._store.runs(query)
        if self._actor.kind is not ActorKind.USER or query.actor_id not in (None, self._actor.id):
            return ()
        own = self._store.runs(attrs.evolve(query, actor_id=self._actor.id))
        return tuple(run for run in own if self._may(Scope.READ, run))

    def steps(self, run_id: str, *, after: int = -1, limit: int | None = None) -> Sequence[StoredStep]:
        """
        Return the steps of a run whose number is above `after`; none for a run that is not there.

        Where content is kept, ``messages_sent`` holds the messages themselves.
        """
        run = self.get(run_id)
        if run is None:
            return ()
        steps = self._store.steps(run_id, after=after, limit=limit)
        return expanded(steps, lambda: self._store.transcript(run_id), level=run.head.privacy)

    def conversation(self, run_id: str) -> tuple[ChatMessage, ...]:
        """
        Return what was said in a run, valid as the start of another.

        Raises:
            RunNotFoundError: There is no such run.
            ConfigurationError: It was kept at a level below `full`, which leaves no conversation to go on with.
        """
        run = self.get(run_id)
        if run is None:
            raise RunNotFoundError(run_id)
        return conversation(run, self._store.transcript(run_id))

    def waiting(self, run_id: str) -> WaitingRun | None:
        """Return a run that waits for a person, with its calls as they are to be decided on, or None."""
        run = self._store.run(run_id)
        waits = run is not None and run.status in WAITING
        return self._shown(run) if run is not None and waits and self._may_decide(run) else None

    def inbox(self, *, limit: int = INBOX) -> tuple[WaitingRun, ...]:
        """
        Return the runs that wait for a person and are this actor's to decide on, the oldest first.

        One whose state cannot be read is among them, and says why.
        """
        runs = self._store.runs(RunQuery(statuses=WAITING, limit=EVERY))
        mine = [run for run in reversed(runs) if self._may_decide(run)]
        return tuple(self._shown(run) for run in mine[:limit])

    def _shown(self, run: StoredRun) -> WaitingRun:
        try:
            state = live_state(self._store, run.run_id)
        except StoreError as error:
            return WaitingRun(run=run, unreadable=str(error))
        return WaitingRun(run=run, calls=waiting_calls(state), state=state)

    def _may_decide(self, run: StoredRun) -> bool:
        return self._may(Scope.APPROVE, run)

    def cancel(self, run_id: str) -> RunStatus | None:
        """
        Have a run stop: one that waits ends at once, one that is under way at its next step.

        Returns:
            What the run is now; `RUNNING` if it is still to notice, None for a word of a newer version.

        Raises:
            RunNotFoundError: There is no such run, or it is not this actor's to cancel.
        """
        run = self._store.run(run_id)
        if run is None or not self._may(Scope.CANCEL, run):
            raise RunNotFoundError(run_id)
        if run.status in WAITING:
            self._end(run)
        self._store.request_stop(run_id, self._clock())  # also one that was taken up in between
        now = self._store.run(run_id)
        return None if now is None else now.status

    def _end(self, run: StoredRun) -> None:
        """End a run that waits, if it still does."""
        end = ending(self._store, run, TerminationReason.CANCELLED, redactor=self._redactor, now=self._clock())
        try:
            self._store.write(attrs.evolve(end, expect=WAITING))
        except StoreError:
            now = self._store.run(run.run_id)
            if now is None or now.steps == run.steps:
                raise
            self._end(now)  # it was decided on in between, has said more, and waits again

    def usage(self, *, since: float = 0.0) -> Sequence[UsageRow]:
        """Return what was used since a time, in seconds since 1970, by actor, configuration and model."""
        rows = self._store.usage(since=since)
        if self._sees_all:
            return rows
        own = self._actor.kind is ActorKind.USER
        return tuple(row for row in rows if own and row.actor_id == self._actor.id)

    def settle_abandoned(self) -> tuple[str, ...]:
        """
        End the runs that nobody holds any more: their lease has ended, or their process on this machine is gone.

        Call it when a program starts.  Every open call is answered, as everywhere.

        Returns:
            The runs that were ended.

        Raises:
            RunNotFoundError: The actor is no administrator.
        """
        self._demand_admin()
        return settle_abandoned(self._store, self._redactor, now=self._clock())

    def purge(self, *, days: int | None = None, configuration: str | None = None) -> int:
        """
        Forget runs that ended long ago; what they used stays counted, and a run that waits is never forgotten.

        Args:
            days: How long ago; `RETENTION_DAYS` for None and anything below 1.
            configuration: Runs of this configuration alone.

        Returns:
            How many.

        Raises:
            RunNotFoundError: The actor is no administrator.
        """
        self._demand_admin()
        kept = RETENTION_DAYS if days is None or days < 1 else days
        query = RunQuery(
            statuses=TERMINAL,
            ended_before=self._clock() - kept * _DAY,
            configuration=configuration,
            limit=PURGED_AT_ONCE,
        )
        forgotten = 0
        while runs := self._store.runs(query):
            deleted = self._store.delete([run.run_id for run in runs])
            forgotten += deleted
            if not deleted:
                break
        return forgotten

    def _demand_admin(self) -> None:
        if not self._actor.administers:
            raise RunNotFoundError("")

    @property
    def _sees_all(self) -> bool:
        return self._may_all(Scope.READ)

    def _may_all(self, scope: Scope) -> bool:
        return self._actor.may(scope, owner=None)

    def _may(self, scope: Scope, run: StoredRun) -> bool:
        return self._actor.may(scope, owner=run.head.actor)
