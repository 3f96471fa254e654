"""`nr-llm db …`: looks after the store's tables; imported only where click is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from nr_llm_store.settings import StoreSettings

if TYPE_CHECKING:
    from nr_llm_store.store import SqlStore


def commands(settings: StoreSettings) -> list[click.Command]:
    """
    Return the commands for the store that settings describe.

    Args:
        settings: The plugin's settings.
    """
    return [
        _command("db current", lambda: current(settings), "Show the revision of the store's tables."),
        _command(
            "db upgrade",
            lambda: upgrade(settings),
            "Make the store's tables, or bring them up to date.\n\n"
            "A SQLite file needs it never: it is brought up to date when it is used. Several may run it at once.",
        ),
        _command(
            "db rewrap",
            lambda: rewrap(settings),
            "Encrypt the live state of runs anew with the first key.\n\n"
            "Afterwards the other keys can be taken out of the settings. Runs may go on meanwhile.",
        ),
        _command(
            "db purge",
            lambda: purge(settings),
            "Forget what is older than the settings say, without asking: for a timer.\n\n"
            f"Runs that ended more than {settings.retention_days} days ago (retention_days), and what runs used that "
            f"were forgotten and began more than {settings.usage_days} days ago (usage_days). Runs that have not ended "
            "are never forgotten.",
        ),
    ]


def current(settings: StoreSettings) -> str:
    """Return what `nr-llm db current` says."""
    with _opened(settings) as store:
        found = store.revision()
        return f"{store.place}: {'no tables yet' if found is None else f'revision {found}'}"


def upgrade(settings: StoreSettings) -> str:
    """Return what `nr-llm db upgrade` says."""
    with _opened(settings) as store:
        before, now = store.revision(), store.upgrade()
        done = (
            "is up to date" if before == now else "has its tables now" if before is None else "was brought up to date"
        )
        return f"{store.place}: {done}, revision {now}"


def rewrap(settings: StoreSettings) -> str:
    """Return what `nr-llm db rewrap` says."""
    with _opened(settings) as store:
        return f"{store.place}: {store.rewrap()} values encrypted anew"


def purge(settings: StoreSettings) -> str:
    """Return what `nr-llm db purge` says."""
    with _opened(settings) as store:
        gone = store.purge(now=time.time(), retention_days=settings.retention_days, usage_days=settings.usage_days)
        return f"{store.place}: {gone.runs} runs forgotten, and the usage of {gone.usage} that were forgotten before"


@contextmanager
def _opened(settings: StoreSettings) -> Iterator[SqlStore]:
    from nr_llm_store.store import SqlStore

    store = SqlStore.of(settings)
    try:
        yield store
    finally:
        store.close()


def _command(name: str, say: Callable[[], str], help_: str) -> click.Command:
    def run() -> int:
        click.echo(say())
        return 0

    return click.Command(name, callback=run, help=help_)
