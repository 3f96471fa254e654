"""A stored run as JSON that holds all of its record: a head, its steps, what was said, and an end that counts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from nr_llm_cli.times import utc

if TYPE_CHECKING:
    from nr_llm.records import StoredRun
    from nr_llm.stores import RunStore

FORMAT: Final = 1
"""Number of the form that is written; it grows when a reader has to change."""

_TIMES: Final = ("began", "updated", "ended")


def records(store: RunStore, run: StoredRun) -> Iterator[dict[str, Any]]:
    """
    Yield the record of a run: ``run``, each ``step``, each ``message``, ``end``.

    Times are seconds since 1970.  A step's `messages_sent` are ``[first, end]`` pairs of message numbers, so that an
    export is as long as its run and not as the square of it.
    """
    steps, entries = store.steps(run.run_id), store.transcript(run.run_id)
    yield {"record": "run", "format": FORMAT, **run.to_dict(), "setting": run.head.setting}
    for step in steps:
        yield {"record": "step", **step.to_dict()}
    for number, entry in enumerate(entries):
        yield {"record": "message", "number": number, "said": entry.said, "message": entry.message}
    yield {"record": "end", "run_id": run.run_id, "steps": len(steps), "messages": len(entries)}


def whole(store: RunStore, run: StoredRun) -> dict[str, Any]:
    """Return the record of a run as one object: ``steps`` and ``messages`` are lists."""
    head, *lines = records(store, run)
    kinds = ("step", "message")
    parts = {f"{kind}s": [_bare(line) for line in lines if line["record"] == kind] for kind in kinds}
    return {**_bare(head), **parts}


def _bare(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "record"}


def timed(run: StoredRun) -> dict[str, Any]:
    """Return a run as programs read it in lists: times in UTC."""
    found: dict[str, Any] = run.to_dict()
    return {**found, **{name: utc(found[name]) for name in _TIMES}}
