"""A request becomes the body that generateContent takes, and what the form cannot say is refused before it is sent."""

from __future__ import annotations

import base64
import json
import logging
import uuid
from typing import Any

import attrs
import pytest
from nr_llm.errors import InvalidRequestError, InvalidValueError
from nr_llm.memo import Memo
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.specs import ToolSpec
from nr_llm_gemini import GeminiOptions

from tests.plugins.gemini.replies import ADD, CODEC, asked, body_of, call, contents_of, payload, read

TURN = ChatMessage.assistant_tool_calls([ToolCall("c1", "add", {"a": 1}), ToolCall("c2", "mul", {})], "Let me see.")
RESULTS = (ChatMessage.tool_result("c2", "no", is_error=True), ChatMessage.tool_result("c1", "1"))
HELLO = ChatMessage.user("Hello")
SCHEMA = {"type": "object", "properties": {"a": {"const": "x"}}, "additionalProperties": False}
DUMMY = base64.b64encode(b"skip_thought_signature_validator").decode()


def test_a_conversation_in_all_roles() -> None:
    """System messages are one instruction; the results of a turn are one content, in the order of its calls."""
    request = asked(
        ChatMessage.system("Be brief."),
        ChatMessage.user("1+1?"),
        TURN,
        *RESULTS,
        ChatMessage.system("Be kind."),
        ChatMessage.assistant("2"),
    )

    assert body_of(request) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "1+1?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Let me see."},
                    {"functionCall": {"name": "add", "args": {"a": 1}}},
                    {"functionCall": {"name": "mul", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "add", "response": {"result": "1"}}},
                    {"functionResponse": {"name": "mul", "response": {"error": "no"}}},
                ],
            },
            {"role": "model", "parts": [{"text": "2"}]},
        ],
    }


class TestAddress:
    def test_the_request_itself(self) -> None:
        """Method, address and headers; `contents` is the last field of the body."""
        codec = attrs.evolve(CODEC, headers=(("x-team", "blue"),))

        request = codec.encode(asked(tools=(ADD,), temperature=0.5))

        assert (request.method, request.stream) == ("POST", False)
        assert request.url == "http://host/v1beta/models/gemini-2.5-flash:generateContent"
        assert request.headers == (("content-type", "application/json"), ("x-team", "blue"))
        assert request.body.endswith(b',"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}')

    def test_a_stream_is_another_method(self) -> None:
        """It asks for events, and the body does not speak of it."""
        request = CODEC.encode(asked(stream=True))

        assert request.url == "http://host/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
        assert request.stream
        assert json.loads(request.body).keys() == {"contents"}

    @pytest.mark.parametrize(
        ("model", "path"),
        [("models/gemini-pro", "gemini-pro"), ("tuned one/x?y", "tuned%20one%2Fx%3Fy"), ("a:b", "a%3Ab")],
    )
    def test_a_name_cannot_change_the_address(self, model: str, path: str) -> None:
        """It is quoted; the collection's name in front of it is not said twice."""
        assert CODEC.encode(asked(model=model)).url == f"http://host/v1beta/models/{path}:generateContent"

    def test_a_query_of_the_base_url_stays(self) -> None:
        """Gateways have such."""
        codec = attrs.evolve(CODEC, url="http://host/models?team=1")

        assert codec.encode(asked(stream=True)).url.endswith(":streamGenerateContent?team=1&alt=sse")
        assert codec.encode(asked()).url.endswith(":generateContent?team=1")


class TestContents:
    @pytest.mark.parametrize(
        "text",
        ["", "[1, 2]", "3", "plain", "{broken", '{"id": 12345678901234567}', '{"n": 0.12345678901234567}'],
    )
    def test_results_are_objects(self, text: str) -> None:
        """A text is wrapped; so is an object with a number that the service's doubles would change."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c1", "add")])

        parts = contents_of(HELLO, turn, ChatMessage.tool_result("c1", text))[2]["parts"]

        assert parts == [{"functionResponse": {"name": "add", "response": {"result": text}}}]

    @pytest.mark.parametrize("value", [{}, {"a": {"b": []}}, {"result": "x"}])
    def test_results_that_are_objects_go_as_they_are(self, value: dict[str, Any]) -> None:
        """They need no wrapping."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c1", "add")])

        parts = contents_of(HELLO, turn, ChatMessage.tool_result("c1", json.dumps(value, indent=1)))[2]["parts"]

        assert parts == [{"functionResponse": {"name": "add", "response": value}}]

    def test_an_error_is_one_whatever_its_text(self) -> None:
        """Also when it is JSON."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c1", "add")])

        parts = contents_of(HELLO, turn, ChatMessage.tool_result("c1", "{}", is_error=True))[2]["parts"]

        assert parts == [{"functionResponse": {"name": "add", "response": {"error": "{}"}}}]

    def test_attachments_are_data_or_addresses(self) -> None:
        """Images, documents, sound and film have one form, and stand before the text."""
        files = [Attachment("IMAGE/png", b"x"), Attachment("application/pdf", url="https://host/a.pdf")]

        assert contents_of(ChatMessage.user("Look.", *files)) == [
            {
                "role": "user",
                "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": "eA=="}},
                    {"fileData": {"mimeType": "application/pdf", "fileUri": "https://host/a.pdf"}},
                    {"text": "Look."},
                ],
            }
        ]

    def test_messages_that_say_nothing_are_left_out(self) -> None:
        """The service refuses empty parts."""
        said = contents_of(ChatMessage.user(""), HELLO, ChatMessage.assistant(""), ChatMessage.user("Still there?"))

        assert [content["parts"][0]["text"] for content in said] == ["Hello", "Still there?"]

    @pytest.mark.parametrize("before", [[], [ChatMessage.system("Be brief.")], [ChatMessage.user("")]])
    def test_a_conversation_that_the_model_begins_has_an_opening(self, before: list[ChatMessage]) -> None:
        """The service refuses a call that follows no user turn."""
        said = contents_of(*before, TURN, *RESULTS, ChatMessage.assistant("Done."), TURN, *RESULTS)

        assert said[0] == {"role": "user", "parts": [{"text": "."}]}
        assert [content["role"] for content in said] == ["user", "model", "user", "model", "model", "user"]

    def test_an_instruction_alone_is_a_request(self) -> None:
        """Other services take it, so a conversation may have nothing else."""
        body = body_of(asked(ChatMessage.system("Say hello.")))

        assert body["systemInstruction"] == {"parts": [{"text": "Say hello."}]}
        assert body["contents"] == [{"role": "user", "parts": [{"text": "."}]}]

    def test_nothing_at_all_is_refused(self) -> None:
        """With its place."""
        with pytest.raises(InvalidValueError, match="messages: there is no message to send"):
            CODEC.encode(asked(ChatMessage.user("")))

    def test_pairs_are_checked(self) -> None:
        """Calls without results are refused here, not by the service."""
        with pytest.raises(InvalidValueError, match="'c2' have no result"):
            CODEC.encode(asked(HELLO, TURN, RESULTS[1]))

    def test_arguments_that_are_none_are_said_raw(self) -> None:
        """Never as if there had been none."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c1", "add", malformed='{"a": ')])

        parts = contents_of(HELLO, turn, ChatMessage.tool_result("c1", "bad", is_error=True))[1]["parts"]

        assert parts == [{"functionCall": {"name": "add", "args": {"_raw": '{"a": '}}}]

    @pytest.mark.parametrize("name", ["files.read", "x" * 80, "9lives", "-", "über"])
    def test_names_of_history_are_names_the_service_takes(self, name: str) -> None:
        """Call and result get the same one."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c1", name)])

        said = contents_of(HELLO, turn, ChatMessage.tool_result("c1", "x"))

        sent = said[1]["parts"][0]["functionCall"]["name"]
        assert sent.isascii()
        assert sent[0].isalpha() or sent[0] == "_"
        assert len(sent) <= 64
        assert said[2]["parts"][0]["functionResponse"]["name"] == sent

    def test_segments_are_the_contents(self) -> None:
        """Results at the end stay open, since more may follow."""
        made = list(CODEC.segments((HELLO, TURN, *RESULTS), 0))

        assert [(segment.end, segment.closed) for segment in made] == [(1, True), (2, True), (4, False)]
        assert json.loads(b"[" + b",".join(segment.data for segment in made) + b"]") == contents_of(
            HELLO, TURN, *RESULTS
        )

    def test_a_growing_conversation_with_a_memo(self) -> None:
        """Results join a turn that was encoded before, and the bytes are those without a memo."""
        messages = (HELLO, TURN, *RESULTS, ChatMessage.assistant("2"), ChatMessage.user("Sure?"))
        memo = Memo()

        for end in (1, 4, 5, 6):
            request = asked(*messages[:end], tools=(ADD,))
            assert CODEC.encode(request, memo) == CODEC.encode(request)


class TestReplay:
    """What the service sent with a turn goes back with it, to it alone."""

    PARTS = (
        {"text": "Hm.", "thought": True},
        {"text": "Let me see."},
        call("add", {"a": 1}, "c2ln", id="fc1"),
        call("mul"),
        {"executableCode": {"language": "PYTHON", "code": "1"}},
    )

    def turn(self, *parts: Any, model: str = "gemini-3-pro-preview", **more: Any) -> ChatMessage:
        """Return the message of a reply."""
        return attrs.evolve(read(payload(*parts), asked(model=model)).to_message(), **more)

    def replayed(self, turn: ChatMessage, model: str = "gemini-3-flash-preview") -> list[dict[str, Any]]:
        """Return the contents that a turn and its results become."""
        results = [ChatMessage.tool_result(made.id, "ok") for made in turn.tool_calls or ()]
        return contents_of(HELLO, turn, *results, model=model)[1:]

    def test_parts_go_back_as_they_came(self) -> None:
        """Signatures on their parts, ids where there were some, parts that nobody here knows."""
        turn, results = self.replayed(self.turn(*self.PARTS))

        assert turn["parts"] == [*self.PARTS[:3], call("mul", {}), self.PARTS[4]]
        assert [part["functionResponse"].get("id") for part in results["parts"]] == ["fc1", None]

    @pytest.mark.lesson(49)
    def test_another_provider_does_not_see_them(self) -> None:
        """The state is under the provider's name."""
        message = self.turn(*self.PARTS)
        other = attrs.evolve(CODEC, provider="other")
        results = [ChatMessage.tool_result(made.id, "ok") for made in message.tool_calls or ()]

        [_, turn, _] = json.loads(other.encode(asked(HELLO, message, *results)).body)["contents"]

        assert turn["parts"] == [{"text": "Let me see."}, call("add", {"a": 1}), call("mul", {})]

    @pytest.mark.lesson(50)
    def test_calls_that_nobody_signed_get_the_documented_word(self) -> None:
        """Models that insist on a signature take it on the first call; others are not sent it."""
        for model in ("gemini-3-pro-preview", "models/gemini-3.5-flash", "gemini-flash-latest"):
            [turn, _] = contents_of(HELLO, TURN, *RESULTS, model=model)[1:]
            assert [part.get("thoughtSignature") for part in turn["parts"]] == [None, DUMMY, None]
        [turn, _] = contents_of(HELLO, TURN, *RESULTS, model="gemini-2.5-pro")[1:]
        assert all("thoughtSignature" not in part for part in turn["parts"])

    def test_signatures_of_another_generation_are_left_out(self) -> None:
        """A model cannot prove the thoughts of another; newer ones get the documented word in their place."""
        message = self.turn(*self.PARTS, {"text": "", "thoughtSignature": "eA=="}, model="gemini-2.5-pro")

        assert self.replayed(message)[0]["parts"] == [
            {"text": "Let me see."},
            call("add", {"a": 1}, DUMMY, id="fc1"),
            call("mul", {}),
            self.PARTS[4],
        ]
        newer = self.turn(*self.PARTS)
        assert self.replayed(newer, "gemini-2.5-flash")[0]["parts"][1] == call("add", {"a": 1}, id="fc1")

    def test_a_model_without_a_number_is_taken_at_its_word(self) -> None:
        """Of a tuned model the generation is unknown."""
        message = self.turn(*self.PARTS, model="tuned-model")

        assert self.replayed(message, "another-tuned-model")[0]["parts"][2]["thoughtSignature"] == "c2ln"

    def test_a_changed_text_replaces_theirs(self) -> None:
        """The message counts, not what came once; other parts stay."""
        changed = self.turn(*self.PARTS, {"text": "More."}, content="Otherwise.")

        parts = self.replayed(changed)[0]["parts"]

        assert [part["text"] for part in parts if "text" in part] == ["Hm.", "Otherwise."]
        assert parts[2] == self.PARTS[2]

    def test_a_text_that_was_added_is_said(self) -> None:
        """Also where the service sent none."""
        added = self.turn(call("add", {}, "c2ln"), content="Added.")

        assert self.replayed(added)[0]["parts"] == [{"text": "Added."}, call("add", {}, "c2ln")]

    def test_changed_calls_are_said_in_the_message_s_words(self) -> None:
        """Names and arguments are the message's; with another number of calls, all of the turn is."""
        message = self.turn(*self.PARTS[2:4])
        first, second = message.tool_calls or ()

        changed = attrs.evolve(message, tool_calls=(attrs.evolve(first, arguments={"a": 2}), second))
        fewer = attrs.evolve(message, tool_calls=(second,))

        assert self.replayed(changed)[0]["parts"][0] == call("add", {"a": 2}, "c2ln", id="fc1")
        assert self.replayed(fewer)[0]["parts"] == [call("mul", {}, DUMMY)]

    @pytest.mark.parametrize("state", ["x", {"parts": "x"}, {"parts": ["x"]}, {}, {"parts": [{"functionCall": 1}, 1]}])
    def test_a_state_of_another_making_does_no_harm(self, state: Any) -> None:
        """It may come from a file."""
        turn = ChatMessage("assistant", "Hi.", provider_state={"test": state})

        assert contents_of(HELLO, turn)[1] == {"role": "model", "parts": [{"text": "Hi."}]}

    def test_a_call_that_is_no_object_is_said_anew(self) -> None:
        """In a state from a file."""
        state = {"test": {"parts": [{"functionCall": 1, "thoughtSignature": "eA=="}]}}
        turn = ChatMessage("assistant", "", tool_calls=(ToolCall("c1", "add"),), provider_state=state)

        assert self.replayed(turn)[0]["parts"] == [call("add", {}, "eA==")]


class TestOptions:
    def test_what_is_not_set_is_not_sent(self) -> None:
        """A bare request has contents."""
        assert body_of(asked()).keys() == {"contents"}

    def test_what_is_set_is_sent(self) -> None:
        """Each option has its field."""
        own = GeminiOptions(
            top_k=3,
            thinking_budget=0,
            include_thoughts=True,
            safety_settings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
            cached_content="cachedContents/1",
        )
        body = body_of(
            asked(
                temperature=0.0,
                max_tokens=5,
                top_p=0.9,
                stop="END",
                seed=7,
                frequency_penalty=1,
                presence_penalty=-1,
                provider_options=own,
            )
        )

        assert body == {
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
            "cachedContent": "cachedContents/1",
            "generationConfig": {
                "temperature": 0.0,
                "topP": 0.9,
                "topK": 3,
                "maxOutputTokens": 5,
                "stopSequences": ["END"],
                "seed": 7,
                "frequencyPenalty": 1,
                "presencePenalty": -1,
                "thinkingConfig": {"thinkingBudget": 0, "includeThoughts": True},
            },
            "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        }

    def test_raw_fields_come_last(self) -> None:
        """Those of `generationConfig` beside ours; the conversation is not theirs to change."""
        raw = {"generationConfig": {"responseModalities": ["IMAGE"], "topP": 1}, "labels": {"a": "b"}, "contents": []}

        body = body_of(asked(temperature=0.1, top_p=0.5, provider_options=GeminiOptions(raw=raw)))

        assert body == {
            "generationConfig": {"temperature": 0.1, "topP": 1, "responseModalities": ["IMAGE"]},
            "labels": {"a": "b"},
            "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        }

    def test_tools_of_the_service_replace_ours(self) -> None:
        """A raw field `tools` is sent once, as given."""
        body = CODEC.encode(asked(tools=(ADD,), provider_options=GeminiOptions(raw={"tools": [{"googleSearch": {}}]})))

        assert body.body.count(b'"tools"') == 1
        assert b"googleSearch" in body.body

    def test_budget_and_level_exclude_each_other(self) -> None:
        """The service refuses both."""
        with pytest.raises(InvalidValueError, match="thinking_level"):
            GeminiOptions(thinking_budget=1, thinking_level="low")

    @pytest.mark.parametrize(("name", "value"), [("thinking_budget", -2), ("top_k", 0)])
    def test_numbers_have_ranges(self, name: str, value: Any) -> None:
        """They are checked where they are set."""
        with pytest.raises(InvalidValueError, match=name):
            GeminiOptions(**{name: value})


class TestThinking:
    @pytest.mark.parametrize(
        ("model", "effort", "config"),
        [
            ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
            ("gemini-2.5-flash", "low", {"thinkingBudget": 1024}),
            ("gemini-2.5-pro", "max", {"thinkingBudget": 24576}),
            ("gemini-3-pro-preview", "none", {"thinkingLevel": "minimal"}),
            ("gemini-3-pro-preview", "low", {"thinkingLevel": "low"}),
            ("models/gemini-3.5-flash", "xhigh", {"thinkingLevel": "high"}),
        ],
    )
    def test_an_effort_is_a_budget_or_a_level(self, model: str, effort: str, config: dict[str, Any]) -> None:
        """As the model has it, never both."""
        body = body_of(asked(model=model, reasoning_effort=effort))

        assert body["generationConfig"] == {"thinkingConfig": config}

    def test_settings_of_the_service_go_before_an_effort(self) -> None:
        """They say more."""
        own = GeminiOptions(thinking_level="high", include_thoughts=False)
        body = body_of(asked(model="gemini-3-pro-preview", reasoning_effort="low", provider_options=own))

        assert body["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "high", "includeThoughts": False}

    def test_an_effort_that_has_no_budget_is_refused(self) -> None:
        """With those that have one."""
        with pytest.raises(InvalidRequestError, match="'huge' is none of none, minimal, low"):
            body_of(asked(reasoning_effort="huge"))

    def test_models_that_do_not_think_are_not_told_to(self, caplog: pytest.LogCaptureFixture) -> None:
        """The log says so once."""
        request = asked(model=f"gemini-2.0-flash-{uuid.uuid4()}", reasoning_effort="low")
        with caplog.at_level(logging.WARNING, logger="nr_llm"):
            assert body_of(request) == body_of(request)

        assert "generationConfig" not in body_of(request)
        assert [record.getMessage().partition(" takes ")[2] for record in caplog.records] == [
            "no reasoning_effort; it is left out."
        ]


class TestTools:
    def test_all_tools_are_one_entry(self) -> None:
        """Their schemas go as they are, in the field that takes JSON Schema."""
        body = body_of(asked(tools=(ADD, ToolSpec("b", "B.", SCHEMA))))

        assert body["tools"] == [
            {
                "functionDeclarations": [
                    {"name": "add", "description": "Add.", "parametersJsonSchema": ADD.parameters},
                    {"name": "b", "description": "B.", "parametersJsonSchema": SCHEMA},
                ]
            }
        ]

    @pytest.mark.parametrize("openapi", [False, True])
    @pytest.mark.parametrize("schema", [{}, {"additionalProperties": False}, {"title": "Nothing", "required": []}])
    def test_no_parameters_are_left_out(self, schema: dict[str, Any], openapi: bool) -> None:
        """Older models refuse an object without properties; all take none."""
        own = GeminiOptions(openapi_schemas=openapi)
        body = body_of(asked(tools=(ToolSpec("now", "The time.", schema),), provider_options=own))

        assert body["tools"] == [{"functionDeclarations": [{"name": "now", "description": "The time."}]}]

    @pytest.mark.parametrize(
        "schema", [{"additionalProperties": {"type": "string"}}, {"$ref": "#/$defs/A", "$defs": {"A": {}}}]
    )
    def test_parameters_without_listed_properties_are_sent(self, schema: dict[str, Any]) -> None:
        """They say something all the same."""
        [declared] = body_of(asked(tools=(ToolSpec("t", "", schema),)))["tools"][0]["functionDeclarations"]

        assert declared["parametersJsonSchema"].items() >= schema.items()

    @pytest.mark.parametrize(("model", "asked_for"), [("gemini-1.5-pro", False), ("gemini-2.5-flash", True)])
    def test_the_older_form_of_schemas(self, model: str, asked_for: bool) -> None:
        """For old models, and where it is asked for."""
        own = GeminiOptions(openapi_schemas=asked_for)
        tool = ToolSpec("b", "B.", SCHEMA)
        body = body_of(asked(tools=(tool,), model=model, response_schema=SCHEMA, provider_options=own))

        form = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}}
        assert body["tools"][0]["functionDeclarations"][0]["parameters"] == form
        assert body["generationConfig"]["responseSchema"] == form

    def test_what_the_older_form_cannot_say_is_told_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """With the tool and the places."""
        name = f"t{uuid.uuid4().hex}"
        tool = ToolSpec(name, "", {"properties": {"a": {"type": "number", "multipleOf": 2}}})
        request = asked(tools=(tool,), provider_options=GeminiOptions(openapi_schemas=True))
        with caplog.at_level(logging.WARNING, logger="nr_llm"):
            body_of(request)
            body_of(request)

        [record] = caplog.records
        assert name in record.getMessage()
        assert "properties.a.multipleOf" in record.getMessage()

    @pytest.mark.parametrize(
        ("choice", "config"),
        [
            ("auto", {"mode": "AUTO"}),
            ("none", {"mode": "NONE"}),
            ("required", {"mode": "ANY"}),
            ("add", {"mode": "ANY", "allowedFunctionNames": ["add"]}),
        ],
    )
    def test_a_choice_of_tools_is_a_mode(self, choice: str, config: dict[str, Any]) -> None:
        """A name is the only one allowed."""
        assert body_of(asked(tools=(ADD,), tool_choice=choice))["toolConfig"] == {"functionCallingConfig": config}

    def test_a_choice_without_tools_is_not_sent(self) -> None:
        """There is nothing to choose."""
        assert body_of(asked(tool_choice="required")).keys() == {"contents"}

    def test_a_tool_that_is_not_offered_cannot_be_chosen(self) -> None:
        """The service would answer with a riddle."""
        with pytest.raises(InvalidRequestError, match="'sub', a tool that is not offered"):
            body_of(asked(tools=(ADD,), tool_choice="sub"))

    def test_parallel_calls_cannot_be_switched(self, caplog: pytest.LogCaptureFixture) -> None:
        """The log says so once."""
        request = asked(tools=(ADD,), model=f"gemini-2.5-{uuid.uuid4()}", parallel_tool_calls=False)
        with caplog.at_level(logging.WARNING, logger="nr_llm"):
            body_of(request)
            body_of(request)

        assert "toolConfig" not in body_of(request)
        assert len([record for record in caplog.records if "parallel_tool_calls" in record.getMessage()]) == 1

    def test_a_form_for_the_answer(self) -> None:
        """JSON, by the schema as it is."""
        body = body_of(asked(response_schema=SCHEMA))

        assert body["generationConfig"] == {
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        }
