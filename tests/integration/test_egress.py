"""What tools hand to people and what the host keeps secret leave on no way there is, seen at the bytes."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
import traceback
from typing import Any

import attrs
import httpx
import pytest
from nr_llm import (
    AuthenticationError,
    Event,
    Finished,
    NrLlmError,
    Retry,
    RunState,
    Runtime,
    ServiceError,
    StepRecorded,
    ToolCall,
    ToolResult,
)
from nr_llm._json import encode_bytes
from nr_llm.testing import Canary, Checkpoints, Recorder

from tests.integration.service import Service

openai = pytest.importorskip("nr_llm_openai", reason="the OpenAI plugin is not installed here")

KEY = "sk-canary-0123456789abcdef"
CALLS = [ToolCall("c1", "canary_plant"), ToolCall("c2", "canary_stumble")]

each_way = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
both = pytest.mark.parametrize("colour", ["sync", "async"])


@attrs.define(eq=False)
class Left:
    """Everything a run left behind."""

    canary: Canary
    service: Service
    recorder: Recorder = attrs.field(factory=Recorder)
    store: Checkpoints = attrs.field(factory=Checkpoints)
    events: list[Event] = attrs.field(factory=list)
    error: NrLlmError | None = None

    @property
    def states(self) -> list[RunState]:
        """The states: stored, at the end, on the error."""
        last = [] if self.error is None or self.error.state is None else [self.error.state]
        return [*self.store.states, *self.recorder.ends, *last]

    @property
    def outcome(self) -> Any:
        """How it ended."""
        return next(event.outcome for event in self.events if isinstance(event, Finished))


def run(service: Service, *, colour: str, streamed: bool = True) -> Left:
    """Run the canary's tools against a service."""
    left = Left(Canary(), service)
    runtime = Runtime(
        tools=left.canary.tools,
        providers=[openai.OpenAI(base_url="http://host/v1", api_key=KEY)],
        model="openai:m",
        live=[left.recorder],
        store=left.store,
        secrets={"canary": left.canary.secret},
        middleware=[Retry(seconds=0.0)],
        http=httpx.Client(transport=service.transport),
        async_http=httpx.AsyncClient(transport=service.transport),
    )
    try:
        if colour == "sync":
            run_here(runtime, left, streamed=streamed)
        else:
            asyncio.run(run_there(runtime, left, streamed=streamed))
    except NrLlmError as error:
        left.error = error
    return left


def run_here(runtime: Runtime, left: Left, *, streamed: bool) -> None:
    """Run in the blocking colour."""
    with runtime:
        if not streamed:
            left.events.append(Finished(runtime.run("Go.")))
            return
        with runtime.stream("Go.") as stream:
            left.events.extend(stream)


async def run_there(runtime: Runtime, left: Left, *, streamed: bool) -> None:
    """Run in the awaiting colour."""
    async with runtime:
        if not streamed:
            left.events.append(Finished(await runtime.arun("Go.")))
            return
        async with runtime.astream("Go.") as stream:
            async for event in stream:
                left.events.append(event)


def sinks(left: Left, log: str) -> list[tuple[str, str]]:
    """Return every way out, and what was seen there."""
    found = [("the bytes sent", sent.decode()) for sent in left.service.sent]
    found += [("a state", encode_bytes(state.to_json()).decode()) for state in left.states]
    found += [
        ("repr", repr(value)) for value in (*left.events, *left.states, *left.recorder.steps, *left.recorder.runs)
    ]
    found += [("repr", repr(message)) for state in left.states for message in state.messages]
    found += [("the log", log)]
    if left.error is not None:
        found += [("an exception", "".join(traceback.format_exception(left.error))), ("repr", repr(vars(left.error)))]
    return found


@pytest.mark.lesson(65, 131, 137)
@both
@each_way
def test_nothing_leaves_with_a_run(colour: str, streamed: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Markers in cells, columns, texts and labels, and a secret in use, are on no way out."""
    caplog.set_level(logging.DEBUG)
    left = run(Service(CALLS, "done"), colour=colour, streamed=streamed)

    assert "done" == left.outcome.content
    assert [] == left.canary.leaks(sinks(left, caplog.text))
    assert "[redacted]" in caplog.text


@both
@each_way
def test_the_second_request_holds_both_typed_turns(colour: str, streamed: bool) -> None:
    """The assistant's calls and the tools' answers are sent, each with its id; the content is all there is of them."""
    left = run(Service(CALLS, "done"), colour=colour, streamed=streamed)
    asked, planted, stumbled = left.service.bodies[1]["messages"][-3:]

    assert ["c1", "c2"] == [call["id"] for call in asked["tool_calls"]]
    assert {"role": "tool", "tool_call_id": "c1", "content": "planted"} == planted
    assert ("tool", "c2", True) == (stumbled["role"], stumbled["tool_call_id"], "ValueError" in stumbled["content"])


@pytest.mark.lesson(68, 138)
@both
@each_way
def test_the_live_step_shows_it_whole(colour: str, streamed: bool) -> None:
    """People see each artifact, label and cell, in the live step and in the result; the secret is not there."""
    left = run(Service(CALLS, "done"), colour=colour, streamed=streamed)
    wanted = [artifact.to_dict() for artifact in left.canary.artifacts]
    [live] = [step.tool_artifacts for step in left.recorder.steps if step.tool_artifacts]

    assert wanted == [artifact.to_dict() for artifact in live]
    assert wanted == [artifact.to_dict() for call in left.outcome.invocations for artifact in call.artifacts]
    assert left.canary.secret not in json.dumps(left.recorder.trace)
    if streamed:
        assert live in [event.step.tool_artifacts for event in left.events if isinstance(event, StepRecorded)]


@both
@pytest.mark.parametrize("status", [401, 500])
def test_nothing_leaves_with_a_failure(colour: str, status: int, caplog: pytest.LogCaptureFixture) -> None:
    """A service that repeats its key and what it was sent gets neither into the exception, the state or the log."""
    caplog.set_level(logging.DEBUG)
    echo = {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid_api_key"}}
    left = run(Service(CALLS, *[httpx.Response(status, json=echo)] * 3), colour=colour)
    found = sinks(left, caplog.text)

    assert isinstance(left.error, AuthenticationError if status == 401 else ServiceError)
    assert [] == left.canary.leaks(found)
    assert [] == [where for where, text in found if KEY in text and where != "the bytes sent"]


@both
def test_the_key_is_in_one_header_alone(colour: str) -> None:
    """The provider's key is sent where it has to be and nowhere else."""
    left = run(Service(CALLS, "done"), colour=colour)

    assert [f"authorization: Bearer {KEY}".encode()] * 2 == [
        line for sent in left.service.sent for line in sent.splitlines() if KEY.encode() in line
    ]


FORMS = {
    "str": str,
    "format": lambda result: f"{result}",
    "percent": lambda result: "%s" % result,  # noqa: UP031  # one of the ways
    "join": lambda result: "".join([result]),  # noqa: FLY002
    "json": json.dumps,
    "our json": encode_bytes,
    "iteration": list,
    "bytes": bytes,
    "attrs": attrs.asdict,
    "vars": vars,
    "evolve": lambda result: attrs.evolve(result, content="x"),
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "subclass": lambda result: type("Sub", (type(result),), {}),
    "constructor": lambda result: type(result)("x"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_result_has_no_other_form(form: str) -> None:
    """A result is no string, mapping, attrs class or pickle: every way to another form raises."""
    canary = Canary()
    result = ToolResult.text("planted", *canary.artifacts)

    with pytest.raises((TypeError, ValueError, attrs.exceptions.NotAnAttrsClassError)) as caught:
        FORMS[form](result)
    assert [] == canary.leaks([("the exception", "".join(traceback.format_exception(caught.value)))])


def test_the_repr_of_a_result_counts() -> None:
    """What is shown of a result and its artifacts is kind and number, never data."""
    canary = Canary()
    result = ToolResult.text("planted", *canary.artifacts)

    assert "<ToolResult text, 7 characters, 2 artifacts>" == repr(result)
    assert [] == canary.leaks([("repr", repr(canary.artifacts))])
