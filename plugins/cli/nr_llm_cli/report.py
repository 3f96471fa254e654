"""Tells a run to a program: one event per line while it happens, or one document in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nr_llm._json import decode
from nr_llm.events import Event, Finished, StepRecorded
from nr_llm.feed import Feed
from nr_llm.messages import ChatMessage
from nr_llm.redaction import Redactor
from nr_llm.runs import Outcome, Suspended
from nr_llm.state import RunState

from nr_llm_cli.failures import Failure
from nr_llm_cli.screen import document, escaped
from nr_llm_cli.turn import About

Write = Callable[[str], None]


class Lines:
    """
    Writes one JSON object per line: ``context``, then what happens, then exactly one terminal event.

    Args:
        write: Takes a line.
        redactor: Masks secrets in errors.
    """

    def __init__(self, write: Write, redactor: Redactor) -> None:
        self._write = write
        self._feed = Feed(redactor=redactor)

    def begin(self, about: About) -> None:
        """Write the event ``context``."""
        self._put(self._feed.begin(about.run_id, **facts_of(about)))

    def event(self, event: Event) -> None:
        """Write an event; the last one says how the run ended, or what it waits for."""
        self._put(self._feed.event(event))

    def finish(self, outcome: Outcome) -> None:
        """Write nothing: the last event was told."""

    def interrupt(self, state: RunState) -> None:
        """Write ``cancelled``."""
        self._put(self._feed.interrupt(state))

    def fail(self, failure: Failure, error: Exception) -> None:
        """Write ``error``."""
        self._put(self._feed.fail(error, **failure.to_dict()))

    def _put(self, line: str | None) -> None:
        if line is not None:
            self._write(escaped(line.removesuffix("\n")))


class Document:
    """
    Writes one JSON object in the end; a failed run has none, its error is on stderr.

    Args:
        write: Takes the document.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._feed = Feed()
        self._fields: dict[str, Any] = {}
        self._steps: list[dict[str, Any]] = []

    def begin(self, about: About) -> None:
        """Keep what is known of the run."""
        self._feed.begin(about.run_id)
        self._fields = {"run_id": about.run_id, **facts_of(about)}

    def event(self, event: Event) -> None:
        """Keep the steps, and what it ended with."""
        match event:
            case StepRecorded(step):
                self._steps.append(step.to_dict())
            case Finished(outcome):
                messages = outcome.state.messages if isinstance(outcome, Suspended) else outcome.messages
                self._put(self._feed.end(outcome), messages)
            case _:
                pass

    def finish(self, outcome: Outcome) -> None:
        """Write nothing: the last event was told."""

    def interrupt(self, state: RunState) -> None:
        """Write what was done."""
        self._put(self._feed.interrupt(state), state.messages)

    def fail(self, failure: Failure, error: Exception) -> None:
        """Write nothing."""

    def _put(self, line: str | None, messages: Iterable[ChatMessage]) -> None:
        if line is None:
            return  # interrupted while the document was on its way
        last: Any = decode(line)
        told = {name: value for name, value in last.items() if name not in {"event", "seq"}}
        wire = [message.to_wire() for message in messages]
        self._write(document({**self._fields, "status": last["event"], **told, "steps": self._steps, "messages": wire}))


def facts_of(about: About) -> dict[str, Any]:
    """Return what is known before a run starts, but its name."""
    found = {"model": about.model, "endpoint": {"host": about.host, "local": about.local}}
    return found if about.notice is None else {**found, "notice": about.notice}
