"""How far a transfer is and when it will be done, from the numbers of bytes alone."""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs

SETTLING = 1.0
"""Seconds before an estimate is made: the first bytes come at no typical speed."""


@attrs.frozen(kw_only=True)
class Progress:
    """
    How far fetching is.

    Attributes:
        source: Who the bytes come from.
        done: Bytes that are here.
        total: Bytes of the file.
        seconds_left: By the average speed so far, or None when it cannot be told yet.
    """

    source: str
    done: int
    total: int
    seconds_left: float | None


class Meter:
    """
    Tells somebody of each number of bytes.

    Args:
        show: Who is told.
        source: Who the bytes come from.
        total: Bytes of the file.
        clock: Seconds, from any start.
    """

    def __init__(
        self,
        show: Callable[[Progress], None],
        *,
        source: str,
        total: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show = show
        self._source = source
        self._total = total
        self._clock = clock
        self._start: tuple[float, int] | None = None

    def __call__(self, done: int) -> None:
        """Tell that so many bytes are here; the first call tells what was here before."""
        now = self._clock()
        if self._start is None:
            self._start = now, done
        self._show(
            Progress(source=self._source, done=done, total=self._total, seconds_left=self._left(now, done)),
        )

    def _left(self, now: float, done: int) -> float | None:
        assert self._start is not None
        elapsed, moved = now - self._start[0], done - self._start[1]
        if elapsed < SETTLING or moved <= 0:
            return None
        return (self._total - done) * elapsed / moved
