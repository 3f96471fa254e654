"""What is in the columns of a row, both ways: records to columns, rows to records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
from nr_llm.actors import Actor
from nr_llm.budgets import Spent
from nr_llm.codecs.json import JSON, decode
from nr_llm.errors import MalformedJsonError
from nr_llm.privacy import PrivacyLevel, StepRecord
from nr_llm.records import RunChange, RunHead, RunTotals, StoredRun, StoredStep, TranscriptEntry
from nr_llm.responses import Usage
from nr_llm.stores import UsageRow

from nr_llm_store._changes import totals as total_columns
from nr_llm_store._money import PART, joined
from nr_llm_store._statements import RUN_COLUMNS
from nr_llm_store._tables import TOKENS
from nr_llm_store._text import plain, written

_RUN: Final = tuple(column.name for column in RUN_COLUMNS)


def head_columns(head: RunHead) -> dict[str, Any]:
    """Return what a run began with as columns."""
    return {
        "run_id": plain(head.run_id),
        "model": plain(head.model),
        "configuration": plain(head.configuration),
        "actor_id": None if head.actor is None else plain(head.actor.id),
        "actor": None if head.actor is None else written(head.actor.to_dict()),
        "privacy": head.privacy.value,
        "began": head.began,
        "continues": plain(head.continues),
        "provenance": written(dict(head.provenance)),
        "setting": None if head.setting is None else written(dict(head.setting)),
    }


def first_columns(change: RunChange, *, state: str | None, messages: int) -> dict[str, Any]:
    """
    Return the columns of a new run that its first change says.

    Args:
        change: The change.
        state: The live state as it is stored, or None.
        messages: How many live messages it has.
    """
    over = change.status is not None and change.status.terminal
    freed = over or change.claim == ""
    return {
        "status": "running" if change.status is None else change.status.value,
        "reason": plain(change.reason or None),
        "error": plain(change.error or None),
        "updated": change.at,
        "ended": change.at if over else None,
        "owner": None if over else plain(change.claim or None),
        "lease": None if freed else change.lease or None,
        "stop": 0,
        "steps": len(change.steps),
        "entries": len(change.transcript),
        "live_messages": messages,
        "live_state": state,
        **total_columns(change.totals or RunTotals()),
    }


def event_rows(change: RunChange) -> list[dict[str, Any]]:
    """Return the steps of a change as rows."""
    run_id = plain(change.run_id)
    return [
        {
            "run_id": run_id,
            "sequence": number,
            "at": change.at,
            "kind": plain(step.kind),
            "round": step.round,
            "duration_ms": step.duration_ms,
            "payload": written(step.payload if type(step.payload) is dict else dict(step.payload)),
        }
        for number, step in enumerate(change.steps, change.sequence)
    ]


def message_rows(change: RunChange) -> list[dict[str, Any]]:
    """Return the messages of a change as rows."""
    run_id = plain(change.run_id)
    return [
        {"run_id": run_id, "number": number, "said": int(entry.said), "message": written(entry.message)}
        for number, entry in enumerate(change.transcript, change.transcript_start)
    ]


def read_run(row: Iterable[Any]) -> StoredRun:
    """Return the run in a row of `RUN_COLUMNS`."""
    of = dict(zip(_RUN, row, strict=True))
    totals = RunTotals(
        rounds=of["rounds"],
        calls=of["calls"],
        usage=read_usage(of[name] for name in TOKENS),
        cost=joined(of["cost"], of["cost_rest"]),
        unpriced=bool(of["unpriced"]),
        seconds=of["seconds"],
        truncated=bool(of["truncated"]),
    )
    return StoredRun(
        head=_read_head(of),
        raw_status=of["status"],
        raw_reason=of["reason"],
        error=of["error"],
        totals=totals,
        updated=of["updated"],
        ended=of["ended"],
        owner=of["owner"],
        lease=of["lease"],
        stop=bool(of["stop"]),
        steps=of["steps"],
    )


def _read_head(of: Mapping[str, Any]) -> RunHead:
    return RunHead(
        run_id=of["run_id"],
        model=of["model"],
        configuration=of["configuration"],
        actor=None if of["actor"] is None else Actor.from_dict(_object(of["actor"]) or {}),
        privacy=PrivacyLevel.of(of["privacy"]),
        began=of["began"],
        continues=of["continues"],
        provenance=_object(of["provenance"]) or {},
        setting=None if of["setting"] is None else _object(of["setting"]),
    )


def read_step(row: tuple[Any, ...]) -> StoredStep:
    """Return the step in a row."""
    sequence, at, kind, number, duration, payload = row
    said = decode(payload)
    record = StepRecord(
        kind=kind, round=number, duration_ms=duration or 0.0, payload=said if isinstance(said, dict) else {}
    )
    return StoredStep(sequence=sequence, at=at, step=record)


def read_entry(row: tuple[Any, ...]) -> TranscriptEntry:
    """Return the kept message in a row."""
    return TranscriptEntry(decode(row[0]), bool(row[1]))


def read_usage_rows(rows: Iterable[tuple[Any, ...]]) -> tuple[UsageRow, ...]:
    """Return what runs of each kind used; a kind has a row for each odd rest of an amount."""
    kinds: dict[tuple[Any, ...], UsageRow] = {}
    for actor_id, configuration, model, rest, runs, unpriced, parts, units, *tokens in rows:
        kind = (actor_id, configuration, model)
        found = kinds.get(kind) or UsageRow(
            actor_id=actor_id, configuration=configuration, model=model, runs=0, usage=Usage()
        )
        kinds[kind] = attrs.evolve(
            found,
            runs=found.runs + runs,
            usage=found.usage + read_usage(tokens),
            cost=found.cost + joined(PART * int(parts) + int(units), rest, times=runs),
            unpriced=found.unpriced or bool(unpriced),
        )
    return tuple(kinds.values())


def read_spent(rows: Iterable[tuple[Any, ...]]) -> Spent:
    """Return what an actor spent; there is a row for each odd rest of an amount."""
    spent = Spent()
    for rest, runs, tokens, parts, units in rows:
        cost = joined(PART * int(parts) + int(units), rest, times=runs)
        spent += Spent(tokens=int(tokens), cost=cost, runs=runs)
    return spent


def read_usage(counts: Iterable[Any]) -> Usage:
    """Return the counts in the columns of tokens; PostgreSQL adds whole numbers up to a decimal one."""
    return Usage(**{name: None if count is None else int(count) for name, count in zip(TOKENS, counts, strict=True)})


def _object(text: str) -> Mapping[str, JSON] | None:
    """Return the object in a column; None for a damaged one, which must not hide every other row of a list."""
    try:
        value = decode(text)
    except MalformedJsonError:
        value = None
    return value if isinstance(value, dict) else None
