"""Each way a service says no becomes the error of who has to act, with what it says and when to come back."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

import pytest
from nr_llm.codecs.delays import duration
from nr_llm.codecs.faults import error_for, error_in, excerpt, fault_in, fault_of
from nr_llm.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    ModelNotFoundError,
    ProviderError,
    RateLimitError,
    ServiceError,
    ToolCallRejectedError,
)
from nr_llm.providers import HttpReply

LOST = "is the base URL right? Most end in /v1"


def failed(status: int, body: Any = b"", **headers: str) -> ProviderError:
    """Return the error of a reply; header names have dashes for underscores."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_for("test", HttpReply(status, named, data), redact=str, lost=LOST)


def said(message: str = "no", **more: Any) -> dict[str, Any]:
    """Return an error body in OpenAI's form."""
    return {"error": {"message": message} | more}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, said(), InvalidRequestError, False),
        (422, said(), InvalidRequestError, False),
        (413, said(), InvalidRequestError, False),
        (405, b"", InvalidRequestError, False),
        (400, said(code="context_length_exceeded"), ContextLengthError, False),
        (400, said("prompt is too long: 250000 tokens"), ContextLengthError, False),
        (400, said("This model's maximum context length is 8192 tokens"), ContextLengthError, False),
        (400, said(code="too_many_prompt_tokens"), ContextLengthError, False),
        (400, said("The request exceeds the context window"), ContextLengthError, False),
        (500, said("the request exceeds the available context size", code=500), ContextLengthError, False),
        (400, said(code="content_filter"), ContentFilterError, False),
        (400, said(code="content_policy_violation"), ContentFilterError, False),
        (401, said(), AuthenticationError, False),
        (403, said(), AuthenticationError, False),
        (400, said("API key not valid. Please pass a valid API key."), AuthenticationError, False),
        (400, said("x", details=[{"reason": "API_KEY_INVALID"}]), AuthenticationError, False),
        (404, said("The model `x` does not exist", code="model_not_found"), ModelNotFoundError, False),
        (404, said("model 'x' not found, try pulling it first"), ModelNotFoundError, False),
        (400, said("The requested model 'x' does not exist.", code="model_not_found"), ModelNotFoundError, False),
        (404, said("gone", code="DeploymentNotFound"), ModelNotFoundError, False),
        (404, said("Resource not found", code="404"), InvalidRequestError, False),
        (402, said("Insufficient Balance"), RateLimitError, False),
        (429, said(), RateLimitError, True),
        (429, said("You exceeded your current quota", type="insufficient_quota"), RateLimitError, False),
        (429, said("Rate limit reached on tokens per day (TPD)"), RateLimitError, False),
        (429, said("quota", details=[{"violations": [{"quotaId": "RequestsPerDayPerModel"}]}]), RateLimitError, False),
        (429, said("You exceeded your current quota", details=[{"retryDelay": "34.4s"}]), RateLimitError, True),
        (408, b"", ServiceError, True),
        (409, b"", ServiceError, True),
        (500, b"", ServiceError, True),
        (502, b"<html>Bad gateway</html>", ServiceError, True),
        (503, said(), ServiceError, True),
        (504, b"", ServiceError, True),
        (501, b"", ServiceError, False),
        (400, said(code="tool_use_failed", failed_generation="<add>"), ToolCallRejectedError, True),
    ],
)  # fmt: skip
def test_status_and_words_say_who_has_to_act(
    status: int, body: Any, kind: type[ProviderError], retryable: bool
) -> None:
    """What is said goes before the status it came with."""
    error = failed(status, body)

    assert (type(error), error.retryable, error.status) == (kind, retryable, status)
    assert error.provider == "test"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (said("It is so."), "It is so."),
        (said("Bad value.", param="messages[0].role"), "Bad value. (parameter messages[0].role)"),
        (said("Bad 'stop'.", param="stop"), "Bad 'stop'."),
        ({"error": {"message": None, "type": "odd_type"}}, "odd_type"),
        ({"error": {"message": {"reason": "deep"}}}, '{"reason":"deep"}'),
        ({"error": {"reason": "deep"}}, '{"reason":"deep"}'),
        ({"error": "a plain text"}, "a plain text"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"detail": "Invalid API Key"}, "Invalid API Key"),
        ({"detail": [{"loc": ["body", "model"], "msg": "field required", "type": "x"}]}, "body.model: field required"),
        ({"detail": [{"msg": "no place"}, "odd"]}, ": no place"),
        ({"object": "error", "message": "old vLLM", "code": 40001}, "old vLLM"),
        ({"message": "a bare message"}, "a bare message"),
        ({"status": "odd"}, '{"status": "odd"}'),
        (b"plain words", "plain words"),
        (b"<html><head><title>502 Bad\ngateway</title>", "a web page, '502 Bad\\ngateway'"),
        (b"", "the reply is empty"),
        (b"\xff", "\ufffd"),
    ],
)
def test_the_message_is_found_in_each_form(body: Any, message: str) -> None:
    """Objects, texts, lists, FastAPI's faults, pages, nothing at all."""
    assert str(failed(400, body)).startswith(f"test: {message}")


def test_long_messages_are_cut() -> None:
    """An error is a line, not a page; the body keeps a little more."""
    error = failed(400, said("x" * 5000))

    assert len(str(error)) < 350
    assert len(error.body) == 500


def test_secrets_are_masked_in_all_an_error_repeats() -> None:
    """Services quote keys; errors do not."""

    def masked(text: str) -> str:
        return text.replace("sk-1", "[redacted]")

    body = said("Incorrect API key: sk-1", code="tool_use_failed", failed_generation="sk-1")

    error = error_for("test", HttpReply(401, {}, json.dumps(body).encode()), redact=masked)

    assert isinstance(error, ToolCallRejectedError)
    assert "sk-1" not in str(error) + error.body + error.failed_generation
    assert error.failed_generation == "[redacted]"


def test_a_redirect_says_where_the_address_went() -> None:
    """It is not followed, for it could take the key elsewhere; neither its query nor the page is shown."""
    for page in (b"", b"<html><title>301 Moved</title></html>"):
        error = failed(307, page, location="https://new.example/v1/chat/completions?token=1")

        assert "set base_url" in str(error)
        assert "https://new.example/v1" in str(error)
        assert "token" not in str(error)


def test_an_unknown_path_says_what_a_base_url_ends_in() -> None:
    """The commonest mistake with a server of one's own."""
    assert "Most end in /v1" in str(failed(404, b"Not Found"))


@pytest.mark.parametrize("name", ["x_request_id", "request_id", "apim_request_id"])
def test_the_request_s_id_is_kept(name: str) -> None:
    """For the service's support."""
    assert failed(500, b"", **{name: "req_1"}).request_id == "req_1"


@pytest.mark.parametrize(
    ("status", "asked", "retryable"), [(400, "true", True), (503, "false", False), (503, "maybe", True)]
)
def test_the_service_may_say_whether_to_ask_again(status: int, asked: str, retryable: bool) -> None:
    """`x-should-retry` goes before everything else."""
    assert failed(status, b"", x_should_retry=asked).retryable is retryable


NOW = 1_800_000_000


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({}, b"", None),
        ({"retry_after": "7"}, b"", 7.0),
        ({"retry_after": "1.5"}, b"", 1.5),
        ({"retry_after_ms": "1500"}, b"", 1.5),
        ({"retry_after": "1", "retry_after_ms": "0"}, b"", 1.0),
        ({"retry_after": "1", "retry_after_ms": "2500"}, b"", 2.5),
        ({"retry_after": formatdate(NOW + 30, usegmt=True), "date": formatdate(NOW, usegmt=True)}, b"", 30.0),
        ({"retry_after": formatdate(NOW - 30, usegmt=True), "date": formatdate(NOW, usegmt=True)}, b"", 0.0),
        ({"retry_after": formatdate(0, usegmt=True)}, b"", 0.0),
        ({"retry_after": "99999999"}, b"", 86_400.0),
        ({"retry_after": "soon"}, b"", None),
        ({"retry_after": "-5"}, b"", None),
        ({"retry_after": "\x1c5 "}, b"", 5.0),
        ({}, said(details=[{"@type": "x", "retryDelay": "48.939935699s"}]), 48.939935699),
        ({}, said(details=[{"metadata": {"quotaResetDelay": "373.8ms"}}, "odd"]), 0.3738),
        ({}, [{"error": {"message": "no", "details": [{"retryDelay": "34.4s"}]}}], 34.4),
        ({}, said(details="odd"), None),
        ({}, said("Please retry in 45.837906927s."), 45.837906927),
        ({}, said("Please try again in 1m30s. Visit us."), 90.0),
        ({}, said("Try again in 250ms"), 0.25),
        ({}, said("Please retry after 20 seconds."), 20.0),
        ({"retry_after": "3"}, said("Please retry in 45s."), 3.0),
    ],
)
def test_the_time_to_come_back_is_found(headers: dict[str, str], body: Any, seconds: float | None) -> None:
    """Headers first, the longer of two; then the body; then the sentence; never longer than a day."""
    found = failed(429, body, **headers).retry_after

    assert found == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2ms", 0.002),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("1d", 86_400.0),
        ("5", None),
        ("", None),
        (7, None),
        ("5x", None),
    ],
)
def test_durations_are_read(text: Any, seconds: float | None) -> None:
    """With units, one or several."""
    assert duration(text) == seconds


class TestHostileReplies:
    @pytest.mark.parametrize("status", [400, 500])
    def test_lists_in_lists_are_no_fault(self, status: int) -> None:
        """However deep they go, the reply is told as it came."""
        error = failed(status, b"[" * 900 + b"]" * 900)

        assert error.status == status
        assert "[[[" in str(error)

    def test_a_title_is_looked_for_near_the_beginning(self) -> None:
        """Searching megabytes of half titles would take hours."""
        near, far = b"<title>Bad gateway</title>", b"<title>" * 200_000 + b"<title>Bad gateway</title>"

        assert "a web page, 'Bad gateway'" in str(failed(502, b"<html>" + near))
        assert "a web page" not in str(failed(502, far))

    def test_codes_are_looked_for_near_the_beginning(self) -> None:
        """A phrase behind megabytes of text is no phrase of the error."""
        assert type(failed(404, said("model " * 100_000 + "does not exist"))) is InvalidRequestError

    def test_the_request_id_is_masked_and_bounded(self) -> None:
        """A header is as foreign as a body: a gateway may echo the key in it."""

        def masked(text: str) -> str:
            return text.replace("k-secret", "[redacted]")

        error = error_for("test", HttpReply(500, {"x-request-id": "k-secret " + "z" * 500}, b""), redact=masked)

        assert error.request_id is not None
        assert error.request_id.startswith("[redacted] zzz")
        assert len(error.request_id) == 100


class TestInside:
    """Failures inside replies that claim success have no status."""

    @pytest.mark.parametrize(
        ("payload", "kind", "retryable"),
        [
            (said(type="rate_limit_error"), RateLimitError, True),
            (said("per day", code="rate_limit"), RateLimitError, False),
            (said(type="invalid_request_error"), InvalidRequestError, False),
            (said(type="overloaded_error"), ServiceError, True),
            (said(code=503), ServiceError, True),
        ],
    )
    def test_words_alone_decide(self, payload: Any, kind: type[ProviderError], retryable: bool) -> None:
        """And a status that the payload names."""
        fault = fault_in(payload)
        assert fault is not None

        error = error_in("test", fault, redact=str, body="")

        assert (type(error), error.retryable) == (kind, retryable)

    def test_a_payload_without_fault_has_none(self) -> None:
        """Nor has one whose error is empty."""
        assert fault_in({"choices": []}) is None
        assert fault_in({"error": {}}) is None
        assert fault_in(["x", {"a": 1}]) is None
        assert fault_in("error") is None
        assert fault_of("broken").message == "broken"

    def test_an_unknown_address_says_nothing_where_nobody_knows_what(self) -> None:
        """The hint is the codec's."""
        assert "base URL" not in str(error_for("test", HttpReply(404, {}, b"Not Found"), redact=str))

    @pytest.mark.parametrize(("text", "shown"), [("a  b\n", "'a b'"), ("x" * 400, repr("x" * 300 + "…"))])
    def test_an_excerpt_is_one_short_line(self, text: str, shown: str) -> None:
        """Blanks are joined, the rest is cut."""
        assert excerpt(text, str) == shown
