"""Laws of the codec: a memo changes no byte, any cut gives the same stream, any bytes an answer or a typed error."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nr_llm.errors import NrLlmError
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.providers import HttpReply
from nr_llm.responses import CompletionResponse
from nr_llm_openai import COMPATIBLE, DIALECTS, OPENAI, ChatCodec, ResponsesCodec
from nr_llm_openai.encode import wire_id

from tests.corpus.oracle import checker
from tests.plugins.openai.replies import CODEC, asked, chunk, event, pieces, streamed_with, whole
from tests.plugins.openai.values import conversations, requests
from tests.plugins.told import calls_of, text_of

TEXTS = st.text(st.characters(codec=None), max_size=12)


@given(st.data())
def test_a_memo_changes_no_byte(data: st.DataObject) -> None:
    """However a conversation grows, shrinks or changes between two requests."""
    memo = Memo()
    for _ in range(3):
        request = data.draw(requests())
        assert CODEC.encode(request, memo) == CODEC.encode(request)
        longer = attrs.evolve(request, messages=(*request.messages, *data.draw(conversations())))
        assert CODEC.encode(longer, memo) == CODEC.encode(longer)


CODECS = [ResponsesCodec(), *(ChatCodec(dialect=row, gap="So.") for row in DIALECTS.values())]


def _without_sound(request: Any) -> Any:
    """Return `request` with images only: what every service has a form for."""
    seen = [
        attrs.evolve(
            message, attachments=tuple(each for each in message.attachments if each.media_type.startswith("image/"))
        )
        for message in request.messages
    ]
    return attrs.evolve(request, messages=seen)


@settings(max_examples=60)
@given(st.data(), st.sampled_from(CODECS))
def test_a_memo_changes_no_byte_for_any_service(data: st.DataObject, codec: Any) -> None:
    """Pieces that may still change, such as a begun answer, stay open."""
    memo, request = Memo(), _without_sound(data.draw(requests()))
    assert codec.encode(request, memo) == codec.encode(request)
    more = _without_sound(asked(*data.draw(conversations()))).messages
    longer = attrs.evolve(request, messages=(*request.messages, *more))
    for asks in (longer, request):
        assert codec.encode(asks, memo) == codec.encode(asks)


@settings(max_examples=40)
@given(requests())
def test_whatever_we_encode_is_a_valid_responses_request(request: Any) -> None:
    """The checkers made from the SDK's types, and the service's rules, find nothing to object to."""
    check = checker("openai_responses", "openai", "/v1/responses")

    found = check(json.loads(ResponsesCodec().encode(_without_sound(request)).body))

    assert [fault for fault in found if not fault.endswith(" twice")] == []  # ids that come again turns later


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), unique=True, min_size=2, max_size=20))
def test_ids_stay_apart_at_mistral(ids: list[str]) -> None:
    """Nine letters and digits each, always the same ones for the same id."""
    made = [wire_id(call_id, DIALECTS["mistral"]) for call_id in ids]

    assert len(set(made)) == len(ids)
    assert all(len(each) == 9 and each.isascii() and each.isalnum() for each in made)
    assert made == [wire_id(call_id, DIALECTS["mistral"]) for call_id in ids]


EVENTS = st.lists(
    st.builds(
        lambda kind, fields: {"type": kind} | fields,
        st.sampled_from(
            [
                "response.output_item.added",
                "response.output_item.done",
                "response.output_text.delta",
                "response.output_text.done",
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                "response.refusal.delta",
                "response.reasoning_summary_text.delta",
                "response.completed",
                "response.incomplete",
                "error",
            ]
        ),
        st.fixed_dictionaries(
            {},
            optional={
                "output_index": st.integers(0, 2) | st.none() | st.just([]),
                "item_id": st.sampled_from(["a", "b", 1, None]),
                "delta": TEXTS | st.none(),
                "text": TEXTS,
                "arguments": st.sampled_from(["{}", '{"a": 1}', '{"a"', None, 5]),
                "item": st.sampled_from(
                    [
                        {},
                        {"type": "message", "content": [{"type": "output_text", "text": "x"}]},
                        {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"},
                        {"type": "function_call", "id": "a", "name": None, "arguments": None},
                        {"type": ["odd"]},
                        "x",
                    ]
                ),
                "response": st.sampled_from([{}, {"output": []}, {"output": [{"type": "message", "content": "x"}]}, 5]),
            },
        ),
    ),
    max_size=8,
)


@given(EVENTS)
def test_any_events_give_an_answer_or_a_typed_error(events: list[dict[str, Any]]) -> None:
    """Services and proxies send anything."""
    decoder = ResponsesCodec().decoder(asked())
    with suppress(NrLlmError):
        for each in events:
            decoder.feed(event(each))
        assert isinstance(decoder.finish(), CompletionResponse)


@given(requests())
def test_a_body_is_json_with_its_messages_last(request: Any) -> None:
    """And one field per name."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs)
        return dict(pairs)

    body = json.loads(CODEC.encode(request).body, object_pairs_hook=once)

    assert list(body)[-1] == "messages"


@settings(max_examples=60)
@given(requests(), st.sampled_from([("openai", OPENAI), ("openai_compat", COMPATIBLE)]))
def test_whatever_we_encode_is_a_valid_request(request: Any, service: tuple[str, Any]) -> None:
    """The checkers made from the SDK's types, and the servers' rules, find nothing to object to."""
    provider, dialect = service
    check = checker(provider, "openai", "/v1/chat/completions")

    assert check(json.loads(attrs.evolve(CODEC, dialect=dialect).encode(request).body)) == []


@given(requests())
def test_a_wire_form_says_all_there_is_to_say(request: Any) -> None:
    """Messages without side fields encode as their wire form reads."""
    again = attrs.evolve(request, messages=[ChatMessage.from_wire(message.to_wire()) for message in request.messages])

    assert CODEC.encode(again) == CODEC.encode(request)


DELTAS = st.lists(
    st.one_of(
        st.builds(lambda text: {"content": text}, TEXTS),
        st.builds(lambda text: {"reasoning_content": text}, TEXTS),
        st.builds(
            lambda index, name, arguments: {
                "tool_calls": [{"index": index, "function": {"name": name, "arguments": arguments}}]
            },
            st.integers(0, 2),
            st.sampled_from([None, "", "add", "mul"]),
            st.sampled_from([None, "", "{}", '{"a": ', "1}", {"a": 1}]),
        ),
    ),
    max_size=8,
)


@given(DELTAS, st.lists(st.integers(0, 2000), max_size=6))
def test_a_stream_is_the_same_however_it_is_cut(deltas: list[dict[str, Any]], cuts: list[int]) -> None:
    """And its deltas add up to its answer."""
    body = b"".join(map(chunk, deltas)) + chunk(finish="stop")
    places = sorted({cut % (len(body) + 1) for cut in cuts})
    parts = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]

    seen, answer = streamed_with(*parts)

    assert (seen, answer) == streamed_with(body)
    assert text_of(seen) == answer.content


@pytest.mark.lesson(112)
@given(st.lists(st.tuples(st.sampled_from(["add", "mul"]), st.dictionaries(TEXTS, TEXTS, max_size=2)), max_size=3))
def test_streamed_calls_are_those_of_the_whole_reply(given_calls: list[tuple[str, dict[str, str]]]) -> None:
    """Cut into pieces of any size, arguments come out as they went in."""
    calls = [ToolCall(f"c{i}", name, arguments) for i, (name, arguments) in enumerate(given_calls)]
    parts = [
        {"index": i, "function": {"arguments": part}} | ({"id": call.id} if not n else {})
        for i, call in enumerate(calls)
        for n, part in enumerate(["", *call.arguments_json])
    ]
    named = [{"index": i, "function": {"name": call.name}} for i, call in enumerate(calls)]
    finish = "tool_calls" if calls else "stop"

    _, answer = streamed_with(pieces(*parts, *named, finish=finish))
    reply = whole({"content": "", "tool_calls": [call.to_wire() for call in calls]}, finish)

    assert calls_of(answer) == calls_of(CODEC.decode(HttpReply(200, {}, reply), asked()))
    assert [dict(call.arguments) for call in answer.tool_calls or ()] == [dict(call.arguments) for call in calls]


KEYS = [
    *("choices", "message", "delta", "content", "tool_calls", "function", "name", "arguments", "id", "index"),
    *("finish_reason", "usage", "prompt_tokens", "error", "code", "type", "text", "detail", "details", "object"),
    *("refusal", "reasoning_details", "thinking", "x_groq", "param", "loc"),
]

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 600) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON_VALUES | st.fixed_dictionaries({"choices": st.lists(st.fixed_dictionaries({"message": JSON_VALUES}))}))
def test_any_reply_is_an_answer_or_a_typed_error(payload: Any) -> None:
    """No value in it, anywhere, breaks the reader."""
    body = json.dumps(payload).encode()
    with suppress(NrLlmError):
        assert isinstance(CODEC.decode(HttpReply(200, {}, body), asked()), CompletionResponse)
    assert str(CODEC.error(HttpReply(400, {}, body)))


CHOICES = st.lists(st.fixed_dictionaries({"delta": JSON_VALUES, "finish_reason": JSON_VALUES}), max_size=2)


@given(st.lists(JSON_VALUES | st.fixed_dictionaries({"choices": CHOICES}), max_size=4))
def test_any_stream_is_an_answer_or_a_typed_error(payloads: list[Any]) -> None:
    """As above, event by event."""
    decoder = CODEC.decoder(asked())
    with suppress(NrLlmError):
        for payload in payloads:
            decoder.feed(b"data: " + json.dumps(payload).encode() + b"\n\n")
        assert isinstance(decoder.finish(), CompletionResponse)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_typed_error(first: bytes, second: bytes) -> None:
    """Whole, streamed, and as a failed reply."""
    for body in (first, b"data: " + first + b"\n\n" + second):
        decoder = CODEC.decoder(asked())
        with suppress(NrLlmError):
            decoder.feed(body)
            decoder.finish()
        with suppress(NrLlmError):
            CODEC.decode(HttpReply(200, {}, body), asked())
        assert str(CODEC.error(HttpReply(500, {"retry-after": second.decode("latin-1")}, body)))
