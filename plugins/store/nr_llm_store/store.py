"""`SqlStore`: the port of a run store on SQLite and PostgreSQL, one transaction for each change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
from nr_llm.budgets import Spent
from nr_llm.codecs.json import decode
from nr_llm.errors import MalformedJsonError, RunExistsError, StoreError
from nr_llm.records import (
    TERMINAL,
    Checkpoint,
    RunChange,
    RunHead,
    StoredRun,
    StoredStep,
    TranscriptEntry,
    Written,
)
from nr_llm.redaction import Redactor
from nr_llm.secrets import Secret
from nr_llm.stores import RunQuery, UsageRow
from sqlalchemy import Engine

from nr_llm_store import _changes, _rows, _schema, _statements
from nr_llm_store._database import Database, Session, each_chunk
from nr_llm_store._engines import Bounds, address
from nr_llm_store._rewrap import rewrap
from nr_llm_store._seal import Seal, message_of, parts, state_of
from nr_llm_store._tables import EVENT, LIVE, MESSAGE, PARTS, RUN
from nr_llm_store._text import plain, written
from nr_llm_store.settings import RETENTION_DAYS, USAGE_DAYS, StoreSettings, default_path
from nr_llm_store.verify import Finding, verify

CHUNK: Final = 500
"""Runs that are deleted in one transaction (the reference system's figure)."""

_MOST: Final = 2**63 - 1  # a number a database can take

DAY: Final = 86_400.0
"""Seconds of a day."""


@attrs.frozen
class Purged:
    """
    What a purge has forgotten.

    Attributes:
        runs: Ended runs.
        usage: Rows of the usage of runs deleted before.
    """

    runs: int
    usage: int


class SqlStore:
    """
    Keeps runs in SQLite or PostgreSQL.

    Args:
        database: The address of a database, the path of a SQLite file, or an engine, which is used as it is; None is
            the default file.
        keys: Base64 of 32 bytes each: the first encrypts the live state of runs, all decrypt.
        redactor: Learns the keys and the address.
        bounds: How long it may keep its caller waiting.

    Raises:
        ConfigurationError: The address or a key is of another form, or a package for it is missing.

    Attributes:
        blocking: True: its methods wait for a disk or a network.
        encrypts: Whether live state is encrypted.
        place: Where it is, for people; without user and password.
    """

    blocking = True

    def __init__(
        self,
        database: str | Path | Secret | Engine | None = None,
        *,
        keys: Iterable[Secret | str] = (),
        redactor: Redactor | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        keys = tuple(keys)
        if redactor is not None:
            for secret in (*parts(keys), *((database,) if isinstance(database, Secret) else ())):
                redactor.learn(secret)
        if isinstance(database, Secret):
            database = database.reveal()
        self._seal = Seal(keys)
        target = database if isinstance(database, Engine) else address(default_path() if database is None else database)
        self._database = Database(target, bounds or Bounds(), prepare=_schema.prepare)
        self.place = self._database.place.removeprefix("The store ")
        self.encrypts = self._seal.first is not None

    @classmethod
    def of(cls, settings: StoreSettings, *, redactor: Redactor | None = None) -> SqlStore:
        """Return the store that settings describe."""
        bounds = Bounds(
            wait=settings.wait_seconds, statement=settings.statement_seconds, synchronous=settings.synchronous
        )
        keys = () if settings.keys is None else (settings.keys,)
        return cls(settings.url or settings.path, keys=keys, redactor=redactor, bounds=bounds)

    def __repr__(self) -> str:
        return f"<SqlStore: {self.place}>"

    # -- writing -----------------------------------------------------------------------------------------------

    def create(self, head: RunHead, change: RunChange) -> None:
        """
        Keep a new run.

        Raises:
            RunExistsError: There is a run of that name.
            StoreError: It could not be kept.
        """
        run_id = plain(head.run_id)
        change = attrs.evolve(change, run_id=run_id)
        over = change.status is not None and change.status.terminal
        kept = None if over else change.checkpoint
        messages = () if kept is None else kept.messages
        row = {
            **_rows.head_columns(head),
            **_rows.first_columns(change, state=self._state(run_id, kept), messages=len(messages)),
        }
        with self._database.writing() as session:
            if not session.run(self._named("create", _statements.create), row):
                raise RunExistsError(head.run_id)
            _follows(change, 0, 0)
            self._add(session, change)
            self._add_live(session, run_id, 0, messages)

    def write(self, change: RunChange) -> Written:
        """
        Apply a change as a whole, if the run is as the change expects it, else not at all.

        Raises:
            StoreError: It could not be written, or a step of that number is there already.
        """
        run_id = plain(change.run_id)
        shape = _changes.shape_of(change)
        statement = self._database.statement(shape, lambda: _changes.change_statement(shape))
        values = _changes.parameters(change, self._state(run_id, change.checkpoint))
        with self._database.writing() as session:
            now = session.rows(statement, values) if change.expect else []
            if not now:
                return self._refused(session, run_id)
            [(status, stop, steps, entries, live, in_the_way)] = now
            _follows(change, steps - len(change.steps), entries - len(change.transcript))
            self._add(session, change)
            if status in TERMINAL:
                self._wipe(session, run_id, ended=change.status is not None)
            elif change.checkpoint is not None:
                messages = change.checkpoint.messages
                if in_the_way:
                    self._forget_live(session, run_id, live - len(messages))
                self._add_live(session, run_id, live - len(messages), messages)
        return Written(applied=True, status=status, stop=bool(stop), sequence=steps, transcript=entries)

    def _refused(self, session: Session, run_id: str) -> Written:
        for status, stop, steps, entries in session.rows(self._named("now", _statements.run_now), {"_run_id": run_id}):
            return Written(applied=False, status=status, stop=bool(stop), sequence=steps, transcript=entries)
        return Written(applied=False)

    def _add(self, session: Session, change: RunChange) -> None:
        if change.steps:
            session.each(self._inserts(EVENT), _rows.event_rows(change))
        if change.transcript:
            session.each(self._inserts(MESSAGE), _rows.message_rows(change))

    def _add_live(self, session: Session, run_id: str, start: int, messages: Sequence[Any]) -> None:
        if messages:
            rows = [
                {"run_id": run_id, "number": number, "message": self._sealed_message(run_id, number, message)}
                for number, message in enumerate(messages, start)
            ]
            session.each(self._inserts(LIVE), rows)

    def _wipe(self, session: Session, run_id: str, *, ended: bool) -> None:
        self._forget_live(session, run_id, 0)
        if not ended:  # the update that ends a run wipes the state itself
            session.run(self._named("wipe", _statements.forget_state), {"_run_id": run_id})

    def _forget_live(self, session: Session, run_id: str, start: int) -> None:
        session.run(self._named("forget", _statements.forget_live), {"_run_id": run_id, "_start": start})

    def request_stop(self, run_id: str, at: float) -> bool:
        """Note that a run shall stop; False if it has ended or there is none."""
        with self._database.writing() as session:
            return session.run(self._named("stop", _statements.request_stop), {"_run_id": plain(run_id), "_at": at}) > 0

    def delete(self, run_ids: Iterable[str]) -> int:
        """Forget runs that have ended, 500 in one transaction; what they used stays counted."""
        return sum(self._delete(chunk) for chunk in each_chunk(dict.fromkeys(map(plain, run_ids)), CHUNK))

    def _delete(self, run_ids: Sequence[str]) -> int:
        with self._database.writing() as session:
            found = [row[0] for row in session.rows(self._of_many(_statements.ended_among, run_ids), _ids(run_ids))]
            if found:
                session.run(self._of_many(_statements.count_usage, found), _ids(found))
                for table in (*PARTS, RUN):  # what belongs to a run goes before it
                    session.run(self._of_many(partial(_statements.delete_rows, table), found, table.name), _ids(found))
        return len(found)

    def _of_many(self, build: Callable[[int], Any], run_ids: Sequence[str], name: str = "") -> Any:
        count = len(run_ids)
        return self._database.statement(("many", getattr(build, "__name__", name), count), lambda: build(count))

    # -- reading -----------------------------------------------------------------------------------------------

    def run(self, run_id: str) -> StoredRun | None:
        """Return a run, or None."""
        rows = self._read("run", _statements.one_run, _run_id=run_id)
        return _rows.read_run(rows[0]) if rows else None

    def runs(self, query: RunQuery) -> Sequence[StoredRun]:
        """Return runs, the newest first."""
        if query.statuses is not None and not query.statuses:
            return ()
        listing = _statements.Listing.of(query)
        rows = self._read(listing, listing.statement, **_statements.asked(query, _MOST))
        return tuple(map(_rows.read_run, rows))

    def steps(self, run_id: str, *, after: int = -1, limit: int | None = None) -> Sequence[StoredStep]:
        """Return the steps of a run whose number is above `after`, in order."""
        limited = limit is not None
        rows = self._read(
            ("steps", limited),
            lambda: _statements.steps(limited=limited),
            _run_id=run_id,
            _after=after,
            _limit=min(limit or 0, _MOST),
        )
        return tuple(map(_rows.read_step, rows))

    def transcript(self, run_id: str) -> Sequence[TranscriptEntry]:
        """Return the messages of a run as they were kept, in order."""
        return tuple(map(_rows.read_entry, self._read("transcript", _statements.transcript, _run_id=run_id)))

    def live(self, run_id: str) -> Checkpoint | None:
        """
        Return the whole live state of a run, or None if it has ended or there is none.

        Raises:
            StoreError: It could not be read, or decrypted.
        """
        rows = self._read("live", _statements.live, _run_id=run_id)
        if not rows or rows[0][0] != -1:
            return None
        run_id = plain(run_id)
        state = self._opened(run_id, rows[0][1], state_of(run_id))
        messages = [self._opened(run_id, text, message_of(run_id, number)) for number, text in rows[1:]]
        return Checkpoint(state=state, messages=tuple(messages))

    def _opened(self, run_id: str, text: str, purpose: str) -> dict[str, Any]:
        try:
            value = decode(self._seal.open(text, purpose))
        except MalformedJsonError:
            value = None
        if not isinstance(value, dict):
            raise StoreError(f"The live state of run {run_id} is damaged: restore {self.place} from a backup.")
        return value

    def usage(self, *, since: float = 0.0) -> Sequence[UsageRow]:
        """Return what runs that began at or after a time used, by actor, configuration and model."""
        return _rows.read_usage_rows(self._read("usage", _statements.usage, _since=since))

    def spent(self, actor_id: str, since: datetime) -> Spent:
        """Return what the runs of an actor used that began at or after a time."""
        return _rows.read_spent(self._read("spent", _statements.spent, _actor_id=actor_id, _since=since.timestamp()))

    # -- the rest ----------------------------------------------------------------------------------------------

    def upgrade(self) -> str:
        """Make the tables, or bring them up to date, and return their revision."""
        return _schema.upgrade(self._database)

    def revision(self) -> str | None:
        """Return the revision of the tables, or None if there are none."""
        return _schema.current(self._database)

    def purge(self, *, now: float, retention_days: float = RETENTION_DAYS, usage_days: float = USAGE_DAYS) -> Purged:
        """
        Forget what is older than it is to be kept; a run that has not ended is never touched, however old.

        Args:
            now: Seconds since 1970.
            retention_days: Days that ended runs are kept after their end; below 1 the default.
            usage_days: Days that the usage of deleted runs is kept after they began; below 1 the default.
        """
        before = now - DAY * (retention_days if retention_days >= 1 else RETENTION_DAYS)
        ended = RunQuery(statuses=TERMINAL, ended_before=before, limit=CHUNK)
        runs = 0
        while gone := self.delete(run.run_id for run in self.runs(ended)):
            runs += gone
        before = now - DAY * (usage_days if usage_days >= 1 else USAGE_DAYS)
        with self._database.writing() as session:
            rows = session.run(self._named("old usage", _statements.old_usage), {"_before": before})
        return Purged(runs=runs, usage=rows)

    def rewrap(self) -> int:
        """Encrypt the live state of all runs anew with the first key, and return how many values there were."""
        return rewrap(self._database, self._seal)

    def verify(self, run_id: str) -> tuple[Finding, ...]:
        """Return what is wrong with the record of a run; nothing is the good answer."""
        found = verify(self, run_id)
        run = self.run(run_id)
        left = self._read("stored messages", _statements.stored_messages, _run_id=run_id)
        if run is not None and run.status in TERMINAL and left:
            return (*found, Finding("live", f"It is {run.raw_status}, and {len(left)} live messages are still there."))
        return found

    def close(self) -> None:
        """Give up connections; it may be used again."""
        self._database.close()

    def _read(self, key: Any, build: Any, **values: Any) -> list[Any]:
        with self._database.reading() as session:
            given = {name: plain(value) if isinstance(value, str) else value for name, value in values.items()}
            return session.rows(self._database.statement(key, build), given)

    def _named(self, name: str, build: Any) -> Any:
        return self._database.statement(name, build)

    def _inserts(self, table: Any) -> Any:
        return self._database.statement(("insert", table.name), lambda: _statements.insert_into(table))

    def _state(self, run_id: str, checkpoint: Checkpoint | None) -> str | None:
        if checkpoint is None:
            return None
        return self._seal.close(written(checkpoint.state), state_of(run_id))

    def _sealed_message(self, run_id: str, number: int, message: object) -> str:
        return self._seal.close(written(message), message_of(run_id, number))


def _ids(run_ids: Sequence[str]) -> dict[str, str]:
    return {f"_id{i}": run_id for i, run_id in enumerate(run_ids)}


def _follows(change: RunChange, steps: int, entries: int) -> None:
    """Refuse what would leave a gap, or stand where something stands already."""
    for has, start, what in (
        (steps, change.sequence, change.steps),
        (entries, change.transcript_start, change.transcript),
    ):
        if what and has != start:
            raise StoreError(f"Run {change.run_id} has {has} entries, and {start} was to be the next.")
