"""Uses the public API as a typed program would; mypy checks this file and nothing runs it."""

from __future__ import annotations

from typing import assert_type

from nr_llm import (
    ChatMessage,
    Role,
    Tool,
    ToolArtifact,
    ToolCall,
    ToolContext,
    ToolResult,
    tool,
)


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
