"""What all plugins of a host offer together is looked up here, and asked of no more plugins than needed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from nr_llm._contributions import COMMANDS, OBSERVERS, PROVIDERS, TABLES, TOOLS
from nr_llm._names import Names, Offer, by_name, name_tools, owner
from nr_llm._observers import ObserverFactory
from nr_llm._plugin import Plugin
from nr_llm._toolsets import OpenToolset
from nr_llm.errors import NameClashError
from nr_llm.plugins import PluginRecord, PluginState, RegisteredCommand

SERVED: Final = (PROVIDERS, TABLES)
"""The hooks that give providers: as they are, or as tables to make them of."""


class Catalogue:
    """
    The offers of some plugins; thread-safe.

    Args:
        plugins: The plugins, in the order they are listed.
    """

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self.toolsets: list[OpenToolset] = []
        self._lock = threading.Lock()
        self._names: Names | None = None

    def names(self) -> Names:
        """Return all tools with their names; asks every plugin once."""
        if self._names is None:
            offers = tuple(self._offers(TOOLS, self.plugins))  # not under the lock: plugins run here
            self._names = self._first(offers)
        return self._names

    def _first(self, offers: Sequence[Offer]) -> Names:
        with self._lock:  # whoever comes first decides, so that a tool is one object for everybody
            return self._names or name_tools([self._opening(offer) for offer in offers])

    def providers(self) -> tuple[Offer, ...]:
        """Return every provider, or table of one, that has its name to itself; asks every plugin."""
        groups = by_name(self._served(self.plugins))
        chosen = (_preferred(name, offers) for name, offers in groups.items())
        return tuple(offer for offer in chosen if offer is not None)

    def provider(self, name: str, among: Iterable[Plugin], *, hooks: Sequence[str] = SERVED) -> Offer | None:
        """
        Return a provider, or the table of one, that one of some plugins offers, or None.

        Args:
            name: Its name.
            among: The plugins to ask.
            hooks: What to ask them for.

        Raises:
            NameClashError: Several offer it and none goes first.
        """
        offers = by_name(self._served(among, hooks)).get(name)
        if offers is None:
            return None
        chosen = _preferred(name, offers)
        if chosen is None:
            raise dispute("provider", name, offers)
        return chosen

    def provider_names(self) -> tuple[str, ...]:
        """Return the names of all providers; asks every plugin."""
        return tuple(offer.name for offer in self._served(self.plugins))

    def disputed_providers(self) -> dict[str, list[Offer]]:
        """Return the providers' names that several plugins claim and none has; asks every plugin."""
        groups = by_name(self._served(self.plugins))
        return {name: offers for name, offers in groups.items() if _preferred(name, offers) is None}

    def offered(self, hook: str) -> dict[str, list[Offer]]:
        """Return all that plugins offer under a hook, grouped by name; asks every plugin."""
        return by_name(self._offers(hook, self.plugins))

    def observers(self, plugins: Iterable[Plugin]) -> tuple[ObserverFactory, ...]:
        """Return the factories of observers that some plugins offer."""
        return tuple(offer.value for offer in self._offers(OBSERVERS, plugins))

    def commands(self) -> tuple[RegisteredCommand, ...]:
        """Return every command that has its name to itself; asks every plugin."""
        chosen = (owner(offers) for offers in self.offered(COMMANDS).values())
        return tuple(_registered_command(offer) for offer in chosen if offer is not None)

    def _served(self, plugins: Iterable[Plugin], hooks: Sequence[str] = SERVED) -> Iterator[Offer]:
        plugins = tuple(plugins)
        for hook in hooks:
            yield from self._offers(hook, plugins)

    def _offers(self, hook: str, plugins: Iterable[Plugin]) -> Iterator[Offer]:
        seen: set[int] = set()
        for plugin in plugins:
            for given in plugin.give(hook):
                if id(given.value) not in seen:  # one object from two plugins is no dispute
                    seen.add(id(given.value))
                    yield Offer(given.name, given.value, plugin.record, toolset=given.toolset)

    def _opening(self, offer: Offer) -> Offer:
        if offer.toolset is None:
            return offer
        known = [opened for opened in self.toolsets if opened.toolset is offer.toolset]
        if not known:
            known = [OpenToolset(offer.toolset)]
            self.toolsets += known
        return attrs.evolve(offer, value=known[0].opening(offer.value))


def dispute(kind: str, name: str, offers: Sequence[Offer]) -> NameClashError:
    """Return the error for a name that several plugins claim."""
    claims = " and ".join(f"{offer.record.name!r} ({offer.record.label or 'passed in code'})" for offer in offers)
    addresses = " or ".join(f"{offer.record.name}:{name}" for offer in offers)
    remedy = f"name it {addresses}" if kind == "tool" else "deny one of the packages"
    first = offers[0].record
    return NameClashError(
        f"the {kind} {name!r} is offered by {claims}, so none has the name; {remedy}",
        plugin=first.name,
        distribution=first.label,
    )


def _preferred(name: str, offers: Sequence[Offer]) -> Offer | None:
    # The program's own objects, then the plugin that bears the provider's name, then as for every name.
    own = [offer for offer in offers if offer.record.distribution is None]
    named = [offer for offer in offers if offer.record.name == name]
    return owner(own or named[:1] or offers)


def _registered_command(offer: Offer) -> RegisteredCommand:
    record = offer.record
    return RegisteredCommand(
        command=offer.value,
        name=offer.name,
        plugin=record.name,
        distribution=record.distribution,
        version=record.version,
    )


def excuse(records: Iterable[PluginRecord]) -> str:
    """Return which plugins failed and why, for an error about a name that one of them may have had."""
    failed = [record for record in records if record.state is PluginState.FAILED]
    return "".join(f"Plugin {record.name!r} failed: {record.reason}. " for record in failed).rstrip()
