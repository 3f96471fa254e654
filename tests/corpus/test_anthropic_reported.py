"""Replies from public fault reports of the Messages form, re-typed, are met as their `correct_client` says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from nr_llm.errors import InvalidRequestError, InvalidValueError, ProviderError, ServiceError
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest

from tests.corpus.traffic import reported
from tests.support import shared_folder

anthropic = pytest.importorskip("nr_llm_anthropic", reason="the anthropic plugin is not installed here")
CODEC = anthropic.MessagesCodec()
USER = ChatMessage.user("Hello")


def failed(row: dict[str, Any]) -> ProviderError:
    """Return the error of the row's reply."""
    error: ProviderError = CODEC.error(HttpReply(row["status"], {}, json.dumps(row["response_json"]).encode()))
    return error


def final(row: dict[str, Any]) -> None:
    """Check that nobody asks again."""
    error = failed(row)
    assert type(error) is InvalidRequestError
    assert not error.retryable


def turns(*messages: ChatMessage) -> list[dict[str, Any]]:
    """Return the turns of a conversation as they are sent."""
    sent: list[dict[str, Any]] = json.loads(CODEC.encode(CompletionRequest(model="m", messages=messages)).body)[
        "messages"
    ]
    return sent


def anthropic_overloaded(row: dict[str, Any]) -> None:
    """As good as 503."""
    error = failed(row)
    assert type(error) is ServiceError
    assert error.retryable


def anthropic_unpaired_tool_use(row: dict[str, Any]) -> None:
    """Final, and refused before it is sent."""
    final(row)
    with pytest.raises(InvalidValueError, match="have no result"):
        turns(USER, ChatMessage.assistant_tool_calls([ToolCall("toolu_0000", "f")]), USER)


def anthropic_surrogate(row: dict[str, Any]) -> None:
    """Final, and never sent."""
    final(row)
    assert turns(ChatMessage.user("x\ud800"))[0]["content"] == [{"type": "text", "text": "x\ufffd"}]


def anthropic_trailing_space(row: dict[str, Any]) -> None:
    """Final, and stripped."""
    final(row)
    assert turns(USER, ChatMessage.assistant("So: \n"))[1]["content"] == [{"type": "text", "text": "So:"}]


def anthropic_thinking_signature_missing(row: dict[str, Any]) -> None:
    """Final; the signature is kept, and thinking without one stays behind."""
    final(row)
    signed = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    for thought, sent in (signed, [signed]), (signed | {"signature": ""}, []):
        blocks = [thought, {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]
        body = json.dumps({"model": "m", "content": blocks, "stop_reason": "tool_use"}).encode()
        answer = CODEC.decode(HttpReply(200, {}, body), CompletionRequest(model="m", messages=(USER,)))

        assert turns(USER, answer.to_message(), ChatMessage.tool_result("toolu_1", "x"))[1]["content"] == [
            *sent,
            blocks[1],
        ]


MET: tuple[Callable[[dict[str, Any]], None], ...] = (
    anthropic_overloaded,
    anthropic_unpaired_tool_use,
    anthropic_surrogate,
    anthropic_trailing_space,
    anthropic_thinking_signature_missing,
)


@pytest.mark.parametrize("met", MET, ids=lambda met: met.__name__)
def test_a_reported_fault_is_met(met: Callable[[dict[str, Any]], None]) -> None:
    """Each row behaves as a correct client does."""
    shared_folder()
    met(reported("anthropic")[met.__name__])


def test_every_reported_fault_of_the_form_is_met() -> None:
    """A row that is added is not forgotten here."""
    shared_folder()
    assert set(reported("anthropic")) == {met.__name__ for met in MET}
