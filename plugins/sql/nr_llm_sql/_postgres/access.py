"""Decides what may be read in PostgreSQL: names are exact, denies are not, and views are read by permission."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from nr_llm_sql._catalogue import Source, Table
from nr_llm_sql._credentials import credential_like
from nr_llm_sql._names import clear, fold, folded
from nr_llm_sql._postgres.catalogue import Read, Relation
from nr_llm_sql.settings import SqlSettings


@attrs.frozen
class Permits:
    """
    What the settings permit in one database.

    Args:
        settings: The host's settings.
        relations: Tables and views that the role may read.
    """

    settings: SqlSettings
    relations: tuple[Relation, ...]
    _permitted: Mapping[str, Relation] = attrs.field(init=False, repr=False)
    _folded: Mapping[str, list[Relation]] = attrs.field(init=False, repr=False)

    @_permitted.default
    def _permit(self) -> Mapping[str, Relation]:
        permitted: dict[str, Relation] = {}
        for relation in filter(self._permits, self.relations):
            permitted.setdefault(relation.source.name, relation)
        return permitted

    @_folded.default
    def _fold(self) -> Mapping[str, list[Relation]]:
        found: dict[str, list[Relation]] = {}
        for name, relation in self._permitted.items():
            found.setdefault(fold(name), []).append(relation)
        return found

    def permitted(self) -> tuple[Relation, ...]:
        """Return the tables and views that a model may see."""
        return tuple(self._permitted.values())

    def find(self, name: str) -> Relation | None:
        """Return what `name` means: exactly, or but for capital letters if there is only one such."""
        exact, alike = self._permitted.get(name), self._folded.get(fold(name), [])
        return exact or (alike[0] if len(alike) == 1 else None)

    def visible(self, table: Table) -> Table:
        """Return `table` with the columns that a model may see."""
        readable = {field.name for field in table.fields if field.readable}
        shown = tuple(
            field
            for field in table.fields
            if field.name in readable
            and self.field(table.source, field.name)
            and all(self.field(table.source, name) for name in field.inputs)
        )
        return attrs.evolve(table, fields=shown)

    def field(self, source: Source, name: str) -> bool:
        """Return whether the column `name` may be seen, if there is one."""
        return clear(name) and not credential_like(name) and not self._denies(*source.place, name)

    def _permits(self, relation: Relation) -> bool:
        source = relation.source
        schema, table = source.place
        # A view shows what its author chose and runs functions that no name tells of: it is read if the host says so.
        named = source.name in self.settings.tables or f"{schema}.{table}" in self.settings.tables
        if not clear(source.name) or self._denies_table(schema, table):
            return False
        if not named and (source.view or self.settings.tables or credential_like(table)):
            return False
        return not any(map(self._hides, relation.reads))

    def _hides(self, read: Read) -> bool:
        if read.foreign or self._denies_table(read.schema, read.table):
            return True
        if read.column is not None and self._denies(read.schema, read.table, read.column):
            return True
        return read.whole and self._denies_some(read.schema, read.table)

    def _denies_table(self, schema: str, table: str) -> bool:
        return not folded(table, f"{schema}.{table}").isdisjoint(folded(*self.settings.denied_tables))

    def _denies(self, schema: str, table: str, column: str) -> bool:
        meant = folded(column, f"{table}.{column}", f"{schema}.{table}.{column}")
        return not meant.isdisjoint(folded(*self.settings.denied_columns))

    def _denies_some(self, schema: str, table: str) -> bool:
        """Return whether any column of a table may be denied, whatever columns it has."""
        starts = tuple(folded(f"{table}.", f"{schema}.{table}."))
        return any("." not in denied or fold(denied).startswith(starts) for denied in self.settings.denied_columns)
