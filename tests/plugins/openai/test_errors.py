"""What the codec adds to errors that the kit reads: its name, its hint, its mask."""

from __future__ import annotations

import attrs
from nr_llm.providers import HttpReply

from tests.plugins.openai.replies import CODEC


def test_an_unknown_path_says_what_a_base_url_ends_in() -> None:
    """The commonest mistake with a server of one's own."""
    error = CODEC.error(HttpReply(404, {}, b"Not Found"))

    assert "Most end in /v1" in str(error)
    assert error.provider == "test"


def test_secrets_are_masked() -> None:
    """Services quote keys; errors do not."""
    codec = attrs.evolve(CODEC, redact=lambda text: text.replace("sk-1", "[redacted]"))

    assert "sk-1" not in str(codec.error(HttpReply(401, {}, b"bad key sk-1")))
