"""Runs something short that blocks beside the event loop, to its end, in a thread of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from nr_llm._threads import DaemonThreads

T = TypeVar("T")


async def aside(threads: DaemonThreads, call: Callable[[], T]) -> T:
    """
    Return what a call returns; a task that is cancelled meanwhile waits for its end, so that nothing is left half done.

    Args:
        threads: Where it runs.
        call: What to run; it has to end by itself.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        end: Callable[[], None]
        try:
            end = partial(done.set_result, call())
        except BaseException as error:  # noqa: BLE001  # its waiter must hear of it, or would wait for ever
            failure = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
            end = partial(done.set_exception, failure)
        with suppress(RuntimeError):  # the loop may be gone
            loop.call_soon_threadsafe(end)

    threads.start(work)
    cancelled: asyncio.CancelledError | None = None
    while not done.done():
        try:
            await asyncio.wait([done])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        done.exception()
        raise cancelled
    return done.result()
