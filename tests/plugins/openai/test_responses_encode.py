"""Conversations become items of the Responses form: nothing invented, nothing lost."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import attrs
import pytest
from nr_llm.errors import InvalidRequestError, InvalidValueError, NrLlmError
from nr_llm.memo import Memo
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.specs import ToolSpec
from nr_llm_openai import OpenAIOptions

from tests.corpus.oracle import checker
from tests.plugins.openai.outputs import CODEC, called, read, refused, said, sent, thought
from tests.plugins.openai.replies import ADD, asked

HELLO = ChatMessage.user("Hello")
SEALED = ["reasoning.encrypted_content"]
CITED = {
    "type": "output_text",
    "text": "Hi",
    "annotations": [{"type": "url_citation", "url": "https://host", "title": "T", "start_index": 0, "end_index": 2}],
}


def own(**settings: Any) -> OpenAIOptions:
    """Return options of this provider."""
    return OpenAIOptions(**settings)


class TestItems:
    def test_a_conversation_is_a_flat_list(self) -> None:
        """Calls and results stand beside the turns, several of each, paired by the call's id."""
        calls = [ToolCall("c1", "add", {"a": 1}), ToolCall("c2", "add", {})]
        turn = ChatMessage.assistant_tool_calls(calls, "Let me see.")

        body = sent(
            ChatMessage.system("Be kind."),
            HELLO,
            turn,
            ChatMessage.tool_result("c2", "two"),
            ChatMessage.tool_result("c1", ""),
        )

        assert body["input"] == [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Let me see."},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
            {"type": "function_call", "call_id": "c2", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c2", "output": "two"},
            {"type": "function_call_output", "call_id": "c1", "output": ""},
        ]

    def test_files_are_parts(self) -> None:
        """Images and documents, by bytes or by address; the address of an image is a plain text."""
        body = sent(
            ChatMessage.user(
                "See",
                Attachment("image/png", b"x"),
                Attachment("image/*", url="https://h/a.png"),
                Attachment("application/pdf", b"x"),
                Attachment("application/pdf", b"x", name="a.pdf"),
                Attachment("application/pdf", url="https://h/a.pdf"),
            ),
            ChatMessage.user("", Attachment("image/png", b"x")),
        )

        image = {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "auto"}
        data = "data:application/pdf;base64,eA=="
        assert body["input"][0]["content"] == [
            {"type": "input_text", "text": "See"},
            image,
            {"type": "input_image", "image_url": "https://h/a.png", "detail": "auto"},
            {"type": "input_file", "filename": "document.pdf", "file_data": data},
            {"type": "input_file", "filename": "a.pdf", "file_data": data},
            {"type": "input_file", "file_url": "https://h/a.pdf"},
        ]
        assert body["input"][1]["content"] == [image]

    def test_sound_is_refused(self) -> None:
        """The form has no part for it."""
        with pytest.raises(InvalidRequestError, match="no 'audio/wav' can be sent; images and documents can"):
            sent(ChatMessage.user("x", Attachment("audio/wav", b"x")))

    def test_ids_that_are_too_long_are_replaced_alike(self) -> None:
        """In a call and its result."""
        long = "x" * 65
        items = sent(ChatMessage.assistant_tool_calls([ToolCall(long, "add")]), ChatMessage.tool_result(long, "1"))

        assert items["input"][0]["call_id"] == items["input"][1]["call_id"]
        assert len(items["input"][0]["call_id"]) <= 64

    def test_nothing_to_say_is_refused(self) -> None:
        """Also where the one turn is empty; a call without its result is refused too."""
        with pytest.raises(InvalidValueError, match="no message to send"):
            sent(ChatMessage.assistant(""))
        with pytest.raises(InvalidValueError, match="c1"):
            sent(ChatMessage.assistant_tool_calls([ToolCall("c1", "add")]), HELLO)


class TestReplay:
    def test_reasoning_goes_back_sealed_with_its_call(self) -> None:
        """Without ids, which a service that keeps nothing does not know."""
        turn = read(thought(), called()).to_message()

        items = sent(HELLO, turn, ChatMessage.tool_result("call_1", "1"))["input"]

        assert [item.get("type") for item in items] == [None, "reasoning", "function_call", "function_call_output"]
        assert items[1] == {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "sealed",
        }
        assert "id" not in items[2]

    def test_reasoning_that_cannot_be_read_back_stays_here(self) -> None:
        """Unsealed, or with nothing after it."""
        unsealed = read(thought(encrypted_content=None), called()).to_message()
        alone = read(said("Hi"), thought()).to_message()

        assert sent(unsealed, ChatMessage.tool_result("call_1", "1"))["input"][0]["type"] == "function_call"
        assert [item["type"] for item in sent(alone)["input"]] == ["message"]

    @pytest.mark.parametrize(
        ("items", "words"),
        [
            ((thought(), said("Hi")), "Hi"),
            ((thought(), refused("I cannot.")), "I cannot."),
            ((thought(), said("Hi", content=[CITED], phase="commentary")), "Hi"),
        ],
        ids=["text", "refusal", "citations"],
    )
    def test_messages_go_back_as_what_the_service_does_not_keep(
        self, items: tuple[dict[str, Any], ...], words: str
    ) -> None:
        """Without what only its own copies may have; its request types find nothing to object to."""
        body = sent(HELLO, read(*items).to_message(content=words), HELLO)

        assert body["input"][2]["content"] == [{"type": "output_text", "text": words}]
        assert body["input"][2].get("phase") == items[1].get("phase")
        assert checker("openai_responses", "openai", "/v1/responses")(body) == []

    def test_items_of_the_service_s_own_survive(self) -> None:
        """As they came."""
        search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
        turn = read(search, said("Found.")).to_message()

        items = sent(turn, HELLO)["input"]

        assert items[0] == search
        assert items[1]["content"][0]["text"] == "Found."

    def test_a_changed_text_goes_before_what_was_kept(self) -> None:
        """Reasoning that led to other words is left out; calls keep theirs."""
        answer = read(thought(), said("Old")).to_message()
        with_call = read(said("Old"), said("Older"), thought(), called()).to_message()
        result = ChatMessage.tool_result("call_1", "1")

        assert sent(attrs.evolve(answer, content=""), HELLO)["input"] == [{"role": "user", "content": "Hello"}]
        items = sent(attrs.evolve(with_call, content="New"), result)["input"]
        assert items[0] == {"role": "assistant", "content": "New"}
        assert [item["type"] for item in items[1:]] == ["reasoning", "function_call", "function_call_output"]

    def test_changed_calls_are_sent_as_they_are_now(self) -> None:
        """State that tells of other calls is dropped."""
        turn = read(thought(), called()).to_message()
        fewer = attrs.evolve(turn, tool_calls=None, content="None needed.")

        assert sent(fewer, HELLO)["input"][0] == {"role": "assistant", "content": "None needed."}

    def test_another_provider_s_state_is_not_sent(self) -> None:
        """It goes back to its own service only."""
        turn = read(thought(), called()).to_message()
        other = attrs.evolve(CODEC, provider="other")

        body = other.encode(asked(turn, ChatMessage.tool_result("call_1", "1"))).body

        assert b"sealed" not in body


class TestSettings:
    def test_only_what_is_set_is_sent(self) -> None:
        """And that the service keeps nothing."""
        assert sent(HELLO) == {"model": "m", "store": False, "input": [{"role": "user", "content": "Hello"}]}

    def test_options_have_their_names(self) -> None:
        """Flat tools, a named choice, a schema, effort and more."""
        schema = {"type": "object", "properties": {}, "title": "Thing"}
        body = sent(
            HELLO,
            tools=(ADD,),
            tool_choice="add",
            parallel_tool_calls=False,
            max_tokens=5,
            temperature=0.5,
            top_p=0.5,
            response_schema=schema,
            stream=True,
            provider_options=own(
                verbosity="low", service_tier="flex", prompt_cache_key="k", safety_identifier="s", metadata={"a": "b"}
            ),
        )

        [tool] = body.pop("tools")
        assert (tool["type"], tool["name"], tool["strict"]) == ("function", "add", False)
        assert body["text"]["format"]["type"] == "json_schema"
        assert body["text"]["format"]["name"] == "Thing"
        assert body["text"]["verbosity"] == "low"
        assert body["tool_choice"] == {"type": "function", "name": "add"}
        plain = {name: body[name] for name in ("parallel_tool_calls", "max_output_tokens", "temperature", "top_p")}
        assert plain == {"parallel_tool_calls": False, "max_output_tokens": 5, "temperature": 0.5, "top_p": 0.5}
        assert (body["service_tier"], body["prompt_cache_key"], body["stream"]) == ("flex", "k", True)
        assert (body["safety_identifier"], body["metadata"]) == ("s", {"a": "b"})

    @pytest.mark.lesson(60, 61)
    def test_strict_tools_have_their_strict_form(self) -> None:
        """One without it is sent as an ordinary one, and says so."""
        fits = ToolSpec("f", "", ADD.parameters, strict=True)
        unfit = ToolSpec("u", "", {"type": "object", "patternProperties": {"x": {"type": "string"}}}, strict=True)

        strict, loose = sent(HELLO, tools=(fits, unfit))["tools"]

        assert (strict["strict"], strict["parameters"]["additionalProperties"]) == (True, False)
        assert loose["strict"] is False

    @pytest.mark.parametrize("word", ["auto", "none", "required"])
    def test_choices_keep_their_words(self, word: str) -> None:
        """They are the service's own."""
        assert sent(HELLO, tools=(ADD,), tool_choice=word)["tool_choice"] == word

    def test_a_choice_nobody_offers_is_refused(self) -> None:
        """Before anything is sent."""
        with pytest.raises(InvalidRequestError, match="tool_choice names 'mul'"):
            sent(HELLO, tools=(ADD,), tool_choice="mul")

    @pytest.mark.parametrize(
        ("options", "reasoning", "include"),
        [
            ({"model": "gpt-5"}, None, SEALED),
            ({"model": "gpt-4o"}, None, None),
            ({"reasoning_effort": "low"}, {"effort": "low"}, SEALED),
            ({"provider_options": own(reasoning_summary="auto")}, {"summary": "auto"}, SEALED),
            ({"model": "gpt-5", "provider_options": own(store=True)}, None, SEALED),
            ({"model": "gpt-5", "provider_options": own(chained=True)}, None, None),
        ],
    )
    def test_reasoning_is_asked_for_sealed(self, options: dict[str, Any], reasoning: Any, include: Any) -> None:
        """Wherever there may be some, unless the service goes on from its own copy."""
        body = sent(HELLO, **options)

        assert (body.get("reasoning"), body.get("include")) == (reasoning, include)

    def test_what_the_form_lacks_is_left_out_with_a_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        """Once for each model and setting."""
        model = f"gpt-5-{uuid.uuid4()}"
        with caplog.at_level(logging.WARNING, logger="nr_llm"):
            for _ in range(2):
                body = sent(HELLO, model=model, seed=1, stop="x", temperature=0.5)

        assert body.keys() == {"model", "store", "include", "input"}
        assert [record.getMessage().partition(" takes ")[2].split(";")[0] for record in caplog.records] == [
            "no stop",
            "no seed",
            "no temperature",
        ]

    def test_raw_fields_are_merged_last(self) -> None:
        """Except those that the conversation and the transport decide."""
        raw = {"truncation": "auto", "store": True, "input": [], "stream": True, "tools": [{"type": "web_search"}]}
        body = sent(HELLO, tools=(ADD,), provider_options=own(raw=raw))

        assert (body["truncation"], body["store"], body["tools"]) == ("auto", True, [{"type": "web_search"}])
        assert body["input"] == [{"role": "user", "content": "Hello"}]
        assert "stream" not in body

    def test_an_unknown_option_is_refused_with_a_suggestion(self) -> None:
        """A slip of the pen is not sent into the void."""
        with pytest.raises(NrLlmError, match="service_tier"):
            sent(HELLO, provider_options={"openai": {"service_teir": "flex"}})


class TestChain:
    def test_only_what_is_new_is_sent(self) -> None:
        """The service goes on from the last answer that it kept."""
        options: dict[str, Any] = {"provider_options": own(chained=True)}
        request = asked(HELLO, **options)
        turn = read(called(), request=request).to_message()
        result = ChatMessage.tool_result("call_1", "1")

        body = sent(HELLO, turn, result, **options)

        assert body["previous_response_id"] == "resp_1"
        assert body["store"] is True
        assert body["input"] == [{"type": "function_call_output", "call_id": "call_1", "output": "1"}]

    def test_the_first_request_sends_all(self) -> None:
        """There is nothing to go on from; without the option an id is not even kept."""
        body = sent(HELLO, provider_options=own(chained=True))

        assert "previous_response_id" not in body
        assert len(body["input"]) == 1
        assert read(called()).to_message().provider_state == {}


def test_a_memo_changes_no_byte() -> None:
    """Round by round, tools included."""
    memo = Memo()
    turn = read(thought(), called()).to_message()
    messages = (HELLO, turn, ChatMessage.tool_result("call_1", "1"), ChatMessage.user("And?"))

    for end in (1, 3, 4, 3):
        request = asked(*messages[:end], tools=(ADD,))
        assert CODEC.encode(request, memo) == CODEC.encode(request)
