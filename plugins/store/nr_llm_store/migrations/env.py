"""What Alembic runs: it works in the transaction it is lent, and asks for no configuration file."""

from __future__ import annotations

from alembic import context

from nr_llm_store._tables import METADATA, VERSION


def run() -> None:
    """Bring the tables of the lent connection to the revision that is asked for."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=METADATA,
        version_table=VERSION.name,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if hasattr(context, "config"):  # not while it is only imported
    run()
