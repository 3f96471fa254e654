"""An event loop in a thread of its own, for async tools of runs that do not await."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from functools import partial
from typing import Any

from nr_llm._calls import Job, discard


class LoopThread:
    """Starts its thread at the first use; one loop serves all runs, so that connections of tools can be shared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._serving: Serving | None = None

    def wait(self, awaitable: Any, job: Job) -> Any:
        """Await `awaitable` in the loop, in the job's context variables, and return what it gives."""
        return self._running().wait(awaitable, job)

    def _running(self) -> Serving:
        if self._serving is not None and self._serving.process != os.getpid():  # a fork has none of its threads
            self._lock, self._serving = threading.Lock(), None
        with self._lock:
            if self._serving is None:
                self._serving = Serving()
            return self._serving

    def close(self) -> None:
        """Stop the loop, cancelling what still runs in it; a later use starts a new one."""
        with self._lock:
            serving, self._serving = self._serving, None
        if serving is not None:
            serving.stop()


class Serving:
    """One event loop in its thread, from its start to its end."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._lock = threading.Lock()
        self._ending = False
        self._stopped = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._serve, name="nr-llm-loop", daemon=True).start()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._stopped.wait())

    def stop(self) -> None:
        """End the loop once everything handed in has begun, so that its end cancels all of it."""
        with self._lock:
            self._ending = True
            self._loop.call_soon_threadsafe(self._stopped.set)

    def wait(self, awaitable: Any, job: Job) -> Any:
        """Await in the loop, from another thread."""
        future: Future[Any] = Future()
        try:
            with self._lock:  # what came after the stop would never begin, and its thread would wait for ever
                if self._ending:
                    raise RuntimeError("the event loop for async tools has ended")
                self._loop.call_soon_threadsafe(_begin, self._loop, awaitable, job, future)
            return future.result()
        finally:
            discard(awaitable)


def _begin(loop: asyncio.AbstractEventLoop, awaitable: Any, job: Job, future: Future[Any]) -> None:
    if job.cancelled.cancelled:
        future.set_exception(asyncio.CancelledError())
        return
    task = loop.create_task(_settled(job, awaitable, future), context=job.context)
    job.give_up = partial(loop.call_soon_threadsafe, task.cancel)
    if job.cancelled.cancelled:  # given up in between; the task has to begin before it is cancelled
        loop.call_soon(task.cancel)


async def _settled(job: Job, awaitable: Any, future: Future[Any]) -> None:
    """Await, and hand on whatever comes: an exception that escaped here would end the loop for all."""
    try:
        job.make_sure()
        value = await awaitable
    except BaseException as error:  # noqa: BLE001  # its waiter must hear of it, or would wait for ever
        future.set_exception(error)
    else:
        future.set_result(value)
