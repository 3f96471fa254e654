"""The tables, declared once: statements are built of them, and a new SQLite file is made of them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Double, ForeignKey, Index, Integer, MetaData, String, Table, Text

REVISIONS: Final = ("0001",)
"""Every revision of the schema, oldest first; a migration exists for each."""

METADATA: Final = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pk",
        "fk": "%(table_name)s_%(column_0_name)s_fk",
        "ix": "%(table_name)s_%(column_0_N_name)s_ix",
    }
)

_ID: Final = Text().with_variant(Text(collation="C"), "postgresql")  # sorted by code point, as SQLite and Python do
_COUNT: Final = BigInteger().with_variant(Integer(), "sqlite")
TOKENS: Final = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
"""The counts of `nr_llm.responses.Usage`, each a column; not reported is NULL, which is not 0."""

USED: Final = (*TOKENS, "cost", "cost_rest", "unpriced")
"""Columns of what was used; `_money` says how an amount is kept."""

VERSION: Final = Table("nr_llm_version", METADATA, Column("version_num", String(32), primary_key=True))

RUN: Final = Table(
    "nr_llm_run",
    METADATA,
    Column("run_id", _ID, primary_key=True),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("error", Text),
    Column("model", Text, nullable=False),
    Column("configuration", Text),
    Column("actor_id", Text),
    Column("actor", Text),
    Column("privacy", Text, nullable=False),
    Column("began", Double, nullable=False),
    Column("continues", Text),
    Column("provenance", Text, nullable=False),
    Column("setting", Text),
    Column("updated", Double, nullable=False),
    Column("ended", Double),
    Column("owner", Text),
    Column("lease", Double),
    Column("stop", Integer, nullable=False),
    Column("steps", _COUNT, nullable=False),
    Column("entries", _COUNT, nullable=False),
    Column("live_messages", _COUNT, nullable=False),
    Column("rounds", _COUNT, nullable=False),
    Column("calls", _COUNT, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("truncated", Integer, nullable=False),
    *(Column(name, _COUNT) for name in TOKENS),
    Column("cost", _COUNT, nullable=False),
    Column("cost_rest", Text, nullable=False),
    Column("unpriced", Integer, nullable=False),
    Column("live_state", Text),
    Index(None, "began"),
    Index(None, "status", "ended"),
    Index(None, "actor_id", "began"),
)


def _of_run() -> Column[str]:
    return Column("run_id", _ID, ForeignKey("nr_llm_run.run_id"), primary_key=True)


def _number(name: str) -> Column[int]:
    return Column(name, _COUNT, primary_key=True, autoincrement=False)


EVENT: Final = Table(
    "nr_llm_event",
    METADATA,
    _of_run(),
    _number("sequence"),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("round", _COUNT, nullable=False),
    Column("duration_ms", Double),
    Column("payload", Text, nullable=False),
)

MESSAGE: Final = Table(
    "nr_llm_message",
    METADATA,
    _of_run(),
    _number("number"),
    Column("said", Integer, nullable=False),
    Column("message", Text, nullable=False),
)

LIVE: Final = Table(
    "nr_llm_live_message", METADATA, _of_run(), _number("number"), Column("message", Text, nullable=False)
)

USAGE: Final = Table(
    "nr_llm_usage",
    METADATA,
    Column("id", _COUNT, primary_key=True, autoincrement=True),
    Column("actor_id", Text),
    Column("configuration", Text),
    Column("model", Text, nullable=False),
    Column("began", Double, nullable=False),
    *(Column(name, _COUNT) for name in TOKENS),
    Column("cost", _COUNT, nullable=False),
    Column("cost_rest", Text, nullable=False),
    Column("unpriced", Integer, nullable=False),
    Index(None, "began"),
    Index(None, "actor_id", "began"),
)
"""What deleted runs used: nothing else is left of them."""

PARTS: Final = (EVENT, MESSAGE, LIVE)
"""Tables of rows that belong to a run, and are deleted before it."""
