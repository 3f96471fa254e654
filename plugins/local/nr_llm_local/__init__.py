"""A real language model on the CPU for nr-llm: no key, no server, no compiler."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nr_llm.hookspecs import hookimpl


@hookimpl
def nr_llm_providers() -> Iterable[Any]:
    """Contribute the embedded model; nothing is loaded until it is asked something."""
    from nr_llm_local.provider import LocalProvider

    return [LocalProvider()]


@hookimpl
def nr_llm_commands() -> Iterable[Any]:
    """Contribute ``nr-llm models pull``, where there is a command line."""
    try:
        from nr_llm_local.commands import pull_model
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        return []
    return [pull_model]
