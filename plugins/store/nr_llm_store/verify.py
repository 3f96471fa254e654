"""Checks that the record of a run is whole: on any store, since it asks only what every store answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
from nr_llm.records import TERMINAL, StoredRun, StoredStep
from nr_llm.stores import RunStore


@attrs.frozen
class Finding:
    """
    Something in a run's record that should not be.

    Attributes:
        code: What kind it is, for programs.
        text: What it is, for people.
    """

    code: str
    text: str


def verify(store: RunStore, run_id: str) -> tuple[Finding, ...]:
    """
    Return what is wrong with the record of a run; nothing is the good answer.

    Args:
        store: Any store.
        run_id: The run.
    """
    run = store.run(run_id)
    if run is None:
        return (Finding("unknown", f"There is no run {run_id}."),)
    steps, entries = store.steps(run_id), store.transcript(run_id)
    return (
        *_of_run(run),
        *_of_sequence(run, steps),
        *_of_spans(steps, len(entries)),
        *_of_provenance(run),
        *_of_live(run, live=store.live(run_id) is not None),
    )


def _of_run(run: StoredRun) -> Iterator[Finding]:
    if run.status is None:
        yield Finding("status", f"Its status {run.raw_status!r} is not one that this version knows.")
    elif run.status in TERMINAL:
        if run.raw_reason is None:
            yield Finding("reason", f"It is {run.raw_status}, and nothing says why.")
        if run.ended is None:
            yield Finding("ended", f"It is {run.raw_status}, and nothing says since when.")
        if run.owner is not None or run.lease is not None:
            yield Finding("claim", f"It is {run.raw_status}, and a segment still holds it.")
    elif run.ended is not None:
        yield Finding("ended", f"It is {run.raw_status}, and has a time at which it ended.")


def _of_sequence(run: StoredRun, steps: Sequence[StoredStep]) -> Iterator[Finding]:
    numbers = [step.sequence for step in steps]
    if numbers != list(range(len(numbers))):
        missing = sorted(set(range(max(numbers) + 1)) - set(numbers))
        yield Finding("gap", f"Its steps {', '.join(map(str, missing[:10]))} are missing.")
    if run.steps != len(numbers):
        yield Finding("count", f"It says that it has {run.steps} steps, and {len(numbers)} are kept.")


def _of_spans(steps: Iterable[StoredStep], entries: int) -> Iterator[Finding]:
    for step in steps:
        sent = step.step.payload.get("messages_sent", [])
        for span in sent if isinstance(sent, list) else []:
            if not _is_span(span, entries):
                yield Finding(
                    "span", f"Step {step.sequence} was made of the messages {span!r}, and {entries} are kept."
                )


def _is_span(span: Any, entries: int) -> bool:
    if isinstance(span, dict):  # a message itself, as records of other writers hold it
        return True
    numbers = isinstance(span, list) and len(span) == 2 and all(type(number) is int for number in span)
    return numbers and 0 <= span[0] < span[1] <= entries


def _of_provenance(run: StoredRun) -> Iterator[Finding]:
    if not run.head.provenance:
        yield Finding("provenance", "Nothing says which packages offered its model and tools.")
        return
    tools = run.head.provenance.get("tools", {})
    for name, tool in tools.items() if isinstance(tools, dict) else ():
        if not isinstance(tool, dict) or not isinstance(tool.get("schema"), str):
            yield Finding("schema", f"Nothing says which schema its tool {name} had.")


def _of_live(run: StoredRun, *, live: bool) -> Iterator[Finding]:
    if live and run.status in TERMINAL:
        yield Finding("live", f"It is {run.raw_status}, and its live state is still there.")
    if not live and run.status is not None and run.status.waiting:
        yield Finding("live", f"It is {run.raw_status}, and there is no live state to go on from.")
