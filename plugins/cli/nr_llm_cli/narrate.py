"""Tells a run to the person who started it: rounds as they happen on stderr, the answer on stdout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nr_llm._json import encode
from nr_llm.artifacts import ArtifactType, ToolArtifact
from nr_llm.diffs import ADDED, NOTE, PLACE, REMOVED, diff_lines
from nr_llm.events import Event, ReasoningDelta, StepRecorded, TextDelta, ToolCallDelta, ToolProgress
from nr_llm.responses import Usage
from nr_llm.runs import Outcome, RunResult, Suspended, ToolInvocation
from nr_llm.state import RunState
from nr_llm.steps import RunStep, StepKind

from nr_llm_cli import render
from nr_llm_cli.console import Console
from nr_llm_cli.failures import Failure
from nr_llm_cli.screen import one_line
from nr_llm_cli.turn import About

RESULTS: Final = 3
"""Calls whose results are shown beside a small model's answer, the last ones: what its sentence rests on."""


class Narrator:
    """
    Tells a run to a person.

    Args:
        console: Where.
        stream: Whether an answer is shown while it is written; on a terminal only.
        told: Notices that were shown before and are not repeated.
    """

    def __init__(self, console: Console, *, stream: bool = True, told: set[str] | None = None) -> None:
        self._console = console
        self._live = stream and console.live
        self._told = set[str]() if told is None else told
        self._small = False
        self._shown = ""

    def begin(self, about: About) -> None:
        """Say which model answers, where, and whether the conversation leaves the machine."""
        self._small = about.notice is not None
        line = header(about)
        if line not in self._told:
            self._told.add(line)
            self._console.say(line, bold=True)
            if about.notice:
                self._console.say(one_line(about.notice), fg="yellow")
        self._console.wait(f"{about.model} …")

    def event(self, event: Event) -> None:
        """Show what is to be seen of an event."""
        match event:
            case TextDelta(text):
                self._text(text)
            case ReasoningDelta():
                self._console.wait("thinking …")
            case ToolCallDelta(name=str(name)):
                self._console.wait(f"{one_line(name, 60)} …")
            case ToolProgress(tool=tool, message=message):
                self._progress(tool, message)
            case StepRecorded(step):
                self._step(step)
            case _:
                pass

    def _text(self, text: str) -> None:
        if self._live:
            self._console.piece(text)
            self._shown += text

    def _progress(self, tool: str, message: str) -> None:
        if self._console.verbose:
            self._console.say(f"  {one_line(tool)}: {one_line(message, render.ARGUMENTS)}", dim=True)
        else:
            self._console.wait(f"{one_line(tool)}: {one_line(message, 60)}")

    def _step(self, step: RunStep) -> None:
        match step.kind:
            case StepKind.REQUEST if self._console.verbose:
                self._console.say(offered(step), dim=True)
            case StepKind.REQUEST if not self._console.moves:  # else nobody could tell a slow model from a dead one
                self._console.say(f"round {step.round}: asking …", dim=True)
            case StepKind.LLM:
                self._reply(step)
            case StepKind.TOOL:
                self._tool(step)
            case StepKind.POLICY:
                for line in render.policy_lines(step.policy or ()):
                    self._console.say(line, fg="yellow")
            case StepKind.ASSEMBLED:
                self._console.data("\n".join(assembled(step)))
            case _:
                pass
        if step.kind in {StepKind.REQUEST, StepKind.TOOL}:
            self._console.wait("…")

    def _reply(self, step: RunStep) -> None:
        calls = step.requested_tool_calls or ()
        if self._console.verbose and step.reasoning:
            self._console.say_all(render.excerpt(step.reasoning), indent="  ", dim=True)
        if calls and step.content and not self._live:  # said beside the calls, so no answer
            self._console.say_all(render.excerpt(step.content), indent="  ")
        if calls:
            self._shown = ""
        self._console.say(reply_line(step), dim=True)
        self._console.wait(", ".join(one_line(call.name, 60) for call in calls) + " …" if calls else "…")

    def _tool(self, step: RunStep) -> None:
        self._console.say(f"  {call_line(step)}", fg="red" if step.tool_is_error else "cyan")
        if step.tool_is_error:
            self._console.say_all(render.excerpt(step.tool_result or "", lines=4), indent="    ", fg="red")
        for artifact in step.tool_artifacts or ():
            show_artifact(self._console, artifact, most=render.ROWS)

    def finish(self, outcome: Outcome) -> None:
        """Write the answer, unless it was seen while it was written."""
        self._console.settle()
        if not isinstance(outcome, RunResult):
            self._waits(outcome)
            return
        if outcome.content and self._shown != outcome.content:
            self._console.data(outcome.content)
        if self._small:
            self._beside(outcome.invocations)
        if outcome.rounds > 1 or outcome.price is not None:
            self._console.say(total(outcome), dim=True)

    def _waits(self, suspended: Suspended) -> None:
        previews = {preview.index: preview for preview in suspended.state.previews}
        for waiting in suspended.pending:
            self._console.say(f"  waits: {one_line(waiting.call.name)} {render.arguments(waiting.call.arguments)}")
            shown = previews.get(waiting.index)
            self._console.say_all(map(one_line, shown.lines if shown else ()), indent="    ")

    def _beside(self, invocations: tuple[ToolInvocation, ...]) -> None:
        """
        Show what the tools said: a small model's sentence may be wrong where they are right.

        What was drawn as a table when the call ended is not repeated as text, but for the line that sums it up.
        """
        for call in [made for made in invocations if not made.is_error][-RESULTS:]:
            self._console.say(f"What {one_line(call.name)} returned:", bold=True)
            lines = render.excerpt(call.content)
            self._console.say_all(lines[:1] if call.artifacts else lines, indent="  ")

    def interrupt(self, state: RunState) -> None:  # noqa: ARG002 - a Reporter's
        """End the line; what was done is said by the error."""
        self._console.settle()

    def fail(self, failure: Failure, error: Exception) -> None:  # noqa: ARG002 - a Reporter's
        """End the line; what happened is said by the error."""
        self._console.settle()


def header(about: About) -> str:
    """Return the line that comes first."""
    way = "stays on this machine" if about.local else "leaves this machine"
    return f"Model {one_line(about.model)} at {one_line(about.host)}: the conversation {way}."


def offered(step: RunStep) -> str:
    """Return what a request holds, in one line."""
    messages = render.count(len(step.messages_sent or ()), "message")
    tools = ", ".join(step.tool_specs or ()) or "none"
    return one_line(f"round {step.round}: sending {messages}; tools: {tools}")


def reply_line(step: RunStep) -> str:
    """Return what a model call came to, in one line."""
    usage = Usage(input_tokens=step.input_tokens, output_tokens=step.output_tokens)
    calls = len(step.requested_tool_calls or ())
    parts = [render.duration(step.duration_ms), render.tokens(usage)]
    parts += [f"{step.attempts} attempts"] if step.attempts else []
    parts += (
        [f"asks for {render.count(calls, 'call')}"]
        if calls
        else [one_line(f"ends: {step.finish_detail or step.finish_reason}", 60)]
    )
    return f"round {step.round}: {', '.join(filter(None, parts))}"


def total(result: RunResult) -> str:
    """Return what a run came to, in one line."""
    calls = render.count(len(result.invocations), "call")
    used = render.tokens(result.usage)
    parts = [render.count(result.rounds, "round"), calls, used, render.cost(result.cost, result.price)]
    return f"total: {', '.join(filter(None, parts))}"


def call_line(step: RunStep) -> str:
    """Return a call and what it came to, in one line."""
    words: Mapping[str, Any] = step.tool_arguments or {}
    if step.tool_executed:
        took = f"{render.duration(step.duration_ms)}, {render.size(len((step.tool_result or '').encode()))}"
    else:
        took = "not executed"
    error = ", error" if step.tool_is_error and step.tool_executed else ""
    return f"{one_line(step.tool_name or '', 80)} {render.arguments(words)}  {took}{error}"


def assembled(step: RunStep) -> list[str]:
    """Return the first request as lines: what a dry run is for."""
    lines = [f"[{message.role}]\n{message.content}" for message in step.messages_sent or ()]
    return [*lines, f"[tools]\n{', '.join(step.tool_specs or ()) or 'none'}"]


def show_artifact(console: Console, artifact: ToolArtifact, *, most: int | None = None) -> None:
    """Draw an artifact for people; one of an unknown type is shown as JSON."""
    data = artifact.data
    console.say(f"    {one_line(artifact.label)}", bold=True)
    if artifact.type == ArtifactType.TABLE:
        console.table(data["columns"], data["rows"], most=most)
    elif artifact.type == ArtifactType.TEXT:
        console.say_all(render.excerpt(data["text"]) if most else data["text"].splitlines(), indent="    ")
    elif artifact.type == ArtifactType.DIFF:
        show_diff(console, data, most=most)
    else:
        console.say_all(render.excerpt(encode(data)), indent="    ")


def show_diff(console: Console, data: Mapping[str, Any], *, most: int | None = None) -> None:
    """Draw a diff, what is added in green and what is removed in red where there are colours."""
    lines = list(diff_lines(data))
    for mark, text in lines[:most]:
        line = text.replace("\n", "\\n")  # bounds refuse it, a store may hold anything
        console.say(f"    {line}", **_STYLES.get(mark, {}))
    if hidden := len(lines[most:]) if most else 0:
        console.say(f"    … {render.count(hidden, 'more line')}", dim=True)


_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    ADDED: {"fg": "green"},
    REMOVED: {"fg": "red"},
    PLACE: {"fg": "cyan"},
    NOTE: {"dim": True},
    "": {"bold": True},
}
