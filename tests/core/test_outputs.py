"""An answer of a given form: asked for natively or by a forced tool, checked, handed back once."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from contextlib import suppress
from typing import Any, TypedDict

import attrs
import pytest
from nr_llm import (
    Complete,
    CompletionResponse,
    InvalidOutputError,
    InvalidSchemaError,
    MalformedJsonError,
    Options,
    Plan,
    RunResult,
    RunState,
    Runtime,
    Suspended,
    TerminationReason,
    TextDelta,
    Tool,
    Toolbox,
    ToolCall,
    output_of,
    tool,
)
from nr_llm._answering import Answering
from nr_llm._loop import dry_run, tool_loop
from nr_llm._schema import ArgumentsError
from nr_llm.conversation import check_pairs
from nr_llm.outputs import Output
from nr_llm.responses import FinishReason
from nr_llm.testing import ScriptedProvider, calling

from tests.core.flows import Driven, state, text


@attrs.frozen
class Invoice:
    """An invoice somebody sent."""

    number: str
    total: float


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Row(TypedDict):
    name: str


SCHEMA = {"type": "object", "description": "A thing.", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
GOOD = '{"number": "7", "total": 9.5}'
BAD = '{"number": "7", "totl": 9.5}'


@tool
def look(what: str = "") -> str:
    """Look."""
    return what


class TestForms:
    @pytest.mark.parametrize(
        ("kind", "answer", "value"),
        [
            (Invoice, GOOD, Invoice("7", 9.5)),
            (Point, '{"x": 1}', Point(1)),
            (Row, '{"name": "a"}', {"name": "a"}),
            (SCHEMA, '{"n": 1}', {"n": 1}),
            (list[Point], '{"answer": [{"x": 1}, {"x": 2, "y": 3}]}', [Point(1), Point(2, 3)]),
            (int, '{"answer": 5}', 5),
            (bool | None, '{"answer": null}', None),
        ],
    )
    def test_a_form_reads_its_answers(self, kind: Any, answer: str, value: object) -> None:
        """Classes, TypedDicts, JSON Schemas, and values that are no objects in a wrapping of ours."""
        output = output_of(kind)

        assert output.read(answer) == value
        assert output.read(f"```json\n{answer}\n```\n") == value
        assert output.schema["type"] == "object"
        assert output_of(output) is output

    def test_what_a_type_says_of_itself_is_told(self) -> None:
        """A docstring, or the schema's description."""
        assert output_of(Invoice).description == "An invoice somebody sent."
        assert output_of(SCHEMA).description == "A thing."
        assert output_of({"type": "object"}).description == ""
        assert output_of(int).description == ""

    @pytest.mark.parametrize(
        ("kind", "answer", "error"),
        [
            (Invoice, BAD, ArgumentsError),
            (Invoice, "[]", ArgumentsError),
            (Invoice, "Seven.", MalformedJsonError),
            (Invoice, "", MalformedJsonError),
            (SCHEMA, '{"n": "x"}', ArgumentsError),
            (SCHEMA, "[1]", MalformedJsonError),
            (int, "5", ArgumentsError),
            (int, '{"answer": 5, "more": 1}', ArgumentsError),
        ],
    )
    def test_what_does_not_fit_is_refused(self, kind: Any, answer: str, error: type[Exception]) -> None:
        """Whatever a service promised."""
        with pytest.raises(error):
            output_of(kind).read(answer)

    @pytest.mark.parametrize("kind", [None, "Invoice", object(), {"type": "array"}, complex])
    def test_what_is_no_form_is_refused_at_once(self, kind: Any) -> None:
        """Before anything is sent."""
        with pytest.raises(InvalidSchemaError):
            output_of(kind)


def planned(*tools: Tool, native: bool = False, kind: Any = Invoice) -> Plan:
    """Return a plan whose answer has a form."""
    toolbox = Toolbox.of(tools)
    answering = Answering.by(output_of(kind), native=native, taken=toolbox.offered)
    return Plan(toolbox=toolbox, model="m", answering=answering)


def run(replies: list[CompletionResponse], *tools: Tool, native: bool = False, **fields: Any) -> Driven:
    """Drive a run to its end."""
    return Driven(tool_loop(state(**fields), planned(*tools, native=native)), replies)


def answer(arguments: str, name: str = "final_answer", call_id: str = "a") -> CompletionResponse:
    """Return a reply that gives the answer by the forced tool."""
    call = ToolCall.from_wire({"id": call_id, "function": {"name": name, "arguments": arguments}})
    return CompletionResponse(tool_calls=(call,), finish_reason=FinishReason.TOOL_CALLS)


def requests(driven: Driven) -> list[Any]:
    """Return what the model was asked."""
    return [effect.request for effect in driven.effects if isinstance(effect, Complete)]


class TestNative:
    def test_the_schema_goes_with_each_request(self) -> None:
        """And the answer is read into the value."""
        driven = run([calling(("look", {})), text(GOOD)], look, native=True)

        assert [request.options.response_schema for request in requests(driven)] == [output_of(Invoice).schema] * 2
        assert [[spec.name for spec in request.tools] for request in requests(driven)] == [["look"]] * 2
        assert driven.outcome.output == Invoice("7", 9.5)
        assert (driven.outcome.content, driven.outcome.reason) == (GOOD, TerminationReason.COMPLETED)

    def test_an_answer_that_does_not_fit_is_handed_back_once(self) -> None:
        """With every fault by its path."""
        driven = run([text(BAD), text(GOOD)], native=True)

        asked = requests(driven)[1].messages[-1].content
        assert "total: missing" in asked
        assert "totl: " in asked
        assert driven.outcome.output == Invoice("7", 9.5)
        assert driven.outcome.rounds == 2

    def test_the_second_failure_is_a_typed_error(self) -> None:
        """Two requests, never three; the state says that the run failed."""
        with pytest.raises(InvalidOutputError, match="also after it was told so: number: missing") as caught:
            run([text(BAD), text("{}")], native=True)

        assert caught.value.provider == "scripted"
        assert len(caught.value.faults) == 2

    @pytest.mark.parametrize("reason", [FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.ERROR])
    def test_a_run_that_ended_otherwise_has_no_answer(self, reason: FinishReason) -> None:
        """Cut or refused text is not handed back as if it were one."""
        driven = run([text('{"number', finish_reason=reason)], native=True)

        assert driven.outcome.output is None
        assert driven.outcome.truncated

    def test_the_closing_request_asks_for_the_form_too(self) -> None:
        """A run out of rounds still answers."""
        from nr_llm import Limits

        driven = run([calling(("look", {})), text(GOOD)], look, native=True, limits=Limits(rounds=1))

        assert driven.outcome.reason is TerminationReason.MAX_ROUNDS
        assert driven.outcome.output == Invoice("7", 9.5)


class TestForcedTool:
    def test_without_other_tools_it_is_forced_at_once(self) -> None:
        """Its arguments are the answer, and the history stays valid."""
        driven = run([answer(GOOD)])

        [request] = requests(driven)
        assert [spec.name for spec in request.tools] == ["final_answer"]
        assert "An invoice somebody sent." in request.tools[0].description
        assert (request.options.tool_choice, request.options.response_schema) == ("final_answer", None)
        assert driven.outcome.output == Invoice("7", 9.5)
        assert json.loads(driven.outcome.content) == json.loads(GOOD)
        assert driven.outcome.invocations == ()
        check_pairs(driven.outcome.messages)

    def test_beside_other_tools_the_model_may_choose(self) -> None:
        """Until it gives the answer."""
        driven = run([calling(("look", {})), answer(GOOD)], look)

        assert [request.options.tool_choice for request in requests(driven)] == [None, None]
        assert [i.name for i in driven.outcome.invocations] == ["look"]
        assert driven.outcome.output == Invoice("7", 9.5)

    def test_a_choice_of_no_tool_leaves_that_of_the_answer(self) -> None:
        """Nobody can answer otherwise."""
        driven = run([answer(GOOD)], look, options=Options(tool_choice="none"))

        assert requests(driven)[0].options.tool_choice == "final_answer"

    def test_text_in_place_of_the_answer_makes_it_due(self) -> None:
        """The next request forces it; that is no failure yet."""
        driven = run([text("It is 9.50."), answer(BAD), answer(GOOD)], look)

        assert [request.options.tool_choice for request in requests(driven)] == [None, "final_answer", "final_answer"]
        assert requests(driven)[1].messages[-1].content == "Now give the answer: call final_answer."
        assert driven.outcome.output == Invoice("7", 9.5)

    def test_text_that_is_the_answer_is_taken(self) -> None:
        """Models that know no tools write it out."""
        assert run([text(GOOD)], look).outcome.output == Invoice("7", 9.5)

    def test_text_where_the_answer_was_due_is_handed_back_once(self) -> None:
        """Then the run fails."""
        driven = run([text("x"), text("y"), answer(GOOD)], look)

        assert "call final_answer" in requests(driven)[2].messages[-1].content
        # No provider may take the text for an error before it is judged; it may where the caller forced a tool.
        assert [request.demanding for request in requests(driven)] == [True, False, False]
        with pytest.raises(InvalidOutputError, match="not JSON"):
            run([text("x"), text("y"), text("z")], look)

    def test_an_answer_that_does_not_fit_is_handed_back_once(self) -> None:
        """As an error of its call."""
        driven = run([answer(BAD), answer(GOOD, call_id="b")])

        handed = requests(driven)[1].messages[-1]
        assert (handed.tool_call_id, handed.is_error) == ("a", True)
        assert "total: missing" in handed.content
        assert driven.outcome.output == Invoice("7", 9.5)
        with pytest.raises(InvalidOutputError, match="number: missing"):
            run([answer(BAD), answer("{}", call_id="b")])

    def test_arguments_that_are_no_json_are_handed_back(self) -> None:
        """They are never taken as empty."""
        driven = run([answer('{"number": '), answer(GOOD, call_id="b")])

        assert "not JSON" in requests(driven)[1].messages[-1].content

    def test_an_answer_beside_other_calls_comes_too_early(self) -> None:
        """It cannot know their results; they run, and it is asked for again."""
        both = calling(("look", {}), ("final_answer", json.loads(GOOD)))
        driven = run([both, answer(GOOD)], look)

        results = {m.tool_call_id: m for m in requests(driven)[1].messages if m.tool_call_id}
        assert sorted(m.is_error for m in results.values()) == [False, True]
        assert [i.name for i in driven.outcome.invocations] == ["look"]
        assert driven.outcome.output == Invoice("7", 9.5)

    def test_of_two_answers_the_first_counts(self) -> None:
        """The other one is answered too."""
        two = calling(("final_answer", json.loads(GOOD)), ("final_answer", {"number": "8", "total": 1.0}))
        driven = run([two])

        assert driven.outcome.output == Invoice("7", 9.5)
        check_pairs(driven.outcome.messages)

    def test_the_closing_request_forces_it(self) -> None:
        """Also when the rounds are used up."""
        from nr_llm import Limits

        driven = run([calling(("look", {})), answer(GOOD)], look, limits=Limits(rounds=1))

        assert [spec.name for spec in requests(driven)[1].tools] == ["final_answer"]
        assert driven.outcome.reason is TerminationReason.MAX_ROUNDS
        assert driven.outcome.output == Invoice("7", 9.5)

    def test_a_model_that_calls_other_tools_for_ever_is_stopped(self) -> None:
        """The closing request offers none of them: their calls do not run, and an answer beside them counts."""
        from nr_llm import Limits

        def looking() -> CompletionResponse:
            return calling(("look", {}))

        limits, ran = Limits(rounds=1), [looking()] * 4
        with pytest.raises(InvalidOutputError, match="not JSON"):
            run(ran, look, limits=limits)
        driven = run([*ran[:2], answer(GOOD)], look, limits=limits)
        assert [i.name for i in driven.outcome.invocations] == ["look"]
        assert requests(driven)[2].messages[-1].content == "Now give the answer: call final_answer."

        both = attrs.evolve(
            answer(GOOD), tool_calls=(ToolCall("b", "look"), ToolCall("a", "final_answer", json.loads(GOOD)))
        )
        assert run([looking(), both], look, limits=limits).outcome.output == Invoice("7", 9.5)

    def test_its_name_is_nobody_else_s(self) -> None:
        """A tool may be called so already."""
        taken = ("final_answer", "final_answer_2")

        assert Answering.by(output_of(int), native=False, taken=taken).spec.name == "final_answer_3"

    def test_a_dry_run_shows_it(self) -> None:
        """As everything the first request would offer."""
        driven = Driven(dry_run(state(), planned(look)), [])

        [step] = [e.step for e in driven.effects if e.step is not None]
        assert step.tool_specs == ("look", "final_answer")
        assert driven.outcome.output is None


def test_a_failed_run_is_over_at_every_checkpoint() -> None:
    """Restarting from the last one asks nobody again."""
    flow = tool_loop(state(), planned(native=True))
    states: list[RunState] = []
    with pytest.raises(InvalidOutputError):
        effect = next(flow)
        replies = iter([text("x"), text("y")])
        while True:
            if isinstance(effect, Complete):
                effect = flow.send(next(replies))
            else:
                states.append(effect.state)
                effect = flow.send(None)

    again = Driven(tool_loop(RunState.from_json(states[-1].to_json()), planned(native=True)), [])

    assert (again.outcome.reason, again.outcome.output) == (TerminationReason.FAILED, None)


def test_a_form_of_one_s_own() -> None:
    """Whoever reads answers in another way passes an `Output`."""
    own = Output(schema={"type": "object"}, structure=sorted)

    assert output_of(own).read('{"b": 1, "a": 2}') == ["a", "b"]


class TestRuntime:
    @pytest.mark.parametrize("known", ["native", "closed", "alone", "none", None])
    @pytest.mark.parametrize("tools", [(), (look,)], ids=["alone", "with-tools"])
    def test_the_way_is_the_model_s(self, known: Any, tools: tuple[Tool, ...]) -> None:
        """Natively where its service can, by a forced tool otherwise; with tools and without."""
        native = known in ("native", "closed") or (known == "alone" and not tools)
        provider = ScriptedProvider(text(GOOD) if native else answer(GOOD), structured_output=known)
        with Runtime(providers=[provider], model="scripted:m", tools=tools) as runtime:
            result = runtime.run("?", output=Invoice, tools=list(tools))

        assert isinstance(result, RunResult)
        assert result.output == Invoice("7", 9.5)
        assert (provider.requests[0].options.response_schema is not None) is native

    @pytest.mark.parametrize(
        ("kind", "closed"),
        [
            (Invoice, True),
            (list[int], True),
            (dict[str, int], False),
            (list[dict[str, Any]], False),
            (Any, False),
            ({"type": "object", "properties": {"type": {"enum": [True]}}}, True),
            ({"type": "object", "additionalProperties": False}, True),
            ({"type": "object"}, False),
            ({"type": "object", "properties": {"a": {"type": ["object", "null"]}}}, False),
            ({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": True}, False),
            ({"type": "object", "properties": {"a": True}}, False),
            ({"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "object"}]}}}, False),
        ],
    )
    def test_a_service_that_closes_objects_is_held_to_closed_forms_only(self, kind: Any, closed: bool) -> None:
        """Of an open object it would leave nothing; the tool of the answer has it whole."""
        output = output_of(kind)
        assert output.closed is closed
        reply = text("{}") if closed else answer("{}")
        provider = ScriptedProvider(*[reply] * 2, structured_output="closed")
        with Runtime(providers=[provider], model="scripted:m") as runtime, suppress(InvalidOutputError):
            runtime.run("?", output=output)

        assert (provider.requests[0].options.response_schema is not None) is closed

    def test_both_colours_and_the_stream(self) -> None:
        """Deltas come as ever; the value is the outcome's."""
        provider = ScriptedProvider(text(GOOD), structured_output="native")
        with Runtime(providers=[provider], model="scripted:m") as runtime:
            later = asyncio.run(runtime.arun("?", output=Invoice))
            with runtime.stream("?", output=Invoice) as stream:
                shown = "".join(event.text for event in stream if isinstance(event, TextDelta))
                outcome = stream.outcome

        assert isinstance(later, RunResult)
        assert isinstance(outcome, RunResult)
        assert later.output == outcome.output == Invoice("7", 9.5)
        assert shown == GOOD

    def test_a_resumed_run_keeps_its_form(self) -> None:
        """As JSON in the state; the class, passed again, gives its value."""

        @tool(effect="write")
        def send() -> str:
            """Send."""
            return "sent"

        replies = [calling(("send", {})), answer(GOOD)]
        with Runtime(providers=[ScriptedProvider(*replies)], model="scripted:m", tools=[send]) as runtime:
            held = runtime.run("?", output=Invoice, tools=[send])
            assert isinstance(held, Suspended)
            kept = RunState.from_json(json.loads(json.dumps(held.state.to_json())))
            plain = runtime.resume(kept, verdicts=True)
            runtime.provider("scripted").script(answer(GOOD))  # type: ignore[attr-defined, union-attr]
            typed = runtime.resume(kept, verdicts=True, output=Invoice)

        assert isinstance(plain, RunResult)
        assert isinstance(typed, RunResult)
        assert plain.output == {"number": "7", "total": 9.5}
        assert typed.output == Invoice("7", 9.5)

    def test_a_failed_answer_carries_the_run(self) -> None:
        """The error has the state, valid as ever."""
        provider = ScriptedProvider(text(BAD), structured_output="native")
        with (
            Runtime(providers=[provider], model="scripted:m") as runtime,
            pytest.raises(InvalidOutputError) as caught,
        ):
            runtime.run("?", output=Invoice)

        assert caught.value.state is not None
        assert caught.value.state.reason is TerminationReason.FAILED
        assert len(provider.requests) == 2

    def test_no_form_no_value(self) -> None:
        """Any text is an answer then."""
        with Runtime(providers=[ScriptedProvider(text(GOOD))], model="scripted:m") as runtime:
            result = runtime.run("?")

        assert isinstance(result, RunResult)
        assert result.output is None
