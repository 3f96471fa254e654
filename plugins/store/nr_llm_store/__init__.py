"""Keeps the runs of nr-llm in SQLite or PostgreSQL; the database libraries are imported when a store is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nr_llm.hookspecs import hookimpl

from nr_llm_store._later import LaterStore
from nr_llm_store._seal import checked
from nr_llm_store.settings import StoreSettings

if TYPE_CHECKING:
    from nr_llm_store.store import SqlStore

__all__ = ["SqlStore", "StoreSettings", "nr_llm_commands", "nr_llm_observers", "nr_llm_stores"]


@hookimpl
def nr_llm_stores(settings: StoreSettings) -> Iterable[LaterStore]:
    """Contribute the store; its file or server is not touched until a run is kept or asked for."""

    def make() -> SqlStore:
        from nr_llm_store.store import SqlStore

        return SqlStore.of(settings)

    if settings.keys is not None:
        checked((settings.keys,))  # told before a run begins, and not while it is kept
    return [LaterStore(make)]


@hookimpl
def nr_llm_observers(settings: StoreSettings) -> Iterable[Any]:
    """Have each step appended to a file, where one is set."""
    if settings.log is None:
        return []
    from nr_llm_store.log import RunLog

    return [RunLog(settings.log)]


@hookimpl
def nr_llm_commands(settings: StoreSettings) -> Iterable[Any]:
    """Contribute ``nr-llm db current``, ``upgrade``, ``rewrap`` and ``purge``, where there is a command line."""
    try:
        from nr_llm_store.commands import commands
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        return []
    return commands(settings)


def __getattr__(name: str) -> Any:
    if name == "SqlStore":
        from nr_llm_store.store import SqlStore

        return SqlStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
