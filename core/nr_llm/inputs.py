"""
What a person fills in for calls that ask for it: checked against the call's form before anything changes.

A tool with a form is not run with what the model wrote for the form's keys: a person gives these, and only these.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

import attrs

from nr_llm._json import JSON
from nr_llm.approvals import DecisionError, StaleDecisionError, Submission, Submissions, call_digest
from nr_llm.errors import InvalidValueError
from nr_llm.messages import ToolCall
from nr_llm.state import PendingCall, RunState, Verdict


class InvalidInputError(DecisionError):
    """
    What a person gave does not fit; nothing was run, and the run waits as it did.

    Attributes:
        index: The call's place in the turn.
        faults: What is wrong, as one text with a line for each fault.
        tool: The tool whose arguments were changed, or None where a form was filled in.
    """

    def __init__(self, run_id: str, index: int, faults: str, *, tool: str | None = None) -> None:
        fits = "its form" if tool is None else f"tool {tool!r}"
        said = faults.replace("\n", " | ")
        super().__init__(f"What was given for call {index} of run {run_id} does not fit {fits}: {said}", run_id=run_id)
        self.index = index
        self.faults = faults
        self.tool = tool


def faults_of(error: InvalidValueError) -> str:
    """Return what is wrong with values that a person gave, a line for each fault."""
    return str(error.for_person() if hasattr(error, "for_person") else error)


def submitted(state: RunState, submissions: Submissions) -> RunState:
    """
    Return a suspended run with what a person filled in.

    Raises:
        StaleDecisionError: A submission is about another turn, call or form than the one that waits.
        InvalidInputError: What was given does not fit the form.
        InvalidValueError: Two submissions are about one call, or there is none.
    """
    given: dict[int, Submission] = {}
    for submission in submissions:
        if given.setdefault(submission.index, submission) is not submission:
            raise InvalidValueError(f"two are about call {submission.index}", path="submissions")
    if not given:
        raise InvalidValueError("there is none", path="submissions")
    waiting = {pending.index: pending for pending in state.pending if pending.form is not None}
    for index, submission in given.items():
        found = waiting.get(index)
        digest = "" if found is None else call_digest(state, index, found.call, form=found.form)
        if not digest or not hmac.compare_digest(digest.encode(), submission.digest.encode()):
            raise StaleDecisionError(state.run_id, index)
    return filled(state, {index: submission.values for index, submission in given.items()})


def filled(state: RunState, values: Mapping[int, Mapping[str, JSON] | None]) -> RunState:
    """
    Return a suspended run with what a person filled in, by index of the call; None declines it.

    Raises:
        InvalidInputError: What was given does not fit the form.
        InvalidValueError: No call of that index waits for it.
    """
    waiting = [pending.index for pending in state.pending if pending.form is not None and not pending.filled]
    for index in values:
        if index not in waiting:
            raise InvalidValueError(f"{index!r} is no index of a call with a form; those are {waiting}", path="inputs")
    return attrs.evolve(
        state,
        pending=tuple(
            _answered(state, pending, values[pending.index]) if pending.index in values else pending
            for pending in state.pending
        ),
    )


def _answered(state: RunState, pending: PendingCall, given: Mapping[str, JSON] | None) -> PendingCall:
    if given is None:
        return attrs.evolve(pending, verdict=Verdict.DENIED)
    form: Mapping[str, Any] = pending.form or {}
    try:
        values = _read(form, given)
    except InvalidValueError as error:
        raise InvalidInputError(state.run_id, pending.index, faults_of(error)) from error
    return attrs.evolve(pending, call=_overlaid(pending.call, form, values), filled=True)


def _read(form: Mapping[str, Any], given: Mapping[str, JSON]) -> Mapping[str, Any]:
    from nr_llm._schema import compile_schema

    declared = form.get("properties", {})
    return compile_schema(form)({key: value for key, value in given.items() if key in declared})


def _overlaid(call: ToolCall, form: Mapping[str, Any], values: Mapping[str, Any]) -> ToolCall:
    """Return a call with a person's values in place of whatever the model wrote for the form's keys."""
    declared = form.get("properties", {})
    kept = {key: value for key, value in call.arguments.items() if key not in declared}
    return attrs.evolve(call, arguments={**kept, **values})
