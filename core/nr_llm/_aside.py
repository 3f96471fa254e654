"""Runs something short that blocks beside the event loop, to its end, in a thread of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from nr_llm._inbox import Inbox
from nr_llm._threads import DaemonThreads

T = TypeVar("T")


async def aside(threads: DaemonThreads, call: Callable[[], T]) -> T:
    """
    Return what a call returns; a task that is cancelled meanwhile waits for its end, so that nothing is left half done.

    Args:
        threads: Where it runs.
        call: What to run; it has to end by itself.
    """
    inbox = Inbox()

    def work() -> None:
        try:
            inbox.post((call(), None))
        except BaseException as error:  # noqa: BLE001  # its waiter must hear of it, or would wait for ever
            inbox.post((None, error if isinstance(error, Exception) else RuntimeError(type(error).__name__)))

    threads.start(work)
    end: tuple[T, None] | tuple[None, Exception] | None = None
    cancelled: asyncio.CancelledError | None = None
    while end is None:
        try:
            end = await inbox.get()
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    value, failure = end
    if failure is not None:
        raise failure
    return value  # type: ignore[return-value]  # there is one where nothing failed
