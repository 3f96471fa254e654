"""Cases of replays, written once and tried with every store: subclass `ReplayCases` and say `store`."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from nr_llm import (
    HOST,
    CompletionResponse,
    ConfigurationError,
    GuardrailError,
    Limits,
    RunHistory,
    RunNotFoundError,
    RunStore,
    ServiceError,
    TerminationReason,
    ToolCall,
    Usage,
    replay,
    tool,
)
from nr_llm.artifacts import ToolArtifact
from nr_llm.records import RunChange, Written
from nr_llm.results import ToolResult
from nr_llm.testing import Harness, calling

from tests.core.run_cases import NAMES, TOOLS, Face, Wrapped


@attrs.frozen
class Answer:
    """A form."""

    n: int


@tool
def stumble() -> str:
    """Fail."""
    raise RuntimeError("no")


@tool(exclusive=True)
def alone() -> ToolResult:
    """Look alone."""
    return ToolResult.text("x" * 60_000, ToolArtifact.table("T", ["a"], [[None, 1.5, True, "ü"]]))


ALL = [*TOOLS, stumble, alone]
EVERY = [*NAMES, "stumble", "alone"]
BUSY = [
    CompletionResponse(
        content="Let me see.",
        reasoning="hm",
        tool_calls=[
            ToolCall("a", "look", {"what": "\U0001f600"}),
            ToolCall("a", "look", {"wrong": 1}),
            ToolCall("b", "nope", {}),
            ToolCall("c", "look", {}, "{not json"),
            ToolCall("d", "put", {"what": "1"}),
            ToolCall("e", "alone", {}),
            ToolCall("f", "stumble", {}),
        ],
        usage=Usage(100, 20, cached_tokens=3, reasoning_tokens=4),
        finish_detail="tool_use",
    ),
    CompletionResponse(content="done", usage=Usage(300, 5), finish_reason="length"),
]


class ReplayCases:
    """The cases; `store` is an empty store."""

    def kept(self, face: Face, store: Any, **settings: Any) -> Any:
        """Run, keep in full, and replay."""
        with Harness(tools=ALL, store=store, privacy="full", model=settings.pop("facts", None)) as harness:
            face.run(harness, **{"tools": EVERY, **settings})
        return replay(RunHistory(store, HOST), "run-1")

    @pytest.mark.parametrize(
        "settings",
        [
            pytest.param({"replies": BUSY}, id="busy"),
            pytest.param({"replies": ["hi"], "tools": []}, id="plain"),
            pytest.param({"replies": [calling(("look", {}))], "limits": Limits(rounds=2)}, id="rounds"),
            pytest.param({"replies": [calling(("look", {}), ("look", {}))], "limits": Limits(calls=1)}, id="calls"),
            pytest.param({"replies": BUSY, "facts": {"context": 9_000}}, id="window"),
            pytest.param({"replies": ["y"], "prompt": "x" * 90_000, "facts": {"context": 2_000}}, id="overflow"),
            pytest.param({"replies": ["no", '{"n": 1}'], "output": Answer}, id="form"),
            pytest.param({"replies": [CompletionResponse(refusal="I will not.")]}, id="refusal"),
            pytest.param({"replies": ["x"], "dry_run": False, "system": "Be brief."}, id="system"),
            pytest.param({"replies": ["x"], "dry_run": True}, id="dry run"),
        ],
    )
    def test_the_same_again(self, face: Face, store: RunStore, settings: dict[str, Any]) -> None:
        """From its record alone a run comes out as it did, without a model or a tool."""
        again = self.kept(face, store, **settings)

        assert again.differences == ()
        assert again.same
        said = RunHistory(store, HOST).conversation("run-1")
        assert [message.to_wire() for message in again.state.messages] == [message.to_wire() for message in said]

    @pytest.mark.parametrize("verdict", [True, False])
    def test_a_run_that_waited(self, face: Face, store: RunStore, verdict: bool) -> None:
        """What a person said is told by what became of the calls."""
        with Harness(tools=ALL, store=store, privacy="full") as harness:
            replies = [calling(("change_it", {"what": "a"}), ("look", {}))]
            held = face.run(harness, replies=replies, tools=EVERY)
            waiting = replay(RunHistory(store, HOST), "run-1")
            face.resume(harness, held, verdict, replies=["done"])
        again = replay(RunHistory(store, HOST), "run-1")

        assert (waiting.same, waiting.state.reason) == (True, None)
        assert again.differences == ()
        assert again.state.answer == "done"

    def test_a_run_that_failed(self, face: Face, store: RunStore) -> None:
        """It ends where its record does, settled as it was."""
        with Harness(tools=ALL, store=store, privacy="full", middleware=[]) as harness, pytest.raises(ServiceError):
            face.run(harness, replies=[calling(("look", {})), ServiceError("down")], tools=EVERY)
        again = replay(RunHistory(store, HOST), "run-1")

        assert again.differences == ()
        assert again.state.reason is TerminationReason.FAILED

    @pytest.mark.parametrize("name", ["look", "put"])
    def test_a_run_that_was_stopped(self, face: Face, store: RunStore, name: str) -> None:
        """Also by another process, in the middle of a turn, or after it."""

        def stop(change: RunChange) -> None:
            if any(step.kind == "llm" for step in change.steps):
                RunHistory(store, HOST).cancel("run-1")

        with Harness(tools=ALL, store=Wrapped(store, before=stop), privacy="full") as harness:
            face.run(harness, replies=[calling((name, {}))], tools=EVERY)
        again = replay(RunHistory(store, HOST), "run-1")

        assert again.differences == ()
        assert again.state.reason is TerminationReason.CANCELLED

    def test_a_run_under_way(self, face: Face, store: RunStore) -> None:
        """As far as it came."""
        found: list[Any] = []

        def look_in(change: RunChange) -> None:
            if any(step.kind == "tool" for step in change.steps):
                found.append(replay(RunHistory(store, HOST), "run-1"))

        with Harness(tools=ALL, store=Wrapped(store, after=look_in), privacy="full") as harness:
            face.run(harness, replies=[calling(("put", {})), "done"], tools=EVERY)

        assert [step.kind for step in found[0].steps] == ["request", "llm", "tool"]
        assert found[0].same
        assert found[0].state.reason is None

    def test_what_differs_is_named(self, face: Face, store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the step's number and the names of its fields; also a step that only one of both has."""
        self.kept(face, store, replies=[calling(("look", {"what": "a"})), "done"])
        monkeypatch.setattr("nr_llm._loop.bound_result", lambda result: ToolResult.text("otherwise"))
        changed = replay(RunHistory(store, HOST), "run-1")

        assert not changed.same
        assert [(one.sequence, one.fields) for one in changed.differences] == [
            (2, ("tool_artifacts", "tool_result")),
            (3, ("messages_sent",)),
            (5, ("messages",)),
        ]
        assert changed.differences[0].stored is not None
        assert changed.differences[0].stored["tool_result"] == "saw a"

    def test_a_run_that_a_guardrail_ended(self, face: Face, store: RunStore) -> None:
        """It ends for the reason that was kept."""

        def guard(inner: Any) -> Any:
            def completer(request: Any) -> Any:
                yield from inner(request)
                raise GuardrailError("no", guardrail="none")

            return completer

        with (
            Harness(tools=ALL, store=store, privacy="full", middleware=[guard]) as harness,
            pytest.raises(GuardrailError),
        ):
            face.run(harness, replies=["x"], tools=EVERY)
        again = replay(RunHistory(store, HOST), "run-1")

        assert (again.differences, again.state.reason) == ((), TerminationReason.POLICY_DENIED)

    def test_a_decision_that_fits_no_more(self, face: Face, store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the replay comes to another turn than the one a person decided on, it ends there and says so."""
        with Harness(tools=ALL, store=store, privacy="full") as harness:
            face.run(harness, replies=[calling(("change_it", {"what": "a"}))], tools=EVERY)
            waiting = RunHistory(store, HOST).waiting("run-1")
            assert waiting is not None
            harness.provider.script("done")
            harness.runtime.decide("run-1", [waiting.decision(0, approve=True)], by=HOST)
        monkeypatch.setattr("nr_llm.approvals.call_digest", lambda *_: "of another turn")
        again = replay(RunHistory(store, HOST), "run-1")

        assert [one.fields for one in again.differences] == [("step",)] * 3 + [("reason",)]

    def test_a_word_of_a_newer_version(self, face: Face, store: RunStore) -> None:
        """The replay says that it cannot read the record, and what to do."""

        def newer(change: RunChange) -> RunChange:
            steps = [
                attrs.evolve(step, payload={**step.payload, "finish_reason": "musing"}) if step.kind == "llm" else step
                for step in change.steps
            ]
            return attrs.evolve(change, steps=tuple(steps))

        class Newer(Wrapped):
            def write(self, change: RunChange) -> Written:
                return self.inner.write(newer(change))

        with Harness(tools=ALL, store=Newer(store), privacy="full") as harness:
            face.run(harness, replies=["done"], tools=EVERY)

        with pytest.raises(ConfigurationError, match=r"this version cannot read \(ValueError\).*or a newer one"):
            replay(RunHistory(store, HOST), "run-1")

    def test_a_run_that_began_elsewhere(self, face: Face, store: RunStore) -> None:
        """Its record has no beginning, and says so."""
        with Harness(tools=ALL, store=None) as harness:
            held = face.run(harness, replies=[calling(("change_it", {}))], tools=EVERY)
        with Harness(tools=ALL, store=store, privacy="full") as harness:
            face.resume(harness, held, replies=["done"])

        with pytest.raises(ConfigurationError, match="was begun without this store"):
            replay(RunHistory(store, HOST), "run-1")

    @pytest.mark.parametrize("level", ["metadata", "redacted"])
    def test_a_record_that_holds_too_little(self, face: Face, store: RunStore, level: str) -> None:
        """It says why it cannot be replayed, and what to do."""
        with Harness(tools=ALL, store=store, privacy=level) as harness:
            face.run(harness, replies=["x"])

        with pytest.raises(ConfigurationError, match=rf"level '{level}'.*cannot be replayed.*--privacy full"):
            replay(RunHistory(store, HOST), "run-1")
        with pytest.raises(RunNotFoundError):
            replay(RunHistory(store, None), "run-1")
