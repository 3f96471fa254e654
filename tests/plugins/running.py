"""Runs a prompt through a Runtime to its end, in either colour, whole or streamed."""

from __future__ import annotations

import asyncio
from typing import Any

from nr_llm.runs import RunResult
from nr_llm.runtime import Runtime

PROMPT = "2*1?"


def ran(runtime: Runtime, *, colour: str, **settings: Any) -> RunResult:
    """Return the result of a run, and close the Runtime."""
    with runtime:
        outcome = runtime.run(PROMPT, **settings) if colour == "sync" else asyncio.run(runtime.arun(PROMPT, **settings))
    assert isinstance(outcome, RunResult)
    return outcome


def watched(runtime: Runtime, *, colour: str, **settings: Any) -> list[Any]:
    """Return the events of a run, and close the Runtime."""
    with runtime:
        if colour == "sync":
            with runtime.stream(PROMPT, **settings) as stream:
                return list(stream)

        async def drain() -> list[Any]:
            async with runtime.astream(PROMPT, **settings) as stream:
                return [event async for event in stream]

        return asyncio.run(drain())
