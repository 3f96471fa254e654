"""What to do on the command line about an error of the library, which knows no command line."""

from __future__ import annotations

import os
from typing import Final

import click
from nr_llm.approvals import (
    DecisionError,
    NotPermittedError,
    NotWaitingError,
    SelfApprovalError,
    StaleDecisionError,
)
from nr_llm.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelNotFoundError,
    NrLlmError,
    RunClaimedError,
    UnknownNameError,
)
from nr_llm.inputs import InvalidInputError

from nr_llm_cli.options import globals_of

LISTS: Final = {"tool": "tools", "tool group": "tools", "provider": "providers", "run": "runs"}
"""Which command lists the names of a kind."""


def advice(error: NrLlmError) -> str:
    """Return what to do, as the error says it and as only the command line can; may be empty."""
    own = error.remedy if isinstance(error, ConfigurationError) else ""
    return " ".join(filter(None, (own, _further(error))))


def _further(error: NrLlmError) -> str:
    if isinstance(error, DecisionError | RunClaimedError):
        return _decided(error)
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


def _decided(error: DecisionError | RunClaimedError) -> str:
    run_id = error.run_id
    match error:
        case StaleDecisionError():
            return "See nr-llm runs inbox."
        case InvalidInputError(tool=str() as tool):
            return f"It waits on; see what the tool takes: nr-llm tools show {tool}."
        case InvalidInputError():
            return f"It waits on; see its form: nr-llm runs inbox --json, or nr-llm runs input {run_id} on a terminal."
        case SelfApprovalError() | NotPermittedError():
            return f"It waits on; somebody else may approve it, and anybody decline: nr-llm runs deny {run_id}."
        case NotWaitingError(status="waiting_for_input"):
            return f"See nr-llm runs input {run_id}."
        case NotWaitingError(status="waiting_for_approval"):
            return f"See nr-llm runs approve {run_id}."
        case _:
            return f"See what became of it: nr-llm runs show {run_id}."


_UNREAD: Final = "Names of your own are in nr-llm.toml: nr-llm config path says where it is looked for."


def _configured() -> bool:
    context = click.get_current_context(silent=True)
    return bool(os.environ.get("NR_LLM_CONFIG") or (context and globals_of(context).config))
