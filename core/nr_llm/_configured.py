"""What a configuration means to a run: its instruction, its tools, its bounds; a caller only narrows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import attrs

from nr_llm._choice import Source, ToolChoice, listed
from nr_llm.configurations import Configuration
from nr_llm.errors import ConfigurationError, InvalidValueError, UnknownNameError
from nr_llm.messages import ChatMessage, Role
from nr_llm.state import RunState
from nr_llm.toolbox import Toolbox

Choice: TypeAlias = ToolChoice | Iterable[ToolChoice] | None
"""What tools may be named by; None for the default set."""


def configured(name: str | None, usual: str | None, host: Source | None) -> Configuration | None:
    """
    Return the configuration of a run, or None if there is none.

    Args:
        name: What the caller names, or None.
        usual: What the Runtime names, or None; the host's default comes after it.
        host: Knows the configurations, or None if there are none.

    Raises:
        UnknownNameError: There is none of that name.
        ConfigurationError: It is wrong.
        InvalidValueError: It is no name.
    """
    given: object = name or usual or (None if host is None else host.default_configuration)
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidValueError(f"must be a name, not a {type(given).__name__}", path="configuration")
    if host is None:
        raise UnknownNameError(
            "configuration", given, remedy="Pass PluginHost(config=read_config(...)) to the Runtime."
        )
    return host.configuration(given)


def configured_again(state: RunState, host: Source | None) -> Configuration | None:
    """
    Return the configuration that a run began with, as it is now.

    Raises:
        ConfigurationError: It is gone or wrong; the run is named.
    """
    if state.configuration is None:
        return None
    try:
        return configured(state.configuration, None, host)
    except UnknownNameError as error:
        raise ConfigurationError(
            f"Run {state.run_id} began with the configuration {state.configuration!r}, which is gone.",
            remedy="Restore it; a run does not go on with other bounds than it began with.",
        ) from error


def bounded_again(state: RunState, configuration: Configuration | None) -> RunState:
    """Return a state whose limits are not above what the configuration says now."""
    return state if configuration is None else attrs.evolve(state, limits=configuration.clamp(state.limits))


def instructed(
    messages: tuple[ChatMessage, ...], system: str | None, configuration: Configuration | None
) -> tuple[ChatMessage, ...]:
    """Return a conversation with the configuration's instruction in front, unless it has one or the caller gave one."""
    if configuration is None or configuration.system is None or system is not None or messages[0].role is Role.SYSTEM:
        return messages
    return (ChatMessage.system(configuration.system), *messages)


def granted(
    configuration: Configuration, tools: Choice, make: Callable[[Choice], Toolbox], *, strict: bool = True
) -> Toolbox:
    """
    Return the tools of a run: what the configuration grants, of that what the caller wants.

    Args:
        configuration: One that chooses tools.
        tools: What the caller wants; None for all.
        make: Returns a toolbox of a choice.
        strict: Whether a tool that the caller names and the configuration does not grant is an error; else it is left
            out, as for a run that goes on after its configuration was narrowed.

    Raises:
        ConfigurationError: The configuration names a tool that nobody has, a file narrows it to tools it has not, or
            the caller names one.
    """
    of = f"Configuration {configuration.name!r}"
    found = _made(configuration.tools, make, f"{of}, {configuration.source}: tools")
    for narrowing in configuration.narrowings:
        wanted = _made(narrowing.tools, make, f"{of}, {narrowing.source}: tools")
        outside = _outside(found, wanted, narrowing.tools, make)
        if outside:
            raise ConfigurationError(
                f"{of}: {narrowing.source} is not trusted and adds {', '.join(outside)}.",
                remedy="Say it in your user configuration instead, or trust this project: nr-llm config trust.",
            )
        found = _both(found, wanted)
    if tools is None:
        return found
    wanted = make(tools)
    outside = _outside(found, wanted, tools, make) if strict else ()
    if outside:
        raise ConfigurationError(
            f"{of} ({configuration.source}) does not grant {', '.join(outside)}.",
            remedy=f"It grants {', '.join(found.offered) or 'no tools'}; a caller only narrows that.",
        )
    return _both(found, wanted)


def _made(tools: Choice, make: Callable[[Choice], Toolbox], place: str) -> Toolbox:
    try:
        return make(tools)
    except UnknownNameError as error:
        raise ConfigurationError(f"{place}: {error}", remedy="Correct it, or install what has it.") from error


def _both(granted: Toolbox, wanted: Toolbox) -> Toolbox:
    """Return the wanted among the granted tools, as they were granted: a caller's object cannot stand in for one."""
    names = tuple(name for name in granted.offered if name in wanted.offered and _same(granted, wanted, name))
    return Toolbox(granted.registered, names)


def _same(granted: Toolbox, wanted: Toolbox, name: str) -> bool:
    mine, theirs = granted.registered[name], wanted.registered[name]
    return mine is theirs or mine.function is theirs.function


def _outside(
    granted: Toolbox, wanted: Toolbox, tools: ToolChoice | Iterable[ToolChoice], make: Callable[[Choice], Toolbox]
) -> tuple[str, ...]:
    """Return the tools that were named one by one and are not granted; of a group only what is granted is meant."""
    if set(wanted.offered) == set(_both(granted, wanted).offered):
        return ()
    named = make([item for item in listed(tools) if not (isinstance(item, str) and item.startswith("@"))])
    inside = _both(granted, named).offered
    return tuple(name for name in named.offered if name not in inside)
