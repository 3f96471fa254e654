"""A reply becomes an answer, and what is no answer an error that shows what came instead."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from nr_llm.errors import MalformedReplyError, MissingToolCallError, ProviderError
from nr_llm.providers import HttpReply
from nr_llm.responses import FinishReason, Usage

from tests.plugins.openai.replies import (
    ADD,
    CODEC,
    DONE,
    asked,
    call,
    chunk,
    event,
    piece,
    pieces,
    read,
    streamed,
    streamed_with,
    whole,
)
from tests.plugins.told import calls_of, reasoning_of, text_of


class TestContent:
    @pytest.mark.parametrize(
        ("message", "content"),
        [
            ({"content": "Hi"}, "Hi"),
            ({"content": ""}, ""),
            ({"content": None}, ""),
            ({}, ""),
            ({"content": []}, ""),
            ({"content": [{"type": "output_text", "text": "Hi"}, {"type": "text", "text": 5}]}, "Hi"),
        ],
    )
    def test_every_form_of_content_is_text(self, message: dict[str, Any], content: str) -> None:
        """Text, nothing, or parts."""
        answer = read(whole({"role": "assistant"} | message))

        assert (answer.content, answer.tool_calls, answer.raw) == (content, None, None)

    def test_content_of_another_kind_is_kept_raw(self) -> None:
        """An object is no text; the reply is at hand."""
        answer = read(whole({"content": {"answer": 42}}))

        assert answer.content == ""
        assert answer.raw["choices"][0]["message"]["content"] == {"answer": 42}  # type: ignore[index,call-overload]

    def test_a_refusal_is_no_content(self) -> None:
        """It has a place of its own, in each form, whole and streamed."""
        part = {"type": "refusal", "refusal": "I cannot."}
        answers = (
            read(whole({"content": None, "refusal": "I cannot."})),
            read(whole({"content": [part]})),
            streamed(chunk({"content": None, "refusal": "I "}), chunk({"refusal": "cannot."}), chunk(finish="stop")),
            streamed(chunk({"content": [part]}, "stop")),
        )

        for answer in answers:
            assert (answer.content, answer.refusal) == ("", "I cannot.")
            assert (answer.finish_reason, answer.finish_detail) == (FinishReason.CONTENT_FILTER, "stop")

    @pytest.mark.parametrize(
        "thinking",
        [
            {"reasoning_content": "hm"},
            {"reasoning": "hm"},
            {"reasoning_content": "hm", "reasoning": "hm"},
            {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}, "odd"]},
            {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
            {"reasoning": {"effort": "low"}, "reasoning_details": [{"text": "hm"}]},
        ],
        ids=["content", "plain", "both", "texts", "summaries", "other"],
    )
    def test_every_form_of_thinking_is_reasoning(self, thinking: dict[str, Any]) -> None:
        """Under any name, once."""
        deltas, answer = streamed_with(chunk({"content": "Hi"} | thinking), chunk(finish="stop"))

        assert answer.reasoning == reasoning_of(deltas) == "hm"
        assert read(whole({"content": "Hi"} | thinking)).reasoning == "hm"
        assert text_of(deltas) == "Hi"


def test_the_old_single_call_is_a_call() -> None:
    """`function_call`, whole and streamed."""
    single = {"name": "add", "arguments": '{"a": 1}'}
    stream = (
        chunk({"content": None, "function_call": {"name": "add", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"a": '}}),
        chunk({"function_call": {"arguments": "1}"}}),
        chunk(finish="function_call"),
    )

    for answer in (read(whole({"content": None, "function_call": single}, "function_call")), streamed(*stream)):
        assert calls_of(answer) == [("call_0", "add", {"a": 1}, None)]
        assert (answer.finish_reason, answer.finish_detail) == (FinishReason.TOOL_CALLS, "function_call")


class TestHostileReplies:
    def test_thinking_in_thinking_is_not_followed(self) -> None:
        """A part holds texts; what nests further is none, however deep."""
        nested = b'{"type":"thinking","thinking":[' * 450 + b"]}" * 450
        body = whole({"content": ["HERE"]}).replace(b'"HERE"', nested)

        assert read(body).reasoning is None

    def test_what_cannot_be_replayed_is_malformed(self) -> None:
        """Reasoning that nests too deeply to be stored is the service's fault, told before it is kept."""
        deep = json.loads("[" * 80 + "]" * 80)
        body = whole({"tool_calls": [call({})], "reasoning_details": [{"a": deep}]})

        with pytest.raises(MalformedReplyError, match="cannot be kept"):
            read(body)

    def test_names_of_half_characters_are_made_valid(self) -> None:
        """Model, id and reason go into records, which cannot hold a lone surrogate."""
        answer = read(whole({"content": "x"}, "\ud800", model="m\ud800", id="r\ud800"))

        assert (answer.model, answer.id, answer.finish_detail) == ("m\ufffd", "r\ufffd", "\ufffd")

    def test_as_many_calls_as_a_reply_holds_have_ids_of_their_own(self) -> None:
        """Ids that are missing or repeated are made up in one pass."""
        calls = [call({}, call_id=None), call({}, call_id="call_1"), call({}, call_id="call_1")] * 3_000

        made = [made.id for made in read(whole({"tool_calls": calls})).tool_calls or ()]

        assert len(set(made)) == len(calls)


class TestReasons:
    @pytest.mark.parametrize(
        ("word", "reason"),
        [
            ("stop", FinishReason.STOP),
            ("eos", FinishReason.STOP),
            ("end_turn", FinishReason.STOP),
            ("stop_sequence", FinishReason.STOP),
            ("length", FinishReason.LENGTH),
            ("max_tokens", FinishReason.LENGTH),
            ("model_length", FinishReason.LENGTH),
            ("content_filter", FinishReason.CONTENT_FILTER),
            ("tool_calls", FinishReason.TOOL_CALLS),
            ("", FinishReason.OTHER),
            (None, FinishReason.STOP),
            (7, FinishReason.STOP),
        ],
    )
    def test_words_are_translated(self, word: Any, reason: FinishReason) -> None:
        """The word itself is kept beside."""
        answer = read(whole({"content": "Hi"}, word))

        assert answer.finish_reason is reason
        assert answer.finish_detail == (word if isinstance(word, str) else None)

    def test_a_choice_without_message_but_with_a_reason_is_an_empty_answer(self) -> None:
        """So a content filter leaves it on some services."""
        answer = read({"choices": [{"index": 0, "finish_reason": "content_filter"}]})

        assert (answer.content, answer.finish_reason) == ("", FinishReason.CONTENT_FILTER)


class TestUsage:
    @pytest.mark.parametrize(
        ("usage", "expected"),
        [
            (None, Usage()),
            ("odd", Usage()),
            ({}, Usage()),
            ({"prompt_tokens": None, "completion_tokens": True}, Usage()),
            ({"prompt_tokens": 1.0, "completion_tokens": 2.5}, Usage(1)),
            ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(0, 0)),
            (
                {
                    "prompt_tokens": 10,
                    "completion_tokens": 5,
                    "total_tokens": 15,
                    "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                    "completion_tokens_details": {"reasoning_tokens": 2},
                },
                Usage(10, 5, cached_tokens=4, cache_write_tokens=3, reasoning_tokens=2),
            ),
            (
                {
                    "prompt_tokens": 10,
                    "completion_tokens": 5,
                    "total_tokens": 17,
                    "completion_tokens_details": {"reasoning_tokens": 2},
                },
                Usage(10, 7, reasoning_tokens=2),
            ),
            ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8}, Usage(10, cached_tokens=8)),
            ({"prompt_tokens": 10, "num_cached_tokens": 6}, Usage(10, cached_tokens=6)),
            ({"prompt_tokens": 10, "cache_creation_input_tokens": 2}, Usage(10, cache_write_tokens=2)),
            ({"prompt_tokens_details": None, "completion_tokens_details": []}, Usage()),
            ({"prompt_tokens": 10**400, "completion_tokens": 1e300}, Usage()),
        ],
    )
    def test_counts_have_one_meaning(self, usage: Any, expected: Usage) -> None:
        """What is not said is not known, never 0."""
        assert read(whole({"content": "Hi"}, usage=usage)).usage == expected


class TestRequiredCalls:
    @pytest.mark.parametrize("choice", ["required", "add"])
    def test_a_required_call_that_did_not_come_is_an_error(self, choice: str) -> None:
        """An answer in its place is never passed on as one, whole or streamed."""
        request = asked(tools=(ADD,), tool_choice=choice)

        with pytest.raises(MissingToolCallError, match=f"tool_choice was '{choice}'.*'stop'"):
            read(whole({"content": "I would rather talk."}), request)
        with pytest.raises(MissingToolCallError):
            streamed(chunk({"content": "Talk."}, "stop"), request=request)

    @pytest.mark.parametrize("choice", [None, "auto", "none"])
    def test_a_call_that_was_not_required_need_not_come(self, choice: str | None) -> None:
        """Words are fine then."""
        assert read(whole({"content": "Hi"}), asked(tools=(ADD,), tool_choice=choice)).content == "Hi"

    def test_a_call_that_came_is_enough(self) -> None:
        """Even one that cannot be run: the loop answers it."""
        request = asked(tools=(ADD,), tool_choice="required")

        assert calls_of(read(whole({"tool_calls": [call("{")]}), request)) == [("call_1", "add", {}, "{")]

    def test_without_tools_nothing_can_be_required(self) -> None:
        """The setting is not even sent."""
        assert read(whole({"content": "Hi"}), asked(tool_choice="required")).content == "Hi"


class TestNoAnswers:
    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (b"", "is empty"),
            (b"  \n", "is empty"),
            (b"<html><h1>Sign in</h1>", r"a web page and no JSON .*: '<html><h1>Sign in"),
            (b"upstream connect error", "is no JSON: 'upstream"),
            (b"\xff\xfe\x00", "is no JSON"),
            (b"5", "holds no answer: '5'"),
            (b"[]", "holds no answer"),
            (b"{}", "holds no answer"),
            (b'{"choices": []}', "holds no answer"),
            (b'{"choices": null}', "holds no answer"),
            (b'{"choices": ["x"]}', "holds no answer"),
            (b'{"choices": [{"index": 0}]}', "holds no answer"),
            (b'{"choices": [{"message": "x"}]}', "holds no answer"),
            (b'{"choices": [{"message": {"content": ', "is no JSON"),
        ],
    )
    def test_a_reply_that_is_no_answer_is_shown(self, body: bytes, words: str) -> None:
        """The error has its beginning, on one line, and is not tried again."""
        with pytest.raises(MalformedReplyError, match=words) as caught:
            read(body)

        assert not caught.value.retryable
        assert "\n" not in str(caught.value)

    def test_what_is_shown_is_bounded_and_masked(self) -> None:
        """A page of any size is cut; secrets in it are masked."""
        codec = attrs.evolve(CODEC, redact=lambda text: text.replace("sk-1", "[redacted]"))

        with pytest.raises(MalformedReplyError) as caught:
            codec.decode(HttpReply(200, {}, b"sk-1 " + b"x" * 10_000), asked())

        assert len(str(caught.value)) < 400
        assert len(caught.value.body) <= 500
        assert "sk-1" not in str(caught.value) + caught.value.body


class TestStreams:
    def test_a_server_that_does_not_stream_is_read_whole(self) -> None:
        """It ignored the wish for a stream and sent one document, in pieces."""
        body = b" \n" + whole({"content": "Hi", "tool_calls": [call('{"a": 1}')]})

        for cut in (1, 2, 3, 50, len(body)):
            deltas, answer = streamed_with(*(body[i : i + cut] for i in range(0, len(body), cut)))
            assert (deltas, answer) == ([], read(body))

    @pytest.mark.parametrize("body", [b"<html>Sign in</html>", b'{"error": {"message": "no"}}', b'[{"error": "no"}]'])
    def test_a_page_or_an_error_instead_of_a_stream_is_an_error(self, body: bytes) -> None:
        """It is read at the end, as a whole reply would be."""
        with pytest.raises(ProviderError):
            streamed(body)

    def test_a_document_without_end_is_abandoned(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is collected is bounded."""
        monkeypatch.setattr("nr_llm.codecs.frames.MAX_FRAME", 20)
        decoder = CODEC.decoder(asked())
        decoder.feed(b'{"a": "0123456789')

        with pytest.raises(MalformedReplyError, match="exceeds 20 bytes"):
            decoder.feed(b"0123456789")

    @pytest.mark.parametrize("data", [[], [b""], [b"\n\n"], [b": wait\n\n"]], ids=["none", "empty", "blank", "comment"])
    def test_a_stream_of_nothing_is_interrupted(self, data: list[bytes]) -> None:
        """It may be tried again."""
        with pytest.raises(ProviderError) as caught:
            streamed(*data)

        assert caught.value.retryable

    def test_a_stream_that_ends_properly_without_an_answer_is_none(self) -> None:
        """`[DONE]` after nothing is no success."""
        with pytest.raises(MalformedReplyError, match="held no answer"):
            streamed(DONE)

    def test_a_reason_is_enough_of_an_end(self) -> None:
        """Some servers leave out `[DONE]`; others the reason."""
        assert streamed(chunk({"content": "Hi"}, "stop")).content == "Hi"
        answer = streamed(chunk({"content": "Hi"}), DONE)
        assert (answer.content, answer.finish_reason, answer.finish_detail) == ("Hi", FinishReason.STOP, None)

    @pytest.mark.parametrize(
        "data",
        [
            chunk({"content": "Hi"}, "stop").rstrip(),
            chunk({"content": "Hi"}) + DONE.rstrip(),
            chunk({"content": "Hi"}, "stop") + b'data: {"choi',
        ],
        ids=["answer", "done", "cut-after-the-end"],
    )
    def test_the_last_event_may_lack_its_blank_line(self, data: bytes) -> None:
        """It counts if it is whole."""
        assert streamed(data).content == "Hi"

    def test_a_message_in_place_of_deltas_is_the_answer(self) -> None:
        """Some servers send all of an answer as its only chunk; one that repeats at the end what came does no harm."""
        message = {"role": "assistant", "content": "Hi", "tool_calls": [call('{"a": 1}')]}
        only = event({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
        again = event({"choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]})

        deltas, answer = streamed_with(only)
        assert (answer.content, calls_of(answer)) == ("Hi", [("call_1", "add", {"a": 1}, None)])
        assert text_of(deltas) == "Hi"
        assert streamed(chunk({"content": "Hi"}), again).content == "Hi"

    def test_odd_lists_of_calls_are_none(self) -> None:
        """Null, and other values."""
        answer = streamed(chunk({"tool_calls": None}), chunk({"tool_calls": 7, "content": "Hi"}, "stop"))

        assert (answer.content, answer.tool_calls) == ("Hi", None)

    def test_only_the_first_choice_is_read(self) -> None:
        """Several were not asked for by us; theirs do not mix."""
        other = {"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "length"}]}
        data = b"data: " + json.dumps(other).encode() + b"\n\n"

        answer = streamed(data, chunk({"content": "Yes"}, "stop"), data)

        assert (answer.content, answer.finish_detail) == ("Yes", "stop")

    def test_the_names_of_model_and_answer_may_come_late(self) -> None:
        """A first chunk without them changes nothing."""
        first = b'data: {"id": "", "model": "", "choices": []}\n\n'

        answer = streamed(first, chunk({"content": "Hi"}, "stop"))

        assert (answer.id, answer.model) == ("r1", "m1")

    def test_an_answer_that_names_no_model_has_the_one_asked_for(self) -> None:
        """As the request named it."""
        answer = streamed(b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n')

        assert (answer.id, answer.model) == (None, "m")

    def test_call_deltas_name_the_tool_once(self) -> None:
        """Keys are ours; a piece that adds nothing is not shown."""
        deltas, _ = streamed_with(
            pieces(piece("", "add", "x", 0), piece('{"a"', index=0), piece("", index=0), piece(": 1}", "add", index=0))
        )

        assert [(delta.key, delta.name, delta.arguments) for delta in deltas] == [  # type: ignore[union-attr]
            ("0", "add", ""),
            ("0", None, '{"a"'),
            ("0", None, ": 1}"),
        ]
