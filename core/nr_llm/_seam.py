"""
The one seam every tool call passes, whoever makes it: admitted, validated, run elsewhere, bounded.

Pure: what comes between `admit` and `received` is the only coloured part.  An exception's text reaches neither
model nor trace, since it may hold anything; its type and the run's id do, and the log has the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from nr_llm.bounds import bound_arguments, bound_result, bound_text
from nr_llm.errors import InvalidValueError, RunCancelledError, ToolError, similar
from nr_llm.limits import Limits
from nr_llm.messages import ToolCall
from nr_llm.results import ToolResult
from nr_llm.toolbox import Toolbox
from nr_llm.tools import Tool

NAMES_LISTED = 20
"""Tools an error names; a longer list would drown the hint."""


@attrs.frozen(eq=False)
class Admitted:
    """A call that may run: its tool, and the keyword arguments."""

    call: ToolCall
    tool: Tool
    arguments: dict[str, Any]


def admit(call: ToolCall, toolbox: Toolbox, *, limits: Limits) -> Admitted | ToolResult:
    """Return the call ready to run, or the error turn that tells the model why it is not."""
    tool = toolbox.get(call.name)
    if tool is None:
        return ToolResult.error(_unusable(call.name, toolbox))
    if call.malformed is not None:
        return ToolResult.error(_malformed(call))
    if call.arguments and (excess := bound_arguments(call.arguments, limit=limits.argument_bytes)):
        return ToolResult.error(f"Tool {call.name!r} was not called: {excess}.")
    try:
        return Admitted(call, tool, tool.structure(call.arguments))
    except InvalidValueError as error:
        text = error.for_model() if hasattr(error, "for_model") else str(error)
        return ToolResult.error(bound_text(f"Tool {call.name!r} was not called: {text}", limit=4_000))


def _unusable(name: str, toolbox: Toolbox) -> str:
    shown = bound_text(name, limit=100, noun="name")
    if not toolbox.offered:
        return f"There is no tool named {shown!r}, and this run has no tools."
    close = similar(name, toolbox.offered)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    names = ", ".join(toolbox.offered[:NAMES_LISTED])
    return f"There is no tool named {shown!r}; it was not called.{hint} The tools are: {names}."


def not_permitted(name: str) -> ToolResult:
    """Return the error turn for a tool that is there and not for this run, which is all a model learns of it."""
    shown = bound_text(name, limit=100, noun="name")
    return ToolResult.error(f"Tool {shown!r} is not permitted in this run; it was not called.")


def _malformed(call: ToolCall) -> str:
    shown = bound_text(call.malformed or "", limit=500, noun="text")
    cut = not shown or shown.lstrip().startswith(("{", "null"))  # what is left of an answer that was cut
    hint = " If the answer was cut at its limit of tokens, send less in one call." if cut else ""
    return (
        f"Tool {call.name!r} was not called: its arguments are no complete JSON object. "
        f"Send them again as one JSON object.{hint} Received: {shown}"
    )


def received(admitted: Admitted, value: object, *, mask: Callable[[str], str], limits: Limits) -> ToolResult:
    """
    Return what a tool returned as a bounded result, or the error turn for a value that is none.

    Args:
        admitted: The call.
        value: What the tool returned.
        mask: Takes the secrets the host knows out of the content; they are none of the model's business.
        limits: The run's bounds.
    """
    if isinstance(value, str):
        value = ToolResult.text(value)
    if type(value) is not ToolResult:  # it has no subclasses, and some objects lie about their class
        kind = type(value).__name__
        return ToolResult.error(
            f"Tool {admitted.tool.name!r} returned a {kind} instead of text; its author has to fix it."
        )
    if (masked := mask(value.content)) is not value.content:
        value = ToolResult.error(masked) if value.is_error else ToolResult.text(masked, *value.artifacts)
    return bound_result(value, limit=_limit(admitted.tool, limits))


def failed(
    admitted: Admitted, error: BaseException, *, mask: Callable[[str], str], limits: Limits, run_id: str
) -> ToolResult:
    """Return the error turn for what a tool raised; `mask` as for `received`."""
    if isinstance(error, ToolError):
        return bound_result(ToolResult.error(mask(str(error))), limit=_limit(admitted.tool, limits))
    if isinstance(error, RunCancelledError):
        return ToolResult.error(f"Tool {admitted.tool.name!r} stopped: the run no longer waits for it.")
    kind = bound_text(type(error).__name__, limit=100)
    where = f" in run {run_id}" if run_id else ""
    return ToolResult.error(
        f"Tool {admitted.tool.name!r} failed with {kind}{where}. The details are in the host's log."
    )


def timed_out(tool: Tool) -> ToolResult:
    """Return the error turn for a tool that took too long."""
    return _given_up(tool, f"Tool {tool.name!r} timed out after {tool.timeout:g} seconds")


def out_of_time(tool: Tool) -> ToolResult:
    """Return the error turn for a tool that still ran when its run's time was used up."""
    return _given_up(tool, f"Tool {tool.name!r} was given up: the run's time is used up")


def _given_up(tool: Tool, text: str) -> ToolResult:
    if tool.writes:
        return ToolResult.error(f"{text}; its outcome is unknown. Do not repeat it without checking.")
    return ToolResult.error(f"{text}.")


def _limit(tool: Tool, limits: Limits) -> int:
    return limits.result_bytes if tool.result_bytes is None else min(limits.result_bytes, tool.result_bytes)
