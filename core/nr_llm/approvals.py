"""
What a person decides about calls that wait: seen as they are, decided call by call, and never about another turn.

A decision names the digest of the call it is about.  The digest covers the run, how often it has been suspended, and
the call with its place and arguments, so a decision about an older turn, or about arguments that somebody changed in
between, is stale and decides nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from nr_llm._json import JSON, copy_object, encode_bytes
from nr_llm.errors import InvalidValueError, NrLlmError
from nr_llm.messages import ToolCall
from nr_llm.records import StoredRun
from nr_llm.state import PendingCall, RunState, Verdict


class DecisionError(NrLlmError):
    """
    A decision was refused; nothing was run, and the run waits as it did.

    Attributes:
        run_id: The run.
    """

    def __init__(self, message: str, *, run_id: str) -> None:
        super().__init__(message)
        self.run_id = run_id


class NotWaitingError(DecisionError):
    """
    The run does not wait for what was decided.

    Attributes:
        status: What it does instead.
    """

    def __init__(self, run_id: str, status: str, *, wanted: str) -> None:
        what = "an approval" if wanted == "waiting_for_approval" else "input"
        super().__init__(f"Run {run_id} does not wait for {what}: it is {status}.", run_id=run_id)
        self.status = status


class StaleDecisionError(DecisionError):
    """
    A decision is about another turn, or about a call that is not as the person saw it.

    Attributes:
        index: The call's place in the turn.
    """

    def __init__(self, run_id: str, index: int) -> None:
        super().__init__(
            f"The decision about call {index} of run {run_id} is about another call than the one that waits there. "
            "Look at the run again and decide anew.",
            run_id=run_id,
        )
        self.index = index


class SelfApprovalError(DecisionError):
    """Whoever began the run may not approve its calls: its configuration wants a second pair of eyes."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run {run_id} needs the approval of somebody else than the one who began it; they may deny.",
            run_id=run_id,
        )


class NotPermittedError(DecisionError):
    """
    Whoever approves a write has to be one who could make it.

    Attributes:
        tool: The tool.
    """

    def __init__(self, run_id: str, tool: str, why: str) -> None:
        super().__init__(f"Call of {tool!r} in run {run_id} cannot be approved: {why}.", run_id=run_id)
        self.tool = tool


def _arguments(given: Mapping[str, JSON] | None) -> dict[str, JSON] | None:
    return None if given is None else copy_object(given, path="arguments")


@attrs.frozen(kw_only=True)
class Decision:
    """
    What a person says to one call of a held turn.

    Args:
        index: The call's place in the turn.
        approve: Whether it may run.
        digest: Digest of the call as the person saw it; of an edited one, that of the edited call.
        arguments: Arguments to run it with instead of the model's.

    Raises:
        InvalidValueError: A denied call has arguments, they are no JSON object, or another value is of another type.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    index: int
    approve: bool
    digest: str
    arguments: Mapping[str, JSON] | None = attrs.field(default=None, converter=_arguments)

    def __attrs_post_init__(self) -> None:
        for name, kind in (("index", int), ("digest", str)):
            if type(value := getattr(self, name)) is not kind:
                raise InvalidValueError(f"must be {kind.__name__}, not {type(value).__name__}", path=name)
        if not isinstance(self.approve, bool):
            raise InvalidValueError(f"must be True or False, not {self.approve!r}", path="approve")
        if self.arguments is not None and not self.approve:
            raise InvalidValueError("a call that is not to run has no arguments", path="arguments")


Decisions: TypeAlias = Iterable[Decision]


def _values(given: Mapping[str, JSON] | None) -> dict[str, JSON] | None:
    return None if given is None else copy_object(given, path="values")


@attrs.frozen(kw_only=True)
class Submission:
    """
    What a person fills in for one call of a held turn.

    Args:
        index: The call's place in the turn.
        values: The form's keys with their values; keys the form does not have are left out.  None declines: the call
            is not run, and the model is told.
        digest: Digest of the call and its form as the person saw them.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    index: int
    values: Mapping[str, JSON] | None = attrs.field(converter=_values)
    digest: str


Submissions: TypeAlias = Iterable[Submission]


@attrs.frozen(kw_only=True)
class WaitingCall:
    """
    A call of a held turn.

    Attributes:
        index: Its place in the turn.
        call: What the model asked for.
        digest: What a decision about it names.
        asked: Whether a person is asked; the turn's other calls run once those are decided.
        form: JSON Schema of what they are asked to fill in, or None where they approve.
    """

    __hash__ = None  # type: ignore[assignment]  # holds a call

    index: int
    call: ToolCall
    digest: str
    asked: bool
    form: Mapping[str, JSON] | None = None


@attrs.frozen(kw_only=True)
class WaitingRun:
    """
    A run that waits for a person.

    Attributes:
        run: The run as stored.
        calls: The calls of the held turn, all of them; empty if its state cannot be read.
        unreadable: Why its state cannot be read, or None.
        state: Its live state, or None.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    run: StoredRun
    calls: tuple[WaitingCall, ...] = ()
    unreadable: str | None = None
    state: RunState | None = attrs.field(default=None, repr=False)

    @property
    def asked(self) -> tuple[WaitingCall, ...]:
        """The calls a person is asked about."""
        return tuple(call for call in self.calls if call.asked)

    def decision(self, index: int, *, approve: bool, arguments: Mapping[str, JSON] | None = None) -> Decision:
        """
        Return a decision about a call as it is shown here.

        Args:
            index: Its place in the turn.
            approve: Whether it may run.
            arguments: Arguments to run it with instead of the model's.

        Raises:
            InvalidValueError: There is no such call.
        """
        found = next((call for call in self.calls if call.index == index), None)
        if found is None or self.state is None:
            raise InvalidValueError(f"{index!r} is no index of a waiting call", path="index")
        edited = found.call if arguments is None else attrs.evolve(found.call, arguments=arguments, malformed=None)
        return Decision(
            index=index, approve=approve, digest=call_digest(self.state, index, edited), arguments=arguments
        )

    def submission(self, index: int, values: Mapping[str, JSON] | None) -> Submission:
        """
        Return what is filled in for a call as it is shown here.

        Args:
            index: Its place in the turn.
            values: The form's keys with their values; None declines the call.

        Raises:
            InvalidValueError: No such call waits for a form.
        """
        found = next((call for call in self.calls if call.index == index and call.form is not None), None)
        if found is None:
            raise InvalidValueError(f"{index!r} is no index of a call with a form", path="index")
        return Submission(index=index, values=values, digest=found.digest)


def call_digest(state: RunState, index: int, call: ToolCall, *, form: Mapping[str, JSON] | None = None) -> str:
    """
    Return the digest of a call: SHA-256, in hex.

    Args:
        state: The suspended run.
        index: The call's place in the turn.
        call: The call, with the arguments it is to run with.
        form: What a person is asked to fill in, or None.
    """
    covered: dict[str, Any] = {
        "run": state.run_id,
        "suspension": state.suspensions,
        "index": index,
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "malformed": call.malformed,
        "form": form,
    }
    return hashlib.sha256(encode_bytes(_sorted(covered))).hexdigest()


def _sorted(value: Any) -> Any:
    """Return a JSON value whose objects are in the order of their keys: stores may give them back in another."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


def waiting_calls(state: RunState) -> tuple[WaitingCall, ...]:
    """Return the calls of a held turn, each with its digest."""
    return tuple(
        WaitingCall(
            index=pending.index,
            call=pending.call,
            digest=call_digest(state, pending.index, pending.call, form=pending.form),
            asked=pending.index in state.asked,
            form=None if pending.filled else pending.form,
        )
        for pending in state.pending
    )


def decided(state: RunState, decisions: Decisions) -> RunState:
    """
    Return a suspended run with what a person said to its calls.

    Raises:
        StaleDecisionError: A decision is about another turn, or about a call that is not as the person saw it.
        InvalidValueError: Two decisions are about one call, or there is none.
    """
    given: dict[int, Decision] = {}
    for decision in decisions:
        if given.setdefault(decision.index, decision) is not decision:
            raise InvalidValueError(f"two decisions are about call {decision.index}", path="decisions")
    if not given:
        raise InvalidValueError("there is none", path="decisions")
    pending = {one.index: one for one in state.pending}
    for index, decision in given.items():
        found = pending.get(index)
        call = None if found is None else edited(found.call, decision)
        named = decision.digest.encode("utf-8", "replace")
        if call is None or not hmac.compare_digest(call_digest(state, index, call).encode(), named):
            raise StaleDecisionError(state.run_id, index)
    return attrs.evolve(state, pending=tuple(_said(one, given.get(one.index)) for one in state.pending))


def edited(call: ToolCall, decision: Decision) -> ToolCall:
    """Return a call with the arguments a person decided on."""
    if decision.arguments is None:
        return call
    return attrs.evolve(call, arguments=decision.arguments, malformed=None)


def _said(pending: PendingCall, decision: Decision | None) -> PendingCall:
    if decision is None:
        return pending
    return attrs.evolve(
        pending,
        call=edited(pending.call, decision),
        edited=pending.edited or decision.arguments is not None,
        verdict=Verdict.APPROVED if decision.approve else Verdict.DENIED,
    )
