"""
Turns what happens in a run into lines of JSON for whoever watches it live; exactly one of them says how it ended.

The host's own eyes see everything, artifacts included; whoever else watches gets a `StepFilter` between.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from nr_llm._json import JSON, copy_object, encode_bytes
from nr_llm._logs import MaskedLogger
from nr_llm._loop import result_of
from nr_llm.approvals import call_digest
from nr_llm.errors import InvalidValueError, NrLlmError
from nr_llm.events import (
    Event,
    Finished,
    ReasoningDelta,
    StepRecorded,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
    ToolProgress,
)
from nr_llm.middleware import GuardrailError
from nr_llm.privacy import PrivacyLevel, StepFilter
from nr_llm.redaction import Redactor
from nr_llm.runs import RunResult, Suspended
from nr_llm.state import RunState, TerminationReason
from nr_llm.steps import RunStep, StepKind
from nr_llm.streams import AsyncRunStream, RunStream

PADDED: Final = 4096
"""Bytes to pad lines to where a proxy holds short ones back (the reference system's figure)."""

ANSWERED: Final = frozenset(
    {
        TerminationReason.COMPLETED,
        TerminationReason.DRY_RUN,
        TerminationReason.LENGTH,
        TerminationReason.CONTENT_FILTER,
        TerminationReason.MAX_ROUNDS,
        TerminationReason.CONTEXT_OVERFLOW,
    }
)
"""Reasons whose last line is ``done``: the run came to its end, and `reason` and `truncated` say to which."""

UNEXPECTED: Final = "The run failed unexpectedly."
"""Stands for the text of an error that is none of ours, which may hold anything."""

_DELTAS: Final[Mapping[type, str]] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    ToolCallDelta: "tool_call",
    ToolProgress: "progress",
}
_LOG = logging.getLogger("nr_llm")


@attrs.define(kw_only=True, eq=False)
class Feed:
    """
    Writes the lines of one run, or of one segment of it: ``context``, what happens, one last line.

    Each line is one JSON object that ends in a newline, numbered by `seq` from 0, and valid UTF-8 whatever a model
    or a tool wrote.  Once the last line is written, nothing more is told: later calls return None.

    Attributes:
        filter: What a consumer who is not the host may see; None for everything.  Pieces of text cannot be masked,
            so below level `full` the steps alone tell what was written.
        redactor: Masks secrets in the texts of errors.
        pad: Bytes that each line has at least, made up by spaces before its newline.
    """

    filter: StepFilter | None = None
    redactor: Redactor = attrs.field(factory=Redactor)
    pad: int = 0
    _run_id: str = attrs.field(default="", init=False)
    _next: int = attrs.field(default=0, init=False)
    _ended: bool = attrs.field(default=False, init=False)

    def begin(self, run_id: str, **facts: Any) -> str:
        """
        Return the first line.

        Args:
            run_id: The run.
            **facts: What else is known before it starts, such as its model, as JSON.

        Raises:
            RuntimeError: It was begun before.
        """
        if self._next:
            raise RuntimeError("a feed tells one segment of one run; make another for the next")
        self._run_id = run_id
        return self._line("context", {"run_id": run_id, **facts})

    def event(self, event: Event) -> str | None:
        """Return the line of an event, or None for one that is not told; `Finished` makes the last line."""
        match event:
            case Finished(outcome):
                return self.end(outcome)
            case StepRecorded(step):
                return self._tell("step", {"step": self._step(step)})
            case ToolFinished(call_id, tool, is_error, seconds):
                seen = self._let(tool_call_id=call_id, tool_name=tool)
                named = {"call_id": seen.get("tool_call_id"), "tool": seen.get("tool_name")}  # or both are withheld
                return self._tell("tool_finished", {**named, "is_error": is_error, "seconds": seconds})
            case _ if type(event) in _DELTAS and self._whole:
                return self._tell(_DELTAS[type(event)], attrs.asdict(event))
            case _:
                return None

    def end(self, outcome: object) -> str | None:
        """Return the last line of a run that ended by itself or waits; an outcome nobody knows is an error."""
        if isinstance(outcome, Suspended):
            name = "awaiting_input" if outcome.state.awaits_input else "awaiting_approval"
            return self._last(name, {"pending": list(self._pending(outcome))})
        if isinstance(outcome, RunResult):
            name, fields = ending_of(outcome.reason), self._result(outcome)
        else:
            name, fields = "error", {}
        if name == "error":
            fields["error"] = _error(type(outcome).__name__, "The run has failed, or ended in a way not known here.")
        return self._last(name, fields)

    def interrupt(self, state: RunState) -> str | None:
        """Return the last line of a run that was interrupted, with how far it came."""
        ended = state if state.ended else attrs.evolve(state, reason=TerminationReason.CANCELLED)
        return self._last("cancelled", self._result(result_of(ended, ())))

    def fail(self, error: BaseException, *, message: str | None = None, **more: JSON) -> str | None:
        """
        Return the last line of a run that failed.

        Args:
            error: Why.
            message: A text in place of the error's own, which is shown only if the error is one of ours.
            **more: Further fields of ``error``.
        """
        text = message or (str(error) if isinstance(error, NrLlmError) else UNEXPECTED)
        shown = self._let(content=self.redactor.redact(text)).get("content")
        fields: dict[str, JSON] = {"error": {**_error(type(error).__name__, shown), **more}}
        state = getattr(error, "state", None)
        name = "error"
        if isinstance(error, GuardrailError):
            name = "guardrail_approval_required" if error.approval else "guardrail_blocked"
            fields["guardrail"] = error.guardrail
        return self._last(name, (self._used(result_of(state, ())) if state and state.ended else {}) | fields)

    @property
    def _whole(self) -> bool:
        return self.filter is None or self.filter.level is PrivacyLevel.FULL

    def _step(self, step: RunStep) -> dict[str, Any]:
        return step.to_dict() if self.filter is None else self.filter.record(step).to_dict()

    def _let(self, **content: Any) -> dict[str, Any]:
        """Return fields of a step as whoever watches may see them."""
        seen = self._step(RunStep(kind=StepKind.LLM, round=0, **content))
        return {name: value for name, value in seen.items() if name not in {"kind", "round", "duration_ms"}}

    def _result(self, result: RunResult) -> dict[str, JSON]:
        return {**self._let(content=result.content), **self._used(result)}

    def _used(self, result: RunResult) -> dict[str, JSON]:
        return {
            "reason": str(result.reason),
            "truncated": result.truncated,
            "rounds": result.rounds,
            "usage": result.usage.to_dict(),
            "cost": None if result.cost is None or result.price is None else str(result.cost),
            "currency": None if result.price is None else result.price.currency,
        }

    def _pending(self, suspended: Suspended) -> Sequence[JSON]:
        """Return the calls of a held turn, each with whether it is one that a person has to decide on."""
        waiting = {pending.index for pending in suspended.waiting}
        previews = {preview.index: preview for preview in suspended.state.previews}
        told: list[dict[str, JSON]] = []
        for pending in suspended.pending:
            call, shown = pending.call, previews.get(pending.index)
            seen = self._let(
                tool_name=call.name,
                tool_arguments=copy_object(call.arguments),
                previews=None if shown is None else (shown,),
            )
            told.append({"index": pending.index, "name": seen.get("tool_name"), "waits": pending.index in waiting})
            if "tool_arguments" in seen:
                told[-1]["arguments"] = seen["tool_arguments"]
            if "previews" in seen:
                [preview] = seen["previews"]
                told[-1]["preview"] = {"lines": preview["lines"], "failed": preview["failed"]}
            if self._whole:  # else it would let guesses at the arguments be tried
                told[-1]["digest"] = call_digest(suspended.state, pending.index, call, form=pending.form)
            if pending.form is not None and not pending.filled:
                told[-1]["form"] = dict(pending.form)
        return told

    def _last(self, name: str, fields: Mapping[str, JSON]) -> str | None:
        line = self._tell(name, {"run_id": self._run_id, **fields})
        self._ended = True
        return line

    def _tell(self, name: str, fields: Mapping[str, Any]) -> str | None:
        if not self._next:
            raise RuntimeError("a feed begins with what is known of the run: call begin first")
        return None if self._ended else self._line(name, fields)

    def _line(self, name: str, fields: Mapping[str, Any]) -> str:
        head: dict[str, JSON] = {"event": name, "seq": self._next}
        try:
            line = encode_bytes({**head, **fields})
        except InvalidValueError:  # such as a service's own reply with a number that is none
            line = encode_bytes({**head, "run_id": self._run_id, "withheld": "what happened is no JSON"})
        self._next += 1
        return line.ljust(self.pad).decode() + "\n"


def ending_of(reason: object) -> str:
    """Return the last line's event for a reason; one that nobody knows here is an ``error``."""
    if isinstance(reason, TerminationReason):
        if reason in ANSWERED:
            return "done"
        if reason.budget:
            return "budget"
        if reason is TerminationReason.CANCELLED:
            return "cancelled"
    return "error"


def _error(kind: str, message: JSON) -> dict[str, JSON]:
    return {"class": kind, **({} if message is None else {"message": message})}


def lines(stream: RunStream, feed: Feed, **facts: Any) -> Iterator[str]:
    """
    Yield the lines of a run; one that fails ends them with its error, and nothing is raised.

    Args:
        stream: The run; leaving the iteration ends it.
        feed: Writes the lines.
        **facts: What else the first line says.
    """
    yield feed.begin(stream.run_id, model=stream.state.model, **facts)
    try:
        with stream:
            for event in stream:
                if (line := feed.event(event)) is not None:
                    yield line
    except Exception as error:  # noqa: BLE001  # told, whatever broke
        yield from _failed(feed, error)


async def alines(stream: AsyncRunStream, feed: Feed, **facts: Any) -> AsyncIterator[str]:
    """Yield the lines of a run; the asynchronous twin of `lines`."""
    yield feed.begin(stream.run_id, model=stream.state.model, **facts)
    try:
        async with stream:
            async for event in stream:
                if (line := feed.event(event)) is not None:
                    yield line
    except Exception as error:  # noqa: BLE001  # told, whatever broke
        for line in _failed(feed, error):
            yield line


def _failed(feed: Feed, error: Exception) -> Iterator[str]:
    if not isinstance(error, NrLlmError):  # the line leaves its text out, so the log has it
        MaskedLogger(_LOG, feed.redactor).error("A run that is watched failed unexpectedly", exc_info=error)
    yield from filter(None, [feed.fail(error)])
