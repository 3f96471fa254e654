"""The benchmark's adapter for nr-llm: run with ``--client nr-llm=tests/bench/nr_llm_client.py@PYTHON``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _common
from _common import start_messages, take_received
from nr_llm import ChatMessage, Limits, Runtime, TextDelta, Tool, ToolCall, as_messages, tool
from nr_llm._json import decode, encode
from nr_llm_openai import OpenAI


@tool
def add(a: int, b: int) -> str:
    """
    Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return str(_common.add(a, b))


@tool
def read(path: str) -> str:
    """
    Read a file.

    Args:
        path: The file's path.
    """
    return _common.read(path)


@tool
def echo(text: str) -> str:
    """
    Count the characters of a text.

    Args:
        text: The text.
    """
    return str(_common.echo(text))


@tool
def work(i: int) -> str:
    """
    Do a unit of work.

    Args:
        i: The unit's number.
    """
    return str(_common.work(i))


async def _awork(i: int) -> str:
    """
    Do a unit of work.

    Args:
        i: The unit's number.
    """
    return str(await _common.awork(i))


awork = tool(name="work")(_awork)
TOOLS = {"loop": [add], "fat": [read], "stream-tools": [echo], "big": [add], "stream": [add], "parallel": [work]}


class Client:
    """Runs the scenarios with every check on: validation, bounds, records, threads for blocking tools."""

    def __init__(self, base_url: str, **settings: Any) -> None:
        self._runtime = Runtime(
            providers=[OpenAI(base_url=base_url, api_key="sk-none")],
            limits=Limits(rounds=1000, parallel_calls=32),
            **settings,
        )

    def _settings(self, model: str, parallel: Tool | None = None) -> dict[str, Any]:
        tools = TOOLS[model.rpartition("-")[0]] if parallel is None else [parallel]
        return {"model": f"openai:{model}", "tools": tools}

    def loop(self, model: str) -> str:
        """Run to the end, blocking."""
        return self._runtime.run(start_messages(), **self._settings(model)).content

    async def aloop(self, model: str) -> str:
        """Run to the end, awaiting."""
        return (await self._runtime.arun(start_messages(), **self._settings(model))).content

    async def aparallel(self, model: str) -> str:
        """Run async tools at the same time."""
        return (await self._runtime.arun(start_messages(), **self._settings(model, awork))).content

    def parallel_sync_tools(self, model: str) -> str:
        """Run blocking tools at the same time."""
        return self._runtime.run(start_messages(), **self._settings(model)).content

    def stream(self, model: str) -> int:
        """Count the characters of a streamed answer."""
        with self._runtime.stream(start_messages(), **self._settings(model)) as stream:
            return sum(len(event.text) for event in stream if isinstance(event, TextDelta))

    async def astream(self, model: str) -> int:
        """Count the characters of a streamed answer, awaiting."""
        total = 0
        async with self._runtime.astream(start_messages(), **self._settings(model)) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    total += len(event.text)
        return total

    def stream_tools(self, model: str) -> int:
        """Count the characters a tool got from streamed arguments."""
        with self._runtime.stream(start_messages(), **self._settings(model)) as stream:
            for _ in stream:
                pass
        return take_received()

    def transcript(self) -> tuple[Callable[[int], Any], Callable[[Any], str], Callable[[str], Any]]:
        """Return how a conversation of many turns is built, written and read."""

        def build(turns: int) -> list[ChatMessage]:
            messages = list(as_messages(start_messages()))
            for i in range(turns):
                messages.append(ChatMessage.assistant_tool_calls([ToolCall(f"call_{i}", "add", {"a": i, "b": 1})]))
                messages.append(ChatMessage.tool_result(f"call_{i}", str(i + 1)))
            return messages

        def dump(messages: list[ChatMessage]) -> str:
            return encode([message.to_wire() for message in messages])

        def load(text: str) -> list[ChatMessage]:
            return [ChatMessage.from_wire(item) for item in decode(text)]  # type: ignore[union-attr,arg-type]

        return build, dump, load
