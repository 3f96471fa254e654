"""What actors may spend in a window of time, seen by every run of theirs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest
from nr_llm import (
    Actor,
    ActorBudget,
    BudgetExceededError,
    ConfigurationError,
    InvalidValueError,
    Price,
    Retry,
    RunResult,
    Runtime,
    ServiceError,
    Suspended,
    TerminationReason,
    Usage,
    tool,
)
from nr_llm._purse import Purse, Purses
from nr_llm.budgets import Ledger, MemorySpending, Spending, Spent
from nr_llm.testing import ScriptedProvider, calling

from tests.core.colours import COLOURS
from tests.core.flows import state, text

NOW = datetime(2026, 2, 27, 13, 45, 30, tzinfo=UTC)
ANN = Actor("ann")
LONG = 31 * 24 * 3_600
"""Seconds of the longest window."""


@tool
def look() -> str:
    """Look."""
    return "seen"


@tool(effect="write", approval=True)
def change() -> str:
    """Change something."""
    return "changed"


@pytest.fixture(params=COLOURS)
def colour(request: pytest.FixtureRequest) -> Any:
    """Run the test in both colours."""
    return request.param


class Told:
    """A `Spending` that a test sets, as a store is one: it is told nothing."""

    def __init__(self, **spent: Any) -> None:
        self.now = Spent(**spent)

    def spent(self, actor_id: str, since: datetime) -> Spent:
        """Return what the test says."""
        return self.now


def budget(**bounds: Any) -> ActorBudget:
    """Return a budget of the longest window."""
    return ActorBudget(window=LONG, **bounds)


def runtime(*replies: Any, price: Price | None = None, **settings: Any) -> Runtime:
    """Return a runtime in which Ann acts."""
    provider = ScriptedProvider(*replies)
    if price is not None:
        described = provider.describe
        provider.describe = lambda model: attrs.evolve(described(model), price=price)  # type: ignore[method-assign]
    return Runtime(providers=[provider], model="scripted:m", actor=ANN, tools=[look, change], **settings)


class TestWindow:
    """When a window begins and ends."""

    @pytest.mark.parametrize(
        ("window", "begin", "end"),
        [
            ("hour", datetime(2026, 2, 27, 13, tzinfo=UTC), datetime(2026, 2, 27, 14, tzinfo=UTC)),
            ("day", datetime(2026, 2, 27, tzinfo=UTC), datetime(2026, 2, 28, tzinfo=UTC)),
            ("month", datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
            (900, datetime(2026, 2, 27, 13, 45, tzinfo=UTC), datetime(2026, 2, 27, 14, tzinfo=UTC)),
        ],
    )
    def test_of_the_calendar(self, window: Any, begin: datetime, end: datetime) -> None:
        """Hours, days and months are those of the calendar; seconds follow one another since 1970."""
        assert ActorBudget(window=window).around(NOW) == (begin, end)

    def test_the_last_month_of_a_year(self) -> None:
        """December ends with the year."""
        december = datetime(2026, 12, 31, 23, 59, tzinfo=UTC)

        assert ActorBudget(window="month").around(december)[1] == datetime(2027, 1, 1, tzinfo=UTC)

    def test_another_time_zone(self) -> None:
        """A moment is in the same window, whatever clock it is read from."""
        from datetime import timezone

        east = datetime(2026, 2, 28, 1, tzinfo=timezone(timedelta(hours=5)))

        assert ActorBudget(window="day").around(east)[0] == datetime(2026, 2, 27, tzinfo=UTC)

    @pytest.mark.parametrize("window", ["week", 0, True, None, LONG + 1])
    def test_no_window(self, window: Any) -> None:
        """A window that is none is refused by name."""
        with pytest.raises(InvalidValueError, match="window"):
            ActorBudget(window=window)

    def test_names(self) -> None:
        """People read the window's name."""
        assert [ActorBudget(window=window).name for window in ("day", 90)] == ["day", "90 seconds"]  # type: ignore[arg-type]


class TestMemory:
    """Spending kept in memory."""

    def test_it_is_a_ledger(self) -> None:
        """It can be asked and told; what is only asked is no ledger."""
        assert isinstance(MemorySpending(), Ledger)
        assert isinstance(Told(), Spending)
        assert not isinstance(Told(), Ledger)

    def test_it_adds_up_since_a_time(self) -> None:
        """What was spent before the window is left out, and so is what others spent."""
        spending = MemorySpending()
        for minutes in (90, 30, 10):
            spending.add("ann", NOW - timedelta(minutes=minutes), Spent(tokens=5, cost=Decimal("0.1"), runs=1))
        spending.add("bob", NOW, Spent(tokens=100))

        assert spending.spent("ann", NOW - timedelta(hours=1)) == Spent(tokens=10, cost=Decimal("0.2"), runs=2)
        assert spending.spent("eve", NOW) == Spent()

    def test_it_forgets(self) -> None:
        """What no window holds any more takes no memory."""
        spending = MemorySpending(keep_seconds=60)
        spending.add("ann", NOW - timedelta(minutes=2), Spent(tokens=5))
        spending.add("ann", NOW, Spent(tokens=1))

        assert spending.spent("ann", NOW - timedelta(days=1)) == Spent(tokens=1)


class TestBegin:
    """A run that may begin, or not."""

    @pytest.mark.parametrize(
        ("bounds", "spent", "measure"),
        [
            ({"tokens": 100}, {"tokens": 100}, "tokens"),
            ({"runs": 2}, {"runs": 2}, "runs"),
            ({"cost": "0.5"}, {"cost": Decimal("0.6")}, "cost"),
            ({"tokens": 0}, {}, "tokens"),
        ],
    )
    def test_refused(self, colour: Any, bounds: Any, spent: Any, measure: str) -> None:
        """A run is refused with whose budget it is, its window, the limit, what was spent, and when it is free."""
        told = Told(**spent)
        own = runtime("x", budgets={"ann": [budget(**bounds)]}, spending=told, price=Price(input=1, output=1))
        with pytest.raises(BudgetExceededError) as caught:
            colour.run(own)

        error = caught.value
        assert (error.actor_id, error.window, error.measure) == ("ann", f"{LONG:g} seconds", measure)
        assert (error.limit, error.spent) == (getattr(budget(**bounds), measure), getattr(told.now, measure))
        assert error.frees_at is not None
        assert error.frees_at > datetime.now(UTC)
        assert f"{measure} per {LONG:g} seconds; the budget is free again at" in str(error)

    def test_nothing_is_left_behind(self, colour: Any) -> None:
        """Of a run that was not begun nobody hears: no observer, no provider."""
        seen: list[Any] = []
        provider = ScriptedProvider("x")
        own = Runtime(
            providers=[provider], model="scripted:m", actor=ANN, budgets={"ann": [budget(runs=0)]}, live=[seen.append]
        )
        with pytest.raises(BudgetExceededError):
            colour.run(own)

        assert (seen, provider.requests) == ([], [])

    def test_runs_are_counted(self, colour: Any) -> None:
        """As many runs begin as the budget holds."""
        own = runtime("a", "b", "c", budgets={"ann": [budget(runs=2)]})
        answers = [colour.run(own).content for _ in range(2)]
        with pytest.raises(BudgetExceededError):
            colour.run(own)

        assert answers == ["a", "b"]

    def test_a_dry_run_is_none(self) -> None:
        """What asks nobody is not counted."""
        own = runtime("a", budgets={"ann": [budget(runs=1)]})
        own.run("hi", dry_run=True)

        assert isinstance(own.run("hi"), RunResult)

    def test_a_run_that_goes_on_was_counted(self) -> None:
        """A run that waited for a person counts once."""
        own = runtime(calling(("change", {})), "done", budgets={"ann": [budget(runs=1)]})
        held = own.run("hi", tools=["change"])
        assert isinstance(held, Suspended)
        result = own.resume(held, True)

        assert isinstance(result, RunResult)
        assert result.content == "done"

    @pytest.mark.parametrize(
        "budgets",
        [None, {}, {"bob": [budget(runs=0)]}, {"ann": []}, lambda actor: [budget(runs=0)] if actor.id == "bob" else []],
    )
    def test_others_are_not_bounded(self, budgets: Any) -> None:
        """An actor without a budget is not bounded."""
        assert isinstance(runtime("x", budgets=budgets).run("hi"), RunResult)

    def test_a_function_of_the_actor(self) -> None:
        """Budgets may be found by the actor."""
        with pytest.raises(BudgetExceededError, match="actor 'ann' has used 0 of 0 runs"):
            runtime("x", budgets=lambda actor: [budget(runs=0)]).run("hi")

    def test_nobody_in_particular(self) -> None:
        """A run on nobody's behalf has no actor's budget."""
        own = Runtime(providers=[ScriptedProvider("x")], model="scripted:m", budgets=lambda actor: [budget(runs=0)])

        assert isinstance(own.run("hi"), RunResult)

    @pytest.mark.parametrize(
        ("price", "message"),
        [(None, "price of the model is not known"), (Price(input=1, output=1, currency="EUR"), "is in EUR")],
    )
    def test_a_cost_that_cannot_be_held(self, price: Price | None, message: str) -> None:
        """A budget of cost refuses a model whose price is not known in its currency."""
        with pytest.raises(ConfigurationError, match=message):
            runtime("x", price=price, budgets={"ann": [budget(cost=1)]}).run("hi")


class TestUnderWay:
    """Budgets that run out during a run."""

    ASKS = attrs.evolve(calling(("look", {}), content="let me see"), usage=Usage(60, 0))

    def test_it_ends_before_the_next_call(self, colour: Any) -> None:
        """A run that used the budget up ends with a reason of its own and what was written so far."""
        result = colour.run(runtime(self.ASKS, "x", budgets={"ann": [budget(tokens=60)]}))

        assert (result.reason, result.content) == (TerminationReason.ACTOR_BUDGET_EXHAUSTED, "let me see")
        assert [call.content for call in result.invocations] == ["seen"]

    def test_runs_see_each_other(self, colour: Any) -> None:
        """What another run of the actor spends meanwhile ends this one at its next step."""
        other: list[Any] = []

        @tool
        def meanwhile() -> str:
            """Let another run spend."""
            other.append(own.run("hi"))
            return "done"

        spends = text("y", usage=Usage(90, 0))
        first = attrs.evolve(calling(("meanwhile", {})), usage=Usage(5, 0))
        provider = ScriptedProvider(first, spends, "x")
        budgets = {"ann": [budget(tokens=95)]}
        own = Runtime(providers=[provider], model="scripted:m", actor=ANN, tools=[meanwhile], budgets=budgets)
        result = colour.run(own)

        assert (other[0].content, result.reason) == ("y", "actor_budget_exhausted")

    def test_cost(self, colour: Any) -> None:
        """Cost is counted at the model's price."""
        price = Price(input=1_000_000, output=0)
        own = runtime(self.ASKS, "x", price=price, budgets={"ann": [budget(cost=60)]})

        assert colour.run(own).reason == "actor_budget_exhausted"

    def test_a_budget_that_lasts(self, colour: Any) -> None:
        """Below the budget a run goes on."""
        assert colour.run(runtime(self.ASKS, "x", budgets={"ann": [budget(tokens=61)]})).content == "x"

    def test_a_store_is_asked_and_not_told(self, colour: Any) -> None:
        """A store that knows what was spent counts by itself what it keeps."""
        assert isinstance(Purses.of(None, None, Told()).spending, Told)
        assert isinstance(Purses.of(None, None, object()).spending, MemorySpending)
        own = runtime(self.ASKS, "x", budgets={"ann": [budget(tokens=60)]}, spending=Told())

        assert colour.run(own).content == "x"

    def test_attempts_that_failed_count(self, colour: Any) -> None:
        """Tokens that a failed attempt used, where the service told, are spent as well."""
        error = ServiceError("down", retryable=True)
        error.usage = Usage(50, 0)
        own = runtime(
            error,
            self.ASKS,
            "x",
            budgets={"ann": [budget(tokens=110)]},
            middleware=[Retry(seconds=0)],
        )
        result = colour.run(own)

        assert result.reason == "actor_budget_exhausted"
        assert result.usage == Usage(110, 0)

    def test_a_last_failure_carries_them_all(self, colour: Any) -> None:
        """An error that ends a run after all attempts says what they used together, and so does its state."""
        errors = [ServiceError("down", retryable=True) for _ in range(2)]
        for error in errors:
            error.usage = Usage(50, 0)
        with pytest.raises(ServiceError) as caught:
            colour.run(runtime(*errors, price=Price(input=2, output=1), middleware=[Retry(retries=1, seconds=0)]))

        state = caught.value.state
        assert caught.value.usage == Usage(100, 0)
        assert state is not None
        assert (state.usage, state.cost, state.unpriced) == (Usage(100, 0), Decimal("0.0002"), False)

    def test_a_single_call_counts(self) -> None:
        """Asking a model once spends the actor's budget too, and is refused without one."""
        own = runtime(text("x", usage=Usage(60, 0)), "y", budgets={"ann": [budget(tokens=60)]})
        own.complete("hi")

        with pytest.raises(BudgetExceededError, match="The model was not asked: actor 'ann' has used 60 of 60 tokens"):
            own.complete("hi")

    def test_a_clock_of_ones_own(self) -> None:
        """A window that is over leaves the next one free."""
        now = [NOW]
        purses = Purses({"ann": [ActorBudget(window="day", tokens=5)]}, now=lambda: now[0])
        purse = purses.purse(ANN, state(), begins=True)
        assert isinstance(purse, Purse)
        purse.note(Usage(5, 0))
        with pytest.raises(BudgetExceededError, match="2026-02-28 00:00 UTC"):
            purse.check()
        now[0] += timedelta(days=1)
        purse.check()
