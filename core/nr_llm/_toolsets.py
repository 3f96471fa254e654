"""A toolset is opened when one of its tools is first called, and closed once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import attrs

from nr_llm.tools import Tool, Toolset


class OpenToolset:
    """
    A toolset and whether it is open; thread-safe.

    Args:
        toolset: The toolset.
    """

    def __init__(self, toolset: Toolset) -> None:
        self.toolset = toolset
        self._lock = threading.Lock()
        self._open = False

    def opening(self, tool: Tool) -> Tool:
        """Return the tool so that calling it opens the toolset first; a failure to open is the call's failure."""

        def function(**arguments: Any) -> Any:
            self.open()
            # An async function's coroutine is returned as it is: whoever called awaits it.
            return call(**arguments)

        call: Callable[..., Any] = tool.function
        return attrs.evolve(tool, function=function)

    def open(self) -> None:
        """Open it unless it is; others wait meanwhile."""
        with self._lock:
            if not self._open:
                self.toolset.open()
                self._open = True

    def close(self) -> None:
        """Close it if it is open; it counts as closed even if closing raises."""
        with self._lock:
            if self._open:
                self._open = False
                self.toolset.close()
