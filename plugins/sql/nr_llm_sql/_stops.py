"""Says why a call stops before its end: one set of reasons for every database."""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs


class Halted(Exception):  # noqa: N818 - not an error: it was told to stop
    """The call was told to stop, or its time is up."""


class Missing(Exception):  # noqa: N818 - turned into a message at the edge
    """There is no file where the settings say the database is."""


class Refused(Exception):  # noqa: N818 - a refusal is an answer
    """The statement, or a view it reads, touches something that is not permitted."""


class Unfit(Exception):  # noqa: N818 - turned into an answer
    """The database cannot compare a value with a column, or sort by it."""


@attrs.frozen(eq=False)
class Halt:
    """
    Says when a call has to stop.

    Args:
        cancelled: Whether the run was cancelled.
        deadline: Time of `clock` after which the call stops.
        clock: A monotonic clock, in seconds.
    """

    cancelled: Callable[[], bool]
    deadline: float
    clock: Callable[[], float] = time.monotonic

    def due(self) -> bool:
        """Return whether to stop now."""
        return self.cancelled() or self.clock() >= self.deadline

    def left(self) -> float:
        """Return the seconds that are left; none if the call has to stop."""
        return 0.0 if self.cancelled() else max(0.0, self.deadline - self.clock())
