"""What to do on the command line about an error of the library, which knows no command line."""

from __future__ import annotations

import os
from typing import Final

import click
from nr_llm.errors import AuthenticationError, ConfigurationError, ModelNotFoundError, NrLlmError, UnknownNameError

from nr_llm_cli.options import globals_of

LISTS: Final = {"tool": "tools", "tool group": "tools", "provider": "providers", "run": "runs"}
"""Which command lists the names of a kind."""


def advice(error: NrLlmError) -> str:
    """Return what to do, as the error says it and as only the command line can; may be empty."""
    own = error.remedy if isinstance(error, ConfigurationError) else ""
    return " ".join(filter(None, (own, _further(error))))


def _further(error: NrLlmError) -> str:
    if isinstance(error, UnknownNameError):
        listed = LISTS.get(error.kind)
        unread = "" if error.kind not in ("model", "provider") or _configured() else _UNREAD
        return " ".join(filter(None, (f"See nr-llm {listed} list." if listed else "", unread)))
    if isinstance(error, ModelNotFoundError) and error.provider:
        return f"See nr-llm models list --provider {error.provider}."
    if isinstance(error, AuthenticationError) and error.provider:
        from nr_llm.settings import variable

        return f"Check the key: {variable(error.provider, 'api_key')}, or where the provider's table or page says."
    return ""


_UNREAD: Final = "No configuration file is read: --config or NR_LLM_CONFIG names one."


def _configured() -> bool:
    context = click.get_current_context(silent=True)
    return bool(os.environ.get("NR_LLM_CONFIG") or (context and globals_of(context).config))
