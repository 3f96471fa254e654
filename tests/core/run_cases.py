"""
Acceptance cases of stored runs, written once and tried with every store: subclass `RunCases` and say `make`.

The numbers are those of the reference: ``c61`` of the tool-calling cases, ``a03`` of the runtime's.  Elsewhere are c54
to c60 (`test_feed`), c68 (`test_redaction`), a13 (`test_configurations`: a bound is clamped) and a15 (`test_stores`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from nr_llm import (
    HOST,
    Actor,
    ChatMessage,
    Completer,
    CompletionRequest,
    CompletionResponse,
    DecisionError,
    Flow,
    GuardrailError,
    Limits,
    MemoryStore,
    PrivacyLevel,
    Role,
    RunChange,
    RunClaimedError,
    RunExistsError,
    RunHistory,
    RunNotFoundError,
    RunState,
    RunStatus,
    RunStore,
    ServiceError,
    StoreError,
    Suspended,
    SuspensionError,
    TerminationReason,
    ToolArtifact,
    ToolResult,
    Written,
    tool,
)
from nr_llm._abandoned import ABANDONED
from nr_llm._segments import machine
from nr_llm.stores import RunQuery
from nr_llm.testing import Harness, calling

SECRET = "tiger-lily-7781"
MARKER = "plain-marker-3309"
ANN, BOB = Actor("ann"), Actor("bob")


@tool
def look(what: str = "") -> ToolResult:
    """Look, and show a table."""
    return ToolResult.text(f"saw {what}", ToolArtifact.table("Label", ["a"], [[what]]))


@tool(effect="write", approval=False)
def put(what: str = "") -> str:
    """Write at once."""
    return f"wrote {what}"


@tool(effect="write")
def change_it(what: str = "") -> str:
    """Write, with a person's consent."""
    return f"changed {what}"


TOOLS = [look, put, change_it]
NAMES = ["look", "put", "change_it"]


@attrs.define(eq=False)
class Wrapped:
    """A store that does something of its own at each change, before or after the real one."""

    inner: RunStore
    before: Callable[[RunChange], None] = lambda change: None
    after: Callable[[RunChange], None] = lambda change: None
    creating: Callable[[], None] = lambda: None

    @property
    def blocking(self) -> bool:
        return self.inner.blocking

    def create(self, head: Any, change: RunChange) -> None:
        self.creating()
        self.inner.create(head, change)

    def write(self, change: RunChange) -> Written:
        self.before(change)
        written = self.inner.write(change)
        self.after(change)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Face:
    """Runs a harness in one of the two colours."""

    def __init__(self, colour: str) -> None:
        self.colour = colour

    def run(self, harness: Harness, *args: Any, **settings: Any) -> Any:
        """Run to the end."""
        if self.colour == "sync":
            return harness.run(*args, **settings)
        return asyncio.run(harness.arun(*args, **settings))

    def resume(self, harness: Harness, *args: Any, **settings: Any) -> Any:
        """Go on."""
        if self.colour == "sync":
            return harness.resume(*args, **settings)
        return asyncio.run(harness.aresume(*args, **settings))


def ran(store: RunStore, run_id: str = "run-1") -> Any:
    """Return a run as stored."""
    run = store.run(run_id)
    assert run is not None
    return run


def kinds(store: RunStore, run_id: str = "run-1") -> list[str]:
    """Return the kinds of a run's steps, whose numbers have no gap."""
    steps = store.steps(run_id)
    assert [step.sequence for step in steps] == list(range(len(steps)))
    return [step.step.kind for step in steps]


def fences(change: RunChange) -> bool:
    """Return whether a change says that a write is about to begin."""
    state = {} if change.checkpoint is None else change.checkpoint.state
    return change.status is None and any(pending.get("started") for pending in state.get("pending", ()))


def everything(store: RunStore, run_id: str = "run-1") -> str:
    """Return all that the record of a run holds, as text, without its live state."""
    steps = [step.to_dict() for step in store.steps(run_id)]
    entries = [entry.message for entry in store.transcript(run_id)]
    setting = ran(store, run_id).head.setting
    return json.dumps([ran(store, run_id).to_dict(), steps, entries, setting], ensure_ascii=False)


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> Face:
    """Return one of the two colours."""
    return Face(request.param)


class RunCases:
    """The cases; `make` returns an empty store."""

    @pytest.fixture(autouse=True)
    def patience(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have no step kept by itself because the machine is slow."""
        monkeypatch.setattr("nr_llm._keeping.PATIENCE_SECONDS", 3600.0)

    @pytest.fixture
    def store(self) -> RunStore:
        """Return an empty store."""
        return MemoryStore()

    def harness(self, store: Any, **settings: Any) -> Harness:
        """Return a harness whose runs are kept."""
        return Harness(tools=TOOLS, store=store, **settings)

    # -- how runs end -------------------------------------------------------------------------------------------

    def test_a01_a_run_that_ends(self, face: Face, store: RunStore) -> None:
        """It is completed, with its totals, and nothing of its live state is left."""
        with self.harness(store) as harness:
            result = face.run(harness, replies=[calling(("look", {"what": "a"})), "done"], tools=NAMES, actor=ANN)

        run = ran(store)
        assert result.content == "done"
        assert (run.status, run.raw_reason, run.error) == (RunStatus.COMPLETED, "completed", None)
        assert (run.totals.rounds, run.totals.calls, run.totals.truncated) == (2, 1, False)
        assert (run.owner, run.lease, store.live("run-1"), run.head.actor) == (None, None, None, ANN)
        assert kinds(store) == ["request", "llm", "tool", "request", "llm"]
        assert run.head.began <= run.updated == run.ended

    def test_a02_a_run_that_waits(self, face: Face, store: RunStore) -> None:
        """It waits with its whole state, held by nobody."""
        with self.harness(store) as harness:
            held = face.run(harness, replies=[calling(("change_it", {"what": "a"}))], tools=NAMES)

        run, live = ran(store), store.live("run-1")
        assert isinstance(held, Suspended)
        assert (run.status, run.owner, run.lease, run.ended) == (RunStatus.WAITING_FOR_APPROVAL, None, None, None)
        assert live is not None
        assert live.load() == held.state
        assert kinds(store) == ["request", "llm", "approval"]

    def test_a03_a_store_that_refuses_to_keep_it_waiting(self, face: Face, store: RunStore) -> None:
        """Nobody is asked: the run fails, and the record says so."""

        def refuse(change: RunChange) -> None:
            if change.status is RunStatus.WAITING_FOR_APPROVAL:
                raise OSError("disk full")

        with (
            self.harness(Wrapped(store, before=refuse)) as harness,
            pytest.raises(SuspensionError, match="has to wait for a person and could not be kept") as caught,
        ):
            face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES)

        assert (ran(store).status, ran(store).error) == (RunStatus.FAILED, "SuspensionError")
        assert caught.value.state is not None
        assert caught.value.state.pending == ()
        assert caught.value.state.messages[-1].content.startswith("Not executed")

    def test_a04_a_run_that_was_cancelled_meanwhile(self, face: Face, store: RunStore) -> None:
        """It does not wait; it is cancelled and stays so."""

        def cancel(change: RunChange) -> None:
            if change.status is RunStatus.WAITING_FOR_APPROVAL:
                RunHistory(store, HOST).cancel("run-1")

        with self.harness(Wrapped(store, before=cancel)) as harness:
            result = face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES)

        assert result.reason is TerminationReason.CANCELLED
        assert (ran(store).status, ran(store).raw_reason) == (RunStatus.CANCELLED, "cancelled")
        assert store.live("run-1") is None

    def test_a05_without_a_store(self, face: Face) -> None:
        """The host gets the state and keeps it itself: it survives as JSON."""
        with Harness(tools=TOOLS, store=None) as harness:
            held = face.run(harness, replies=[calling(("change_it", {"what": "a"}))], tools=NAMES)
            kept = RunState.from_json(json.loads(json.dumps(held.state.to_json())))
            result = face.resume(harness, kept, replies=["done"])

        assert [call.content for call in result.invocations] == ["changed a"]

    @pytest.mark.parametrize(
        ("name", "answer", "went"), [("put", "Not executed", []), ("look", "saw", ["tool", "request"])]
    )
    def test_a06_cancelled_by_another_process(
        self, face: Face, store: RunStore, name: str, answer: str, went: list[str]
    ) -> None:
        """It is noticed before anything is written or asked, with the steps so far and what was used in the record."""

        def cancel(change: RunChange) -> None:
            if any(step.kind == "llm" for step in change.steps):
                assert RunHistory(store, HOST).cancel("run-1") is RunStatus.RUNNING

        with self.harness(Wrapped(store, before=cancel), privacy="full") as harness:
            result = face.run(harness, replies=[calling((name, {})), "never"], tools=NAMES)

        assert result.reason is TerminationReason.CANCELLED
        assert result.messages[-1].content.startswith(answer)
        assert kinds(store) == ["request", "llm", *went]
        run = ran(store)
        assert (run.status, run.totals.rounds, run.error) == (RunStatus.CANCELLED, 1, None)
        assert RunHistory(store, HOST).conversation("run-1") == result.messages

    def test_a07_a_spent_budget(self, face: Face, store: RunStore) -> None:
        """The run is completed and cut short, and the reason is the budget's."""
        with self.harness(store) as harness:
            result = face.run(harness, replies=[calling(("look", {}))], tools=NAMES, limits=Limits(seconds=0.0))

        run = ran(store)
        assert (run.status, run.totals.truncated) == (RunStatus.COMPLETED, True)
        assert run.raw_reason == str(result.reason) != "completed"

    @pytest.mark.parametrize(
        ("approval", "reason"), [(False, TerminationReason.POLICY_DENIED), (True, TerminationReason.APPROVAL_DENIED)]
    )
    def test_a08_a09_a_guardrail(self, face: Face, store: RunStore, approval: bool, reason: TerminationReason) -> None:
        """A run it stops has failed, for a reason of its own and by its name; it is not one that waits."""

        def guard(inner: Completer) -> Completer:
            def completer(request: CompletionRequest) -> Flow[CompletionResponse]:
                reply = yield from inner(request)
                raise GuardrailError(f"says {MARKER}{reply.content}", guardrail="no-secrets", approval=approval)

            return completer

        with (
            self.harness(store, middleware=[guard], privacy="full") as harness,
            pytest.raises(GuardrailError) as caught,
        ):
            face.run(harness, replies=["x"])

        run = ran(store)
        assert (run.status, run.raw_reason, run.error) == (RunStatus.FAILED, str(reason), "no-secrets")
        assert caught.value.state is not None
        assert caught.value.state.reason is reason
        assert MARKER not in everything(store)
        with pytest.raises(DecisionError, match="does not wait"):
            harness.runtime.decide("run-1", [], by=HOST)

    def test_a10_an_unexpected_error(self, face: Face, store: RunStore) -> None:
        """It is raised with the run so far; the record has the name of its class and none of its words."""
        with self.harness(store, middleware=[]) as harness, pytest.raises(ServiceError) as caught:
            face.run(harness, replies=[ServiceError(f"down {SECRET}")], tools=NAMES)

        run = ran(store)
        assert (run.status, run.raw_reason, run.error) == (RunStatus.FAILED, "failed", "ServiceError")
        assert caught.value.state is not None
        assert SECRET not in everything(store)

    def test_a11_an_observer_that_raises(self, face: Face, store: RunStore) -> None:
        """It is switched off, and run and record go on: nobody who watches can stop a run."""

        class Bad:
            def step(self, step: Any) -> None:
                raise RuntimeError

        with self.harness(store, live=[lambda info: Bad()]) as harness:
            face.run(harness, replies=[calling(("look", {})), "done"], tools=NAMES)

        assert ran(store).status is RunStatus.COMPLETED
        assert kinds(store) == ["request", "llm", "tool", "request", "llm"]

    def test_a12_c54_who_sees_a_step_first(self, face: Face, store: RunStore) -> None:
        """The live observer, then the store; each step once, in order."""
        seen: list[str] = []

        class Watcher:
            def step(self, step: Any) -> None:
                seen.append(f"seen {step.kind}")

        def note(change: RunChange) -> None:
            seen.extend(f"kept {step.kind}" for step in change.steps)

        with self.harness(Wrapped(store, before=note), live=[lambda info: Watcher()]) as harness:
            face.run(harness, replies=["done"], tools=NAMES)

        assert seen == ["seen request", "kept request", "seen llm", "kept llm"]

    def test_a14_c63_a_run_ends_once(self, face: Face, store: RunStore) -> None:
        """A second end is refused without an error, and the first one's totals stay."""
        with self.harness(store) as harness:
            face.run(harness, replies=["done"], tools=NAMES)
        first = ran(store)
        again = RunChange(run_id="run-1", at=9e9, status=RunStatus.FAILED, reason="failed")

        assert not store.write(again).applied
        assert RunHistory(store, HOST).cancel("run-1") is RunStatus.COMPLETED
        assert ran(store) == first

    def test_a16_c61_a_store_that_fails(self, face: Face, store: RunStore, caplog: pytest.LogCaptureFixture) -> None:
        """Where that is wished, a run that only reads goes on without a record, and it is told once."""

        def refuse() -> None:
            raise OSError("no")

        with self.harness(Wrapped(store, creating=refuse), on_store_failure="continue") as harness:
            result = face.run(harness, replies=[calling(("look", {})), "done"], tools=NAMES)

        assert result.content == "done"
        assert store.run("run-1") is None
        assert caplog.text.count("goes on without a record of it") == 1

        with self.harness(Wrapped(store, creating=refuse)) as harness, pytest.raises(StoreError, match="OSError"):
            face.run(harness, replies=["done"], tools=NAMES)

    def test_c61_a_step_that_cannot_be_kept(self, face: Face, store: RunStore) -> None:
        """The numbers have no gap, and what was said meanwhile is kept with the next step."""
        times = iter([False, True])

        def refuse(change: RunChange) -> None:
            if any(step.kind == "tool" for step in change.steps) and next(times, False):
                raise OSError("no")

        replies = [calling(("look", {"what": "a"})), calling(("look", {"what": "b"})), "done"]
        with self.harness(Wrapped(store, before=refuse), on_store_failure="continue", privacy="full") as harness:
            result = face.run(harness, replies=replies, tools=NAMES)

        assert kinds(store) == ["request", "llm", "tool", "request", "llm"]  # those of one change are missing
        assert RunHistory(store, HOST).conversation("run-1") == result.messages
        assert ran(store).status is RunStatus.COMPLETED

    @pytest.mark.parametrize("lost", ["create", "request", "llm", "tool", "fence", "wait"])
    def test_an_answer_that_got_lost(self, face: Face, store: RunStore, lost: str) -> None:
        """A change that was kept all the same, as when a connection breaks in a commit, is not kept twice or missed."""
        times = iter([True])

        def break_off(change: RunChange) -> None:
            kinds = {step.kind for step in change.steps} | ({"fence"} if fences(change) else set())
            if lost in (kinds or {"wait"}) and next(times, False):
                raise OSError("connection lost")

        class Breaking(Wrapped):
            def create(self, head: Any, change: RunChange) -> None:
                self.inner.create(head, change)
                if lost == "create":
                    raise OSError("connection lost")

        calls = {"fence": "put", "wait": "change_it"}
        replies = [calling((calls.get(lost, "look"), {})), "done"]
        breaking = Breaking(store, after=break_off)
        with self.harness(breaking, on_store_failure="continue", privacy="full") as harness:
            if lost == "fence":
                with pytest.raises(StoreError, match="OSError"):
                    face.run(harness, replies=replies, tools=NAMES)
            else:
                face.run(harness, replies=replies, tools=NAMES)

        went = ["request", "llm", "tool", "request", "llm"]
        kept = {"fence": went[:2], "wait": ["request", "llm", "approval"]}.get(lost, went)
        ends = {"fence": RunStatus.FAILED, "wait": RunStatus.WAITING_FOR_APPROVAL}
        assert kinds(store) == kept
        assert ran(store).status is ends.get(lost, RunStatus.COMPLETED)
        assert (store.live("run-1") is None) is (lost != "wait")
        said = [message.role for message in RunHistory(store, HOST).conversation("run-1")]
        assert said == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT][: {"fence": 3, "wait": 2}.get(lost, 4)]

    @pytest.mark.parametrize("when", ["create", "llm"])
    def test_an_interrupt_as_a_change_was_kept(self, store: RunStore, when: str) -> None:
        """The run is ended as cancelled, and nothing of its live state is left; it reaches no other thread."""

        class Interrupted(Wrapped):
            def create(self, head: Any, change: RunChange) -> None:
                self.inner.create(head, change)
                if when == "create":
                    raise KeyboardInterrupt

        def interrupt(change: RunChange) -> None:
            if any(step.kind == when for step in change.steps):
                raise KeyboardInterrupt

        with (
            self.harness(Interrupted(store, after=interrupt), privacy="full") as harness,
            pytest.raises(KeyboardInterrupt),
        ):
            harness.run(replies=[calling(("look", {}))], tools=NAMES)

        assert (ran(store).status, store.live("run-1")) == (RunStatus.CANCELLED, None)
        assert kinds(store) == {"create": [], "llm": ["request", "llm", "tool", "request"]}[when]

    def test_a_decision_whose_answer_got_lost(self, face: Face, store: RunStore) -> None:
        """It was taken: the run goes on with it, since nobody else has."""

        def break_off(change: RunChange) -> None:
            if change.claim:
                raise StoreError("The connection broke.")

        with self.harness(Wrapped(store, after=break_off)) as harness:
            held = face.run(harness, replies=[calling(("change_it", {"what": "a"}))], tools=NAMES)
            result = face.resume(harness, held, replies=["done"])

        assert [call.content for call in result.invocations] == ["changed a"]
        assert kinds(store) == ["request", "llm", "approval", "tool", "request", "llm"]
        assert ran(store).status is RunStatus.COMPLETED

    def test_a_store_that_is_gone_when_a_run_has_to_wait(self, face: Face, store: RunStore) -> None:
        """Nobody is asked, and that is the error, also where the store cannot even say what it has."""
        gone: list[bool] = []

        class Gone(Wrapped):
            def run(self, run_id: str) -> Any:
                if gone:
                    raise OSError("no route")
                return self.inner.run(run_id)

        def leave(change: RunChange) -> None:
            if change.status is RunStatus.WAITING_FOR_APPROVAL:
                gone.append(True)
                raise OSError("no route")

        with (
            self.harness(Gone(store, before=leave)) as harness,
            pytest.raises(SuspensionError, match="nobody is asked"),
        ):
            face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES)

    @pytest.mark.parametrize("on_failure", ["stop", "continue"])
    def test_c62_a66_a_write_that_cannot_be_kept(self, face: Face, store: RunStore, on_failure: Any) -> None:
        """A write whose fence or result cannot be kept stops the run, whatever was wished."""
        for kept, outcome in (({"tool"}, "wrote a"), (set[str](), "Not executed")):

            def refuse(change: RunChange, kept: set[str] = kept) -> None:
                if {step.kind for step in change.steps} & kept or (fences(change) and not kept):
                    raise OSError("no")

            with (
                self.harness(Wrapped(store, before=refuse), on_store_failure=on_failure) as harness,
                pytest.raises(StoreError) as caught,
            ):
                face.run(harness, replies=[calling(("put", {"what": "a"}))], tools=NAMES, run_id=f"to {outcome}")

            assert caught.value.state is not None
            assert caught.value.state.messages[-1].content.startswith(outcome)
            assert ran(store, f"to {outcome}").status is RunStatus.FAILED

    def test_c62_a65_a_write_without_a_record(self, face: Face, store: RunStore) -> None:
        """A run that could not be kept from the beginning does not write."""

        def refuse() -> None:
            raise OSError("no")

        with (
            self.harness(Wrapped(store, creating=refuse), on_store_failure="continue") as harness,
            pytest.raises(StoreError, match="is not in the store"),
        ):
            face.run(harness, replies=[calling(("put", {"what": "a"}))], tools=NAMES)

    # -- what is kept -------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("level", ["none", "metadata", "nonsense", None])
    def test_c64_c66_metadata(self, face: Face, store: RunStore, level: Any) -> None:
        """Data, labels and what was said are gone; counts and types are left."""
        with self.harness(store, privacy=level) as harness:
            face.run(harness, f"ask {MARKER}", replies=[calling(("look", {"what": MARKER})), MARKER], tools=NAMES)

        text = everything(store)
        step = store.steps("run-1")[2].step
        assert MARKER not in text
        assert "Label" not in text
        assert (step.payload["tool_artifacts_count"], step.payload["tool_artifacts_types"]) == (1, ["table"])
        assert all(stored.step.payload["content_redacted"] is True for stored in store.steps("run-1"))
        assert store.transcript("run-1") in ((), [])
        assert ran(store).head.setting is None

    def test_c65_redacted(self, face: Face, store: RunStore) -> None:
        """A secret in an argument, a result, a cell and in what was said is masked, and the rest stays."""
        said = f"{MARKER} {SECRET}"
        with self.harness(store, privacy="redacted", secrets={"it": SECRET}) as harness:
            face.run(harness, said, replies=[calling(("look", {"what": said})), said], tools=NAMES)

        text = everything(store)
        payload = store.steps("run-1")[2].step.payload
        assert SECRET not in text
        assert payload["tool_arguments"] == {"what": f"{MARKER} [redacted]"}
        assert payload["tool_result"] == f"saw {MARKER} [redacted]"
        assert payload["tool_artifacts"][0]["data"]["rows"] == [[f"{MARKER} [redacted]"]]  # type: ignore[index,call-overload]
        assert "content_redacted" not in payload
        first: Any = store.transcript("run-1")[0].message
        assert first["content"] == f"{MARKER} [redacted]"

    def test_c66_full(self, face: Face, store: RunStore) -> None:
        """What is read back is what the live observer saw."""
        with self.harness(store, privacy="full") as harness:
            result = face.run(harness, MARKER, replies=[calling(("look", {"what": "a"})), "done"], tools=NAMES)
            live = [step.to_dict() for step in harness.steps]

        steps = RunHistory(store, HOST).steps("run-1")
        assert [step.step.to_dict() for step in steps] == live
        assert RunHistory(store, HOST).conversation("run-1") == result.messages

    def test_c67_a_long_text(self, face: Face, store: RunStore) -> None:
        """At level redacted it is cut, visibly."""
        with self.harness(store, privacy="redacted") as harness:
            face.run(harness, replies=["x" * 5000], tools=NAMES)

        content = store.steps("run-1")[1].step.payload["content"]
        assert isinstance(content, str)
        assert (len(content), content.endswith("… [cut]")) == (2000, True)

    def test_the_strictest_level_counts(self, face: Face, store: RunStore) -> None:
        """Whoever names it: the Runtime or the run."""
        with self.harness(store, privacy="redacted") as harness:
            face.run(harness, replies=["x"], privacy="full", run_id="a")
            face.run(harness, replies=["x"], privacy="none", run_id="b")
        with self.harness(store) as harness:
            face.run(harness, replies=["x"], privacy="full", run_id="c")

        levels = [ran(store, run_id).head.privacy for run_id in "abc"]
        assert levels == [PrivacyLevel.REDACTED, PrivacyLevel.NONE, PrivacyLevel.FULL]

    def test_each_message_is_kept_once(self, face: Face, store: RunStore) -> None:
        """A round keeps what is new, also of the live state; a request names its messages by number."""
        sizes: list[tuple[int, int]] = []

        def note(change: RunChange) -> None:
            sizes.append((len(change.transcript), len(change.checkpoint.messages) if change.checkpoint else 0))

        replies = [*(calling(("look", {"what": str(n)})) for n in range(4)), "done"]
        with self.harness(Wrapped(store, before=note), privacy="full") as harness:
            result = face.run(harness, replies=replies, tools=NAMES)

        assert max(sizes) == (2, 2)  # what a round says, and what it is answered
        assert len(store.transcript("run-1")) == len(result.messages)
        requests = [step.step.payload for step in store.steps("run-1") if step.step.kind == "request"]
        assert [payload["messages_sent"] for payload in requests] == [[[0, n]] for n in (1, 3, 5, 7, 9)]

    def test_where_everything_is_from(self, face: Face, store: RunStore) -> None:
        """The record names the package of each tool and a digest of what the model was told of it."""
        with self.harness(store) as harness:
            face.run(harness, replies=["done"], tools=["look"])
        tools: Any = ran(store).head.provenance["tools"]

        assert list(tools) == ["look"]
        assert tools["look"]["package"] is None
        assert len(tools["look"]["schema"]) == 64

    # -- waiting and going on -----------------------------------------------------------------------------------

    def test_a_waiting_run_goes_on(self, face: Face, store: RunStore) -> None:
        """In its own record: numbers, totals and privacy go on, and what was said is kept once."""
        with self.harness(store) as harness:
            held = face.run(harness, replies=[calling(("change_it", {"what": "a"}))], tools=NAMES, privacy="full")
            result = face.resume(harness, held, replies=["done"])

        run = ran(store)
        assert result.content == "done"
        assert (run.status, run.totals.rounds, run.totals.calls) == (RunStatus.COMPLETED, 2, 1)
        assert kinds(store) == ["request", "llm", "approval", "tool", "request", "llm"]
        assert RunHistory(store, HOST).conversation("run-1") == result.messages
        assert store.live("run-1") is None

    def test_a_waiting_run_goes_on_once(self, face: Face, store: RunStore) -> None:
        """Whoever comes second is told what the run is now, and nothing is run again."""
        with self.harness(store) as harness:
            held = face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES)
            face.resume(harness, held, replies=["done"])
            with pytest.raises(RunClaimedError, match="it is completed") as caught:
                face.resume(harness, held, replies=["again"])

        assert (caught.value.run_id, caught.value.status) == ("run-1", "completed")
        assert kinds(store).count("tool") == 1

    def test_an_older_turn_is_not_gone_on_with(self, face: Face, store: RunStore) -> None:
        """A run that waits again is not taken up from what it waited for before: nothing is written twice."""
        with self.harness(store) as harness:
            first = face.run(harness, replies=[calling(("change_it", {"what": "a"}))], tools=NAMES)
            second = face.resume(harness, first, replies=[calling(("change_it", {"what": "b"}))])
            with pytest.raises(RunClaimedError, match="waiting_for_approval, in another turn"):
                face.resume(harness, first, replies=["again"])
            face.resume(harness, second, replies=["done"])

        assert kinds(store).count("tool") == 2
        assert ran(store).status is RunStatus.COMPLETED

    def test_a_state_from_elsewhere_goes_on(self, face: Face, store: RunStore) -> None:
        """A run that was kept by its host alone gets a record when it goes on with a store."""
        with Harness(tools=TOOLS, store=None) as harness:
            held = face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES)
        with self.harness(store, privacy="full") as harness:
            result = face.resume(harness, held, replies=["done"])

        assert ran(store).status is RunStatus.COMPLETED
        assert RunHistory(store, HOST).conversation("run-1") == result.messages

    def test_a_new_run_of_an_old_name(self, face: Face, store: RunStore) -> None:
        """It is refused, and the old run is as it was."""
        with self.harness(store) as harness:
            face.run(harness, replies=["one"], run_id="mine")
            with pytest.raises(RunExistsError, match="'mine'"):
                face.run(harness, replies=["two"], run_id="mine")

        assert ran(store, "mine").status is RunStatus.COMPLETED

    def test_a_run_that_somebody_else_has_taken(self, face: Face, store: RunStore) -> None:
        """It stops at the next step, keeps nothing more, and leaves the record to whoever has it."""

        def take(change: RunChange) -> None:
            if any(step.kind == "llm" for step in change.steps):
                store.write(RunChange(run_id="run-1", at=change.at, claim="thief"))

        with (
            self.harness(Wrapped(store, before=take)) as harness,
            pytest.raises(RunClaimedError, match="it is running"),
        ):
            face.run(harness, replies=[calling(("look", {}))], tools=NAMES)

        assert (ran(store).status, ran(store).owner, kinds(store)) == (RunStatus.RUNNING, "thief", ["request"])

    # -- who may do what ----------------------------------------------------------------------------------------

    def test_a76_a_stranger(self, face: Face, store: RunStore) -> None:
        """Sees nothing, may do nothing, and cannot tell a run of others from none."""
        with self.harness(store) as harness:
            face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES, actor=ANN)
        for who in (BOB, None, Actor.service("ann"), Actor.anonymous(), Actor("bob", approver=True)):
            theirs = RunHistory(store, who)
            assert (theirs.get("run-1"), [*theirs.steps("run-1")], [*theirs.find()]) == (None, [], [])
            assert [*theirs.find(RunQuery(actor_id="ann"))] == []
            assert [*theirs.usage()] == []
            for name in ("run-1", "nothing"):
                with pytest.raises(RunNotFoundError, match=f"There is no run '{name}', or it is not open"):
                    theirs.cancel(name)
                with pytest.raises(RunNotFoundError):
                    theirs.conversation(name)
            for forbidden in (theirs.purge, theirs.settle_abandoned):
                with pytest.raises(RunNotFoundError, match="There are no such runs"):
                    forbidden()

        assert ran(store).status is RunStatus.WAITING_FOR_APPROVAL

    def test_a76_its_owner_and_an_administrator(self, face: Face, store: RunStore) -> None:
        """See it, and may have it stop: a run that waits ends at once."""
        for who in (ANN, HOST):
            with self.harness(store) as harness:
                face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES, actor=ANN, run_id=who.id)
            theirs = RunHistory(store, who)
            assert theirs.get(who.id) is not None
            assert len(theirs.steps(who.id)) == 3
            assert who.id in [run.run_id for run in theirs.find()]
            assert theirs.usage()
            assert theirs.cancel(who.id) is RunStatus.CANCELLED
            assert (ran(store, who.id).raw_reason, store.live(who.id)) == ("cancelled", None)

    def test_a77_a_service_account(self, face: Face, store: RunStore) -> None:
        """May do what its scopes say, and nothing else."""
        with self.harness(store) as harness:
            face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES, actor=ANN)
        reader = RunHistory(store, Actor.service("bot", scopes=["runs:read"]))
        stopper = RunHistory(store, Actor.service("bot", scopes=["runs:cancel"]))

        assert reader.get("run-1") is not None
        assert [run.run_id for run in reader.find()] == ["run-1"]
        assert stopper.get("run-1") is None
        assert not stopper.find()
        with pytest.raises(RunNotFoundError):
            reader.cancel("run-1")
        assert stopper.cancel("run-1") is RunStatus.CANCELLED

    def test_a_cancelled_run_that_waited_is_whole(self, face: Face, store: RunStore) -> None:
        """Its open calls are answered, so that another can go on with what was said, and its answer is missing."""
        replies = [calling(("change_it", {"what": "a"}), ("look", {}))]
        with self.harness(store, privacy="full") as harness:
            face.run(harness, replies=replies, tools=NAMES)
            everyone = RunHistory(store, HOST)
            everyone.cancel("run-1")
            said = everyone.conversation("run-1")
            face.run(harness, [*said, ChatMessage.user("Go on.")], replies=["on"], tools=NAMES)

        assert [message.content[:12] for message in said if message.role is Role.TOOL] == ["Not executed"] * 2
        assert ran(store).totals.truncated
        assert store.live("run-1") is None

    def test_cancelled_when_it_had_said_more(self, face: Face, store: RunStore) -> None:
        """It is cancelled all the same: what it waits for now is another turn than the one that was looked at."""
        with self.harness(store, privacy="full") as harness:
            held = face.run(harness, replies=[calling(("change_it", {"what": "a"}))], tools=NAMES)

            def go_on(change: RunChange) -> None:
                if change.status is RunStatus.CANCELLED and ran(store).totals.calls == 0:
                    face.resume(harness, held, replies=[calling(("change_it", {"what": "b"}))], tools=NAMES)

            stale: Any = Wrapped(store, before=go_on)
            assert RunHistory(stale, HOST).cancel("run-1") is RunStatus.CANCELLED

        assert (ran(store).totals.calls, store.live("run-1")) == (1, None)
        said = [message.content[:12] for message in RunHistory(store, HOST).conversation("run-1")]
        assert said[2::2] == ["changed a", "Not executed"]

    def test_a_waiting_run_that_cannot_be_cancelled(self, face: Face, store: RunStore) -> None:
        """It waits on, and whoever asked is told."""

        def refuse(change: RunChange) -> None:
            if change.status is RunStatus.CANCELLED:
                raise StoreError("The disk is full.")

        with self.harness(store) as harness:
            face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES)
        full: Any = Wrapped(store, before=refuse)
        with pytest.raises(StoreError, match="disk is full"):
            RunHistory(full, HOST).cancel("run-1")

        assert ran(store).status is RunStatus.WAITING_FOR_APPROVAL

    # -- what is left of it -------------------------------------------------------------------------------------

    @pytest.mark.parametrize("how", ["lease", "process"])
    def test_an_abandoned_run(self, face: Face, store: RunStore, how: str, caplog: pytest.LogCaptureFixture) -> None:
        """It is ended by whoever starts next, its calls answered; one that is under way is left alone."""
        now = 1e9

        def freeze(change: RunChange) -> None:
            if fences(change):  # the process dies in the write
                owner = f"{machine()}:{2**22 + 1}:x" if how == "process" else "elsewhere:1:x"
                lease = now - 1 if how == "lease" else now + 900
                store.write(RunChange(run_id=change.run_id, at=change.at, claim=owner, lease=lease))
                raise KeyboardInterrupt

        with self.harness(Wrapped(store, after=freeze), privacy="full") as harness:
            with pytest.raises((KeyboardInterrupt, StoreError)):  # an interrupt reaches no other thread
                face.run(harness, replies=[calling(("put", {}), ("look", {}))], tools=NAMES)
            face.run(harness, replies=["done"], run_id="other")
        caplog.set_level(logging.WARNING)
        everyone = RunHistory(store, HOST, clock=lambda: now)

        assert everyone.settle_abandoned() == ("run-1",)
        assert everyone.settle_abandoned() == ()
        run = ran(store)
        assert (run.status, run.raw_reason, run.error, run.owner) == (RunStatus.FAILED, "failed", ABANDONED, None)
        answers = [m.content for m in everyone.conversation("run-1") if m.role is Role.TOOL]
        assert "outcome is unknown" in answers[0]
        assert answers[1].startswith("Not executed")
        assert "abandoned by its process" in caplog.text

    def test_an_abandoned_run_whose_state_cannot_be_read(self, face: Face, store: RunStore) -> None:
        """It is ended, with what its record knows, and so is every other: its key may be gone for good."""

        class Sealed(Wrapped):
            def live(self, run_id: str) -> Any:
                raise StoreError("The live state is encrypted with another key.")

        sealed: Any = Sealed(store)

        def leave(change: RunChange) -> None:
            if any(step.kind == "llm" for step in change.steps):
                store.write(RunChange(run_id=change.run_id, at=change.at, claim="elsewhere:1:x", lease=1.0))

        with self.harness(Wrapped(store, after=leave)) as harness:
            for _ in range(2):
                with pytest.raises(RunClaimedError):
                    face.run(harness, replies=[calling(("look", {}))], tools=NAMES)

        assert sorted(RunHistory(sealed, HOST).settle_abandoned()) == ["run-1", "run-2"]
        run = ran(store)
        assert (run.status, run.raw_reason, run.error, run.totals.rounds) == (RunStatus.FAILED, "failed", ABANDONED, 1)
        assert store.live("run-1") is None

    def test_a_run_abandoned_at_its_end(self, face: Face, store: RunStore) -> None:
        """A process that died between the last words and the end of its run leaves a run that is completed."""

        def freeze(change: RunChange) -> None:
            if change.status is RunStatus.COMPLETED:
                store.write(RunChange(run_id=change.run_id, at=change.at, claim="elsewhere:1:x", lease=1.0))

        with self.harness(Wrapped(store, before=freeze)) as harness, pytest.raises(RunClaimedError):
            face.run(harness, replies=["done"])

        assert RunHistory(store, HOST).settle_abandoned() == ("run-1",)
        run = ran(store)
        assert (run.status, run.raw_reason, run.error) == (RunStatus.COMPLETED, "completed", None)

    def test_purging(self, face: Face, store: RunStore) -> None:
        """Runs that ended long ago are forgotten, their usage stays, and what waits is never forgotten."""
        with self.harness(store) as harness:
            face.run(harness, replies=["done"])
            face.run(harness, replies=[calling(("change_it", {}))], tools=NAMES)
        used = [row.to_dict() for row in store.usage()]
        later = RunHistory(store, HOST, clock=lambda: ran(store).ended + 31 * 86_400.0)

        assert RunHistory(store, HOST).purge() == 0
        assert later.purge(days=40) == 0
        assert later.purge(configuration="other") == 0
        assert later.purge(days=0) == 1
        assert [run.run_id for run in store.runs(RunQuery())] == ["run-2"]
        assert [row.to_dict() for row in store.usage()] == used

    def test_going_on_with_a_conversation(self, face: Face, store: RunStore) -> None:
        """Kept in full it is the start of the next run; below, it is told why it is not there."""
        with self.harness(store) as harness:
            face.run(harness, "My name is Ann.", replies=["Hello."], privacy="full")
            said = RunHistory(store, HOST).conversation("run-1")
            face.run(harness, [*said, ChatMessage.user("Who am I?")], replies=["Ann."], continues="run-1")

        assert [message.content for message in harness.requests[0].messages] == [
            "My name is Ann.",
            "Hello.",
            "Who am I?",
        ]
        assert ran(store, "run-2").head.continues == "run-1"
        with pytest.raises(Exception, match=r"kept at privacy level 'metadata'.*is not there.*--privacy full"):
            RunHistory(store, HOST).conversation("run-2")
