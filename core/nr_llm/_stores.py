"""Which plugin keeps the runs: one, or nobody; never one of several by chance, and never silently nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nr_llm._contributions import STORES
from nr_llm._plugin import Plugin
from nr_llm.config import Config
from nr_llm.errors import ConfigurationError
from nr_llm.stores import RunStore


def store_of(plugins: Iterable[Plugin], config: Config, required: Callable[[str], Plugin]) -> RunStore | None:
    """
    Return the store that the files name, else the only one that plugins offer; None if there is none.

    Args:
        plugins: All plugins, which are asked unless the files name one.
        config: What the files say.
        required: Returns the plugin of a name, loaded, or raises what is wrong with it.

    Raises:
        ConfigurationError: Several offer one, the one that is named offers none, or its settings are wrong.
        PluginError: One that would offer a store failed: its runs would be lost without a word.
    """
    if config.store is not None:
        return _named(required(config.store), config.store_source)
    found = {plugin.record.name: store for plugin in plugins if (store := _offered(plugin)) is not None}
    if len(found) > 1:
        names = " and ".join(map(repr, found))
        raise ConfigurationError(
            f"Plugins {names} each offer a store.", remedy=f'Choose one: store = "{next(iter(found))}" in nr-llm.toml.'
        )
    return next(iter(found.values()), None)


def _named(plugin: Plugin, source: str) -> RunStore:
    store = _offered(plugin)
    if store is None:
        raise ConfigurationError(
            f"Plugin {plugin.record.name!r}, which `store` in {source} names, offers no store.",
            remedy="Name another plugin, or leave `store` out.",
        )
    return store


def _offered(plugin: Plugin) -> RunStore | None:
    for given in plugin.give(STORES):
        store: RunStore = given.value
        return store
    if plugin.error is not None and plugin.has(STORES):
        raise plugin.trouble() from plugin.error
    return None
