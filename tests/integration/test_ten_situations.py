"""
Ten situations in which tool-calling libraries differ, each with the best answer, in both colours.

The situations were run against eight libraries; no library had the best answer in every row.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from nr_llm import InvalidValueError, RunResult, RunState, Tool, ToolArtifact, ToolResult, tool
from nr_llm._json import encode_bytes
from nr_llm.testing import Harness, calling

Check = Callable[[Harness, RunResult], None]


@attrs.frozen(kw_only=True)
class Situation:
    """
    What a model does, and what has to come of it.

    Attributes:
        calls: What the model asks for in its first turn.
        told: What it reads, one text for each call; every part has to be in it.
        fails: Whether the calls are errors to it.
        hidden: What it must not read.
        entered: With what `add` ran, if it did.
        check: What else has to hold.
    """

    calls: list[tuple[str, dict[str, Any]]]
    told: list[list[str]]
    fails: bool
    hidden: tuple[str, ...] = ()
    entered: list[Any] = attrs.field(factory=list)
    check: Check = lambda harness, result: None


MEGABYTES = "x" * 3_000_000
ENTERED: list[Any] = []


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    ENTERED.append((a, b))
    return str(a + b)


@tool
def fail() -> str:
    """Fail."""
    raise RuntimeError("postgres://admin:hunter22@db/prod is down")


@tool
def flood() -> str:
    """Return three megabytes."""
    return MEGABYTES


@tool
def surrogate() -> ToolResult:
    """Return half a character, in text and table."""
    return ToolResult.text("half \ud83d of it", ToolArtifact.table("half \ud83d", ["\ud83d"], [["\ud83d"]]))


@tool
def listing() -> ToolResult:
    """Return a text for the model and a table for people."""
    return ToolResult.text("2 rows", ToolArtifact.table("secretlabel", ["secretcolumn"], [["secretcell"], [7]]))


TOOLS = [add, fail, flood, surrogate, listing]


def small_state(harness: Harness, result: RunResult) -> None:
    """The flood is bounded in what is sent, in what is stored and in what is shown."""
    content = result.invocations[0].content
    assert 50_000 == len(content.encode())
    assert content.endswith("result cut to 50,000 bytes")
    assert all(len(encode_bytes(state.to_json())) < 60_000 for state in harness.checkpoints.states)


def valid_everywhere(harness: Harness, result: RunResult) -> None:
    """Half a character is replaced, visibly, before anything is stored, shown or sent."""
    assert "half � of it" == result.invocations[0].content
    assert {"columns": ["�"], "rows": [["�"]]} == result.invocations[0].artifacts[0].data
    for state in harness.checkpoints.states:
        assert state == RunState.from_json(json.loads(encode_bytes(state.to_json())))
    for step in harness.steps:
        json.dumps(step.to_dict()).encode()


def never_sent(harness: Harness, result: RunResult) -> None:
    """The table is in no request."""
    for request in harness.requests:
        sent = repr(request) + json.dumps([message.to_wire() for message in request.messages])
        assert not any(word in sent for word in ("secretcolumn", "secretcell", "secretlabel"))


def shown_not_stored(harness: Harness, result: RunResult) -> None:
    """People see the whole table in the live step and in the result; no stored state holds any of it."""
    [step] = [step for step in harness.steps if step.tool_artifacts]
    assert [["secretcell"], [7]] == step.tool_artifacts[0].data["rows"]
    assert ["secretlabel"] == [artifact.label for call in result.invocations for artifact in call.artifacts]
    assert not any("secret" in json.dumps(state.to_json()) for state in harness.checkpoints.states)


SITUATIONS = {
    "numbers sent as text are converted without loss": Situation(
        calls=[("add", {"a": "1", "b": "2"})], told=[["3"]], fails=False, entered=[(1, 2)]
    ),
    "every missing argument is named and nothing runs": Situation(
        calls=[("add", {})], told=[["a: missing; expected an integer", "b: missing; expected an integer"]], fails=True
    ),
    "an argument nobody declared is refused with the reason": Situation(
        calls=[("add", {"a": 1, "b": 2, "round": True})], told=[["round: unknown name", "known are: a, b"]], fails=True
    ),
    "an unknown tool is answered with the names there are": Situation(
        calls=[("ad", {"a": 1, "b": 2})],
        told=[["no tool named 'ad'", "Did you mean 'add'?", "add, fail, flood, surrogate, listing"]],
        fails=True,
    ),
    "what a tool raises stays in the log, and the run goes on": Situation(
        calls=[("fail", {})],
        told=[["failed with RuntimeError in run run-1", "host's log"]],
        fails=True,
        hidden=("hunter22", "postgres"),
    ),
    "three megabytes are bounded": Situation(calls=[("flood", {})], told=[["xxx"]], fails=False, check=small_state),
    "half a character breaks no sink": Situation(
        calls=[("surrogate", {})], told=[["half � of it"]], fails=False, check=valid_everywhere
    ),
    "artifacts never reach the wire": Situation(
        calls=[("listing", {})], told=[["2 rows"]], fails=False, hidden=("secret",), check=never_sent
    ),
    "artifacts reach people and no store": Situation(
        calls=[("listing", {})], told=[["2 rows"]], fails=False, check=shown_not_stored
    ),
}


def run(harness: Harness, colour: str, **settings: Any) -> Any:
    """Run in a colour."""
    return harness.run(**settings) if colour == "sync" else asyncio.run(harness.arun(**settings))


@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize("name", SITUATIONS)
def test_situation(name: str, colour: str, caplog: pytest.LogCaptureFixture) -> None:
    """The model reads what helps it, and the run ends with its answer."""
    situation = SITUATIONS[name]
    ENTERED.clear()
    with Harness() as harness:
        result = run(harness, colour, replies=[calling(*situation.calls), "the answer"], tools=TOOLS)

    read = [message.content for message in harness.requests[-1].messages if message.role == "tool"]
    assert "the answer" == result.content
    assert len(situation.calls) == len(read) == len(situation.told)
    assert [] == [part for text, parts in zip(read, situation.told, strict=True) for part in parts if part not in text]
    assert [situation.fails] * len(read) == [call.is_error for call in result.invocations]
    assert not any(word in text for text in read for word in situation.hidden)
    assert situation.entered == ENTERED
    assert "hunter22" not in caplog.text
    situation.check(harness, result)


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_two_tools_of_one_name_are_refused(colour: str) -> None:
    """Before any request, by name: neither replaces the other in silence."""
    other = Tool.from_schema("add", "Another.", {}, lambda: "")
    with Harness() as harness, pytest.raises(InvalidValueError, match="two tools are named 'add'"):
        run(harness, colour, tools=[add, other])

    assert [] == harness.requests


@pytest.mark.lesson(62)
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_three_blocking_tools_meet(colour: str) -> None:
    """Blocking tools of one turn run at the same time, also under an event loop, which stays free meanwhile."""
    barrier = threading.Barrier(3)

    @tool
    def meet(n: int) -> str:
        """Wait until three are here."""
        barrier.wait(30)
        return str(n)

    with Harness() as harness:
        script = [calling(*(("meet", {"n": n}) for n in range(3))), "met"]
        result = run(harness, colour, replies=script, tools=[meet])

    assert (["0", "1", "2"], False) == ([call.content for call in result.invocations], barrier.broken)


def test_the_table_is_whole() -> None:
    """Ten situations: nine rows of the table, and the two names."""
    assert 10 == len(SITUATIONS) + 1
