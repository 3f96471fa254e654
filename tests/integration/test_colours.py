"""Whatever a model asks for, both colours do the same, streamed or not, and any checkpoint leads to the same end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nr_llm import Limits, RunState, StepKind, Suspended
from nr_llm._json import encode_bytes
from nr_llm._turns import OUTCOME_UNKNOWN
from nr_llm.testing import Harness

from tests.integration.depth import tried
from tests.integration.world import ARGUMENTS, NAMES, WRITES, Script, World, answers, model, named, scripts

EVERYTHING: Script = [[(name, arguments) for name in NAMES] for arguments in ARGUMENTS[:3]]
limits = st.builds(
    Limits, rounds=st.integers(0, 4), calls_per_turn=st.sampled_from([2, 64]), calls=st.sampled_from([None, 3])
)


def ran(script: Script, *, colour: str, streamed: bool, bounds: Limits) -> dict[str, Any]:
    """Run a script and return all of it that can be compared: ids and durations are no part of a trace."""
    with Harness() as harness:
        settings: dict[str, Any] = {"replies": [model(script)], "tools": World().tools, "limits": bounds}
        if not streamed:
            outcome = harness.run(**settings) if colour == "sync" else asyncio.run(harness.arun(**settings))
        elif colour == "sync":
            with harness.stream(**settings) as stream:
                list(stream)
            outcome = stream.outcome
        else:
            outcome = asyncio.run(drained(harness, settings))
        return {
            "trace": harness.recorder.trace,
            "states": harness.checkpoints.states,
            "requests": [(r.messages, r.tools, r.options) for r in harness.requests],
            "outcome": outcome,
            "text": harness.recorder.text if streamed else None,
        }


async def drained(harness: Harness, settings: dict[str, Any]) -> Any:
    """Watch a run to its end."""
    async with harness.astream(**settings) as stream:
        async for _ in stream:
            pass
    return stream.outcome


@pytest.mark.lesson(23, 28, 35, 113)
@tried(40)
@given(scripts, limits)
@example(EVERYTHING, Limits())
def test_both_colours_leave_the_same(script: Script, bounds: Limits) -> None:
    """Steps, checkpoints, requests and result are equal but for durations, in all four ways to run."""
    whole = ran(script, colour="sync", streamed=False, bounds=bounds)
    awhole = ran(script, colour="async", streamed=False, bounds=bounds)
    streamed = ran(script, colour="sync", streamed=True, bounds=bounds)
    astreamed = ran(script, colour="async", streamed=True, bounds=bounds)

    assert whole == awhole
    assert streamed == astreamed
    assert whole == streamed | {"text": None}


@pytest.mark.lesson(119)
@tried(40)
@given(scripts)
@example(EVERYTHING)
def test_every_checkpoint_leads_to_the_same_end(script: Script) -> None:
    """
    A run restarted from any checkpoint, as another process would, ends with the same conversation.

    The model is asked for no turn a second time.  Only a write at whose fence the process died is of unknown outcome.
    """
    with Harness() as harness:
        tools = World().tools
        whole = harness.run(replies=[model(script)], tools=tools)
        asked = len(harness.requests)
        for checkpoint in list(harness.checkpoints.states):
            state = RunState.from_json(json.loads(encode_bytes(checkpoint.to_json())))
            fenced = {p.call.id for p in state.pending if p.started and p.call.name in WRITES}
            again = harness.resume(state, replies=[model(script)], tools=tools)

            assert not isinstance(whole, Suspended)
            assert not isinstance(again, Suspended)
            names, was, now = named(again.messages), answers(whole.messages), answers(again.messages)
            assert was | dict.fromkeys(fenced, OUTCOME_UNKNOWN) == now
            assert named(whole.messages) == names
            assert (whole.content, whole.rounds, whole.usage) == (again.content, again.rounds, again.usage)
            assert [call.content for call in again.invocations] == list(now.values())
            replies = sum(message.role == "assistant" for message in state.messages)
            assert asked - replies == len(harness.requests)


def test_the_scripts_reach_every_kind_of_step_and_call() -> None:
    """The example that is always tried has every tool, every refusal, and every kind of step without a pause."""
    found = ran(EVERYTHING, colour="sync", streamed=False, bounds=Limits())
    told = " ".join(answers(found["outcome"].messages).values())

    assert {StepKind.REQUEST, StepKind.LLM, StepKind.TOOL} == {step["kind"] for step in found["trace"]}
    assert set(NAMES) == set(named(found["outcome"].messages).values())
    for part in ("read 2", "wrote 1", "put 0", "LookupError", "not now", "result cut", "a picture", "no tool named"):
        assert part in told
