"""Reads which tables and columns there are, and what lies behind them, from the server's own catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import sqlalchemy as sa

from nr_llm_sql._catalogue import Field, Source, Table

MOST_SOURCES = 10_000
"""Tables that are looked at; far more than fit any answer."""

_SOURCES = sa.text("""
    SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm')
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (CAST(:schemas AS text[])) AND c.relkind IN ('r', 'p', 'v', 'm')
        AND NOT c.relispartition AND c.relpersistence <> 't'
        AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY array_position(CAST(:schemas AS text[]), CAST(n.nspname AS text)), c.relname LIMIT :most
""")

# Whoever reads a table reads its partitions and heirs, and whoever reads a view what its rule names.  A rule that
# names a whole row (`varattno 0`) names no column of it.  Numbers below 16384 are the system's own.
_READS = sa.text(r"""
    WITH RECURSIVE edge (reader, relation, part, whole) AS (
        SELECT i.inhparent, i.inhrelid, NULL, true FROM pg_catalog.pg_inherits AS i
        UNION ALL
        SELECT DISTINCT r.ev_class, d.refobjid, CAST(a.attname AS text),
            CAST(r.ev_action AS text) ~ '\:varattno 0 '
        FROM pg_catalog.pg_rewrite AS r
        JOIN pg_catalog.pg_depend AS d ON d.objid = r.oid AND d.refobjid <> r.ev_class
            AND d.classid = CAST('pg_catalog.pg_rewrite' AS regclass)
            AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
        LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attnum > 0
        WHERE r.ev_class >= 16384
    ), reach (root, relation) AS (
        SELECT o.oid, o.oid FROM unnest(CAST(:roots AS oid[])) AS o (oid)
        UNION
        SELECT reach.root, edge.relation FROM reach JOIN edge ON edge.reader = reach.relation
    )
    SELECT reach.root, n.nspname, c.relname, c.relkind = 'f', edge.part, edge.whole
    FROM reach JOIN edge ON edge.reader = reach.relation
    JOIN pg_catalog.pg_class AS c ON c.oid = edge.relation JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
""")

# Nobody can permit or deny the names within a value of a row type, so such columns are not read.
_FIELDS = sa.text(r"""
    WITH RECURSIVE base (attnum, type) AS (
        SELECT a.attnum, a.atttypid FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = :oid AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT base.attnum, t.typbasetype FROM base JOIN pg_catalog.pg_type AS t ON t.oid = base.type
        WHERE t.typtype = 'd'
    )
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
        coalesce(array_position(k.conkey, a.attnum), 0), t.typname, CAST(t.typcategory AS text),
        has_column_privilege(a.attrelid, a.attnum, 'SELECT') AND t.typtype <> 'c'
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_type AS e WHERE e.oid = t.typelem AND e.typtype = 'c'), a.attnum,
        ARRAY(
            SELECT CAST(m[1] AS integer) FROM regexp_matches(CAST(d.adbin AS text), '\:varattno (-?[0-9]+)', 'g') AS m
        )
    FROM base
    JOIN pg_catalog.pg_type AS t ON t.oid = base.type AND t.typtype <> 'd'
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = :oid AND a.attnum = base.attnum
    LEFT JOIN pg_catalog.pg_constraint AS k ON k.conrelid = a.attrelid AND k.contype = 'p'
    LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.attgenerated <> ''
    ORDER BY a.attnum
""")

_REFERENCES = sa.text("""
    SELECT a.attname, n.nspname, c.relname, f.attname
    FROM pg_catalog.pg_constraint AS k CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS u (ours, theirs)
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = u.ours
    JOIN pg_catalog.pg_attribute AS f ON f.attrelid = k.confrelid AND f.attnum = u.theirs
    JOIN pg_catalog.pg_class AS c ON c.oid = k.confrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE k.conrelid = :oid AND k.contype = 'f'
""")

_POWERS = sa.text("""
    SELECT r.rolsuper, r.rolbypassrls OR r.rolreplication OR r.rolcreaterole OR r.rolcreatedb,
        EXISTS (
            SELECT FROM pg_catalog.pg_roles AS o
            WHERE o.rolname = ANY (CAST(:powers AS text[])) AND pg_has_role(o.oid, 'MEMBER')
        ),
        EXISTS (
            SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = ANY (CAST(:schemas AS text[])) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
                AND (has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                    OR has_any_column_privilege(c.oid, 'INSERT, UPDATE'))
        )
    FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user
""")
WRITES = "may write to the tables"
"""The one power that a role needs to write."""

_SERVER_ROLES = (
    *("pg_read_server_files", "pg_write_server_files", "pg_execute_server_program", "pg_write_all_data"),
    *("pg_signal_backend", "pg_maintain", "pg_checkpoint", "pg_create_subscription", "pg_database_owner"),
)

_SEARCHED_TYPES = frozenset({"uuid", "json", "jsonb", "xml", "inet", "cidr", "macaddr", "citext", "ltree"})


@attrs.frozen(kw_only=True)
class Read:
    """
    Something that is read along with a table or view.

    Args:
        schema: The schema of a table.
        table: The table.
        column: The column, if one is known.
        whole: Whether every column may be read.
        foreign: Whether reading it runs code that fetches the rows from elsewhere.
    """

    schema: str
    table: str
    column: str | None
    whole: bool
    foreign: bool


@attrs.frozen(kw_only=True)
class Relation:
    """
    A table or view and what is read along with it.

    Args:
        source: The table or view, by the name that a model uses.
        oid: The server's number of it.
        reads: What else is read.
    """

    source: Source
    oid: int
    reads: tuple[Read, ...] = ()


def shown_name(schema: str, table: str, schemas: Sequence[str]) -> str:
    """Return the name that a model uses: the first schema goes without saying."""
    return table if schema == schemas[0] else f"{schema}.{table}"


def relations(connection: sa.Connection, schemas: Sequence[str]) -> tuple[Relation, ...]:
    """Return the tables and views of `schemas` that the role may read; foreign and temporary tables are none."""
    found = connection.execute(_SOURCES, {"schemas": [*schemas], "most": MOST_SOURCES}).all()
    reads: dict[int, list[Read]] = {oid: [] for oid, *_ in found}
    for root, schema, table, foreign, column, whole in connection.execute(_READS, {"roots": [*reads]}):
        reads[root].append(Read(schema=schema, table=table, column=column, whole=whole, foreign=foreign))
    return tuple(
        Relation(
            source=Source(shown_name(schema, table, schemas), view, schema=schema, table=table),
            oid=oid,
            reads=tuple(reads[oid]),
        )
        for oid, schema, table, view in found
    )


def described(connection: sa.Connection, relation: Relation, schemas: Sequence[str]) -> Table:
    """Return the columns of a table or view."""
    references = {
        name: (shown_name(schema, table, schemas), column)
        for name, schema, table, column in connection.execute(_REFERENCES, {"oid": relation.oid})
    }
    rows = connection.execute(_FIELDS, {"oid": relation.oid}).all()
    numbers = {number: name for name, *_, number, _ in rows}
    fields = tuple(
        Field(
            name=name,
            type=kind,
            nullable=nullable,
            key=key,
            reference=references.get(name),
            textual=category in "SE" or base in _SEARCHED_TYPES,
            binary=base == "bytea",
            readable=readable,
            category=category,
            base=base,
            inputs=_inputs(used, numbers),
        )
        for name, kind, nullable, key, base, category, readable, _, used in rows
    )
    return Table(source=relation.source, fields=fields, rowid=None)


def _inputs(used: Iterable[int], numbers: dict[int, str]) -> frozenset[str]:
    """Return what a generated column is computed from; the number 0 is the whole row."""
    numbered = set(used)
    return frozenset(numbers.values() if 0 in numbered else (numbers[each] for each in numbered if each in numbers))


def power(connection: sa.Connection, schemas: Sequence[str]) -> str:
    """Return what the role may do beside reading, in words; empty if nothing."""
    parameters = {"schemas": [*schemas], "powers": [*_SERVER_ROLES]}
    superuser, attributes, member, writes = connection.execute(_POWERS, parameters).one()
    if superuser:
        return "is a superuser"
    if attributes:
        return "may bypass row security, replicate, or create roles or databases"
    if member:
        return "is a member of a role with rights on the server"
    return WRITES if writes else ""
