"""What a consumer of a run sees while it happens: deltas, steps, progress, the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from nr_llm.runs import RunResult, Suspended
    from nr_llm.steps import RunStep


@attrs.frozen
class TextDelta:
    """A piece of the answer; joined, the pieces equal the stored content."""

    text: str


@attrs.frozen
class ReasoningDelta:
    """A piece of the model's thinking."""

    text: str


@attrs.frozen
class ToolCallDelta:
    """
    A piece of a call the model is writing.

    Attributes:
        key: Ours, the same for all pieces of a call and different between the calls of a turn.
        name: The tool's name, on the piece that tells it.
        arguments: The next characters of the arguments' JSON.
    """

    key: str
    name: str | None = None
    arguments: str = ""


Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta
"""What a provider streams while it answers."""


@attrs.frozen
class StepRecorded:
    """A step of the run is done and recorded."""

    step: RunStep


@attrs.frozen
class ToolProgress:
    """What a running tool says of its progress; live only, never stored, never sent to a model."""

    call_id: str
    tool: str
    message: str


@attrs.frozen
class ToolFinished:
    """A call of the turn ended; told in order of completion, while steps come in order of the calls."""

    call_id: str
    tool: str
    is_error: bool
    seconds: float


@attrs.frozen
class Finished:
    """The end of the run, or of this segment of it."""

    outcome: RunResult | Suspended


Event: TypeAlias = Delta | StepRecorded | ToolProgress | ToolFinished | Finished
"""Everything a stream may yield.  New kinds may be added: keep a default branch."""
