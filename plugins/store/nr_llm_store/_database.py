"""One database: connections from a pool, transactions that end, statements compiled once."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import attrs
from nr_llm.errors import NrLlmError, StoreError
from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql import ClauseElement

from nr_llm_store._engines import Bounds, engine_for, make_file, named
from nr_llm_store._faults import fault
from nr_llm_store._forks import watch

_ABANDONED: Final[list[object]] = []
"""Pools that a child inherited: were they freed, their connections would be closed under the parent."""

_QUEUE: Final = 4
"""Times `wait` that a writer stands in line behind others of its process: more than a line is long, and no deadlock."""

_PATIENCE: Final = 10.0  # seconds that a fork waits for a write: longer than one takes, and no deadlock

Parameters = Mapping[str, Any]
Row = tuple[Any, ...]


@attrs.frozen
class Statement:
    """
    A statement as its driver takes it.

    Attributes:
        text: With named parameters.
        given: The parameters that are always the same.
    """

    text: str
    given: dict[str, Any]

    def with_given(self, parameters: Parameters) -> Parameters:
        """Return parameters with those that are always the same."""
        return {**self.given, **parameters} if self.given else parameters


class Session:
    """One connection while it is lent."""

    def __init__(self, connection: Any) -> None:
        self._cursor = connection.cursor()

    def begin(self) -> None:
        """Begin a transaction that writes (SQLite)."""
        self._cursor.execute("BEGIN IMMEDIATE")

    def rows(self, statement: Statement, parameters: Parameters) -> list[Row]:
        """Return the rows of a statement that has some."""
        self._cursor.execute(statement.text, statement.with_given(parameters))
        rows: list[Row] = self._cursor.fetchall()
        return rows

    def run(self, statement: Statement, parameters: Parameters) -> int:
        """Return how many rows a statement touched."""
        self._cursor.execute(statement.text, statement.with_given(parameters))
        return int(self._cursor.rowcount)

    def each(self, statement: Statement, parameters: Sequence[Parameters]) -> None:
        """Run a statement once for each."""
        if len(parameters) == 1:
            self._cursor.execute(statement.text, parameters[0])
        elif parameters:
            self._cursor.executemany(statement.text, parameters)


class Database:
    """
    A database of runs, opened when it is first used.

    Args:
        target: Its address, or an engine of the caller's, which is used as it is.
        bounds: How long it may keep its caller waiting.
        prepare: Called once with this database before its first use: makes or checks the tables.
    """

    def __init__(self, target: URL | Engine, bounds: Bounds, *, prepare: Callable[[Database], None]) -> None:
        self.engine = target if isinstance(target, Engine) else engine_for(target, bounds)
        self.place = named(self.engine.url)
        self.sqlite = self.engine.dialect.name == "sqlite"
        # SQLite's driver takes names too, and an engine of the caller's is compiled for question marks.
        self._dialect = SQLiteDialect_pysqlite(paramstyle="named") if self.sqlite else self.engine.dialect
        self._prepare = prepare
        self._bounds = bounds
        self._own = not isinstance(target, Engine)
        self._statements: dict[Hashable, Statement] = {}
        self._opening = threading.RLock()
        self._writes = threading.Lock()
        self._spare: list[PoolProxiedConnection] = []  # SQLite's, beside the pool: to ask that for one is dear
        self._held = False
        self._ready = False
        if self._own:
            weakref.finalize(self, _dispose, self.engine, self._spare)  # nobody has to close it
        watch(self)

    def statement(self, key: Hashable, build: Callable[[], ClauseElement]) -> Statement:
        """Return a statement, built at most once for each key."""
        found = self._statements.get(key)
        if found is None:
            compiled: Any = build().compile(dialect=self._dialect)
            values = {name: bind.value for bind, name in compiled.bind_names.items() if not bind.required}
            found = self._statements[key] = Statement(str(compiled), values)
        return found

    def open(self) -> None:
        """
        Make sure that the database can be used.

        Raises:
            StoreError: It cannot, and the text says why.
        """
        if self._ready:
            return
        with self._opening:
            if not self._ready:
                with self.faults():
                    self._prepare(self)
                self._ready = True

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Lend SQLAlchemy's own connection, in a transaction: for what is done to tables."""
        if self.sqlite and self._own:
            make_file(Path(str(self.engine.url.database)))
        with self.faults(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn what a driver raises into a `StoreError`."""
        try:
            yield
        except NrLlmError:
            raise
        except SQLAlchemyError as error:
            raise fault(error, self.place) from error
        except self.engine.dialect.dbapi.Error as error:  # type: ignore[union-attr]  # the engine has loaded it
            raise fault(error, self.place) from error

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Lend a connection for one statement that reads."""
        self.open()
        with self.faults(), self._lent() as connection:
            yield Session(connection)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Lend a connection for one transaction: committed when the block ends, undone when it raises."""
        self.open()
        alone = self._stand_in_line() if self.sqlite else None
        try:
            with self.faults(), self._lent() as connection:
                session = Session(connection)
                try:
                    if alone is not None:
                        session.begin()
                    yield session
                    connection.commit()
                except BaseException:
                    with suppress(Exception):
                        connection.rollback()
                    raise
        finally:
            if alone is not None:
                alone.release()

    def _stand_in_line(self) -> threading.Lock:
        """Wait for the other writers of this process: SQLite has one at a time, and would be asked again and again."""
        writes = self._writes  # a child that is forked meanwhile has another
        if not writes.acquire(timeout=_QUEUE * self._bounds.wait):
            raise StoreError(f"{self.place}: other threads are writing for longer than {_QUEUE} times `wait_seconds`.")
        return writes

    def _take(self) -> PoolProxiedConnection:
        try:
            return self._spare.pop()
        except IndexError:
            return self.engine.raw_connection()

    @contextmanager
    def _lent(self) -> Iterator[Any]:
        lent = self._take()
        try:
            yield lent.dbapi_connection
        except BaseException as error:
            if self.engine.dialect.is_disconnect(error, lent.dbapi_connection, None):  # type: ignore[arg-type]
                lent.invalidate()
            lent.close()
            raise
        if self.sqlite and self._own and not self._spare:
            self._spare.append(lent)
        else:
            lent.close()

    def close(self) -> None:
        """Close the connections that are not lent; new ones are made when they are needed."""
        if self._own:
            _dispose(self.engine, self._spare)
        self._ready = False

    # -- forks -------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Wait for the write that is under way; SQLite's connections must not even be open."""
        self._held = self._writes.acquire(timeout=_PATIENCE)
        if self.sqlite and self._own:
            _dispose(self.engine, self._spare)

    def after_fork(self) -> None:
        """Go on, in the parent."""
        if self._held:
            self._writes.release()

    def in_child(self) -> None:
        """Begin anew, and leave the parent's connections alone."""
        self._writes, self._opening = threading.Lock(), threading.RLock()
        _ABANDONED.append((self.engine.pool, *self._spare))
        self._spare.clear()
        self.engine.dispose(close=False)


def _dispose(engine: Engine, spare: list[PoolProxiedConnection]) -> None:
    while spare:
        spare.pop().close()
    engine.dispose()


def each_chunk(values: Iterable[str], size: int) -> Iterator[list[str]]:
    """Yield values in lists of at most `size`."""
    chunk: list[str] = []
    for value in values:
        chunk.append(value)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
