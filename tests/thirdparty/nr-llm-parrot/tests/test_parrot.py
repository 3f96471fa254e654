"""Holds the provider to what nr-llm expects of one, and to what is Parrot's alone."""

from __future__ import annotations

import pytest
from nr_llm import ChatMessage, CompletionRequest
from nr_llm.errors import InvalidRequestError, RateLimitError, ServiceError
from nr_llm.messages import Attachment
from nr_llm.options import Options
from nr_llm.providers import HttpReply
from nr_llm.responses import FinishReason, Usage
from nr_llm.secrets import Secret
from nr_llm.testing import ProviderContract, ProviderSample
from nr_llm_parrot import Parrot, ParrotSettings

KEY = "parrot-key-0123456789"
PARROT = Parrot(settings=ParrotSettings(base_url="http://localhost:1", api_key=Secret(KEY)))

TEXT = ProviderSample(
    name="text",
    reply='{"say": "Ich sah Öl.", "why": "end", "tokens": {"read": 3, "wrote": 2}}'.encode(),
    stream='{"say": "Ich sah"}\n{"say": " Öl."}\n{"why": "end", "tokens": {"read": 3, "wrote": 2}}\n'.encode(),
    content="Ich sah Öl.",
    usage=Usage(3, 2),
    finish_reason=FinishReason.STOP,
)
CALLS = ProviderSample(
    name="calls",
    reply=b'{"do": [{"key": "a", "name": "look", "with": {"what": "x"}}, {"name": "rest"}], "why": "do"}',
    stream=b'{"do": {"key": "a", "name": "look", "with": {"what": "x"}}}\n{"do": {"name": "rest"}}\n{"why": "do"}\n',
    tool_calls=[("look", {"what": "x"}), ("rest", {})],
    finish_reason=FinishReason.TOOL_CALLS,
)
TROUBLE = ProviderSample(
    name="trouble", stream=b'{"say": "I"}\n{"trouble": "lost its voice"}\n', error=ServiceError, retryable=True
)
TIRED = ProviderSample(
    name="tired",
    reply=b'{"error": "the parrot is tired"}',
    status=429,
    headers={"retry-after": "3"},
    error=RateLimitError,
    retry_after=3.0,
)


class TestParrot(ProviderContract):
    """Every promise, each a test of its own."""

    provider = PARROT
    samples = (TEXT, CALLS, TROUBLE, TIRED)
    key = KEY


def test_what_the_caller_sets_is_sent() -> None:
    """In the words of the service."""
    request = CompletionRequest(
        model="p", messages=(ChatMessage.user("Hi"),), options=Options(max_tokens=7, tool_choice="auto")
    )

    assert PARROT.codec.encode(request).body.startswith(b'{"model":"p","stream":false,"most":7,"must":"auto"')


def test_attachments_are_refused() -> None:
    """With a remedy, and said beforehand."""
    message = ChatMessage.user("What is this?", Attachment("image/png", b"x"))

    assert PARROT.describe("p").attachments == ()
    with pytest.raises(InvalidRequestError, match="describe them"):
        PARROT.codec.encode(CompletionRequest(model="p", messages=(message,)))


def test_failures_name_the_base_url() -> None:
    """When nothing is at the address."""
    assert "is the base URL right?" in str(PARROT.codec.error(HttpReply(404, {}, b"")))
