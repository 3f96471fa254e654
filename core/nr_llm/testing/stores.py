"""
The promises every run store keeps, as a suite that checks any store in one line.

``check_store(make)`` checks them all, where ``make()`` returns an empty store.  To see each promise by itself,
subclass the suite in a test module: ``class TestMine(StoreContract): make = staticmethod(my_store)``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs

from nr_llm._json import encode
from nr_llm.actors import Actor
from nr_llm.budgets import Spent
from nr_llm.errors import RunExistsError
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.privacy import PrivacyLevel, StepRecord
from nr_llm.records import (
    OPEN,
    TERMINAL,
    WAITING,
    Checkpoint,
    RunChange,
    RunHead,
    RunStatus,
    RunTotals,
    TranscriptEntry,
)
from nr_llm.responses import Usage
from nr_llm.state import RunState
from nr_llm.stores import RunQuery, RunStore
from nr_llm.testing.promises import check_all, demand

ODD = "\x00\x1b\u202e\U0001f600 '\"\\%_ -- [] {}"
"""Characters that stores trip over: NUL, escapes, letters beyond the BMP, quotes and wildcards."""

HEAD = RunHead(
    run_id="run-1",
    model="acme:model-é",
    configuration="night",
    actor=Actor("ann", admin=True, groups=("staff",)),
    privacy=PrivacyLevel.FULL,
    began=1_700_000_000.25,
    continues="run-0",
    provenance={"tools": {"look": {"package": "acme==1", "schema": "00"}}, ODD: [ODD, None, 1.5, True]},
    setting={"run_id": "run-1", "model": "acme:model-é"},
)

STEPS = (
    StepRecord(kind="request", round=1, payload={"tool_specs": ["look"], "messages_sent": [[0, 1]]}),
    StepRecord(
        kind="tool", round=1, duration_ms=2.25, payload={"tool_result": ODD, "deep": {"a": [[{}], [], "", None]}}
    ),
)

TOTALS = RunTotals(
    rounds=2,
    calls=3,
    usage=Usage(1_000_000_000_000, 5, cached_tokens=2),
    cost=Decimal("0.1000000000000000000000003"),
    unpriced=True,
    seconds=1.5,
    truncated=True,
)

MESSAGES = (
    ChatMessage.user(ODD),
    ChatMessage.assistant_tool_calls([ToolCall("c1", "look", {ODD: [1, {"b": None}]})]),
    ChatMessage.tool_result("c1", "fine"),
)


def checkpoint(*messages: ChatMessage, start: int = 0, rounds: int = 0) -> Checkpoint:
    """Return the live state of a run that said `messages` from `start` on."""
    from nr_llm._json import dump_value

    state = RunState(run_id="run-1", model="acme:model-é", rounds=rounds)
    return Checkpoint(state=state.to_json(), start=start, messages=tuple(dump_value(message) for message in messages))


def change(run_id: str = "run-1", **settings: Any) -> RunChange:
    """Return a change by the segment ``me``."""
    return RunChange(run_id=run_id, **{"at": HEAD.began + 1, "owner": "me", **settings})


class StoreContract:
    """
    What every store promises; each method checks one promise and raises `AssertionError` with what is broken.

    pytest collects a subclass whose name begins with ``Test``.

    Attributes:
        make: Returns an empty store; called for each promise.
    """

    make: Callable[[], RunStore]

    def begun(self, *, run_id: str = "run-1", store: RunStore | None = None, **settings: Any) -> RunStore:
        """Return a store in which a run goes on, held by ``me``."""
        store = self.make() if store is None else store
        facts = {"run_id": run_id, **settings}
        first = change(run_id, owner=None, claim="me", lease=HEAD.began + 900, checkpoint=checkpoint(MESSAGES[0]))
        store.create(attrs.evolve(HEAD, **facts), first)
        return store

    def test_a_new_run(self) -> None:
        """What a run begins with is read back as it was."""
        run = self.begun().run("run-1")
        demand(run is not None, "the run is not there")
        assert run is not None
        demand(run.head == HEAD, f"the head came back as {run.head}")
        demand(run.status is RunStatus.RUNNING, f"a new run is {run.raw_status!r}")
        demand((run.owner, run.lease) == ("me", HEAD.began + 900), "claim and lease are not kept")
        demand((run.updated, run.ended, run.steps, run.stop) == (HEAD.began + 1, None, 0, False), "facts are invented")

    def test_a_run_of_little(self) -> None:
        """What is not given stays not given, and is no zero."""
        store = self.make()
        head = RunHead(run_id="run-1", model="m", began=5.0)
        store.create(head, RunChange(run_id="run-1", at=5.0))
        run = store.run("run-1")
        assert run is not None
        demand(run.head == head, f"the head came back as {run.head}")
        demand(run.totals == RunTotals(), f"the totals came back as {run.totals}")
        demand((run.owner, run.lease, store.live("run-1")) == (None, None, None), "facts are invented")

    def test_a_name_that_is_taken(self) -> None:
        """A run never takes the place of another."""
        store = self.begun()
        try:
            self.begun(store=store, model="other")
        except RunExistsError as error:
            demand(error.run_id == "run-1", "the error names another run")
        else:
            raise AssertionError("a second run of that name was kept")
        run = store.run("run-1")
        demand(run is not None and run.head.model == HEAD.model, "the first run was changed")

    def test_a_run_nobody_has(self) -> None:
        """What is not there is None, or empty, and no error."""
        store = self.make()
        found = (store.run("x"), store.live("x"), [*store.steps("x")], [*store.transcript("x")])
        demand(found == (None, None, [], []), f"an empty store has {found}")
        written = store.write(change("x"))
        demand((written.applied, written.status) == (False, None), "a change of no run was applied")
        demand(not store.request_stop("x", 1.0), "a run that is not there was told to stop")

    def test_steps(self) -> None:
        """Steps come back in order, as they were, whatever characters they hold."""
        store = self.begun()
        written = store.write(change(steps=STEPS[:1], totals=TOTALS))
        demand(written.applied and written.sequence == 1, f"the next number is {written.sequence}")
        store.write(change(at=HEAD.began + 2, sequence=1, steps=STEPS[1:]))
        found = store.steps("run-1")
        demand([step.sequence for step in found] == [0, 1], "the numbers are others")
        demand(tuple(step.step for step in found) == STEPS, f"the steps came back as {found}")
        demand([step.step.duration_ms for step in found] == [0.0, 2.25], "a duration is lost")
        demand([step.at for step in found] == [HEAD.began + 1, HEAD.began + 2], "the times are others")
        demand([step.sequence for step in store.steps("run-1", after=0)] == [1], "`after` is minded wrongly")
        demand([step.sequence for step in store.steps("run-1", limit=1)] == [0], "`limit` is minded wrongly")
        run = store.run("run-1")
        assert run is not None
        demand((run.totals, run.steps) == (TOTALS, 2), f"the totals came back as {run.totals}, {run.steps} steps")
        encode([step.to_dict() for step in found])

    def test_a_number_that_is_taken(self) -> None:
        """Two steps never share a number, and the change that would make it so leaves nothing."""
        store = self.begun()
        store.write(change(steps=STEPS))
        try:
            store.write(change(at=HEAD.began + 9, sequence=1, steps=STEPS[:1], totals=TOTALS, reason="x"))
        except Exception:  # noqa: BLE001  # any error stops the run
            run = store.run("run-1")
            assert run is not None
            demand(len(store.steps("run-1")) == 2, "a step is there twice, or one is gone")
            demand(run.updated == HEAD.began + 1 and run.totals != TOTALS, "a part of the change was kept")
        else:
            raise AssertionError("a number was given twice")

    def test_what_a_change_expects(self) -> None:
        """A change whose expectation does not hold changes nothing, and says how things are."""
        store = self.begun()
        before = store.run("run-1")
        for name, guard in (
            ("status", {"expect": WAITING}),
            ("owner", {"owner": "other"}),
            ("lease", {"expired": HEAD.began + 900}),
            ("number of steps", {"after_steps": 1}),
        ):
            written = store.write(change(at=HEAD.began + 9, steps=STEPS, totals=TOTALS, reason="x", **guard))
            demand(not written.applied, f"the {name} was not minded")
            demand((written.status, written.sequence) == ("running", 0), f"{written} is not how things are")
        demand(store.run("run-1") == before and not store.steps("run-1"), "a part of a refused change was kept")
        wished = change(expired=HEAD.began + 901)
        demand(store.write(wished).applied, "a lease that has ended is taken for one that holds")
        demand(store.write(change(after_steps=0)).applied, "the number of steps is taken for another")

    def test_claims(self) -> None:
        """A claim is taken, kept, passed on and given up."""
        store = self.begun()
        store.write(change(status=RunStatus.WAITING_FOR_APPROVAL, claim=""))
        run = store.run("run-1")
        assert run is not None
        demand((run.status, run.owner, run.lease) == (RunStatus.WAITING_FOR_APPROVAL, None, None), "a claim is left")
        demand(store.live("run-1") is not None, "the live state of a waiting run is gone")
        claim = change(owner=None, expect=WAITING, status=RunStatus.RUNNING, claim="you", lease=HEAD.began + 5)
        demand(store.write(claim).applied, "a waiting run could not be claimed")
        demand(not store.write(claim).applied, "it was claimed twice")
        run = store.run("run-1")
        assert run is not None
        demand((run.status, run.owner, run.lease) == (RunStatus.RUNNING, "you", HEAD.began + 5), "the claim is lost")

    def test_one_of_many_claims(self) -> None:
        """Of many who claim a run at the same time one gets it."""
        store = self.begun()
        store.write(change(status=RunStatus.WAITING_FOR_APPROVAL, claim=""))
        got: list[str] = []
        start = threading.Barrier(4)

        def claim(name: str) -> None:
            start.wait(60)
            wish = change(owner=None, expect=WAITING, status=RunStatus.RUNNING, claim=name)
            if store.write(wish).applied:
                got.append(name)

        threads = [threading.Thread(target=claim, args=(f"s{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        run = store.run("run-1")
        demand(run is not None and got == [run.owner], f"{len(got)} segments have it")

    def test_the_end(self) -> None:
        """A run that has ended keeps no live state and no claim, and its first end stays."""
        for status in sorted(TERMINAL):
            store = self.begun()
            end = change(at=HEAD.began + 7, status=status, reason="failed", error="OSError", totals=TOTALS)
            demand(store.write(attrs.evolve(end, expect=OPEN, steps=STEPS)).applied, f"it could not become {status}")
            demand(store.live("run-1") is None, f"a run that is {status} has a live state")
            again = change(at=HEAD.began + 9, expect=OPEN, owner=None, status=RunStatus.FAILED, reason="other")
            demand(not store.write(again).applied, f"a run that is {status} ended once more")
            run = store.run("run-1")
            assert run is not None
            kept = (run.status, run.raw_reason, run.error, run.ended, run.totals, run.owner, run.lease)
            wanted = (status, "failed", "OSError", HEAD.began + 7, TOTALS, None, None)
            demand(kept == wanted, f"{kept} is kept")

    def test_live_state(self) -> None:
        """The live state grows by what is new, and may begin anew from an earlier message."""
        store = self.begun()
        store.write(change(checkpoint=checkpoint(*MESSAGES[1:], start=1, rounds=1)))
        found = store.live("run-1")
        demand(found is not None and found.load().messages == MESSAGES, f"the live state is {found}")
        demand(found is not None and found.load().rounds == 1, "the state is an older one")
        other = ChatMessage.user("other")
        store.write(change(checkpoint=checkpoint(other, start=1)))
        found = store.live("run-1")
        demand(found is not None and found.load().messages == (MESSAGES[0], other), "what was replaced is still there")

    def test_transcript(self) -> None:
        """Kept messages come back in order, each with whether it was said."""
        store = self.begun()
        entries = (TranscriptEntry({"role": "user", "content": ODD}), TranscriptEntry("cut", said=False))
        written = store.write(change(transcript=entries[:1]))
        demand(written.transcript == 1, f"the next number is {written.transcript}")
        store.write(change(transcript_start=1, transcript=entries[1:], status=RunStatus.COMPLETED, reason="completed"))
        found = tuple(store.transcript("run-1"))
        demand(found == entries, f"the transcript is {found}")

    def test_a_wish_to_stop(self) -> None:
        """The segment that holds a run is told with its next change; a run that has ended is told nothing."""
        store = self.begun()
        demand(not store.write(change()).stop, "a wish nobody had")
        demand(store.request_stop("run-1", HEAD.began + 3), "the wish was refused")
        run = store.run("run-1")
        demand(run is not None and run.stop, "the wish is not shown")
        waits = change(status=RunStatus.WAITING_FOR_APPROVAL, unless_stopped=True, steps=STEPS)
        written = store.write(waits)
        demand(written.stop and not written.applied, "a run that shall stop was put to waiting")
        written = store.write(change(steps=STEPS))
        demand(written.stop and written.applied, "the segment is not told, or its step is lost")
        store.write(change(status=RunStatus.CANCELLED, reason="cancelled"))
        run = store.run("run-1")
        demand(run is not None and not run.stop, "a run that has ended is still told to stop")
        demand(not store.request_stop("run-1", HEAD.began + 4), "a run that has ended was told to stop")

    def test_lists(self) -> None:
        """Runs are found by each thing a query names, the newest first."""
        store = self.begun()
        self.begun(store=store, run_id="run-2", began=HEAD.began + 10, actor=Actor("bob"), configuration=None)
        self.begun(store=store, run_id="run-3", began=HEAD.began + 5, actor=None)
        store.write(change("run-3", at=HEAD.began + 6, status=RunStatus.COMPLETED, reason="completed"))
        for query, expected in (
            (RunQuery(), ["run-2", "run-3", "run-1"]),
            (RunQuery(limit=1), ["run-2"]),
            (RunQuery(statuses=TERMINAL), ["run-3"]),
            (RunQuery(statuses=OPEN), ["run-2", "run-1"]),
            (RunQuery(statuses=frozenset()), []),
            (RunQuery(actor_id="ann"), ["run-1"]),
            (RunQuery(actor_id=ODD), []),
            (RunQuery(configuration="night"), ["run-3", "run-1"]),
            (RunQuery(began_before=HEAD.began + 5), ["run-1"]),
            (RunQuery(ended_before=HEAD.began + 7), ["run-3"]),
            (RunQuery(ended_before=HEAD.began + 6), []),
            (RunQuery(lease_before=HEAD.began + 901), ["run-2", "run-1"]),
            (RunQuery(lease_before=HEAD.began + 900), []),
        ):
            found = [run.run_id for run in store.runs(query)]
            demand(found == expected, f"{query} finds {found}")

    def test_usage(self) -> None:
        """What was used is added up by actor, configuration and model, and outlives the runs."""
        store = self.begun()
        store.write(change(totals=TOTALS))
        store.write(change(totals=TOTALS, status=RunStatus.COMPLETED, reason="completed"))  # a total is no increase
        self.begun(store=store, run_id="run-2", began=HEAD.began + 10)
        self.begun(store=store, run_id="run-3", began=HEAD.began + 10, actor=None, configuration=None)
        store.write(
            change(
                "run-3",
                totals=RunTotals(usage=Usage(3, None), cost=Decimal(3)),
                status=RunStatus.FAILED,
                reason="failed",
            )
        )
        ann = ("ann", "night", HEAD.model, 2, TOTALS.usage)
        nobody = (None, None, HEAD.model, 1, Usage(3, None))
        demand(_usage(store) == [ann, nobody], f"{_usage(store)} is not what was used")
        costs = {(row.actor_id, row.cost, row.unpriced) for row in store.usage()}
        demand(costs == {("ann", TOTALS.cost, True), (None, Decimal(3), False)}, f"{costs} is not what it cost")
        begins = datetime.fromtimestamp(HEAD.began, UTC)
        spent = store.spent("ann", begins)
        wanted = Spent(tokens=TOTALS.usage.total_tokens or 0, cost=TOTALS.cost, runs=2)
        demand(spent == wanted, f"{spent} is not what one actor spent")
        later = store.spent("ann", begins + timedelta(seconds=1))
        demand((later, store.spent(ODD, begins)) == (Spent(runs=1), Spent()), "`since` or the actor is minded wrongly")
        demand(_usage(store, HEAD.began + 1)[0][3:] == (1, Usage()), "`since` is minded wrongly")
        demand(store.delete(["run-1", "run-2", "run-3", "run-9"]) == 2, "other runs were deleted than those that ended")
        demand([run.run_id for run in store.runs(RunQuery())] == ["run-2"], "other runs are left")
        demand(_usage(store) == [ann, nobody], "what deleted runs used is forgotten")

    def test_forgetting(self) -> None:
        """Of a deleted run nothing is left, and its name is free."""
        store = self.begun()
        end = change(steps=STEPS, transcript=(TranscriptEntry("x"),), status=RunStatus.COMPLETED, reason="completed")
        store.write(end)
        demand(store.delete(["run-1"]) == 1, "it was not deleted")
        found = (store.run("run-1"), [*store.steps("run-1")], [*store.transcript("run-1")], store.live("run-1"))
        demand(found == (None, [], [], None), f"{found} is left")
        self.begun(store=store)

    def test_a_large_step(self) -> None:
        """A step of the largest bound is kept whole."""
        store = self.begun()
        large = StepRecord(kind="tool", round=1, payload={"tool_result": "ü" * 1_000_000})
        store.write(change(steps=(large,)))
        demand(store.steps("run-1")[0].step == large, "it came back otherwise")

    def test_closing(self) -> None:
        """A store that was closed can be used again."""
        store = self.begun()
        store.close()
        store.close()
        demand(store.write(change()).status is not None, "it can no longer be used")


def _usage(store: RunStore, since: float = 0.0) -> list[tuple[str | None, str | None, str, int, Usage]]:
    rows = [(row.actor_id, row.configuration, row.model, row.runs, row.usage) for row in store.usage(since=since)]
    return sorted(rows, key=lambda row: row[0] or "~")


def check_store(make: Callable[[], RunStore]) -> tuple[str, ...]:
    """
    Check that a store keeps every promise.

    Args:
        make: Returns an empty store; called many times.

    Returns:
        What could not be checked, each with its reason.

    Raises:
        AssertionError: Promises are broken; the text lists every one.
    """
    suite = StoreContract()
    suite.make = make
    return check_all(suite, "The store")
