"""A row of the configuration that several files speak of is read as one; a file that is not trusted only narrows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from nr_llm.config import Table
from nr_llm.errors import ConfigurationError, InvalidValueError, UnknownNameError
from nr_llm.limits import Limits
from nr_llm.options import Options
from nr_llm.prices import Price
from nr_llm.settings import Subject

USUAL: Final = Limits()
"""The limits of runs that nobody bounds."""

_UNSET: Final = Options()


@attrs.frozen
class Row:
    """
    What files say of one thing.

    Attributes:
        subject: Of what.
        tables: What each says, the one that counts first in front.
    """

    subject: Subject
    tables: tuple[Table, ...]

    def limits(self) -> dict[str, Any]:
        """Return the setting `limits`, by the names of `Limits`."""
        merged: dict[str, Any] = {}
        for table in reversed(self.tables):
            given = self._inner(table, "limits")
            below = attrs.evolve(USUAL, **merged)
            limits = self._built(Limits, given, table, "limits")
            for name in given if not table.trusted else ():
                if _wider(getattr(limits, name), getattr(below, name)):
                    raise self.untrusted(table, f"limits.{name}")
            merged |= {name: getattr(limits, name) for name in given}  # as numbers, whatever they are written as
        return merged

    def options(self, setting: str) -> Options:
        """Return a setting that holds `Options`."""
        merged: dict[str, Any] = {}
        for table in reversed(self.tables):
            given = self._inner(table, setting)
            if "provider_options" in given and not table.trusted:  # they may name servers a service then talks to
                raise self.untrusted(table, f"{setting}.provider_options")
            self._built(Options, given, table, setting)
            merged |= given
        return Options(**merged)

    def price(self) -> Price | None:
        """Return the setting `price` of the table that counts, with where it is from."""
        table = next((table for table in self.tables if "price" in table.values), None)
        if table is None:
            return None
        if not table.trusted:  # a price of nothing would void every bound of cost
            raise self.untrusted(table, "price")
        given = self._inner(table, "price")
        if missing := [name for name in ("input", "output") if name not in given]:
            raise ConfigurationError(
                f"{self.subject}, {table.source}: price has no {' and no '.join(missing)}.",
                remedy="Write price = { input = 0.25, output = 2.0 }, for a million tokens each.",
            )
        price: Price = self._built(Price, {"source": table.source, **given}, table, "price")
        return price

    def untrusted(self, table: Table, setting: str) -> ConfigurationError:
        """Return the error for a file that is not trusted and goes beyond the user's own."""
        return ConfigurationError(
            f"{self.subject}: {table.source} is not trusted and sets {setting!r} beyond your own configuration.",
            remedy="Say it in your user configuration instead, or trust this project: nr-llm config trust.",
        )

    def _inner(self, table: Table, name: str) -> Mapping[str, Any]:
        found: object = table.values.get(name, {})
        if not isinstance(found, Mapping):
            raise ConfigurationError(
                f"{self.subject}, {table.source}: {name} is no table.",
                remedy=f"Write [{self.subject.section}.{self.subject.name}.{name}].",
            )
        return found

    def _built(self, kind: Any, given: Mapping[str, Any], table: Table, name: str) -> Any:
        known = [field.name for field in attrs.fields(kind) if field.init]
        where = f"{self.subject}, {table.source}: {name}"
        for setting in given:
            if setting not in known:
                problem = UnknownNameError("setting", setting, known=known)
                raise ConfigurationError(f"{where}: {problem}", remedy=f"It has {', '.join(known)}.")
        try:
            return kind(**given)
        except InvalidValueError as error:
            place = f"[{self.subject.section}.{self.subject.name}]"
            raise ConfigurationError(f"{where}.{error}.", remedy=f"Correct it in {place}.") from error


def _wider(value: Any, than: Any) -> bool:
    return than is not None and value > than


def under(options: Options, behind: Options) -> Options:
    """Return options, with those behind where they set none; namespaces of providers are joined."""
    both = {
        name: {**behind.provider_options.get(name, {}), **options.provider_options.get(name, {})}
        for name in dict.fromkeys((*behind.provider_options, *options.provider_options))
    }
    names = [field.name for field in attrs.fields(Options)]
    given = {name: value for name in names if (value := getattr(options, name)) != getattr(_UNSET, name)}
    return attrs.evolve(behind, **given | {"provider_options": both})


def set_limits(limits: Limits) -> dict[str, Any]:
    """Return the limits that somebody set, also those that are as usual."""
    return {name: getattr(limits, name) for name in limits.given}
