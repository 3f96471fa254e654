"""Replies become answers: text, thinking, calls, reasons and counts, whole or streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm.errors import (
    MalformedReplyError,
    MissingToolCallError,
    ProviderError,
    RateLimitError,
    ServiceError,
    StreamInterruptedError,
    ToolCallRejectedError,
)
from nr_llm.events import ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.providers import HttpReply
from nr_llm.responses import FinishReason
from nr_llm.specs import ToolSpec

from tests.plugins.gemini.replies import ADD, CODEC, asked, call, chunks, event, payload, read, streamed
from tests.plugins.told import calls_of, reasoning_of, text_of


class TestWhole:
    def test_an_answer(self) -> None:
        """Texts are joined without a gap; what the message says by itself is not kept twice."""
        answer = read(payload({"text": "Good "}, {"text": "day."}, usageMetadata={"promptTokenCount": 5}))

        assert (answer.content, answer.reasoning, answer.tool_calls) == ("Good day.", None, None)
        assert (answer.model, answer.id, answer.provider) == ("gemini-2.5-flash-001", "r1", "test")
        assert (answer.finish_reason, answer.finish_detail) == (FinishReason.STOP, "STOP")
        assert answer.provider_state is None

    def test_thoughts_are_reasoning(self) -> None:
        """They are no content, and go back."""
        answer = read(payload({"text": "Hm. ", "thought": True}, {"text": "Well.", "thought": True}, {"text": "2"}))

        assert (answer.content, answer.reasoning) == ("2", "Hm. Well.")
        assert answer.provider_state == {
            "model": "gemini-2.5-flash",
            "parts": [{"text": "Hm. Well.", "thought": True}, {"text": "2"}],
        }

    def test_calls(self) -> None:
        """Ids are the service's where it has some; missing arguments are none; calls decide the reason."""
        answer = read(payload({"text": "I add."}, call(args={"a": 1}, id="fc1"), call("now")))

        assert calls_of(answer) == [("fc1", "add", {"a": 1}, None), ("call_1", "now", {}, None)]
        assert (answer.content, answer.finish_reason) == ("I add.", FinishReason.TOOL_CALLS)

    def test_plain_calls_need_no_state(self) -> None:
        """The message says them; text behind a call would change its place, so it is kept."""
        assert read(payload({"text": "x"}, call(args={}))).provider_state is None
        assert read(payload(call(args={}), {"text": "x"})).provider_state is not None

    def test_the_state_says_who_wrote_it(self) -> None:
        """The model that was asked; where its name moves on, the one that answered."""
        sent = payload(call(signature="eA=="), modelVersion="gemini-3.5-flash")

        answers = [read(sent, asked(model=model)) for model in ("gemini-3-pro-preview", "gemini-flash-latest")]

        assert [answer.provider_state["model"] for answer in answers] == ["gemini-3-pro-preview", "gemini-3.5-flash"]  # type: ignore[index, call-overload]
        del sent["modelVersion"]
        assert read(sent, asked(model="tuned")).provider_state["model"] == "tuned"  # type: ignore[index, call-overload]

    def test_signatures_stay_on_their_parts(self) -> None:
        """A signed part is joined to no other."""
        parts = [{"text": "a"}, {"text": "b", "thoughtSignature": "eA=="}, {"text": "c"}, {"text": ""}]

        answer = read(payload(*parts))

        assert answer.content == "abc"
        assert answer.provider_state == {"model": "gemini-2.5-flash", "parts": parts[:3]}

    @pytest.mark.parametrize("args", [[1], 3, True])
    def test_arguments_that_are_no_object_are_marked(self, args: Any) -> None:
        """And never run."""
        [(_, name, arguments, malformed)] = calls_of(read(payload(call(args=args))))

        assert (name, arguments, malformed) == ("add", {}, json.dumps(args))

    @pytest.mark.parametrize("nothing", [None, {}, {"args": {}}, {"name": ""}, "add"])
    def test_a_call_of_nothing_is_none(self, nothing: Any) -> None:
        """It is no call of a tool that nobody has."""
        empty = payload({"functionCall": nothing}, {"text": "Hi"})

        answer = read(empty)
        assert (answer.content, answer.tool_calls, answer.finish_reason) == ("Hi", None, FinishReason.STOP)
        deltas, answer = streamed(chunks(empty))
        assert ([type(delta) for delta in deltas], answer.tool_calls) == ([TextDelta], None)

    def test_a_call_without_a_name_is_marked(self) -> None:
        """It is answered with an error."""
        [made] = read(payload({"functionCall": {"args": {"a": 1}}})).tool_calls or ()

        assert made.malformed == '{"a":1}'

    def test_names_come_back_as_they_were(self) -> None:
        """A name of history that the service could not take is ours again."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c1", "files.read")])
        request = asked(ChatMessage.user("x"), turn, ChatMessage.tool_result("c1", "y"))
        sent = json.loads(CODEC.encode(request).body)["contents"][1]["parts"][0]["functionCall"]["name"]

        [made] = read(payload(call(sent)), request).tool_calls or ()

        assert made.name == "files.read"

    @pytest.mark.parametrize(
        "parts",
        [
            [{"executableCode": {"code": "1"}}],
            [{"inlineData": {"mimeType": "image/png", "data": "eA=="}}],
            [{"toolCall": {"id": "t"}, "thoughtSignature": "eA=="}],
            [{"thoughtSignature": "eA=="}],
            [{"ofTomorrow": 1}],
        ],
    )
    def test_parts_of_other_kinds_are_kept(self, parts: list[dict[str, Any]]) -> None:
        """They raise nothing, are no text, and go back."""
        answer = read(payload(*parts))

        assert answer.content == ""
        assert answer.provider_state == {"model": "gemini-2.5-flash", "parts": parts}

    def test_a_list_of_chunks_is_one_answer(self) -> None:
        """The service streams so when it is not asked for events."""
        answer = read([payload({"text": "a"}, finish=None), payload({"text": "b"})])

        assert (answer.content, answer.finish_reason) == ("ab", FinishReason.STOP)

    @pytest.mark.parametrize(
        "body", [{}, [], {"candidates": []}, {"candidates": "x"}, {"modelVersion": "m"}, 3, "x", None]
    )
    def test_a_reply_without_an_answer_is_malformed(self, body: Any) -> None:
        """Not an empty success."""
        with pytest.raises(MalformedReplyError, match="holds no answer"):
            read(body)

    @pytest.mark.parametrize(("body", "what"), [(b"", "is empty"), (b"<html>", "a web page and no JSON .*: '<html>'")])
    def test_a_reply_that_is_no_json_is_malformed(self, body: bytes, what: str) -> None:
        """The error shows its beginning."""
        with pytest.raises(MalformedReplyError, match=what):
            read(body)

    def test_an_error_inside_a_success_is_one(self) -> None:
        """Also in a list."""
        fault = {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}
        for body in (fault, [fault]):
            with pytest.raises(ServiceError, match="Overloaded") as caught:
                read(body)
            assert caught.value.retryable

    def test_what_cannot_be_kept_is_malformed(self) -> None:
        """A part nested too deeply to be stored."""
        deep: Any = {}
        for _ in range(400):
            deep = {"a": deep}
        with pytest.raises(MalformedReplyError, match="cannot be kept for the next turn"):
            read(payload({"odd": deep}))


class TestReasons:
    @pytest.mark.parametrize(
        ("word", "reason"),
        [
            ("STOP", FinishReason.STOP),
            ("MAX_TOKENS", FinishReason.LENGTH),
            ("CONTINUATION", FinishReason.PAUSE),
            ("SAFETY", FinishReason.CONTENT_FILTER),
            ("RECITATION", FinishReason.CONTENT_FILTER),
            ("BLOCKLIST", FinishReason.CONTENT_FILTER),
            ("PROHIBITED_CONTENT", FinishReason.CONTENT_FILTER),
            ("SPII", FinishReason.CONTENT_FILTER),
            ("IMAGE_SAFETY", FinishReason.CONTENT_FILTER),
            ("UNEXPECTED_TOOL_CALL", FinishReason.ERROR),
            ("TOO_MANY_TOOL_CALLS", FinishReason.ERROR),
            ("MISSING_THOUGHT_SIGNATURE", FinishReason.ERROR),
            ("MALFORMED_RESPONSE", FinishReason.ERROR),
            ("OTHER", FinishReason.ERROR),
            ("LANGUAGE", FinishReason.ERROR),
            ("FINISH_REASON_UNSPECIFIED", FinishReason.OTHER),
            ("OF_TOMORROW", FinishReason.OTHER),
        ],
    )
    def test_the_service_s_words(self, word: str, reason: FinishReason) -> None:
        """Each has its meaning, unknown ones are other; the word itself is kept."""
        answer = read(payload({"text": "x"}, finish=word))

        assert (answer.finish_reason, answer.finish_detail) == (reason, word)

    @pytest.mark.parametrize("word", ["STOP", "UNEXPECTED_TOOL_CALL", "MAX_TOKENS", "MALFORMED_FUNCTION_CALL"])
    def test_calls_decide(self, word: str) -> None:
        """The service says that it stopped, or that it did not expect them."""
        answer = read(payload(call(args={}), finish=word))

        assert (answer.finish_reason, answer.finish_detail) == (FinishReason.TOOL_CALLS, word)

    def test_a_call_that_the_service_could_not_read(self) -> None:
        """The model is to blame, so asking again may help; what it wrote is in the error."""
        candidate = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: add(a=)"}
        for read_it in (read, lambda body: streamed(event(body))):
            with pytest.raises(ToolCallRejectedError, match=r"cannot read: Malformed function call: add") as caught:
                read_it({"candidates": [candidate]})
            assert caught.value.retryable
            assert caught.value.failed_generation == candidate["finishMessage"]
        with pytest.raises(ToolCallRejectedError, match=r"cannot read$"):
            read(payload(finish="MALFORMED_FUNCTION_CALL"))

    def test_a_blocked_prompt_is_a_refusal(self) -> None:
        """It has no candidates; the reason is the detail, its sentence the refusal."""
        feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "Not this."}

        answer = read({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 4}})

        assert (answer.finish_reason, answer.finish_detail) == (FinishReason.CONTENT_FILTER, "PROHIBITED_CONTENT")
        assert (answer.content, answer.refusal, answer.usage.input_tokens) == ("", "Not this.", 4)
        assert read({"promptFeedback": {"blockReason": "NEW"}}).refusal == "the service blocked it: NEW"
        assert read({"promptFeedback": {"blockReason": "NEW"}}).finish_reason is FinishReason.CONTENT_FILTER

    @pytest.mark.parametrize("content", [{}, {"content": {}}, {"content": {"role": "model"}}, {"content": None}])
    def test_a_candidate_may_be_empty(self, content: dict[str, Any]) -> None:
        """Without content, or without parts."""
        answer = read({"candidates": [{"finishReason": "SAFETY", **content}]})

        assert (answer.content, answer.finish_reason) == ("", FinishReason.CONTENT_FILTER)
        assert answer.refusal == "the service blocked it: SAFETY"

    def test_a_demanded_call_must_come(self) -> None:
        """Unless the filter was before it."""
        request = asked(tools=(ADD,), tool_choice="required")
        with pytest.raises(MissingToolCallError, match="'STOP'"):
            read(payload({"text": "no"}), request)

        assert read(payload(finish="SAFETY"), request).finish_reason is FinishReason.CONTENT_FILTER

    def test_nulls_of_a_strict_schema_are_left_out(self) -> None:
        """What was not given is not given as null."""
        tool = ToolSpec("add", "", {"properties": {"a": {"type": "integer"}}}, strict=True)

        assert calls_of(read(payload(call(args={"a": None})), asked(tools=(tool,))))[0][2] == {}


class TestUsage:
    def test_thinking_counts_beside_the_answer(self) -> None:
        """And what the service's tools read beside the prompt."""
        counts = {
            "promptTokenCount": 10,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 7,
            "toolUsePromptTokenCount": 3,
            "cachedContentTokenCount": 4,
            "totalTokenCount": 25,
        }

        usage = read(payload({"text": "x"}, usageMetadata=counts)).usage

        assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (13, 12, 25)
        assert (usage.cached_tokens, usage.reasoning_tokens) == (4, 7)

    @pytest.mark.parametrize("counts", [None, {}, "x", {"promptTokenCount": None}, {"promptTokenCount": "5"}])
    def test_what_is_not_said_is_unknown(self, counts: Any) -> None:
        """Not zero."""
        usage = read(payload({"text": "x"}, usageMetadata=counts)).usage

        assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (None, None, None)

    def test_thinking_alone_is_output(self) -> None:
        """An answer may have been all thought."""
        assert read(payload(usageMetadata={"thoughtsTokenCount": 7})).usage.output_tokens == 7


class TestStream:
    @pytest.mark.lesson(94, 100, 102)
    def test_deltas_come_as_they_are_sent(self) -> None:
        """Thinking, text, whole calls; each call has a key of its own."""
        deltas, answer = streamed(
            event(payload({"text": "Hm.", "thought": True}, finish=None)),
            event(payload({"text": "I "}, finish=None)),
            event(payload({"text": "add."}, call(args={"a": 1}), finish=None)),
            event(payload(call("now"))),
        )

        assert deltas == [
            ReasoningDelta("Hm."),
            TextDelta("I "),
            TextDelta("add."),
            ToolCallDelta("0", "add", '{"a":1}'),
            ToolCallDelta("1", "now", "{}"),
        ]
        assert (answer.content, answer.reasoning) == ("I add.", "Hm.")
        assert calls_of(answer) == [("call_0", "add", {"a": 1}, None), ("call_1", "now", {}, None)]

    @pytest.mark.lesson(95)
    @pytest.mark.parametrize(("args", "written"), [('{"a": 1}', '{"a": 1}'), ([1], "[1]"), (None, "{}")])
    def test_arguments_of_any_form_are_those_of_the_answer(self, args: Any, written: str) -> None:
        """Also where they are none."""
        deltas, answer = streamed(event(payload(call(args=args))))

        assert deltas == [ToolCallDelta("0", "add", written)]
        assert calls_of(answer) == calls_of(read(payload(call(args=args))))

    def test_a_stream_is_its_chunks_as_one_reply(self) -> None:
        """State included."""
        sent = [
            payload({"text": "a"}, finish=None),
            payload({"text": "b"}, call(args={}, signature="eA==", id="f"), finish=None),
            payload({"text": "", "thoughtSignature": "eQ=="}, usageMetadata={"promptTokenCount": 1}),
        ]

        assert streamed(chunks(*sent))[1] == read(sent)

    @pytest.mark.lesson(86)
    def test_the_last_usage_counts(self) -> None:
        """Every chunk has one."""
        first = payload({"text": "a"}, finish=None, usageMetadata={"promptTokenCount": 5})
        last = payload(usageMetadata={"promptTokenCount": 5, "candidatesTokenCount": 2})

        assert streamed(chunks(first, last))[1].usage.total_tokens == 7

    def test_usage_may_come_behind_the_end(self) -> None:
        """In a chunk of its own."""
        tail = {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}}

        assert streamed(chunks(payload({"text": "a"}), tail))[1].usage.total_tokens == 7

    @pytest.mark.parametrize("pieces", [[], [payload({"text": "a"}, finish=None)], [{"usageMetadata": {}}]])
    def test_an_end_without_a_reason_is_an_interruption(self, pieces: list[dict[str, Any]]) -> None:
        """Never a success; the text so far is in the error."""
        with pytest.raises(StreamInterruptedError) as caught:
            streamed(chunks(*pieces))

        assert caught.value.partial == ("a" if "candidates" in str(pieces) else "")

    def test_a_blocked_prompt_ends_a_stream(self) -> None:
        """In its only chunk."""
        _, answer = streamed(event({"promptFeedback": {"blockReason": "SAFETY"}}))

        assert (answer.finish_reason, answer.refusal) == (FinishReason.CONTENT_FILTER, "the service blocked it: SAFETY")

    @pytest.mark.parametrize("as_list", [False, True])
    def test_an_error_in_a_stream_is_one(self, as_list: bool) -> None:
        """An object or a list of one."""
        fault = {"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}
        with pytest.raises(RateLimitError, match=r"Slow down\.") as caught:
            streamed(event(payload({"text": "a"}, finish=None)), event([fault] if as_list else fault))

        assert caught.value.retryable

    @pytest.mark.parametrize("as_list", [False, True])
    def test_an_error_in_place_of_a_stream_is_one(self, as_list: bool) -> None:
        """A document, not an event."""
        fault = {"error": {"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT"}}
        with pytest.raises(ProviderError, match=r"Bad\."):
            streamed(json.dumps([fault] if as_list else fault).encode())

    def test_a_whole_reply_in_place_of_a_stream(self) -> None:
        """Some gateways ignore the wish."""
        sent = payload({"text": "a"})

        assert streamed(json.dumps(sent).encode()) == ([], read(sent))

    def test_events_that_are_no_replies_are_passed_over(self) -> None:
        """Comments, lists of nothing, odd values, calls that are none."""
        odd = payload({"text": 3}, {"functionCall": None}, "x", finish=None)
        body = b": keep-alive\r\n\r\n" + event("[]") + event("3") + event(odd) + event(payload({"text": "a"}))

        deltas, answer = streamed(body)

        assert (text_of(deltas), reasoning_of(deltas), answer.content) == ("a", "", "a")

    def test_an_event_that_is_no_json_is_malformed(self) -> None:
        """The error shows it."""
        with pytest.raises(MalformedReplyError, match=r"no JSON: '\{broken'"):
            streamed(event("{broken"))


class TestModels:
    def test_the_list_of_models(self) -> None:
        """Pages, by the token of the one before; the collection's name is no part of theirs."""
        first, second = CODEC.list_models(), CODEC.list_models("a/b")
        rows = [
            {
                "name": "models/gemini-2.5-flash",
                "displayName": "Flash",
                "inputTokenLimit": 1000,
                "outputTokenLimit": 10,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            },
            {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
            {"name": "models/odd", "inputTokenLimit": "x"},
            {"displayName": "Nameless"},
        ]

        page = CODEC.decode_models(HttpReply(200, {}, json.dumps({"models": rows, "nextPageToken": "t"}).encode()))

        assert (first.method, first.url) == ("GET", "http://host/v1beta/models?pageSize=100")
        assert second.url == "http://host/v1beta/models?pageSize=100&pageToken=a%2Fb"
        assert [(model.name, model.context, model.max_output) for model in page.models] == [
            ("gemini-2.5-flash", 1000, 10),
            ("odd", None, None),
        ]
        assert page.models[0].details == {"name": "Flash"}
        assert page.models[1].details == {}
        assert page.next == "t"

    def test_the_last_page_has_no_next(self) -> None:
        """An empty one is a page."""
        page = CODEC.decode_models(HttpReply(200, {}, b'{"models": []}'))

        assert (page.models, page.next) == ((), None)

    @pytest.mark.parametrize("body", [b"{}", b"[]", b'{"models": 1}'])
    def test_what_is_no_list_is_malformed(self, body: bytes) -> None:
        """Not an empty list."""
        with pytest.raises(MalformedReplyError, match="holds no models"):
            CODEC.decode_models(HttpReply(200, {}, body))

    def test_an_error_in_place_of_a_list_is_one(self) -> None:
        """Typed."""
        with pytest.raises(ProviderError, match="no"):
            CODEC.decode_models(HttpReply(200, {}, b'{"error": {"message": "no"}}'))
