"""
Drives a flow by blocking, as a generator of events.

Two rules keep this honest.  The `try` around a performed effect holds nothing but the performing, never a yield to
the consumer: an exception the consumer throws in would otherwise reach the flow, and retry would take it for a
provider's.  And `StopIteration` is caught from `next`, `send` and `throw` alone, so one that a
performer lets slip is not taken for the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

import attrs

from nr_llm._desk import Desk
from nr_llm._loop import result_of
from nr_llm._perform import Answer, Performer
from nr_llm.effects import Complete, Effect, Flow, Invoke, Preview, Record, Wait
from nr_llm.errors import RunCancelledError, StoreError
from nr_llm.events import Event, Finished, StepRecorded
from nr_llm.runs import Outcome

T = TypeVar("T")


@attrs.frozen
class Ended(Generic[T]):
    """A flow returned."""

    value: T


@attrs.frozen
class Begun:
    """The run is kept from here on; told once, before its first event, and to nobody who watches."""


def advance(flow: Flow[T], answer: Any = None, error: Exception | None = None) -> Effect[Any] | Ended[T]:
    """Move a flow to its next effect, or to its end."""
    try:
        return flow.send(answer) if error is None else flow.throw(error)
    except StopIteration as stop:
        return Ended(stop.value)


def events(flow: Flow[Outcome], performer: Performer) -> Generator[Event | Begun, None, Outcome]:
    """
    Run `flow` and yield what happens; the last event is `Finished`, whose outcome is returned too.

    `Begun` comes first, so that a consumer can tell a run that was refused from one that is slow.

    However it ends, the flow is closed, each open call is answered and the performer is told.

    Raises:
        NrLlmError: The run failed; `state` holds the run so far.
    """
    try:
        performer.open()
        yield Begun()
        yield from performer.desk.taken()
        outcome = yield from performed(flow, performer)
        performer.close(performer.desk.last)
    except BaseException as error:  # noqa: BLE001  # the run is settled however it ends
        outcome = _stopped(flow, performer, error)
    yield Finished(outcome)
    return outcome


def performed(flow: Flow[T], performer: Performer) -> Generator[Event, None, T]:
    """Perform the effects of `flow` one after another, yield what happens, and return what it returns."""
    current = advance(flow)
    while not isinstance(current, Ended):
        match current:
            case Record(step, state):
                answer = _attempt(performer.record, step, state)
                if step is not None and isinstance(answer, Answer):
                    yield StepRecorded(step)
            case Wait(seconds, jitter):
                answer = _attempt(performer.wait, seconds, jitter)
            case _:
                answer = yield from _pulled(_items(current, performer))
        current = advance(flow, error=answer) if isinstance(answer, Exception) else advance(flow, answer.value)
    return current.value


def drained(items: Generator[Event | Begun, None, T]) -> T:
    """Run a generator of events to its end and return its value."""
    try:
        while True:
            next(items)
    except StopIteration as stop:
        value: T = stop.value
        return value


def _items(effect: Effect[Any], performer: Performer) -> Iterator[Event | Answer[Any]]:
    match effect:
        case Complete(request):
            return performer.complete(request)
        case Invoke(calls):
            return performer.invoke(calls)
        case Preview(calls):
            return performer.preview(calls)
        case _:
            raise TypeError(f"a flow yielded {effect!r}, which is no effect")


def _attempt(perform: Callable[..., None], *arguments: Any) -> Answer[Any] | Exception:
    try:
        perform(*arguments)
    except Exception as error:  # noqa: BLE001  # whatever performing raised goes into the flow
        return error
    return Answer(None)


def _pulled(items: Iterator[Event | Answer[Any]]) -> Generator[Event, None, Answer[Any] | Exception]:
    try:
        while True:
            try:
                item = next(items)
            except StopIteration:
                return RuntimeError("a performer ended without an answer")
            except Exception as error:  # noqa: BLE001  # whatever performing raised goes into the flow
                return error
            if isinstance(item, Answer):
                return item
            yield item
    finally:
        items.close()  # type: ignore[attr-defined]


def _stopped(flow: Flow[Outcome], performer: Performer, error: BaseException) -> Outcome:
    """Settle a run that did not end by itself; return its outcome if it was cancelled, else raise."""
    flow.close()
    state = performer.desk.settled(error)
    try:
        performer.close(state, error)
    except StoreError as failure:  # the first fault is the one to report
        failure.state = state
        if isinstance(error, RunCancelledError):
            raise
    return cancelled_outcome(performer.desk, error)


def cancelled_outcome(desk: Desk, error: BaseException) -> Outcome:
    """Return the result of a run somebody cancelled; raise any other error with the state as its `state`."""
    if isinstance(error, RunCancelledError) and desk.cancelled.cancelled:
        return result_of(desk.last, desk.all_invocations())
    with suppress(Exception):  # a foreign exception may refuse attributes
        error.state = desk.last  # type: ignore[attr-defined]
    raise error
