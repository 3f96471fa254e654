"""The live state is dumped as ever, whatever of it was dumped before."""

from __future__ import annotations

from decimal import Decimal

import attrs
from nr_llm import Limits, Options, PendingCall, RunState, TerminationReason, ToolCall, Usage
from nr_llm._json import decode, encode
from nr_llm._live import LiveState
from nr_llm.prices import Price

FIRST = RunState(run_id="r", model="m", start=1, allowed=("a", "b"), limits=Limits(rounds=7))
STATES = (
    RunState(run_id="r", model="m"),
    FIRST,
    FIRST,
    attrs.evolve(FIRST, usage=Usage(1, None), rounds=1, cost=Decimal("0.10"), price=Price(input="1", output="2")),
    attrs.evolve(FIRST, pending=(PendingCall(index=1, call=ToolCall("c", "n", {"x": [1]}), started=True),)),
    attrs.evolve(FIRST, options=Options(seed=1, stop=("x",)), output={"type": "object"}, answer_due=True),
    attrs.evolve(FIRST, answer="", reason=TerminationReason.COMPLETED, seconds=1.5, allowed=None),
    FIRST,
)


def test_as_the_state_itself_gives_it() -> None:
    """Field by field, also when one goes back to what it is when it is not given."""
    live = LiveState()
    for state in STATES:
        assert decode(encode(live.dump(state))) == decode(encode(state.to_json()))
        assert RunState.from_json(live.dump(state)) == state


def test_what_is_the_same_is_not_dumped_again() -> None:
    """The JSON of an unchanged field is the same object."""
    live = LiveState()

    assert live.dump(FIRST)["limits"] is live.dump(attrs.evolve(FIRST, rounds=3))["limits"]
