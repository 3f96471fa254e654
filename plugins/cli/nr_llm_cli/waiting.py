"""A sign on the terminal that something goes on: shown when it takes a while, gone before anything else is written."""

from __future__ import annotations

import threading
from typing import Any, Final

DELAY: Final = 0.3
"""Seconds of waiting before the sign appears; what is quicker needs none."""


def _rich_status(text: str) -> Any:
    from rich.console import Console
    from rich.text import Text

    return Console(stderr=True, markup=False, highlight=False, emoji=False).status(Text(text))


class Waiting:
    """
    Shows and removes the sign; thread-safe.

    Args:
        make: Makes something with `start` and `stop` that shows a text.
        delay: Seconds before it appears.
    """

    def __init__(self, make: Any = _rich_status, *, delay: float = DELAY) -> None:
        self._make = make
        self._delay = delay
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._status: Any = None

    def begin(self, text: str) -> None:
        """Show `text` after the delay, instead of what was shown."""
        self.end()
        timer = threading.Timer(self._delay, lambda: self._appear(timer, text))
        timer.daemon = True
        with self._lock:
            self._timer = timer
        timer.start()

    def end(self) -> None:
        """Remove it; what is written next has the terminal for itself."""
        with self._lock:
            timer, self._timer = self._timer, None
            status, self._status = self._status, None
        if timer is not None:
            timer.cancel()
        if status is not None:
            status.stop()

    def _appear(self, timer: threading.Timer, text: str) -> None:
        with self._lock:
            if self._timer is timer:  # else it was ended meanwhile
                self._status = self._make(text)
                self._status.start()
