"""What a host knows of its plugins, as values: where each is from, what state it is in, what it brought."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import attrs

from nr_llm.providers import Provider
from nr_llm.tools import Tool

GROUP: Final = "nr_llm.tool"
"""The one entry-point group of plugins, whatever they bring."""

HOST: Final = "nr-llm"
"""The distribution plugins declare a version range of."""

FIRST_PARTY: Final = frozenset(
    {
        "nr-llm",
        "nr-llm-anthropic",
        "nr-llm-cli",
        "nr-llm-gemini",
        "nr-llm-local",
        "nr-llm-ollama",
        "nr-llm-openai",
        "nr-llm-playground",
        "nr-llm-sql",
        "nr-llm-store",
        "nr-llm-tools",
    }
)
"""The distributions of this project; a name that one of them and a stranger claim goes to it."""


class MisbuiltError(ValueError):
    """A plugin is not built as a plugin has to be; the text says what to change."""


class PluginState(StrEnum):
    """What has become of a plugin."""

    DISCOVERED = "discovered"
    """Found in the metadata; none of its code has run."""
    ACTIVE = "active"
    """Loaded."""
    SLOW = "slow"
    """Loaded, but it kept the host waiting."""
    DENIED = "denied"
    """Kept out by an allow- or deny-list; none of its code has run."""
    INCOMPATIBLE = "incompatible"
    """Made for another version of the host; none of its code has run."""
    CLASH = "clash"
    """Another plugin has its name, or is the same object."""
    FAILED = "failed"
    """It raised, or is not built as a plugin is; what had worked before stays."""


@attrs.frozen(kw_only=True)
class PluginRecord:
    """
    One plugin, as listed.

    Attributes:
        name: Its namespace: the entry point's name.
        distribution: The package it is from, or None for an object passed in code.
        version: The package's version, or None.
        origin: How it came here: ``index``, ``editable``, ``vcs``, ``archive``, ``folder``, ``unknown`` or ``code``.
        value: Where its object is, as ``module:object``.
        requires: Range of host versions it needs, or None.
        state: What has become of it.
        reason: Why, for people; empty when there is nothing to say.
        seconds: Time its code took so far; None before any ran.
        tools: Names of its tools, once asked for.
        providers: Names of its providers, once asked for.
        commands: Names of its commands, once asked for.
    """

    name: str
    distribution: str | None = None
    version: str | None = None
    origin: str = "code"
    value: str = ""
    requires: str | None = None
    state: PluginState = PluginState.DISCOVERED
    reason: str = ""
    seconds: float | None = None
    tools: tuple[str, ...] | None = None
    providers: tuple[str, ...] | None = None
    commands: tuple[str, ...] | None = None

    @property
    def first_party(self) -> bool:
        """Whether this project ships it."""
        return self.distribution in FIRST_PARTY

    @property
    def usable(self) -> bool:
        """Whether it is loaded or may be."""
        return self.state in _USABLE

    @property
    def label(self) -> str | None:
        """Distribution and version, as errors name them."""
        return f"{self.distribution} {self.version}" if self.distribution else None


_USABLE: Final = frozenset({PluginState.DISCOVERED, PluginState.ACTIVE, PluginState.SLOW})


@attrs.frozen(kw_only=True, eq=False)
class RegisteredTool:
    """
    A tool and where it is from.

    Attributes:
        tool: The tool, named as a model sees it.
        name: Its own name.
        plugin: The plugin that brought it.
        distribution: That plugin's package, or None for an object passed in code.
        version: That package's version.
    """

    tool: Tool
    name: str
    plugin: str
    distribution: str | None
    version: str | None

    @property
    def wire_name(self) -> str:
        """What a model calls it: its own name, or ``plugin__tool`` where another tool has that."""
        return self.tool.name

    @property
    def address(self) -> str:
        """``plugin:tool``, which names it whatever else is installed."""
        return f"{self.plugin}:{self.name}"


@attrs.frozen(kw_only=True, eq=False)
class RegisteredProvider:
    """
    A provider and where it is from.

    Attributes:
        provider: The provider.
        plugin: The plugin that brought it, or made it of a table.
        distribution: That plugin's package, or None for an object passed in code.
        version: That package's version.
        source: The file or plugin whose table describes it, or None for one that a plugin offers as it is.
    """

    provider: Provider
    plugin: str
    distribution: str | None
    version: str | None
    source: str | None = None

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.provider.name


@attrs.frozen(kw_only=True, eq=False)
class RegisteredCommand:
    """
    A command for the command line and where it is from.

    Attributes:
        command: A `click.Command`.
        name: The command's name.
        plugin: The plugin that brought it.
        distribution: That plugin's package, or None for an object passed in code.
        version: That package's version.
    """

    command: Any
    name: str
    plugin: str
    distribution: str | None
    version: str | None


@attrs.frozen(kw_only=True)
class Finding:
    """
    Something about the plugins that a person should know.

    Attributes:
        what: What is wrong, naming plugin or package.
        why: The reason.
        fix: What to do, as a sentence or a command.
        plugin: The plugin, or None.
        distribution: Its package, or None.
        serious: Whether something does not work; else it is a remark.
    """

    what: str
    why: str
    fix: str
    plugin: str | None = None
    distribution: str | None = None
    serious: bool = True
