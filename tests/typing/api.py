"""Uses the public API as a typed program would; mypy checks this file and nothing runs it."""

from __future__ import annotations

from typing import assert_type

from nr_llm import (
    Actor,
    AsyncRunStream,
    ChatMessage,
    CompletionResponse,
    Decision,
    Event,
    Finished,
    Flow,
    Middleware,
    Outcome,
    Provider,
    Role,
    RunResult,
    RunStream,
    Runtime,
    Submission,
    Suspended,
    TextDelta,
    Tool,
    ToolArtifact,
    ToolCall,
    ToolContext,
    ToolResult,
    ask,
    tool,
)
from nr_llm.effects import Complete, Completer
from nr_llm.requests import CompletionRequest
from nr_llm.testing import ScriptedProvider


@tool
def bare(city: str) -> str:
    """Return a city's name."""
    return city


@tool(timeout=5.0, effect="write")
async def configured(context: ToolContext, amount: int = 1) -> ToolResult:
    """Order something."""
    return ToolResult.text(f"{amount} ordered", ToolArtifact.table("order", ["amount"], [[amount]]))


def decorated_functions_are_tools() -> None:
    """Both forms of the decorator make a `Tool`."""
    assert_type(bare, Tool)
    assert_type(configured, Tool)


def messages_are_one_class(call: ToolCall) -> None:
    """Each factory makes a `ChatMessage`, whose optional parts have to be looked at."""
    assert_type(ChatMessage.user("hello"), ChatMessage)
    assert_type(ChatMessage.assistant_tool_calls([call]).tool_calls, tuple[ToolCall, ...] | None)
    assert_type(ChatMessage(Role.SYSTEM, "be brief").content, str)


def results_have_text_for_the_model(result: ToolResult) -> None:
    """The parts of a result are typed; a string form is not among them."""
    assert_type(result.content, str)
    assert_type(result.artifacts, tuple[ToolArtifact, ...])


def runs_end_in_one_of_two_ways(runtime: Runtime) -> str:
    """An outcome is a result or a suspended run, and a `match` over both is complete."""
    outcome = runtime.run("hello", model="provider:model", tools=[bare, "name", "@group"])
    assert_type(outcome, RunResult | Suspended)
    match outcome:
        case RunResult():
            return outcome.content
        case Suspended():
            return str(len(outcome.pending))


async def colours_have_equal_types(runtime: Runtime) -> None:
    """What the async face returns is what the sync one does."""
    assert_type(await runtime.arun("hello"), Outcome)
    assert_type(runtime.complete("hello"), CompletionResponse)
    assert_type(await runtime.acomplete("hello"), CompletionResponse)
    assert_type(runtime.call(bare, {"city": "Oslo"}), ToolResult)
    assert_type(await runtime.acall("bare"), ToolResult)


def streams_yield_events(runtime: Runtime) -> str:
    """Each event of a stream is one of a union, whose members carry typed parts."""
    text = ""
    with runtime.stream("hello") as stream:
        for event in stream:
            assert_type(event, Event)
            match event:
                case TextDelta(piece):
                    text += piece
                case Finished(outcome):
                    assert_type(outcome, Outcome)
                case _:
                    pass
    assert_type(stream.outcome, Outcome)
    return text


async def runs_go_on_in_streams(runtime: Runtime, run: Suspended, yes: Decision, form: Submission, who: Actor) -> None:
    """A run that goes on is watched by the same streams; those that ask a store first are awaited."""
    assert_type(runtime.stream_resume(run, {0: True}), RunStream)
    assert_type(runtime.stream_decide(run.run_id, [yes], by=who), RunStream)
    assert_type(runtime.stream_submit(run.run_id, [form], by=who), RunStream)
    assert_type(runtime.astream_resume(run, True), AsyncRunStream)
    assert_type(await runtime.astream_decide(run.run_id, [yes], by=who), AsyncRunStream)
    async with await runtime.astream_submit(run.run_id, [form], by=who) as stream:
        await stream.begin()
        async for event in stream:
            assert_type(event, Event)


def twice(inner: Completer) -> Completer:
    """Ask twice and keep the second answer, as a middleware would."""

    def completer(request: CompletionRequest) -> Flow[CompletionResponse]:
        yield from inner(request)
        reply = yield from ask(Complete(request))
        assert_type(reply, CompletionResponse)
        return reply

    return completer


def protocols_are_met() -> None:
    """The testing kit's provider is a provider, and a plain function is a middleware."""
    provider: Provider = ScriptedProvider("hello")
    layer: Middleware = twice
    Runtime(providers=[provider], middleware=[layer], tools=[bare])
