"""
Daemon threads for tools that block.

Not an executor: the standard one is joined at exit, so a tool that never returns would keep the process alive
after its time-out.  Threads are reused, since starting one costs more than most tools.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import TypeAlias

Work: TypeAlias = Callable[[], None]

IDLE_SECONDS = 30.0
"""How long a thread without work is kept."""


class DaemonThreads:
    """A growing and shrinking set of daemon threads; safe to use from any thread."""

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._work: queue.SimpleQueue[Work] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def start(self, work: Work) -> None:
        """Run `work`, which must not raise, in a thread that is idle or new; never waits for one."""
        if self._process != os.getpid():  # a fork has no thread but the one that forked
            self._begin()
        with self._lock:
            reuse = self._idle > 0
            self._idle -= reuse
        if reuse:
            self._work.put(work)
        else:
            threading.Thread(target=self._serve, args=([work],), name="nr-llm-tool", daemon=True).start()

    def _serve(self, given: list[Work]) -> None:
        while given:
            given.pop()()  # held nowhere else: an idle thread must not keep a tool's arguments alive
            with self._lock:
                self._idle += 1
            given.extend(self._take())

    def _take(self) -> tuple[Work, ...]:
        try:
            return (self._work.get(timeout=self._idle_seconds),)
        except queue.Empty:
            with self._lock:
                if self._idle > 0:  # nobody has counted on this thread
                    self._idle -= 1
                    return ()
        return (self._work.get(),)
