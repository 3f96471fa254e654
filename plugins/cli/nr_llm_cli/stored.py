"""The store of runs as the commands use it: found, asked as the program itself, searched by how a name begins."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs
import click
from nr_llm.errors import ConfigurationError, UnknownNameError

from nr_llm_cli.aside import aside
from nr_llm_cli.options import globals_of

if TYPE_CHECKING:
    from nr_llm import ChatMessage, PluginHost
    from nr_llm.history import RunHistory
    from nr_llm.records import StoredRun
    from nr_llm.stores import RunStore

EVERYTHING: Final = 2**31 - 1
"""A limit above every number of runs."""


@attrs.frozen(eq=False)
class Kept:
    """
    Where runs are kept.

    Attributes:
        store: The store.
        history: The same for people, who see every run here: whoever has the store's file or password may read it.
    """

    store: RunStore
    history: RunHistory


def kept_of(host: PluginHost) -> Kept | None:
    """Return where runs are kept, or None if no store is installed."""
    store = host.store()
    if store is None:
        return None
    from nr_llm.history import HOST, RunHistory

    return Kept(store, RunHistory(store, HOST, redactor=host.redactor))


def no_store() -> ConfigurationError:
    """Return the error for whoever needs a store and has none."""
    return ConfigurationError(
        "No store is installed, so no run is kept.", remedy="Install one: pip install 'nr-llm[store]'."
    )


@contextmanager
def kept(context: click.Context) -> Iterator[Kept]:
    """
    Open the store; meanwhile what plugins print goes to stderr.

    Raises:
        ConfigurationError: There is none, or it cannot be opened.
    """
    from nr_llm_cli.logs import logging_to_stderr
    from nr_llm_cli.session import host_of

    with aside(), logging_to_stderr(debug=globals_of(context).debug):
        found = kept_of(host_of(context))
        if found is None:
            raise no_store()
        try:
            yield found
        finally:
            found.store.close()


def named(history: RunHistory, name: str) -> StoredRun:
    """
    Return the run of a name, or the only one whose name begins so.

    Raises:
        UnknownNameError: There is none.
        UsageError: There are several.
    """
    from nr_llm.stores import RunQuery

    exact = history.get(name)
    if exact is not None:
        return exact
    found = [run for run in history.find(RunQuery(limit=EVERYTHING)) if run.run_id.startswith(name)] if name else []
    if not found:
        raise UnknownNameError("run", name)
    if len(found) > 1:
        raise click.UsageError(f"{len(found)} runs begin with {name!r}; give more of the name.")
    return found[0]


def continued(history: RunHistory, name: str | None) -> tuple[StoredRun, tuple[ChatMessage, ...]]:
    """
    Return a run and what was said in it, to go on with.

    Args:
        history: The stored runs.
        name: The run; None for the last one.

    Raises:
        ConfigurationError: There is none, it has not ended, or its conversation was not kept.
    """
    from nr_llm.messages import Role
    from nr_llm.stores import RunQuery

    if name is None:
        runs = history.find(RunQuery(limit=1))
        if not runs:
            raise ConfigurationError(
                "No run is kept yet, so there is none to go on with.",
                remedy="Begin one without -c, with --privacy full if you want to go on with it.",
            )
        run = runs[0]
    else:
        run = named(history, name)
    if run.ended is None:
        raise ConfigurationError(
            f"Run {run.run_id} has not ended, it is {run.raw_status}: its conversation has open ends.",
            remedy=f"Name another with --continue, or end it: nr-llm runs cancel {run.run_id}.",
        )
    messages = history.conversation(run.run_id)
    while messages and messages[-1].role is Role.USER:  # a question nobody answered is not asked again
        messages = messages[:-1]
    return run, messages


def settle(history: RunHistory) -> tuple[str, ...]:
    """End the runs whose process is gone; it is told to those who debug, since whoever asks now has no part in it."""
    log = logging.getLogger("nr_llm")
    log.addFilter(_demoted)
    try:
        return history.settle_abandoned()
    finally:
        log.removeFilter(_demoted)


def _demoted(record: logging.LogRecord) -> bool:
    record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return True
