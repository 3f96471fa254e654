"""A model gets a name of one's own, with what is known of it and what its runs begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from nr_llm._rows import USUAL, Row, set_limits, under
from nr_llm.config import Table
from nr_llm.limits import Limits
from nr_llm.options import Options, whole
from nr_llm.providers import Model
from nr_llm.settings import Subject, resolve_settings

_FACTS: Final = ("context", "max_output", "max_tools", "result_bytes", "attachments")


@attrs.frozen(kw_only=True)
class ModelAlias:
    """
    A row of the configuration, ``[models.NAME]``.

    Attributes:
        name: The alias.
        provider: Name of the provider.
        id: The model's name, as the provider knows it; empty for the provider's default.
        facts: What is known of the model, by the names of `Model`; over what the provider says.
        limits: Bounds of its runs, by the names of `Limits`; a caller's go first.
        options: Settings of its calls; a caller's go first.
        source: Where the row is from.
        trusted: Whether a file that is trusted says which provider it is.
    """

    name: str
    provider: str
    id: str = ""
    facts: Mapping[str, Any] = attrs.field(factory=dict)
    limits: Mapping[str, Any] = attrs.field(factory=dict)
    options: Options = attrs.field(factory=Options)
    source: str = "the program"
    trusted: bool = True

    @property
    def reference(self) -> str:
        """What it stands for, as ``provider:model``."""
        return f"{self.provider}:{self.id}"

    def describe(self, known: Model) -> Model:
        """Return what the provider knows of the model, with the row's facts over it."""
        return attrs.evolve(known, **self.facts)

    def under(self, options: Options) -> Options:
        """Return a caller's options, with the row's where the caller set none; namespaces are joined."""
        return under(options, self.options)

    def bounding(self, limits: Limits) -> Limits:
        """Return a caller's limits, with the row's where the caller gave none."""
        return attrs.evolve(USUAL, **{**self.limits, **set_limits(limits)})


def facts_of(model: Model, aliases: Iterable[ModelAlias]) -> Model:
    """Return what is known of a model, with the facts on which all rows that name it agree."""
    rows = [row for row in aliases if (row.provider, row.id) == (model.provider, model.name)]
    first = rows[0].facts if rows else {}
    agreed = {name: value for name, value in first.items() if all(row.facts.get(name) == value for row in rows)}
    return attrs.evolve(model, **agreed)


def _prefixes(given: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(kind.removesuffix("*") for kind in given)


@attrs.frozen(kw_only=True)
class _Row:
    # What [models.NAME] may hold.
    provider: str
    id: str = ""
    context: int | None = attrs.field(default=None, validator=whole(1))
    max_output: int | None = attrs.field(default=None, validator=whole(1))
    max_tools: int | None = attrs.field(default=None, validator=whole(0))
    result_bytes: int | None = attrs.field(default=None, validator=whole(1))
    attachments: tuple[str, ...] | None = attrs.field(default=None, converter=_prefixes)
    price: Mapping[str, Any] | None = None
    limits: Mapping[str, Any] = attrs.field(factory=dict)
    defaults: Mapping[str, Any] = attrs.field(factory=dict)


def alias_of(name: str, tables: Iterable[Table]) -> ModelAlias:
    """
    Read a row.

    Args:
        name: The alias.
        tables: What files say of it, the one that counts first in front.

    Raises:
        ConfigurationError: A name or value is wrong, or a file says what it may not; file, table and remedy are named.
    """
    tables = tuple(tables)
    subject = Subject(name=name, kind="Model", section="models", variables=False, further=False)
    row, read = resolve_settings(_Row, plugin=subject, values=tables, environ={}).settings, Row(subject, tables)
    _refuse_elsewhere(read)
    facts = {fact: value for fact in _FACTS if (value := getattr(row, fact)) is not None}
    price = read.price()
    return ModelAlias(
        name=name,
        provider=row.provider,
        id=row.id,
        facts=facts if price is None else {**facts, "price": price},
        limits=read.limits(),
        options=read.options("defaults"),
        source=tables[0].source,
        trusted=any(table.trusted and "provider" in table.values for table in tables),
    )


def _refuse_elsewhere(row: Row) -> None:
    """Refuse a cloned project that sends what the user's own row keeps in one place to another."""
    own = [table.values["provider"] for table in row.tables if table.trusted and "provider" in table.values]
    for table in row.tables:
        if own and not table.trusted and table.values.get("provider", own[0]) not in own:
            raise row.untrusted(table, "provider")
