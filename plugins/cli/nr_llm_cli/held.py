"""What a person sees of a call that waits: all that it is, so that nobody approves what they could not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
from nr_llm._gates import origins_of
from nr_llm._json import encode
from nr_llm.approvals import WaitingCall, WaitingRun, waiting_calls
from nr_llm.diffs import ADDED, PLACE, REMOVED
from nr_llm.policy import Gate
from nr_llm.previews import WITHHELD, CallPreview
from nr_llm.records import RunHead, RunStatus, StoredRun

from nr_llm_cli import render
from nr_llm_cli.blanks import keys_of
from nr_llm_cli.screen import exact

if TYPE_CHECKING:
    from nr_llm import PluginHost
    from nr_llm.actors import Actor
    from nr_llm.plugins import RegisteredTool
    from nr_llm.state import RunState

SHOWN: Final = 4_000
"""Characters of a call's arguments that are shown unless somebody asks for all: fifty lines of a usual terminal."""

Line: TypeAlias = tuple[str, Mapping[str, Any]]
"""A line and its style."""

_PLAIN: Final[Mapping[str, Any]] = {}
_DIM: Final[Mapping[str, Any]] = {"dim": True}
_NOTICE: Final[Mapping[str, Any]] = {"fg": "yellow"}
_MARKS: Final[Mapping[str, Mapping[str, Any]]] = {ADDED: {"fg": "green"}, REMOVED: {"fg": "red"}, PLACE: {"fg": "cyan"}}


def held_of(state: RunState) -> WaitingRun:
    """Return a suspended run of this process as one that waits, whether or not it is stored."""
    status = RunStatus.WAITING_FOR_INPUT if state.awaits_input else RunStatus.WAITING_FOR_APPROVAL
    run = StoredRun(head=RunHead(run_id=state.run_id, model=state.model), raw_status=str(status))
    return WaitingRun(run=run, calls=waiting_calls(state), state=state)


@attrs.frozen(eq=False)
class Sight:
    """
    Shows held calls to somebody.

    Attributes:
        tools: The tools there are now, with where they are from, by the name a model uses.
        gate: Decides what is open to whoever is shown them: a preview of a tool that is not is withheld.
    """

    tools: Mapping[str, RegisteredTool]
    gate: Gate

    @classmethod
    def of(cls, host: PluginHost, actor: Actor) -> Sight:
        """Return the sight of somebody on a host's tools."""
        found = host.tools()
        return cls({given.wire_name: given for given in found}, _gate(host, actor))

    def origin(self, name: str) -> str:
        """Return ``package==version`` of whoever brought a tool, or what stands for it."""
        given = self.tools.get(name)
        if given is None:
            return "not installed"
        return f"{given.distribution}=={given.version or '?'}" if given.distribution else f"the file {given.plugin}"

    @staticmethod
    def began_with(waiting: WaitingRun, name: str) -> str | None:
        """Return the package whose tool the run began with, as its record says, or None."""
        tools = waiting.run.head.provenance.get("tools")
        facts = tools.get(name) if isinstance(tools, Mapping) else None
        package = facts.get("package") if isinstance(facts, Mapping) else None
        return package if isinstance(package, str) else None

    def preview(self, waiting: WaitingRun, call: WaitingCall) -> CallPreview | None:
        """Return what a call would do, as its tool said when the turn was held, or None."""
        previews = () if waiting.state is None else waiting.state.previews
        found = next((one for one in previews if one.index == call.index), None)
        given = self.tools.get(call.call.name)
        if found is None or (given is not None and self.gate.decide(given.wire_name, given.tool).allowed):
            return found
        return CallPreview(index=call.index, tool=found.tool, lines=(WITHHELD,), failed=True)

    def lines(
        self, waiting: WaitingRun, call: WaitingCall, *, arguments: Mapping[str, Any] | None = None, whole: bool = False
    ) -> Iterator[Line]:
        """
        Yield a call as lines.

        Args:
            waiting: The run.
            call: The call.
            arguments: What somebody has changed its arguments to, or None.
            whole: Whether all is shown however long it is, with what is known of the call beside it.
        """
        name, given = call.call.name, self.tools.get(call.call.name)
        effect = "" if given is None else f", {given.tool.effect}"
        yield f"Call {call.index}: {exact(name)} ({exact(self.origin(name))}){effect}", {"bold": True}
        began = self.began_with(waiting, name)
        if began not in (None, self.origin(name)):
            yield f"  The run began with {exact(str(began))}.", _NOTICE
        if call.call.malformed is not None:
            yield f"  What the model wrote is no JSON object: {exact(encode(call.call.malformed))}", _NOTICE
        if arguments is not None:
            yield "  With changed arguments:", _NOTICE
        shown = call.call.arguments if arguments is None else arguments
        yield from ((f"  {line}", _PLAIN) for line in argument_lines(shown, most=None if whole else SHOWN))
        yield from self._would(waiting, call, changed=arguments is not None)
        yield from _asked_for(call)
        if whole:
            yield from ((f"  {line}", _DIM) for line in self._details(waiting, call))

    def _would(self, waiting: WaitingRun, call: WaitingCall, *, changed: bool) -> Iterator[Line]:
        preview = self.preview(waiting, call)
        if preview is None:
            return
        yield ("  Before the change it would:" if changed else "  It would:"), _DIM
        differs = any(line.startswith("@@") for line in preview.lines)
        for line in preview.lines:
            yield f"    {exact(line)}", (_MARKS.get(line[:1], _PLAIN) if differs else _PLAIN)

    def _details(self, waiting: WaitingRun, call: WaitingCall) -> Iterator[str]:
        given = self.tools.get(call.call.name)
        head = waiting.run.head
        yield f"digest: {call.digest}"
        yield f"run: {exact(head.run_id)}, model {exact(head.model)}" + (
            f", configuration {exact(head.configuration)}" if head.configuration else ""
        )
        if head.actor is not None:
            yield f"on behalf of: {exact(head.actor.id)}"
        if given is not None:
            yield f"tool: {exact(given.address)}"
            yield from (f"  {exact(line)}" for line in given.tool.description.splitlines())
        for other in waiting.calls:
            if not other.asked:
                yield f"runs beside it: {exact(other.call.name)} {exact(encode(dict(other.call.arguments)))}"


def _asked_for(call: WaitingCall) -> Iterator[Line]:
    """Yield what a person is asked to fill in, if anything."""
    if call.form is None:
        return
    yield "  It asks for:", _DIM
    yield from ((f"    {line}", _PLAIN) for line in keys_of(call.form))


def _gate(host: PluginHost, actor: Actor) -> Gate:
    """Return the gate of somebody who is shown things, to whom nothing is sent."""
    return Gate(policy=lambda: host.policy, actor=actor, origins=origins_of(host.tools()))


def argument_lines(arguments: Mapping[str, Any], *, most: int | None) -> Iterator[str]:
    """
    Yield a call's arguments as JSON, one per line, every character that cannot be seen escaped.

    Args:
        arguments: They.
        most: Characters that are shown; the last line says how many more there are.  None for all.
    """
    if not arguments:
        yield "(no arguments)"
    left = most
    for name, value in arguments.items():
        line = exact(f"{encode(name)}: {encode(value)}")
        if left is not None and len(line) > left:
            rest = sum(len(encode(one)) for one in list(arguments.values())[list(arguments).index(name) + 1 :])
            yield line[:left] + "…"
            yield f"… {render.count(len(line) - left + rest, 'more character')} NOT shown; d shows all"
            return
        left = None if left is None else left - len(line)
        yield line
