"""
Keeps one run, or one segment of it, in a store: filtered steps, what was said, and the live state to go on from.

What follows each other at once is kept together: a commit costs more than what it holds.  Whatever may take time,
changes something or ends the run finds all before it in the store.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal, TypeVar
from weakref import WeakSet

import attrs

from nr_llm._drafts import Draft
from nr_llm._leases import Lease, Leases
from nr_llm._segments import segment_name
from nr_llm.audit import AuditedFilter
from nr_llm.cancellation import Cancellation
from nr_llm.errors import RunCancelledError, RunClaimedError, RunExistsError, StoreError, SuspensionError
from nr_llm.middleware import GuardrailError
from nr_llm.privacy import PrivacyLevel
from nr_llm.records import (
    WAITING,
    RunChange,
    RunHead,
    RunStatus,
    StoredRun,
    Written,
)
from nr_llm.state import RunState, TerminationReason
from nr_llm.steps import RunStep, StepKind
from nr_llm.stores import RunStore

PATIENCE_SECONDS: Final = 0.02
"""How long a step may wait for the next one, to be kept together with it."""

T = TypeVar("T")

OnFailure = Literal["stop", "continue"]

OnPlainState = Literal["tell", "refuse"]

_ENDS: Final = {
    TerminationReason.FAILED: RunStatus.FAILED,
    TerminationReason.POLICY_DENIED: RunStatus.FAILED,
    TerminationReason.APPROVAL_DENIED: RunStatus.FAILED,
    TerminationReason.CANCELLED: RunStatus.CANCELLED,
}


_NO_FAILURES: Final = (RunCancelledError, RunClaimedError, RunExistsError)

_TOLD: Final[WeakSet[RunStore]] = WeakSet()
"""Stores whose operator was told that they keep states as they are."""


def named(error: BaseException) -> str:
    """Return what a record keeps of an error: the name of its class, or of the guardrail that raised it."""
    return error.guardrail if isinstance(error, GuardrailError) else type(error).__name__


def _waits(state: RunState) -> RunStatus:
    return RunStatus.WAITING_FOR_INPUT if state.awaits_input else RunStatus.WAITING_FOR_APPROVAL


def _followed(step: RunStep | None, state: RunState) -> bool:
    """Say whether nothing can follow a step at once but another record, or calls that only read."""
    if step is None or state.ended:
        return False
    return step.kind in (StepKind.CONTEXT, StepKind.TOOL) or (step.kind is StepKind.LLM and bool(state.pending))


def status_of(reason: TerminationReason) -> RunStatus:
    """Return the status of a run that ended for a reason."""
    return _ENDS.get(reason, RunStatus.COMPLETED)


@attrs.frozen
class Taking:
    """
    A stored run that is taken up by a decision.

    Attributes:
        run: The run, as it was when the decision was checked.
        step: What the record says of the decision.
    """

    run: StoredRun
    step: RunStep


@attrs.define(kw_only=True, eq=False)
class Keeper:
    """
    Keeps one segment of a run.

    Attributes:
        store: Where.
        head: What is known of the run.
        filter: What may be kept of it.
        writes: Says whether a tool of that name writes.
        cancelled: Thrown when somebody asked the store to stop the run.
        on_failure: Whether a store that fails stops a run that only reads.
        on_plain_state: What becomes of a run that has to wait, whose state the store would keep as it is although its
            record keeps less: it waits and that is logged, or it is not suspended.
        taking: The stored run that is taken up, or None for a new one and for one whose host keeps its state.
        leases: Keeps the run held while a call lasts.
        at_once: Whether each step is kept by itself: somebody is told of it, and may look it up.
        log: The log.
        clock: Seconds since 1970.
    """

    store: RunStore
    head: RunHead
    filter: AuditedFilter
    writes: Callable[[str], bool]
    cancelled: Cancellation
    on_failure: OnFailure = "stop"
    on_plain_state: OnPlainState = "tell"
    taking: Taking | None = None
    leases: Leases = attrs.field(factory=Leases)
    at_once: bool = False
    log: logging.Logger = attrs.field(factory=lambda: logging.getLogger("nr_llm"))
    clock: Callable[[], float] = time.time
    owner: str = attrs.field(factory=segment_name)
    _kept: bool = attrs.field(default=False, init=False)
    _closed: bool = attrs.field(default=False, init=False)
    _told: bool = attrs.field(default=False, init=False)
    _doubt: Callable[[], None] | None = attrs.field(default=None, init=False)
    _lease: Lease = attrs.field(init=False)
    _draft: Draft = attrs.field(init=False)
    _due: float = attrs.field(default=0.0, init=False)
    _writes: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        seconds, run_id = self.leases.lease_seconds, self.head.run_id
        self._lease = Lease(store=self.store, run_id=run_id, owner=self.owner, seconds=seconds, clock=self.clock)
        self._draft = Draft(self._lease, self.filter)

    def open(self, state: RunState) -> None:
        """
        Keep a new run, or take up a stored one that waits.

        Raises:
            RunExistsError: A new run has the name of a stored one.
            RunClaimedError: The stored one does not wait: somebody else has decided, or it has ended.
            StoreError: It could not be kept.
        """
        if self.taking is not None:
            self._take_up(state)
            return
        try:
            self._begin(state)
        except Exception as error:  # noqa: BLE001  # whatever a store raises
            self._bear(error)

    def _begin(self, state: RunState) -> None:
        change, done = self._draft.change(state, self.clock())
        try:
            claimed = attrs.evolve(change, owner=None, claim=self.owner)
            self._doubted(lambda: self.store.create(self.head, claimed), done)
        except RunExistsError:
            if not (state.rounds or state.pending):
                raise
            self._take_up(state)
        else:
            self._kept, self._doubt = True, None
            self.leases.mind(self._lease)
            done()

    def note(self, step: RunStep | None, state: RunState) -> bool:
        """
        Take in a step and a checkpoint, and return whether `record` has to follow at once.

        Where it has not, nothing comes next but another record, or calls that only read: until they have taken
        `PATIENCE_SECONDS` what a killed process leaves is what it would have left had it been killed before them.
        """
        now = time.monotonic()
        if not self._draft:
            self._due, self._writes = now + PATIENCE_SECONDS, False
        self._draft.add(step, state)
        if step is None:
            self._writes = any(pending.started for pending in state.pending)
        elif step.kind is StepKind.TOOL:
            self._writes = self._writes or self.writes(step.tool_name or "")
        return self.at_once or self._writes or now >= self._due or not _followed(step, state)

    def due(self) -> float | None:
        """Return in how many seconds `record` is to be called for what was noted; None if that is nothing."""
        return self._due - time.monotonic() if self._draft else None

    def record(self) -> None:
        """
        Keep what was noted.

        Raises:
            RunCancelledError: Somebody asked the store to stop the run; the steps are kept.
            RunClaimedError: The run is no longer this segment's.
            StoreError: It could not be kept.
        """
        state = self._draft.latest
        if state is None:
            return
        try:
            self._be_sure()
            self._write(*self._draft.change(state, self.clock()))
        except Exception as error:  # noqa: BLE001  # whatever a store raises
            self._draft.forget()
            self._bear(error, writes=self._writes)

    def hold(self) -> None:
        """
        Make sure, as a write begins, that the run is still this segment's: between the fence and here may lie hours.

        Raises:
            RunClaimedError: The run is no longer this segment's.
            StoreError: Nobody can say.
        """
        try:
            self._lease.hold()
        except RunClaimedError:
            self._closed = True
            raise

    def close(self, state: RunState, error: BaseException | None = None) -> None:
        """
        Keep how the run, or this segment of it, ended; a second call does nothing once the first was kept.

        Raises:
            RunCancelledError: It was to wait for a person, and somebody asked the store to stop it.
            SuspensionError: It was to wait for a person and could not be kept.
            StoreError: It could not be kept.
        """
        self.leases.leave(self._lease)
        if self._closed:
            return
        with suppress(Exception):  # a store that fails says so below
            self._be_sure()
        change, done = self._draft.change(state, self.clock())
        if state.reason is None:
            self._suspend(change, done, waits=_waits(state))
        else:
            status = status_of(state.reason)
            kind = named(error) if error is not None and status is RunStatus.FAILED else None
            ended = attrs.evolve(change, status=status, checkpoint=None, reason=str(state.reason), error=kind)
            try:
                self._write(ended, done, stops=False)
            except Exception as failure:  # noqa: BLE001  # whatever a store raises
                self._bear(failure)
        self._closed = True

    def _suspend(self, change: RunChange, done: Callable[[], None], *, waits: RunStatus) -> None:
        waiting = attrs.evolve(change, status=waits, claim="", unless_stopped=True)
        self._mind_plain_state()
        try:
            self._write(waiting, done)
        except (RunCancelledError, RunClaimedError):
            raise
        except Exception as error:
            if self._is_waiting():
                return
            raise SuspensionError(
                f"Run {self.head.run_id} has to wait for a person and could not be kept ({type(error).__name__}); "
                "nobody is asked, and nothing more is run."
            ) from error

    def _mind_plain_state(self) -> None:
        if getattr(self.store, "encrypts", True) or self.filter.level is PrivacyLevel.FULL:
            return
        if self.on_plain_state == "refuse":
            raise SuspensionError(
                f"Run {self.head.run_id} has to wait for a person, and the store would keep its conversation "
                "unencrypted; nobody is asked, and nothing more is run. Give the store a key."
            )
        if self.store not in _TOLD:
            _TOLD.add(self.store)
            text = (
                "Runs that wait for a person are kept whole and unencrypted until they go on: give the store a key, or "
                'have none wait with [audit] plain_state = "refuse"'
            )
            self.log.warning(text)

    def _take_up(self, state: RunState) -> None:
        stored = self.store.run(self.head.run_id) if self.taking is None else self.taking.run
        if stored is None:
            raise RunClaimedError(self.head.run_id, None)
        self.filter = self._draft.filter = self.filter.at(stored.head.privacy)  # as it was begun counts to its end
        live = self.store.live(self.head.run_id) if self.taking is None else None
        if live is not None and live.state.get("suspensions", 0) != state.suspensions:  # else writes would be repeated
            raise RunClaimedError(self.head.run_id, f"{stored.raw_status}, in another turn")
        now = self.clock()
        claim = RunChange(
            run_id=self.head.run_id,
            at=now,
            expect=WAITING,
            after_steps=stored.steps,  # it may have been taken up, have written, and wait again since we looked
            status=RunStatus.RUNNING,
            claim=self.owner,
            lease=now + self._lease.seconds,
            checkpoint=self._draft.whole(state),
        )
        if self.taking is not None:  # with the decision itself, so that none is carried out that is not kept
            steps = (self.filter.record(self.taking.step),)
            claim = attrs.evolve(claim, sequence=self.taking.run.steps, steps=steps)
        written = self._claimed(claim)
        if not written.applied:
            self._closed = True
            raise RunClaimedError(self.head.run_id, written.status)
        self._kept, self._lease.until = True, now + self._lease.seconds
        self.leases.mind(self._lease)
        self._draft.sequence, self._draft.entries = written.sequence, written.transcript
        said = (number for number, entry in enumerate(self.store.transcript(self.head.run_id)) if entry.said)
        self._draft.go_on(said, state)

    def _claimed(self, claim: RunChange) -> Written:
        try:
            return self.store.write(claim)
        except StoreError:
            now = self.store.run(self.head.run_id)
            if now is None or now.owner != self.owner:
                raise
            entries = len(self.store.transcript(self.head.run_id))  # the answer got lost, as when a connection breaks
            return Written(applied=True, status=now.raw_status, sequence=now.steps, transcript=entries)

    def _write(self, change: RunChange, done: Callable[[], None], *, stops: bool = True) -> None:
        if not self._kept:
            raise StoreError(f"Run {self.head.run_id} is not in the store, which failed when it began.")
        written = self._doubted(lambda: self.store.write(change), done)
        self._doubt = None
        if not written.applied and not (written.stop and change.unless_stopped):
            self._closed = True
            raise RunClaimedError(self.head.run_id, written.status)
        if written.applied:
            done()
        if written.stop and stops:
            self.cancelled.cancel("somebody asked the store to stop the run")
            raise RunCancelledError("The run was stopped from outside.")

    def _doubted(self, write: Callable[[], T], done: Callable[[], None]) -> T:
        """Return what a write returns; if it fails or is interrupted, nobody knows yet whether it was kept."""
        self._doubt = done
        try:
            return write()
        except RunExistsError:
            self._doubt = None
            raise

    def _be_sure(self) -> None:
        """Take in a change that was kept though its answer got lost, or all that follows would be refused."""
        if self._doubt is None:
            return
        done = self._doubt
        now = self.store.run(self.head.run_id)
        self._doubt = None
        if now is None or now.owner != self.owner:
            return
        entries = len(self.store.transcript(self.head.run_id))
        if not self._kept or now.steps > self._draft.sequence or entries > self._draft.entries:
            self._kept = True
            done()

    def _is_waiting(self) -> bool:
        """Return whether the run waits, although the answer to that got lost."""
        with suppress(Exception):
            now = self.store.run(self.head.run_id)
            return now is not None and now.status in WAITING and now.steps == self._draft.sequence
        return False

    def _bear(self, error: Exception, *, writes: bool = False) -> None:
        """Raise a failure of the store, unless it was wished to go on after it and nothing is written."""
        if writes or self.on_failure == "stop" or isinstance(error, _NO_FAILURES):
            raise error
        if not self._told:
            kind, self._told = type(error).__name__, True
            self.log.warning("The store failed (%s); run %s goes on without a record of it", kind, self.head.run_id)
