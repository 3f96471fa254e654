"""Runs that wait for a person, as rows for people and as JSON objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nr_llm.records import RunStatus

from nr_llm_cli.screen import one_line
from nr_llm_cli.timeline import short
from nr_llm_cli.times import local, utc

if TYPE_CHECKING:
    from nr_llm.approvals import WaitingCall, WaitingRun


def _kind(waiting: WaitingRun) -> str:
    return "input" if waiting.run.status is RunStatus.WAITING_FOR_INPUT else "approval"


def row_of(waiting: WaitingRun) -> dict[str, Any]:
    """Return a run as a row for people; one that cannot be read says why."""
    run = waiting.run
    calls = ", ".join(one_line(f"{one.index} {one.call.name}", 80) for one in waiting.asked)
    return {
        "run": short(run.run_id),
        "since": local(run.updated),
        "actor": None if run.head.actor is None else run.head.actor.id,
        "waits for": _kind(waiting),
        "calls": calls if waiting.unreadable is None else f"unreadable: {one_line(waiting.unreadable)}",
    }


def told(waiting: WaitingRun) -> dict[str, Any]:
    """Return a run as a JSON object, its calls as they are to be decided on."""
    run = waiting.run
    return {
        "run_id": run.run_id,
        "since": utc(run.updated),
        "began": utc(run.head.began),
        "actor": None if run.head.actor is None else run.head.actor.to_dict(),
        "model": run.head.model,
        "configuration": run.head.configuration,
        "waits_for": _kind(waiting),
        "calls": [_call(waiting, one) for one in waiting.calls],
        "unreadable": waiting.unreadable,
    }


def _call(waiting: WaitingRun, call: WaitingCall) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "index": call.index,
        "name": call.call.name,
        "arguments": dict(call.call.arguments),
        "waits": call.asked,
        "digest": call.digest,
    }
    if call.form is not None:
        fields["form"] = dict(call.form)
    previews = () if waiting.state is None else waiting.state.previews
    for preview in previews:
        if preview.index == call.index:
            fields["preview"] = {"lines": list(preview.lines), "failed": preview.failed}
    return fields
