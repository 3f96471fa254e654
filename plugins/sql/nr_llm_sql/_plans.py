"""Checks what a model wants to write against the settings and the table, before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from nr_llm.errors import ToolError

from nr_llm_sql._catalogue import Field
from nr_llm_sql._cells import line
from nr_llm_sql._conditions import Scalar
from nr_llm_sql._limits import MOST_FIELDS, MOST_WRITTEN, WRITTEN_BYTES
from nr_llm_sql._query import Names, comparable, names
from nr_llm_sql._targets import Misfit, Target

NOTHING = "Nothing was changed."
"""Ends every message of a call that changed nothing."""

_BROKEN = re.compile("[\0\ud800-\udfff]")
_TYPE_CHARACTERS = 60


@attrs.frozen(kw_only=True)
class Plan:
    """
    What is to be written to one record.

    Args:
        target: The table.
        address: Columns of the key and their values; empty for a record that is to be created.
        values: Columns to write and their values, as the database is to store them.
        expected: Columns and the values they must have, or nothing is written.
        marks: Columns of `values` that the settings fill in.
    """

    target: Target
    address: Mapping[str, Any]
    values: Mapping[str, Any]
    expected: Mapping[str, Any] = attrs.field(factory=dict)
    marks: frozenset[str] = frozenset()

    @property
    def table(self) -> str:
        """The table's name."""
        return self.target.opened.table.source.name

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns of the record that are shown: its key, what is written, then the rest."""
        opened = self.target.opened
        key = [field.name for field in opened.table.key]
        chosen = dict.fromkeys((*key, *self.values, *self.expected, *(field.name for field in opened.visible.fields)))
        kept = [*chosen][:MOST_FIELDS]
        order = {field.name: i for i, field in enumerate(opened.visible.fields)}
        return tuple(sorted(kept, key=lambda name: (name not in key, order.get(name, -1))))


def changing_plan(
    target: Target,
    key: Mapping[str, Scalar],
    values: Mapping[str, Scalar],
    *,
    expected: Mapping[str, Scalar],
    allowed: Sequence[str],
) -> Plan:
    """
    Return the plan to change a record.

    Args:
        target: The table.
        key: The record's key, as the model gave it.
        values: What to write, as the model gave it.
        expected: What the model expects to find.
        allowed: Fields that the settings permit to change.

    Raises:
        ToolError: It is not permitted, or cannot be.
    """
    known = _known(target)
    wanted = _allowed(target, known, values, allowed=allowed)
    if len(expected) > MOST_WRITTEN:
        raise ToolError(f"One call expects {MOST_WRITTEN} fields at most to be something. {NOTHING}")
    found = {known.find(name) or "": value for name, value in expected.items()}
    if "" in found or len(found) < len(expected):
        raise ToolError(f"`expected` names fields that cannot be read, or one twice. {NOTHING}")
    _check_size((*values.values(), *expected.values(), *key.values()))
    return Plan(
        target=target,
        address=_address(target, known, key),
        values=_fitted(target, wanted, required=True),
        expected=_fitted(target, found),
    )


def creating_plan(
    target: Target, values: Mapping[str, Scalar], *, allowed: Sequence[str], marks: Mapping[str, Scalar]
) -> Plan:
    """
    Return the plan to create a record.

    Args:
        target: The table.
        values: What to fill in, as the model gave it.
        allowed: Fields that the settings permit to fill in.
        marks: What the settings say of every new record.

    Raises:
        ToolError: It is not permitted, or cannot be.
    """
    known = _known(target)
    if not target.generates:
        raise ToolError(f"Records of {_table(target)} cannot be created: the database gives them no key. {NOTHING}")
    wanted = _allowed(target, known, values, allowed=allowed)
    fixed = {known.find(name) or "": value for name, value in marks.items()}
    if "" in fixed or any(_unwritable(target, name) for name in fixed) or fixed.keys() & wanted.keys():
        raise ToolError(
            f"What `drafts` in [plugins.sql] sets in {_table(target)} cannot be set: there is no such field, or it"
            f" is not open to writing. {NOTHING}"
        )
    _check_size(values.values())
    everything = _fitted(target, wanted | fixed, required=True)
    return Plan(target=target, address={}, values=everything, marks=frozenset(fixed))


def _known(target: Target) -> Names:
    """
    Return the columns that a call may name.

    Raises:
        ToolError: The table is none that is written to.
    """
    opened, table = target.opened, _table(target)
    if opened.table.source.view:
        raise ToolError(f"{table} is a view, and only tables are written to. {NOTHING}")
    if target.rules:
        raise ToolError(f"{table} has rules that turn a write into something else; it is not written to. {NOTHING}")
    visible = {field.name for field in opened.visible.fields}
    if not opened.table.key or not all(field.name in visible for field in opened.table.key):
        raise ToolError(f"{table} has no primary key that you may see, so no record can be named. {NOTHING}")
    return names(opened.table, opened.visible)


def _allowed(target: Target, known: Names, given: Mapping[str, Scalar], *, allowed: Sequence[str]) -> dict[str, Scalar]:
    """Return the values by the exact names of their columns."""
    permitted = {target.fold(name) for name in allowed}
    opened = [
        field.name
        for field in target.opened.visible.fields
        if target.fold(field.name) in permitted and not _unwritable(target, field.name)
    ]
    fields = f"These fields of {_table(target)} may be written: {', '.join(opened) or 'none'}."
    if not given:
        raise ToolError(f"`values` names no field. {fields} {NOTHING}")
    if len(given) > MOST_WRITTEN:
        raise ToolError(f"One call writes {MOST_WRITTEN} fields at most. {NOTHING}")
    found = {known.find(name) or "": value for name, value in given.items()}
    if len(found) < len(given) or not found.keys() <= {*opened}:
        raise ToolError(f"{fields} Name no other, and each once. {NOTHING}")
    return found


def _unwritable(target: Target, name: str) -> bool:
    """Return whether a column identifies a record, here or where others refer to it, or is computed."""
    return name in target.fixed or name in {field.name for field in target.opened.table.key}


def _address(target: Target, known: Names, key: Mapping[str, Scalar]) -> dict[str, Any]:
    wanted = [field.name for field in target.opened.table.key]
    found = {known.find(name) or "": value for name, value in key.items()}
    if found.keys() != {*wanted} or len(found) < len(key):
        raise ToolError(f"`key` must give the primary key of {_table(target)} alone: {', '.join(wanted)}. {NOTHING}")
    if any(value is None or isinstance(value, bool) or not comparable(value) for value in found.values()):
        raise ToolError(f"`key` must give texts or numbers. {NOTHING}")
    return {name: found[name] for name in wanted}


def _fitted(target: Target, given: Mapping[str, Scalar], *, required: bool = False) -> dict[str, Any]:
    fields = {field.name: field for field in target.opened.table.fields}
    fitted = {}
    for name, value in given.items():
        field = fields[name]
        if required and value is None and not field.nullable:
            raise ToolError(f"{_described(field)} must have a value. {NOTHING}")
        try:
            fitted[name] = target.types.fit(field, value)
        except Misfit as misfit:
            raise ToolError(f"{_described(field)} {misfit}. {NOTHING}") from None
    return fitted


def _described(field: Field) -> str:
    kind = line(field.type)[:_TYPE_CHARACTERS]
    return f"{field.name} ({kind})" if kind else field.name


def described(target: Target, names: Iterable[str]) -> str:
    """Return columns with their types."""
    fields = {field.name: field for field in target.opened.table.fields}
    return ", ".join(_described(fields[name]) for name in names)


def _check_size(values: Iterable[Scalar]) -> None:
    texts = [value for value in values if isinstance(value, str)]
    if any(_BROKEN.search(text) for text in texts):
        raise ToolError(f"A value holds a NUL or half a character, which no field can hold. {NOTHING}")
    size = sum(len(text.encode()) for text in texts)
    if size > WRITTEN_BYTES:
        raise ToolError(f"The values have {size:,} bytes; one call writes {WRITTEN_BYTES:,} at most. {NOTHING}")


def _table(target: Target) -> str:
    return target.opened.table.source.name
