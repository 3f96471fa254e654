"""Ends runs whose process is gone, so that no record claims for ever that something is under way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import attrs

from nr_llm._keeping import status_of
from nr_llm._segments import process_is_there, process_of
from nr_llm._settle import settle
from nr_llm.errors import NrLlmError, StoreError
from nr_llm.messages import ChatMessage
from nr_llm.privacy import StepFilter
from nr_llm.records import RunChange, RunStatus, RunTotals, StoredRun, TranscriptEntry
from nr_llm.redaction import Redactor
from nr_llm.state import RunState, TerminationReason
from nr_llm.stores import EVERY, RunQuery, RunStore

ABANDONED = "Abandoned"
"""Stands in the record for the error that nobody was left to name."""

_LOG = logging.getLogger("nr_llm")


def settle_abandoned(
    store: RunStore, redactor: Redactor, *, now: float, alive: Callable[[int], bool] | None = None
) -> tuple[str, ...]:
    """
    End runs that nobody holds any more.

    Args:
        store: Where they are.
        redactor: Masks what is added to their record.
        now: Seconds since 1970; leases that ended before have ended.
        alive: Says whether a process of this machine is there.

    Returns:
        Their names; without one that the store failed at, which is logged.
    """
    alive = alive or process_is_there
    ended = []
    for run in tuple(_abandoned(store, now, alive)):
        try:
            if not _settled(store, run, redactor, now):
                continue
        except StoreError as error:  # as when a paused process holds its row; whoever starts next tries again
            _LOG.warning("Run %s was abandoned and cannot be settled now: %s", run.run_id, error)
        else:
            _LOG.warning("Run %s was abandoned by its process and is settled", run.run_id)
            ended.append(run.run_id)
    return tuple(ended)


def _abandoned(store: RunStore, now: float, alive: Callable[[int], bool]) -> Iterator[StoredRun]:
    running = frozenset({RunStatus.RUNNING})
    late = store.runs(RunQuery(statuses=running, lease_before=now, limit=EVERY))
    yield from late
    known = {run.run_id for run in late}
    for run in store.runs(RunQuery(statuses=running, limit=EVERY)):
        pid = process_of(run.owner)
        if run.run_id not in known and pid is not None and not alive(pid):
            yield run


def _settled(store: RunStore, run: StoredRun, redactor: Redactor, now: float) -> bool:
    end = ending(store, run, TerminationReason.FAILED, redactor=redactor, now=now)
    change = attrs.evolve(
        end,
        owner=run.owner,  # whoever has taken it up in between has another name, or a new lease
        expired=None if run.lease is None or run.lease >= now else now,
        after_steps=run.steps,  # a server may carry out last what a dead process sent
        error=ABANDONED if end.status is RunStatus.FAILED else None,
    )
    return store.write(change).applied


def ending(store: RunStore, run: StoredRun, why: TerminationReason, *, redactor: Redactor, now: float) -> RunChange:
    """
    Return the end of a run that nobody goes on with: its open calls are answered, so that what was said is whole.

    Args:
        store: Where it is.
        run: The run.
        why: Why it ends, unless its last words were kept, and only that it ended was not.
        redactor: Masks what is added to its record.
        now: Seconds since 1970.
    """
    transcript = tuple(store.transcript(run.run_id))
    state = _last(store, run, why)
    said = sum(entry.said for entry in transcript)
    reason = why if state is None or state.reason is None else state.reason
    return RunChange(
        run_id=run.run_id,
        at=now,
        status=status_of(reason),
        transcript_start=len(transcript),
        transcript=() if state is None else _rest(state.messages[said:], StepFilter(run.head.privacy, redactor)),
        totals=attrs.evolve(run.totals, truncated=True) if state is None else RunTotals.of(state),
        reason=str(reason),
    )


def _last(store: RunStore, run: StoredRun, why: TerminationReason) -> RunState | None:
    try:
        live = store.live(run.run_id)
        return None if live is None else settle(live.load(), why)
    except NrLlmError as error:  # of another version, or under a key nobody has
        _LOG.warning("The state of run %s cannot be read: %s", run.run_id, type(error).__name__)
        return None


def _rest(messages: tuple[ChatMessage, ...], filter_: StepFilter) -> tuple[TranscriptEntry, ...]:
    if not filter_.level.keeps_content:
        return ()
    return tuple(TranscriptEntry(filter_.kept(message)) for message in messages)
