"""Each way the service says no becomes the error of who has to act, with what it says and when to come back."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from nr_llm.errors import (
    AuthenticationError,
    ContextLengthError,
    InvalidRequestError,
    ModelNotFoundError,
    ProviderError,
    RateLimitError,
    ServiceError,
)
from nr_llm.providers import HttpReply

from tests.plugins.gemini.replies import CODEC

RETRY = "type.googleapis.com/google.rpc.RetryInfo"


def failed(status: int, body: Any = b"", **headers: str) -> ProviderError:
    """Return the error of a reply; header names have dashes for underscores."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODEC.error(HttpReply(status, {name.replace("_", "-"): value for name, value in headers.items()}, data))


def said(message: str = "no", status: str = "INVALID_ARGUMENT", *details: dict[str, Any], code: int = 400) -> Any:
    """Return an error body in Google's form."""
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, said(), InvalidRequestError, False),
        (400, said("x", "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), AuthenticationError, False),
        (400, said("API key not valid. Please pass a valid API key."), AuthenticationError, False),
        (
            400,
            said("The input token count (9) exceeds the maximum number of tokens allowed (8)."),
            ContextLengthError,
            False,
        ),
        (401, said("Request had invalid authentication credentials.", "UNAUTHENTICATED"), AuthenticationError, False),
        (403, said("Permission denied.", "PERMISSION_DENIED"), AuthenticationError, False),
        (404, said("models/x is not found for API version v1beta", "NOT_FOUND"), ModelNotFoundError, False),
        (404, b"", InvalidRequestError, False),
        (429, said("Resource exhausted.", "RESOURCE_EXHAUSTED"), RateLimitError, True),
        (429, said("Quota", "RESOURCE_EXHAUSTED", {"quotaId": "RequestsPerDayPerModel"}), RateLimitError, False),
        (500, said("Internal error.", "INTERNAL"), ServiceError, True),
        (503, said("The model is overloaded.", "UNAVAILABLE"), ServiceError, True),
        (504, said("Deadline exceeded.", "DEADLINE_EXCEEDED"), ServiceError, True),
    ],
)
def test_status_and_words_say_who_has_to_act(
    status: int, body: Any, kind: type[ProviderError], retryable: bool
) -> None:
    """As an object, or in a list, as streams have it."""
    for form in (body, [body]) if isinstance(body, dict) else (body,):
        error = failed(status, form)
        assert (type(error), error.retryable, error.status) == (kind, retryable, status)
        assert error.provider == "test"


@pytest.mark.parametrize(
    ("details", "seconds"),
    [
        ([{"@type": RETRY, "retryDelay": "34.4s"}], 34.4),
        ([{"@type": RETRY, "retryDelay": "48.939935699s"}], 48.939935699),
        ([{"violations": []}, {"@type": RETRY, "retryDelay": "7s"}], 7.0),
        ([{"metadata": {"quotaResetDelay": "373.8ms"}}], 0.3738),
        ([], None),
    ],
)
def test_the_delay_is_in_the_body(details: list[dict[str, Any]], seconds: float | None) -> None:
    """The service sends no header for it."""
    assert failed(429, said("Quota.", "RESOURCE_EXHAUSTED", *details)).retry_after == pytest.approx(seconds)


def test_an_address_without_anything_says_what_to_check() -> None:
    """The commonest mistakes."""
    assert "are base URL and model right?" in str(failed(404, b"Not Found"))


def test_secrets_are_masked_in_all_an_error_repeats() -> None:
    """In whole replies, streams and failures."""
    codec = attrs.evolve(CODEC, redact=lambda text: text.replace("AIza1", "[redacted]"))

    error = codec.error(HttpReply(400, {}, json.dumps(said("API key AIza1 is bad")).encode()))

    assert "AIza1" not in str(error) + error.body
    assert "[redacted]" in str(error)
