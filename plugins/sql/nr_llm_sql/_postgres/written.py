"""Reads from PostgreSQL's catalogue what follows when a record of a table is written."""

from __future__ import annotations

import attrs
import sqlalchemy as sa

from nr_llm_sql._postgres.catalogue import Relation
from nr_llm_sql._written import shown_trigger

_TRIGGERS = sa.text("""
    SELECT t.tgname FROM pg_catalog.pg_trigger AS t
    WHERE t.tgrelid = :oid AND NOT t.tgisinternal AND t.tgenabled <> 'D' ORDER BY t.tgname
""")

_FIXED = sa.text("""
    SELECT a.attname FROM pg_catalog.pg_attribute AS a
    WHERE a.attrelid = :oid AND a.attnum > 0 AND NOT a.attisdropped AND (
        a.attgenerated <> '' OR a.attidentity = 'a' OR EXISTS (
            SELECT FROM pg_catalog.pg_constraint AS k
            WHERE k.confrelid = a.attrelid AND k.contype = 'f' AND a.attnum = ANY (k.confkey)
        )
    )
""")

_RULES = sa.text("SELECT c.relhasrules FROM pg_catalog.pg_class AS c WHERE c.oid = :oid")


@attrs.frozen(kw_only=True)
class Consequences:
    """
    What PostgreSQL does by itself when a record of a table is written.

    Args:
        triggers: The table's triggers.
        fixed: Columns that are computed, counted up, or referred to by other records.
        rules: Whether statements on the table are rewritten into others.
    """

    triggers: tuple[str, ...]
    fixed: frozenset[str]
    rules: bool


def consequences(connection: sa.Connection, relation: Relation) -> Consequences:
    """Return what follows when a record of `relation` is written."""
    of = {"oid": relation.oid}
    return Consequences(
        triggers=tuple(map(shown_trigger, connection.scalars(_TRIGGERS, of))),
        fixed=frozenset(connection.scalars(_FIXED, of)),
        rules=bool(connection.scalar(_RULES, of)) and not relation.source.view,
    )
