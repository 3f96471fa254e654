"""How many calls of a tool may run at once in this process: shared by all runs of a Runtime."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from nr_llm.tools import Tool


class Slots:
    """Slots of the tools that have a concurrency limit; taking one never blocks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: Counter[Tool] = Counter()
        self._waiting: dict[Tool, set[Callable[[], None]]] = {}

    def take(self, tool: Tool, when_free: Callable[[], None]) -> bool:
        """
        Take a slot of `tool`.

        Returns:
            Whether there was one; if not, `when_free` is called once when a slot of it is given back, however
            often the same function was passed until then.
        """
        if tool.concurrency is None:
            return True
        with self._lock:
            if self._taken[tool] < tool.concurrency:
                self._taken[tool] += 1
                return True
            self._waiting.setdefault(tool, set()).add(when_free)
            return False

    def give_back(self, tool: Tool) -> None:
        """Give a slot of `tool` back."""
        if tool.concurrency is None:
            return
        with self._lock:
            self._taken[tool] -= 1
            if not self._taken[tool]:
                del self._taken[tool]  # or a tool made for one run would be kept for ever
            waiting = self._waiting.pop(tool, ())
        for when_free in waiting:
            when_free()

    def forget(self, when_free: Callable[[], None]) -> None:
        """Do not call `when_free` any more."""
        with self._lock:
            for waiting in self._waiting.values():
                waiting.discard(when_free)
