"""Parts of calls become calls that may run, and names travel both ways."""

from __future__ import annotations

import logging
from typing import Any

import attrs
import pytest
from nr_llm.codecs.calls import UNNAMED, CallParts, check_choice, declaring, demand_calls, tool_calls
from nr_llm.codecs.names import own_name, wire_name
from nr_llm.codecs.notes import say_left_out
from nr_llm.errors import InvalidRequestError, MissingToolCallError
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": []}, strict=True)


def asked(*messages: ChatMessage, tools: tuple[ToolSpec, ...] = (), **options: Any) -> CompletionRequest:
    """Return a request."""
    return CompletionRequest(
        model="m", messages=messages or (ChatMessage.user("x"),), tools=tools, options=Options(**options)
    )


def ids(parts: list[CallParts], request: CompletionRequest | None = None) -> list[str]:
    """Return the ids that calls get."""
    return [call.id for call in tool_calls(parts, request or asked(), cut=False)]


def test_ids_are_kept() -> None:
    """As the service gave them."""
    assert ids([("a", "f", {}), ("b", "f", {})]) == ["a", "b"]


@pytest.mark.lesson(143)
def test_missing_and_repeated_ids_are_made_up() -> None:
    """None is taken twice, also not one that comes later."""
    assert ids([(None, "f", {}), (None, "f", {})]) == ["call_0", "call_1"]
    assert ids([("a", "f", {}), ("a", "f", {})]) == ["a", "call_1"]
    assert ids([(None, "f", {}), ("call_0", "f", {})]) == ["call_1", "call_0"]


def test_ids_of_the_conversation_are_not_taken_again() -> None:
    """Another round of a service without ids is told from the one before."""
    turn = ChatMessage.assistant_tool_calls([ToolCall("call_0", "f")])
    before = (ChatMessage.user("x"), turn, ChatMessage.tool_result("call_0", "1"))

    assert ids([(None, "f", {}), (None, "f", {})], asked(*before)) == ["call_1", "call_2"]


def test_a_call_without_name_never_runs() -> None:
    """It is answered with an error."""
    [call] = tool_calls([("a", None, '{"x": 1}')], asked(), cut=False)

    assert (call.name, call.malformed) == (UNNAMED, '{"x": 1}')


@pytest.mark.parametrize(
    ("arguments", "cut", "malformed"),
    [("", True, ""), (None, True, "null"), ("", False, None), ({}, True, None), ('{"a"', True, '{"a"')],
)
def test_a_call_cut_before_its_arguments_never_runs(arguments: Any, cut: bool, malformed: str | None) -> None:
    """Nothing is not the same as no arguments."""
    [call] = tool_calls([("a", "f", arguments)], asked(), cut=cut)

    assert call.malformed == malformed


def test_nulls_that_a_strict_schema_asked_for_are_left_out() -> None:
    """The tool's own schema knows no null there."""
    [call] = tool_calls([("a", "add", {"a": None})], asked(tools=(ADD,)), cut=False)
    [broken] = tool_calls([("a", "add", "{")], asked(tools=(ADD,)), cut=False)

    assert (call.arguments, broken.malformed) == ({}, "{")


def test_a_call_that_was_required_is_missed() -> None:
    """Where one was, and only there."""
    demand_calls([], asked(tool_choice="required"), provider="p", finish="stop")
    demand_calls([], asked(tools=(ADD,), tool_choice="auto"), provider="p", finish="stop")
    demand_calls([ToolCall("a", "add")], asked(tools=(ADD,), tool_choice="add"), provider="p", finish="stop")
    lenient = attrs.evolve(asked(tools=(ADD,), tool_choice="add"), demanding=False)
    demand_calls([], lenient, provider="p", finish="stop")
    with pytest.raises(MissingToolCallError, match="tool_choice was 'add'"):
        demand_calls([], asked(tools=(ADD,), tool_choice="add"), provider="p", finish="stop")


def test_names_travel_both_ways() -> None:
    """What a service refuses is written otherwise, and read back."""
    odd = "a.b/c" * 30
    turn = ChatMessage.assistant_tool_calls([ToolCall("1", odd), ToolCall("2", "fine")])

    assert wire_name("fine") == "fine"
    assert len(wire_name(odd)) == 64
    assert own_name(wire_name(odd), [turn]) == odd
    assert own_name("fine", [turn]) == "fine"
    [call] = tool_calls([("a", wire_name(odd), {})], asked(turn), cut=False)
    assert call.name == odd


def test_what_is_left_out_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """For each model and setting."""
    with caplog.at_level(logging.WARNING, logger="nr_llm"):
        for _ in range(3):
            say_left_out("p-once", "m", "seed")

    assert [record.message for record in caplog.records] == ["p-once: model m takes no seed; it is left out."]


@pytest.mark.parametrize("choice", [None, "auto", "none", "required", "add"])
def test_a_choice_on_offer_is_fine(choice: str | None) -> None:
    """As is any that names no tool."""
    check_choice(asked(tools=(ADD,), tool_choice=choice), provider="p")


def test_a_choice_of_another_tool_is_refused() -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidRequestError, match="p: tool_choice names 'sub', a tool that is not offered"):
        check_choice(asked(tools=(ADD,), tool_choice="sub"), provider="p")


def test_withheld_tools_are_declared_and_not_offered() -> None:
    """To a form that can forbid calls."""
    request = attrs.evolve(asked(tool_choice="required", parallel_tool_calls=False), withheld=(ADD,))

    said = declaring(request)

    assert (said.tools, said.withheld, said.options) == ((ADD,), (), Options(tool_choice="none"))


@pytest.mark.parametrize("tools", [(), (ADD,)])
def test_a_request_with_nothing_withheld_stays_as_it_is(tools: tuple[ToolSpec, ...]) -> None:
    """Whatever it offers."""
    request = asked(tools=tools)

    assert declaring(request) is request
