"""The configurations of a host: rows of files, laid over those that packages contribute as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from nr_llm._catalogue import Catalogue, dispute
from nr_llm._contributions import CONFIGURATIONS
from nr_llm._names import owner
from nr_llm.config import Config, Table
from nr_llm.configurations import Configuration, configuration_of
from nr_llm.errors import ConfigurationError, NrLlmError, UnknownNameError

Profile: TypeAlias = Configuration | NrLlmError
"""A configuration, or why it cannot be used."""


@attrs.frozen(eq=False)
class Profiles:
    """
    The configurations of a host; asks all plugins, and reads each row once.

    Attributes:
        catalogue: What the plugins offer.
        config: What files say.
    """

    catalogue: Catalogue
    config: Config
    _read: dict[str, Configuration]

    def names(self) -> tuple[str, ...]:
        """Return the names of all."""
        return tuple(dict.fromkeys((*self.config.configurations, *self.catalogue.offered(CONFIGURATIONS))))

    def one(self, name: str) -> Configuration:
        """
        Return one.

        Raises:
            UnknownNameError: There is none of that name.
            NameClashError: Several packages have it and no file does.
            ConfigurationError: It is wrong.
        """
        if name not in self._read:
            tables = self.tables(name)
            if not tables:
                known = self.names()
                remedy = f"There are: {', '.join(sorted(known)) or 'none'}."
                raise UnknownNameError("configuration", name, known=known, remedy=remedy)
            self._read[name] = configuration_of(name, tables, provider=self.config.provider_of)
        return self._read[name]

    def all(self) -> Mapping[str, Profile]:
        """Return every one, or what is wrong with it, by name."""
        found: dict[str, Profile] = {}
        for name in self.names():
            try:
                found[name] = self.one(name)
            except NrLlmError as error:
                found[name] = error
        return found

    def tables(self, name: str) -> tuple[Table, ...]:
        """
        Return what files and a package say of one, the one that counts first in front.

        Raises:
            NameClashError: Several packages have it and no file does.
            ConfigurationError: A package declares how far away a provider is.
        """
        written = self.config.configurations.get(name, ())
        offers = self.catalogue.offered(CONFIGURATIONS).get(name)
        if offers is None:
            return written
        chosen = owner(offers)
        if chosen is not None:
            source = f"plugin {chosen.record.name!r}"
            if "zone" in chosen.value and chosen.record.distribution is not None:
                raise ConfigurationError(
                    f"Configuration {name!r}: {source} declares a zone, which is the operator's to say.",
                    remedy="Deny the package until its author has removed it; say it in [policy.zones] of your own.",
                )
            return (*written, Table(chosen.value, source))
        if written:
            return written
        raise dispute("configuration", name, offers)
