"""The people and programs that watch a run: shown every step first, and never able to stop it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeAlias

import attrs

from nr_llm.actors import Actor
from nr_llm.events import Delta
from nr_llm.privacy import PrivacyLevel, StepFilter, StepRecord
from nr_llm.records import RunTotals
from nr_llm.state import RunState, TerminationReason
from nr_llm.steps import RunStep


@attrs.frozen(kw_only=True)
class RunInfo:
    """What an observer is told of the run it will watch."""

    run_id: str
    model: str
    actor: Actor | None = None


class Observer(Protocol):
    """
    Watches one run by plain methods, none of them async; each may be left out.

    A method that raises is logged and its observer switched off for the rest of the run.
    """

    def step(self, step: RunStep) -> None:
        """A step is done, unfiltered, artifacts and all."""

    def delta(self, delta: Delta) -> None:
        """The model wrote a piece; only in streamed runs."""

    def close(self, state: RunState) -> None:
        """The run, or this segment of it, is over, however it ended."""


@attrs.frozen(kw_only=True)
class RunEnd:
    """
    How a run, or a segment of it, ended, without what was said.

    Attributes:
        run_id: The run.
        reason: Why it ended, or None if it waits for a person.
        totals: What it used.
    """

    run_id: str
    reason: TerminationReason | None
    totals: RunTotals


class PluginObserver(Protocol):
    """
    Watches one run from a plugin, by plain methods, each of which may be left out.

    It is shown what the run's privacy level leaves, and pieces of the answer at level `full` alone, since what is in
    pieces cannot be masked.
    """

    def step(self, step: StepRecord) -> None:
        """A step is done."""

    def delta(self, delta: Delta) -> None:
        """The model wrote a piece; only in streamed runs of level `full`."""

    def close(self, end: RunEnd) -> None:
        """The run, or this segment of it, is over, however it ended."""


ObserverFactory: TypeAlias = Callable[[RunInfo], Any]
"""Makes the observer of one run: an `Observer`, with only the methods it wants."""


@attrs.frozen(eq=False)
class FilteredFactory:
    """Makes observers of a plugin, who see what a filter leaves."""

    factory: ObserverFactory
    filter: StepFilter

    def __call__(self, info: RunInfo) -> Any:
        """Return the observer of one run."""
        return _Filtered(self.factory(info), self.filter)


@attrs.frozen(eq=False)
class _Filtered:
    observer: Any
    filter: StepFilter

    def step(self, step: RunStep) -> Any:
        return self._tell("step", lambda: self.filter.record(step))

    def delta(self, delta: Delta) -> Any:
        return self._tell("delta", lambda: delta) if self.filter.level is PrivacyLevel.FULL else None

    def close(self, state: RunState) -> Any:
        return self._tell("close", lambda: RunEnd(run_id=state.run_id, reason=state.reason, totals=RunTotals.of(state)))

    def _tell(self, event: str, value: Callable[[], object]) -> Any:
        method = getattr(self.observer, event, None)
        return None if method is None else method(value())


def _refuse_coroutine(done: object) -> None:
    """
    Close what an async method returned, which nobody awaits.

    Raises:
        TypeError: It was one.
    """
    if isinstance(done, Coroutine):
        done.close()
        raise TypeError("an observer is told by plain methods")


class Observers:
    """The observers of one run, each in its own guard."""

    def __init__(self, factories: Iterable[ObserverFactory], info: RunInfo, log: logging.Logger) -> None:
        self._log = log
        self._info = info
        self._watching: list[Any] = []
        self.join(factories)

    def join(self, factories: Iterable[ObserverFactory]) -> None:
        """Have more observers watch."""
        for factory in factories:
            try:
                self._watching.append(factory(self._info))
            except Exception as error:  # noqa: BLE001  # an observer never stops a run
                self._report(factory, error)

    def tell(self, event: str, value: object) -> None:
        """Call the method `event` of each observer that has it."""
        for observer in tuple(self._watching):
            try:
                method = getattr(observer, event, None)
                if method is not None and (done := method(value)) is not None:
                    _refuse_coroutine(done)
            except Exception as error:  # noqa: BLE001  # an observer never stops a run
                self._watching = [other for other in self._watching if other is not observer]
                self._report(observer, error)

    def _report(self, observer: object, error: Exception) -> None:
        kind = type(observer).__name__ if not callable(observer) else getattr(observer, "__name__", "observer")
        text = "Observer %s raised %s and is switched off for run %s"
        self._log.warning(text, kind, type(error).__name__, self._info.run_id)
