"""Drives a flow by awaiting, as an async generator of events: the asynchronous twin of `_drive`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import Any, TypeAlias, TypeVar

from nr_llm._aperform import AsyncPerformer
from nr_llm._drive import Begun, Ended, advance, cancelled_outcome
from nr_llm._perform import Answer
from nr_llm.effects import Complete, Effect, Flow, Invoke, Preview, Record, Wait
from nr_llm.errors import RunCancelledError, StoreError
from nr_llm.events import Event, Finished, StepRecorded
from nr_llm.runs import Outcome

T = TypeVar("T")
Items: TypeAlias = AsyncGenerator[Event | Answer[Any], None]


async def aevents(flow: Flow[Outcome], performer: AsyncPerformer) -> AsyncGenerator[Event | Begun, None]:
    """
    Run `flow` and yield what happens: first `Begun`, last `Finished`.

    However it ends, cancellation included, the flow is closed, each open call is answered and the performer is told.

    Raises:
        NrLlmError: The run failed; `state` holds the run so far.
    """
    outcome: Outcome | None = None
    try:
        await performer.open()
        yield Begun()
        for told in performer.desk.taken():
            yield told
        async with aclosing(aperformed(flow, performer)) as items:
            async for item in items:
                if isinstance(item, Ended):
                    outcome = item.value
                else:
                    yield item
        await performer.close(performer.desk.last)
    except BaseException as error:  # noqa: BLE001  # the run is settled however it ends
        outcome = await _stopped(flow, performer, error)
    assert outcome is not None
    yield Finished(outcome)


async def aperformed(flow: Flow[T], performer: AsyncPerformer) -> AsyncGenerator[Event | Ended[T], None]:
    """Perform the effects of `flow` one after another, yield what happens, and last what it returns."""
    current = advance(flow)
    while not isinstance(current, Ended):
        answer: Answer[Any] | Exception | None = None
        match current:
            case Record(step, state):
                answer = await _attempt(performer.record(step, state))
                if step is not None and isinstance(answer, Answer):
                    yield StepRecorded(step)
            case Wait(seconds, jitter):
                answer = await _attempt(performer.wait(seconds, jitter))
            case _:
                async with aclosing(_items(current, performer)) as items:
                    while answer is None:
                        item = await _next(items)
                        if isinstance(item, (Answer, Exception)):
                            answer = item
                        else:
                            yield item
        current = advance(flow, error=answer) if isinstance(answer, Exception) else advance(flow, answer.value)
    yield current


def _items(effect: Effect[Any], performer: AsyncPerformer) -> Items:
    match effect:
        case Complete(request):
            return performer.complete(request)
        case Invoke(calls):
            return performer.invoke(calls)
        case Preview(calls):
            return performer.preview(calls)
        case _:
            raise TypeError(f"a flow yielded {effect!r}, which is no effect")


async def _attempt(performing: Awaitable[None]) -> Answer[Any] | Exception:
    try:
        await performing
    except Exception as error:  # noqa: BLE001  # whatever performing raised goes into the flow
        return error
    return Answer(None)


async def _next(items: Items) -> Event | Answer[Any] | Exception:
    """Return the next item of a performed effect, or what performing it raised."""
    try:
        return await anext(items)
    except StopAsyncIteration:
        return RuntimeError("a performer ended without an answer")
    except Exception as error:  # noqa: BLE001  # whatever performing raised goes into the flow
        return error


async def _stopped(flow: Flow[Outcome], performer: AsyncPerformer, error: BaseException) -> Outcome:
    """Settle a run that did not end by itself; return its outcome if it was cancelled, else raise."""
    flow.close()
    state = performer.desk.settled(error)
    try:
        await performer.close(state, error)
    except StoreError as failure:  # the first fault is the one to report
        failure.state = state
        if isinstance(error, RunCancelledError):
            raise
    return cancelled_outcome(performer.desk, error)
