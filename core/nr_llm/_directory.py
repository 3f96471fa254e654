"""Who answers under a provider's name: the program's own objects, then the files' tables, then the plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from nr_llm._catalogue import SERVED, Catalogue
from nr_llm._contributions import PROVIDERS
from nr_llm._names import Offer
from nr_llm._services import Service, Services
from nr_llm.config import Table
from nr_llm.errors import NrLlmError
from nr_llm.plugins import RegisteredProvider

Entry: TypeAlias = Service | NrLlmError
"""A provider, or why it cannot be used."""


@attrs.frozen(eq=False)
class Directory:
    """
    The providers of a host.

    Attributes:
        catalogue: What the plugins offer.
        services: What the files' tables describe.
    """

    catalogue: Catalogue
    services: Services

    def near(self, name: str) -> RegisteredProvider | None:
        """
        Return a provider that can be found without asking plugins of other names, or None.

        Raises:
            NrLlmError: It is there and cannot be used.
        """
        plugins = self.catalogue.plugins
        whole = self.services.whole(name)
        own = [one for one in plugins if one.record.distribution is None]
        offer = self.catalogue.provider(name, own, hooks=(PROVIDERS,) if whole else SERVED)
        if offer is not None:
            return self._service(offer).ready()
        if whole:
            return self._configured(name).ready()
        offer = self.catalogue.provider(name, [one for one in plugins if one.record.name == name])
        return None if offer is None else self._service(offer).ready()

    def far(self, name: str) -> RegisteredProvider | None:
        """
        Return a provider that any plugin offers, or None; asks all plugins.

        Raises:
            NrLlmError: It is there and cannot be used.
        """
        offer = self.catalogue.provider(name, self.catalogue.plugins)
        if offer is not None:
            return self._service(offer).ready()
        return self._configured(name).ready() if name in self.services.tables else None

    def all(self) -> Mapping[str, Entry]:
        """Return every provider, or what is wrong with it, by name; asks all plugins."""
        offers = {offer.name: offer for offer in self.catalogue.providers()}
        found = {name: self._entry(offer) for name, offer in offers.items() if not self._replaced(offer)}
        for name in self.services.tables:
            if name not in found:
                try:
                    found[name] = self._configured(name)
                except NrLlmError as error:
                    found[name] = error
        return found

    def names(self) -> tuple[str, ...]:
        """Return the names of all providers; asks all plugins."""
        return tuple(dict.fromkeys((*self.catalogue.provider_names(), *self.services.tables)))

    def _replaced(self, offer: Offer) -> bool:
        own = offer.record.distribution is None and not isinstance(offer.value, Mapping)
        return not own and self.services.whole(offer.name)

    def _entry(self, offer: Offer) -> Entry:
        try:
            return self._service(offer)
        except NrLlmError as error:
            return error

    def _service(self, offer: Offer) -> Service:
        record, values = offer.record, offer.value
        if not isinstance(values, Mapping):
            return Service(
                RegisteredProvider(
                    provider=values, plugin=record.name, distribution=record.distribution, version=record.version
                )
            )
        table = Table(values, f"plugin {record.name!r}")
        return self.services.make(offer.name, (*self.services.tables.get(offer.name, ()), table), record)

    def _configured(self, name: str) -> Service:
        self.services.refuse_twins(name, self.catalogue.plugins)
        return self.services.make(name, self.services.tables[name])
