"""A call that was given up before its awaitable was being awaited is cancelled all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from nr_llm import Cancellation, CompletionRequest, TextDelta
from nr_llm._aperform import _produce, _start_task
from nr_llm._calls import Job
from nr_llm._invoke import _await_here
from nr_llm._perform import Answer


async def forever(told: list[str]) -> None:
    """Wait for nothing."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        told.append("cancelled")
        raise


def given_up() -> Job:
    """Return a job that nobody waits for any more."""
    cancelled = Cancellation()
    cancelled.cancel()
    admitted: Any = None
    return Job(index=0, admitted=admitted, cancelled=cancelled, started=0.0, deadline=None, arguments={})


def test_a_model_that_speaks_to_nobody_is_left() -> None:
    """What it had to say once nobody waited any more is not asked for."""
    cancelled, said, posted = Cancellation(), list[str](), list[Any]()

    class Talking:
        def complete(self, request: Any, cancelled: Cancellation) -> Iterator[TextDelta]:
            for word in ("one", "two"):
                said.append(word)
                cancelled.cancel()
                yield TextDelta(word)

    provider: Any = Talking()
    _produce(provider, CompletionRequest(model="m", messages=()), cancelled, posted.append)

    assert (said, posted) == (["one"], [Answer(TextDelta("one")), None])


def test_an_awaitable_that_comes_too_late_is_not_awaited_in_a_loop_of_its_own() -> None:
    """The worker thread is free again at once."""
    told: list[str] = []

    with pytest.raises(asyncio.CancelledError):
        _await_here(forever(told), given_up())

    assert told == ["cancelled"]


def test_an_awaitable_that_comes_too_late_is_not_awaited_in_the_loop() -> None:
    """Its task ends before it begins, and nothing is posted."""
    told: list[str] = []
    posted: list[Any] = []

    async def main() -> None:
        before = asyncio.all_tasks()
        _start_task(asyncio.get_running_loop(), given_up(), forever(told), posted.append)
        [task] = asyncio.all_tasks() - before
        await asyncio.wait([task])

    asyncio.run(main())

    assert (posted, told) == ([], [])
