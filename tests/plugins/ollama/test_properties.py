"""Laws of the codec: a memo changes no byte, a stream equals its whole, any bytes give an answer or a typed error."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from nr_llm.errors import InvalidRequestError, InvalidValueError, NrLlmError
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from tests.corpus.oracle import checker
from tests.plugins.ollama.replies import CODEC, asked, call, end, line, payload, read, streamed_with
from tests.plugins.openai.values import conversations, requests
from tests.plugins.told import text_of

TEXTS = st.text(st.characters(codec=None), max_size=12)


def sent(request: CompletionRequest, memo: Memo | None = None) -> bytes | None:
    """Return the body, or None for what the form cannot say."""
    try:
        return CODEC.encode(request, memo).body
    except (InvalidRequestError, InvalidValueError):
        return None


@given(st.data())
def test_a_memo_changes_no_byte(data: st.DataObject) -> None:
    """However a conversation grows, shrinks or changes between two requests."""
    memo = Memo()
    for _ in range(3):
        request = data.draw(requests())
        assert sent(request, memo) == sent(request)
        longer = attrs.evolve(request, messages=(*request.messages, *data.draw(conversations())))
        assert sent(longer, memo) == sent(longer)


@settings(max_examples=60)
@given(requests())
def test_whatever_we_encode_is_a_valid_request(request: CompletionRequest) -> None:
    """The checkers made from the SDK's types, and the server's rules, find nothing to object to."""
    check = checker("ollama", "ollama", "/api/chat")
    body = sent(request)

    assert body is None or check(json.loads(body)) == []


@given(
    st.lists(TEXTS, max_size=4),
    st.lists(st.dictionaries(TEXTS, TEXTS, max_size=2), max_size=3),
    st.lists(st.integers(0, 2000), max_size=5),
)
def test_a_stream_gives_what_the_whole_reply_gives(
    texts: list[str], arguments: list[dict[str, str]], cuts: list[int]
) -> None:
    """However it is cut; and its deltas add up to it."""
    calls = [call(given_object) for given_object in arguments]
    body = b"".join(map(line, texts)) + b"".join(line(tool_calls=[made]) for made in calls) + end()
    places = sorted({cut % (len(body) + 1) for cut in cuts})
    parts = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]

    deltas, answer = streamed_with(*parts)

    assert answer == read(payload("".join(texts), tool_calls=calls))
    assert text_of(deltas) == answer.content


KEYS = [
    *("message", "content", "thinking", "tool_calls", "function", "name", "arguments", "id", "done", "done_reason"),
    *("error", "model", "prompt_eval_count", "eval_count", "object"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 600) | st.sampled_from(["{", "{}", "length", "error"]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
LINES = st.fixed_dictionaries({"message": VALUES}, optional={"done": st.booleans(), "done_reason": VALUES})


@given(VALUES | LINES)
def test_any_reply_is_an_answer_or_a_typed_error(value: Any) -> None:
    """No value in it, anywhere, breaks the reader, or the request that brings it back."""
    body = json.dumps(value).encode()
    with suppress(NrLlmError):
        answer = CODEC.decode(HttpReply(200, {}, body), asked())
        results = [ChatMessage.tool_result(made.id, "x") for made in answer.tool_calls or ()]
        assert sent(asked(ChatMessage.user("Hi"), answer.to_message(), *results))
    assert str(CODEC.error(HttpReply(400, {}, body)))


@given(st.lists(VALUES | LINES, max_size=4))
def test_any_stream_is_an_answer_or_a_typed_error(values: list[Any]) -> None:
    """As above, line by line."""
    decoder = CODEC.decoder(asked())
    with suppress(NrLlmError):
        for value in values:
            decoder.feed(json.dumps(value).encode() + b"\n")
        assert isinstance(decoder.finish(), CompletionResponse)
