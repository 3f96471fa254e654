"""
Public fault reports that concern a generateContent client, each met as a correct client meets it.

The numbers are those of the collection of reports in the reference on wire formats, its section 10.
"""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from nr_llm.errors import RateLimitError, ServiceError, StreamInterruptedError, ToolCallRejectedError
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.providers import HttpReply
from nr_llm.responses import FinishReason
from nr_llm.specs import ToolSpec
from nr_llm_gemini import GeminiOptions, openapi_schema

from tests.plugins.gemini.replies import (
    ADD,
    CODEC,
    asked,
    body_of,
    call,
    chunks,
    contents_of,
    event,
    payload,
    read,
    streamed,
)
from tests.plugins.told import calls_of, text_of

HELLO = ChatMessage.user("Hello")


def report(*numbers: int) -> str:
    """Return the id of a test parameter: the reports it meets."""
    return "report-" + "-".join(map(str, numbers))


def continued(*parts: dict[str, Any], model: str = "gemini-3-pro-preview") -> list[dict[str, Any]]:
    """Return the contents that go on from a reply whose calls were answered."""
    answer = read(payload(*parts), asked(model=model))
    results = [ChatMessage.tool_result(call_id, "ok") for call_id, *_ in calls_of(answer)]
    return contents_of(HELLO, answer.to_message(), *results, model=model)


class TestObjects:
    """Sections A to C: arguments, parameters and responses are objects on every hop."""

    @pytest.mark.parametrize(
        "args",
        [
            pytest.param(None, id=report(8)),
            pytest.param({}, id=report(13, 17)),
            pytest.param("", id=report(2, 7, 10, 11)),
        ],
    )
    def test_no_arguments_are_an_empty_object(self, args: Any) -> None:
        """Missing, empty or blank; and they go back as an object."""
        assert calls_of(read(payload(call(args=args)))) == [("call_0", "add", {}, None)]
        assert continued(call(args=args))[1]["parts"][0]["functionCall"]["args"] == {}

    @pytest.mark.parametrize("number", [14, 16, 19, 20], ids=report)
    def test_empty_objects_inside_stay_objects(self, number: int) -> None:
        """At any depth of arguments and of responses."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "add", {"a": {}, "b": [{}]})])

        said = contents_of(HELLO, turn, ChatMessage.tool_result("c", '{"found": {}}'))

        assert said[1]["parts"][0]["functionCall"]["args"] == {"a": {}, "b": [{}]}
        assert said[2]["parts"][0]["functionResponse"]["response"] == {"found": {}}

    @pytest.mark.parametrize("number", [18, 21], ids=report)
    def test_properties_stay_an_object(self, number: int) -> None:
        """A tool without any has no parameters at all."""
        deep = {"properties": {"deep": {"type": "object", "properties": {}}}}

        [first, second] = body_of(asked(tools=(ToolSpec("a", "", deep), ToolSpec("b", "", {}))))["tools"][0][
            "functionDeclarations"
        ]

        assert first["parametersJsonSchema"]["properties"] == deep["properties"]
        assert second == {"name": "b", "description": ""}

    @pytest.mark.parametrize(
        ("args", "arguments"),
        [
            pytest.param('{"a": 1}', {"a": 1}, id=report(29)),
            pytest.param(json.dumps('{"a": 1}'), {"a": 1}, id=report(22, 24, 25, 28)),
            pytest.param({"a": '{"b": 1}'}, {"a": '{"b": 1}'}, id=report(23)),
        ],
    )
    def test_arguments_are_read_in_each_form(self, args: Any, arguments: dict[str, Any]) -> None:
        """Gateways send strings; texts inside stay texts."""
        assert calls_of(read(payload(call(args=args))))[0][2] == arguments

    @pytest.mark.parametrize("number", [204, 205, 206], ids=report)
    def test_arguments_are_sent_as_an_object(self, number: int) -> None:
        """Never as the JSON text that other services want."""
        turn = ChatMessage.from_wire(
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "add", "arguments": '{"a": 1}'}}]}
        )

        said = contents_of(HELLO, turn, ChatMessage.tool_result("c", "1"))

        assert said[1]["parts"] == [{"functionCall": {"name": "add", "args": {"a": 1}}}]


class TestIds:
    """Section E."""

    @pytest.mark.parametrize(
        ("ids", "kept"),
        [
            pytest.param([None, None], ["call_0", "call_1"], id=report(49, 57)),
            pytest.param(["a", "a"], ["a", "call_1"], id=report(47, 48, 50, 52)),
            pytest.param(["", "b"], ["call_0", "b"], id=report(53)),
        ],
    )
    def test_each_call_has_an_id_of_its_own(self, ids: list[Any], kept: list[str]) -> None:
        """The service's where it gave one that nobody else has."""
        parts = [call(**({} if given is None else {"id": given})) for given in ids]

        assert [call_id for call_id, *_ in calls_of(read(payload(*parts)))] == kept

    @pytest.mark.parametrize("number", [40, 41, 44], ids=report)
    def test_ids_of_others_are_not_sent(self, number: int) -> None:
        """The service has only its own."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("toolu_1", "add")])

        assert "toolu_1" not in json.dumps(contents_of(HELLO, turn, ChatMessage.tool_result("toolu_1", "1")))


class TestContent:
    """Sections G to J."""

    @pytest.mark.parametrize("number", [80, 81, 82, 83, 85], ids=report)
    def test_empty_lists_are_left_out(self, number: int) -> None:
        """No tools, no stop sequences, no parts."""
        assert body_of(asked(HELLO, ChatMessage.assistant(""))) == {
            "contents": [{"role": "user", "parts": [{"text": "Hello"}]}]
        }

    @pytest.mark.parametrize("number", [91, 109, 110, 112], ids=report)
    def test_empty_texts_are_no_parts(self, number: int) -> None:
        """A turn of calls alone has no text beside them."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "add")], "")

        assert contents_of(HELLO, turn, ChatMessage.tool_result("c", "1"))[1]["parts"] == [call(args={})]

    @pytest.mark.parametrize("number", [86, 68], ids=report)
    def test_a_call_without_a_name_is_never_sent_so(self, number: int) -> None:
        """It is answered as an error, and goes back with a name."""
        said = continued({"functionCall": {"name": "", "args": {"a": 1}}}, model="gemini-2.5-flash")

        sent = said[1]["parts"][0]["functionCall"]["name"]
        assert sent
        assert said[2]["parts"][0]["functionResponse"]["name"] == sent

    @pytest.mark.parametrize("number", [101, 102], ids=report)
    def test_a_picture_is_a_part_of_its_own(self, number: int) -> None:
        """Never base64 in a text."""
        said = contents_of(ChatMessage.user("Look.", Attachment("image/png", b"x")))

        assert said[0]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "eA=="}}, {"text": "Look."}]


class TestResults:
    """Section L: results of one turn stand together, as objects, one for each call."""

    @pytest.mark.parametrize("number", [124, 125, 126, 127], ids=report)
    def test_results_of_a_turn_are_one_content(self, number: int) -> None:
        """In the order of its calls, whatever the order of the messages."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("a", "one"), ToolCall("b", "two")])

        said = contents_of(HELLO, turn, ChatMessage.tool_result("b", "2"), ChatMessage.tool_result("a", "1"))

        assert [content["role"] for content in said] == ["user", "model", "user"]
        assert [part["functionResponse"]["name"] for part in said[2]["parts"]] == ["one", "two"]

    @pytest.mark.parametrize("number", [128], ids=report)
    def test_parallel_calls_stay_one_content(self, number: int) -> None:
        """With the one signature where it was."""
        said = continued(call("one", {}, "eA=="), call("two", {}))

        assert said[1]["parts"] == [call("one", {}, "eA=="), call("two", {})]

    @pytest.mark.parametrize("number", [129, 108], ids=report)
    def test_results_have_no_neighbours_in_their_content(self, number: int) -> None:
        """What a user says next is a content of its own."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("a", "one")])

        said = contents_of(HELLO, turn, ChatMessage.tool_result("a", "1"), ChatMessage.user("And?"))

        assert [list(part) for part in said[2]["parts"]] == [["functionResponse"]]

    @pytest.mark.parametrize("number", [130, 131, 132], ids=report)
    def test_signatures_go_back_on_their_parts(self, number: int) -> None:
        """Whole or streamed."""
        sent = payload({"text": "Hm.", "thoughtSignature": "eQ=="}, call("one", {}, "eA=="))
        for answer in (read(sent), streamed(event(sent))[1]):
            said = contents_of(HELLO, answer.to_message(), ChatMessage.tool_result("call_0", "1"))
            assert [part["thoughtSignature"] for part in said[1]["parts"]] == ["eQ==", "eA=="]

    @pytest.mark.parametrize("number", [138, 139], ids=report)
    def test_lists_and_texts_are_wrapped(self, number: int) -> None:
        """A response is an object."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("a", "one"), ToolCall("b", "two")])
        results = (ChatMessage.tool_result("a", '["x"]'), ChatMessage.tool_result("b", "plain"))

        said = contents_of(HELLO, turn, *results)[2]["parts"]

        assert [part["functionResponse"]["response"] for part in said] == [{"result": '["x"]'}, {"result": "plain"}]

    @pytest.mark.parametrize("number", [105, 107, 211], ids=report)
    def test_a_call_without_a_result_is_refused_here(self, number: int) -> None:
        """With its place, before anything is sent."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("a", "one")])
        with pytest.raises(ValueError, match=r"messages\[2\].*'a' have no result"):
            CODEC.encode(asked(HELLO, turn, ChatMessage.user("Never mind.")))

    @pytest.mark.lesson(140)
    @pytest.mark.parametrize(
        "content", ['{"schema": {"items": [{"$ref": "#/$defs/A"}]}}', '{"\\u0024ref": "#"}', '{"words": ["$ref"]}']
    )
    def test_references_in_a_result_are_text(self, content: str) -> None:
        """The service would look for a part of that name, and refuse the request when there is none."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("a", "one")])

        [part] = contents_of(HELLO, turn, ChatMessage.tool_result("a", content))[2]["parts"]

        assert part["functionResponse"]["response"] == {"result": content}


class TestSchemas:
    """Sections L and V: keywords the older form does not know."""

    @pytest.mark.parametrize(
        ("schema", "said", "dropped"),
        [
            pytest.param(
                {"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}, (), id=report(133)
            ),
            pytest.param({"type": "string", "x-odd": 1}, {"type": "string"}, ("x-odd",), id=report(134)),
            pytest.param(
                {"propertyNames": {}, "const": "x"},
                {"type": "string", "enum": ["x"]},
                ("propertyNames",),
                id=report(135),
            ),
            pytest.param(
                {"$ref": "#/$defs/A", "description": "d", "$defs": {"A": {"type": "string"}}},
                {"type": "string", "description": "d"},
                (),
                id=report(136),
            ),
            pytest.param({"type": ["string", "null"]}, {"type": "string", "nullable": True}, (), id=report(137)),
        ],
    )
    def test_one_keyword_does_not_fail_a_request(self, schema: Any, said: Any, dropped: tuple[str, ...]) -> None:
        """It is said otherwise, or left out and reported; by default the schema goes as it is."""
        made = openapi_schema(schema)
        tool = ToolSpec("t", "", {"properties": {"a": schema}, "$defs": schema.get("$defs", {})})

        [declared] = body_of(asked(tools=(tool,)))["tools"][0]["functionDeclarations"]

        assert (made.schema, made.dropped) == (said, dropped)
        assert declared["parametersJsonSchema"]["properties"] == {"a": schema}

    @pytest.mark.parametrize("number", [217, 218, 219, 221], ids=report)
    def test_optional_properties_stay_optional(self, number: int) -> None:
        """Nothing is made strict that was not asked to be."""
        tool = ToolSpec("t", "", {"properties": {"a": {"type": "string", "default": "x"}}})
        for openapi, field in ((False, "parametersJsonSchema"), (True, "parameters")):
            request = asked(tools=(tool,), provider_options=GeminiOptions(openapi_schemas=openapi))
            [declared] = body_of(request)["tools"][0]["functionDeclarations"]
            assert "required" not in declared[field]


class TestEnds:
    """Sections D, K, L, O and R."""

    @pytest.mark.parametrize(
        "candidate",
        [
            pytest.param({"finishReason": "SAFETY"}, id=report(140)),
            pytest.param({"finishReason": "SAFETY", "content": {"role": "model"}}, id=report(122, 237)),
        ],
    )
    def test_missing_parts_are_tolerated(self, candidate: dict[str, Any]) -> None:
        """And are no empty success."""
        answer = read({"candidates": [candidate]})

        assert (answer.content, answer.finish_reason) == ("", FinishReason.CONTENT_FILTER)
        assert answer.refusal

    @pytest.mark.parametrize("number", [141, 142, 240, 241], ids=report)
    def test_a_malformed_call_may_be_asked_for_again(self, number: int) -> None:
        """The error says what the model wrote."""
        with pytest.raises(ToolCallRejectedError) as caught:
            read({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "add(a=)"}]})

        assert (caught.value.retryable, caught.value.failed_generation) == (True, "add(a=)")

    @pytest.mark.parametrize("number", [123, 143, 203], ids=report)
    def test_new_reasons_are_no_failure(self, number: int) -> None:
        """The word is kept."""
        answer = read(payload({"text": "x"}, finish="error"))

        assert (answer.content, answer.finish_reason, answer.finish_detail) == ("x", FinishReason.OTHER, "error")

    @pytest.mark.parametrize("number", [200, 201, 202], ids=report)
    def test_calls_decide(self, number: int) -> None:
        """The service says that it stopped."""
        assert read(payload(call(args={}), finish="STOP")).finish_reason is FinishReason.TOOL_CALLS

    @pytest.mark.parametrize("number", [169, 170, 173], ids=report)
    def test_an_end_without_a_reason_is_an_interruption(self, number: int) -> None:
        """Whatever was said until then."""
        with pytest.raises(StreamInterruptedError) as caught:
            streamed(event(payload({"text": "The answer"}, finish=None)))

        assert caught.value.partial == "The answer"

    @pytest.mark.parametrize(
        "fault",
        [
            pytest.param({"error": {"code": 503, "message": "overloaded"}}, id=report(165, 233)),
            pytest.param({"error": "overloaded"}, id=report(168)),
            pytest.param([{"error": {"code": 503, "message": "overloaded"}}], id=report(167)),
        ],
    )
    def test_an_error_inside_a_stream_is_one(self, fault: Any) -> None:
        """In any form."""
        with pytest.raises(ServiceError, match="overloaded") as caught:
            streamed(event(payload({"text": "x"}, finish=None)), event(fault))

        assert caught.value.retryable


class TestDelays:
    """Section L: when to come back is in the body alone."""

    @pytest.mark.parametrize(
        ("details", "message", "seconds"),
        [
            pytest.param([{"retryDelay": "34.4s"}], "Quota.", 34.4, id=report(144, 146)),
            pytest.param([{"retryDelay": "45.837906927s"}], "Quota.", 45.837906927, id=report(145)),
            pytest.param([], "Please retry in 26.5s.", 26.5, id=report(147)),
            pytest.param([{"metadata": {"quotaResetDelay": "373.8ms"}}], "Quota.", 0.3738, id=report(148)),
        ],
    )
    def test_the_delay_is_read(self, details: list[Any], message: str, seconds: float) -> None:
        """In seconds, from each place."""
        body = {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}}

        error = CODEC.error(HttpReply(429, {}, json.dumps(body).encode()))

        assert isinstance(error, RateLimitError)
        assert error.retryable
        assert error.retry_after == pytest.approx(seconds)

    @pytest.mark.parametrize("number", [145], ids=report)
    def test_a_quota_of_the_day_is_final(self, number: int) -> None:
        """Coming back in seconds does not help."""
        details = [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}, {"retryDelay": "5s"}]
        body = {"error": {"code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED", "details": details}}

        assert not CODEC.error(HttpReply(429, {}, json.dumps(body).encode())).retryable


class TestFraming:
    """Section P."""

    @pytest.mark.parametrize(
        "noise",
        [
            pytest.param(b": keep-alive\r\n\r\n", id=report(176, 177, 178)),
            pytest.param(b"id: 1\r\nretry: 5\r\nevent: note\r\n\r\n", id=report(179, 180)),
        ],
    )
    def test_what_is_no_data_is_passed_over(self, noise: bytes) -> None:
        """Anywhere."""
        body = noise + event(payload({"text": "a"}, finish=None)) + noise + event(payload({"text": "b"})) + noise

        assert text_of(streamed(body)[0]) == "ab"

    @pytest.mark.parametrize("number", [181, 182, 183, 184, 185, 186, 187, 188], ids=report)
    def test_lines_end_where_the_standard_says(self, number: int) -> None:
        """Not at other line ends of Unicode, not inside a letter, wherever the bytes are cut."""
        text = "a\u2028b\u2029c\u0085d\x0be\x0cf 😀ü"
        body = b"".join(
            f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n".encode()
            for chunk in (payload({"text": text}, finish=None), payload({"text": "."}))
        )

        assert all(streamed(body[:i], body[i:])[1].content == f"{text}." for i in range(len(body)))

    @pytest.mark.parametrize("number", [194, 195, 196, 197, 198, 199], ids=report)
    def test_chunks_without_candidates_are_fine(self, number: int) -> None:
        """They may have usage."""
        odd: list[dict[str, Any]] = [
            {"candidates": []},
            {"candidates": None},
            {"usageMetadata": {"promptTokenCount": 3}},
        ]

        _, answer = streamed(chunks(*odd, payload({"text": "a"})))

        assert (answer.content, answer.usage.input_tokens) == ("a", 3)

    @pytest.mark.parametrize("number", [58, 61, 65], ids=report)
    def test_calls_come_whole(self, number: int) -> None:
        """Several in a chunk, or one in each; none has an index."""
        apart = chunks(payload(call("one", {"a": 1}), finish=None), payload(call("two", {"b": 2})))
        together = chunks(payload(call("one", {"a": 1}), call("two", {"b": 2})))

        assert calls_of(streamed(apart)[1]) == calls_of(streamed(together)[1])
        assert [name for _, name, *_ in calls_of(streamed(apart)[1])] == ["one", "two"]


class TestNames:
    """Sections W to Y."""

    @pytest.mark.parametrize(
        "name",
        [pytest.param("files.read", id=report(222, 223)), pytest.param("server:tool/sub", id=report(224))],
    )
    def test_names_are_mapped_there_and_back(self, name: str) -> None:
        """History may have names that services refuse."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", name)])
        request = asked(HELLO, turn, ChatMessage.tool_result("c", "x"), tools=(ADD,))
        sent = body_of(request)["contents"][1]["parts"][0]["functionCall"]["name"]

        assert sent != name
        assert calls_of(read(payload(call(sent)), request))[0][1] == name

    @pytest.mark.parametrize("number", [225, 226], ids=report)
    def test_half_a_letter_is_none(self, number: int) -> None:
        """In replies too, whose JSON may spell one."""
        answer = read(b'{"candidates": [{"content": {"parts": [{"text": "a\\ud800"}]}, "finishReason": "STOP"}]}')

        assert CODEC.encode(asked(answer.to_message())).body.decode()
        assert answer.content == "a\ufffd"

    @pytest.mark.parametrize("number", [227, 228, 229, 230], ids=report)
    def test_counts_add_up(self, number: int) -> None:
        """Cached tokens are among those of the prompt, thinking is beside those of the answer."""
        counts = {
            "promptTokenCount": 10,
            "cachedContentTokenCount": 8,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 3,
            "totalTokenCount": 15,
        }

        usage = read(payload({"text": "x"}, usageMetadata=counts)).usage

        assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.total_tokens) == (10, 8, 5, 15)

    @pytest.mark.parametrize("number", [231, 232, 235, 236], ids=report)
    def test_overload_passes(self, number: int) -> None:
        """Any of the statuses that say so."""
        assert all(CODEC.error(HttpReply(status, {}, b"")).retryable for status in (500, 502, 503, 504, 520, 529))

    @pytest.mark.parametrize("number", [155, 156], ids=report)
    def test_thinking_is_no_content_of_the_next_turn(self, number: int) -> None:
        """It goes back as what it was, to this provider alone."""
        message = read(payload({"text": "Secret.", "thought": True}, {"text": "Hi."})).to_message()
        other = attrs.evolve(CODEC, provider="other")

        assert contents_of(HELLO, message)[1]["parts"] == [{"text": "Secret.", "thought": True}, {"text": "Hi."}]
        assert b"Secret." not in other.encode(asked(HELLO, message)).body
