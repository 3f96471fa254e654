"""What the codec adds to errors that the kit reads: its name, its hint, its mask; and the service's own statuses."""

from __future__ import annotations

import json

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

from tests.plugins.anthropic.replies import CODEC


def failed(status: int, kind: str, message: str, **headers: str) -> ProviderError:
    """Return the error of a failed reply in the service's own form."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return CODEC.error(HttpReply(status, {"request-id": "req_1", **headers}, json.dumps(body).encode()))


@pytest.mark.parametrize(
    ("status", "kind", "message", "error", "retryable"),
    [
        (400, "invalid_request_error", "max_tokens: Field required", InvalidRequestError, False),
        (400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000", ContextLengthError, False),
        (401, "authentication_error", "invalid x-api-key", AuthenticationError, False),
        (403, "permission_error", "not yours", AuthenticationError, False),
        (404, "not_found_error", "model: claude-9", ModelNotFoundError, False),
        (413, "request_too_large", "Request exceeds the maximum size", InvalidRequestError, False),
        (429, "rate_limit_error", "slow down", RateLimitError, True),
        (500, "api_error", "Internal server error", ServiceError, True),
        (529, "overloaded_error", "Overloaded", ServiceError, True),
    ],
)
def test_each_failure_says_who_has_to_act(
    status: int, kind: str, message: str, error: type[ProviderError], *, retryable: bool
) -> None:
    """With the service's sentence, its id of the request, and whether to ask again."""
    made = failed(status, kind, message)

    assert type(made) is error
    assert message in str(made)
    assert (made.provider, made.status, made.request_id, made.retryable) == ("test", status, "req_1", retryable)


def test_the_service_says_whether_and_when_to_ask_again() -> None:
    """In headers, which go before what its status says."""
    error = failed(529, "overloaded_error", "Overloaded", **{"x-should-retry": "false", "retry-after": "7"})

    assert (error.retryable, error.retry_after) == (False, 7.0)


def test_an_unknown_path_says_what_a_base_url_ends_in() -> None:
    """The commonest mistake with a gateway."""
    assert "It ends before /v1/messages" in str(CODEC.error(HttpReply(404, {}, b"Not Found")))


def test_secrets_are_masked() -> None:
    """Services quote keys; errors do not."""
    codec = attrs.evolve(CODEC, redact=lambda text: text.replace("sk-1", "[redacted]"))

    assert "sk-1" not in str(codec.error(HttpReply(401, {}, b"bad key sk-1")))
