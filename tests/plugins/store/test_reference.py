"""Whatever is done to it, the store is as the reference store is: random histories, on both databases."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nr_llm.actors import Actor
from nr_llm.errors import StoreError
from nr_llm.privacy import PrivacyLevel, StepRecord
from nr_llm.records import OPEN, TERMINAL, Checkpoint, RunChange, RunHead, RunStatus, RunTotals, TranscriptEntry
from nr_llm.responses import Usage
from nr_llm.stores import MemoryStore, RunQuery, RunStore
from nr_llm_store import SqlStore

from tests.plugins.store.conftest import Make

JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSONS, max_size=3)
NAMES = st.sampled_from(["r1", "r1", "r1", "é", "R1"])
TIMES = st.integers(0, 9).map(lambda number: number + 0.25)
OWNERS = st.sampled_from(["me", "you"])
TOKENS = st.none() | st.integers(0, 10**15)
TOTALS = st.builds(
    RunTotals,
    rounds=st.integers(0, 9),
    calls=st.integers(0, 9),
    usage=st.builds(Usage, TOKENS, TOKENS, cached_tokens=TOKENS, cache_write_tokens=TOKENS, reasoning_tokens=TOKENS),
    cost=st.decimals(0, 1000, places=15) | st.sampled_from([Decimal(0), Decimal("0.5")]),
    unpriced=st.booleans(),
    seconds=st.floats(0, 1e6),
    truncated=st.booleans(),
)
CHECKPOINTS = st.builds(
    Checkpoint, state=OBJECTS, start=st.integers(0, 4), messages=st.lists(OBJECTS, max_size=3).map(tuple)
)
STEPS = st.builds(StepRecord, kind=st.sampled_from(["llm", "tool", "é"]), round=st.integers(0, 9), payload=OBJECTS)
CHANGES = st.builds(
    RunChange,
    run_id=NAMES,
    at=TIMES,
    # Guards that hold are the rule, else nothing would ever happen.
    expect=st.sampled_from([*[frozenset(RunStatus)] * 6, OPEN, TERMINAL, frozenset({RunStatus.RUNNING}), frozenset()]),
    owner=st.sampled_from([*[None] * 6, "me", "you"]),
    expired=st.sampled_from([*[None] * 6, 2.5, 7.5]),
    after_steps=st.sampled_from([*[None] * 6, 0, 2]),
    unless_stopped=st.sampled_from([*[False] * 5, True]),
    status=st.sampled_from([None, None, None, *RunStatus]),
    claim=st.none() | st.just("") | OWNERS,
    lease=st.none() | st.just(0.0) | TIMES,
    sequence=st.sampled_from([*[-1] * 8, 0, 2]),  # -1 stands for the right number
    steps=st.lists(STEPS, max_size=2).map(tuple),
    transcript_start=st.sampled_from([*[-1] * 8, 0, 2]),
    transcript=st.lists(st.builds(TranscriptEntry, JSONS, st.booleans()), max_size=2).map(tuple),
    checkpoint=st.none() | CHECKPOINTS,
    totals=st.none() | TOTALS,
    reason=st.none() | st.just("") | st.just("failed"),
    error=st.none() | st.just("OSError"),
)
HEADS = st.builds(
    RunHead,
    run_id=NAMES,
    model=st.sampled_from(["a:m", "b:m"]),
    configuration=st.none() | st.just("night"),
    actor=st.none() | st.builds(Actor, st.sampled_from(["ann", "bob"]), admin=st.booleans()),
    privacy=st.sampled_from(PrivacyLevel),
    began=TIMES,
    provenance=OBJECTS,
    setting=st.none() | OBJECTS,
)
QUERIES = st.builds(
    RunQuery,
    statuses=st.none() | st.sets(st.sampled_from(RunStatus)).map(frozenset),
    actor_id=st.none() | st.just("ann"),
    configuration=st.none() | st.just("night"),
    began_before=st.none() | TIMES,
    ended_before=st.none() | TIMES,
    lease_before=st.none() | TIMES,
    limit=st.integers(0, 5),
)
ACTIONS = st.one_of(
    st.tuples(st.just("create"), HEADS, CHANGES),
    *(st.tuples(st.just("write"), CHANGES) for _ in range(5)),
    st.tuples(st.just("request_stop"), NAMES, TIMES),
    st.tuples(st.just("delete"), st.lists(NAMES, max_size=3, unique=True)),
    st.tuples(st.just("runs"), QUERIES),
)


def fitted(store: RunStore, action: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an action with the numbers that were to be the right ones."""
    name, *rest = action
    if name not in ("create", "write"):
        return action
    change: RunChange = rest[-1]
    if name == "create":
        change = attrs.evolve(change, run_id=rest[0].run_id)
    known = name == "write"
    steps = len(store.steps(change.run_id)) if known else 0
    entries = len(store.transcript(change.run_id)) if known else 0
    change = attrs.evolve(
        change,
        sequence=steps if change.sequence < 0 else change.sequence,
        transcript_start=entries if change.transcript_start < 0 else change.transcript_start,
    )
    return (name, *rest[:-1], change)


def outcome(store: RunStore, action: tuple[Any, ...]) -> object:
    """Return what an action returns, or the class of the error it raises."""
    name, *rest = action
    try:
        found = getattr(store, name)(*rest)
    except StoreError as error:
        return type(error)
    return tuple(found) if name == "runs" else found


def everything(store: RunStore) -> list[object]:
    """Return all that a store knows."""
    found: list[object] = [tuple(store.runs(RunQuery()))]
    for run_id in ("r1", "é", "R1"):
        steps = [attrs.evolve(step) for step in store.steps(run_id)]
        found += [store.run(run_id), steps, list(store.transcript(run_id)), store.live(run_id)]
        found.append([step.step.duration_ms for step in steps])
    rows = sorted(store.usage(since=2.0), key=lambda row: (row.actor_id or "", row.configuration or "", row.model))
    return [*found, rows, store.spent("ann", datetime.fromtimestamp(3.0, UTC))]


@pytest.fixture
def shared(make: Make) -> SqlStore:
    """Return one store for all histories of a test: the database is emptied, not made anew."""
    store = make()
    store.upgrade()
    return store


HISTORIES = st.tuples(st.tuples(st.just("create"), HEADS, CHANGES), st.lists(ACTIONS, min_size=3, max_size=12)).map(
    lambda parts: [parts[0], *parts[1]]
)


@given(HISTORIES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_history(shared: SqlStore, history: list[tuple[Any, ...]]) -> None:
    """Each action has the same outcome, and leaves the same behind."""
    with shared._database.engine.begin() as connection:
        for table in ("event", "message", "live_message", "usage", "run"):
            connection.exec_driver_sql(f"DELETE FROM nr_llm_{table}")
    reference = MemoryStore()
    for number, action in enumerate(history):
        action = fitted(reference, action)
        assert outcome(shared, action) == outcome(reference, action), (number, action)
    assert everything(shared) == everything(reference)


def test_the_histories_are_of_some_use() -> None:
    """The strategy makes changes that apply, not only ones that are refused."""
    applied = itertools.count()

    @given(HISTORIES)
    @settings(max_examples=50, database=None, derandomize=True)
    def run(history: list[tuple[Any, ...]]) -> None:
        store = MemoryStore()
        for action in history:
            found = outcome(store, fitted(store, action))
            if getattr(found, "applied", False):
                next(applied)

    run()
    assert next(applied) > 10
