"""
Every error nr-llm raises, drawn by who has to act.

    NrLlmError
    ├── InvalidValueError (also a ValueError)   the caller: a value breaks a rule
    │   ├── InvalidSchemaError                  the tool author: a signature or schema cannot be used
    │   └── MalformedJsonError                  the sender: a text is not the JSON it claims to be
    ├── ConfigurationError                      the integrator: something is missing or misnamed
    │   ├── UnknownNameError                    … a tool, plugin, provider or model nobody has
    │   └── MissingCredentialError              … a key that no variable holds
    ├── PluginError                             the plugin's author
    │   ├── PluginLoadError
    │   └── NameClashError
    ├── ProviderError                           the service, or the way there
    │   ├── AuthenticationError
    │   ├── RateLimitError
    │   ├── InvalidRequestError
    │   │   ├── ModelNotFoundError
    │   │   └── ToolCallRejectedError           the service refused the call its own model wrote
    │   ├── ContextLengthError
    │   ├── ContentFilterError
    │   ├── ServiceError
    │   ├── TransportError
    │   │   └── StreamInterruptedError          the stream ended before its terminal mark
    │   └── MalformedReplyError
    │       ├── InvalidOutputError              the answer lacks the form that was asked for
    │       └── MissingToolCallError            a call was required, none came
    ├── BudgetExceededError                     whoever grants budgets: one is used up
    ├── StoreError                              the run's store: the run stops
    │   ├── RunNotFoundError                    … nobody has the run, or it is not theirs
    │   ├── RunExistsError                      … a new run has the name of another
    │   ├── RunClaimedError                     … somebody else goes on with the run, or it has ended
    │   └── SuspensionError                     … a run that has to wait for a person could not be kept
    ├── ToolError                               a tool, to the model: its text is meant to be read
    └── RunCancelledError                       nobody: the run was told to stop

An error that ends a run carries the run so far in `state`, settled: every call in it is answered, so its
messages can be sent again.  Keys and passwords never appear in a message or an attribute.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from nr_llm.responses import Usage
    from nr_llm.state import RunState

BODY_EXCERPT = 500
"""Characters of a service's reply that an error keeps: enough to diagnose, too few to flood a log."""


class NrLlmError(Exception):
    """
    The root: one `except` arm catches whatever nr-llm raises.

    Attributes:
        state: The run so far when the error ended a run, else None.
    """

    state: RunState | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the finished text and attributes: the constructors take the parts they are made of."""
        return _rebuilt, (type(self), self.args), self.__dict__


def _rebuilt(kind: type[NrLlmError], args: tuple[Any, ...]) -> NrLlmError:
    return kind.__new__(kind, *args)


class InvalidValueError(NrLlmError, ValueError):
    """
    A value breaks a rule of its type.

    Attributes:
        path: Where in the value, such as ``messages[2].role``; empty for the value itself.
        rule: What is wrong there, without the path.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.rule = message


class InvalidSchemaError(InvalidValueError):
    """A tool's signature or JSON Schema cannot be offered to a model; raised at registration."""


class MalformedJsonError(InvalidValueError):
    """A text is not the JSON it claims to be."""


class ConfigurationError(NrLlmError):
    """
    Something the integrator has to set is missing or wrong.

    Attributes:
        remedy: What to do about it, as one sentence or command; may be empty.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".rstrip())
        self.remedy = remedy


class UnknownNameError(ConfigurationError):
    """
    A tool, plugin, provider or model was named that nobody has.

    Attributes:
        kind: What it would have named, such as ``tool`` or ``provider``.
        name: The name as given.
        suggestions: Names that exist and look alike.
    """

    def __init__(self, kind: str, name: str, *, known: Iterable[str] = (), remedy: str = "") -> None:
        self.kind = kind
        self.name = name
        self.suggestions = similar(name, known)
        hint = f" Did you mean {' or '.join(map(repr, self.suggestions))}?" if self.suggestions else ""
        super().__init__(f"There is no {kind} named {name!r}.{hint}", remedy=remedy)


class MissingCredentialError(ConfigurationError):
    """
    A provider needs a key and no source has one; nothing was sent.

    Attributes:
        provider: Who needs the key.
        variables: The environment variables that may hold it, in the order they are read.
    """

    def __init__(self, provider: str, *, variables: Iterable[str], otherwise: str = "") -> None:
        self.provider, self.variables = provider, tuple(variables)
        remedy = f"Set {' or '.join(self.variables)}{f', or {otherwise}' if otherwise else ''}."
        super().__init__(f"Provider {provider!r} has no API key.", remedy=remedy)


class PluginError(NrLlmError):
    """
    A plugin is at fault.

    Attributes:
        plugin: Its entry-point name.
        distribution: ``name version`` of the package that ships it, or None for an object passed in code.
    """

    def __init__(self, message: str, *, plugin: str, distribution: str | None = None) -> None:
        source = f" (from {distribution})" if distribution else ""
        super().__init__(f"Plugin {plugin!r}{source}: {message}")
        self.plugin = plugin
        self.distribution = distribution


class PluginLoadError(PluginError):
    """A plugin could not be imported or registered."""


class NameClashError(PluginError):
    """Two plugins claim one name and neither may have it."""


class ProviderError(NrLlmError):
    """
    A model call failed.

    Attributes:
        provider: Name of the provider.
        status: HTTP status, or None when there was none.
        retryable: Whether asking again may help.
        delivered: Whether a part of the answer had already been handed out; then nothing is retried.
        request_id: The service's id of the request, for its support.
        retry_after: Seconds the service asked to wait, or None.
        body: Up to 500 characters of the service's reply, secrets masked.
        attempts: How many times the call was tried.
        usage: Tokens the call used all the same, where the service told.
        elapsed: Seconds the call took, as the performer measured it.
    """

    usage: Usage | None = None
    elapsed: float = 0.0

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        status: int | None = None,
        retryable: bool = False,
        delivered: bool = False,
        request_id: str | None = None,
        retry_after: float | None = None,
        body: str = "",
    ) -> None:
        where = f"{provider}: " if provider else ""
        code = f" (HTTP {status})" if status is not None else ""
        super().__init__(f"{where}{message}{code}")
        self.provider = provider
        self.status = status
        self.retryable = retryable
        self.delivered = delivered
        self.request_id = request_id
        self.retry_after = retry_after
        self.body = body[:BODY_EXCERPT]
        self.attempts = 1


class AuthenticationError(ProviderError):
    """The service does not accept the key, or the key may not do this."""


class RateLimitError(ProviderError):
    """Too many requests or tokens; `retry_after` says when to come back, if the service told."""


class InvalidRequestError(ProviderError):
    """The service refuses the request as sent; asking again changes nothing."""


class ModelNotFoundError(InvalidRequestError):
    """The service has no such model, or not for this key."""


class ToolCallRejectedError(InvalidRequestError):
    """
    The service refused the tool call its own model had written; asking again is safe.

    Attributes:
        failed_generation: What the model wrote, as the service reports it.
    """

    failed_generation: str = ""


class ContextLengthError(ProviderError):
    """The conversation does not fit the model's context window."""


class ContentFilterError(ProviderError):
    """The service's content policy refused the request or the answer."""


class ServiceError(ProviderError):
    """The service failed on its side."""


class TransportError(ProviderError):
    """
    The service could not be reached, or the connection broke.

    Attributes:
        url: The address, without credentials and query; empty when unknown.
    """

    url: str = ""


class StreamInterruptedError(TransportError):
    """
    A stream ended before its terminal mark.

    Attributes:
        partial: The text received until then.
    """

    partial: str = ""


class MalformedReplyError(ProviderError):
    """The service answered something that is not an answer."""


class InvalidOutputError(MalformedReplyError):
    """
    The model's answer is not of the form the run asked for, also after it was told what is wrong.

    Attributes:
        faults: What is wrong with it, a line each; the answer itself is the last but one turn of `state`.
    """

    faults: tuple[str, ...] = ()


class MissingToolCallError(MalformedReplyError):
    """The request required a tool call and the reply has none; such an answer is never passed on as one."""


class BudgetExceededError(NrLlmError):
    """
    A budget is used up: a run was not begun, or its model not asked, which ends the run with `reason`.

    Attributes:
        reason: The `TerminationReason` of a run that it ends.
        actor_id: Whose budget it is, or None for one of the run itself.
        window: For which time it holds, such as ``day``, or None for the run.
        measure: What it bounds: ``tokens``, ``cost``, ``runs`` or ``seconds``.
        limit: How much may be spent.
        spent: How much was.
        frees_at: When it is free again, in UTC, or None if it never is.
        partial: What the model had written when its answer was broken off.
    """

    partial: str = ""

    def __init__(
        self,
        message: str,
        *,
        measure: str,
        limit: float | Decimal,
        spent: float | Decimal,
        reason: str = "actor_budget_exhausted",
        actor_id: str | None = None,
        window: str | None = None,
        frees_at: datetime | None = None,
    ) -> None:
        super().__init__(message)
        self.measure = measure
        self.limit = limit
        self.spent = spent
        self.reason = reason
        self.actor_id = actor_id
        self.window = window
        self.frees_at = frees_at


class StoreError(NrLlmError):
    """The run's store failed; the run stops, since what cannot be recorded must not go on."""


class RunNotFoundError(StoreError):
    """
    There is no such run, or it is not for whoever asks; which of both is not told.

    Attributes:
        run_id: The name that was asked for; empty where no single run was.
    """

    def __init__(self, run_id: str) -> None:
        what = f"There is no run {run_id!r}" if run_id else "There are no such runs"
        super().__init__(f"{what}, or it is not open to whoever asks.")
        self.run_id = run_id


class RunExistsError(StoreError):
    """
    A new run has the name of a stored one.

    Attributes:
        run_id: The name.
    """

    def __init__(self, run_id: str) -> None:
        super().__init__(f"There is a run {run_id!r} already. Leave run_id out, or resume that one.")
        self.run_id = run_id


class RunClaimedError(StoreError):
    """
    A run is not this segment's to go on with: another holds it, it was decided on before, or it has ended.

    Attributes:
        run_id: The run.
        status: What it is doing instead, or None if it is gone.
    """

    def __init__(self, run_id: str, status: str | None) -> None:
        now = "it is gone from the store" if status is None else f"it is {status}"
        super().__init__(f"Run {run_id} is not held here any more: {now}.")
        self.run_id = run_id
        self.status = status


class SuspensionError(StoreError):
    """A run that has to wait for a person could not be kept; nobody is asked, and nothing more is run."""


class ToolError(NrLlmError):
    """
    Raised by a tool to tell the model what went wrong.

    The text reaches the model and the trace; every other exception of a tool stays in the log.
    """


class RunCancelledError(NrLlmError):
    """The run was cancelled; raised inside a tool by `ToolContext.raise_if_cancelled`."""


def similar(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of `known` that look like `name`, best first."""
    import difflib

    return tuple(difflib.get_close_matches(name, list(known), n=3, cutoff=0.6))
