"""What a run begins with, as its record keeps it, and back: all a replay needs beside what was answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from nr_llm._answering import Answering
from nr_llm._json import JSON
from nr_llm._loop import Plan
from nr_llm.messages import ChatMessage
from nr_llm.outputs import output_of
from nr_llm.state import RunState
from nr_llm.toolbox import Toolbox
from nr_llm.tools import Tool
from nr_llm.window import Window

TOOL_FACTS: Final = ("effect", "exclusive", "approval", "remote", "result_bytes", "form")
"""What of a tool decides how its calls are run."""


def setting_of(
    state: RunState, plan: Plan, *, context: int | None = None, max_output: int | None = None
) -> dict[str, JSON]:
    """
    Return what a replay of a run needs beside its record.

    Args:
        state: The state the run begins with.
        plan: The tools and the model.
        context: The model's window in tokens, if known.
        max_output: Tokens it writes at most, if known.
    """
    answering = plan.answering
    tools: list[JSON] = [_facts(plan.toolbox.registered[name]) for name in plan.toolbox.offered]
    return {
        "state": attrs.evolve(state, messages=()).to_json(),
        "tools": tools,
        "context": context,
        "max_output": max_output,
        "native": None if answering is None else answering.native,
    }


def _facts(tool: Tool) -> dict[str, JSON]:
    facts = {name: value for name in TOOL_FACTS if (value := getattr(tool, name)) is not None}
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        **{name: value if isinstance(value, bool | int | dict) else str(value) for name, value in facts.items()},
        **({} if tool.preview is None else {"preview": True}),
    }


def begun(setting: Mapping[str, Any], said: Sequence[ChatMessage]) -> tuple[RunState, Plan]:
    """
    Return the state a run began with, and its tools and model: stand-ins that cannot be called.

    Args:
        setting: What `setting_of` gave.
        said: The conversation of the run; its beginning belongs to the state.
    """
    state = RunState.from_json({**setting["state"], "messages": []})
    state = attrs.evolve(state, messages=tuple(said[: state.start]))
    toolbox = Toolbox.of(_stand_in(**facts) for facts in setting["tools"])
    window = None
    if setting["context"] is not None:
        window = Window.of(setting["context"], max_tokens=state.options.max_tokens, max_output=setting["max_output"])
    answering = None
    if state.output is not None:
        answering = Answering.by(output_of(state.output), native=setting["native"], taken=toolbox.offered)
    model = state.model.partition(":")[2]
    return state, Plan(toolbox=toolbox, window=window, model=model, answering=answering)


def _stand_in(*, preview: bool = False, **facts: Any) -> Tool:
    return Tool.from_schema(function=_never, preview=_never if preview else None, **facts)


def _never(**_: Any) -> str:
    """Stand in for a tool; a replay takes its results from the record."""
    raise AssertionError("a replay calls no tool")  # pragma: no cover
