"""A small world for generated runs: tools of every kind, models that ask for anything, and what really happened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import attrs
from hypothesis import strategies as st
from nr_llm import (
    ChatMessage,
    CompletionRequest,
    CompletionResponse,
    Role,
    Tool,
    ToolArtifact,
    ToolContext,
    ToolError,
    ToolResult,
    Usage,
    check_pairs,
)
from nr_llm.testing import calling

Call = tuple[str, dict[str, Any]]
Script = Sequence[Sequence[Call]]
"""The calls of each turn; after the last one the model answers."""

WRITES = frozenset({"write", "awrite"})
NAMES = ("read", "aread", "write", "awrite", "put", "alone", "boom", "refuse", "flood", "odd", "picture", "nobody")
ARGUMENTS: list[dict[str, Any]] = [{}, {"n": 1}, {"n": "2"}, {"n": "many"}, {"bogus": 1}]

calls = st.tuples(st.sampled_from(NAMES), st.sampled_from(ARGUMENTS))
scripts: st.SearchStrategy[Script] = st.lists(st.lists(calls, min_size=1, max_size=4), max_size=3)


@attrs.define(eq=False)
class World:
    """
    What happened outside of the runs.

    Attributes:
        entered: Ids of the calls whose function began, in order.
        left: Ids of those whose function returned or raised.
        at: Called with the number of functions that began, as each begins.
    """

    entered: list[str] = attrs.field(factory=list)
    left: list[str] = attrs.field(factory=list)
    at: Callable[[int], object] = lambda number: None
    lock: threading.Lock = attrs.field(factory=threading.Lock)

    def happen(self, context: ToolContext, result: Any) -> Any:
        """Begin a call, end it."""
        with self.lock:
            self.entered.append(context.call_id)
            number = len(self.entered)
        try:
            self.at(number)
            if isinstance(result, BaseException):
                raise result
            return result
        finally:
            self.left.append(context.call_id)

    @property
    def tools(self) -> list[Tool]:
        """Tools of every kind; each result tells its arguments and nothing else."""
        picture = ToolArtifact.table("picture", ["n"], [[1]])
        made = {
            "read": lambda n: f"read {n}",
            "write": lambda n: f"wrote {n}",
            "put": lambda n: f"put {n}",
            "alone": lambda n: f"alone {n}",
            "boom": lambda n: LookupError("in the tool"),
            "refuse": lambda n: ToolError("not now"),
            "flood": lambda n: "x" * 60_000,
            "odd": lambda n: None,
            "picture": lambda n: ToolResult.text("a picture", picture),
        }
        effects = {"write": "write", "put": "idempotent_write"}
        blocking = [
            self._tool(name, make, effect=effects.get(name, "read"), exclusive=name == "alone")
            for name, make in made.items()
        ]
        return [*blocking, self._async_tool("aread", "read"), self._async_tool("awrite", "write")]

    def _tool(self, name: str, make: Callable[[int], Any], **settings: Any) -> Tool:
        def function(context: ToolContext, n: int = 0) -> str:
            """Happen."""
            return self.happen(context, make(n))  # type: ignore[no-any-return]

        return Tool.from_function(function, name=name, approval=False, **settings)

    def _async_tool(self, name: str, effect: str) -> Tool:
        async def function(context: ToolContext, n: int = 0) -> str:
            """Happen later."""
            await asyncio.sleep(0)
            return self.happen(context, f"{name} {n}")  # type: ignore[no-any-return]

        return Tool.from_function(function, name=name, approval=False, effect=effect)


def model(script: Script) -> Callable[[CompletionRequest], CompletionResponse]:
    """Return a model that knows from the conversation how far it is, and so can be asked again after a restart."""

    def reply(request: CompletionRequest) -> CompletionResponse:
        turn = sum(message.role is Role.ASSISTANT for message in request.messages)
        if turn < len(script):
            return calling(*script[turn], content=f"turn {turn}", usage=Usage(10, 2))
        return CompletionResponse(content="the answer", usage=Usage(10, 2))

    return reply


def answers(messages: Sequence[ChatMessage]) -> dict[str, str]:
    """Return what each call of a valid history was answered, by id; an invalid one raises."""
    check_pairs(messages)
    return {message.tool_call_id or "": message.content for message in messages if message.role is Role.TOOL}


def named(messages: Sequence[ChatMessage]) -> dict[str, str]:
    """Return the tool of each call, by id."""
    return {call.id: call.name for message in messages for call in message.tool_calls or ()}
