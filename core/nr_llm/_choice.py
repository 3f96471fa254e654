"""Turns a choice of tools into a toolbox; where tools, providers and models are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from nr_llm._observers import ObserverFactory
from nr_llm.aliases import ModelAlias
from nr_llm.configurations import Configuration
from nr_llm.errors import InvalidValueError, UnknownNameError
from nr_llm.plugins import RegisteredProvider, RegisteredTool
from nr_llm.policy import Gate, Policy
from nr_llm.redaction import Redactor
from nr_llm.toolbox import Toolbox
from nr_llm.tools import Tool

ToolChoice: TypeAlias = str | Tool | Callable[..., Any]
"""A tool's name, ``@group``, ``plugin:tool``, a tool, or a typed function."""


class Source(Protocol):
    """Where a Runtime finds what plugins contribute: `PluginHost`."""

    redactor: Redactor

    def tools(self) -> Sequence[RegisteredTool]:
        """Return every tool, each under the name a model would use."""

    def tool(self, name: str) -> RegisteredTool:
        """Return one tool, also by ``plugin:tool``."""

    def provider(self, name: str) -> RegisteredProvider:
        """Return a provider by name."""

    def models(self) -> Mapping[str, ModelAlias]:
        """Return what models are called here, by alias."""

    def model(self, name: str) -> ModelAlias | None:
        """Return what an alias stands for, or None if there is none of that name."""

    @property
    def default_model(self) -> str | None:
        """The model of runs that name none, or None."""

    def configurations(self) -> Mapping[str, Configuration]:
        """Return the configurations that can be used, by name."""

    def configuration(self, name: str) -> Configuration:
        """Return a configuration by name."""

    @property
    def default_configuration(self) -> str | None:
        """The configuration of runs that name none, or None."""

    @property
    def policy(self) -> Policy:
        """What the operator says about tools and providers."""

    def observers(self) -> Sequence[ObserverFactory]:
        """Return the observers of plugins that are to watch the runs."""

    def close(self) -> None:
        """Close what was opened."""


def listed(tools: ToolChoice | Iterable[ToolChoice]) -> tuple[ToolChoice, ...]:
    """
    Return a choice of tools as a tuple; a single tool is a choice of one.

    Raises:
        InvalidValueError: It is none.
    """
    given: Any = tools
    if isinstance(given, str) or callable(given):
        return (given,)
    if not isinstance(given, Iterable):
        raise InvalidValueError(f"must be names, tools or functions, not a {type(given).__name__}", path="tools")
    return tuple(given)


def choose(
    registered: Mapping[str, Tool],
    tools: ToolChoice | Iterable[ToolChoice] | None,
    *,
    find: Callable[[str], str],
    gate: Gate,
) -> Toolbox:
    """
    Return the tools that are chosen for a run, as yet unjudged.

    Args:
        registered: Every tool the host has, by the name a model would use.
        tools: What the caller chose; None for the default set.
        find: Returns the name a model would use for a name that is not registered, such as ``plugin:tool``.
        gate: Says which tools are in the default set, and which of those that are off by themselves are switched on.

    Raises:
        UnknownNameError: A name is nobody's.
        InvalidValueError: Two different tools would have one name.
    """
    if tools is None:
        return Toolbox(registered, tuple(name for name, tool in registered.items() if gate.usual(name, tool)))
    known, names = dict(registered), list[str]()
    for item in listed(tools):
        if isinstance(item, str):
            names.extend(_names(item, registered, find, gate=gate))
            continue
        tool = item if isinstance(item, Tool) else Tool.from_function(item)
        if tool.name in names and known[tool.name] is not tool:
            raise InvalidValueError(f"two tools are named {tool.name!r}", path="tools")
        known[tool.name] = tool
        names.append(tool.name)
    return Toolbox(known, tuple(dict.fromkeys(names)))


def _names(text: str, registered: Mapping[str, Tool], find: Callable[[str], str], *, gate: Gate) -> Sequence[str]:
    if text.startswith("@"):
        group = text.removeprefix("@")
        members = [(name, tool) for name, tool in registered.items() if tool.group == group]
        # One that is switched off is chosen all the same, so that the record says why it is closed.
        if found := [name for name, tool in members if tool.enabled or gate.on(name, tool)]:
            return found
        groups = {tool.group for tool in registered.values() if tool.group}
        raise UnknownNameError("tool group", group, known=groups)
    return [text if text in registered else find(text)]
