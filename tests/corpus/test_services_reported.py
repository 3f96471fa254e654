"""Replies of OpenAI's Responses, Azure, Mistral and OpenRouter from public fault reports are met as they should be."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from nr_llm.errors import (
    ContentFilterError,
    InvalidRequestError,
    ModelNotFoundError,
    ProviderError,
    RateLimitError,
    ServiceError,
)
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason
from nr_llm.specs import ToolSpec
from nr_llm_openai import DIALECTS, ChatCodec, ResponsesCodec

from tests.corpus.traffic import reported
from tests.support import shared_folder

REQUEST = CompletionRequest(model="m", messages=(ChatMessage.user("Hello"),))
SERVICES = ("openai_responses", "azure", "mistral", "openrouter")


def codec_for(row: dict[str, Any]) -> ChatCodec | ResponsesCodec:
    """Return the codec that talks to the service of `row`."""
    if row["provider"] == "openai_responses":
        return ResponsesCodec()
    return ChatCodec(provider=row["provider"], dialect=DIALECTS[row["provider"]])


def streamed(row: dict[str, Any], *pieces: bytes) -> CompletionResponse:
    """Return what the row's stream, or `pieces` of it, gives."""
    decoder = codec_for(row).decoder(REQUEST)
    for piece in pieces or (row["response_sse"].encode(),):
        decoder.feed(piece)
    return decoder.finish()


def reply_to(row: dict[str, Any]) -> HttpReply:
    """Return the row's reply."""
    return HttpReply(row["status"], {}, json.dumps(row["response_json"]).encode())


def sent(codec: ChatCodec | ResponsesCodec, request: CompletionRequest) -> dict[str, Any]:
    """Return the body of a request."""
    body: dict[str, Any] = json.loads(codec.encode(request).body)
    return body


def openai_tool_name_pattern(row: dict[str, Any]) -> None:
    """The error is final, and no name that is sent breaks the pattern, so that it does not come up."""
    error = codec_for(row).error(reply_to(row))
    assert type(error) is InvalidRequestError
    assert not error.retryable
    tool = ToolSpec("files", "Read.", {})
    called = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "my.files read", "arguments": "{}"}
    reply = HttpReply(200, {}, json.dumps({"status": "completed", "output": [called]}).encode())
    codec = codec_for(row)

    turn = codec.decode(reply, attrs.evolve(REQUEST, tools=(tool,))).to_message()
    again = attrs.evolve(REQUEST, messages=(*REQUEST.messages, turn, ChatMessage.tool_result("call_1", "x")))

    name = next(item["name"] for item in sent(codec, again)["input"] if item.get("type") == "function_call")
    assert name
    assert name.replace("_", "").replace("-", "").isalnum()


def openai_responses_item_not_found(row: dict[str, Any]) -> None:
    """The error is final, and reasoning goes back by its content, never by the id of an item nobody stored."""
    error = codec_for(row).error(reply_to(row))
    assert isinstance(error, (InvalidRequestError, ModelNotFoundError))
    assert not error.retryable
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
    called = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}
    reply = HttpReply(200, {}, json.dumps({"status": "completed", "output": [thought, called]}).encode())
    codec = codec_for(row)

    turn = codec.decode(reply, REQUEST).to_message()
    again = attrs.evolve(REQUEST, messages=(*REQUEST.messages, turn, ChatMessage.tool_result("call_1", "x")))
    body = sent(codec, again)

    assert body["store"] is False
    assert body["input"][1] == {"type": "reasoning", "summary": [], "encrypted_content": "sealed"}
    assert [item for item in body["input"] if "id" in item] == []


def stream_responses_error_then_failed(row: dict[str, Any]) -> None:
    """It is one failure, wherever the stream is cut, and worth another try."""
    body = row["response_sse"].encode()
    for i in range(0, len(body), 7):
        with pytest.raises(RateLimitError, match="Rate limit reached") as caught:
            streamed(row, body[:i], body[i:])
        assert caught.value.retryable


def azure_content_filter(row: dict[str, Any]) -> None:
    """The type is null; the code says what it is, and asking again does not help."""
    error = codec_for(row).error(reply_to(row))
    assert type(error) is ContentFilterError
    assert not error.retryable


def mistral_role_order(row: dict[str, Any]) -> None:
    """The error is final, and a turn of the model stands in between where the user asks for one."""
    error = codec_for(row).error(reply_to(row))
    assert type(error) is InvalidRequestError
    assert not error.retryable
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    reply = {"choices": [{"index": 0, "message": {"content": "", "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    codec = ChatCodec(provider="mistral", dialect=DIALECTS["mistral"], gap="Done.")

    turn = codec.decode(HttpReply(200, {}, json.dumps(reply).encode()), REQUEST).to_message()
    talk = (*REQUEST.messages, turn, ChatMessage.tool_result("abcdefghi", "x"), ChatMessage.user("And now?"))
    roles = [message["role"] for message in sent(codec, attrs.evolve(REQUEST, messages=talk))["messages"]]

    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def mistral_content_list(row: dict[str, Any]) -> None:
    """Thinking is no content."""
    answer = codec_for(row).decode(reply_to(row), REQUEST)
    assert (answer.content, answer.reasoning) == ("final answer", "reasoning...")


def stream_mistral_thinking_delta(row: dict[str, Any]) -> None:
    """Nor is it in a stream."""
    answer = streamed(row)
    assert (answer.content, answer.reasoning, answer.finish_reason) == ("Done", "Okay", FinishReason.STOP)


def openrouter_200_finish_error(row: dict[str, Any]) -> None:
    """A failed generation is a failure, though the status says that all is well."""
    with pytest.raises(ProviderError):
        codec_for(row).decode(reply_to(row), REQUEST)


def stream_openrouter_error_empty_choices(row: dict[str, Any]) -> None:
    """An error beside empty choices is no chunk of usage."""
    with pytest.raises(ServiceError, match="Worker local total request limit reached"):
        streamed(row)


def stream_comment_variants(row: dict[str, Any]) -> None:
    """Comments are skipped, with or without a space, wherever the stream is cut."""
    body = row["response_sse"].encode()
    assert all(streamed(row, body[:i], body[i:]).content == "Hi" for i in range(len(body)))


MET: tuple[Callable[[dict[str, Any]], None], ...] = (
    openai_tool_name_pattern,
    openai_responses_item_not_found,
    stream_responses_error_then_failed,
    azure_content_filter,
    mistral_role_order,
    mistral_content_list,
    stream_mistral_thinking_delta,
    openrouter_200_finish_error,
    stream_openrouter_error_empty_choices,
    stream_comment_variants,
)


@pytest.mark.parametrize("met", MET, ids=lambda met: met.__name__)
def test_a_reported_fault_is_met(met: Callable[[dict[str, Any]], None]) -> None:
    """Each row behaves as a correct client does."""
    shared_folder()
    met(reported(*SERVICES)[met.__name__])


def test_every_reported_fault_of_these_services_is_met() -> None:
    """A row that is added is not forgotten here."""
    shared_folder()
    assert set(reported(*SERVICES)) == {met.__name__ for met in MET}
