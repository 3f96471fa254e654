"""Runs that the store keeps, as the page lists and replays them: as stored, and no further than somebody may see."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs
from nr_llm._json import JSON, copy_json
from nr_llm.approvals import WaitingRun
from nr_llm.errors import InvalidValueError
from nr_llm.feed import ending_of
from nr_llm.history import RunHistory
from nr_llm.previews import open_previews
from nr_llm.privacy import PrivacyLevel
from nr_llm.records import WAITING, RunStatus, StoredRun, StoredStep
from nr_llm.state import TerminationReason
from nr_llm.steps import StepKind
from nr_llm.stores import RunQuery
from nr_llm.toolbox import Toolbox

from nr_llm_playground.lines import bounded, line_of

PAGE: Final = 50
"""Runs of one page of the history."""

SEARCHED: Final = 200
"""Runs that a search for a text looks at before it says how to go on."""

STEPS: Final = 20
"""Steps of a stored run that are read at once, to be told as a feed."""

PROMPT_CHARACTERS: Final = 120
"""Characters of a question that the history shows."""

_WAITS: Final = {
    RunStatus.WAITING_FOR_APPROVAL: "awaiting_approval",
    RunStatus.WAITING_FOR_INPUT: "awaiting_input",
}
_GUARDED: Final = {
    TerminationReason.POLICY_DENIED: "guardrail_blocked",
    TerminationReason.APPROVAL_DENIED: "guardrail_approval_required",
}


def waits(status: RunStatus | None) -> str | None:
    """Return the event that stands for a status in which a person has to decide, or None for any other."""
    return None if status is None else _WAITS.get(status)


def summary(history: RunHistory, run: StoredRun) -> dict[str, JSON]:
    """Return what a list shows of a run; its question where the level keeps content."""
    told: dict[str, Any] = run.to_dict()
    told = {name: value for name, value in told.items() if name != "provenance"}
    level = run.head.privacy
    return {**told, "level": str(level), "currency": None, "prompt": _question(history, run)}


def _question(history: RunHistory, run: StoredRun) -> str | None:
    if not run.head.privacy.keeps_content:
        return None
    for step in history.steps(run.run_id, limit=1):
        sent: Any = step.step.payload.get("messages_sent") or ()
        asked = [one["content"] for one in sent if isinstance(one, Mapping) and one.get("role") == "user"]
        if asked:
            return _text(asked[-1])[:PROMPT_CHARACTERS]
    return None


def _text(content: object) -> str:
    """Return the text of a message in wire form, which may stand beside images."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


@attrs.frozen(kw_only=True)
class Wanted:
    """
    Which runs a list is to have.

    Attributes:
        statuses: Runs in one of these, or None for any.
        configuration: Runs of this configuration, or None for any.
        text: Runs with this text in name, question, model, configuration or actor; empty for any.
        before: Where the page before ended, as its `next` said; empty for the newest.
        limit: At most so many.
    """

    statuses: frozenset[RunStatus] | None = None
    configuration: str | None = None
    text: str = ""
    before: str = ""
    limit: int = PAGE


def listed(history: RunHistory, wanted: Wanted) -> dict[str, JSON]:
    """
    Return a page of the history and where the next one begins.

    Raises:
        InvalidValueError: `before` is none of ours.
    """
    began, name = _place(wanted.before)
    query = RunQuery(
        statuses=wanted.statuses,
        configuration=wanted.configuration,
        began_before=None if began is None else math.nextafter(began, math.inf),
        limit=SEARCHED if wanted.text else wanted.limit + PAGE,
    )
    found = list(history.find(query))
    if wanted.statuses and wanted.statuses <= WAITING and not wanted.before:
        found = _with_inbox(history, found, wanted)
    runs = [run for run in found if began is None or (run.head.began, run.run_id) < (began, name)]
    rows: list[JSON] = []
    for i, run in enumerate(runs):
        if len(rows) == wanted.limit:
            return {"runs": rows, "next": _mark(runs[i - 1])}
        if _has(history, run, wanted.text.casefold()):
            rows.append(summary(history, run))
    more = len(found) >= query.limit
    return {"runs": rows, "next": _mark(runs[-1]) if more and runs else None}


def _with_inbox(history: RunHistory, found: list[StoredRun], wanted: Wanted) -> list[StoredRun]:
    """Return runs that wait together with those that somebody may decide on and not read."""
    known = {run.run_id for run in found}
    asked = (waiting.run for waiting in history.inbox())
    more = [run for run in asked if run.run_id not in known and run.status in (wanted.statuses or ())]
    kept = [run for run in more if wanted.configuration in (None, run.head.configuration)]
    return sorted((*found, *kept), key=lambda run: (run.head.began, run.run_id), reverse=True)


def _has(history: RunHistory, run: StoredRun, text: str) -> bool:
    """Return whether a run has a text in what is known of it; its question, which takes a look, comes last."""
    actor = "" if run.head.actor is None else run.head.actor.id
    known = (run.run_id, run.head.model, run.head.configuration or "", actor)
    return any(text in word.casefold() for word in known) or text in (_question(history, run) or "").casefold()


def _mark(run: StoredRun) -> str:
    return f"{run.head.began!r}:{run.run_id}"


def _place(mark: str) -> tuple[float | None, str]:
    if not mark:
        return None, ""
    began, _, name = mark.partition(":")
    try:
        return float(began), name
    except ValueError:
        raise InvalidValueError("is none that a list gave", path="before") from None


def pending(waiting: WaitingRun, toolbox: Toolbox) -> list[JSON]:
    """
    Return the calls of a held turn as somebody decides on them: exact, with what a decision has to name.

    Args:
        waiting: The run, as it is theirs to decide on.
        toolbox: The tools that are open to them; of others they see no preview.
    """
    previews = () if waiting.state is None else open_previews(waiting.state.previews, toolbox)
    shown = {preview.index: preview for preview in previews}
    told: list[JSON] = []
    for one in waiting.calls:
        call: dict[str, JSON] = {
            "index": one.index,
            "call_id": one.call.id,
            "name": one.call.name,
            "waits": one.asked,
            "arguments": copy_json(one.call.arguments),
            "digest": one.digest,
        }
        if one.call.malformed is not None:
            call["malformed"] = one.call.malformed
        if (preview := shown.get(one.index)) is not None:
            call["preview"] = {"lines": list(preview.lines), "failed": preview.failed}
        if one.form is not None:
            call["form"] = copy_json(one.form)
        told.append(call)
    return told


def replayable(run: StoredRun) -> tuple[bool, str | None]:
    """Return whether a run can be shown again as it was, and why not."""
    if run.head.privacy is not PrivacyLevel.FULL:
        level = str(run.head.privacy)
        return False, f"It was kept at level {level!r}: what the model and the tools said is not all there."
    return True, None


@attrs.define(kw_only=True, eq=False)
class Record:
    """
    Tells a stored run as a feed does: ``context``, its steps, one last line that says what it is now.

    A request holds the whole conversation before it, so a long run told at once is the square of its length.

    Attributes:
        run: The run.
        held: The calls it waits with, for who may decide on them, or None.
        facts: What the first line says beside the run and its model.
        most: Bytes that a line may have.
    """

    run: StoredRun
    held: list[JSON] | None
    facts: Mapping[str, JSON]
    most: int
    _told: int = attrs.field(default=-1, init=False)
    _reply: StoredStep | None = attrs.field(default=None, init=False)

    def begin(self) -> bytes:
        """Return the first line."""
        run = self.run
        return line_of(
            "context", 0, run_id=run.run_id, model=run.head.model, segment=0, source="store", **self.facts, t=0
        )

    def steps(self, history: RunHistory) -> list[bytes]:
        """Return the lines of the next steps; none when all are told."""
        steps = history.steps(self.run.run_id, after=self._told, limit=STEPS)
        for step in steps:
            self._told = step.sequence
            self._reply = step if step.step.kind == StepKind.LLM else self._reply
        return [self._step(step) for step in steps]

    def end(self) -> bytes:
        """Return the last line."""
        name, fields = _end(self.run, self._reply, self.held)
        return line_of(name, self._told + 2, run_id=self.run.run_id, **fields, t=self._since(self.run.updated))

    def _step(self, step: StoredStep) -> bytes:
        told = line_of("step", step.sequence + 1, step=step.step.to_dict(), at=step.at, t=self._since(step.at))
        return bounded(told, most=self.most)

    def _since(self, at: float) -> int:
        return round(max(0.0, 1000 * (at - self.run.head.began)))


def _end(run: StoredRun, reply: StoredStep | None, held: list[JSON] | None) -> tuple[str, dict[str, JSON]]:
    """Return the last line of a run as it is now; one that is under way elsewhere is said to be unfinished."""
    if (name := waits(run.status)) is not None:
        return name, {"pending": held or []}
    if run.status is None or not run.status.terminal:
        return "unfinished", {"status": run.raw_status}
    reason = next((one for one in TerminationReason if one == run.raw_reason), None)
    used: dict[str, Any] = {**run.totals.to_dict(), "reason": run.raw_reason, "currency": None, **_answer(reply)}
    name = _GUARDED.get(reason) if reason is not None else None
    if name is not None:
        return name, {**used, "guardrail": run.error}
    name = ending_of(reason)
    if name == "error":
        used["error"] = {"class": run.error or "unknown", "message": "The record keeps no text of errors."}
    return name, used


def _answer(reply: StoredStep | None) -> dict[str, JSON]:
    """Return the answer, as far as it was kept: what the model said last without a call."""
    last = None if reply is None else reply.step
    if last is None or last.payload.get("requested_tool_calls") or last.payload.get("requested_tool_names"):
        return {}
    return {name: last.payload[name] for name in ("content", "content_length") if name in last.payload}
