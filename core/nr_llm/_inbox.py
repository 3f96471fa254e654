"""What tasks and threads hand to the one task that waits for it, in its event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any


class Inbox:
    """Messages for the task that waits for them, posted from it, from other tasks or from threads."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._messages: deque[Any] = deque()
        self._waiting: asyncio.Future[None] | None = None

    def post(self, message: Any) -> None:
        """Hand a message in, from any thread; it is there at once, the waiting task wakes in its loop."""
        self._messages.append(message)
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def get(self, seconds: float | None = None) -> Any:
        """Return the next message, or None when `seconds` have passed."""
        timer = None if seconds is None else self._loop.call_later(seconds, self.post, None)
        try:
            while not self._messages:
                self._waiting = self._loop.create_future()
                await self._waiting
            return self._messages.popleft()
        finally:
            if timer is not None:
                timer.cancel()

    def drain(self) -> Iterator[Any]:
        """Yield what is there already."""
        while self._messages:
            yield self._messages.popleft()
