"""What the codec adds to errors that the kit reads: its name, its remedies, its mask."""

from __future__ import annotations

import json

import attrs
import pytest
from nr_llm.errors import InvalidRequestError, ModelNotFoundError, ProviderError, ServiceError
from nr_llm.providers import HttpReply

from tests.plugins.ollama.replies import CODEC


def failed(status: int, message: str) -> ProviderError:
    """Return the error of a failed reply in the server's own form, a bare text."""
    return CODEC.error(HttpReply(status, {}, json.dumps({"error": message}).encode()))


@pytest.mark.parametrize("message", ["model 'qwen3:8b' not found", 'model "qwen3:8b" not found, try pulling it first'])
def test_a_missing_model_comes_with_its_remedy(message: str) -> None:
    """The command that fetches it."""
    error = failed(404, message)

    assert type(error) is ModelNotFoundError
    assert str(error).endswith("; fetch it with: ollama pull qwen3:8b")


@pytest.mark.parametrize(
    ("status", "message", "error", "retryable"),
    [
        (400, '"qwen" does not support tools', InvalidRequestError, False),
        (404, "model not found", ModelNotFoundError, False),
        (500, "model requires more system memory", ServiceError, True),
        (503, "server busy, please try again", ServiceError, True),
    ],
)
def test_each_failure_says_who_has_to_act(
    status: int, message: str, error: type[ProviderError], *, retryable: bool
) -> None:
    """With the server's sentence and whether to ask again; no remedy is made up."""
    made = failed(status, message)

    assert type(made) is error
    assert str(made) == f"test: {message} (HTTP {status})"
    assert (made.provider, made.status, made.retryable) == ("test", status, retryable)


def test_another_server_is_told_from_ollama() -> None:
    """The commonest mistake with an address."""
    assert "is this the address of an Ollama server?" in str(CODEC.error(HttpReply(404, {}, b"404 page not found")))


def test_secrets_are_masked() -> None:
    """Services quote keys; errors do not."""
    codec = attrs.evolve(CODEC, redact=lambda text: text.replace("sk-1", "[redacted]"))

    assert "sk-1" not in str(codec.error(HttpReply(401, {}, b"bad key sk-1")))
