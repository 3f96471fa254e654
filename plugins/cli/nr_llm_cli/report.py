"""Tells a run to a program: one event per line while it happens, or one document in the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from nr_llm._json import copy_object
from nr_llm.events import (
    Event,
    ReasoningDelta,
    StepRecorded,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
    ToolProgress,
)
from nr_llm.runs import Outcome, RunResult, Suspended
from nr_llm.state import RunState

from nr_llm_cli.failures import Failure
from nr_llm_cli.screen import document
from nr_llm_cli.turn import About

Write = Callable[[str], None]


class Lines:
    """
    Writes one JSON object per line: ``context``, then what happens, then exactly one terminal event.

    Args:
        write: Takes a line.
    """

    def __init__(self, write: Write) -> None:
        self._write = write

    def begin(self, about: About) -> None:
        """Write the event ``context``."""
        self._put("context", context_of(about))

    def event(self, event: Event) -> None:
        """Write an event that happened on the way."""
        if (told := event_of(event)) is not None:
            self._put(*told)

    def finish(self, outcome: Outcome) -> None:
        """Write ``done``, ``awaiting_approval`` or, for a run cancelled by itself, ``cancelled``."""
        self._put(*ending_of(outcome))

    def interrupt(self, state: RunState) -> None:
        """Write ``cancelled``."""
        self._put("cancelled", state_of(state))

    def fail(self, failure: Failure) -> None:
        """Write ``error``."""
        self._put("error", {"error": failure.to_dict()})

    def _put(self, name: str, fields: dict[str, Any]) -> None:
        self._write(document({"event": name, **fields}))


class Document:
    """
    Writes one JSON object in the end; a failed run has none, its error is on stderr.

    Args:
        write: Takes the document.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._fields: dict[str, Any] = {}
        self._steps: list[dict[str, Any]] = []

    def begin(self, about: About) -> None:
        """Keep what is known of the run."""
        self._fields = context_of(about)

    def event(self, event: Event) -> None:
        """Keep the steps."""
        if isinstance(event, StepRecorded):
            self._steps.append(event.step.to_dict())

    def finish(self, outcome: Outcome) -> None:
        """Write the result, or what is waited for."""
        status, fields = ending_of(outcome)
        messages = outcome.state.messages if isinstance(outcome, Suspended) else outcome.messages
        self._put(status, fields, messages)

    def interrupt(self, state: RunState) -> None:
        """Write what was done."""
        self._put("cancelled", state_of(state), state.messages)

    def fail(self, failure: Failure) -> None:
        """Write nothing."""

    def _put(self, status: str, fields: dict[str, Any], messages: Any) -> None:
        wire = [message.to_wire() for message in messages]
        self._write(document({**self._fields, "status": status, **fields, "steps": self._steps, "messages": wire}))


def context_of(about: About) -> dict[str, Any]:
    """Return what is known before a run starts."""
    found = {"run_id": about.run_id, "model": about.model, "endpoint": {"host": about.host, "local": about.local}}
    return found if about.notice is None else {**found, "notice": about.notice}


def event_of(event: Event) -> tuple[str, dict[str, Any]] | None:
    """Return an event's name and fields, or None for one that is told otherwise or not at all."""
    match event:
        case TextDelta(text):
            return "text", {"text": text}
        case ReasoningDelta(text):
            return "reasoning", {"text": text}
        case ToolCallDelta():
            return "tool_call", attrs.asdict(event)
        case ToolProgress():
            return "progress", attrs.asdict(event)
        case ToolFinished():
            return "tool_finished", attrs.asdict(event)
        case StepRecorded(step):
            return "step", {"step": step.to_dict()}
        case _:
            return None


def ending_of(outcome: Outcome) -> tuple[str, dict[str, Any]]:
    """Return the terminal event of a run that was not interrupted."""
    if isinstance(outcome, Suspended):
        return "awaiting_approval", {"run_id": outcome.run_id, "pending": pending_of(outcome)}
    name = "cancelled" if outcome.reason == "cancelled" else "done"
    return name, result_of(outcome)


def result_of(result: RunResult) -> dict[str, Any]:
    """Return a result without its messages."""
    return {
        "run_id": result.run_id,
        "content": result.content,
        "reason": str(result.reason),
        "truncated": result.truncated,
        "rounds": result.rounds,
        "usage": result.usage.to_dict(),
    }


def state_of(state: RunState) -> dict[str, Any]:
    """Return how far an interrupted run came."""
    return {
        "run_id": state.run_id,
        "content": state.answer or "",
        "reason": str(state.reason),
        "truncated": True,
        "rounds": state.rounds,
        "usage": state.usage.to_dict(),
    }


def pending_of(suspended: Suspended) -> list[dict[str, Any]]:
    """Return the calls of a held turn, each with whether it is one that a person has to decide on."""
    waiting = {pending.index for pending in suspended.waiting}
    return [
        {
            "index": p.index,
            "name": p.call.name,
            "arguments": copy_object(p.call.arguments),
            "waits": p.index in waiting,
        }
        for p in suspended.pending
    ]
