"""Replies from public fault reports, re-typed, are met as their `correct_client` says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from nr_llm.errors import InvalidRequestError, ProviderError, StreamInterruptedError
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason
from nr_llm_openai import COMPATIBLE, OPENAI, ChatCodec

from tests.corpus.traffic import reported
from tests.support import shared_folder

REQUEST = CompletionRequest(model="m", messages=(ChatMessage.user("Hello"),))


def codec_for(row: dict[str, Any]) -> ChatCodec:
    """Return the codec that talks to the service of `row`."""
    return ChatCodec(provider=row["provider"], dialect=OPENAI if row["provider"] == "openai" else COMPATIBLE)


def streamed(row: dict[str, Any], *pieces: bytes) -> CompletionResponse:
    """Return what the row's stream, or `pieces` of it, gives."""
    decoder = codec_for(row).decoder(REQUEST)
    for piece in pieces or (row["response_sse"].encode(),):
        decoder.feed(piece)
    return decoder.finish()


def failed(row: dict[str, Any]) -> ProviderError:
    """Return the error of the row's reply."""
    return codec_for(row).error(HttpReply(row["status"], {}, json.dumps(row["response_json"]).encode()))


def calls(answer: CompletionResponse) -> list[tuple[str, str, dict[str, Any], str | None]]:
    """Return the calls of an answer as plain values."""
    return [(call.id, call.name, dict(call.arguments), call.malformed) for call in answer.tool_calls or ()]


def vllm_new_error(row: dict[str, Any]) -> None:
    """The code is a number and the type a class name."""
    error = failed(row)
    assert type(error) is InvalidRequestError
    assert "Unexpected role 'user' after role 'tool'" in str(error)
    assert not error.retryable


def deepseek_reasoning_missing(row: dict[str, Any]) -> None:
    """The error is final, and reasoning goes back on a turn with calls, so that it does not come up."""
    assert type(failed(row)) is InvalidRequestError
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "", "reasoning_content": "Let me see.", "tool_calls": [call]}
    reply = {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    codec = codec_for(row)

    turn = codec.decode(HttpReply(200, {}, json.dumps(reply).encode()), REQUEST).to_message()
    again = CompletionRequest(model="m", messages=(*REQUEST.messages, turn, ChatMessage.tool_result("call_1", "x")))

    assert json.loads(codec.encode(again).body)["messages"][1]["reasoning_content"] == "Let me see."


def stream_error_chunk_then_done(row: dict[str, Any]) -> None:
    """An error in a stream is an error."""
    with pytest.raises(ProviderError, match="quota exceeded"):
        streamed(row)


def stream_eof_before_done(row: dict[str, Any]) -> None:
    """A stream that just ends is interrupted, and keeps what came."""
    with pytest.raises(StreamInterruptedError) as caught:
        streamed(row)
    assert caught.value.partial == "The answer"


def stream_usage_null_choices(row: dict[str, Any]) -> None:
    """A chunk with null choices has usage."""
    answer = streamed(row)
    assert (answer.content, answer.usage.total_tokens) == ("Hi", 2)


def stream_empty_id_name(row: dict[str, Any]) -> None:
    """Empty strings mean nothing new."""
    assert calls(streamed(row)) == [("call_8c1f", "calculator", {"expression": "2"}, None)]


def stream_name_repeated(row: dict[str, Any]) -> None:
    """A name said twice is said once."""
    assert calls(streamed(row)) == [("call_1", "my_server_search", {"q": 1}, None)]


def stream_name_in_pieces(row: dict[str, Any]) -> None:
    """A name in pieces is put together."""
    assert calls(streamed(row)) == [("call_1", "edit_existing_file", {}, None)]


def stream_finish_stop_with_calls(row: dict[str, Any]) -> None:
    """Calls decide."""
    answer = streamed(row)
    assert (answer.finish_reason, answer.finish_detail) == (FinishReason.TOOL_CALLS, "stop")
    assert calls(answer) == [("call_1", "f", {}, None)]


def stream_truncated_call(row: dict[str, Any]) -> None:
    """A call that was cut off is marked and never run."""
    answer = streamed(row)
    assert calls(answer) == [("call_1", "write", {}, '{"path": "a", "content": "half')]
    assert answer.finish_reason is FinishReason.LENGTH


def stream_no_space_crlf(row: dict[str, Any]) -> None:
    """CRLF, no space after the colon, cut anywhere."""
    body = row["response_sse"].encode()
    assert all(streamed(row, body[:i], body[i:]).content == "Hi" for i in range(len(body)))


def stream_multiline_data(row: dict[str, Any]) -> None:
    """Data lines of one event are one document."""
    assert streamed(row).content == "Hi"


def stream_last_event_no_blank_line(row: dict[str, Any]) -> None:
    """The last event counts without its blank line."""
    answer = streamed(row)
    assert (answer.content, answer.finish_reason) == ("Hi", FinishReason.STOP)


MET: tuple[Callable[[dict[str, Any]], None], ...] = (
    vllm_new_error,
    deepseek_reasoning_missing,
    stream_error_chunk_then_done,
    stream_eof_before_done,
    stream_usage_null_choices,
    stream_empty_id_name,
    stream_name_repeated,
    stream_name_in_pieces,
    stream_finish_stop_with_calls,
    stream_truncated_call,
    stream_no_space_crlf,
    stream_multiline_data,
    stream_last_event_no_blank_line,
)


@pytest.mark.parametrize("met", MET, ids=lambda met: met.__name__)
def test_a_reported_fault_is_met(met: Callable[[dict[str, Any]], None]) -> None:
    """Each row behaves as a correct client does."""
    shared_folder()
    met(reported("openai", "openai_compat")[met.__name__])


def test_every_reported_fault_of_the_form_is_met() -> None:
    """A row that is added is not forgotten here."""
    shared_folder()
    assert set(reported("openai", "openai_compat")) == {met.__name__ for met in MET}
