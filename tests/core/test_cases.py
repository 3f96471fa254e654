"""Acceptance cases of a tool-calling framework that are about whole runs, one test each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm import (
    CallOutcome,
    ChatMessage,
    CompletionResponse,
    InvalidValueError,
    Invoke,
    Limits,
    PluginHost,
    PluginLoadError,
    Record,
    Role,
    RunState,
    Suspended,
    TerminationReason,
    ToolArtifact,
    ToolCall,
    ToolResult,
    UnknownNameError,
    Usage,
    tool,
    tool_loop,
)
from nr_llm._json import encode_bytes
from nr_llm.bounds import bound_text
from nr_llm.testing import Harness, calling
from nr_llm.window import Window

from tests.core.flows import loop, plan, state, text
from tests.core.plugin_parts import GOOD
from tests.distributions import Site, site

__all__ = ["site"]


@tool
def look(what: str = "") -> str:
    """Look."""
    return what


@tool(effect="write")
def change() -> str:
    """Change, with a person's consent."""
    return "changed"


def content_of(result: Any, position: int = 0) -> str:
    """Return what the model read of a call."""
    return str(result.invocations[position].content)


class TestConversations:
    """What is asked, answered and counted."""

    @pytest.mark.lesson(16, 118, 123)
    def test_an_unknown_tool_is_an_error_entry_and_the_run_answers(self) -> None:
        """Case 25: the entry names the tool nobody has, and the run still answers."""
        with Harness() as harness:
            result = harness.run(replies=[calling(("invented", {"x": 1})), "answered"], tools=[look])

        assert [("invented", True)] == [(call.name, call.is_error) for call in result.invocations]
        assert "no tool named 'invented'" in content_of(result)
        assert ("answered", TerminationReason.COMPLETED) == (result.content, result.reason)

    def test_a_plain_answer_is_one_request(self) -> None:
        """Case 23: a model that wants no tool is asked once, and nothing is in the trace of calls."""
        with Harness() as harness:
            result = harness.run(replies=["12"], tools=[look])

            assert 1 == len(harness.requests)
        assert ("12", 1, ()) == (result.content, result.rounds, result.invocations)

    def test_a_turn_of_malformed_calls_is_an_error_turn(self) -> None:
        """Case 16, corrected: text that is no JSON object is answered as such and never run with no arguments."""
        entered: list[str] = []

        @tool
        def note(what: str = "nothing") -> str:
            """Note."""
            entered.append(what)
            return what

        broken = ToolCall("c1", "note", {}, '{"what": "a'), ToolCall("c2", "note", {}, "[1]")
        with Harness() as harness:
            result = harness.run(replies=[CompletionResponse(tool_calls=broken), "sorry"], tools=[note])

        assert ([], "sorry") == (entered, result.content)
        assert [True, True] == [call.is_error for call in result.invocations]
        assert '{"what": "a' in content_of(result)
        assert "[1]" in content_of(result, 1)

    @pytest.mark.lesson(39)
    def test_the_cap_spans_resumes(self) -> None:
        """Case 32, corrected: a run that suspends gets no new rounds by being resumed, in another process either."""
        with Harness(tools=[change]) as harness:
            asks = [calling(("change", {}))]
            result = harness.run(replies=asks, tools=["change"], limits=Limits(rounds=2))
            segments = 1
            while isinstance(result, Suspended):
                stored = RunState.from_json(json.loads(encode_bytes(result.state.to_json())))
                result = harness.resume(stored, replies=asks)
                segments += 1

        assert (3, 2, TerminationReason.MAX_ROUNDS) == (segments, result.rounds, result.reason)
        assert ["changed", "changed"] == [call.content for call in result.invocations]

    def test_totals_span_segments(self) -> None:
        """Case 78: tokens and rounds of a suspended run go on counting when it is resumed."""
        with Harness(tools=[change]) as harness:
            held = harness.run(replies=[calling(("change", {}), usage=Usage(10, 1))], tools=["change"])
            result = harness.resume(held, replies=[CompletionResponse(content="done", usage=Usage(20, 2))])

        assert (Usage(30, 3), 2) == (result.usage, result.rounds)

    @pytest.mark.lesson(64)
    def test_a_failed_call_is_flagged_in_the_history(self) -> None:
        """Case 36: the turn that answers a failed call says so to the providers that have a flag for it."""
        with Harness() as harness:
            harness.run(replies=[calling(("look", {}), ("look", {"n": 1})), "x"], tools=[look])
            turns = [message for message in harness.requests[1].messages if message.role is Role.TOOL]

        assert [False, True] == [turn.is_error for turn in turns]

    def test_failed_attempts_are_counted(self) -> None:
        """Case 34: the tokens of all attempts at an answer belong to the run."""
        run = loop([CompletionResponse(content="x", usage=Usage(5, 1), spent=Usage(15, 3), attempts=3)])

        assert Usage(15, 3) == run.outcome.usage
        assert (15, 3, 3) == (run.steps[-1].input_tokens, run.steps[-1].total_tokens - 15, run.steps[-1].attempts)

    def test_a_budget_is_spent_when_it_is_reached(self) -> None:
        """Case 33: exactly the tokens allowed are enough to stop."""
        asks = calling(("look", {}), usage=Usage(90, 10))
        reasons = [loop([asks, text("x")], look, limits=Limits(tokens=most)).outcome.reason for most in (100, 500)]

        assert [TerminationReason.TOKENS_EXHAUSTED, TerminationReason.COMPLETED] == reasons

    def test_calls_that_run_together_take_the_time_of_the_longest(self) -> None:
        """Seconds of a batch are those that passed, not those of its calls added up."""
        flow = tool_loop(state(), plan(look))
        effect = next(flow)
        while not isinstance(effect, Invoke):
            effect = flow.send(calling(("look", {}), ("look", {})) if not isinstance(effect, Record) else None)
        record = flow.send((CallOutcome(ToolResult.text("a"), 2.0), CallOutcome(ToolResult.text("b"), 3.0)))

        assert 3.0 == record.state.seconds

    def test_the_newest_turn_is_never_dropped(self) -> None:
        """Case 40: of a conversation that does not fit the newest turn is left whole, and nothing is sent."""
        old = ChatMessage.assistant_tool_calls([ToolCall("a", "look")]), ChatMessage.tool_result("a", "old" * 500)
        new = ChatMessage.assistant_tool_calls([ToolCall("b", "look")]), ChatMessage.tool_result("b", "new" * 5_000)
        question = ChatMessage.user("?")
        fitted, budget = Window(context=1_000, reserved=100).fit((question, *old, *new), (), calibration=1.15)

        assert (question, *new) == fitted
        assert budget.remaining < 0

    def test_a_tool_of_a_denied_plugin_is_not_offered(self, site: Site) -> None:
        """Case 30: what the host has switched off is not offered, by whichever name it is chosen."""
        site.plugin("shop", GOOD)
        with Harness(PluginHost.discover(["acme-shop"], environ={})) as allowed:
            allowed.run(replies=["x"], tools=["good"])
            assert ["good"] == [spec.name for spec in allowed.requests[0].tools]
        with Harness(PluginHost.discover(["acme-shop"], ["acme-shop"], environ={})) as denied:
            with pytest.raises(UnknownNameError, match="'good'"):
                denied.run(replies=["x"], tools=["good"])
            with pytest.raises(PluginLoadError, match="denied by the program"):
                denied.run(replies=["x"], tools=["shop:good"])

    def test_a_disabled_tool_is_in_no_group(self) -> None:
        """Case 30: a tool that is off is offered neither by default nor by its group."""
        off = tool(name="off", group="g", enabled=False)(look.function)
        on = tool(name="on", group="g")(look.function)
        with Harness(tools=[off, on]) as harness:
            for choice in (None, "@g"):
                harness.run(replies=["x"], tools=choice)
                assert ["on"] == [spec.name for spec in harness.requests[0].tools]


class TestBounds:
    """What tools hand over, seen where it arrives."""

    @pytest.mark.lesson(43, 44, 139)
    def test_a_long_result_is_cut_at_the_end(self) -> None:
        """Case 41: of 60,005 bytes exactly 50,000 are left, the beginning first and the marker last."""
        cut = bound_text("head" + "x" * 60_001)

        assert 50_000 == len(cut.encode())
        assert cut.startswith("headxxx")
        assert cut.endswith("x\n… result cut to 50,000 bytes")

    def test_invalid_text_is_sent_and_recorded(self) -> None:
        """Case 44: half a character in a result breaks neither the next request nor the trace."""

        @tool
        def half() -> ToolResult:
            """Return half a character."""
            return ToolResult.text("a\ud83db", ToolArtifact.table("\ud83d", ["\udc00"], [["\ud83d"]]))

        with Harness() as harness:
            result = harness.run(replies=[calling(("half", {})), "x"], tools=[half])
            sent = encode_bytes([message.to_wire() for message in harness.requests[1].messages])
            trace = encode_bytes(harness.recorder.trace)

        assert "a\ufffdb" == content_of(result)
        assert all("\ufffd".encode() in written for written in (sent, trace))

    def test_a_sentinel_is_in_the_trace_and_in_no_request(self) -> None:
        """Case 45: what an artifact holds reaches people and no provider."""

        @tool
        def table() -> ToolResult:
            """Return a table."""
            return ToolResult.text("1 row", ToolArtifact.table("label-of-it", ["c"], [["cell-of-it"]]))

        with Harness() as harness:
            harness.run(replies=[calling(("table", {})), "x"], tools=[table])
            asked = "".join(map(repr, harness.requests)) + json.dumps(
                [message.to_wire() for request in harness.requests for message in request.messages]
            )
            trace = encode_bytes(harness.recorder.trace).decode()

        assert "1 row" in asked
        assert [(False, True)] * 2 == [(word in asked, word in trace) for word in ("label-of-it", "cell-of-it")]

    def test_an_error_result_in_the_trace(self) -> None:
        """Case 52: a tool's own error is an error in the trace, bounded, and the step has no artifacts."""

        @tool
        def refuse() -> ToolResult:
            """Refuse at length."""
            return ToolResult.error("no" * 40_000)

        with Harness() as harness:
            harness.run(replies=[calling(("refuse", {})), "x"], tools=[refuse])
            [step] = [step for step in harness.recorder.trace if step["kind"] == "tool"]

        assert (True, 50_000) == (step["tool_is_error"], len(step["tool_result"].encode()))
        assert "tool_artifacts" not in step


class TestWireForms:
    """The forms that other programs read."""

    def test_distinct_refusals(self) -> None:
        """Case 14: three malformed turns are refused for three reasons, each at its own place."""
        found = set()
        for wire in (
            {"role": "assistant", "content": "", "tool_calls": "calls"},
            {"role": "assistant", "content": "", "tool_calls": ["call"]},
            {"role": Role.TOOL.value, "content": "", "tool_call_id": 7},
        ):
            with pytest.raises(InvalidValueError) as caught:
                ChatMessage.from_wire(wire)
            found.add((caught.value.path, caught.value.rule))

        assert {"tool_calls", "tool_calls[0]", "tool_call_id"} == {path for path, _ in found}
        assert 3 == len({rule for _, rule in found})
