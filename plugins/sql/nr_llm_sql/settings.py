"""What the host decides about its database: the file, the tables a model may see, the limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs
from nr_llm.errors import InvalidValueError
from nr_llm.secrets import Secret
from nr_llm.settings import setting

from nr_llm_sql._grants import Draft, check_denies, drafts_by_table, fields_by_table
from nr_llm_sql._names import folded

URL_SETTING = "`url` in [plugins.sql] or the variable NR_LLM_SQL_URL"
"""How messages name the address of a PostgreSQL database."""

WRITE_URL_SETTING = "`write_url` in [plugins.sql] or the variable NR_LLM_SQL_WRITE_URL"
"""How messages name the address by which PostgreSQL is written to."""

DATABASE_SETTING = "`database` in [plugins.sql] or the variable NR_LLM_SQL_DATABASE"
"""How messages name the setting that every tool needs."""

SCHEMES = ("postgresql://", "postgres://", "postgresql+psycopg://")
"""How an address of PostgreSQL begins."""

MOST_ROWS = 1_000
"""The largest page a host can allow; with 300 characters a cell more would never fit a result."""

LONGEST_SECONDS = 3_600.0
"""The longest time a host can give one call; a longer one is no conversation."""

SMALLEST_VALUE, LARGEST_VALUE = 1_000, 1_000_000_000
"""Bounds of `SqlSettings.value_bytes`: room for SQLite's own work, and SQLite's own default limit."""


def _path(value: str | Path | None) -> Path | None:
    return None if value is None or value == "" else Path(value).expanduser()


def _secret(value: str | Secret | None) -> Secret | None:
    return Secret(value) if isinstance(value, str) and value else value or None


def _listed(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _no_nul(_: object, attribute: attrs.Attribute[Path | None], value: Path | None) -> None:
    if value is not None and "\0" in str(value):
        raise InvalidValueError("must not hold a NUL character", path=attribute.name)


def _address(_: object, attribute: attrs.Attribute[Secret | None], value: Secret | None) -> None:
    if value is not None and not value.reveal().startswith(SCHEMES):
        raise InvalidValueError(f"must begin with {SCHEMES[0]}", path=attribute.name)


def _schemas(_: object, attribute: attrs.Attribute[tuple[str, ...]], value: tuple[str, ...]) -> None:
    if not value:
        raise InvalidValueError("must name a schema", path=attribute.name)
    for i, name in enumerate(value):
        if not name or name.startswith("pg_") or name == "information_schema":
            raise InvalidValueError(f"must be no schema of the system: {name!r}", path=f"{attribute.name}[{i}]")


def _names(_: object, attribute: attrs.Attribute[tuple[str, ...]], value: tuple[str, ...]) -> None:
    for i, name in enumerate(value):
        if not name:
            raise InvalidValueError("must not be empty", path=f"{attribute.name}[{i}]")


def _time(_: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 < value <= LONGEST_SECONDS:
        raise InvalidValueError(f"must be above 0 and at most {LONGEST_SECONDS:,}, not {value!r}", path=attribute.name)


def _value_size(_: object, attribute: attrs.Attribute[int], value: int) -> None:
    if not SMALLEST_VALUE <= value <= LARGEST_VALUE:
        wanted = f"{SMALLEST_VALUE:,} to {LARGEST_VALUE:,}"
        raise InvalidValueError(f"must be from {wanted}, not {value!r}", path=attribute.name)


def _page(_: object, attribute: attrs.Attribute[int], value: int) -> None:
    if not 1 <= value <= MOST_ROWS:
        raise InvalidValueError(f"must be from 1 to {MOST_ROWS}, not {value!r}", path=attribute.name)


@attrs.frozen(kw_only=True)
class SqlSettings:
    """
    Settings of the plugin, read from ``[plugins.sql]`` or ``NR_LLM_SQL_*``.

    A file that is not trusted may choose a database below its own folder and the size of a page, no more: the other
    settings are bounds, and it could widen them.

    A deny always wins over an allow.  Names compare as the database compares them: in SQLite ASCII letters
    without case, in PostgreSQL exactly; a deny takes no account of case.

    Args:
        database: The SQLite file; ``~`` is the home folder.  None or empty: the tools are off.
        url: The address of a PostgreSQL database, ``postgresql://role:password@host/name``, in place of a file.
        schemas: PostgreSQL: the schemas that are read; tables of the first go by their name, others by
            ``schema.table``.
        writable_role: PostgreSQL: accept a role that may do more than SELECT.
        tables: The tables and views a model may see; empty means all but those with a credential-like
            name.  A view named here may read tables that are not.
        denied_tables: Tables and views that nobody sees, directly or through a view.
        denied_columns: Columns that nobody sees, as ``table.column``, or ``column`` for every table; on top
            of the credential-like ones.
        snapshot: The file never changes while it is read: opens it as immutable, which needs neither locks
            nor a writable folder.  Wrong results if the file does change.
        rows: Rows of a page when the model asks for no number.
        max_rows: Rows of a page at most, up to 1,000.
        seconds: Time one call may take, up to 3,600.
        value_bytes: Size of the largest text that is read, from 1,000 to 1,000,000,000; a larger one ends
            the call with a message.
        write: Fields that `update_record_fields` may change, by table; empty: there is no such tool.
        drafts: For each table in which `create_record_draft` may create records the fields a model may fill in and
            what every such record gets beside; empty: there is no such tool.
        write_url: PostgreSQL: the address with the role that writes; needed for `write` and `drafts`.
    """

    database: Path | None = attrs.field(default=None, converter=_path, validator=_no_nul)
    url: Secret | None = attrs.field(default=None, converter=_secret, validator=_address)
    schemas: tuple[str, ...] = setting(default=("public",), converter=_listed, validator=_schemas, protected=True)
    writable_role: bool = setting(default=False, protected=True)
    tables: tuple[str, ...] = setting(default=(), converter=_listed, validator=_names, protected=True)
    denied_tables: tuple[str, ...] = setting(default=(), converter=_listed, validator=_names, protected=True)
    denied_columns: tuple[str, ...] = setting(default=(), converter=_listed, validator=_names, protected=True)
    snapshot: bool = False
    rows: int = attrs.field(default=20, validator=_page)
    max_rows: int = setting(default=50, validator=_page, protected=True)
    seconds: float = setting(default=5.0, validator=_time, protected=True)
    value_bytes: int = setting(default=10_000_000, validator=_value_size, protected=True)
    write: Mapping[str, tuple[str, ...]] = setting(factory=dict, converter=fields_by_table, protected=True)
    drafts: Mapping[str, Draft] = setting(factory=dict, converter=drafts_by_table, protected=True)
    write_url: Secret | None = setting(default=None, converter=_secret, validator=_address)

    @property
    def configured(self) -> bool:
        """Whether there is a database to read."""
        return self.database is not None or self.url is not None

    def __attrs_post_init__(self) -> None:
        if self.database is not None and self.url is not None:
            raise InvalidValueError("must not be set beside `database`: there is one database", path="url")
        self._check_writes()

    def _check_writes(self) -> None:
        columns = [(f"write.{table}", table, name) for table, names in self.write.items() for name in names]
        for table, draft in self.drafts.items():
            columns += [(f"drafts.{table}", table, name) for name in (*draft.fields, *draft.set)]
        tables = (*(f"write.{table}" for table in self.write), *(f"drafts.{table}" for table in self.drafts))
        check_denies(tables, columns, denied=(folded(*self.denied_tables), folded(*self.denied_columns)))
        if self.write_url is not None and self.url is None:
            raise InvalidValueError("must not be set without `url`, by which the database is read", path="write_url")
        if not tables:
            return
        if self.snapshot:
            raise InvalidValueError(
                "must not be set beside `write` or `drafts`: a snapshot never changes", path="snapshot"
            )
        if self.url is not None and self.write_url is None:
            raise InvalidValueError(
                "must be set for `write` and `drafts`: writing has a role of its own", path="write_url"
            )
