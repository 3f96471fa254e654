"""What a tool is told beside its arguments: the run it works in, its deadline, its secrets, and whom to tell."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs

from nr_llm.actors import Actor
from nr_llm.cancellation import Cancellation
from nr_llm.errors import ConfigurationError, RunCancelledError
from nr_llm.redaction import Redactor

Previewer: TypeAlias = Callable[[Mapping[str, Any], "ToolContext"], object]
"""Takes the keyword arguments of a call and its context; returns what the tool's preview gave."""


def _no_secret(alias: str) -> str:
    raise ConfigurationError(
        f"This run has no secret named {alias!r}.", remedy="Pass it to the Runtime as secrets={...}."
    )


def _no_progress(_: str) -> None:
    return None


@attrs.frozen(kw_only=True, eq=False)
class ToolContext:
    """
    What a tool may know of the run it works in; a parameter annotated with this class receives it.

    Attributes:
        run_id: The run.
        call_id: The call, as the model named it.
        tool: The tool's name.
        actor: On whose behalf the run acts, or None.
        deps: Whatever the host passed as `deps`.
        deadline: `time.monotonic()` value at which the call times out, or None.
        cancelled: Thrown when the run is cancelled or the call timed out.
        idempotency_key: The same for every attempt at this call, different for every other call.
        log: A logger of the host's; the run's secrets are masked in what it writes.
        redactor: Masks the run's secrets, and whatever looks like one, in text a tool took from elsewhere.
    """

    run_id: str = ""
    call_id: str = ""
    tool: str = ""
    actor: Actor | None = None
    deps: Any = None
    deadline: float | None = None
    cancelled: Cancellation = attrs.field(factory=Cancellation)
    idempotency_key: str = attrs.field(factory=lambda: uuid.uuid4().hex)
    log: logging.Logger = attrs.field(factory=lambda: logging.getLogger("nr_llm.tools"), repr=False)
    redactor: Redactor = attrs.field(factory=Redactor, repr=False)
    secret_of: Callable[[str], str] = attrs.field(default=_no_secret, repr=False)
    report: Callable[[str], None] = attrs.field(default=_no_progress, repr=False)

    def secret(self, alias: str) -> str:
        """
        Return the secret the host registered as `alias`; from then on it is masked wherever it appears.

        Raises:
            ConfigurationError: There is none.
        """
        return self.secret_of(alias)

    def progress(self, message: str) -> None:
        """Tell whoever watches the run live; never stored, never sent to a model."""
        self.report(message)

    def raise_if_cancelled(self) -> None:
        """
        Stop here if the run no longer waits for this call.

        Raises:
            RunCancelledError: The run was cancelled or the call timed out.
        """
        if self.cancelled.cancelled:
            raise RunCancelledError(f"{self.tool or 'the tool'}: {self.cancelled.reason}")
