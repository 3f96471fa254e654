"""
Public fault reports that concern a Chat Completions client, each met as a correct client meets it.

The numbers are those of the collection of reports in the reference on wire formats, its section 10.
"""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from nr_llm.errors import (
    ContentFilterError,
    InvalidRequestError,
    MalformedReplyError,
    ProviderError,
    RateLimitError,
    ServiceError,
    StreamInterruptedError,
    ToolCallRejectedError,
)
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.providers import HttpReply
from nr_llm.responses import FinishReason
from nr_llm.specs import ToolSpec
from nr_llm_openai import COMPATIBLE, OPENAI, OpenAIOptions

from tests.plugins.openai.replies import (
    ADD,
    CODEC,
    DONE,
    asked,
    body_of,
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


def report(*numbers: int) -> str:
    """Return the id of a test parameter: the reports it meets."""
    return "report-" + "-".join(map(str, numbers))


class TestArguments:
    """Sections A to D."""

    @pytest.mark.parametrize(
        "arguments",
        [
            pytest.param("", id=report(2, 4, 6, 7, 10)),
            pytest.param(None, id=report(8)),
            pytest.param(" \n\t", id=report(11)),
            pytest.param({}, id=report(207)),
            pytest.param("{}", id=report(13, 17)),
        ],
    )
    def test_no_arguments_are_an_empty_object(self, arguments: Any) -> None:
        """However a service says nothing, the call has no arguments and can be run."""
        message = {"content": None, "tool_calls": [call(arguments)]}
        if arguments is None:
            del message["tool_calls"][0]["function"]["arguments"]

        assert calls_of(read(whole(message))) == [("call_1", "add", {}, None)]

    @pytest.mark.lesson(22)
    @pytest.mark.parametrize(
        "arguments",
        [
            pytest.param("", id=report(1, 5)),
            pytest.param("{}", id=report(12, 13, 16, 19, 20)),
            pytest.param(None, id="null"),
        ],
    )
    def test_no_arguments_are_replayed_as_an_empty_object(self, arguments: str | None) -> None:
        """History never carries an empty string or a list."""
        turn = read(whole({"tool_calls": [call(arguments)]})).to_message()

        body = body_of(asked(turn, ChatMessage.tool_result("call_1", "x")))

        assert body["messages"][0]["tool_calls"][0]["function"]["arguments"] == "{}"

    @pytest.mark.parametrize("number", [14, 18, 21], ids=report)
    def test_a_tool_without_parameters_keeps_its_objects(self, number: int) -> None:
        """`properties` is an object at every depth, never a list."""
        tool = ToolSpec("now", "", {"type": "object", "properties": {"deep": {"type": "object", "properties": {}}}})

        sent = body_of(asked(tools=(tool, ToolSpec("empty", "", {}))))["tools"]

        assert sent[0]["function"]["parameters"]["properties"] == {"deep": {"type": "object", "properties": {}}}
        assert sent[1]["function"]["parameters"] == {"type": "object", "properties": {}}

    @pytest.mark.parametrize(
        ("arguments", "read_as"),
        [
            pytest.param(json.dumps('{"a": 1}'), {"a": 1}, id=report(22, 24, 25, 28)),
            pytest.param({"a": 1}, {"a": 1}, id=report(29)),
            pytest.param('{"a": "1"}', {"a": "1"}, id=report(23)),
            pytest.param('{"text": "one\ntwo\tthree"}', {"text": "one\ntwo\tthree"}, id=report(30, 31, 32)),
        ],
    )
    def test_arguments_are_read_in_each_form(self, arguments: Any, read_as: dict[str, Any]) -> None:
        """Objects, objects in strings, strings in strings, raw line breaks; scalars inside stay what they are."""
        assert calls_of(read(whole({"tool_calls": [call(arguments)]}))) == [("call_1", "add", read_as, None)]

    @pytest.mark.parametrize("number", [26, 27], ids=report)
    def test_arguments_are_encoded_once(self, number: int) -> None:
        """A replayed string of arguments is one JSON document, not a string of one."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "add", {"a": 1})])

        body = body_of(asked(turn, ChatMessage.tool_result("c", "2")))

        assert body["messages"][0]["tool_calls"][0]["function"]["arguments"] == '{"a":1}'

    @pytest.mark.parametrize(
        ("arguments", "finish"),
        [
            pytest.param('{"path": "a", "text": "ha', "length", id=report(34, 37, 38)),
            pytest.param('{"path": "a", "text": "ha', "tool_calls", id=report(33, 36)),
            pytest.param('{"path": "a", "text": "ha', "stop", id=report(9)),
            pytest.param("[1]", "tool_calls", id="a-list"),
            pytest.param("5", "tool_calls", id="a-number"),
            pytest.param('"text"', "tool_calls", id="a-text"),
            pytest.param("add(1, 2)", "tool_calls", id="no-json"),
        ],
    )
    def test_arguments_that_are_none_are_kept_apart(self, arguments: str, finish: str) -> None:
        """They are never repaired, never taken for none, never run, and history stays readable."""
        for answer in (
            read(whole({"tool_calls": [call(arguments)]}, finish)),
            streamed(pieces(piece(arguments, "add", "call_1", 0), finish=finish)),
        ):
            assert calls_of(answer) == [("call_1", "add", {}, arguments)]
            assert answer.finish_detail == finish
            turn = body_of(asked(answer.to_message(), ChatMessage.tool_result("call_1", "bad")))["messages"][0]
            assert turn["tool_calls"][0]["function"]["arguments"] == "{}"

    @pytest.mark.lesson(144)
    @pytest.mark.parametrize("number", [35], ids=report)
    @pytest.mark.parametrize("finish", ["length", "max_tokens", "content_filter"])
    def test_a_call_cut_before_its_arguments_is_not_run_without_them(self, number: int, finish: str) -> None:
        """At the end of an answer that ran out of tokens, or was filtered, no arguments are no empty object."""
        for answer in (
            read(whole({"tool_calls": [call('{"a": 1}'), call("", call_id="call_2")]}, finish)),
            streamed(pieces(piece('{"a": 1}', "add", "call_1", 0), piece("", "add", "call_2", 1), finish=finish)),
        ):
            assert calls_of(answer) == [("call_1", "add", {"a": 1}, None), ("call_2", "add", {}, "")]
            assert answer.finish_detail == finish


class TestIds:
    """Section E."""

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param(["a", "a"], ["a", "call_1"], id=report(47, 48, 50, 52)),
            pytest.param(["", None], ["call_0", "call_1"], id=report(57)),
            pytest.param(["call_1", None], ["call_1", "call_2"], id="a-taken-placeholder"),
            pytest.param(["functions.add:0", "functions.add:1"], ["functions.add:0", "functions.add:1"], id=report(46)),
        ],
    )
    def test_ids_are_kept_and_made_unique(self, given: list[Any], expected: list[str]) -> None:
        """A missing or repeated id gets a placeholder, the same one each time."""
        answer = read(whole({"tool_calls": [call("{}", call_id=call_id) for call_id in given]}))

        assert [found.id for found in answer.tool_calls or ()] == expected

    @pytest.mark.parametrize("number", [50], ids=report)
    def test_no_call_is_lost_to_a_shared_id(self, number: int) -> None:
        """Both calls of one id remain."""
        answer = read(whole({"tool_calls": [call('{"a": 1}', call_id="x"), call('{"a": 2}', call_id="x")]}))

        assert [dict(found.arguments) for found in answer.tool_calls or ()] == [{"a": 1}, {"a": 2}]


TWO = [("call_1", "add", {"a": 1}, None), ("call_2", "mul", {"b": 2}, None)]


class TestPiecesOfCalls:
    """Section F."""

    @pytest.mark.lesson(21, 98)
    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            pytest.param(
                pieces(
                    piece('{"a"', "add", "call_1"), piece(": 1}"), piece('{"b": 2}', "mul", "call_2")
                ),
                TWO,
                id=report(58, 60, 61, 66),
            ),
            pytest.param(
                pieces(piece('{"a": 1}', "add", "call_1"), piece('{"b": 2}', "mul", "call_2", 0)),
                TWO,
                id=report(59),
            ),
            pytest.param(
                pieces(piece('{"a": 1}', "add", "call_1", 0), piece('{"b": 2}', "mul", "call_2", 0)),
                TWO,
                id=report(62, 63, 64),
            ),
            pytest.param(
                pieces(piece(name="add", call_id="call_1", index=0), piece(index=0, arguments='{"a":'),
                       piece(name="mul", call_id="call_2", index=1), piece(index=1, arguments='{"b": 2}'),
                       piece(index=0, arguments=" 1}")),
                TWO,
                id=report(74, 78),
            ),
            pytest.param(
                pieces(piece("", None, "call_1", 0), piece('{"a": 1}', "add", index=0)),
                TWO[:1],
                id=report(65, 67),
            ),
            pytest.param(
                pieces(piece('{"a": 1}', "add", "call_1", 0), {"index": 0, "function": None}),
                TWO[:1],
                id=report(69),
            ),
            pytest.param(
                pieces(piece('{"a"', "add", "call_1", 0), piece(": 1}", "", "", 0)),
                TWO[:1],
                id=report(70),
            ),
            pytest.param(
                pieces(piece("", "add", "call_1", 0), piece('{"a": 1}', "add", "call_1", 0)),
                TWO[:1],
                id=report(71),
            ),
            pytest.param(
                pieces(piece("", "a", "call_1", 0), piece("", "d", index=0), piece('{"a": 1}', "d", index=0)),
                TWO[:1],
                id=report(72),
            ),
            pytest.param(
                pieces(piece("", "a", "call_1", 0), piece("", "ad", index=0), piece('{"a": 1}', "add", index=0)),
                TWO[:1],
                id="the-name-so-far-again-and-again",
            ),
            pytest.param(
                pieces({"index": 0, "id": "call_1", "function": {"name": "add", "arguments": None}},
                       piece('{"a": 1}', index=0), piece('{"b": 2}', "mul", "call_2", 1)),
                TWO,
                id=report(73),
            ),
            pytest.param(
                pieces(piece("", "add", "call_1", 0), piece('{"a": 1}', "null", index=0)),
                TWO[:1],
                id="a-null-in-letters",
            ),
            pytest.param(
                pieces({"index": 0, "id": "call_1", "function": {"name": None, "arguments": "{}"}},
                       piece("{}", "add", index=0), piece(' {"a": 1}', index=0)),
                TWO[:1],
                id="empty-objects-in-front",
            ),
            pytest.param(
                pieces(piece({"a": 1}, "add", "call_1", 0), piece({"b": 2}, "mul", "call_2", 1)),
                TWO,
                id="arguments-as-objects",
            ),
            pytest.param(
                pieces(piece('{"a": 1}', "add"), piece('{"b": 2}', "mul")),
                [("call_0", "add", {"a": 1}, None), ("call_1", "mul", {"b": 2}, None)],
                id="whole-calls-without-index-and-id",
            ),
            pytest.param(
                pieces(piece('{"a": 1}', "add", index=0), piece('{"a": 1}', "add", index=0)),
                [("call_0", "add", {"a": 1}, None), ("call_1", "add", {"a": 1}, None)],
                id="whole-calls-of-one-index-without-id",
            ),
            pytest.param(
                chunk({"tool_calls": [piece('{"a": 1}', "add", "call_1"), piece('{"b": 2}', "mul", "call_2")]})
                + chunk(finish="stop"),
                TWO,
                id="whole-calls-in-one-chunk",
            ),
            pytest.param(
                pieces(piece("", "add", "call_1", 0), piece('{"a": 1}', index=0),
                       piece("", "mul", "call_1", 1), piece('{"b": 2}', index=1)),
                [TWO[0], ("call_2", "mul", {"b": 2}, None)],
                id="one-id-for-two-places",
            ),
            pytest.param(
                pieces(piece('{"a"', "add", "call_1", 0), piece(": 1}", None, "call_1", 1)),
                TWO[:1],
                id="a-place-that-moves",
            ),
            pytest.param(
                pieces(piece("{}", "add", "x", 0), piece("{}", "mul", "y", 0), piece("", index=0), "odd", {"index": 7}),
                [("x", "add", {}, None), ("y", "mul", {}, None)],
                id="pieces-that-are-none",
            ),
        ],
    )  # fmt: skip
    def test_pieces_find_their_calls(self, data: bytes, expected: list[Any]) -> None:
        """Each dialect of pieces gives the calls that were meant."""
        assert calls_of(streamed(data)) == expected

    @pytest.mark.lesson(98)
    @pytest.mark.parametrize("number", [68, 86], ids=report)
    def test_a_call_without_a_name_is_rejected_not_stored_as_null(self, number: int) -> None:
        """It becomes a call of no tool, with what was written, so that the model is told."""
        for answer in (
            streamed(pieces({"index": 0, "id": "x", "function": {"name": None, "arguments": '{"a": 1}'}})),
            read(whole({"tool_calls": [call('{"a": 1}', name=None, call_id="x")]})),
        ):
            assert calls_of(answer) == [("x", "unnamed_tool", {}, '{"a": 1}')]

    def test_a_call_of_nothing_is_none(self) -> None:
        """Neither name nor arguments: there is no call."""
        empty = {"index": 0, "id": "x", "function": {"name": "", "arguments": ""}}

        assert streamed(pieces(empty, finish="stop")).tool_calls is None
        assert read(whole({"content": "Hi", "tool_calls": [empty, "odd"]})).tool_calls is None

    @pytest.mark.parametrize("number", [75, 76, 77, 79], ids=report)
    def test_pieces_are_joined_before_they_are_read(self, number: int) -> None:
        """No piece is a document; only the whole is."""
        answer = streamed(pieces(*[piece(text, *["add", "c", 0][:3] if not i else [None, None, 0])
                                   for i, text in enumerate('{"a": {"b": [1, 2]}}')]))  # fmt: skip

        assert calls_of(answer) == [("c", "add", {"a": {"b": [1, 2]}}, None)]


class TestEmptyThings:
    """Sections G and H."""

    @pytest.mark.parametrize("number", [80, 81, 82, 83, 84], ids=report)
    def test_an_empty_list_of_calls_is_taken_and_never_sent(self, number: int) -> None:
        """Services send it and refuse it."""
        answer = read(whole({"content": "Hi", "tool_calls": []}))

        assert answer.tool_calls is None
        assert body_of(asked(answer.to_message()))["messages"] == [{"role": "assistant", "content": "Hi"}]

    @pytest.mark.parametrize("number", [85], ids=report)
    def test_no_tools_leave_no_trace(self, number: int) -> None:
        """Without tools neither they nor their settings are sent."""
        body = body_of(asked(tool_choice="auto", parallel_tool_calls=False))

        assert body.keys() == {"model", "messages"}

    @pytest.mark.parametrize(
        ("form", "expected"),
        [
            pytest.param("null", {"content": None}, id=report(87, 90, 93)),
            pytest.param("empty", {"content": ""}, id=report(88, 89, 92)),
            pytest.param("absent", {}, id=report(94)),
        ],
    )
    def test_a_turn_of_calls_alone_takes_the_form_the_server_wants(self, form: Any, expected: dict[str, Any]) -> None:
        """Null, an empty string or nothing: a matter of the dialect."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "add", {"a": 1})])
        request = asked(turn, ChatMessage.tool_result("c", "2"))

        sent = body_of(request, attrs.evolve(COMPATIBLE, call_content=form))["messages"][0]

        assert {key: value for key, value in sent.items() if key == "content"} == expected

    @pytest.mark.parametrize("number", [91], ids=report)
    def test_a_turn_with_text_and_calls_keeps_both(self, number: int) -> None:
        """The option is for turns without text."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "add", {})], "Let me add.")
        request = asked(turn, ChatMessage.tool_result("c", "2"))

        for form in ("null", "empty", "absent"):
            sent = body_of(request, attrs.evolve(COMPATIBLE, call_content=form))["messages"][0]
            assert sent["content"] == "Let me add."


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm, "}]},
    {"type": "text", "text": "An"},
    {"type": "reference", "reference_ids": [1]},
    {"type": "thinking", "thinking": "well"},
    {"type": "text", "text": "swer"},
    {"type": "text", "text": ""},
    "odd",
]


class TestContent:
    """Sections I and M."""

    @pytest.mark.parametrize("number", [95, 96, 97, 98, 99, 100], ids=report)
    def test_a_list_of_parts_is_text_and_reasoning(self, number: int) -> None:
        """Parts of other kinds are passed over, whole and streamed alike."""
        deltas, answer = streamed_with(*[chunk({"content": [part]}) for part in PARTS], chunk(finish="stop"))

        for found in (answer, read(whole({"content": PARTS}))):
            assert (found.content, found.reasoning) == ("Answer", "hm, well")
        assert (text_of(deltas), reasoning_of(deltas)) == ("Answer", "hm, well")

    @pytest.mark.parametrize("number", [149, 150, 151, 156], ids=report)
    def test_reasoning_goes_back_with_calls_and_only_then(self, number: int) -> None:
        """Servers that send `reasoning_content` want it back on turns with calls; OpenAI never gets it."""
        reply = whole({"content": "", "reasoning_content": "hm", "tool_calls": [call('{"a": 1}')]})
        turn = read(reply).to_message()
        request = asked(turn, ChatMessage.tool_result("call_1", "2"))

        assert body_of(request)["messages"][0]["reasoning_content"] == "hm"
        assert "reasoning_content" not in body_of(request, OPENAI)["messages"][0]
        assert "reasoning_content" not in body_of(request, provider="another")["messages"][0]
        plain = read(whole({"content": "Hi", "reasoning_content": "hm"}))
        assert plain.reasoning == "hm"
        assert body_of(asked(plain.to_message()))["messages"] == [{"role": "assistant", "content": "Hi"}]

    @pytest.mark.parametrize("number", [153, 154], ids=report)
    def test_signed_reasoning_goes_back_unchanged(self, number: int) -> None:
        """Entries of every kind are kept; streamed pieces of one entry are joined."""
        details = [
            {"type": "reasoning.text", "index": 0, "text": "Let me", "signature": None},
            {"type": "reasoning.text", "index": 0, "text": " see."},
            {"type": "reasoning.text", "index": 0, "text": None, "signature": "s"},
            {"type": "reasoning.text", "index": 0, "text": "", "signature": None},
            {"type": "reasoning.encrypted", "index": 0, "data": "xyz"},
            {"type": "reasoning.text", "text": "loose"},
        ]
        merged = [
            {"type": "reasoning.text", "index": 0, "text": "Let me see.", "signature": "s"},
            *details[4:],
        ]
        data = [chunk({"content": "", "reasoning_details": [entry]}) for entry in details]

        turn = streamed(*data, pieces(piece('{"a": 1}', "add", "c", 0))).to_message()
        sent = body_of(asked(turn, ChatMessage.tool_result("c", "2")))["messages"][0]

        assert sent["reasoning_details"] == merged

    @pytest.mark.lesson(51)
    @pytest.mark.parametrize("number", [155, 209], ids=report)
    def test_nothing_is_read_out_of_text_or_written_into_it(self, number: int) -> None:
        """Text that looks like a call or like thinking is text; reasoning is never rendered as text."""
        text = '<think>hm</think><tool_call>{"name": "add"}</tool_call>'

        answer = read(whole({"content": text, "reasoning": "secret thought"}))

        assert (answer.content, answer.tool_calls, answer.reasoning) == (text, None, "secret thought")
        assert "secret thought" not in json.dumps(body_of(asked(answer.to_message())))


class TestToolResults:
    """Section J."""

    @pytest.mark.parametrize("number", [102, 103], ids=report)
    def test_an_answer_is_one_text(self, number: int) -> None:
        """A list of text parts in history is flattened; whether it is an error shows in its words alone."""
        parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "add", {})])
        taken = ChatMessage.from_wire({"role": "tool", "tool_call_id": "c", "content": parts})
        failed = ChatMessage.tool_result("c", "ab", is_error=True)

        for message in (taken, failed):
            sent = body_of(asked(turn, message))["messages"][1]
            assert sent == {"role": "tool", "content": "ab", "tool_call_id": "c"}

    @pytest.mark.parametrize("number", [104], ids=report)
    def test_a_refused_request_is_final(self, number: int) -> None:
        """400 is not tried again."""
        error = CODEC.error(HttpReply(400, {}, b'{"error": {"message": "bad content", "type": "x"}}'))

        assert (type(error), error.retryable) == (InvalidRequestError, False)


class TestFailuresInsideASuccess:
    """Section O."""

    @pytest.mark.parametrize(
        ("data", "kind", "words"),
        [
            pytest.param(
                event({"choices": [], "error": {"code": 502, "message": "limit reached"}}),
                ServiceError,
                "limit reached",
                id=report(165),
            ),
            pytest.param(chunk({"content": "x"}, "error"), ServiceError, "failed while it wrote", id=report(166, 175)),
            pytest.param(
                event({"error": {"message": "quota exceeded"}}) + DONE, RateLimitError, "quota exceeded", id=report(167)
            ),
            pytest.param(event({"error": "it broke"}), ServiceError, "it broke", id=report(168)),
            pytest.param(
                event({"message": "Invalid prompt", "type": "invalid_request_error"}, "error"),
                InvalidRequestError,
                "Invalid prompt",
                id=report(163),
            ),
            pytest.param(
                event({"error": {"message": "Overloaded", "type": "overloaded_error"}}),
                ServiceError,
                "Overloaded",
                id=report(233),
            ),
            pytest.param(
                event({"error": {"message": "filtered", "code": "content_filter", "status": 400}}),
                ContentFilterError,
                "filtered",
                id=report(238),
            ),
            pytest.param(
                event(
                    {"error": {"message": "bad call", "code": "tool_use_failed", "failed_generation": "<add>"}}, "error"
                ),
                ToolCallRejectedError,
                "bad call",
                id=report(174, 240, 241, 242),
            ),
            pytest.param(
                event([{"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}]),
                RateLimitError,
                "slow down",
                id="a-list-of-one",
            ),
            pytest.param(
                event({"object": "error", "message": "gone", "code": 500}), ServiceError, "gone", id="an-error-object"
            ),
        ],
    )
    def test_an_error_in_a_stream_is_an_error(self, data: bytes, kind: type[ProviderError], words: str) -> None:
        """It is typed as if it had come with its own status, wherever the stream was."""
        with pytest.raises(kind, match=words) as caught:
            streamed(chunk({"content": "So "}), data)

        assert caught.value.retryable is (kind in (ServiceError, RateLimitError, ToolCallRejectedError))
        assert caught.value.status is None

    @pytest.mark.parametrize(
        ("payload", "kind"),
        [
            ({"error": {"message": "no", "code": 503}}, ServiceError),
            ({"error": "no"}, ServiceError),
            ({"choices": [{"message": {"content": None}, "finish_reason": "error"}]}, ServiceError),
            ({"error": {"message": "no", "type": "invalid_request_error"}}, InvalidRequestError),
        ],
    )
    def test_an_error_in_a_whole_reply_is_an_error(self, payload: Any, kind: type[ProviderError]) -> None:
        """The status said success, the body does not."""
        with pytest.raises(kind):
            read(payload)

    @pytest.mark.parametrize("number", [169, 170, 172, 173], ids=report)
    def test_a_stream_that_just_ends_is_interrupted(self, number: int) -> None:
        """Without a reason to stop and without `[DONE]` it is no answer; what came is kept."""
        for data in (chunk({"content": "The ans"}), chunk({"content": "The ans"}) + b'data: {"choi'):
            with pytest.raises(StreamInterruptedError) as caught:
                streamed(data)
            assert (caught.value.partial, caught.value.retryable) == ("The ans", True)

    @pytest.mark.parametrize("number", [171], ids=report)
    def test_reading_stops_at_done(self, number: int) -> None:
        """The decoder says so, and what follows changes nothing."""
        decoder = CODEC.decoder(asked())
        assert not decoder.done
        decoder.feed(chunk({"content": "Hi"}) + DONE + chunk({"content": " there"}))

        assert decoder.done
        assert list(decoder.feed(chunk({"content": "!"}))) == []
        assert decoder.finish().content == "Hi"


class TestFrames:
    """Sections P and Q."""

    @pytest.mark.parametrize(
        "between",
        [
            pytest.param(b": OPENROUTER PROCESSING\n\n", id=report(176, 177)),
            pytest.param(b":\n\n", id=report(178, 180)),
            pytest.param(b"id: 1\nretry: 5\nevent: note\n\n", id=report(179)),
            pytest.param(event({"type": "ping"}, "ping"), id="a-ping"),
            pytest.param(event("keep alive", "ping"), id="a-ping-that-is-no-json"),
            pytest.param(b"data:\n\n", id="empty-data"),
            pytest.param(event("null"), id="null"),
            pytest.param(event([]), id="an-empty-list"),
            pytest.param(event({"choices": [], "prompt_filter_results": []}), id=report(194, 195, 196, 198)),
            pytest.param(event({"choices": None}), id=report(199)),
            pytest.param(event({"choices": ["odd", {"index": 0, "delta": None}]}), id="odd-choices"),
            pytest.param(event({"error": None, "choices": []}), id="a-null-error"),
        ],
    )
    def test_what_says_nothing_changes_nothing(self, between: bytes) -> None:
        """First, in the middle and last."""
        data = between + chunk({"content": "Hi"}) + between + chunk(finish="stop") + between + DONE

        assert streamed(data).content == "Hi"

    @pytest.mark.lesson(82)
    @pytest.mark.parametrize("number", [181, 197], ids=report)
    def test_usage_may_come_anywhere(self, number: int) -> None:
        """In a chunk of its own, beside content, in Groq's corner; the last one counts."""
        usage = {"prompt_tokens": 1, "completion_tokens": 2}
        alone = streamed(chunk({"content": "Hi"}, "stop"), event({"choices": [], "usage": usage}))
        beside = streamed(chunk({"content": "Hi"}, "stop", usage=usage), chunk(usage=None))
        corner = streamed(chunk({"content": "Hi"}, "stop", x_groq={"usage": usage}))
        growing = streamed(chunk({"content": "Hi"}, usage={"prompt_tokens": 1}), chunk(finish="stop", usage=usage))

        assert [answer.usage.total_tokens for answer in (alone, beside, corner, growing)] == [3, 3, 3, 3]

    @pytest.mark.parametrize("number", [182, 183, 184, 186, 187, 188], ids=report)
    def test_text_is_never_cut_at_its_own_characters(self, number: int) -> None:
        """Separators and characters of several bytes inside text survive any cut."""
        text = "a\u2028b\u0085c\x1cd\U0001f600é"
        data = ("data: " + json.dumps({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]},
                                      ensure_ascii=False) + "\n\n").encode()  # fmt: skip

        assert all(streamed(data[:i], data[i:]).content == text for i in range(len(data)))

    def test_an_event_that_is_no_json_is_named(self) -> None:
        """The error shows its beginning."""
        with pytest.raises(MalformedReplyError, match="no JSON: 'oops'"):
            streamed(chunk({"content": "Hi"}), event("oops"))


class TestReasons:
    """Section R."""

    @pytest.mark.lesson(145)
    @pytest.mark.parametrize("number", [200, 201, 202], ids=report)
    def test_calls_decide(self, number: int) -> None:
        """A forced call comes with ``stop``."""
        answer = read(whole({"tool_calls": [call('{"a": 1}')]}, "stop"))

        assert (answer.finish_reason, answer.finish_detail) == (FinishReason.TOOL_CALLS, "stop")

    @pytest.mark.parametrize("number", [143, 203], ids=report)
    def test_an_unknown_reason_is_kept(self, number: int) -> None:
        """A new word is no error."""
        answer = read(whole({"content": "Hi"}, "flux_compensated"))

        assert (answer.finish_reason, answer.finish_detail) == (FinishReason.OTHER, "flux_compensated")


class TestRequests:
    """Sections S and U to X."""

    @pytest.mark.parametrize("number", [208], ids=report)
    def test_a_call_without_a_type_gets_one(self, number: int) -> None:
        """What a server leaves out, history has."""
        bare = {"id": "c", "function": {"name": "add", "arguments": "{}"}}
        turn = read(whole({"tool_calls": [bare]})).to_message()

        assert (
            body_of(asked(turn, ChatMessage.tool_result("c", "2")))["messages"][0]["tool_calls"][0]["type"]
            == "function"
        )

    @pytest.mark.parametrize(
        ("dialect", "field"),
        [
            pytest.param(OPENAI, "max_completion_tokens", id=report(214, 216)),
            pytest.param(COMPATIBLE, "max_tokens", id=report(215)),
        ],
    )
    def test_the_bound_on_the_answer_has_the_name_the_service_knows(self, dialect: Any, field: str) -> None:
        """New OpenAI models refuse the old name, old servers the new one."""
        body = body_of(asked(max_tokens=7), dialect)

        assert {key for key in body if key.startswith("max_")} == {field}
        assert body[field] == 7

    @pytest.mark.lesson(60, 61)
    @pytest.mark.parametrize("number", [217, 218, 219], ids=report)
    def test_a_strict_tool_gets_a_strict_schema(self, number: int) -> None:
        """Optional properties become required and nullable, defaults go; the nulls are taken out of the calls."""
        parameters = {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string", "default": "x"}},
            "required": ["a"],
        }
        request = asked(tools=(ToolSpec("add", "", parameters, strict=True),))

        function = body_of(request)["tools"][0]["function"]
        answer = read(whole({"tool_calls": [call('{"a": 1, "b": null}')]}), request)

        assert function["strict"] is True
        assert sorted(function["parameters"]["required"]) == ["a", "b"]
        assert function["parameters"]["additionalProperties"] is False
        assert "default" not in json.dumps(function)
        assert calls_of(answer) == [("call_1", "add", {"a": 1}, None)]

    @pytest.mark.parametrize("number", [221], ids=report)
    def test_a_schema_that_has_no_strict_form_is_sent_as_it_is(self, number: int) -> None:
        """Strictness is given up, not the tool."""
        open_schema = {"type": "object", "properties": {"any": {}}, "patternProperties": {"^x": {"type": "string"}}}
        function = body_of(asked(tools=(ToolSpec("f", "", open_schema, strict=True),)))["tools"][0]["function"]

        assert (function["strict"], function["parameters"]) == (False, open_schema)

    @pytest.mark.parametrize("number", [220], ids=report)
    def test_an_ordinary_tool_says_nothing_of_strictness(self, number: int) -> None:
        """Optional properties are fine there."""
        assert "strict" not in body_of(asked(tools=(ADD,)))["tools"][0]["function"]

    @pytest.mark.lesson(118)
    @pytest.mark.parametrize(
        "name",
        [
            pytest.param("files.read", id=report(222, 223)),
            pytest.param("server:tool/sub", id=report(224)),
            pytest.param("x" * 80, id="too-long"),
            pytest.param("größe 7", id="letters"),
        ],
    )
    def test_a_name_no_service_takes_is_replaced_in_history(self, name: str) -> None:
        """What a model made up would make every later request fail; what it repeats maps back."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", name, {}), ToolCall("d", name + "!", {})])
        history = asked(turn, ChatMessage.tool_result("c", "no"), ChatMessage.tool_result("d", "no"))

        names = [sent["function"]["name"] for sent in body_of(history)["messages"][0]["tool_calls"]]

        answer = read(whole({"tool_calls": [call("{}", name=sent) for sent in names]}), history)

        assert [found.name for found in answer.tool_calls or ()] == [name, name + "!"]
        assert all(1 <= len(sent) <= 64 and sent.replace("_", "").replace("-", "").isascii() for sent in names)
        assert len(set(names)) == 2

    @pytest.mark.parametrize("number", [225, 226], ids=report)
    def test_lone_surrogates_never_leave(self, number: int) -> None:
        """They become visible replacements in every text, keys included."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c\ud800", "add", {"\ud800": "\udc00"})], "\ud83d")
        result = ChatMessage.tool_result("c\ud800", "\udfff")
        own = OpenAIOptions(raw={"user": "\ud800"})
        request = asked(ChatMessage.user("a\ud800b"), turn, result, stop=("\ud800",), provider_options=own)

        body = CODEC.encode(request).body

        assert "a\ufffdb" in body.decode()
        assert b"\\ud" not in body.lower()


class TestUsage:
    """Section Y."""

    @pytest.mark.parametrize("number", [230], ids=report)
    def test_totals_are_ours(self, number: int) -> None:
        """A total that is less than its parts is not believed."""
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 12}

        assert read(whole({"content": ""}, usage=usage)).usage.total_tokens == 15


class TestStatuses:
    """Section Z."""

    @pytest.mark.parametrize(
        "status",
        [
            pytest.param(529, id=report(231, 235, 236)),
            *(pytest.param(s, id=f"{s}-{report(232)}") for s in range(520, 529)),
        ],
    )
    def test_an_overloaded_service_is_asked_again(self, status: int) -> None:
        """Proxies and overloaded services have statuses of their own."""
        error = CODEC.error(HttpReply(status, {}, b""))

        assert (type(error), error.retryable) == (ServiceError, True)

    @pytest.mark.parametrize("number", [237, 239], ids=report)
    def test_a_content_filter_keeps_its_reason(self, number: int) -> None:
        """The detail stands in an inner error, and the class says what it is."""
        inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"violence": {"filtered": True}}}
        body = {"error": {"message": "filtered", "type": None, "code": "content_filter", "innererror": inner}}

        error = CODEC.error(HttpReply(400, {}, json.dumps(body).encode()))

        assert (type(error), error.retryable) == (ContentFilterError, False)
        assert "ResponsibleAIPolicyViolation" in error.body
