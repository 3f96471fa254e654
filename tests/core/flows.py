"""Drives a flow by hand, as data: what a test answers is all that happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nr_llm import (
    CallOutcome,
    ChatMessage,
    Complete,
    CompletionResponse,
    Invoke,
    Limits,
    Plan,
    Record,
    RunState,
    RunStep,
    Tool,
    Toolbox,
    ToolResult,
    Wait,
    tool_loop,
)

Replies = Sequence[CompletionResponse | Exception]


def state(prompt: str = "How many?", **fields: Any) -> RunState:
    """Return the state of a new run."""
    messages = fields.pop("messages", (ChatMessage.user(prompt),))
    return RunState(run_id="run", model="scripted:m", messages=messages, start=len(messages), **fields)


def plan(*tools: Tool, **settings: Any) -> Plan:
    """Return a plan that offers `tools`."""
    return Plan(toolbox=Toolbox.of(tools), model="m", **settings)


def text(content: str, **fields: Any) -> CompletionResponse:
    """Return a plain answer."""
    return CompletionResponse(content=content, **fields)


class Driven:
    """A flow driven to its end; what it asked for, in order."""

    def __init__(
        self,
        flow: Any,
        replies: Iterator[CompletionResponse | Exception] | Replies,
        *,
        invoke: Callable[[Any], ToolResult] = lambda pending: ToolResult.text(f"ran {pending.call.name}"),
    ) -> None:
        self.effects: list[Any] = []
        self.replies = iter(replies)
        self.invoke = invoke
        self.outcome = self._drive(flow)

    def _drive(self, flow: Any) -> Any:
        try:
            effect = next(flow)
            while True:
                self.effects.append(effect)
                answer = self._answer(effect)
                effect = flow.throw(answer) if isinstance(answer, Exception) else flow.send(answer)
        except StopIteration as stop:
            return stop.value

    def _answer(self, effect: Any) -> Any:
        match effect:
            case Complete():
                return next(self.replies)
            case Invoke(calls):
                return tuple(CallOutcome(self.invoke(pending)) for pending in calls)
            case Record() | Wait():
                return None
        raise AssertionError(effect)

    @property
    def steps(self) -> list[RunStep]:
        """The steps recorded."""
        return [effect.step for effect in self.effects if isinstance(effect, Record) and effect.step is not None]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the steps recorded."""
        return [str(step.kind) for step in self.steps]

    @property
    def requests(self) -> list[Any]:
        """The requests made."""
        return [effect.request for effect in self.effects if isinstance(effect, Complete)]

    @property
    def checkpoints(self) -> list[RunState]:
        """The states recorded."""
        return [effect.state for effect in self.effects if isinstance(effect, Record)]

    @property
    def batches(self) -> list[list[str]]:
        """The names of the calls of each batch."""
        return [[p.call.name for p in effect.calls] for effect in self.effects if isinstance(effect, Invoke)]


def loop(replies: Replies, *tools: Tool, start: RunState | None = None, **settings: Any) -> Driven:
    """Run the loop on scripted replies."""
    invoke = settings.pop("invoke", None)
    limits = settings.pop("limits", Limits())
    begin = start or state(limits=limits, **settings.pop("state", {}))
    driven = {} if invoke is None else {"invoke": invoke}
    return Driven(tool_loop(begin, plan(*tools, **settings)), replies, **driven)
