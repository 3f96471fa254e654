"""An event loop in a thread of its own, for async tools of runs that do not await."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from nr_llm._calls import Job, discard


class LoopThread:
    """Starts its thread at the first use; one loop serves all runs, so that connections of tools can be shared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], object] = lambda: None

    def wait(self, awaitable: Any, job: Job) -> Any:
        """Await `awaitable` in the loop, in the job's context variables, and return what it gives."""
        loop = self._running()
        future: Future[Any] = Future()
        loop.call_soon_threadsafe(_begin, loop, awaitable, job, future)
        return future.result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                started: Future[asyncio.AbstractEventLoop] = Future()
                serve = partial(asyncio.run, self._serve(started))
                threading.Thread(target=serve, name="nr-llm-loop", daemon=True).start()
                self._loop = started.result()
            return self._loop

    async def _serve(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        self._stop = partial(loop.call_soon_threadsafe, stopped.set)
        started.set_result(loop)
        await stopped.wait()

    def close(self) -> None:
        """Stop the loop, cancelling what still runs in it; a later use starts a new one."""
        with self._lock:
            if self._loop is not None:
                self._loop = None
                self._stop()


def _begin(loop: asyncio.AbstractEventLoop, awaitable: Any, job: Job, future: Future[Any]) -> None:
    if job.cancelled.cancelled:
        discard(awaitable)
        future.set_exception(asyncio.CancelledError())
        return
    task = loop.create_task(_settled(awaitable, future), context=job.context)
    job.give_up = lambda: loop.call_soon_threadsafe(task.cancel)


async def _settled(awaitable: Any, future: Future[Any]) -> None:
    """Await, and hand on whatever comes: an exception that escaped here would end the loop for all."""
    try:
        value = await awaitable
    except BaseException as error:  # noqa: BLE001  # its waiter must hear of it, or would wait for ever
        future.set_exception(error)
    else:
        future.set_result(value)
