"""Whatever a tool returns or raises: keeping, streaming, showing and going on never raise."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nr_llm import (
    Event,
    Finished,
    RunState,
    StepRecorded,
    Suspended,
    Tool,
    ToolArtifact,
    ToolContext,
    ToolError,
    ToolResult,
)
from nr_llm._json import encode_bytes
from nr_llm.testing import Harness, calling

from tests.integration.depth import tried
from tests.integration.world import answers

Act = Callable[[ToolContext], Any]
"""What a tool does: returns something, or raises."""


class Text(str):
    """A text that cannot be read."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Items(Mapping[str, Any]):
    """A mapping that breaks while it is read."""

    def __getitem__(self, key: str) -> Any:
        raise LookupError(key)

    def __iter__(self) -> Iterator[str]:
        yield "text"
        raise RuntimeError("no more")

    def __len__(self) -> int:
        return 2


class Liar:
    """An object that says it is a result."""

    __class__ = ToolResult  # type: ignore[assignment]


class Unspeakable(Exception):  # noqa: N818
    """An exception that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


def cycle() -> list[Any]:
    """Return a list that holds itself."""
    items: list[Any] = []
    items.append(items)
    return items


def deep(levels: int) -> Any:
    """Return lists in lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


async def later(value: Any) -> Any:
    """Return a value later."""
    await asyncio.sleep(0)
    return value


STRANGE: Mapping[str, Callable[[], Any]] = {
    "a number too long to write": lambda: 10**5000,
    "no number": lambda: math.nan,
    "infinity": lambda: -math.inf,
    "bytes": lambda: b"x",
    "a set": lambda: {1},
    "an object": object,
    "a text that cannot be read": lambda: Text("x"),
    "a result": lambda: ToolResult.text("inner"),
    "a mapping that breaks": Items,
    "a list that holds itself": cycle,
}
any_text = st.text(st.characters(exclude_categories=()), max_size=20)  # with lone surrogates
texts = any_text | st.sampled_from(["x" * 60_000, "ü" * 30_000, "\ud83d" * 20_000, "\0", "\x1b[2J", "\u202e"])
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    texts,
    st.sampled_from(sorted(STRANGE)).map(lambda name: STRANGE[name]()),
)
keys = any_text | st.sampled_from([1, None, (1, 2), "x" * 60_000]) | st.builds(Text, any_text)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3) | st.tuples(inner),
    max_leaves=6,
)
data = st.one_of(
    st.builds(lambda text: {"text": text}, values),
    st.builds(lambda columns, rows: {"columns": columns, "rows": rows}, values, st.lists(values, max_size=3)),
    st.builds(lambda cells: {"columns": ["a", "b"], "rows": [cells]}, st.lists(values, max_size=3)),
    values,
    st.builds(lambda levels: {"text": deep(levels)}, st.sampled_from([10, 62, 63, 64, 65, 500, 50_000])),
)
kinds = st.sampled_from(["table", "text", "chart", "", 7, None])
artifacts = st.builds(ToolArtifact, kinds, st.one_of(texts, values), data)
results = st.builds(lambda text, found: ToolResult.text(text, *found), texts, st.lists(artifacts, max_size=3))
returned = st.one_of(
    texts, results, st.builds(ToolResult.error, texts), values, st.builds(Liar), st.builds(Text, texts)
)
raised = st.one_of(
    st.builds(ToolError, values),
    st.builds(ValueError, values),
    st.builds(lambda text: ExceptionGroup("g", [ValueError(text)]), texts),
    st.builds(type, st.just("Ä" * 5_000), st.just((Exception,)), st.just({})).map(lambda kind: kind("x")),
    st.sampled_from([Unspeakable, SystemExit, GeneratorExit, StopIteration, RecursionError, TimeoutError]).map(
        lambda kind: kind()
    ),
    st.builds(asyncio.CancelledError),
)


def returning(value: Any) -> Act:
    """Return a value."""
    return lambda context: value


def raising(error: BaseException) -> Act:
    """Raise an error."""

    def act(context: ToolContext) -> Any:
        raise error

    return act


def reporting(message: Any) -> Act:
    """Report progress first."""

    def act(context: ToolContext) -> Any:
        context.progress(message)
        return "reported"

    return act


acts = st.one_of(
    st.builds(returning, returned),
    st.builds(raising, raised),
    st.builds(lambda value: lambda context: later(value), returned),
    st.builds(reporting, values),
)


def tool(act: Act, name: str, **settings: Any) -> Tool:
    """Return a tool that does it."""

    def function(context: ToolContext) -> str:
        return act(context)  # type: ignore[no-any-return]

    return Tool.from_function(function, name=name, description=name, approval=False, **settings)


def plain(event: Event) -> Any:
    """Return an event as a server would write it."""
    if isinstance(event, StepRecorded):
        return event.step.to_dict()
    if isinstance(event, Finished):
        assert not isinstance(event.outcome, Suspended)
        return [message.to_wire() for message in event.outcome.messages]
    return attrs.asdict(event)


async def drained(stream: Any) -> list[Event]:
    """Return the events of a stream."""
    async with stream:
        return [event async for event in stream]


def kept(state: RunState) -> RunState:
    """Return a state as another process would read it."""
    return RunState.from_json(json.loads(encode_bytes(state.to_json())))


@pytest.mark.lesson(66, 67)
@pytest.mark.parametrize("colour", ["sync", "async"])
@tried(150)
@given(acts, st.booleans())
@example(returning(ToolResult.text("x", ToolArtifact("text", "t", {"text": 10**5000}))), False)
@example(returning(ToolResult.text("x", ToolArtifact("text", "t", {"text": "x" * 49_000}))), False)
@example(reporting("\ud83d" * 600), False)
@example(raising(ToolError("\ud83d" * 60_000)), True)
def test_no_sink_ever_raises(colour: str, act: Act, writes: bool) -> None:
    """The run ends with its answer; each state, event and step is written, read back, and gone on from."""
    tools = [tool(act, "first", effect="write" if writes else "read"), tool(act, "second")]
    script = [calling(("first", {}), ("second", {})), "the answer"]
    with Harness() as harness:
        if colour == "sync":
            with harness.stream(replies=script, tools=tools) as stream:
                events: list[Event] = list(stream)
        else:
            events = asyncio.run(drained(harness.astream(replies=script, tools=tools)))
        outcome = events[-1].outcome  # type: ignore[union-attr]

        assert "the answer" == outcome.content
        assert 2 == len(answers(outcome.messages))
        for event in events:
            json.loads(encode_bytes(plain(event)))
            repr(event)
        for state in list(harness.checkpoints.states):
            assert state == kept(state)
            assert "on" == harness.resume(kept(state), replies=["on"], tools=[]).content or state.ended


def test_both_channels_are_tried_at_their_limits() -> None:
    """The strategies reach what they are for: kept and omitted artifacts, cut text, replaced characters."""
    with Harness() as harness:
        for act in (
            returning(ToolResult.text("\ud83d", ToolArtifact("text", "t", {"text": deep(3)}))),
            returning(ToolResult.text("x" * 60_000, ToolArtifact("text", "\ud83d", {"text": "ü" * 24_900}))),
            raising(Unspeakable()),
            returning(Liar()),
        ):
            harness.run(replies=[calling(("it", {})), "done"], tools=[tool(act, "it")])
    steps = [step for step in harness.steps if step.kind == "tool"]

    assert ["Artifacts omitted", "\ufffd", None, None] == [
        step.tool_artifacts[0].label if step.tool_artifacts else None for step in steps
    ]
    contents = [step.tool_result or "" for step in steps]
    assert ("\ufffd", 50_000) == (contents[0], len(contents[1].encode()))
    assert ("failed with Unspeakable" in contents[2], "returned a Liar" in contents[3]) == (True, True)
