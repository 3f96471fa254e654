"""The store in memory keeps every promise of a store, and the suite finds stores that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from nr_llm import MemoryStore, RunChange, RunExistsError, RunHead, StoredRun, Written
from nr_llm.records import RunStatus
from nr_llm.stores import RunQuery, UsageRow
from nr_llm.testing import StoreContract, check_store


class TestMemory(StoreContract):
    make = MemoryStore


def test_in_one_line() -> None:
    """A store that keeps them all passes, and nothing is left unchecked."""
    assert check_store(MemoryStore) == ()


def broken(method: str, make: Callable[[Any], Any]) -> type[MemoryStore]:
    """Return a store one method of which is another's."""
    return type("Broken", (MemoryStore,), {method: make(getattr(MemoryStore, method))})


def forgetful(create: Any) -> Any:
    """Overwrite a run of the same name."""

    def overwriting(self: MemoryStore, head: RunHead, change: RunChange) -> None:
        self._rows.pop(head.run_id, None)
        create(self, head, change)

    return overwriting


def careless(**settings: Any) -> Callable[[Any], Any]:
    """Write as if a guard had not been given."""

    def wrap(write: Any) -> Any:
        return lambda self, change: write(self, attrs.evolve(change, **settings))

    return wrap


def lenient(write: Any) -> Any:
    """Give a number twice."""

    def appending(self: MemoryStore, change: RunChange) -> Written:
        row = self._rows.get(change.run_id)
        written: Written = write(self, change if row is None else attrs.evolve(change, sequence=len(row.steps)))
        return written

    return appending


def lying(write: Any) -> Any:
    """Say that everything was applied."""

    def says(self: MemoryStore, change: RunChange) -> Written:
        written: Written = attrs.evolve(write(self, change), applied=True)
        return written

    return says


@pytest.mark.parametrize(
    ("method", "make", "promise"),
    [
        ("create", forgetful, "a name that is taken"),
        ("write", careless(owner=None), "what a change expects: the owner was not minded"),
        ("write", careless(expect=frozenset(RunStatus)), "the end"),
        ("write", careless(after_steps=None), "what a change expects: the number of steps was not minded"),
        ("write", careless(unless_stopped=False), "a wish to stop"),
        ("write", careless(transcript=()), "transcript"),
        ("write", careless(sequence=0), "steps"),
        ("write", lenient, "a number that is taken: a number was given twice"),
        ("write", lying, "a run nobody has"),
        ("live", lambda live: lambda self, run_id: None, "live state"),
        ("runs", lambda runs: lambda self, query: runs(self, RunQuery()), "lists"),
        ("usage", lambda usage: lambda self, since=0.0: (), "usage"),
        ("delete", lambda delete: lambda self, run_ids: len(list(run_ids)), "forgetting"),
    ],
)
def test_a_broken_promise_is_told(method: str, make: Any, promise: str) -> None:
    """Each by its name."""
    with pytest.raises(AssertionError, match=f"- {promise}"):
        check_store(broken(method, make))


def test_a_store_that_starts_again_with_the_same_runs() -> None:
    """It is not empty, and what is wrong is told as it was raised."""
    store = MemoryStore()
    with pytest.raises(AssertionError, match=RunExistsError.__name__):
        check_store(lambda: store)


def test_as_json() -> None:
    """A run and a row of usage are one JSON object each, without live state."""
    suite = StoreContract()
    suite.make = MemoryStore
    store = suite.begun()
    run = store.run("run-1")
    assert isinstance(run, StoredRun)
    shown = run.to_dict()

    assert (shown["run_id"], shown["status"], shown["actor"]["id"]) == ("run-1", "running", "ann")  # type: ignore[index,call-overload]
    assert "setting" not in shown
    assert [row.to_dict() for row in store.usage()] == [
        {"actor": "ann", "configuration": "night", "model": "acme:model-é", "runs": 1, "cost": "0"}
    ]
    assert isinstance(store.usage()[0], UsageRow)


def test_a_status_of_a_newer_version() -> None:
    """Its text is kept, and taken for none of ours."""
    run = StoredRun(head=RunHead(run_id="r", model="m"), raw_status="dreaming")

    assert (run.status, run.raw_status) == (None, "dreaming")
    assert [status for status in RunStatus if status.waiting] == [
        RunStatus.WAITING_FOR_APPROVAL,
        RunStatus.WAITING_FOR_INPUT,
    ]
    assert [status for status in RunStatus if status.terminal] == [
        RunStatus.COMPLETED,
        RunStatus.FAILED,
        RunStatus.CANCELLED,
    ]
