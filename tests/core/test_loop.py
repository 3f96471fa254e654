"""The loop as data: no provider, no thread, no clock."""

from __future__ import annotations

import json
import logging

import attrs
import pytest
from nr_llm import (
    CallOutcome,
    ChatMessage,
    FinishReason,
    Invoke,
    Limits,
    Options,
    Record,
    Role,
    RunResult,
    RunState,
    Suspended,
    TerminationReason,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
    Usage,
    Verdict,
    decide,
    settle,
    tool,
    tool_loop,
)
from nr_llm._loop import Plan, dry_run
from nr_llm.testing import calling
from nr_llm.window import Window

from tests.core.flows import Driven, loop, plan, state, text


@tool
def look(what: str = "") -> str:
    """Look."""
    return what


@tool
def peek() -> str:
    """Peek."""
    return ""


@tool(effect="write", approval=False)
def write(what: str = "") -> str:
    """Write."""
    return what


@tool(effect="write")
def ask_first() -> str:
    """Write with a person's consent."""
    return ""


@tool(exclusive=True)
def alone() -> str:
    """Read alone."""
    return ""


@tool(remote=True)
def far() -> str:
    """Read elsewhere."""
    return ""


class TestEnding:
    """How runs end."""

    def test_answer_without_calls(self) -> None:
        """Case 23: a plain answer ends the run in its first round."""
        run = loop([text("12")], look)

        assert run.outcome == RunResult(
            content="12",
            messages=(ChatMessage.user("How many?"), ChatMessage.assistant("12")),
            invocations=(),
            usage=Usage(),
            rounds=1,
            reason=TerminationReason.COMPLETED,
            truncated=False,
            run_id="run",
        )

    def test_one_call_then_an_answer(self) -> None:
        """Case 24: one call is run once and answered before the next request."""
        run = loop([calling(("look", {"what": "x"})), text("done")], look)

        assert [("look", False)] == [(i.name, i.is_error) for i in run.outcome.invocations]
        assert 2 == run.outcome.rounds
        assert ["request", "llm", "tool", "request", "llm"] == run.kinds

    def test_second_request_holds_both_typed_turns(self) -> None:
        """Case 36: the second request holds the assistant's turn and the tool's, with one id."""
        run = loop([calling(ToolCall("abc", "look", {"what": "x"})), text("done")], look)

        call_turn, result_turn = run.requests[1].messages[-2:]
        assert (Role.ASSISTANT, Role.TOOL) == (call_turn.role, result_turn.role)
        assert "abc" == call_turn.tool_calls[0].id == result_turn.tool_call_id

    def test_the_cap_spans_the_run_and_ends_in_a_synthesis(self) -> None:
        """Case 31: at the cap one request without tools closes the run, truncated, its usage counted."""
        reply = attrs.evolve(calling(("look", {})), usage=Usage(10, 1))
        run = loop([reply, reply, text("so far", usage=Usage(5, 2))], look, limits=Limits(rounds=2))

        result = run.outcome
        assert ("so far", 2, True, TerminationReason.MAX_ROUNDS) == (
            result.content,
            result.rounds,
            result.truncated,
            result.reason,
        )
        assert Usage(25, 4) == result.usage
        assert [(3, ()), (3, None)] == [(s.round, s.tool_specs) for s in run.steps[-2:]]
        assert () == run.requests[-1].tools

    def test_default_cap_is_five_rounds(self) -> None:
        """Case 32: without a cap of one's own there are exactly five rounds before the synthesis."""
        run = loop([*[calling(("look", {}))] * 5, text("end")], look)

        assert 6 == len(run.requests)
        assert [1, 1, 1, 1, 1, 0] == [len(request.tools) for request in run.requests]

    def test_a_cap_of_zero_asks_once_without_tools(self) -> None:
        """A cap of nothing goes straight to the closing request."""
        run = loop([text("x")], look, limits=Limits(rounds=0))

        assert [()] == [request.tools for request in run.requests]
        assert TerminationReason.MAX_ROUNDS is run.outcome.reason

    def test_the_closing_request_says_which_tools_are_withheld(self) -> None:
        """Services may have to know of what the calls were that the conversation holds."""
        run = loop([calling(("look", {})), text("end")], look, limits=Limits(rounds=1))

        assert [(), ("look",)] == [tuple(tool.name for tool in request.withheld) for request in run.requests]

    def test_where_nothing_was_called_nothing_is_withheld(self) -> None:
        """Nobody would miss it."""
        run = loop([text("x")], look, limits=Limits(rounds=0))

        assert () == run.requests[0].withheld

    def test_calls_in_the_synthesis_are_no_calls(self) -> None:
        """A model that asks for tools nobody offered gets none, and its turn is stored without them."""
        run = loop([calling(("look", {}), content="well")], look, limits=Limits(rounds=0))

        assert "well" == run.outcome.content
        assert run.outcome.messages[-1].tool_calls is None

    def test_calls_that_the_choice_forbids_are_no_calls(self) -> None:
        """A service may not know such a choice, and a model may call what it saw called before."""
        forbidden = {"options": Options(tool_choice="none")}
        run = loop([calling(("look", {}), content="well")], look, state=forbidden)

        assert ("well", ()) == (run.outcome.content, run.outcome.invocations)
        assert run.outcome.messages[-1].tool_calls is None

    def test_no_tools_means_one_plain_completion(self) -> None:
        """Case 28: without tools exactly one plain request is made, and it counts as complete."""
        run = loop([calling(("look", {}), content="plain")])

        assert 1 == len(run.requests)
        assert (1, False, "plain") == (run.outcome.rounds, run.outcome.truncated, run.outcome.content)

    def test_usage_is_summed(self) -> None:
        """Case 34: tokens of two rounds add up; unknown stays unknown."""
        first = attrs.evolve(calling(("look", {})), usage=Usage(7, None))
        run = loop([first, text("x", usage=Usage(5, 3))], look)

        assert Usage(12, 3) == run.outcome.usage

    def test_token_budget_ends_the_run_with_a_partial_result(self) -> None:
        """Case 33: a spent budget stops before the next request; the history stays valid."""
        first = attrs.evolve(calling(("look", {})), usage=Usage(90, 20))
        run = loop([first], look, limits=Limits(tokens=100))

        result = run.outcome
        assert ("", True, TerminationReason.TOKENS_EXHAUSTED) == (result.content, result.truncated, result.reason)
        assert 1 == len(result.invocations)
        assert Role.TOOL is result.messages[-1].role

    def test_time_budget_ends_the_run(self) -> None:
        """Seconds reported with the answers count against the run's time."""
        first = attrs.evolve(calling(("look", {})), elapsed=3.0)
        run = loop([first], look, limits=Limits(seconds=2))

        assert TerminationReason.TIME_EXHAUSTED is run.outcome.reason

    @pytest.mark.parametrize(
        ("finish", "reason"),
        [
            (FinishReason.LENGTH, TerminationReason.LENGTH),
            (FinishReason.CONTENT_FILTER, TerminationReason.CONTENT_FILTER),
            (FinishReason.ERROR, TerminationReason.FAILED),
            (FinishReason.OTHER, TerminationReason.COMPLETED),
        ],
    )
    def test_a_cut_answer_is_said_to_be_cut(self, finish: FinishReason, reason: TerminationReason) -> None:
        """The provider's reason for a short answer becomes the run's."""
        run = loop([text("half", finish_reason=finish)], look)

        assert (reason, reason is not TerminationReason.COMPLETED) == (run.outcome.reason, run.outcome.truncated)

    def test_a_refusal_is_the_answer_people_see(self) -> None:
        """What the model said instead of answering is not lost."""
        run = loop([text("", refusal="I cannot.", finish_reason=FinishReason.CONTENT_FILTER)], look)

        assert "I cannot." == run.outcome.content == run.outcome.messages[-1].content

    def test_a_pause_is_continued(self) -> None:
        """A paused turn is sent back unchanged, and the run goes on."""
        run = loop([text("thinking", finish_reason=FinishReason.PAUSE), text("done")], look)

        assert "done" == run.outcome.content
        assert ChatMessage.assistant("thinking") == run.requests[1].messages[-1]

    def test_dry_run_asks_nobody(self) -> None:
        """Case 35: a dry run records one assembled step and makes no request."""
        run = Driven(dry_run(state(), plan(look)), [])

        assert (["assembled"], []) == (run.kinds, run.requests)
        assert (0, False, TerminationReason.DRY_RUN) == (run.outcome.rounds, run.outcome.truncated, run.outcome.reason)


class TestTurns:
    """How the calls of a turn are run."""

    def test_calls_run_and_are_answered_in_order(self) -> None:
        """Case 38: several calls are answered in their order, also when one fails."""

        def invoke(pending):
            return ToolResult.error("no") if pending.index == 1 else ToolResult.text(str(pending.index))

        run = loop([calling(("look", {}), ("look", {"what": "b"}), ("peek", {})), text("x")], look, peek, invoke=invoke)

        assert ["0", "no", "2"] == [m.content for m in run.outcome.messages if m.role is Role.TOOL]
        assert [False, True, False] == [i.is_error for i in run.outcome.invocations]

    def test_reads_run_together_and_writes_alone(self) -> None:
        """Batches keep the model's order; a checkpoint lies between any two writes."""
        names = ["look", "peek", "write", "write", "look", "alone", "peek"]
        run = loop([calling(*[(name, {}) for name in names]), text("x")], look, peek, write, alone)

        assert [["look", "peek"], ["write"], ["write"], ["look"], ["alone"], ["peek"]] == run.batches

    def test_a_write_is_fenced_before_it_runs(self) -> None:
        """The checkpoint before a write says that it may have started."""
        run = loop([calling(("write", {})), text("x")], write)
        position = next(i for i, effect in enumerate(run.effects) if isinstance(effect, Invoke))
        fence = run.effects[position - 1]

        assert isinstance(fence, Record)
        assert (None, [True]) == (fence.step, [p.started for p in fence.state.pending])

    def test_a_batch_is_folded_before_it_is_recorded(self) -> None:
        """Each record of a batch holds the whole batch: what ran cannot be lost by a raising store."""
        run = loop([calling(("look", {}), ("peek", {})), text("x")], look, peek)

        first = next(
            s for e in run.effects if isinstance(e, Record) and e.step and e.step.kind == "tool" for s in [e.state]
        )
        assert () == first.pending
        assert 2 == sum(m.role is Role.TOOL for m in first.messages)

    @pytest.mark.lesson(122, 143)
    def test_repeated_and_missing_ids_become_unique(self) -> None:
        """Ids that repeat in a turn or in the run are renamed, in call and result alike."""
        turn = calling(ToolCall("a", "look"), ToolCall("a", "look"))
        run = loop([turn, turn, text("x")], look)

        ids = [c.id for m in run.outcome.messages for c in m.tool_calls or ()]
        assert 4 == len(set(ids))
        assert ids == [m.tool_call_id for m in run.outcome.messages if m.role is Role.TOOL]

    def test_an_unknown_tool_is_no_write(self) -> None:
        """An invented name runs with the reads and needs no fence."""
        run = loop([calling(("look", {}), ("invented", {})), text("x")], look)

        assert [["look", "invented"]] == run.batches
        assert not any(p.started for s in run.checkpoints for p in s.pending)

    def test_remote_calls_have_a_budget(self) -> None:
        """Case 39: of 23 remote calls three are refused; local ones are not limited; a second run starts afresh."""
        calls = [("far", {}) for _ in range(23)] + [("look", {})]
        for _ in range(2):
            run = loop([calling(*calls), text("x")], far, look)
            refused = [i for i in run.outcome.invocations if i.is_error]

            assert (24, 3, {"far"}) == (len(run.outcome.invocations), len(refused), {i.name for i in refused})
            assert "budget of 20 remote calls" in refused[0].content

    def test_remote_budget_spans_turns(self) -> None:
        """Remote calls of an earlier turn count."""
        turn = calling(("far", {}), ("far", {}))
        run = loop([turn, turn, text("x")], far, limits=Limits(remote_calls=3))

        assert [False, False, False, True] == [i.is_error for i in run.outcome.invocations]

    def test_calls_beyond_the_turn_bound_are_refused(self) -> None:
        """A turn with too many calls runs the first ones and says so for the rest."""
        run = loop([calling(*[("look", {})] * 3), text("x")], look, limits=Limits(calls_per_turn=2))

        assert [False, False, True] == [i.is_error for i in run.outcome.invocations]

    def test_calls_of_a_run_have_a_budget(self) -> None:
        """The run's own bound on calls holds inside a batch too."""
        run = loop([calling(*[("look", {})] * 3), text("x")], look, limits=Limits(calls=2))

        assert [False, False, True] == [i.is_error for i in run.outcome.invocations]

    def test_refused_calls_cost_nothing(self) -> None:
        """A refusal of the seam is no executed call."""
        flow = tool_loop(state(), plan(look))
        effect, outcome = next(flow), None
        while not isinstance(effect, Invoke):
            effect = flow.send(calling(("look", {})) if not isinstance(effect, Record) else None)
        record = flow.send((CallOutcome(ToolResult.error("refused"), executed=False),))

        assert (0, outcome) == (record.state.calls, None)

    def test_results_are_bounded_again(self) -> None:
        """Whatever a performer sends in, the loop bounds it."""
        run = loop([calling(("look", {})), text("x")], look, invoke=lambda _: ToolResult.text("x" * 60_000))

        assert 50_000 == len(run.outcome.invocations[0].content.encode())

    def test_a_forced_choice_holds_until_a_tool_ran(self) -> None:
        """`required` is not repeated for ever: a run that could only end at its cap."""
        run = loop(
            [calling(("look", {})), text("x")],
            look,
            state={"options": Options(tool_choice="required", temperature=0.5)},
        )

        assert ["required", None] == [r.options.tool_choice for r in run.requests]
        assert [0.5, 0.5] == [r.options.temperature for r in run.requests]

    def test_plain_calls_keep_the_options(self) -> None:
        """The closing request carries the run's own settings."""
        options = Options(temperature=0.1, max_tokens=9)
        run = loop([text("x")], look, limits=Limits(rounds=0), state={"options": options})

        assert options == run.requests[0].options


class TestContext:
    """The context window."""

    def test_old_turns_go_first_and_the_pruned_list_is_sent(self) -> None:
        """Case 40: what the window drops is not sent, and a context step precedes the request."""
        old = (
            ChatMessage.user("first"),
            ChatMessage.assistant("x" * 4000),
            ChatMessage.user("second"),
            ChatMessage.assistant("short"),
            ChatMessage.user("third"),
        )
        run = loop([text("ok")], look, state={"messages": old}, window=Window(context=1000, reserved=100))

        assert ["context", "request", "llm"] == run.kinds
        assert (old[0], *old[3:]) == run.requests[0].messages
        assert old == run.outcome.messages[:5]

    def test_overflow_at_the_floor_asks_nobody(self) -> None:
        """Case 40: when even the newest turn does not fit nothing is sent, and the context step is kept."""
        run = loop(
            [], look, state={"messages": (ChatMessage.user("x" * 9000),)}, window=Window(context=1000, reserved=100)
        )

        assert ([], ["context"]) == (run.requests, run.kinds)
        assert ("", True, TerminationReason.CONTEXT_OVERFLOW) == (
            run.outcome.content,
            run.outcome.truncated,
            run.outcome.reason,
        )
        assert run.steps[0].context_budget["remaining"] < 0

    def test_the_estimate_learns_from_the_provider(self) -> None:
        """Tokens reported above the estimate raise the next estimate."""
        run = loop([text("x", usage=Usage(500, 1))], look, window=Window(context=9000, reserved=100))

        assert run.checkpoints[-1].calibration > 1.15


class TestApproval:
    """A turn that waits for a person."""

    @pytest.mark.lesson(72)
    def test_nothing_of_a_held_turn_runs(self) -> None:
        """Case 77: one call that needs an approval holds the whole turn."""
        run = loop([calling(("look", {}), ("ask_first", {}))], look, ask_first)

        assert isinstance(run.outcome, Suspended)
        assert [] == run.batches
        assert (2, 1) == (len(run.outcome.pending), run.outcome.state.rounds)
        assert "approval" == run.kinds[-1]
        assert "run" == run.outcome.run_id

    @pytest.mark.lesson(39, 72)
    @pytest.mark.parametrize(("verdict", "ran"), [(Verdict.APPROVED, True), (Verdict.DENIED, False)])
    def test_a_verdict_lets_the_turn_go_on(self, verdict: Verdict, ran: bool) -> None:
        """Case 78: approved calls run, denied ones are answered, and the run continues with its totals."""
        held = loop([calling(("look", {}), ("ask_first", {}))], look, ask_first).outcome
        again = decide(RunState.from_json(json.loads(json.dumps(held.state.to_json()))), {1: verdict})
        run = loop([text("done")], look, ask_first, start=again)

        assert ([["look"], ["ask_first"]] if ran else [["look"]]) == run.batches
        assert ("done", 2) == (run.outcome.content, run.outcome.rounds)
        assert [False, not ran] == [i.is_error for i in run.outcome.invocations]

    def test_an_invalid_call_does_not_wait(self) -> None:
        """A call that would be refused needs nobody's approval."""
        run = loop([calling(("ask_first", {"bogus": 1})), text("x")], ask_first)

        assert isinstance(run.outcome, RunResult)

    def test_an_unoffered_tool_does_not_wait(self) -> None:
        """Case 81: only offered tools suspend."""
        toolbox = Toolbox({"ask_first": ask_first, "look": look}, ("look",))
        run = Driven(tool_loop(state(), Plan(toolbox=toolbox)), [calling(("ask_first", {})), text("x")])

        assert isinstance(run.outcome, RunResult)


class TestRestart:
    """A run goes on from any checkpoint."""

    @staticmethod
    def script(messages: tuple[ChatMessage, ...]):
        """Answer by what was said so far, as a model would."""
        turns = sum(m.role is Role.ASSISTANT for m in messages)
        return [calling(("look", {}), ("peek", {})), calling(("idempotent", {}), ("look", {})), text("end")][turns]

    @pytest.mark.lesson(72, 119)
    def test_every_checkpoint_ends_the_same(self) -> None:
        """Restarted from any checkpoint, through JSON, a run has the same messages and repeats no finished turn."""
        idempotent = attrs.evolve(write, name="idempotent", effect="idempotent_write")
        tools = (look, peek, idempotent)
        whole = self.resumed(state(), tools)
        assert len(whole.checkpoints) >= 9

        for checkpoint in whole.checkpoints:
            loaded = RunState.from_json(json.loads(json.dumps(checkpoint.to_json())))
            again = self.resumed(loaded, tools)

            assert whole.outcome.messages == again.outcome.messages
            assert whole.outcome.rounds == again.outcome.rounds
            assert [i.content for i in whole.outcome.invocations] == [i.content for i in again.outcome.invocations]
            assert len(again.requests) == 3 - checkpoint.rounds

    def resumed(self, start: RunState, tools: tuple[Tool, ...]) -> Driven:
        """Run from `start` with a model that answers by the messages it sees."""
        driven = Driven.__new__(Driven)
        driven.effects, driven.invoke = [], lambda p: ToolResult.text(f"ran {p.call.name} {p.call.id}")
        driven.replies = (self.script(driven.effects[-1].request.messages) for _ in iter(int, 1))
        driven.outcome = driven._drive(tool_loop(start, plan(*tools)))
        return driven

    @pytest.mark.lesson(121)
    def test_a_fenced_write_is_not_run_again(self) -> None:
        """From the fence of a write its outcome is unknown, and nobody calls it not executed."""
        run = loop([calling(("write", {})), text("x")], write)
        fence = next(s for s in run.checkpoints if any(p.started for p in s.pending))
        again = loop([text("x")], write, start=fence)

        assert [] == again.batches
        assert "outcome is unknown" in again.outcome.invocations[0].content

    def test_an_ended_run_asks_nothing(self) -> None:
        """A finished state returns its result at once."""
        whole = loop([text("12")], look)
        again = loop([], look, start=whole.checkpoints[-1])

        assert (whole.outcome, []) == (again.outcome, again.effects)


class TestSettle:
    """A run that stopped in the middle."""

    def test_finished_started_and_untouched_calls(self) -> None:
        """What finished is kept, what started is unknown, and only the rest was not executed."""
        flow = tool_loop(state(), plan(look))
        effect, last = next(flow), state()
        while not isinstance(effect, Invoke):
            last = effect.state if isinstance(effect, Record) else last
            effect = flow.send(None if isinstance(effect, Record) else calling(*[("look", {})] * 3))
        settled = settle(
            last, TerminationReason.CANCELLED, finished={0: CallOutcome(ToolResult.text("kept"))}, started={0, 1}
        )

        results = [m.content for m in settled.messages if m.role is Role.TOOL]
        assert "kept" == results[0]
        assert "unknown" in results[1]
        assert results[2].startswith("Not executed")
        assert ((), "", TerminationReason.CANCELLED) == (settled.pending, settled.answer, settled.reason)

    def test_a_fenced_write_is_unknown(self) -> None:
        """A write whose fence was recorded may have run."""
        run = loop([calling(("write", {})), text("x")], write)
        fence = next(s for s in run.checkpoints if any(p.started for p in s.pending))

        assert "unknown" in settle(fence, TerminationReason.FAILED).messages[-1].content

    def test_an_ended_state_stays(self) -> None:
        """Settling twice changes nothing."""
        ended = loop([text("12")], look).checkpoints[-1]

        assert ended is settle(ended, TerminationReason.FAILED)


def test_logging_is_quiet_without_a_handler(caplog: pytest.LogCaptureFixture) -> None:
    """The loop logs nothing by itself."""
    with caplog.at_level(logging.DEBUG):
        loop([text("x")], look)

    assert [] == caplog.records
