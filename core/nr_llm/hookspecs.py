"""The hooks a plugin may implement: each returns values, is quick and synchronous, and has a shipped producer."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
import pluggy

from nr_llm.errors import similar
from nr_llm.plugins import MisbuiltError
from nr_llm.providers import Provider
from nr_llm.tools import Tool, Toolset

if TYPE_CHECKING:
    from nr_llm._observers import ObserverFactory
    from nr_llm.stores import RunStore

PROJECT: Final = "nr_llm"
"""The name hook implementations are marked for."""

_MAKER: Final = "nr_llm_make_provider"

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
def nr_llm_make_provider(name: str, settings: Any) -> Provider:  # type: ignore[empty-body]
    """
    Return a provider of the plugin's kind under another name: a further service that speaks the same form.

    Called once for each table ``[providers.NAME]`` that names the plugin, when that provider is asked for.  The host
    has read the table as the class that `settings` is annotated with; of the environment only ``NR_LLM_NAME_*``
    counts, never a vendor's own variables, so that no key reaches a service that merely speaks the vendor's form.
    The key is the setting `api_key`.  A class may say in an attribute `key_variables` which further variables hold
    the key of the service its other settings choose; it is read when no key is set.  Returning nothing is a fault
    of the plugin.  It may raise: that provider then cannot be used, with that reason, and all others can.

    Args:
        name: What the provider is called, in models' names and errors.
        settings: As for `nr_llm_tools`, from ``[providers.NAME]``; an instance of its own for each provider.

    Returns:
        A provider whose `name` is `name`, as `nr_llm_providers` returns them.
    """


@hookspec
def nr_llm_provider_tables(settings: Any) -> Mapping[str, Mapping[str, Any]]:  # type: ignore[empty-body]
    """
    Return further services as data: what a user would write in ``[providers.NAME]``, by name.

    Called once, the first time a provider is named that no file and no plugin of that name offers, or all are listed.
    Returning nothing means that there are no services.  It may raise, as `nr_llm_tools` may.  A table of the user's
    own with a `plugin` goes before one of a plugin; one without is laid over it.

    Args:
        settings: As for `nr_llm_tools`.

    Returns:
        For each name a table with `plugin` (whose form the service speaks) and settings.  Never a key: `api_key_env`
        names the variable that holds it.
    """


@hookspec
def nr_llm_configurations(settings: Any) -> Mapping[str, Mapping[str, Any]]:  # type: ignore[empty-body]
    """
    Return configurations as data: what a user would write in ``[configurations.NAME]``, by name.

    Called once, the first time a configuration is named or all are listed.  Returning nothing means that there are
    none.  It may raise, as `nr_llm_tools` may.  A row of the user's own with that name is laid over it, setting by
    setting; a name that several packages offer is nobody's.

    Args:
        settings: As for `nr_llm_tools`.

    Returns:
        For each name a table with any of `model`, `system`, `options`, `tools`, `limits`, `privacy`, `zone` and
        `fallbacks`.  Never a key or an address: `options` hold no `provider_options`, and there is no `system_file`.
    """


@hookspec
def nr_llm_stores(settings: Any) -> Iterable[RunStore]:  # type: ignore[empty-body]
    """
    Return where the plugin keeps runs.

    Called once, the first time the host's store is asked for or all plugins are examined.  Returning nothing means
    that nothing is kept under these settings.  It may raise, as `nr_llm_tools` may, and nobody then takes the runs
    for kept: whoever asks the host for its store gets the reason.

    Args:
        settings: As for `nr_llm_tools`.

    Returns:
        One `nr_llm.stores.RunStore`.  Making it opens no connection and imports no driver.
    """


@hookspec
def nr_llm_observers(settings: Any) -> Iterable[ObserverFactory]:  # type: ignore[empty-body]
    """
    Return factories of observers, who watch runs and see of each step what the run's privacy level leaves.

    Called once, when the first run begins, and only if the user has the plugin watch: ``observe = ["NAME"]`` in
    ``[plugins]``.  Returning nothing means that nobody watches.  It may raise, as `nr_llm_tools` may.

    Args:
        settings: As for `nr_llm_tools`.

    Returns:
        Functions that take a `RunInfo` and return an object with any of the methods of `PluginObserver`.  One that
        raises is switched off for the run and never stops it.
    """


@hookspec
def nr_llm_commands(settings: Any) -> Iterable[Any]:  # type: ignore[empty-body]
    """
    Return commands for the command line.

    Called once: when the command line meets a word it does not know itself, prints the help of a group, or
    examines all plugins; not for its own help, which loads no plugin.  Returning nothing means that there is no
    command.  It may raise, as `nr_llm_tools` may.

    Args:
        settings: As for `nr_llm_tools`.

    Returns:
        `click.Command` objects.  A name is a path below the program, such as ``models pull``: a command that joins the
        group ``models``.
    """


@attrs.frozen
class Implementation:
    """
    One hook implementation of one plugin.

    Attributes:
        hook: The hook's name.
        function: The plugin's function.
        settings: The class its parameter `settings` is annotated with, or None when it takes none.
    """

    hook: str
    function: Callable[..., Any]
    settings: type | None


def implementations(plugin: object) -> tuple[Implementation, ...]:
    """
    Return the hook implementations of a module or object.

    pluggy reads the marks and compares the signatures with the declarations above; the calls are the host's.  Every
    plugin gets a manager of its own: one manager drops the results of all plugins when one raises, stops at the first
    unknown name, and takes objects that are equal for one.

    Raises:
        MisbuiltError: A hook is unknown, unmarked, asynchronous, a wrapper, or takes what no hook gets.
    """
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(sys.modules[__name__])
    known = frozenset(vars(manager.hook))
    _refuse_unmarked(plugin, known)
    try:
        manager.register(plugin, name="plugin")
    except pluggy.PluginValidationError as error:
        # Its first line names the plugin, which here is the manager's only one.
        raise MisbuiltError(
            f"{str(error).partition(chr(10))[2]}; a hook takes settings or nothing, {_MAKER} a name too"
        ) from error
    found: list[Implementation] = []
    for name, caller in vars(manager.hook).items():
        for mark in caller.get_hookimpls():
            if name in known:
                found.append(_implementation(name, mark))
            elif not mark.optionalhook:
                raise MisbuiltError(_unknown(name, known))
    return tuple(found)


def _refuse_unmarked(plugin: object, known: frozenset[str]) -> None:
    for name in dir(plugin):
        if name.startswith(f"{PROJECT}_"):
            value = inspect.getattr_static(plugin, name)
            function = getattr(value, "__func__", value)  # below staticmethod and classmethod
            marked = hasattr(value, f"{PROJECT}_impl") or hasattr(function, f"{PROJECT}_impl")
            if inspect.isfunction(function) and not marked:
                raise MisbuiltError(
                    f"{name} is not marked: put @hookimpl above it" if name in known else _unknown(name, known)
                )


def _unknown(name: str, known: frozenset[str]) -> str:
    alike = similar(name, known)
    hint = f"did you mean {alike[0]}?" if alike else f"there are {', '.join(sorted(known))}"
    return f"there is no hook {name}: {hint} (for a hook of newer hosts: @hookimpl(optionalhook=True))"


def _implementation(hook: str, mark: pluggy.HookImpl) -> Implementation:
    function = mark.function
    if mark.wrapper or mark.hookwrapper:
        raise MisbuiltError(f"{hook} is a wrapper, and every plugin is called alone: write a plain function")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise MisbuiltError(f"{hook} is async: hooks are synchronous and quick, so write def")
    if "settings" in mark.kwargnames:
        raise MisbuiltError(f"{hook} gives settings a default, so it would never receive any: remove the default")
    if hook == _MAKER and set(mark.argnames) != {"name", "settings"}:
        raise MisbuiltError(f"{hook} takes a name and settings: write def {hook}(name: str, settings: MySettings)")
    return Implementation(hook, function, _settings_class(hook, function) if "settings" in mark.argnames else None)


def _settings_class(hook: str, function: Callable[..., Any]) -> type:
    try:
        wanted = inspect.signature(function, eval_str=True).parameters["settings"].annotation
    except NameError as error:
        raise MisbuiltError(f"{hook}: the class of settings has to exist at run time: {error}") from error
    if not (isinstance(wanted, type) and attrs.has(wanted)):
        raise MisbuiltError(f"{hook}: annotate settings with the plugin's attrs class, as in `settings: MySettings`")
    return wanted
