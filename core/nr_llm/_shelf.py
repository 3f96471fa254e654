"""The tools there are, and what a run gets of them: chosen by whoever asks, granted, and judged by the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import attrs

from nr_llm._choice import Source, ToolChoice, choose, listed
from nr_llm._configured import granted
from nr_llm._gates import Known, PolicySource, read, readers_of
from nr_llm._models import Chosen
from nr_llm.actors import Actor
from nr_llm.configurations import Configuration
from nr_llm.errors import UnknownNameError
from nr_llm.policy import Gate, PolicyDecision
from nr_llm.toolbox import Toolbox, judge
from nr_llm.tools import Tool


def _listed(tools: ToolChoice | Iterable[ToolChoice] | None) -> tuple[ToolChoice, ...] | None:
    return None if tools is None else listed(tools)  # once: an iterator gives them once


@attrs.frozen(kw_only=True, eq=False)
class Wanted:
    """
    Who asks for tools, and for what.

    Attributes:
        tools: Names, ``@group``, ``plugin:tool``, tools or functions; None for the default set.
        actor: On whose behalf.
        reader: The model that reads what they return, or None where none does.
        configuration: What the run was given under one name, or None.
        strict: Whether a tool that is named and not granted is an error; else it is left out.
    """

    tools: tuple[ToolChoice, ...] | None = attrs.field(default=None, converter=_listed)
    actor: Actor | None = None
    reader: Chosen | None = None
    configuration: Configuration | None = None
    strict: bool = True


@attrs.frozen(kw_only=True, eq=False)
class Shelf:
    """
    The tools of a Runtime.

    Attributes:
        host: Where plugins' tools are, or None.
        own: The program's own, by name; they go before plugins'.
        policy: Returns what the operator says.
        model: Looks up an alias or ``provider:model``.
        known: Remembers the tools as the policy knows them.
    """

    host: Source | None
    own: Mapping[str, Tool]
    policy: PolicySource
    model: Callable[[str], Chosen]
    known: Known = attrs.field(factory=Known)

    def tools(self) -> Mapping[str, Tool]:
        """Return every tool there is, by the name a model would use."""
        found = () if self.host is None else self.host.tools()
        return {**{registered.wire_name: registered.tool for registered in found}, **self.own}

    def toolbox(self, wanted: Wanted) -> Toolbox:
        """Return the tools of a run; one that wants none loads no plugin and asks no policy."""
        if wanted.tools == ():
            return Toolbox({}, ())
        gate = self._gate(wanted)
        most = None if wanted.reader is None else wanted.reader.known.max_tools
        found = self._granted(wanted, gate, wanted.tools)
        chooses = wanted.configuration is not None and wanted.configuration.chooses
        return judge(found, gate, most=most, usual=wanted.tools is None and not chooses)

    def explain(self, wanted: Wanted, names: Iterable[str] | None = None) -> tuple[PolicyDecision, ...]:
        """Return what the policy says of tools by name, whether or not there are such; of all of them for None."""
        gate, tools = self._gate(wanted), self.tools()
        if wanted.configuration is not None and wanted.configuration.chooses:
            gate = attrs.evolve(gate, granted=frozenset(self._granted(wanted, gate, None).offered))
        return tuple(self._explained(name, tools, gate) for name in (tools if names is None else names))

    def _explained(self, name: str, tools: Mapping[str, Tool], gate: Gate) -> PolicyDecision:
        if name not in tools and ":" in name:
            name = gate.origins.at(name) or name
        return gate.decide(name, tools.get(name))

    def _gate(self, wanted: Wanted) -> Gate:
        read(self.policy)  # no run begins with one that cannot be read
        reader = None if wanted.reader is None else attrs.evolve(wanted.reader, configuration=wanted.configuration)
        readers = None if reader is None else readers_of(reader, self.model)
        found = () if self.host is None else self.host.tools()
        origins = self.known.origins(found, self.own)
        return Gate(policy=self.policy, actor=wanted.actor, readers=readers, origins=origins)

    def _granted(self, wanted: Wanted, gate: Gate, tools: ToolChoice | Iterable[ToolChoice] | None) -> Toolbox:
        registered = self.tools()

        def chosen(tools: ToolChoice | Iterable[ToolChoice] | None) -> Toolbox:
            return choose(registered, tools, find=self._find, gate=gate)

        if wanted.configuration is None or not wanted.configuration.chooses:
            return chosen(tools)
        return granted(wanted.configuration, tools, chosen, strict=wanted.strict)

    def _find(self, name: str) -> str:
        """Return the name a model would use for a name that no tool is registered under."""
        if self.host is None:
            raise UnknownNameError("tool", name, known=self.own)
        return self.host.tool(name).wire_name
