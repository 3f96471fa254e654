"""The five things a run asks of the outside world, and `ask`, which types their answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

import attrs

from nr_llm._json import JSON
from nr_llm.previews import CallPreview
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.results import ToolResult

if TYPE_CHECKING:
    from nr_llm.state import PendingCall, RunState
    from nr_llm.steps import RunStep

T = TypeVar("T")


class Effect(Generic[T]):
    """Something to be done outside the flow; `T` is the answer the flow gets for it."""

    __slots__ = ()


Flow: TypeAlias = Generator[Effect[Any], Any, T]
"""A computation without I/O: it yields effects, is sent their answers, and returns a `T`."""


def ask(effect: Effect[T]) -> Flow[T]:
    """Hand an effect out and return its answer with its type; flows delegate to this."""
    return cast(T, (yield effect))


@attrs.frozen
class Complete(Effect[CompletionResponse]):
    """Ask the model once."""

    request: CompletionRequest


@attrs.frozen
class CallOutcome:
    """
    What became of one call.

    Attributes:
        result: The bounded result.
        seconds: How long it took.
        executed: Whether the tool ran, as against a refusal.
        denial: What the policy said of a tool that it keeps closed, as a record keeps it, or None.
    """

    result: ToolResult
    seconds: float = attrs.field(default=0.0, eq=False)
    executed: bool = True
    denial: Mapping[str, JSON] | None = None


@attrs.frozen
class Invoke(Effect["tuple[CallOutcome, ...]"]):
    """Run one batch of calls; the answer is in the order of the calls."""

    calls: tuple[PendingCall, ...]


@attrs.frozen
class Preview(Effect[tuple[CallPreview, ...]]):
    """Have tools say what calls would do that wait for a person; the answer is in the order of the calls."""

    calls: tuple[PendingCall, ...]


@attrs.frozen
class Record(Effect[None]):
    """
    Keep a checkpoint, and the step that led to it.

    `state` already holds everything `step` reports: a run restarted from it ends the same.

    Attributes:
        step: The step, or None for a bare checkpoint (the fence before a write).
        state: The run so far.
    """

    step: RunStep | None
    state: RunState


@attrs.frozen
class Wait(Effect[None]):
    """
    Pause.

    Attributes:
        seconds: How long at least.
        jitter: Up to this many seconds more, drawn by the performer.
    """

    seconds: float
    jitter: float = 0.0


Completer: TypeAlias = Callable[[CompletionRequest], Flow[CompletionResponse]]
"""How a flow asks a model: `complete`, or `complete` inside middleware."""


def complete(request: CompletionRequest) -> Flow[CompletionResponse]:
    """Ask the model once: the innermost completer."""
    return (yield from ask(Complete(request)))
