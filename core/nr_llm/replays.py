"""
Runs a stored run once more without asking or calling anybody, and says where it comes out otherwise.

A run is a computation over answers, so the record of one that was kept in full holds all that is needed: the setting
it began with, what the model said, what the tools gave.  The replay drives the same loop with these answers and
compares each step with the stored one.  A difference means that this version decides otherwise than the one that ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from nr_llm._begun import begun
from nr_llm._drive import Ended, advance
from nr_llm._json import JSON, decode, encode
from nr_llm._loop import Plan, dry_run, tool_loop
from nr_llm._settle import settle
from nr_llm._turns import OUTCOME_UNKNOWN, declined, note_of
from nr_llm.approvals import Decision, StaleDecisionError, decided
from nr_llm.artifacts import ToolArtifact
from nr_llm.effects import CallOutcome, Complete, Effect, Invoke, Preview, Record
from nr_llm.errors import ConfigurationError, InvalidValueError, RunNotFoundError
from nr_llm.history import RunHistory
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.previews import CallPreview
from nr_llm.privacy import PrivacyLevel, StepFilter, StepRecord
from nr_llm.records import RunStatus, StoredRun, StoredStep
from nr_llm.redaction import Redactor
from nr_llm.responses import CompletionResponse, FinishReason, Usage
from nr_llm.results import ToolResult
from nr_llm.runs import Outcome, RunResult, decide
from nr_llm.state import PendingCall, RunState, TerminationReason, Verdict
from nr_llm.steps import StepKind

MISSING: Final = "The record ends before this result."
"""Stands in a replay for a result that was not kept any more."""


@attrs.frozen(kw_only=True)
class Difference:
    """
    Where a replay came out otherwise.

    Attributes:
        sequence: The number of the step; for what is missing or new at the end, the next one.
        fields: Names of what differs; ``step`` where one of the two has no such step.
        stored: The stored step, or None.
        replayed: The step of the replay, or None.
    """

    sequence: int
    fields: tuple[str, ...]
    stored: Mapping[str, JSON] | None = attrs.field(default=None, repr=False)
    replayed: Mapping[str, JSON] | None = attrs.field(default=None, repr=False)


@attrs.frozen(kw_only=True)
class Replay:
    """
    A run that was run once more.

    Attributes:
        run: The stored run.
        steps: The steps of the replay, unfiltered.
        state: The state it came to.
        differences: Where it came out otherwise; empty if it is the same.
    """

    run: StoredRun
    steps: tuple[StepRecord, ...]
    state: RunState
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether it came out as it is stored."""
        return not self.differences


def replay(history: RunHistory, run_id: str) -> Replay:
    """
    Run a stored run once more, from its record alone.

    Args:
        history: The stored runs, for whoever asks.
        run_id: The run.

    Raises:
        RunNotFoundError: There is no such run.
        ConfigurationError: It was kept at a level below `full`, so that what it needs is not there, or a newer version
            wrote what this one cannot read.
    """
    run = history.get(run_id)
    if run is None:
        raise RunNotFoundError(run_id)
    if run.head.privacy is not PrivacyLevel.FULL:
        raise ConfigurationError(
            f"Run {run_id} was kept at privacy level {str(run.head.privacy)!r}, without what the model and the tools "
            "said: it cannot be replayed.",
            remedy="Runs that shall be replayed are kept at level 'full': --privacy full, or privacy = \"full\".",
        )
    if run.head.setting is None:
        raise ConfigurationError(
            f"Run {run_id} was begun without this store: its record has no beginning, and it cannot be replayed."
        )
    stored = history.steps(run_id)
    said = history.conversation(run_id)
    told = [step for step in stored if not _from_outside(step.step)]
    again = _Again(stored)
    try:
        state, whole = again.run_through(*begun(run.head.setting, said))
    except (AttributeError, InvalidValueError, LookupError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"The record of run {run_id} holds what this version cannot read ({type(error).__name__}): it cannot be "
            "replayed.",
            remedy="Replay it with the version that wrote it, or a newer one.",
        ) from error
    if not whole and run.status in (RunStatus.CANCELLED, RunStatus.FAILED):
        state = settle(state, _ended(run))
    differences = (*_compared(told, again.steps), *_told_apart(run, said, state, end=len(stored), whole=whole))
    return Replay(run=run, steps=tuple(again.steps), state=state, differences=differences)


def _from_outside(step: StepRecord) -> bool:
    """Say whether a step tells what a person or the policy said, which the loop cannot come to again by itself."""
    return "decisions" in step.payload or step.kind == StepKind.POLICY


def _ended(run: StoredRun) -> TerminationReason:
    """Return why a run that failed or was stopped did, as far as this version knows the word."""
    return next((reason for reason in TerminationReason if reason == run.raw_reason), TerminationReason(run.raw_status))


class _Over(Exception):  # noqa: N818 - no fault: the record has no further answer
    """The record ends here."""


class _Again:
    """Drives the loop with the answers of a record, and no further than the record goes."""

    def __init__(self, stored: Sequence[StoredStep]) -> None:
        self._known = 0
        self._decisions: dict[int, StepRecord] = {}  # by how many steps of the loop stand before them
        for step in stored:
            if "decisions" in step.step.payload:
                self._decisions[self._known] = step.step
            elif not _from_outside(step.step):
                self._known += 1
        self._dry = any(step.step.kind == StepKind.ASSEMBLED for step in stored)
        self._replies = iter([step.step for step in stored if step.step.kind == StepKind.LLM])
        self._results = [step.step for step in stored if step.step.kind == StepKind.TOOL]
        self._held = iter([step.step for step in stored if step.step.kind == StepKind.APPROVAL])
        self._filter = StepFilter(PrivacyLevel.FULL, Redactor())
        self.steps: list[StepRecord] = []
        self._last: RunState | None = None

    def run_through(self, state: RunState, plan: Plan) -> tuple[RunState, bool]:
        """Return the state a run comes to, and whether it came to its end by itself."""
        self._last = state
        try:
            while not isinstance(outcome := self._segment(self._last, plan), RunResult):
                self._last = self._decided(outcome.state)
        except _Over:
            return self._last, False
        return self._last, True

    def _segment(self, state: RunState, plan: Plan) -> Outcome:
        flow = dry_run(state, plan) if self._dry else tool_loop(state, plan)
        current: Effect[Any] | Ended[Outcome] = advance(flow)
        while not isinstance(current, Ended):
            try:
                answer = self._answer(current)
            except _Over:
                flow.close()
                raise
            current = advance(flow, answer)
        return current.value

    def _answer(self, effect: Effect[Any]) -> Any:
        match effect:
            case Record(step, state):
                if step is not None:
                    if len(self.steps) == self._known:
                        raise _Over
                    self.steps.append(self._filter.record(step))
                self._last = state
                return None
            case Complete():
                reply = next(self._replies, None)
                if reply is None:
                    raise _Over
                return _reply(reply)
            case Invoke(calls):
                return tuple(self._result(pending) for pending in calls)
            case Preview():
                return tuple(CallPreview(**one) for one in self._previews())
            case _:
                raise AssertionError("a replay waits for nothing")  # pragma: no cover

    def _previews(self) -> Sequence[Mapping[str, Any]]:
        """Return the previews of the next held turn that has any."""
        shown: Iterator[Any] = (step.payload.get("previews") for step in self._held)
        return next(filter(None, shown), ())

    def _result(self, pending: PendingCall) -> CallOutcome:
        wanted = (pending.call.id, pending.call.name)
        for i, step in enumerate(self._results):
            if (step.payload.get("tool_call_id"), step.payload.get("tool_name")) == wanted:
                del self._results[i]
                return _outcome(step, without=note_of(pending) if pending.edited else "")
        return CallOutcome(ToolResult.error(MISSING))

    def _decided(self, state: RunState) -> RunState:
        """Return a held turn with what a person said, as the record or else the results of its calls tell."""
        if (kept := self._decisions.get(len(self.steps))) is not None:
            try:
                return self._as_filled(state, kept) if kept.kind == StepKind.INPUT else _as_decided(state, kept)
            except StaleDecisionError:  # it came to another turn than the one that was decided on
                raise _Over from None
        results = {step.payload.get("tool_call_id"): step.payload.get("tool_result") for step in self._results}
        if len(self.steps) == self._known:
            raise _Over
        refused = {p.index for p in state.pending if results.get(p.call.id) == declined(p.call.name)}
        return decide(
            state, {p.index: Verdict.DENIED if p.index in refused else Verdict.APPROVED for p in state.pending}
        )

    def _as_filled(self, state: RunState, step: StepRecord) -> RunState:
        """Return a turn with forms filled in; with what, the calls that ran tell, or nobody does any more."""
        payload: Mapping[str, Any] = step.payload
        said = {one["index"]: one["approved"] for one in payload["decisions"]}
        ran: Mapping[Any, Any] = {
            one.payload.get("tool_call_id"): one.payload.get("tool_arguments") for one in self._results
        }
        pending = []
        for one in state.pending:
            if one.index not in said:
                pending.append(one)
            elif not said[one.index]:
                pending.append(attrs.evolve(one, verdict=Verdict.DENIED))
            else:
                call = attrs.evolve(one.call, arguments=ran.get(one.call.id) or {})
                pending.append(attrs.evolve(one, call=call, filled=True))
        return attrs.evolve(state, pending=tuple(pending))


def _as_decided(state: RunState, step: StepRecord) -> RunState:
    payload: Mapping[str, Any] = step.payload
    said = {one["index"]: one for one in payload["decisions"]}
    changed = {one["index"]: one["arguments"] for one in payload.get("edited_arguments") or ()}
    decisions = [
        Decision(index=index, approve=one["approved"], digest=one["digest"], arguments=changed.get(index))
        for index, one in said.items()
    ]
    return decided(state, decisions)


def _reply(step: StepRecord) -> CompletionResponse:
    payload: Mapping[str, Any] = step.payload
    return CompletionResponse(
        content=payload.get("content", ""),
        reasoning=payload.get("reasoning"),
        finish_reason=FinishReason(payload["finish_reason"]),
        finish_detail=payload.get("finish_detail"),
        tool_calls=[_call(call) for call in payload.get("requested_tool_calls") or ()] or None,
        usage=Usage(
            payload.get("input_tokens"),
            payload.get("output_tokens"),
            cached_tokens=payload.get("cached_tokens"),
            cache_write_tokens=payload.get("cache_write_tokens"),
            reasoning_tokens=payload.get("reasoning_tokens"),
        ),
        attempts=payload.get("attempts") or 1,
        elapsed=step.duration_ms / 1000,
        raw=payload.get("raw"),
    )


def _call(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(call["id"], call["name"], call["arguments"], malformed=call.get("malformed"))


def _outcome(step: StepRecord, *, without: str) -> CallOutcome:
    payload: Mapping[str, Any] = step.payload
    shown = [ToolArtifact(one["type"], one["label"], one["data"]) for one in payload.get("tool_artifacts") or ()]
    content = payload["tool_result"].removeprefix(without)
    result = ToolResult.error(content) if payload["tool_is_error"] else ToolResult.text(content, *shown)
    return CallOutcome(result, seconds=step.duration_ms / 1000, executed=payload["tool_executed"])


def _compared(stored: Sequence[StoredStep], steps: Sequence[StepRecord]) -> Iterator[Difference]:
    for number in range(max(len(stored), len(steps))):
        was = _plain(stored[number].step) if number < len(stored) else None
        now = _plain(steps[number]) if number < len(steps) else None
        if was is None or now is None:
            yield Difference(sequence=number, fields=("step",), stored=was, replayed=now)
        elif was != now:
            names = sorted(name for name in {*was, *now} if was.get(name) != now.get(name))
            yield Difference(sequence=number, fields=tuple(names), stored=was, replayed=now)


def _plain(step: StepRecord) -> Mapping[str, Any]:
    """Return a step as it is after a way through JSON, without how long it took."""
    found = decode(encode(step.to_dict()))
    assert isinstance(found, dict)
    return {name: value for name, value in found.items() if name != "duration_ms"}


def _told_apart(
    run: StoredRun, said: Sequence[ChatMessage], state: RunState, *, end: int, whole: bool
) -> Iterator[Difference]:
    """Yield how the ends differ: what was said, and why it ended."""
    was, now = _words(said), _words(state.messages)
    if not whole:  # it was broken off: what was answered afterwards is no matter of the loop
        shared = next((i for i, words in enumerate(now) if words.get("role") == "tool" and _is_end(words)), len(now))
        was, now = was[:shared], now[:shared]
    if was != now:
        yield Difference(sequence=end, fields=("messages",))
    if run.raw_reason != (None if state.reason is None else str(state.reason)):
        yield Difference(sequence=end, fields=("reason",))


def _is_end(words: Mapping[str, Any]) -> bool:
    """Say whether a result is one of those that stand for what never came."""
    return words["content"] in (MISSING, OUTCOME_UNKNOWN) or words["content"].startswith("Not executed:")


def _words(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return messages without what only a provider can read."""
    return [message.to_wire() for message in messages]
