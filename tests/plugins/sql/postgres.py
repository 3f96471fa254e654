"""A shop's database in a real PostgreSQL, and the ways into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import attrs
from nr_llm.cancellation import Cancellation
from nr_llm.contexts import ToolContext
from nr_llm.results import ToolResult
from nr_llm_sql import SqlSettings, sql_tools
from nr_llm_sql._conditions import Condition

from tests.postgres import PostgresServer

READER = "nr_llm_reader"
"""A role that may read what it is granted and nothing else."""

WRITER = "nr_llm_writer"
"""A role that may also change and create records."""

SHOP = """
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, password_hash text, city text);
INSERT INTO customers VALUES (1, 'Ada', 'f00', 'Leipzig'), (2, 'Ben', 'ba4', NULL), (3, 'Cem', '123', 'Leipzig');
CREATE TABLE orders (
    id int PRIMARY KEY, customer int REFERENCES customers, status text, total numeric(10, 2), paid boolean
);
INSERT INTO orders VALUES (4, 1, 'open', 9.5, false), (9, 2, 'open', 20, true), (11, 1, 'sent', 5.25, true);
CREATE TABLE api_keys (id int PRIMARY KEY, value text);
INSERT INTO api_keys VALUES (1, 'do not show');
CREATE SEQUENCE numbers;
"""


@attrs.frozen
class Postgres:
    """
    One database of the session's server.

    Args:
        server: The server.
        name: The database.
    """

    server: PostgresServer
    name: str

    def run(self, statements: str, *, grant: bool = True) -> str:
        """
        Run statements as the superuser, then let the reader read all there is in the schema `public`.

        They are one transaction. Returned is what the server sent, as `psql` prints it; to start that takes longer
        than most tests.
        """
        import psycopg

        granted = f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER};" if grant else ""
        with psycopg.connect(self.server.dsn(self.name), autocommit=True) as connection:
            cursor = connection.execute(f"{statements};\n{granted}".encode())
            lines = [line for result in results(cursor) for line in result]
        return "\n".join(lines)

    def empty(self) -> None:
        """Take away every schema but an empty `public`, and what a test has set."""
        schemas = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
        dropped = f"FOR name IN {schemas} LOOP EXECUTE format('DROP SCHEMA %I CASCADE', name); END LOOP;"
        self.run(
            f"SET client_min_messages = error; DO $$ DECLARE name text; BEGIN {dropped} END $$;"
            f"CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO {READER};"
            f"ALTER ROLE {READER} IN DATABASE {self.name} RESET ALL; ALTER ROLE {READER} NOBYPASSRLS"
        )

    def open_to_writing(self) -> None:
        """Let the writing role change and create records of all there is in the schema `public`."""
        self.run(
            f"GRANT USAGE ON SCHEMA public TO {WRITER};"
            f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO {WRITER};"
        )

    def settings(self, *, role: str = READER, **settings: Any) -> SqlSettings:
        """Return settings that lead here, and leave time enough on the slowest machine."""
        return SqlSettings(url=self.server.dsn(self.name, role=role), **{"seconds": 3_600.0, **settings})

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **settings: Any) -> ToolResult:
        """Call one tool's function, as the runtime does once the arguments are checked."""
        context = settings.pop("context", None) or ToolContext(tool=tool)
        tools = {each.name: each for each in sql_tools(self.settings(**settings))}
        result = tools[tool](context=context, **(arguments or {}))
        assert isinstance(result, ToolResult)
        return result

    def read(self, table: str, *, settings: dict[str, Any] | None = None, **arguments: Any) -> ToolResult:
        """Read records."""
        return self.call("read_records", {"table": table, **arguments}, **(settings or {}))

    def search(self, table: str, text: str = "", *where: tuple[Any, ...], **arguments: Any) -> ToolResult:
        """Search records; conditions are field, operator, value."""
        conditions = [Condition(*each) for each in where]
        return self.call("search_records", {"table": table, "text": text, "where": conditions, **arguments})

    def count(self, table: str, field: str | None = None, *where: tuple[Any, ...], **settings: Any) -> ToolResult:
        """Count records; conditions are field, operator, value."""
        conditions = [Condition(*each) for each in where]
        return self.call("count_by", {"table": table, "field": field, "where": conditions}, **settings)

    def ask(self, sql: str, *, seconds: float = 3_600.0, **settings: Any) -> list[tuple[Any, ...]]:
        """Run a statement as if a model could write one, through the guarded connection."""
        import sqlalchemy as sa
        from nr_llm_sql._postgres.connection import PostgresReader, connected
        from nr_llm_sql._stops import Halt

        halt = Halt(lambda: False, deadline=seconds, clock=lambda: 0.0)
        with connected(self.settings(**settings), halt, Cancellation()) as connection:
            with closing(PostgresReader(connection, halt).rows(sa.text(sql))) as rows:
                return list(rows)


def results(cursor: Any) -> Iterator[list[str]]:
    """Yield the rows of each statement, cells as the server sent them."""
    more = True
    while more:
        sent = cursor.pgresult
        cells = ([sent.get_value(row, column) or b"" for column in range(sent.nfields)] for row in range(sent.ntuples))
        yield [b"|".join(row).decode() for row in cells]
        more = cursor.nextset()


@contextmanager
def database(server: PostgresServer, name: str, script: str = "", *, encoding: str = "UTF8") -> Iterator[Postgres]:
    """Make a database for the reader, and drop it."""
    for role in (READER, WRITER):
        server.psql(
            f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN"
            f" CREATE ROLE {role} LOGIN; END IF; END $$"
        )
    server.drop_database(name)
    server.psql(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0")
    made = Postgres(server, name)
    try:
        made.run(script)
        yield made
    finally:
        server.drop_database(name)
