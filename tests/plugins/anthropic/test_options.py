"""Options become fields of the body: what was set, what the service wants, and nothing that it refuses."""

from __future__ import annotations

import logging
from typing import Any

import attrs
import pytest
from nr_llm.codecs.notes import say_left_out
from nr_llm.errors import InvalidRequestError, InvalidValueError
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage
from nr_llm.specs import ToolSpec
from nr_llm_anthropic import AnthropicOptions

from tests.plugins.anthropic.replies import ADD, CODEC, MODEL, SIGNED, asked, body_of, called, payload, read, use

OLD, NEW = "claude-3-7-sonnet-latest", "claude-opus-4-6"
MARK = {"type": "ephemeral"}


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Collect what the log says, as if nothing had been said before."""
    say_left_out.cache_clear()
    caplog.set_level(logging.WARNING)
    return caplog


def test_nothing_that_was_not_set_is_sent() -> None:
    """But the number of tokens, without which the service refuses."""
    assert body_of(asked()) == {
        "model": MODEL,
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
    }


def test_each_setting_has_its_field() -> None:
    """By the service's own names."""
    own = AnthropicOptions(top_k=5, service_tier="auto", user_id="u")
    body = body_of(asked(own=own, temperature=0.5, top_p=0.9, max_tokens=7, stop=["END"], stream=True))

    del body["messages"]
    assert body == {
        "model": MODEL, "max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop_sequences": ["END"],
        "service_tier": "auto", "metadata": {"user_id": "u"}, "stream": True,
    }  # fmt: skip


@pytest.mark.parametrize("setting", ["seed", "frequency_penalty", "presence_penalty"])
def test_settings_the_service_lacks_are_left_out_and_said(setting: str, said: pytest.LogCaptureFixture) -> None:
    """Once for each model."""
    options: dict[str, Any] = {setting: 1}
    for _ in range(2):
        assert setting not in body_of(asked(**options))

    assert said.messages == [f"test: model {MODEL} takes no {setting}; it is left out."]


def test_blank_texts_to_stop_at_are_left_out_and_said(said: pytest.LogCaptureFixture) -> None:
    """The service refuses them."""
    assert body_of(asked(stop=[" ", "END"]))["stop_sequences"] == ["END"]
    assert "stop_sequences" not in body_of(asked(stop=["\n"]))
    assert len(said.messages) == 1


def test_a_temperature_above_one_is_refused() -> None:
    """The scale is another one than elsewhere."""
    with pytest.raises(InvalidRequestError, match="above 1"):
        CODEC.encode(asked(temperature=1.5))


def test_raw_fields_go_last_but_for_what_the_conversation_decides() -> None:
    """They may replace tools and instructions, never messages."""
    own = AnthropicOptions(raw={"max_tokens": 9, "tools": [], "system": "S", "messages": [], "stream": True, "x": 1})
    body = body_of(asked(ChatMessage.system("Be brief."), ChatMessage.user("Hi"), tools=(ADD,), own=own))

    assert (body["max_tokens"], body["tools"], body["system"], body["x"]) == (9, [], "S", 1)
    assert len(body["messages"]) == 1
    assert "stream" not in body


class TestThinking:
    @pytest.mark.parametrize(
        ("own", "options", "sent"),
        [
            ({"thinking_budget": 2000}, {}, {"type": "enabled", "budget_tokens": 2000}),
            ({"thinking": "adaptive"}, {"reasoning_effort": "low"}, {"type": "adaptive"}),
            ({"thinking": "disabled"}, {}, {"type": "disabled"}),
            ({}, {"reasoning_effort": "none"}, {"type": "disabled"}),
            ({}, {"reasoning_effort": "low"}, {"type": "enabled", "budget_tokens": 2048}),
            ({}, {"reasoning_effort": "low", "model": NEW}, {"type": "adaptive"}),
            ({}, {"reasoning_effort": "low", "model": "own"}, {"type": "enabled", "budget_tokens": 2048}),
            ({}, {"reasoning_effort": "max", "model": "claude-opus-4-1"}, {"type": "enabled", "budget_tokens": 27_904}),
            ({}, {}, None),
        ],
    )
    def test_it_is_asked_for_as_the_model_takes_it(
        self, own: dict[str, Any], options: dict[str, Any], sent: dict[str, Any] | None
    ) -> None:
        """A budget for older models, their own judgement for newer ones."""
        assert body_of(asked(own=AnthropicOptions(**own), **options)).get("thinking") == sent

    @pytest.mark.parametrize(
        ("model", "own", "effort", "sent"),
        [(NEW, None, "low", "low"), (NEW, "max", "low", "max"), (MODEL, None, "low", None), (NEW, None, "none", None)],
    )
    def test_effort_goes_to_models_that_take_it(
        self, model: str, own: str | None, effort: str, sent: str | None
    ) -> None:
        """Or where it was set for this service."""
        body = body_of(asked(own=AnthropicOptions(effort=own), reasoning_effort=effort, model=model))

        assert body.get("output_config", {}).get("effort") == sent

    def test_an_unknown_effort_is_refused_where_it_has_to_be_a_number(self) -> None:
        """With the known ones, under the provider's name."""
        with pytest.raises(InvalidRequestError, match=r"test: reasoning_effort 'lots' is none of minimal, low"):
            CODEC.encode(asked(reasoning_effort="lots"))

    @pytest.mark.parametrize(("model", "most"), [(OLD, 34_096), ("own", 34_096)])
    def test_there_is_room_for_an_answer_beside_it(self, model: str, most: int) -> None:
        """Where the caller set no bound."""
        assert body_of(asked(own=AnthropicOptions(thinking_budget=30_000), model=model))["max_tokens"] == most

    def test_a_bound_that_leaves_no_room_is_refused(self) -> None:
        """The service would refuse it."""
        own = AnthropicOptions(thinking_budget=2000)

        assert body_of(asked(own=own, max_tokens=2001))["max_tokens"] == 2001
        with pytest.raises(InvalidRequestError, match="leaves no room"):
            CODEC.encode(asked(own=own, max_tokens=2000))

    def test_sampling_that_goes_not_with_it_is_left_out_and_said(self, said: pytest.LogCaptureFixture) -> None:
        """A temperature of 1 is what it means anyway."""
        own = AnthropicOptions(thinking="adaptive", top_k=1)

        body = body_of(asked(own=own, temperature=0.5, top_p=0.5))
        assert not {"temperature", "top_p", "top_k"} & body.keys()
        assert [message.split(" takes no ")[1].split()[0] for message in said.messages] == [
            "temperature",
            "top_p",
            "top_k",
        ]

        said.clear()
        assert body_of(asked(own=AnthropicOptions(thinking="adaptive"), temperature=1, top_p=0.95))["top_p"] == 0.95
        assert said.messages == []

    @pytest.mark.parametrize(("choice", "fine"), [("auto", True), ("none", True), ("required", False), ("add", False)])
    def test_a_tool_cannot_be_forced_beside_it(self, choice: str, fine: bool) -> None:
        """The error says what to set."""
        request = asked(tools=(ADD,), tool_choice=choice, reasoning_effort="low")
        if fine:
            assert body_of(request)["tool_choice"] == {"type": choice}
        else:
            with pytest.raises(InvalidRequestError, match="cannot be forced while the model thinks"):
                CODEC.encode(request)

    def test_a_wish_for_a_tool_is_not_said_beside_it(self) -> None:
        """The answer of a run is judged, and asked for once more where the model does not call its tool."""
        request = asked(tools=(ADD,), tool_choice="add", reasoning_effort="low", parallel_tool_calls=False)
        wished = body_of(attrs.evolve(request, demanding=False))

        assert wished["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}

    def test_it_is_left_out_after_calls_that_were_made_without_it(self, said: pytest.LogCaptureFixture) -> None:
        """The service refuses a turn of calls that does not begin with thinking; another service's has none."""
        asking = (ChatMessage.user("Hi"), called("c"), ChatMessage.system("Be kind."), ChatMessage.user("?"))
        messages = (*asking[:2], ChatMessage.tool_result("c", "2"), *asking[2:])

        body = body_of(asked(*messages, reasoning_effort="low", temperature=0.5))

        assert "thinking" not in body
        assert body["temperature"] == 0.5
        assert len(said.messages) == 1

    def test_it_goes_on_after_calls_that_began_with_it(self) -> None:
        """And after turns without calls."""
        request = asked(reasoning_effort="low")
        turn = read(payload(SIGNED, use({"a": 1})), request).to_message()
        messages = (ChatMessage.user("Hi"), turn, ChatMessage.tool_result("toolu_1", "2"))

        assert "thinking" in body_of(asked(*messages, reasoning_effort="low"))
        assert "thinking" in body_of(
            asked(*messages, ChatMessage.assistant("So"), ChatMessage.user("?"), reasoning_effort="low")
        )


class TestTools:
    def test_a_tool_is_declared_with_its_schema(self) -> None:
        """Its root is an object, without what the service refuses there; empty objects stay objects."""
        odd = ToolSpec("odd", "", {"type": "object", "properties": {}, "anyOf": [{"required": ["a"]}]})

        [add, other] = body_of(asked(tools=(ADD, odd)))["tools"]

        assert add == {"name": "add", "description": "Add.", "input_schema": ADD.parameters}
        assert other["input_schema"] == {"type": "object", "properties": {}}

    @pytest.mark.parametrize(
        ("choice", "parallel", "sent"),
        [
            (None, None, None),
            (None, True, None),
            (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
            ("auto", None, {"type": "auto"}),
            ("none", False, {"type": "none"}),
            ("required", None, {"type": "any"}),
            ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
            ("add", None, {"type": "tool", "name": "add"}),
        ],
    )
    def test_a_choice_is_an_object(
        self, choice: str | None, parallel: bool | None, sent: dict[str, Any] | None
    ) -> None:
        """Which also says whether one call is enough."""
        body = body_of(asked(tools=(ADD,), tool_choice=choice, parallel_tool_calls=parallel))

        assert body.get("tool_choice") == sent

    def test_a_choice_without_tools_is_not_sent(self) -> None:
        """The service refuses it."""
        assert not {"tools", "tool_choice"} & body_of(asked(tool_choice="required")).keys()

    def test_a_tool_that_is_not_offered_cannot_be_chosen(self) -> None:
        """Before anything is sent."""
        with pytest.raises(InvalidRequestError, match="'mul', a tool that is not offered"):
            CODEC.encode(asked(tools=(ADD,), tool_choice="mul"))


class TestAnswers:
    def test_the_length_of_a_list_is_left_out_where_it_cannot_be_said(self) -> None:
        """The service knows none and one as the least; the answer is checked here all the same."""
        schema = {"type": "object", "properties": {n: {"type": "array", "minItems": int(n)} for n in "012"}}
        made = body_of(asked(response_schema=schema))["output_config"]["format"]["schema"]["properties"]

        assert [part.get("minItems") for part in made.values()] == [0, 1, None]

    def test_the_schema_of_an_answer_is_one_the_service_takes(self) -> None:
        """Objects are closed; limits it cannot hold a model to are left to the check of the answer."""
        place = {
            "type": "object",
            "properties": {"minimum": {"type": "integer", "minimum": 1}},
            "required": ["minimum"],
        }
        schema = {
            "type": "object",
            "properties": {"at": {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}]}, "a": {"enum": [{"minimum": 1}]}},
            "$defs": {"P": place},
        }

        body = body_of(asked(response_schema=schema))

        closed = {"additionalProperties": False}
        assert body["output_config"]["format"] == {
            "type": "json_schema",
            "schema": {
                **schema,
                **closed,
                "$defs": {"P": {**place, **closed, "properties": {"minimum": {"type": "integer"}}}},
            },
        }


class TestCache:
    def test_tools_instructions_and_the_last_turn_are_marked(self) -> None:
        """Nothing else, so that four marks are never exceeded."""
        own = AnthropicOptions(cache="auto")
        messages = (
            ChatMessage.system("Be brief."),
            ChatMessage.user("Hi"),
            ChatMessage.assistant("Yes"),
            ChatMessage.user("?"),
        )

        body = body_of(asked(*messages, tools=(ADD, ToolSpec("b", "", {})), own=own))

        assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]
        assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
        marks = [block.get("cache_control") for turn in body["messages"] for block in turn["content"]]
        assert marks == [None, None, MARK]

    def test_how_long_it_is_kept_can_be_said(self) -> None:
        """By the mark."""
        own = AnthropicOptions(cache="auto", cache_ttl="1h")

        assert body_of(asked(own=own))["messages"][0]["content"][0]["cache_control"] == {**MARK, "ttl": "1h"}

    def test_a_memo_keeps_no_old_mark(self) -> None:
        """The mark moves to the new end."""
        memo, own = Memo(), AnthropicOptions(cache="auto")
        messages = (ChatMessage.user("Hi"), ChatMessage.assistant("Yes"), ChatMessage.user("?"))
        for count in (1, 2, 3):
            request = asked(*messages[:count], tools=(ADD,), own=own)
            assert CODEC.encode(request, memo) == CODEC.encode(request)

    def test_a_memo_serves_requests_with_and_without_marks(self) -> None:
        """The tools are encoded once; how long they are kept may change."""
        memo, tools = Memo(), (ADD,)
        for own in (None, AnthropicOptions(cache="auto"), AnthropicOptions(cache="auto", cache_ttl="1h"), None):
            request = asked(tools=tools, own=own)
            assert CODEC.encode(request, memo) == CODEC.encode(request)


@pytest.mark.parametrize(
    "wrong", [{"thinking": "on"}, {"thinking_budget": 1023}, {"cache": "on"}, {"cache_ttl": "2h"}, {"top_k": 0}]
)
def test_a_wrong_value_is_refused_where_it_is_set(wrong: dict[str, Any]) -> None:
    """The error names the setting."""
    with pytest.raises(InvalidValueError, match=next(iter(wrong))):
        AnthropicOptions(**wrong)


def test_betas_are_named_once_in_a_header() -> None:
    """Those of the request after those of the service."""
    import attrs

    codec = attrs.evolve(CODEC, betas=("a",), headers=(("x", "y"),))

    headers = codec.encode(asked(own=AnthropicOptions(betas="b"))).headers
    assert headers == (("content-type", "application/json"), ("x", "y"), ("anthropic-beta", "a,b"))
    assert dict(codec.encode(asked(own=AnthropicOptions(betas=("a",)))).headers)["anthropic-beta"] == "a"
    assert "anthropic-beta" not in dict(CODEC.encode(asked()).headers)
