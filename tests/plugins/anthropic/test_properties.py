"""Laws of the codec: a memo changes no byte, a stream equals its whole, any bytes give an answer or a typed error."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from nr_llm.errors import InvalidRequestError, InvalidValueError, NrLlmError
from nr_llm.events import ToolCallDelta
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from tests.corpus.oracle import checker
from tests.plugins.anthropic.replies import (
    CODEC,
    SIGNED,
    START,
    asked,
    block,
    end,
    payload,
    read,
    streamed_with,
    text,
    use,
)
from tests.plugins.openai.values import conversations, requests
from tests.plugins.told import reasoning_of, text_of

TEXTS = st.text(st.characters(codec=None), max_size=12)
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
REFUSED = (InvalidRequestError, InvalidValueError)


def sent(request: CompletionRequest, memo: Memo | None = None) -> bytes | None:
    """Return the body, or None for what the form cannot say."""
    try:
        return CODEC.encode(request, memo).body
    except REFUSED:
        return None


def kept() -> st.SearchStrategy[ChatMessage]:
    """Return assistant turns with blocks of the service's own, by two models."""
    blocks = st.lists(st.sampled_from([SIGNED, text("So "), text("On"), SEARCH]), min_size=1, max_size=4)
    models = st.sampled_from(["claude-sonnet-4-5", "claude-opus-4-5"])
    return st.builds(lambda blocks, model: read(payload(*blocks), asked(model=model)).to_message(), blocks, models)


@given(st.data())
def test_a_memo_changes_no_byte(data: st.DataObject) -> None:
    """However a conversation grows, shrinks or changes between two requests."""
    memo = Memo()
    for _ in range(3):
        request = data.draw(requests())
        assert sent(request, memo) == sent(request)
        more = (*data.draw(conversations()), *data.draw(st.lists(kept(), max_size=2)))
        longer = attrs.evolve(request, messages=(*request.messages, *more))
        assert sent(longer, memo) == sent(longer)


@settings(max_examples=60)
@given(requests(), st.lists(kept(), max_size=2), conversations())
def test_whatever_we_encode_is_a_valid_request(
    request: CompletionRequest, turns: list[ChatMessage], more: list[ChatMessage]
) -> None:
    """The checkers made from the SDK's types, and the service's rules, find nothing to object to."""
    check = checker("anthropic", "anthropic", "/v1/messages")
    request = attrs.evolve(request, messages=(*request.messages, *turns, *more))
    for longer in (request, attrs.evolve(request, model="claude-sonnet-4-5")):
        body = sent(longer)
        found = [] if body is None else check(json.loads(body))
        assert [fault for fault in found if not fault.startswith("lint")] == []


@given(st.lists(kept(), max_size=3), conversations())
def test_turns_alternate_and_none_is_empty(turns: list[ChatMessage], more: list[ChatMessage]) -> None:
    """Whatever was left behind."""
    body = sent(asked(ChatMessage.user("Hi"), *turns, *more))
    messages = [] if body is None else json.loads(body)["messages"]

    assert all(first["role"] != second["role"] for first, second in pairwise(messages))
    assert all(turn["content"] for turn in messages)


BLOCKS = st.lists(
    st.builds(text, TEXTS)
    | st.builds(lambda thinking: SIGNED | {"thinking": thinking}, TEXTS)
    | st.builds(use, st.dictionaries(TEXTS, TEXTS, max_size=2), st.just("add"), TEXTS),
    max_size=4,
)


def streamed_form(index: int, given_block: dict[str, Any]) -> bytes:
    """Return the events of a block, its texts cut into letters."""
    match given_block["type"]:
        case "text":
            return block(index, text(""), *({"type": "text_delta", "text": part} for part in given_block["text"]))
        case "thinking":
            parts = [{"type": "thinking_delta", "thinking": part} for part in given_block["thinking"]]
            signature = {"type": "signature_delta", "signature": given_block["signature"]}
            return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *parts, signature)
        case _:
            pieces = [{"type": "input_json_delta", "partial_json": part} for part in json.dumps(given_block["input"])]
            return block(index, given_block | {"input": {}}, *pieces)


@given(BLOCKS, st.lists(st.integers(0, 4000), max_size=5))
def test_a_stream_gives_what_the_whole_reply_gives(blocks: list[dict[str, Any]], cuts: list[int]) -> None:
    """However it is cut; and its deltas add up to it."""
    body = START + b"".join(streamed_form(i, given_block) for i, given_block in enumerate(blocks))
    body += end("end_turn", {"output_tokens": 3})
    places = sorted({cut % (len(body) + 1) for cut in cuts})
    parts = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]

    deltas, answer = streamed_with(*parts)

    assert answer == read(payload(*blocks))
    assert (text_of(deltas), reasoning_of(deltas)) == (answer.content, answer.reasoning or "")
    written: dict[str, str] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            written[delta.key] = written.get(delta.key, "") + delta.arguments
    assert [json.loads(given_json) for given_json in written.values()] == [
        block["input"] for block in blocks if block["type"] == "tool_use"
    ]


KEYS = [
    *("type", "content", "text", "thinking", "signature", "id", "name", "input", "usage", "input_tokens", "index"),
    *("stop_reason", "stop_details", "explanation", "delta", "content_block", "message", "error", "partial_json"),
    *("citation", "citations", "model", "output_tokens_details"),
]
WORDS = [
    *("text", "thinking", "tool_use", "message_start", "content_block_start", "content_block_delta", "message_delta"),
    *("content_block_stop", "message_stop", "error", "ping", "text_delta", "thinking_delta", "signature_delta"),
    *("input_json_delta", "citations_delta", "max_tokens", "refusal", "pause_turn", "{", "{}"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 600) | st.sampled_from(WORDS) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES | st.fixed_dictionaries({"content": st.lists(VALUES, max_size=3), "stop_reason": VALUES}))
def test_any_reply_is_an_answer_or_a_typed_error(value: Any) -> None:
    """No value in it, anywhere, breaks the reader, or the request that brings it back."""
    body = json.dumps(value).encode()
    with suppress(NrLlmError):
        answer = CODEC.decode(HttpReply(200, {}, body), asked())
        results = [ChatMessage.tool_result(call.id, "x") for call in answer.tool_calls or ()]
        assert sent(asked(ChatMessage.user("Hi"), answer.to_message(), *results))
    assert str(CODEC.error(HttpReply(400, {}, body)))


EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(WORDS)},
    optional=dict.fromkeys(("index", "delta", "content_block", "message", "usage", "error"), VALUES),
)


@given(st.lists(VALUES | EVENTS, max_size=6))
def test_any_stream_is_an_answer_or_a_typed_error(values: list[Any]) -> None:
    """As above, event by event."""
    decoder = CODEC.decoder(asked())
    with suppress(NrLlmError):
        for value in [{"type": "message_start"}, *values]:
            decoder.feed(b"data: " + json.dumps(value).encode() + b"\n\n")
        assert isinstance(decoder.finish(), CompletionResponse)
