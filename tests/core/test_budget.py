"""The budgets of a run: each ends it with a reason of its own, a valid history and what there is of an answer."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from nr_llm import (
    ChatMessage,
    CompletionResponse,
    FinishReason,
    Limits,
    RunResult,
    RunState,
    Suspended,
    TerminationReason,
    ToolResult,
    Usage,
    check_pairs,
    output_of,
    tool,
    tool_loop,
)
from nr_llm._answering import Answering
from nr_llm.testing import calling

from tests.core.flows import Driven, loop, plan, state, text


@tool
def look(where: str = "") -> str:
    """Look somewhere."""
    return where


@tool(effect="write", approval=True)
def change() -> str:
    """Change something."""
    return "changed"


def asks(content: str = "", **fields: Any) -> CompletionResponse:
    """Return a reply that asks for a call."""
    return attrs.evolve(calling(("look", {}), content=content), **fields)


def ended(run: Driven) -> tuple[str, str, bool]:
    """Return what a run that a budget ended came to; its history can be sent again."""
    result: RunResult = run.outcome
    check_pairs(result.messages)
    return str(result.reason), result.content, result.truncated


class TestReasons:
    """Reasons that name a budget."""

    def test_budgets(self) -> None:
        """A program can tell a budget that ran out from every other end."""
        names = {reason.name for reason in TerminationReason if reason.budget}

        kinds = ("TOKENS", "COST", "TIME", "BYTES", "CALLS", "ACTOR_BUDGET")
        assert names == {f"{kind}_EXHAUSTED" for kind in kinds}


class TestBeforeEachCall:
    """Budgets that are looked at before each model call."""

    SPENT = pytest.mark.parametrize(
        ("limits", "reason"),
        [
            (Limits(tokens=100), "tokens_exhausted"),
            (Limits(seconds=2), "time_exhausted"),
            (Limits(tool_bytes=8), "bytes_exhausted"),
        ],
    )

    @SPENT
    def test_the_last_text_is_the_answer(self, limits: Limits, reason: str) -> None:
        """A run that a budget ends has the last thing its model wrote as its answer."""
        first = asks("let me see", usage=Usage(90, 20), elapsed=3.0)
        run = loop([first], look, limits=limits)

        assert ended(run) == (reason, "let me see", True)

    @pytest.mark.parametrize(
        ("limits", "reason"),
        [(Limits(tokens=100), "tokens_exhausted"), (Limits(seconds=2), "time_exhausted")],
    )
    def test_a_run_without_tools(self, limits: Limits, reason: str) -> None:
        """Budgets hold for a run without tools alike: here one whose model pauses."""
        pause = text("half", usage=Usage(90, 20), elapsed=3.0, finish_reason=FinishReason.PAUSE)
        run = loop([pause], limits=limits)

        assert ended(run) == (reason, "half", True)

    @pytest.mark.parametrize(
        ("limits", "reason"),
        [
            (Limits(tokens=0), "tokens_exhausted"),
            (Limits(seconds=0), "time_exhausted"),
            (Limits(tool_bytes=0), "bytes_exhausted"),
        ],
    )
    @pytest.mark.parametrize("tools", [(), (look,)], ids=["plain", "tools"])
    def test_a_budget_of_nothing_asks_nobody(self, limits: Limits, reason: str, tools: Any) -> None:
        """Without anything to spend nothing is asked, with tools and without."""
        run = loop([], *tools, limits=limits)

        assert ended(run) == (reason, "", True)
        assert run.requests == []

    def test_text_of_earlier_runs_is_no_answer(self) -> None:
        """What an assistant wrote before the run began is not passed on as its answer."""
        before = (ChatMessage.user("a"), ChatMessage.assistant("old"), ChatMessage.user("b"))
        run = loop([], look, limits=Limits(tokens=0), state={"messages": before})

        assert ended(run) == ("tokens_exhausted", "", True)

    def test_every_checkpoint_ends_the_same(self) -> None:
        """A run restarted from any checkpoint of a budget's end comes to the same."""
        run = loop([asks("so", usage=Usage(90, 20))], look, limits=Limits(tokens=100))
        ends = {ended(Driven(tool_loop(checkpoint, plan(look)), [])) for checkpoint in run.checkpoints[2:]}

        assert ends == {("tokens_exhausted", "so", True)}


class TestTokens:
    """The budget of tokens."""

    def test_a_request_that_is_too_large_is_not_sent(self) -> None:
        """A conversation that would by itself take more than there is costs nothing."""
        run = loop([], look, limits=Limits(tokens=1_000), state={"messages": (ChatMessage.user("word " * 2_000),)})

        assert ended(run) == ("tokens_exhausted", "", True)
        assert run.requests == []

    def test_only_what_is_left_counts(self) -> None:
        """A request that the budget as a whole would hold, but not what is left of it, is not sent."""
        first = asks("so far", usage=Usage(900, 20))
        run = loop([first], look, limits=Limits(tokens=1_000), invoke=lambda _: ToolResult.text("n" * 1_000))

        assert ended(run) == ("tokens_exhausted", "so far", True)

    def test_tokens_nobody_reports_are_estimated(self) -> None:
        """A service that reports no tokens cannot void the bound; nothing is made up in the usage."""
        run = loop([asks("x" * 3_500)] * 5, look, limits=Limits(rounds=5, tokens=3_000))

        assert ended(run)[0] == "tokens_exhausted"
        assert len(run.requests) == 2
        assert run.outcome.usage == Usage()

    def test_without_a_bound_nothing_is_estimated(self) -> None:
        """What is not bounded is not estimated."""
        run = loop([asks(), text("x")], look)

        assert {checkpoint.estimated_tokens for checkpoint in run.checkpoints} == {0}


class TestBytes:
    """The budget of what a run takes in."""

    def test_results_add_up(self) -> None:
        """The bytes of all results count, in UTF-8."""
        run = loop([asks(), asks(), text("x")], look, invoke=lambda _: ToolResult.text("ää"))

        assert run.checkpoints[-1].tool_bytes == 8

    def test_refusals_are_nothing_taken_in(self) -> None:
        """What the host says by itself does not count."""
        run = loop([calling(("nothing", {})), text("x")], look, limits=Limits(calls=0))

        assert run.checkpoints[-1].tool_bytes == 0

    def test_the_rest_of_a_turn_is_refused(self) -> None:
        """Calls of a turn that come after the budget was used up are not run."""
        turn = calling(("change", {}), ("look", {}), ("look", {}))

        @tool(effect="write", approval=False)
        def change() -> str:
            """Change something."""
            return "changed"

        run = loop([turn], look, change, limits=Limits(tool_bytes=5))

        assert run.batches == [["change"]]
        assert "budget of 5 bytes of results is used up" in run.outcome.invocations[1].content
        assert ended(run)[0] == "bytes_exhausted"


class TestCalls:
    """The budget of calls."""

    def test_a_turn_of_nothing_but_refusals_is_the_last(self) -> None:
        """Once nothing is left to run the model is asked once more, without tools."""
        run = loop([asks(), asks(), text("done")], look, limits=Limits(calls=1))

        assert ended(run) == ("calls_exhausted", "done", True)
        assert [bool(request.tools) for request in run.requests] == [True, True, False]
        assert [call.is_error for call in run.outcome.invocations] == [False, True]
        assert run.outcome.rounds == 2

    def test_a_model_that_keeps_within_it_is_complete(self) -> None:
        """Exactly the calls allowed are no end of their own: nothing was refused for good."""
        run = loop([asks(), text("done")], look, limits=Limits(calls=1))

        assert ended(run) == ("completed", "done", False)

    def test_rounds_end_first(self) -> None:
        """Where both bounds are reached the rounds are the reason."""
        run = loop([asks(), text("done")], look, limits=Limits(calls=0, rounds=1))

        assert ended(run)[0] == "max_rounds"

    def test_nobody_is_asked_about_a_call_that_will_not_run(self) -> None:
        """A call that needs an approval does not wait for one it could make no use of."""
        run = loop([calling(("change", {})), text("no")], change, limits=Limits(calls=0))

        assert ended(run) == ("calls_exhausted", "no", True)

    def test_an_approval_within_the_budget_waits(self) -> None:
        """The budget of calls does not let a call through that a person has to decide on."""
        run = loop([calling(("change", {}))], change, limits=Limits(calls=1))

        assert isinstance(run.outcome, Suspended)

    def test_every_checkpoint_ends_the_same(self) -> None:
        """A run restarted from the closing turn closes alike."""
        replies = [asks(), asks(), text("done")]
        run = loop(replies, look, limits=Limits(calls=1))
        ends = set()
        for effects in range(len(run.effects)):
            made = [effect for effect in run.effects[:effects] if type(effect).__name__ == "Complete"]
            kept: list[RunState] = [e.state for e in run.effects[:effects] if type(e).__name__ == "Record"]
            if kept and type(run.effects[effects]).__name__ == "Record":
                rest = replies[len(made) :] if kept[-1].rounds == len(made) else replies[len(made) - 1 :]
                ends.add(ended(Driven(tool_loop(kept[-1], plan(look)), rest)))

        assert ends == {("calls_exhausted", "done", True)}

    @pytest.mark.parametrize("native", [True, False])
    def test_an_answer_of_a_given_form(self, native: bool) -> None:
        """A run whose answer has a form comes to it in the closing request."""

        @attrs.frozen
        class Found:
            number: int

        answering = Answering.by(output_of(Found), native=native, taken=["look"])
        last = text('{"number": 3}') if native else calling(("final_answer", {"number": 3}))
        run = Driven(tool_loop(state(limits=Limits(calls=0)), plan(look, answering=answering)), [asks(), last])

        assert ended(run)[0] == "calls_exhausted"
        assert run.outcome.output == Found(3)

    def test_an_answer_is_no_call(self) -> None:
        """Giving the answer costs no call, and an answer that has to be corrected does not end the run early."""

        @attrs.frozen
        class Found:
            number: int

        answering = Answering.by(output_of(Found), native=False, taken=["look"])
        replies = [calling(("final_answer", {"number": "x"})), calling(("final_answer", {"number": 3}))]
        run = Driven(tool_loop(state(limits=Limits(calls=0)), plan(look, answering=answering)), replies)

        assert ended(run)[0] == "completed"
