"""What can be put around a model call without knowing its colour: a completer in, a completer out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

from nr_llm.effects import Completer, Flow, Wait, ask, complete
from nr_llm.errors import NrLlmError, ProviderError
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, Usage

Middleware: TypeAlias = Callable[[Completer], Completer]
"""Wraps a completer; keeps nothing between calls, since many runs share it."""


def wrapped(middleware: Sequence[Middleware], inner: Completer = complete) -> Completer:
    """Return `inner` inside `middleware`, the first one outermost."""
    for layer in reversed(middleware):
        inner = layer(inner)
    return inner


class GuardrailError(NrLlmError):
    """
    Raised by middleware that will not let a request or an answer pass; the run fails, and cannot be gone on with.

    Attributes:
        guardrail: Name of the guardrail, which the run's record keeps; of the text it keeps nothing.
        approval: Whether somebody would have to approve it, as against never.
    """

    def __init__(self, message: str, *, guardrail: str, approval: bool = False) -> None:
        super().__init__(message)
        self.guardrail = guardrail
        self.approval = approval

    @property
    def reason(self) -> str:
        """Why the run ends: a word of `TerminationReason`."""
        return "approval_denied" if self.approval else "policy_denied"


def within(provider: object, inner: Completer) -> Completer:
    """Return `inner` inside the layers that a provider has of its own, as its `middleware`; most have none."""
    return wrapped(getattr(provider, "middleware", ()), inner)


_NOTHING = Usage()


@attrs.frozen(kw_only=True)
class Retry:
    """
    Asks again after a passing failure, as long as nothing of the answer has left.

    Args:
        retries: Further attempts after the first.
        seconds: Pause before the first of them; doubled for each further one.
        longest: The longest pause; a service that asks for a longer one is not waited for.
    """

    retries: int = 2
    seconds: float = 0.5
    longest: float = 60.0

    def __call__(self, inner: Completer) -> Completer:
        """Return `inner` with retries."""

        def completer(request: CompletionRequest) -> Flow[CompletionResponse]:
            attempt, waited, lost = 1, 0.0, _NOTHING
            while True:
                try:
                    reply = yield from inner(request)
                except ProviderError as error:
                    error.attempts, lost = attempt, lost + (error.usage or Usage())
                    waited += error.elapsed
                    pause = self._pause(error, attempt)
                    if pause is None:
                        error.usage = lost
                        raise
                else:
                    if attempt == 1:
                        return reply
                    spent = reply.spent if lost == _NOTHING else lost + reply.total_usage
                    return attrs.evolve(reply, attempts=attempt, elapsed=reply.elapsed + waited, spent=spent)
                yield from ask(Wait(pause, jitter=pause / 4))
                attempt += 1
                waited += pause

        return completer

    def _pause(self, error: ProviderError, attempt: int) -> float | None:
        """Return how long to wait before the next attempt, or None when there shall be none."""
        if not error.retryable or error.delivered or attempt > self.retries:
            return None
        pause = max(self.seconds * 2 ** (attempt - 1), error.retry_after or 0.0)
        return pause if pause <= self.longest else None
