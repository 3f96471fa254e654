"""Replies from public fault reports, re-typed, are met as their `correct_client` says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from nr_llm.errors import InvalidRequestError, ProviderError, RateLimitError
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import FinishReason
from nr_llm_gemini import GeminiCodec, openapi_schema

from tests.corpus.traffic import reported
from tests.support import shared_folder

CODEC = GeminiCodec()
MODEL = "gemini-3-pro-preview"
REQUEST = CompletionRequest(model=MODEL, messages=(ChatMessage.user("Hello"),))
TURN = ChatMessage.assistant_tool_calls([ToolCall("a", "f"), ToolCall("b", "g")])
RESULTS = (ChatMessage.tool_result("b", "2"), ChatMessage.tool_result("a", "1"))


def failed(row: dict[str, Any]) -> ProviderError:
    """Return the error of the row's reply."""
    return CODEC.error(HttpReply(row["status"], {}, json.dumps(row["response_json"]).encode()))


def contents(*messages: ChatMessage) -> list[dict[str, Any]]:
    """Return what a conversation is sent as."""
    request = CompletionRequest(model=MODEL, messages=(*REQUEST.messages, *messages))
    made: list[dict[str, Any]] = json.loads(CODEC.encode(request).body)["contents"]
    return made


def gemini_missing_signature(row: dict[str, Any]) -> None:
    """The error is final, and a signature goes back on its part, so that it does not come up."""
    assert type(failed(row)) is InvalidRequestError
    part = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}
    reply = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}], "modelVersion": MODEL}

    turn = CODEC.decode(HttpReply(200, {}, json.dumps(reply).encode()), REQUEST).to_message()

    assert contents(turn, ChatMessage.tool_result("call_0", "x"))[1]["parts"] == [part]
    assert "thoughtSignature" in contents(TURN, *RESULTS)[1]["parts"][0]


def gemini_response_count(row: dict[str, Any]) -> None:
    """The error is final, and all results of a turn are one content, so that it does not come up."""
    assert type(failed(row)) is InvalidRequestError

    made = contents(TURN, *RESULTS)

    assert [content["role"] for content in made] == ["user", "model", "user"]
    assert [part["functionResponse"]["name"] for part in made[2]["parts"]] == ["f", "g"]


def gemini_type_list(row: dict[str, Any]) -> None:
    """The error is final, and a list of types becomes one type and a flag, so that it does not come up."""
    assert type(failed(row)) is InvalidRequestError
    assert openapi_schema({"type": ["string", "null"]}).schema == {"type": "string", "nullable": True}


def gemini_429_retryinfo(row: dict[str, Any]) -> None:
    """The delay is in the body."""
    error = failed(row)
    assert isinstance(error, RateLimitError)
    assert (error.retryable, error.retry_after) == (True, 34.4)


def gemini_429_nanoseconds(row: dict[str, Any]) -> None:
    """To the ninth decimal."""
    assert failed(row).retry_after == 45.837906927


def gemini_no_parts(row: dict[str, Any]) -> None:
    """An answer without parts was held back."""
    answer = CODEC.decode(HttpReply(200, {}, json.dumps(row["response_json"]).encode()), REQUEST)
    assert (answer.content, answer.tool_calls, answer.usage.input_tokens) == ("", None, 10)
    assert (answer.finish_reason, answer.finish_detail) == (FinishReason.CONTENT_FILTER, "SAFETY")


MET: tuple[Callable[[dict[str, Any]], None], ...] = (
    gemini_missing_signature,
    gemini_response_count,
    gemini_type_list,
    gemini_429_retryinfo,
    gemini_429_nanoseconds,
    gemini_no_parts,
)


@pytest.mark.parametrize("met", MET, ids=lambda met: met.__name__)
def test_a_reported_fault_is_met(met: Callable[[dict[str, Any]], None]) -> None:
    """Each row behaves as a correct client does."""
    shared_folder()
    met(reported("gemini")[met.__name__])


def test_every_reported_fault_of_the_service_is_met() -> None:
    """A row that is added is not forgotten here."""
    shared_folder()
    assert set(reported("gemini")) == {met.__name__ for met in MET}
