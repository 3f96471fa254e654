"""The tools of an installed distribution, found as a host finds them, each to be held to the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Unpack

from nr_llm._host import PluginHost
from nr_llm.plugins import PluginState
from nr_llm.testing.contract import Arguments, ContractSettings, check_tool
from nr_llm.tools import Tool


def installed_tools(distribution: str, *, settings: Mapping[str, object] | None = None) -> tuple[Tool, ...]:
    """
    Return the tools of an installed distribution, to parametrize a test of one's own.

    Args:
        distribution: Its name, as pip knows it.
        settings: For a plugin by name, values of its settings; nothing is read from files or the environment.

    Raises:
        AssertionError: It is not installed, declares no plugin, or a plugin of it does not work.
    """
    return _tools(_host(distribution, settings), distribution)


def check_installed(
    distribution: str,
    *,
    examples: Mapping[str, Arguments | Iterable[Arguments]] | None = None,
    settings: Mapping[str, object] | None = None,
    **contract: Unpack[ContractSettings],
) -> tuple[str, ...]:
    """
    Check that every tool of an installed distribution keeps the contract.

    Args:
        distribution: Its name, as pip knows it.
        examples: For a tool by name, arguments that must succeed.
        settings: For a plugin by name, values of its settings; nothing is read from files or the environment.
        **contract: Those of `ContractSettings`, for every tool.

    Returns:
        The names of the tools that were checked.

    Raises:
        AssertionError: It has no tools, a plugin of it does not work, or tools break the contract; the text lists all.
    """
    broken: list[str] = []
    with _host(distribution, settings) as host:
        tools = _tools(host, distribution)
        for tool in tools:
            try:
                check_tool(tool, (examples or {}).get(tool.name, ()), **contract)
            except AssertionError as error:
                broken.append(str(error))
    if broken or not tools:
        raise AssertionError("\n".join(broken) or f"Distribution {distribution!r} contributes no tools.")
    return tuple(tool.name for tool in tools)


def _host(distribution: str, settings: Mapping[str, object] | None) -> PluginHost:
    return PluginHost.discover(allow=[distribution], settings=settings or {}, environ={})


def _tools(host: PluginHost, distribution: str) -> tuple[Tool, ...]:
    own = [record for record in host.load() if record.state is not PluginState.DENIED]
    faults = [f"{record.name!r} is {record.state.value}: {record.reason}" for record in own if not record.usable]
    if faults or not own:
        raise AssertionError("; ".join(faults) or f"No installed distribution {distribution!r} declares a plugin.")
    return tuple(found.tool for found in host.tools())
