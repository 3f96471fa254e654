"""What a REPL and a failing test show of a value is what was set in it."""

from __future__ import annotations

import attrs
from nr_llm import (
    ChatMessage,
    CompletionResponse,
    FinishReason,
    Limits,
    Options,
    PendingCall,
    RunResult,
    RunState,
    RunStep,
    Runtime,
    StepKind,
    ToolCall,
    Usage,
)
from nr_llm._shown import shown
from nr_llm.testing import ScriptedProvider


def test_defaults_are_left_out() -> None:
    """Words of an enumeration are shown as texts."""
    call = ToolCall("c1", "look", {"at": "it"})

    assert repr(ChatMessage.user("hi")) == "ChatMessage(role='user', content='hi')"
    assert repr(call) == "ToolCall(id='c1', name='look', arguments={'at': 'it'})"
    assert repr(ChatMessage.tool_result("c1", "no", is_error=True)).endswith("tool_call_id='c1', is_error=True)")
    assert repr(Options()) == "Options()"
    assert repr(Limits(rounds=2)) == "Limits(rounds=2)"
    assert repr(RunState(run_id="r", model="m")) == "RunState(run_id='r', model='m')"
    assert repr(PendingCall(index=0, call=call)).endswith("arguments={'at': 'it'}))")
    assert repr(Usage(3)) == "Usage(input_tokens=3)"
    assert repr(RunStep(kind=StepKind.LLM, round=1)) == "RunStep(kind='llm', round=1)"
    assert repr(CompletionResponse(finish_reason=FinishReason.LENGTH, raw={"a": 1})) == (
        "CompletionResponse(finish_reason='length')"
    )


def test_what_is_shown_makes_the_value() -> None:
    """A value is copied out of a log into a test."""
    message = ChatMessage.assistant_tool_calls([ToolCall("c1", "look", {})], "I look.")
    names = {"ChatMessage": ChatMessage, "ToolCall": ToolCall}

    assert eval(repr(message), names) == message


def test_a_result_has_no_noise() -> None:
    """The first thing a newcomer sees."""
    result = Runtime(providers=[ScriptedProvider("Hello!")], model="scripted:").run("hi", run_id="r1")

    assert isinstance(result, RunResult)
    assert repr(result) == (
        "RunResult(content='Hello!', messages=(ChatMessage(role='user', content='hi'), "
        "ChatMessage(role='assistant', content='Hello!')), invocations=(), usage=Usage(), rounds=1, "
        "reason='completed', truncated=False, run_id='r1')"
    )


def test_a_field_that_shows_itself_otherwise_does() -> None:
    """As bytes do, which are counted; a hidden field stays hidden."""

    @attrs.frozen(repr=False)
    class File:
        __repr__ = shown

        data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
        secret: str = attrs.field(default="", repr=False)

    assert repr(File(b"abc", "tiger")).endswith("File(data=<3 bytes>)")
