"""Calls one tool through the seam every run uses, without a run: for hand-written loops, command lines and servers."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import attrs

from nr_llm._calls import Job
from nr_llm._desk import Desk
from nr_llm._observers import Observers, RunInfo
from nr_llm._perform import Answer, Performer
from nr_llm._slots import Slots
from nr_llm._threads import DaemonThreads
from nr_llm.actors import Actor
from nr_llm.cancellation import Cancellation
from nr_llm.limits import Limits
from nr_llm.messages import ToolCall
from nr_llm.results import ToolResult
from nr_llm.state import PendingCall, RunState
from nr_llm.toolbox import Toolbox
from nr_llm.tools import Tool

if TYPE_CHECKING:
    from nr_llm._aperform import AsyncPerformer


def invoke(
    call: ToolCall,
    tools: Toolbox | Iterable[Tool],
    *,
    limits: Limits | None = None,
    actor: Actor | None = None,
    deps: Any = None,
    cancel: Cancellation | None = None,
) -> ToolResult:
    """
    Run one call as a run would: checked, validated, timed and bounded.

    Args:
        call: What the model asked for.
        tools: The tools it may use.
        limits: Bounds; only those of a single call apply.
        actor: On whose behalf; else of whom `tools` were chosen for, where it is a toolbox.
        deps: What the tool finds as ``context.deps``.
        cancel: Thrown to stop waiting.

    Returns:
        The bounded result; an error result for a call that was refused, failed or timed out.

    Raises:
        RunCancelledError: `cancel` was thrown.
    """
    desk = _desk(tools, limits, actor, deps, cancel)
    return call_one(Performer(desk, await_in_loop=_await_here), call)


async def ainvoke(
    call: ToolCall,
    tools: Toolbox | Iterable[Tool],
    *,
    limits: Limits | None = None,
    actor: Actor | None = None,
    deps: Any = None,
    cancel: Cancellation | None = None,
) -> ToolResult:
    """Run one call as a run would; the asynchronous twin of `invoke`."""
    from nr_llm._aperform import AsyncPerformer

    return await acall_one(AsyncPerformer(_desk(tools, limits, actor, deps, cancel)), call)


def call_one(performer: Performer, call: ToolCall) -> ToolResult:
    """Perform a batch of one call."""
    for item in performer.invoke((PendingCall(index=0, call=call),)):
        if isinstance(item, Answer):
            return item.value[0].result
    raise AssertionError("a batch ends with its answer")  # pragma: no cover


async def acall_one(performer: AsyncPerformer, call: ToolCall) -> ToolResult:
    """Perform a batch of one call; the asynchronous twin of `call_one`."""
    async with aclosing(performer.invoke((PendingCall(index=0, call=call),))) as items:
        async for item in items:
            if isinstance(item, Answer):
                return item.value[0].result
    raise AssertionError("a batch ends with its answer")  # pragma: no cover


def _desk(
    tools: Toolbox | Iterable[Tool], limits: Limits | None, actor: Actor | None, deps: Any, cancel: Cancellation | None
) -> Desk:
    run_id = uuid.uuid4().hex
    toolbox = tools if isinstance(tools, Toolbox) else Toolbox.of(tools)
    if actor is not None:  # whoever acts is judged, whoever the tools were chosen for
        toolbox = attrs.evolve(toolbox, gate=toolbox.gate.of(actor))
    return Desk(
        run_id=run_id,
        toolbox=toolbox,
        limits=limits or Limits(),
        threads=DaemonThreads(idle_seconds=0.0),
        slots=Slots(),
        observers=Observers((), RunInfo(run_id=run_id, model=""), logging.getLogger("nr_llm")),
        last=RunState(run_id=run_id, model=""),
        cancelled=cancel or Cancellation(),
        actor=toolbox.gate.actor,
        deps=deps,
    )


def _await_here(awaitable: Awaitable[Any], job: Job) -> Any:
    """Await what an async tool returned, in the worker thread that called it."""
    import asyncio

    async def main() -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        job.give_up = lambda: loop.call_soon_threadsafe(task.cancel)
        if job.cancelled.cancelled:  # given up before there was a task to cancel
            task.cancel()
        return await awaitable

    return asyncio.run(main())
