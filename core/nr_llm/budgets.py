"""What an actor may spend in an hour, a day or a month: the bounds, and the port that tells what was spent."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import attrs

from nr_llm.actors import Actor
from nr_llm.errors import InvalidValueError
from nr_llm.options import whole
from nr_llm.prices import amount, decimal_of

HOUR = 3_600
DAY = 24 * HOUR
MONTH = 31 * DAY

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@attrs.frozen(kw_only=True)
class Spent:
    """
    What was spent.

    Attributes:
        tokens: Tokens, as far as they were reported.
        cost: What they cost, as far as it is known.
        runs: Runs begun.
    """

    tokens: int = 0
    cost: Decimal = Decimal(0)
    runs: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(tokens=self.tokens + other.tokens, cost=self.cost + other.cost, runs=self.runs + other.runs)


def _window(_: object, field: attrs.Attribute[Any], value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value not in ("hour", "day", "month") and not (number and 1 <= value <= MONTH):
        raise InvalidValueError(f"{value!r} is none of hour, day, month, and no seconds up to 31 days", path=field.name)


@attrs.frozen(kw_only=True)
class ActorBudget:
    """
    What an actor may spend in each window of time; one that is reached ends a run before its next model call.

    Args:
        window: ``hour``, ``day`` or ``month`` of the calendar in UTC, or seconds: windows of that length, one after
            another since 1970.
        tokens: Tokens of all model calls; None for no bound.
        cost: What they cost; None for no bound.  Runs whose model has no known price are refused.
        runs: Runs begun; None for no bound.
        currency: What `cost` is in; runs whose price is in another are refused.

    Raises:
        InvalidValueError: A bound or the window is out of its range.
    """

    window: Literal["hour", "day", "month"] | float = attrs.field(validator=_window)
    tokens: int | None = attrs.field(default=None, validator=whole(0))
    cost: Decimal | None = attrs.field(default=None, converter=decimal_of, validator=amount)
    runs: int | None = attrs.field(default=None, validator=whole(0))
    currency: str = "USD"

    @property
    def name(self) -> str:
        """The window, for people."""
        return self.window if isinstance(self.window, str) else f"{self.window:g} seconds"

    def around(self, now: datetime) -> tuple[datetime, datetime]:
        """Return the beginning and the end of the window that `now` is in; when it ends the budget is free again."""
        now = now.astimezone(UTC)
        if self.window == "month":
            first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
            return first, (first + timedelta(days=32)).replace(day=1)
        seconds = {"hour": HOUR, "day": DAY}.get(str(self.window)) or float(self.window)
        length = timedelta(seconds=seconds)
        begin = EPOCH + (now - EPOCH) // length * length
        return begin, begin + length


Budgets: TypeAlias = Mapping[str, Sequence[ActorBudget]] | Callable[[Actor], Sequence[ActorBudget]]
"""The budgets of each actor, by id or as a function; an actor who is not named has none."""


@runtime_checkable
class Spending(Protocol):
    """Knows what actors spent; a store of runs does, from what it keeps of them."""

    def spent(self, actor_id: str, since: datetime) -> Spent:
        """
        Return what was spent on behalf of an actor; quick, since it is asked before each model call.

        Args:
            actor_id: `Actor.id`.
            since: From when on, in UTC.
        """


@runtime_checkable
class Ledger(Spending, Protocol):
    """A `Spending` that is told what it shall know, rather than keeping runs itself."""

    def add(self, actor_id: str, at: datetime, spent: Spent) -> None:
        """Take in what was spent just now."""


class MemorySpending:
    """
    Keeps in memory what actors spent: for tests, and for a single process that may forget it when it ends.

    Args:
        keep_seconds: How long an entry counts: as long as the longest window, which is a month.
    """

    def __init__(self, *, keep_seconds: float = MONTH) -> None:
        self._keep = timedelta(seconds=keep_seconds)
        self._entries: dict[str, deque[tuple[datetime, Spent]]] = {}
        self._lock = threading.Lock()

    def add(self, actor_id: str, at: datetime, spent: Spent) -> None:
        """Take in what was spent, and forget what no window holds any more."""
        with self._lock:
            entries = self._entries.setdefault(actor_id, deque())
            entries.append((at, spent))
            while entries[0][0] < at - self._keep:
                entries.popleft()

    def spent(self, actor_id: str, since: datetime) -> Spent:
        """Return what was spent on behalf of an actor."""
        with self._lock:
            return sum(self._since(actor_id, since), Spent())

    def _since(self, actor_id: str, since: datetime) -> Iterator[Spent]:
        return (spent for at, spent in self._entries.get(actor_id, ()) if at >= since)
