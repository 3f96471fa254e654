"""A switch that tells a run, and every tool in it, to stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

Callback = Callable[[], None]

_log = logging.getLogger("nr_llm")


class Cancellation:
    """
    A one-way switch, safe to use from any thread and any number of times.

    Attributes:
        cancelled: Whether `cancel` was called.
        reason: Why the run was cancelled, as given to `cancel`; empty before.
    """

    __slots__ = ("_callbacks", "_event", "_leave", "_lock", "cancelled", "reason")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event: threading.Event | None = None  # made when somebody waits: each tool call has a switch
        self._callbacks: list[Callback] = []
        self._leave: Callback = _nothing
        self.cancelled = False
        self.reason = ""

    def cancel(self, reason: str = "cancelled") -> None:
        """Throw the switch; only the first call counts, and a callback that raises is logged."""
        with self._lock:
            if self.cancelled:
                return
            self.reason = reason
            self.cancelled = True
            callbacks, self._callbacks = self._callbacks, []
            if self._event is not None:
                self._event.set()
        for callback in callbacks:
            try:
                callback()
            except Exception as error:  # noqa: BLE001  # whoever comes after it has to be told, too
                _log.error("A callback of a cancellation raised %s", type(error).__name__)

    def wait(self, seconds: float | None = None) -> bool:
        """Block until the switch is thrown or `seconds` have passed; return whether it was thrown."""
        with self._lock:
            if self._event is None:
                self._event = threading.Event()
            if self.cancelled:
                self._event.set()
            event = self._event
        return event.wait(None if seconds is None else min(seconds, threading.TIMEOUT_MAX))

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
        return _nothing

    def _forget(self, callback: Callback) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def child(self) -> Cancellation:
        """Return a switch of its own that this one throws too, until it is taken off with `leave`."""
        child = Cancellation()
        child._leave = self.on_cancel(lambda: child.cancel(self.reason))
        return child

    def leave(self) -> None:
        """Take this switch off the one it is a child of, which may live long and have many."""
        self._leave()


def _nothing() -> None:
    return None
