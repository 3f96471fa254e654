"""What an exit code means, and which error or outcome has which: one table each."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from nr_llm.approvals import DecisionError
from nr_llm.errors import (
    AuthenticationError,
    BudgetExceededError,
    ConfigurationError,
    ContextLengthError,
    InvalidSchemaError,
    InvalidValueError,
    NrLlmError,
    PluginError,
    ProviderError,
    RunCancelledError,
    RunClaimedError,
    ToolError,
    UnknownNameError,
)
from nr_llm.inputs import InvalidInputError
from nr_llm.middleware import GuardrailError


class Exit(IntEnum):
    """The exit codes of the command; the names, in lower case, are the codes of JSON errors."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    CONFIGURATION = 3
    PROVIDER = 4
    TOOL = 5
    BOUND = 6
    SUSPENDED = 7
    PLUGIN = 8
    REFUSED = 9
    INTERRUPTED = 130

    @property
    def code(self) -> str:
        """The word for programs."""
        return self.name.lower()


ERRORS: Final[dict[type[BaseException], Exit]] = {
    NrLlmError: Exit.UNEXPECTED,
    InvalidValueError: Exit.USAGE,
    InvalidSchemaError: Exit.PLUGIN,
    ConfigurationError: Exit.CONFIGURATION,
    PluginError: Exit.PLUGIN,
    ProviderError: Exit.PROVIDER,
    AuthenticationError: Exit.CONFIGURATION,
    ContextLengthError: Exit.BOUND,
    BudgetExceededError: Exit.BOUND,
    ToolError: Exit.TOOL,
    GuardrailError: Exit.BOUND,
    RunCancelledError: Exit.INTERRUPTED,
    RunClaimedError: Exit.REFUSED,
    DecisionError: Exit.REFUSED,
    InvalidInputError: Exit.USAGE,
    KeyboardInterrupt: Exit.INTERRUPTED,
}
"""The exit code of each error; one that is not listed has its nearest base's."""

REASONS: Final[dict[str, Exit]] = {
    "completed": Exit.OK,
    "dry_run": Exit.OK,
    "max_rounds": Exit.BOUND,
    "length": Exit.BOUND,
    "tokens_exhausted": Exit.BOUND,
    "cost_exhausted": Exit.BOUND,
    "time_exhausted": Exit.BOUND,
    "bytes_exhausted": Exit.BOUND,
    "calls_exhausted": Exit.BOUND,
    "actor_budget_exhausted": Exit.BOUND,
    "context_overflow": Exit.BOUND,
    "content_filter": Exit.PROVIDER,
    "policy_denied": Exit.BOUND,
    "approval_denied": Exit.BOUND,
    "cancelled": Exit.INTERRUPTED,
    "failed": Exit.UNEXPECTED,
}
"""The exit code of each reason for which a run ends."""

_TOOL_KINDS: Final = frozenset({"tool", "tool group"})


def exit_of(error: BaseException) -> Exit:
    """Return the exit code of an error."""
    if isinstance(error, UnknownNameError) and error.kind in _TOOL_KINDS:
        return Exit.TOOL
    return next((ERRORS[kind] for kind in type(error).__mro__ if kind in ERRORS), Exit.UNEXPECTED)
