"""The hooks a plugin may implement: each returns values, is quick and synchronous, and has a shipped producer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pluggy

from nr_llm.providers import Provider
from nr_llm.tools import Tool, Toolset

PROJECT: Final = "nr_llm"
"""The name hook implementations are marked for."""

hookspec: Final = pluggy.HookspecMarker(PROJECT)
"""Marks the declarations in this module."""

hookimpl: Final = pluggy.HookimplMarker(PROJECT)
"""
Marks a plugin's functions: a module-level function (or a method of an object) named like a hook.

A hook that only newer hosts know is marked ``@hookimpl(optionalhook=True)``; else its name counts as mistyped.
"""


@hookspec
def nr_llm_tools(settings: Any) -> Iterable[Tool | Toolset]:  # type: ignore[empty-body]
    """
    Return the tools the plugin offers.

    Called once, the first time anybody asks for the plugin's tools or lists all of them.  Returning nothing (None or
    an empty iterable) means that the plugin has no tools under these settings.  It may raise: the plugin then
    counts as failed with that reason and the host goes on; what was yielded before is dropped, so that a tool
    set is never half there.

    Offered is not exposed: the host decides which tools a model may call.

    Args:
        settings: An instance of the attrs class the parameter is annotated with, read from ``[plugins.NAME]`` and
            ``NR_LLM_NAME_*``.  Leave the parameter out if there is nothing to set.

    Returns:
        `Tool` objects (what ``@tool`` makes) and `Toolset` objects, in any iterable.
    """


@hookspec
def nr_llm_providers(settings: Any) -> Iterable[Provider]:  # type: ignore[empty-body]
    """
    Return the model providers the plugin offers.

    Called once, the first time one of them is named or all are listed: ``openai:gpt-…`` asks only the plugin whose
    entry point is named ``openai``.  Returning nothing means that there is no provider under these
    settings.  It may raise, as `nr_llm_tools` may.  A missing key is no reason to raise here: a provider without a key
    can be listed, and says what is missing when it is used.

    Args:
        settings: As for `nr_llm_tools`.

    Returns:
        Objects with `name`, `endpoint`, `describe` and either a `codec` (`HttpProvider`) or `complete`
        (`DirectProvider`).  Building them opens no connection and imports no client.
    """


@hookspec
def nr_llm_commands(settings: Any) -> Iterable[Any]:  # type: ignore[empty-body]
    """
    Return commands for the command line.

    Called once, only when the command line looks for a command it does not know itself or prints its
    help.  Returning nothing means that there is no command.  It may raise, as `nr_llm_tools` may.

    Args:
        settings: As for `nr_llm_tools`.

    Returns:
        `click.Command` objects with names of their own.
    """
