"""Reads what a host permits to be written: which fields of which tables, and what makes a new record a draft."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import attrs
from nr_llm.errors import InvalidValueError

from nr_llm_sql._credentials import credential_like
from nr_llm_sql._names import folded

Setting: TypeAlias = str | int | float | bool | None

_BROKEN = re.compile("[\0\ud800-\udfff]")


@attrs.frozen
class Draft:
    """
    How records of one table are created.

    Args:
        fields: Fields that a model may fill in.
        set: What every such record gets beside, and no model can change: it says that this is a draft.
    """

    fields: tuple[str, ...]
    set: Mapping[str, Setting]


def fields_by_table(given: Mapping[str, str | Iterable[str]]) -> Mapping[str, tuple[str, ...]]:
    """
    Return the setting `write`: the fields that may be changed, by table.

    Raises:
        InvalidValueError: It is no such thing, or it names what is never written.
    """
    tables = _table(given, "write", "of tables, each with a list of fields")
    return MappingProxyType({_name(table, "write"): _fields(fields, f"write.{table}") for table, fields in tables})


def drafts_by_table(given: Mapping[str, Draft | Mapping[str, object]]) -> Mapping[str, Draft]:
    """
    Return the setting `drafts`: how records are created, by table.

    Raises:
        InvalidValueError: It is no such thing, or it names what is never written.
    """
    tables = _table(given, "drafts", "of tables, each with `fields` and `set`")
    return MappingProxyType({_name(table, "drafts"): _draft(draft, f"drafts.{table}") for table, draft in tables})


def check_denies(
    tables: Iterable[str], columns: Iterable[tuple[str, str, str]], *, denied: tuple[frozenset[str], frozenset[str]]
) -> None:
    """
    Refuse settings that permit what they deny.

    Args:
        tables: Paths of tables in the settings, as ``write.orders``.
        columns: Path, table and column of each field that may be written.
        denied: Denied tables and columns, as SQLite compares names.

    Raises:
        InvalidValueError: They do.
    """
    for path in tables:
        if not folded(path.partition(".")[2]).isdisjoint(denied[0]):
            raise InvalidValueError("must not be denied by `denied_tables`", path=path)
    for path, table, column in columns:
        if not folded(column, f"{table}.{column}").isdisjoint(denied[1]):
            raise InvalidValueError("must not be denied by `denied_columns`", path=path)


def _draft(given: object, path: str) -> Draft:
    if isinstance(given, Draft):
        given = {"fields": given.fields, "set": given.set}
    parts = dict(_table(given, path, "with `fields` and `set`"))
    if unknown := parts.keys() - {"fields", "set"}:
        raise InvalidValueError("must be `fields` or `set`", path=f"{path}.{min(unknown, key=str)}")
    if not parts.keys() >= {"fields", "set"}:
        raise InvalidValueError("must have `fields`, and `set` to mark the record as a draft", path=path)
    fields = _fields(parts["fields"], f"{path}.fields")
    marks = _marks(parts["set"], f"{path}.set")
    for name in marks:
        if not folded(name).isdisjoint(folded(*fields)):
            raise InvalidValueError("must not be among `fields` too", path=f"{path}.set.{name}")
    return Draft(fields, MappingProxyType(marks))


def _marks(given: object, path: str) -> dict[str, Setting]:
    marks = {}
    for name, value in _table(given, path, "of fields and plain values"):
        _column(name, f"{path}.{name}")
        marks[name] = _plain(value, f"{path}.{name}")
    if not marks:
        raise InvalidValueError("must mark the record as a draft", path=path)
    return marks


def _table(given: object, path: str, wanted: str) -> Iterable[tuple[str, object]]:
    if not isinstance(given, Mapping):
        raise InvalidValueError(f"must be a table {wanted}", path=path)
    return given.items()


def _name(name: object, path: str) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidValueError("must be names of tables", path=path)
    return name


def _fields(given: object, path: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not names:
        raise InvalidValueError("must be a list of fields", path=path)
    for i, name in enumerate(names):
        _column(name, f"{path}[{i}]")
    if len(folded(*names)) < len(names):
        raise InvalidValueError("must name each field once", path=path)
    return tuple(names)


def _column(name: object, path: str) -> None:
    if not isinstance(name, str) or not name:
        raise InvalidValueError("must be the name of a field", path=path)
    if name == "*":
        raise InvalidValueError("must name each field: there is no word for all of them", path=path)
    if credential_like(name):
        raise InvalidValueError("must not be named like a credential: such fields are never written", path=path)


def _plain(value: object, path: str) -> Setting:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidValueError("must be a finite number", path=path)
    if isinstance(value, str) and _BROKEN.search(value):
        raise InvalidValueError("must be text without NUL characters", path=path)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise InvalidValueError("must be text, a number, true or false", path=path)
