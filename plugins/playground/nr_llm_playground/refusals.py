"""What is answered when a request is refused or fails: a status, a word for programs, a text for people, an id."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final

from nr_llm import approvals, inputs
from nr_llm._json import JSON
from nr_llm._logs import MaskedLogger
from nr_llm.errors import (
    ConfigurationError,
    InvalidValueError,
    NrLlmError,
    PluginError,
    ProviderError,
    RunClaimedError,
    RunExistsError,
    RunNotFoundError,
    StoreError,
)
from nr_llm.redaction import Redactor

LOG: Final = logging.getLogger("nr_llm.playground")

UNEXPECTED: Final = "The server failed; its log says why, under this id."
"""Stands for the text of an error that is none of ours, which may hold anything."""


class Refusal(Exception):  # noqa: N818 - what is answered; the server did as it should
    """
    Ends a request.

    Attributes:
        status: Of HTTP.
        code: A word for programs.
        text: For people; holds nothing that is secret.
        more: Further fields of the answer.
        headers: Further headers.
    """

    def __init__(
        self,
        status: int,
        code: str,
        text: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: JSON,
    ) -> None:
        super().__init__(f"{code}: {text}")
        self.status = status
        self.code = code
        self.text = text
        self.more = more
        self.headers = dict(headers or {})


_KINDS: Final[tuple[tuple[type[NrLlmError], int, str], ...]] = (
    (inputs.InvalidInputError, 422, "invalid_input"),
    (approvals.StaleDecisionError, 409, "stale"),
    (approvals.NotWaitingError, 400, "not_waiting"),
    (approvals.SelfApprovalError, 403, "second_approver"),
    (approvals.NotPermittedError, 403, "not_permitted"),
    (RunNotFoundError, 404, "unknown_run"),
    (RunClaimedError, 409, "claimed"),
    (RunExistsError, 409, "run_exists"),
    (StoreError, 503, "store"),
    (ConfigurationError, 400, "configuration"),
    (PluginError, 400, "plugin"),
    (InvalidValueError, 400, "invalid"),
    (ProviderError, 502, "provider"),
    (NrLlmError, 500, "failed"),
)
"""The status of each error, the first that fits (the reference system's statuses where it has the situation)."""


def refusal_of(error: Exception) -> Refusal:
    """Return what is answered for an error; the text of one that is not ours is left out."""
    if isinstance(error, Refusal):
        return error
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            more: dict[str, Any] = {"index": index} if isinstance(index := getattr(error, "index", None), int) else {}
            if isinstance(error, inputs.InvalidInputError):
                more["faults"] = error.faults
            return Refusal(status, code, str(error), **more)
    return Refusal(500, "unexpected", UNEXPECTED)


def answer_of(error: Exception, redactor: Redactor) -> tuple[int, dict[str, JSON], dict[str, str]]:
    """
    Return status, body and headers of the answer to a request that failed, and log what was not expected.

    Args:
        error: Why.
        redactor: Masks secrets in its text, and in the log.
    """
    refusal, number = refusal_of(error), secrets.token_hex(6)
    if refusal.code == "unexpected":
        MaskedLogger(LOG, redactor).error("Request %s failed", number, exc_info=error)
    told: dict[str, JSON] = {"code": refusal.code, "message": redactor.redact(refusal.text), "id": number}
    return refusal.status, {"error": told, **refusal.more}, refusal.headers
