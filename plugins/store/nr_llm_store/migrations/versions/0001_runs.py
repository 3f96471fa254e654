"""Runs, what belongs to them, and what deleted ones used."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _runs()
    _parts()
    _forgotten()


def _runs() -> None:
    op.create_table(
        "nr_llm_run",
        sa.Column("run_id", _ID, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("configuration", sa.Text()),
        sa.Column("actor_id", sa.Text()),
        sa.Column("actor", sa.Text()),
        sa.Column("privacy", sa.Text(), nullable=False),
        sa.Column("began", sa.Double(), nullable=False),
        sa.Column("continues", sa.Text()),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.Column("setting", sa.Text()),
        sa.Column("updated", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double()),
        sa.Column("owner", sa.Text()),
        sa.Column("lease", sa.Double()),
        sa.Column("stop", sa.Integer(), nullable=False),
        *(sa.Column(name, _COUNT, nullable=False) for name in ("steps", "entries", "live_messages")),
        *(sa.Column(name, _COUNT, nullable=False) for name in ("rounds", "calls")),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("truncated", sa.Integer(), nullable=False),
        *_used(),
        sa.Column("live_state", sa.Text()),
        sa.PrimaryKeyConstraint("run_id", name="nr_llm_run_pk"),
    )
    op.create_index("nr_llm_run_began_ix", "nr_llm_run", ["began"])
    op.create_index("nr_llm_run_status_ended_ix", "nr_llm_run", ["status", "ended"])
    op.create_index("nr_llm_run_actor_id_began_ix", "nr_llm_run", ["actor_id", "began"])


def _parts() -> None:
    _part(
        "nr_llm_event",
        "sequence",
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("round", _COUNT, nullable=False),
        sa.Column("duration_ms", sa.Double()),
        sa.Column("payload", sa.Text(), nullable=False),
    )
    _part(
        "nr_llm_message",
        "number",
        sa.Column("said", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
    )
    _part("nr_llm_live_message", "number", sa.Column("message", sa.Text(), nullable=False))


def _forgotten() -> None:
    op.create_table(
        "nr_llm_usage",
        sa.Column("id", _COUNT, nullable=False, autoincrement=True),
        sa.Column("actor_id", sa.Text()),
        sa.Column("configuration", sa.Text()),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("began", sa.Double(), nullable=False),
        *_used(),
        sa.PrimaryKeyConstraint("id", name="nr_llm_usage_pk"),
    )
    op.create_index("nr_llm_usage_began_ix", "nr_llm_usage", ["began"])
    op.create_index("nr_llm_usage_actor_id_began_ix", "nr_llm_usage", ["actor_id", "began"])


def _part(table: str, number: str, *columns: sa.Column[Any]) -> None:
    op.create_table(
        table,
        sa.Column("run_id", _ID, nullable=False),
        sa.Column(number, _COUNT, nullable=False, autoincrement=False),
        *columns,
        sa.ForeignKeyConstraint(["run_id"], ["nr_llm_run.run_id"], name=f"{table}_run_id_fk"),
        sa.PrimaryKeyConstraint("run_id", number, name=f"{table}_pk"),
    )


def _used() -> tuple[sa.Column[Any], ...]:
    tokens = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
    return (
        *(sa.Column(name, _COUNT) for name in tokens),
        sa.Column("cost", _COUNT, nullable=False),
        sa.Column("cost_rest", sa.Text(), nullable=False),
        sa.Column("unpriced", sa.Integer(), nullable=False),
    )
