"""Values that are none are refused where they are given, by path, and with an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from nr_llm import (
    Attachment,
    ChatMessage,
    CompletionResponse,
    ConfigurationError,
    InvalidSchemaError,
    InvalidValueError,
    Options,
    PendingCall,
    RunState,
    RunStep,
    Runtime,
    Tool,
    ToolCall,
    ToolSpec,
    Usage,
)
from nr_llm._selection import select
from nr_llm.config import Config
from nr_llm.limits import DESCRIPTION_BYTES
from nr_llm.testing import ScriptedProvider


def say(what: str = "") -> str:
    """Say it."""
    return what


OWN = Runtime(providers=[ScriptedProvider("x")], model="scripted:")


@pytest.mark.parametrize(
    ("make", "path", "rule"),
    [
        (lambda: ChatMessage("tool", "x", tool_call_id="c", is_error="yes"), "is_error", "True or False, not a str"),
        (lambda: ChatMessage("assistant", "x", reasoning={1: "t"}), "reasoning", "key 1 is no string"),
        (lambda: ChatMessage("assistant", "x", reasoning=["t"]), "reasoning", "must be a mapping"),
        (lambda: ChatMessage("user", "x", attachments=None), "attachments", "must be attachments"),
        (lambda: Attachment("image/png", url=5), "attachment.url", "must be a string, not a int"),
        (lambda: Attachment("image/png", b"x", name=5), "attachment.name", "must be a string, not a int"),
        (lambda: ToolCall.from_wire(5), "", "a call must be a mapping, not a int"),
        (lambda: ToolSpec.from_wire(5), "", "a tool must be a mapping, not a int"),
        (lambda: CompletionResponse(finish_reason="weird"), "finish_reason", "is none of stop, tool_calls"),
        (lambda: CompletionResponse(usage=None), "usage", "must be Usage, not NoneType"),
        (lambda: Usage("12"), "usage", "'12' is no number of tokens"),
        (lambda: Usage(True), "usage", "True is no number of tokens"),
        (lambda: Usage(float("inf")), "usage", "inf is no number of tokens"),
        (lambda: Usage(10**5000), "usage", "beyond every count"),
        (lambda: RunStep(kind="nap", round=1), "kind", "is none of context, request"),
        (lambda: PendingCall(index=0, call=ToolCall("c", "n"), verdict="maybe"), "verdict", "is none of unasked"),
        (lambda: RunState(run_id="r", model="m", reason="tired"), "reason", "is none of completed"),
        (lambda: Tool.from_schema("f", "", [], say), "parameters", "must be a mapping, not a list"),
        (lambda: Tool.from_schema("f", None, {}, say), "description", "must be a string, not a NoneType"),
        (lambda: Tool.from_schema("f", "", {}, 5), "function", "must be a function, not a int"),
        (lambda: Tool.from_function(say, effect="delete"), "effect", "is none of read, idempotent_write, write"),
        (lambda: Tool.from_function(say, examples=["abc"]), "examples[0]", "must be a mapping"),
        (lambda: Options(stop=5), "stop", "one string or several"),
        (lambda: OWN.run("x", tools=5), "tools", "must be names, tools or functions, not a int"),
        (lambda: OWN.complete("x", tools=0.5), "tools", "must be names, tools or functions, not a float"),
        (lambda: OWN.run("x", attachments=5), "attachments", "must be attachments, not a int"),
        (lambda: OWN.run("x", dry_run="no"), "dry_run", "must be bool, not str"),
    ],
)
def test_refused_by_path(make: Callable[[], Any], path: str, rule: str) -> None:
    """The error is an `InvalidValueError` that says where and what."""
    with pytest.raises(InvalidValueError) as caught:
        make()

    assert path == caught.value.path
    assert rule in str(caught.value)


def test_a_schema_that_is_none_is_the_tool_authors() -> None:
    """It is an `InvalidSchemaError`, as every schema that cannot be used."""
    with pytest.raises(InvalidSchemaError, match="must be a mapping, not a list"):
        Tool.from_schema("f", "", ["x"], say)


def test_a_call_that_is_no_mapping_is_none_where_asked_so() -> None:
    """What a service sends in a call's place is passed over like a call without a name."""
    assert ToolCall.try_from_wire("text") is None


def test_a_model_that_is_no_text() -> None:
    """The text says how a model is named."""
    with pytest.raises(ConfigurationError, match="5 names no model"):
        OWN.run("x", model=5)


def test_whole_numbers_of_tokens() -> None:
    """A service that counts in floats is understood."""
    assert Usage(12, 3) == Usage(12.0, 3)


def test_a_long_description_is_cut() -> None:
    """A stranger's description takes no more of each request than its bound, and says that it was cut."""
    made = Tool.from_function(say, description="ü" * DESCRIPTION_BYTES)

    assert DESCRIPTION_BYTES - 1 <= len(made.description.encode()) <= DESCRIPTION_BYTES
    assert made.description.endswith("description cut to 8,192 bytes")
    assert made.description == made.spec.description
    assert "x" * DESCRIPTION_BYTES == Tool.from_function(say, description="x" * DESCRIPTION_BYTES).description


def test_a_single_name_is_a_list_of_one() -> None:
    """A text among the lists of distributions is a name, not the names of its letters."""
    chosen = select("NR_LLM.Tools", "other", environ={}, config=Config())

    assert (frozenset({"nr-llm-tools"}), {"other"}) == (chosen.allow, set(chosen.deny))
