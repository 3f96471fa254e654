"""How often somebody may ask: a bucket for each, which fills by itself."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from nr_llm_playground.refusals import Refusal

REMEMBERED: Final = 1024
"""Askers whose buckets are kept; the one that asked longest ago is forgotten first."""


class Rates:
    """
    Counts requests.

    Args:
        minute: How many each may make in a minute, all of them at once if they like.
        clock: Seconds.
    """

    def __init__(self, minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """
        Count a request.

        Raises:
            Refusal: It is one too many.
        """
        now = self._clock()
        left, since = self._left.pop(name, (float(self._most), now))
        left = min(float(self._most), left + (now - since) * self._most / 60)
        self._left[name] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            wait = max(1, round((1 - left) * 60 / self._most))
            text = f"More than {self._most} requests in a minute; ask again in {wait} s."
            raise Refusal(429, "rate", text, headers={"Retry-After": str(wait)})
