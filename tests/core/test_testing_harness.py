"""A test of a host says what the model answers, and reads what the run left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from nr_llm import RunResult, Suspended, TerminationReason, ToolArtifact, ToolResult, tool
from nr_llm.testing import Harness, Recorder, ScriptedProvider, calling


@tool
def look(what: str = "") -> ToolResult:
    """Look."""
    return ToolResult.text(f"saw {what}", ToolArtifact.text("seen", what))


@tool(effect="write")
def write(what: str = "") -> str:
    """Write."""
    return f"wrote {what}"


class Sync:
    """The blocking face."""

    def run(self, harness: Harness, **settings: Any) -> Any:
        return harness.run(**settings)

    def stream(self, harness: Harness, **settings: Any) -> Any:
        with harness.stream(**settings) as stream:
            list(stream)
        return stream.outcome

    def resume(self, harness: Harness, *args: Any, **settings: Any) -> Any:
        return harness.resume(*args, **settings)


class Async:
    """The awaiting face."""

    def run(self, harness: Harness, **settings: Any) -> Any:
        return asyncio.run(harness.arun(**settings))

    def stream(self, harness: Harness, **settings: Any) -> Any:
        async def main() -> Any:
            async with harness.astream(**settings) as stream:
                async for _ in stream:
                    pass
            return stream.outcome

        return asyncio.run(main())

    def resume(self, harness: Harness, *args: Any, **settings: Any) -> Any:
        return asyncio.run(harness.aresume(*args, **settings))


both = pytest.mark.parametrize("face", [Sync(), Async()], ids=["sync", "async"])
SCRIPT = [calling(("look", {"what": "a"})), "It is an a."]


@both
class TestHarness:
    """One line runs a conversation."""

    def test_a_run(self, face: Any) -> None:
        """Replies in, result out; requests, steps and ends are there to ask for."""
        with Harness() as harness:
            result = face.run(harness, replies=SCRIPT, tools=[look])

        assert ("It is an a.", "run-1") == (result.content, result.run_id)
        assert 2 == len(harness.requests)
        assert ["request", "llm", "tool", "request", "llm"] == [step.kind for step in harness.steps]
        assert [TerminationReason.COMPLETED] == [end.reason for end in harness.recorder.ends]

    def test_runs_are_numbered_and_scripted_anew(self, face: Any) -> None:
        """A second run has its own name, script and requests; a name of one's own is kept."""
        with Harness(tools=[look]) as harness:
            face.run(harness, replies=SCRIPT)
            second = face.run(harness, replies=["two"])
            own = face.run(harness, replies=["three"], run_id="mine")

        assert (["two", "three"], ["run-2", "mine"], 1) == (
            [second.content, own.content],
            [second.run_id, own.run_id],
            len(harness.requests),
        )

    def test_a_stream(self, face: Any) -> None:
        """A watched run leaves its deltas with the recorder."""
        with Harness() as harness:
            result = face.stream(harness, replies=["a longer answer"])

        assert "a longer answer" == result.content == harness.recorder.text
        assert len(harness.recorder.deltas) > 1

    def test_a_suspended_run_goes_on(self, face: Any) -> None:
        """Held calls are approved unless told otherwise, and checkpoints restart a run."""
        with Harness(tools=[write]) as harness:
            held = face.run(harness, replies=[calling(("write", {"what": "x"}))], tools=["write"])
            done = face.resume(harness, held, replies=["done"])
            refused = face.resume(harness, held, False, replies=["no"])
            again = face.resume(harness, harness.checkpoints.states[0], replies=["from the start"])

        assert isinstance(held, Suspended)
        assert ["wrote x"] == [call.content for call in done.invocations]
        assert [True] == [call.is_error for call in refused.invocations]
        assert "from the start" == again.content
        assert 4 == len(harness.checkpoints.ends)


class TestParts:
    """What the harness is made of, to be used by itself."""

    def test_a_model_of_ones_own(self) -> None:
        """The scripted model may have a small window; the Runtime's other arguments pass through."""
        seen: list[Any] = []
        with Harness(model={"context": 1200, "max_output": 100}, live=[seen.append]) as harness:
            result = harness.run("y" * 9000, tools=[])

        assert isinstance(result, RunResult)
        assert (TerminationReason.CONTEXT_OVERFLOW, ["run-1"]) == (result.reason, [info.run_id for info in seen])

    def test_a_store_of_ones_own(self) -> None:
        """Another store takes the place of the checkpoints."""
        own = Harness().checkpoints
        with Harness(store=own) as harness:
            harness.run(replies=["x"])

        assert (True, []) == (len(own.states) > 0, harness.checkpoints.states)

    def test_traces_of_both_colours_are_equal(self) -> None:
        """A trace has no durations, so it can be compared; artifacts are in it."""
        with Harness() as one, Harness() as other:
            one.run(replies=SCRIPT, tools=[look])
            asyncio.run(other.arun(replies=SCRIPT, tools=[look]))

        assert one.recorder.trace == other.recorder.trace
        assert [{"type": "text", "label": "seen", "data": {"text": "a"}}] == one.recorder.trace[2]["tool_artifacts"]

    def test_a_recorder_keeps_runs_apart(self) -> None:
        """Each run has its recording; one that goes on has no end."""
        recorder = Recorder()
        with Harness(live=[recorder]) as harness:
            harness.run(replies=["a"])
            stream = harness.stream(replies=["b"])
            next(stream)

            assert [True, False] == [run.end is not None for run in recorder.runs]
            assert ["run-1", "run-2"] == [run.info.run_id for run in recorder.runs]
            stream.close()

    def test_a_script_without_replies_answers_nothing(self) -> None:
        """An empty script is an empty answer."""
        provider = ScriptedProvider("x")
        provider.script()
        with Harness(providers=[provider]) as harness:
            result = harness.run()

        assert isinstance(result, RunResult)
        assert "" == result.content


def test_names_are_found_when_asked_for() -> None:
    """The package lists its names, and knows no others."""
    import nr_llm.testing

    assert "Harness" in dir(nr_llm.testing)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = nr_llm.testing.nonsense
