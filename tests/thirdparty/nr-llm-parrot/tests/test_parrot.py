"""Holds the provider to what nr-llm expects of one: pure, honest about broken streams, and discreet."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm import ChatMessage, CompletionRequest, StreamInterruptedError, TextDelta, ToolCall, tool
from nr_llm.errors import RateLimitError, ServiceError
from nr_llm.memo import Memo
from nr_llm.providers import HttpProvider, HttpReply
from nr_llm.secrets import Secret
from nr_llm.testing import assert_no_leak
from nr_llm_parrot import Parrot, ParrotSettings

PARROT = Parrot(settings=ParrotSettings(base_url="http://localhost:1", api_key=Secret("parrot-key-0123456789")))
STREAM = b'{"say": "I s"}\n{"say": "ee"}\n{"do": {"key": "a", "name": "look", "with": {"what": "x"}}}\n{"why": "do"}\n'


@tool
def look(what: str) -> str:
    """Look."""
    return what


MESSAGES = (
    ChatMessage.system("Be brief."),
    ChatMessage.user("Look at 'ü'."),
    ChatMessage.assistant_tool_calls([ToolCall("c1", "look", {"what": "ü"})]),
    ChatMessage.tool_result("c1", "seen", is_error=True),
)
REQUEST = CompletionRequest(model="p", messages=MESSAGES, tools=(look.spec,))


def read(*pieces: bytes) -> tuple[str, Any]:
    """Return the streamed text and the answer."""
    decoder = PARROT.codec.decoder(REQUEST)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)), decoder.finish()


def test_it_is_a_provider() -> None:
    """Its key is nowhere to be seen."""
    assert isinstance(PARROT, HttpProvider)
    assert PARROT.endpoint.local
    assert PARROT.describe("p").attachments == ()
    assert b"parrot-key" not in PARROT.codec.encode(REQUEST).body
    assert "parrot-key" not in repr(PARROT.transport)
    assert_no_leak(codec=PARROT.codec)


def test_a_memo_changes_no_byte() -> None:
    """However much was encoded before."""
    memo = Memo()
    for end in (2, 4, 2, 4):
        request = CompletionRequest(model="p", messages=MESSAGES[:end], tools=(look.spec,))
        assert PARROT.codec.encode(request, memo) == PARROT.codec.encode(request)


def test_a_stream_equals_its_whole_at_every_cut() -> None:
    """Text and call."""
    whole = {"say": "I see", "do": [{"key": "a", "name": "look", "with": {"what": "x"}}], "why": "do"}
    expected = PARROT.codec.decode(HttpReply(200, {}, json.dumps(whole).encode()), REQUEST)

    for i in range(len(STREAM)):
        assert read(STREAM[:i], STREAM[i:]) == ("I see", expected)


def test_a_stream_that_breaks_off_is_no_answer() -> None:
    """The text until then is kept."""
    with pytest.raises(StreamInterruptedError) as caught:
        read(STREAM[:60])

    assert caught.value.partial == "I see"


def test_failures_are_typed() -> None:
    """By status, and in the middle of a stream by words; the key is masked."""
    error = PARROT.codec.error(HttpReply(429, {"retry-after": "3"}, b'{"error": "parrot-key-0123456789 is tired"}'))

    assert isinstance(error, RateLimitError)
    assert error.retry_after == 3
    assert "parrot-key" not in str(error) + error.body
    with pytest.raises(ServiceError, match="lost its voice"):
        read(b'{"trouble": "lost its voice"}\n')
