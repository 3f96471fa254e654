"""A switch that tells a run, and every tool in it, to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable

Callback = Callable[[], None]


class Cancellation:
    """
    A one-way switch, safe to use from any thread and any number of times.

    Attributes:
        cancelled: Whether `cancel` was called.
        reason: Why the run was cancelled, as given to `cancel`; empty before.
    """

    __slots__ = ("_callbacks", "_event", "_lock", "cancelled", "reason")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event: threading.Event | None = None  # made when somebody waits: each tool call has a switch
        self._callbacks: list[Callback] = []
        self.cancelled = False
        self.reason = ""

    def cancel(self, reason: str = "cancelled") -> None:
        """Throw the switch; only the first call counts."""
        with self._lock:
            if self.cancelled:
                return
            self.reason = reason
            self.cancelled = True
            callbacks, self._callbacks = self._callbacks, []
            if self._event is not None:
                self._event.set()
        for callback in callbacks:
            callback()

    def wait(self, seconds: float | None = None) -> bool:
        """Block until the switch is thrown or `seconds` have passed; return whether it was thrown."""
        with self._lock:
            if self._event is None:
                self._event = threading.Event()
            if self.cancelled:
                self._event.set()
            event = self._event
        return event.wait(seconds)

    def on_cancel(self, callback: Callback) -> Callback:
        """
        Call `callback` once when the switch is thrown, at once when it was; from the cancelling thread.

        Returns:
            A function that takes the callback off again.
        """
        with self._lock:
            if not self.cancelled:
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        callback()
        return lambda: None

    def _forget(self, callback: Callback) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def child(self) -> Cancellation:
        """Return a switch of its own that this one throws too."""
        child = Cancellation()
        self.on_cancel(lambda: child.cancel(self.reason))
        return child
