"""One run's view of its actor's budgets: looked at before the run and before each model call, outside of the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

import attrs

from nr_llm.actors import Actor
from nr_llm.budgets import ActorBudget, Budgets, Ledger, MemorySpending, Spending, Spent
from nr_llm.errors import BudgetExceededError, ConfigurationError
from nr_llm.prices import Price
from nr_llm.responses import Usage
from nr_llm.state import RunState

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@attrs.frozen(eq=False)
class Purse:
    """
    What a run may spend of its actor's budgets.

    Attributes:
        actor: On whose behalf.
        budgets: Theirs.
        spending: Knows what they spent.
        price: What the run's model costs.
        now: Tells the time.
    """

    actor: Actor
    budgets: Sequence[ActorBudget]
    spending: Spending
    price: Price | None
    now: Clock

    def begin(self, run_id: str) -> None:
        """
        Count a run, if it may begin.

        Raises:
            BudgetExceededError: A budget is used up.
        """
        self.check(begins=f"Run {run_id} was not begun")
        self._add(Spent(runs=1))

    def check(self, *, begins: str | None = None) -> None:
        """
        Return if the actor may go on spending.

        Args:
            begins: What is said of a run that is about to begin, which counts against the runs, or None.

        Raises:
            BudgetExceededError: A budget is used up.
        """
        now = self.now()
        for budget in self.budgets:
            since, until = budget.around(now)
            spent = self.spending.spent(self.actor.id, since)
            for measure in ("tokens", "cost", "runs") if begins else ("tokens", "cost"):
                limit: int | Decimal | None = getattr(budget, measure)
                used: int | Decimal = getattr(spent, measure)
                if limit is not None and used >= limit:
                    raise BudgetExceededError(
                        f"{begins or 'The model was not asked'}: actor {self.actor.id!r} has used {used:,} of "
                        f"{limit:,} {measure} per {budget.name}; the budget is free again at {until:%Y-%m-%d %H:%M} "
                        "UTC.",
                        actor_id=self.actor.id,
                        window=budget.name,
                        measure=measure,
                        limit=limit,
                        spent=used,
                        frees_at=until,
                    )

    def note(self, usage: Usage) -> None:
        """Take in what a model call used, so that every run of the actor sees it."""
        spent = Spent(tokens=usage.total_tokens or 0, cost=usage.cost(self.price) or Decimal(0))
        if spent != Spent():
            self._add(spent)

    def _add(self, spent: Spent) -> None:
        if isinstance(self.spending, Ledger):
            self.spending.add(self.actor.id, self.now(), spent)


def _unpriced(actor: Actor, budget: ActorBudget, price: Price | None) -> ConfigurationError:
    known = "is not known" if price is None else f"is in {price.currency}"
    return ConfigurationError(
        f"Actor {actor.id!r} has a budget of {budget.cost} {budget.currency} per {budget.name}, and the price of the "
        f"model {known}.",
        remedy="Say the price in nr-llm.toml, as price = { input = ..., output = ... } in a [models.NAME] of that "
        "model, install nr-llm[prices], or bound tokens instead.",
    )


@attrs.frozen(eq=False)
class Purses:
    """
    Who may spend what in a Runtime.

    Attributes:
        budgets: Of each actor.
        spending: Knows what they spent.
        now: Tells the time.
    """

    budgets: Budgets = attrs.field(factory=dict)
    spending: Spending = attrs.field(factory=MemorySpending)
    now: Clock = utc_now

    @classmethod
    def of(cls, budgets: Budgets | None, spending: Spending | None, store: object) -> Purses:
        """Return what a Runtime was given; a store that knows what was spent is asked where nothing else is named."""
        if spending is None:
            spending = store if isinstance(store, Spending) else MemorySpending()
        return cls(budgets or {}, spending)

    def purse(self, actor: Actor | None, state: RunState, *, begins: bool) -> Purse | None:
        """
        Return the purse of a run, or None where nothing bounds its actor.

        Args:
            actor: On whose behalf the run acts, or None if nobody is named.
            state: The run.
            begins: Whether it is counted; a run that goes on was counted before.

        Raises:
            BudgetExceededError: A budget is used up.
            ConfigurationError: A budget of cost cannot be held, since the model's price is not known in its currency.
        """
        if actor is None or not self.budgets:
            return None
        budgets = self.budgets(actor) if callable(self.budgets) else self.budgets.get(actor.id, ())
        if not budgets:
            return None
        purse = Purse(actor, tuple(budgets), self.spending, state.price, self.now)
        for budget in budgets:
            if budget.cost is not None and (state.price is None or state.price.currency != budget.currency):
                raise _unpriced(actor, budget, state.price)
        if begins:
            purse.begin(state.run_id)
        return purse
