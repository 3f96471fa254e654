"""The time of a run: what is under way when it is up is broken off, wherever that can be done."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import attrs
import pytest
from nr_llm import (
    BudgetExceededError,
    ChatMessage,
    CompletionRequest,
    CompletionResponse,
    Limits,
    MalformedReplyError,
    Model,
    PendingCall,
    Price,
    Retry,
    RunState,
    Runtime,
    ServiceError,
    StreamInterruptedError,
    TextDelta,
    ToolCall,
    ToolContext,
    Usage,
    check_pairs,
    complete,
    tool,
)
from nr_llm.cancellation import Cancellation
from nr_llm.providers import Endpoint
from nr_llm.testing import ScriptedProvider, calling

from tests.core.colours import COLOURS
from tests.core.flows import loop

SHORT = 0.05
"""Seconds a run of these tests has; whatever it does takes longer."""


@pytest.fixture(params=COLOURS)
def colour(request: pytest.FixtureRequest) -> Any:
    """Run the test in both colours."""
    return request.param


@tool
def wait(context: ToolContext) -> str:
    """Wait until nobody waits any more."""
    context.cancelled.wait(None)
    return "too late"


class Slow:
    """A provider that never comes to an end by itself."""

    name = "slow"
    endpoint = Endpoint("here", local=True)

    def describe(self, model: str) -> Model:
        """Return a model."""
        return Model(provider="slow", name=model, price=Price(input=1, output=1))

    def complete(self, request: CompletionRequest, cancelled: Cancellation) -> Iterator[Any]:
        """Write on and on."""
        while not cancelled.wait(0.001):
            yield TextDelta("la ")


class Late(Slow):
    """A provider that fails after the time was up."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def complete(self, request: CompletionRequest, cancelled: Cancellation) -> Iterator[Any]:
        """Wait longer than there is time, then fail."""
        threading.Event().wait(2 * SHORT)
        raise self.error
        yield


def under_way(*names: str, **fields: Any) -> RunState:
    """Return a run with calls to make and little time left for them."""
    calls = [ToolCall(f"c{i}", name) for i, name in enumerate(names)]
    messages = (ChatMessage.user("hi"), ChatMessage.assistant_tool_calls(calls, "let me see"))
    return RunState(
        run_id="run",
        model="scripted:m",
        messages=messages,
        start=1,
        rounds=1,
        seconds=100.0,
        limits=Limits(seconds=100.0 + SHORT, **fields),
        pending=tuple(PendingCall(index=i, call=call) for i, call in enumerate(calls)),
    )


class TestModelCalls:
    """Model calls that take longer than the run has."""

    @pytest.mark.parametrize("streamed", [True, False])
    def test_an_answer_is_broken_off(self, colour: Any, streamed: bool) -> None:
        """An answer that does not end in time is the answer as far as it came; what it cost nobody knows."""
        own = Runtime(providers=[Slow()], model="slow:m", limits=Limits(seconds=SHORT))
        result = colour.stream(own).outcome if streamed else colour.run(own)

        assert result.reason == "time_exhausted"
        assert result.content.startswith("la ") or not result.content
        assert (result.cost, result.truncated) == (None, True)
        check_pairs(result.messages)

    @pytest.mark.parametrize(
        "error", [ServiceError("down", retryable=True), StreamInterruptedError("gone", retryable=True)]
    )
    def test_a_failure_after_the_time_is_not_retried(self, colour: Any, error: Exception) -> None:
        """A call that failed after the time was up ends the run for that reason."""
        own = Runtime(providers=[Late(error)], model="slow:m", limits=Limits(seconds=SHORT))

        assert colour.run(own).reason == "time_exhausted"

    def test_an_answer_that_never_comes(self, colour: Any) -> None:
        """A provider that ends without an answer is a malformed one, in time or not."""
        provider = Slow()
        provider.complete = lambda request, cancelled: iter(())  # type: ignore[method-assign]
        with pytest.raises(MalformedReplyError, match="ended without a reply"):
            colour.run(Runtime(providers=[provider], model="slow:m", limits=Limits(seconds=1_000)))

    def test_a_time_out_of_the_providers_own(self, colour: Any) -> None:
        """A provider that raises the error of a time-out has not used the run's time up."""
        own = Runtime(providers=[Late(TimeoutError("its own"))], model="slow:m", limits=Limits(seconds=1_000))
        with pytest.raises(TimeoutError, match="its own"):
            colour.run(own)

    def test_other_faults_stay_what_they_are(self) -> None:
        """A fault that time does not explain ends the run as it would have."""
        own = Runtime(providers=[Late(ZeroDivisionError())], model="slow:m", limits=Limits(seconds=SHORT))
        with pytest.raises(ZeroDivisionError):
            own.run("hi")

    def test_a_pause_is_no_longer_than_the_time(self, colour: Any) -> None:
        """A service that asks to wait longer than the run has is not waited for."""
        error = ServiceError("busy", retryable=True, retry_after=1_000)
        own = Runtime(
            providers=[ScriptedProvider(error, "x")],
            model="scripted:m",
            limits=Limits(seconds=SHORT),
            middleware=[Retry(longest=2_000)],
        )

        assert colour.run(own).reason == "time_exhausted"

    def test_time_that_is_left_is_used(self, colour: Any) -> None:
        """Within its time a run is as without a bound, pauses included."""
        error = ServiceError("busy", retryable=True)
        own = Runtime(
            providers=[ScriptedProvider(error, "x")],
            model="scripted:m",
            limits=Limits(seconds=1_000),
            middleware=[Retry(seconds=0.001)],
        )

        assert colour.run(own).content == "x"

    def test_failed_attempts_take_time(self) -> None:
        """What attempts took that failed is part of the run's time."""
        error = ServiceError("busy", retryable=True)
        error.elapsed = 7.0

        run = loop([error, CompletionResponse(content="x", elapsed=1.0)], completer=Retry(seconds=0)(complete))

        assert run.checkpoints[-1].seconds == 8.0

    def test_what_ends_a_run_may_be_found_by_middleware(self) -> None:
        """A layer that knows of a budget ends the run by the error that names it; the partial text is the answer."""
        error = BudgetExceededError("no", measure="seconds", limit=2.0, spent=3.0, reason="time_exhausted")
        error.partial = "so far"
        run = loop([error], state={"price": Price(input=1, output=1)})

        assert (run.outcome.reason, run.outcome.content) == ("time_exhausted", "so far")
        assert run.checkpoints[-1].seconds == 3.0

    def test_an_actors_budget_leaves_cost_known(self) -> None:
        """A call that was not made cost nothing."""
        first = CompletionResponse(
            tool_calls=calling(("wait", {})).tool_calls, usage=Usage(1_000_000, 0), content="let me see"
        )
        error = BudgetExceededError("no", measure="tokens", limit=2, spent=3)
        run = loop([first, error], wait, state={"price": Price(input=1, output=1)})

        assert (run.outcome.reason, run.outcome.content) == ("actor_budget_exhausted", "let me see")
        assert run.outcome.cost == Decimal(1)


class TestTools:
    """Tools that take longer than the run has."""

    def test_they_are_given_up(self, colour: Any) -> None:
        """A tool is told that the time is up, and so is the reader of the history."""
        own = Runtime(providers=[ScriptedProvider()], tools=[wait])
        result = colour.resume(own, under_way("wait"), True)

        assert (result.reason, result.content) == ("time_exhausted", "let me see")
        assert result.invocations[0].content == "Tool 'wait' was given up: the run's time is used up."

    def test_those_that_wait_their_turn_are_not_begun(self, colour: Any) -> None:
        """Calls that found no slot in time are not executed, and said not to be."""
        own = Runtime(providers=[ScriptedProvider()], tools=[wait])
        result = colour.resume(own, under_way("wait", "wait", parallel_calls=1), True)

        assert result.invocations[1].content == "Not executed: the run's time is used up."
        check_pairs(result.messages)

    def test_calls_that_find_no_slot(self, colour: Any) -> None:
        """A run whose calls wait for those of another run ends in time too."""
        limited = tool(concurrency=1)(wait.function)
        own = Runtime(providers=[ScriptedProvider()], tools=[limited])
        assert own._assembly.slots.take(limited, lambda: None)
        result = colour.resume(own, under_way("wait"), True)

        assert result.invocations[0].content == "Not executed: the run's time is used up."

    def test_a_write_may_have_happened(self, colour: Any) -> None:
        """A write that was given up is of unknown outcome."""
        writes = tool(effect="write", approval=False)(wait.function)
        own = Runtime(providers=[ScriptedProvider()], tools=[writes])
        result = colour.resume(own, under_way("wait"), True, tools=["wait"])

        assert "its outcome is unknown. Do not repeat it without checking." in result.invocations[0].content

    def test_a_tools_own_time_out_comes_first(self, colour: Any) -> None:
        """A tool with less time of its own is given up by that."""
        quick = tool(timeout=0.01)(wait.function)
        state = under_way("wait")
        own = Runtime(providers=[ScriptedProvider("x")], tools=[quick])
        result = colour.resume(own, attrs.evolve(state, limits=Limits(seconds=1_000)), True)

        assert "timed out after 0.01 seconds" in result.invocations[0].content
        assert result.content == "x"
