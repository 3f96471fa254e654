"""A store that is made when it is first used: what plugins are listed must not wait for a database library."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from nr_llm.budgets import Spent
    from nr_llm.records import Checkpoint, RunChange, RunHead, StoredRun, StoredStep, TranscriptEntry, Written
    from nr_llm.stores import RunQuery, UsageRow

    from nr_llm_store.store import SqlStore


class LaterStore:
    """
    Passes everything on to the store that `make` returns, made once.

    Args:
        make: Makes the store.

    Attributes:
        blocking: As of every `SqlStore`.
    """

    blocking = True

    def __init__(self, make: Callable[[], SqlStore]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._store: SqlStore | None = None

    def made(self) -> SqlStore:
        """
        Return the store.

        Raises:
            ConfigurationError: Its settings are wrong, or a package for them is missing.
        """
        with self._lock:
            if self._store is None:
                self._store = self._make()
            return self._store

    def create(self, head: RunHead, change: RunChange) -> None:
        """Keep a new run."""
        self.made().create(head, change)

    def write(self, change: RunChange) -> Written:
        """Apply a change."""
        return self.made().write(change)

    def request_stop(self, run_id: str, at: float) -> bool:
        """Note that a run shall stop."""
        return self.made().request_stop(run_id, at)

    def run(self, run_id: str) -> StoredRun | None:
        """Return a run."""
        return self.made().run(run_id)

    def runs(self, query: RunQuery) -> Sequence[StoredRun]:
        """Return runs."""
        return self.made().runs(query)

    def steps(self, run_id: str, *, after: int = -1, limit: int | None = None) -> Sequence[StoredStep]:
        """Return steps of a run."""
        return self.made().steps(run_id, after=after, limit=limit)

    def transcript(self, run_id: str) -> Sequence[TranscriptEntry]:
        """Return the kept messages of a run."""
        return self.made().transcript(run_id)

    def live(self, run_id: str) -> Checkpoint | None:
        """Return the live state of a run."""
        return self.made().live(run_id)

    def usage(self, *, since: float = 0.0) -> Sequence[UsageRow]:
        """Return what runs used."""
        return self.made().usage(since=since)

    def spent(self, actor_id: str, since: datetime) -> Spent:
        """Return what an actor spent."""
        return self.made().spent(actor_id, since)

    def delete(self, run_ids: Iterable[str]) -> int:
        """Forget runs that have ended."""
        return self.made().delete(run_ids)

    def close(self) -> None:
        """Give up connections, if there are any."""
        if self._store is not None:
            self._store.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.made(), name)  # what only this store can, such as `verify`
