"""What sends for a provider is made once, kept, and closed with the Runtime."""

from __future__ import annotations

import os
import threading
from typing import Any

from nr_llm.providers import Provider


class Transports:
    """
    The transports of a Runtime; thread-safe.

    Args:
        client: An `httpx.Client`, or one shaped like it, to send with; None for the transport's own.
        async_client: The same for async runs.
    """

    def __init__(self, client: Any, async_client: Any) -> None:
        self._clients = (client, async_client)
        self._made: dict[tuple[str, bool, int], Any] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._made)

    def of(self, provider: Provider | None, *, is_async: bool) -> Any:
        """Return what sends for `provider`, or None for one that answers by itself."""
        options = getattr(provider, "transport", None)
        if provider is None or options is None:
            return None
        key = (provider.name, is_async, os.getpid())  # a fork may not use connections of the process it came from
        with self._lock:
            if key not in self._made:
                from nr_llm.http import AsyncHttpTransport, HttpTransport

                kind = AsyncHttpTransport if is_async else HttpTransport
                self._made[key] = kind(options, client=self._clients[is_async])
            return self._made[key]

    def close(self) -> None:
        """Forget all, and close those of blocking runs: an async one belongs to an event loop and ends with it."""
        with self._lock:
            made, self._made = self._made, {}
        for (_, is_async, _), transport in made.items():
            if not is_async:
                transport.close()

    async def aclose(self) -> None:
        """Close those of this event loop."""
        for (_, is_async, _), transport in tuple(self._made.items()):
            if is_async:
                await transport.aclose()
