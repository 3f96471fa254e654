"""A page to run, watch, approve and replay tool-calling conversations, served here or mounted in an application."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nr_llm.hookspecs import hookimpl

if TYPE_CHECKING:
    from nr_llm_playground.app import Playground, create_app
    from nr_llm_playground.caps import Caps

__all__ = ["Caps", "Playground", "create_app", "nr_llm_commands"]


@hookimpl
def nr_llm_commands() -> Iterable[Any]:
    """Contribute ``nr-llm playground``, where there is a command line."""
    try:
        from nr_llm_playground.commands import playground
    except ModuleNotFoundError as error:
        if error.name not in {"click", "nr_llm_cli"}:
            raise
        return []
    return [playground]


def __getattr__(name: str) -> Any:
    if name == "Caps":
        from nr_llm_playground.caps import Caps

        return Caps
    if name in {"Playground", "create_app"}:  # they import the web framework
        from nr_llm_playground import app

        return getattr(app, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
