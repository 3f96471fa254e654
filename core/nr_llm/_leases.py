"""Holds a run while its process lives: a lease that is looked at before each write and renewed while a call lasts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from weakref import WeakSet

import attrs

from nr_llm.errors import RunClaimedError
from nr_llm.options import between
from nr_llm.records import RunChange, Written
from nr_llm.stores import RunStore

LEASE_SECONDS: Final = 900.0
"""How long a segment holds a run after its last step (the reference system's figure)."""

CLOCKS_APART: Final = 0.1
"""Of a lease so much is not relied upon: the clock of whoever finds that it has ended may be ahead."""

RENEWED_AFTER: Final = 1 / 3
"""Of a lease so much passes before it is renewed: one failure, and one look that came late, cost nothing."""

SOONEST: Final = 1.0
"""Seconds between two looks at leases at least; one below three seconds is not kept up with."""


@attrs.define(kw_only=True, eq=False)
class Lease:
    """
    What a segment holds a run by.

    Attributes:
        store: Where the run is.
        run_id: The run.
        owner: The segment.
        seconds: How long it holds the run after a change.
        clock: Seconds since 1970.
        until: Until when it does, as far as is known here; 0 before it has the run.
    """

    store: RunStore
    run_id: str
    owner: str
    seconds: float
    clock: Callable[[], float]
    until: float = 0.0

    def hold(self) -> None:
        """
        Make sure that the run is still held, which is asked of the store only where the lease has ended, or nearly so.

        Raises:
            RunClaimedError: It is not.
            StoreError: Nobody can say.
        """
        if self.clock() < self.until - self.seconds * CLOCKS_APART:
            return
        written = self._renewed()
        if not written.applied:
            raise RunClaimedError(self.run_id, written.status)

    def keep_up(self) -> None:
        """Renew it when it is time; a run that is held no more is told so at its next step."""
        if self.until and self.clock() > self.until - self.seconds * (1 - RENEWED_AFTER):
            self._renewed()

    def _renewed(self) -> Written:
        now = self.clock()
        until = now + self.seconds
        written = self.store.write(RunChange(run_id=self.run_id, at=now, owner=self.owner, lease=until))
        if written.applied:
            self.until = until
        return written


@attrs.define(eq=False)
class Leases:
    """
    The leases of a process's runs, and a thread that keeps them up: a single call may last for hours.

    A process that is paused has no thread that runs, so its runs are free when their leases end.

    Args:
        lease_seconds: How long a segment holds its run after its last step.

    Raises:
        InvalidValueError: That is no such number.
    """

    lease_seconds: float = attrs.field(default=LEASE_SECONDS, validator=between(0.001, 31 * 86_400))
    _process: int = attrs.field(factory=os.getpid, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _held: WeakSet[Lease] = attrs.field(factory=WeakSet, init=False)
    _awake: bool = attrs.field(default=False, init=False)

    def mind(self, lease: Lease) -> None:
        """Keep a lease up from now on, until it is left or forgotten."""
        if self._process != os.getpid():  # a fork has no thread but the one that forked, and none of the runs
            self._process, self._lock, self._held, self._awake = os.getpid(), threading.Lock(), WeakSet(), False
        with self._lock:
            self._held.add(lease)
            start, self._awake = not self._awake, True
        if start:
            threading.Thread(target=self._keep_up, name="nr-llm-leases", daemon=True).start()

    def leave(self, lease: Lease) -> None:
        """Let a lease end."""
        if self._process == os.getpid():
            with self._lock:
                self._held.discard(lease)

    def _keep_up(self) -> None:
        while self._looked():
            pass

    def _looked(self) -> bool:
        time.sleep(max(SOONEST, self.lease_seconds * RENEWED_AFTER))
        with self._lock:
            held = tuple(self._held)  # in this call alone: what is forgotten must not live on here
            self._awake = bool(held)
        for lease in held:
            with suppress(Exception):  # a store that fails says so at the run's next step
                lease.keep_up()
        return bool(held)
