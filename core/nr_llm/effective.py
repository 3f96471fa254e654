"""Every setting that counts, with where it is from, so that a person can see why something is as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

import attrs

from nr_llm._json import JSON
from nr_llm._selection import Selection
from nr_llm._versions import normalised
from nr_llm.codecs.access import CREDENTIAL
from nr_llm.config import Config, Table, Tables, written
from nr_llm.configurations import Configuration
from nr_llm.redaction import Redactor
from nr_llm.secrets import MASK, Secret
from nr_llm.settings import Loaded

DEFAULT: Final = "default"
"""The source of what nobody set."""

_FILES: Final = "the configuration"


@attrs.frozen
class Value:
    """
    A setting that counts.

    Attributes:
        name: Where it would be written, such as ``models.fast.context``.
        value: What it is, as JSON; a secret is masked.
        source: Where it is from: a file, a variable, a plugin, ``the program`` or ``default``.
    """

    name: str
    value: JSON
    source: str


def of_choices(config: Config, selection: Selection | None) -> Iterator[Value]:
    """Yield what is chosen for runs that name nothing, and which plugins may load."""
    yield Value("default_model", config.default_model, config.default_source or DEFAULT)
    yield Value("default_configuration", config.default_configuration, config.default_configuration_source or DEFAULT)
    if selection is not None:
        by = selection.allowed_by or DEFAULT
        allow: list[JSON] | None = None if selection.allow is None else [*sorted(selection.allow)]
        yield Value("plugins.allow", allow, config.allow_source if by == _FILES else by)
        files = {normalised(name): source for name, source in config.deny_sources.items()}
        for name, by in sorted(selection.deny.items()):
            yield Value("plugins.deny", name, files.get(name, by) if by == _FILES else by)
    for name, source in config.observe_sources.items():
        yield Value("plugins.observe", name, source)
    for value in of_tables("policy", config.policy, ("tools", "groups", "restrict", "zones"), Redactor()):
        yield attrs.evolve(value, name=written(value.name.removeprefix("policy.")))
    yield Value("store", config.store, config.store_source or DEFAULT)


def of_rows(
    plugins: Mapping[str, Loaded[Any]],
    providers: Mapping[str, Loaded[Any] | None],
    models: Tables,
    configurations: Iterable[tuple[Configuration, Iterable[Table]]],
    *,
    redactor: Redactor,
) -> Iterator[Value]:
    """
    Yield the settings of all that has a name.

    Args:
        plugins: What each was handed.
        providers: What each was made of, or None for one that no table describes.
        models: What is said of each.
        configurations: Each with what is said of it.
        redactor: Masks secrets.
    """
    for name, loaded in plugins.items():
        yield from of_settings(f"plugins.{name}", loaded, redactor)
    for name, made in providers.items():
        if made is not None:
            yield from of_settings(f"providers.{name}", made, redactor)
    for name, tables in models.items():
        yield from of_model(name, tables, redactor)
    for one, said in configurations:
        yield from of_configuration(one, said, redactor)


def of_settings(place: str, loaded: Loaded[Any], redactor: Redactor) -> Iterator[Value]:
    """Yield the settings of a plugin or provider."""
    for name, source in loaded.sources.items():
        yield Value(f"{place}.{name}", shown(name, _attribute(loaded.settings, name), redactor), source)


def of_tables(place: str, tables: Iterable[Table], nested: Iterable[str], redactor: Redactor) -> Iterator[Value]:
    """
    Yield the settings of a row, the first table that says one counting.

    Args:
        place: Where the row is written.
        tables: What is said of it.
        nested: Settings that are tables themselves, whose settings count one by one.
        redactor: Masks secrets.
    """
    found: dict[str, Value] = {}
    for table in tables:
        for name, value in table.values.items():
            inner = isinstance(value, Mapping) and name in nested
            for key, leaf in ({f"{name}.{k}": v for k, v in value.items()} if inner else {name: value}).items():
                found.setdefault(key, Value(f"{place}.{key}", shown(key, leaf, redactor), table.source))
    yield from found.values()


def of_model(name: str, tables: Iterable[Table], redactor: Redactor) -> Iterator[Value]:
    """Yield the settings of a row ``[models.NAME]``."""
    return of_tables(f"models.{name}", tables, ("limits", "defaults"), redactor)


def of_configuration(one: Configuration, tables: Iterable[Table], redactor: Redactor) -> Iterator[Value]:
    """Yield the settings of a row ``[configurations.NAME]``: those that the strictest decides as they are decided."""
    tables, place = tuple(tables), f"configurations.{one.name}"
    rows = [attrs.evolve(table, values=_without(table, "tools", "privacy")) for table in tables]
    yield from of_tables(place, rows, ("limits", "options"), redactor)
    own = [table for table in tables if table.trusted]
    yield from of_tables(place, [attrs.evolve(table, values=_only(table, "tools")) for table in own], (), redactor)
    for narrowing in one.narrowings:
        yield Value(f"{place}.tools, narrowed to", list(narrowing.tools), narrowing.source)
    for table in tables:
        if one.privacy is not None and table.values.get("privacy") == one.privacy.value:
            yield Value(f"{place}.privacy", one.privacy.value, table.source)
            break


def _without(table: Table, *names: str) -> Mapping[str, Any]:
    return {name: value for name, value in table.values.items() if name not in names}


def _only(table: Table, name: str) -> Mapping[str, Any]:
    return {name: table.values[name]} if name in table.values else {}


def shown(name: str, value: object, redactor: Redactor) -> JSON:
    """Return a value as JSON that can be shown; secrets, and texts under a name that says it is one, are masked."""
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, Mapping):
        return {str(key): shown(str(key), inner, redactor) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [shown(name, inner, redactor) for inner in value]
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool | int | float) or value is None:
        return value
    secret = isinstance(value, str) and CREDENTIAL.search(name.rpartition(".")[2].lower())
    return MASK if secret else redactor.redact(str(value))


def _attribute(settings: Any, alias: str) -> object:
    named = {field.alias or field.name: field.name for field in attrs.fields(type(settings))}
    return getattr(settings, named[alias])
