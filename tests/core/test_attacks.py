"""Attacks that once succeeded: races, leaks, lies of values, and what callers got wrong without being told."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import enum
import gc
import math
import multiprocessing
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import Mock

import attrs
import pytest
from nr_llm import (
    Attachment,
    Cancellation,
    ChatMessage,
    CompletionResponse,
    FinishReason,
    InvalidValueError,
    Limits,
    MalformedJsonError,
    MissingCredentialError,
    NrLlmError,
    Options,
    PluginError,
    PluginHost,
    ProviderError,
    RateLimitError,
    RunState,
    Runtime,
    Secret,
    StepKind,
    StepRecorded,
    Suspended,
    TerminationReason,
    TextDelta,
    Tool,
    ToolArtifact,
    ToolCall,
    ToolContext,
    ToolError,
    ToolFinished,
    ToolProgress,
    ToolResult,
    UnknownNameError,
    Verdict,
    _calls,
    ainvoke,
    hookimpl,
    invoke,
    tool,
)
from nr_llm._json import copy_json, decode, valid_text
from nr_llm._loop_thread import LoopThread, Serving
from nr_llm._settle import settle
from nr_llm._slots import Slots
from nr_llm._threads import DaemonThreads
from nr_llm.redaction import WITHHELD, Redactor
from nr_llm.testing import ScriptedProvider, calling

from tests.core.colours import COLOURS
from tests.core.waiting import AGES, ended_calls

both = pytest.mark.parametrize("colour", COLOURS)


@tool
def echo(what: str = "") -> str:
    """Say it back."""
    return what


@tool(effect="write")
def write(what: str = "") -> str:
    """Write."""
    return f"wrote {what}"


def runtime(*replies: Any, tools: Any = (echo, write), **settings: Any) -> Runtime:
    """Return a Runtime whose model answers with `replies`."""
    model = settings.pop("describe", {})
    return Runtime(tools=tools, providers=[ScriptedProvider(*replies, **model)], model="scripted:", **settings)


def contents(state: RunState) -> list[str]:
    """Return what the tool messages of a run say."""
    return [message.content for message in state.messages if message.tool_call_id is not None]


class TestHonesty:
    """No call is answered with what another one gave."""

    @both
    def test_a_turn_is_not_answered_with_the_results_of_the_one_before(self, colour: Any) -> None:
        """Indices begin at 0 in each turn; a run left in between must not mix the turns up."""
        host = runtime(calling(("echo", {"what": "first"})), calling(("echo", {"what": "second"})), "done")
        asked: list[int] = []

        def second_reply(event: Any) -> bool:
            if isinstance(event, StepRecorded) and event.step.kind is StepKind.LLM:
                asked.append(1)
            return len(asked) == 2

        stream = colour.left(host, after=second_reply)

        assert contents(stream.state) == ["first", "Not executed: the run stopped before (cancelled)."]

    @both
    def test_a_tool_that_ended_in_time_has_not_timed_out(self, colour: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """However late the consumer of the events lets the run look at the clock."""
        ended, passed = ended_calls(monkeypatch), list[float]()
        monkeypatch.setattr(_calls, "time", Mock(monotonic=lambda: time.monotonic() + sum(passed)))
        patient = attrs.evolve(echo, timeout=AGES)

        def look_away(event: Any) -> None:
            if isinstance(event, ToolFinished) and not passed:
                assert all(ended.acquire(timeout=AGES) for _ in range(2))
                passed.append(2 * AGES)

        host = runtime(calling(("echo", {"what": "a"}), ("echo", {"what": "b"})), "done", tools=[patient])
        outcome = colour.stream(host, watch=look_away).outcome

        assert passed
        assert [call.content for call in outcome.invocations] == ["a", "b"]

    @both
    def test_a_call_that_has_ended_reports_no_progress(self, colour: Any) -> None:
        """A tool that timed out and still runs is not heard any more."""
        given_up, spoken = threading.Event(), threading.Event()

        @tool(timeout=0.05)
        def talks(context: ToolContext) -> str:
            """Go on talking."""
            context.cancelled.on_cancel(given_up.set)
            given_up.wait(AGES)
            context.progress("still here")
            spoken.set()
            return "late"

        @tool
        def waits() -> str:
            """Keep the turn open."""
            spoken.wait(AGES)
            return "waited"

        seen: list[Any] = []
        host = runtime(calling(("talks", {}), ("waits", {})), "done", tools=[talks, waits])
        colour.stream(host, watch=seen.append)

        assert not [event for event in seen if isinstance(event, ToolProgress)]

    @both
    def test_a_model_that_stops_when_told_is_cancelled(self, colour: Any) -> None:
        """A provider that heeds the switch and says nothing more has not failed."""
        switch = Cancellation()

        class Heeding(ScriptedProvider):
            def complete(self, request: Any, cancelled: Cancellation) -> Iterator[Any]:
                switch.cancel("enough")
                assert cancelled.cancelled
                yield from ()

        outcome = colour.run(Runtime(providers=[Heeding()], model="scripted:"), cancel=switch)

        assert outcome.reason is TerminationReason.CANCELLED

    @both
    def test_pauses_without_end_are_bounded_without_tools_too(self, colour: Any) -> None:
        """A model that only ever pauses is asked as often as there are rounds, and once to close."""
        pause = CompletionResponse(content="…", finish_reason=FinishReason.PAUSE)
        host = runtime(pause, tools=())

        outcome = colour.run(host, limits=Limits(rounds=3))

        assert (outcome.reason, outcome.rounds) == (TerminationReason.MAX_ROUNDS, 3)


class TestLeaving:
    """Streams that are left from elsewhere."""

    @staticmethod
    def held(go: threading.Event) -> Tool:
        """Return a tool that lasts until `go`, or a while."""

        def lasts(context: ToolContext) -> str:
            go.set()
            context.cancelled.wait(AGES)
            return "late"

        return Tool.from_schema("lasts", "", {}, lasts, context="context")

    def test_a_stream_closed_by_another_thread_is_cancelled(self) -> None:
        """The one that waits for its events gets the end of the run instead of an error of Python's."""
        go = threading.Event()
        stream = runtime(calling(("lasts", {})), "done", tools=[self.held(go)]).stream("hi")

        def close() -> None:
            go.wait(AGES)
            stream.close()

        other = threading.Thread(target=close)
        other.start()
        for _ in stream:
            pass
        other.join()

        assert stream.state.reason is TerminationReason.CANCELLED

    def test_a_stream_closed_by_another_task_is_cancelled(self) -> None:
        """As with threads."""
        go = threading.Event()

        async def main() -> Any:
            stream = runtime(calling(("lasts", {})), "done", tools=[self.held(go)]).astream("hi")

            async def close() -> None:
                await asyncio.to_thread(go.wait, AGES)
                await stream.aclose()

            other = asyncio.create_task(close())
            async for _ in stream:
                pass
            await other
            return stream

        assert asyncio.run(main()).state.reason is TerminationReason.CANCELLED


class TestSwitches:
    """Cancellation that is shared, long-lived, or watched by code that raises."""

    def test_a_raising_callback_keeps_nobody_from_being_told(self, caplog: pytest.LogCaptureFixture) -> None:
        """Its type is logged, its text is not."""
        switch, heard = Cancellation(), list[str]()

        def raises() -> None:
            raise RuntimeError("sk-secret")

        switch.on_cancel(raises)
        switch.on_cancel(lambda: heard.append("second"))
        switch.cancel()

        assert heard == ["second"]
        assert "RuntimeError" in caplog.text
        assert "sk-secret" not in caplog.text

    @both
    def test_a_tools_raising_callback_does_not_end_the_run(self, colour: Any) -> None:
        """A tool that is told of its time-out and raises has only timed out."""

        @tool(timeout=0.05)
        def careless(context: ToolContext) -> str:
            """Raise when told."""

            def raises() -> None:
                raise RuntimeError

            context.cancelled.on_cancel(raises)
            context.cancelled.wait(AGES)
            return "late"

        outcome = colour.run(runtime(calling(("careless", {})), "done", tools=[careless]))

        assert "timed out" in outcome.invocations[0].content

    @both
    def test_a_shared_switch_forgets_the_runs_it_was_given_to(self, colour: Any) -> None:
        """One switch for a process would otherwise hold every call it ever made."""
        switch = Cancellation()
        host = runtime(calling(("echo", {}), ("echo", {})), "done")

        colour.run(host, cancel=switch)

        assert switch._callbacks == []

    def test_waiting_longer_than_clocks_can_count(self) -> None:
        """An absurd pause is a long one."""
        switch = Cancellation()
        timer = threading.Timer(0.05, switch.cancel)
        timer.start()

        assert switch.wait(1e300)
        timer.join()


class TestSlots:
    """Concurrency limits under many waiting calls."""

    def test_a_waiter_is_told_once_however_often_it_asked(self) -> None:
        """Each asking again once doubled what was told: eight calls of one tool ran into thousands of wakes."""
        slots, one, told = Slots(), attrs.evolve(echo, concurrency=1), list[int]()

        def wake() -> None:
            told.append(1)

        assert slots.take(one, wake)
        assert not slots.take(one, wake)
        assert not slots.take(one, wake)
        slots.give_back(one)

        assert told == [1]

    def test_who_left_is_not_told(self) -> None:
        """A run that has ended waits for no slot."""
        slots, one, told = Slots(), attrs.evolve(echo, concurrency=1), list[int]()

        def wake() -> None:
            told.append(1)

        slots.take(one, wake)
        slots.take(one, wake)
        slots.forget(wake)
        slots.give_back(one)

        assert told == []

    def test_a_tool_made_for_one_run_is_not_kept(self) -> None:
        """Tools are counted while they run and no longer."""
        slots = Slots()
        one = attrs.evolve(echo, concurrency=2)
        slots.take(one, lambda: None)
        slots.take(one, lambda: None)
        slots.give_back(one)

        assert slots._taken[one] == 1
        slots.give_back(one)
        assert not slots._taken


class TestColours:
    """Edges at which one colour once did worse than the other."""

    @both
    def test_an_async_function_that_cannot_be_called(self, colour: Any) -> None:
        """Parameters that are not the schema's make an error turn, not the end of the run."""

        async def other(b: int) -> str:
            return str(b)

        made = Tool.from_schema("t", "", {"properties": {"a": {"type": "integer"}}}, other)

        outcome = colour.run(runtime(calling(("t", {"a": 1})), "done", tools=[made]))

        assert "failed with TypeError" in outcome.invocations[0].content
        assert outcome.content == "done"

    def test_an_awaitable_for_a_closed_event_loop(self) -> None:
        """A blocking tool that ends after its loop is gone leaves no thread dead and no coroutine complaining."""
        begun, go, failed, threads = threading.Event(), threading.Event(), list[Any](), list[threading.Thread]()

        async def later() -> str:
            return "never"

        def blocks() -> Any:
            threads.append(threading.current_thread())
            begun.set()
            go.wait(AGES)
            return later()

        made = Tool.from_schema("t", "", {}, blocks, timeout=0.01)
        before, threading.excepthook = threading.excepthook, failed.append
        try:
            result = asyncio.run(ainvoke(ToolCall("c", "t"), [made]))
            assert begun.wait(AGES)  # on a busy machine its time may be up before it begins
            go.set()
            threads[0].join(AGES)
        finally:
            threading.excepthook = before
        gc.collect()

        assert "timed out" in result.content
        assert failed == []

    def test_giving_up_a_call_whose_loop_has_closed(self) -> None:
        """A Runtime that is closed while an async tool runs ends the call, not the run with an error of the loop."""
        begun = threading.Event()

        @tool(timeout=AGES)
        async def stays() -> str:
            """Stay."""
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                stopped.set()
            return "never"

        stopped = threading.Event()
        host = runtime(calling(("stays", {})), "done", tools=[stays])

        def close() -> None:
            begun.wait(AGES)
            host.close()

        closing = threading.Thread(target=close)
        closing.start()
        outcome: Any = host.run("hi")
        closing.join()

        assert stopped.is_set()
        assert "failed with CancelledError" in outcome.invocations[0].content

    @pytest.mark.parametrize("stopped", ["before", "after"])
    def test_waiting_in_a_loop_that_ends(self, stopped: str) -> None:
        """Whoever hands an awaitable in around the end is told, and does not wait for ever."""
        serving, told = Serving(), list[str]()
        job: Any = Mock(context=contextvars.copy_context(), cancelled=Cancellation())

        async def never() -> None:
            await asyncio.sleep(60)

        def wait() -> None:
            try:
                serving.wait(never(), job)
            except BaseException as error:  # its type is what is tested
                told.append(type(error).__name__)

        holding, held, handed_in = threading.Event(), threading.Event(), threading.Event()

        def hold() -> None:
            holding.set()
            held.wait(AGES)

        hand_in = serving._loop.call_soon_threadsafe
        hand_in(hold)
        assert holding.wait(AGES)

        def watched(*args: Any) -> None:
            hand_in(*args)
            handed_in.set()

        serving._loop.call_soon_threadsafe = watched  # type: ignore[method-assign, assignment]
        waiter = threading.Thread(target=wait)
        if stopped == "before":
            serving.stop()
            waiter.start()
        else:
            waiter.start()
            assert handed_in.wait(AGES)
            serving.stop()
        held.set()
        waiter.join(AGES)

        assert told == ["RuntimeError" if stopped == "before" else "CancelledError"]

    def test_a_call_given_up_while_its_task_is_made(self) -> None:
        """Between the look at the switch and the task there is room for the switch to be thrown."""
        serving = Serving()

        class Late:
            """Thrown at the second look."""

            looks = 0

            @property
            def cancelled(self) -> bool:
                """Whether it was thrown."""
                self.looks += 1
                return self.looks > 1

        async def never() -> None:
            await asyncio.sleep(60)

        with pytest.raises(asyncio.CancelledError):
            serving.wait(never(), Mock(context=contextvars.copy_context(), cancelled=Late()))
        serving.stop()


class TestForks:
    """A process that forks after a Runtime has worked."""

    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_tools_run_in_the_child(self) -> None:
        """Its threads are gone there; counting on them made every call wait for its time-out."""

        @tool
        async def aecho() -> str:
            """Say it later."""
            return "async"

        host = runtime(calling(("echo", {"what": "sync"}), ("aecho", {})), "done", tools=[echo, aecho])
        host.run("hi")
        fork = multiprocessing.get_context("fork")
        here, there = fork.Pipe(duplex=False)

        def child() -> None:
            host._assembly.own_providers["scripted"].script(  # type: ignore[union-attr]
                calling(("echo", {"what": "sync"}), ("aecho", {})), "done"
            )
            outcome: Any = host.run("hi")
            there.send([call.content for call in outcome.invocations])

        process = fork.Process(target=child)
        process.start()
        arrived = here.poll(AGES)
        said = here.recv() if arrived else None
        process.kill()
        process.join()
        host.close()

        assert said == ["sync", "async"]

    def test_threads_of_another_process_are_not_counted_on(self) -> None:
        """What a fork has inherited is only the count of them."""
        threads, done = DaemonThreads(), threading.Event()
        threads._idle, threads._process = 3, -1

        threads.start(done.set)

        assert done.wait(AGES)

    def test_a_loop_of_another_process_is_not_waited_for(self) -> None:
        """A new one is started."""
        loop = LoopThread()
        first = loop._running()
        first.process = -1

        second = loop._running()

        assert second is not first
        first.stop()
        loop.close()


class TestCallers:
    """What callers got wrong without being told."""

    @both
    def test_a_misspelt_setting_is_refused(self, colour: Any) -> None:
        """It would be ignored otherwise."""
        with pytest.raises(TypeError, match=r"no setting 'modle'. Did you mean 'model'\? The settings are: actor,"):
            colour.run(runtime("done"), modle="scripted:")

    @both
    def test_a_setting_that_resuming_lacks_is_refused(self, colour: Any) -> None:
        """A resumed run keeps its model and limits."""
        held = colour.run(runtime(calling(("write", {})), "done"), tools=["write"])
        with pytest.raises(TypeError, match="no setting 'limits'"):
            colour.resume(runtime("done"), held, True, limits=Limits())

    @both
    @pytest.mark.parametrize(
        ("verdicts", "text"),
        [
            ({0: Verdict.DENIED}, r"verdicts\[0\]: must be True or False, not <Verdict.DENIED"),
            ({0: "no"}, r"verdicts\[0\]: must be True or False, not 'no'"),
            ({7: True}, r"7 is no index of a pending call; those are \[0\]"),
            ({"0": False}, "'0' is no index of a pending call"),
            (Verdict.DENIED, "must be a bool, or bools by index of the call, not a Verdict"),
        ],
    )
    def test_a_verdict_that_is_none_runs_nothing(self, colour: Any, verdicts: Any, text: str) -> None:
        """A word is not taken for a yes, and a wrong index not for silence."""
        host = runtime(calling(("write", {})), "done")
        held = colour.run(host, tools=["write"])

        with pytest.raises(InvalidValueError, match=text):
            colour.resume(host, held, verdicts)

    @both
    def test_a_verdict_on_a_run_that_has_ended_changes_nothing(self, colour: Any) -> None:
        """Somebody was quicker; the result is returned."""
        host = runtime(calling(("write", {})), "done")
        held = colour.run(host, tools=["write"])
        assert isinstance(held, Suspended)
        ended = settle(held.state, TerminationReason.CANCELLED)

        assert colour.resume(host, ended, {0: True}).reason is TerminationReason.CANCELLED

    @both
    @pytest.mark.parametrize(
        ("spoil", "text"),
        [
            (lambda state: attrs.evolve(state, pending=()), r"messages\[2\]: the calls 'c0' have no result"),
            (lambda state: attrs.evolve(state, messages=state.messages[:1]), "the pending calls are not those"),
            (
                lambda state: attrs.evolve(
                    state, pending=(attrs.evolve(state.pending[0], call=ToolCall("c0", "write", {"what": "else"})),)
                ),
                "the pending calls are not those its last turn has open",
            ),
            (lambda state: state.to_json(), "not a dict; read a stored one with RunState.from_json"),
        ],
        ids=["forgotten", "unasked", "exchanged", "json"],
    )
    def test_a_state_that_was_tampered_with_runs_nothing(self, colour: Any, spoil: Any, text: str) -> None:
        """What is run is what the conversation shows, and what it asked for is answered."""
        ran = list[str]()

        def note(what: str = "") -> str:
            ran.append(what)
            return what

        host = runtime(calling(("write", {})), "done", tools=[attrs.evolve(write, function=note)])
        held = colour.run(host, tools=["write"])

        with pytest.raises(InvalidValueError, match=text):
            colour.resume(host, spoil(held.state), True)
        assert ran == []

    @both
    @pytest.mark.parametrize(
        ("settings", "text"),
        [
            ({"limits": {"rounds": 3}}, "limits: must be Limits, not dict"),
            ({"options": {}}, "options: must be Options, not dict"),
            ({"cancel": True}, "cancel: must be Cancellation, not bool"),
            ({"actor": "bob"}, "actor: must be Actor, not str"),
            ({"run_id": 5}, "run_id: must be str, not int"),
            ({"prompt": 5}, "prompt: must be a text, a message or messages, not a int"),
        ],
    )
    def test_settings_of_another_type(self, colour: Any, settings: dict[str, Any], text: str) -> None:
        """They are named before anything begins."""
        with pytest.raises(InvalidValueError, match=text):
            colour.run(runtime("done"), **settings)

    def test_an_empty_secret_is_named(self) -> None:
        """The text says which one it is."""
        with pytest.raises(InvalidValueError, match=r"secrets\['key'\]: a secret is a non-empty str"):
            runtime("done", secrets={"key": ""})

    def test_a_tool_without_a_bound_of_time(self) -> None:
        """None is for no bound."""
        assert invoke(ToolCall("c", "echo"), [attrs.evolve(echo, timeout=None)]).content == ""

    @both
    def test_a_single_function_is_a_choice(self, colour: Any) -> None:
        """As a single name and a single tool are."""

        def own() -> str:
            """Its own."""
            return "own"

        assert colour.run(runtime(calling(("own", {})), "done"), tools=own).invocations[0].content == "own"

    @both
    def test_resuming_without_the_runs_own_tools_says_what_to_pass(self, colour: Any) -> None:
        """Tools given to a run only are known to nobody else."""
        host = runtime(calling(("write", {})), "done", tools=())
        held = colour.run(host, tools=[write])

        with pytest.raises(UnknownNameError, match=r"named 'write'. Pass tools=\[...\] when you resume"):
            colour.resume(host, held, True)
        with pytest.raises(UnknownNameError, match=r"named 'other'.$"):
            colour.resume(host, held, True, tools=["other"])
        assert colour.resume(host, held, True, tools=[write]).content == "done"

    def test_calls_without_a_run_have_keys_of_their_own(self) -> None:
        """Two payments must not be taken for one attempt repeated."""
        keys = list[str]()

        @tool
        def pay(context: ToolContext) -> str:
            """Pay."""
            keys.append(context.idempotency_key)
            return "paid"

        invoke(ToolCall("a", "pay"), [pay])
        invoke(ToolCall("b", "pay"), [pay])

        assert len(set(keys)) == 2

    @both
    def test_attachments_leave_the_message_as_it_was(self, colour: Any) -> None:
        """Its further keys stay."""
        message = {"role": "user", "content": "see", "name": "bob"}

        outcome = colour.run(runtime("done"), prompt=message, attachments=[Attachment("image/png", b"x")])

        assert outcome.messages[0].extra == {"name": "bob"}
        assert len(outcome.messages[0].attachments) == 1

    @pytest.mark.parametrize(
        ("make", "text"),
        [
            (lambda: Limits(rounds=None), "rounds: None is not a whole number of 0 or more"),  # type: ignore[arg-type]
            (lambda: Limits(rounds=2.5), "rounds: 2.5 is not a whole number"),  # type: ignore[arg-type]
            (lambda: Limits(result_bytes=10), "result_bytes: 10 is not a whole number between 256 and 50000"),
            (lambda: Limits(seconds=math.inf), "seconds: inf is not a finite number of 0 or more"),
            (lambda: Limits(seconds=math.nan), "seconds: nan is not a finite number of 0 or more"),
            (lambda: Limits(seconds=10**400), "is not a finite number of 0 or more"),
            (lambda: Options(temperature=-(10**400)), "is not between 0 and 2"),
            (lambda: Options(max_tokens=1.5), "max_tokens: 1.5 is not a whole number of 1 or more"),  # type: ignore[arg-type]
            (lambda: Options(temperature=3), "temperature: 3 is not between 0 and 2"),
            (lambda: Options(seed="x"), "seed: must be int, not str"),  # type: ignore[arg-type]
            (lambda: Options(seed=True), "seed: must be int, not bool"),
            (lambda: Options(tool_choice=5), "tool_choice: must be str, not int"),  # type: ignore[arg-type]
            (lambda: Options(stop=["a", 5]), "stop: must be one string or several"),  # type: ignore[list-item]
            (lambda: attrs.evolve(echo, timeout="5"), "timeout: '5' is no number above 0; use None"),  # type: ignore[arg-type]
            (lambda: attrs.evolve(echo, timeout=math.inf), "timeout: inf is no number above 0; use None"),
            (lambda: attrs.evolve(echo, timeout=10**400), "is no number above 0; use None"),
            (lambda: attrs.evolve(echo, result_bytes=5), "result_bytes: 5 is not a whole number between 256"),
            (lambda: attrs.evolve(echo, concurrency=0), "concurrency: 0 is not a whole number of 1 or more"),
            (lambda: CompletionResponse(content=None), "content: must be a string, not a NoneType"),
        ],
    )
    def test_values_that_would_fail_later(self, make: Callable[[], Any], text: str) -> None:
        """They are refused where they are given: in a run they were an error, in a stored state unreadable."""
        with pytest.raises(InvalidValueError, match=text):
            make()

    def test_a_model_with_little_room(self) -> None:
        """The smallest bound of a result is the smallest there is, whatever a model declares."""
        host = runtime(calling(("echo", {"what": "x" * 1000})), "done", describe={"result_bytes": 10})

        outcome: Any = host.run("hi")

        assert len(outcome.invocations[0].content.encode()) == 256


class TestHosts:
    """A Runtime over a host, and what it can be asked."""

    def test_a_runtime_over_a_host(self) -> None:
        """Tools and providers of plugins are found by their names, and closed with the Runtime."""

        class Parts:
            @hookimpl
            def nr_llm_tools(self) -> list[Tool]:
                return [echo]

        host = PluginHost(plugins=[Parts()])
        provider = ScriptedProvider(calling(("echo", {"what": "from a plugin"})), "done")
        with Runtime(host, providers=[provider], model="scripted:") as over:
            outcome: Any = over.run("hi")
            assert list(over.tools()) == ["echo"]
            assert over.provider("scripted") is provider
            assert over.describe()[1].name == "script"
            with pytest.raises(UnknownNameError, match="'ecko'"):
                over.run("hi", tools=["ecko"])

        assert outcome.invocations[0].content == "from a plugin"

    @both
    def test_a_single_completion_through_filters(self, colour: Any) -> None:
        """What is streamed on the way is passed over; the answer is returned."""

        class Plain:
            def feed(self, text: str) -> str:
                """Change nothing."""
                return text

            def finish(self) -> str:
                """Hold nothing back."""
                return ""

        def layer(inner: Any) -> Any:
            return lambda request: inner(attrs.evolve(request, stages=(Plain,)))

        assert colour.complete(runtime("done", middleware=[layer]), "hi").content == "done"


class TestErrors:
    """Errors that travel: pools and queues pickle them."""

    @pytest.mark.parametrize(
        "error",
        [
            UnknownNameError("tool", "ecko", known=["echo"], remedy="Look."),
            MissingCredentialError("acme", variables=("ACME_KEY",)),
            PluginError("broken", plugin="p", distribution="d 1"),
            ProviderError("no", provider="acme", status=500, retryable=True),
            RateLimitError("slow", retry_after=3.0),
            InvalidValueError("bad", path="a.b"),
            ToolError("text"),
        ],
        ids=lambda error: type(error).__name__,
    )
    @pytest.mark.parametrize("copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy], ids=["pickle", "copy"])
    def test_a_copy_says_the_same(self, error: NrLlmError, copied: Callable[[Any], Any]) -> None:
        """Text, class and attributes arrive, the run's state among them."""
        error.state = RunState(run_id="r", model="m", messages=(ChatMessage.user("hi"),))

        other = copied(error)

        assert (type(other), str(other), other.__dict__) == (type(error), str(error), error.__dict__)


class Colour(str, enum.Enum):  # noqa: UP042  # as many write it, and its str() is not its value
    """An enum of the older kind."""

    RED = "red"


class Liar(str):
    """A text that says of itself what suits it."""

    __slots__ = ()

    def isascii(self) -> bool:
        """Lie."""
        return True

    def __len__(self) -> int:
        return 1


class TestValues:
    """Values that are not what they seem."""

    def test_an_enum_is_its_value(self) -> None:
        """As for every JSON encoder, and for the model."""
        made = Tool.from_schema("t", "", {}, lambda: Colour.RED)

        assert copy_json({"a": Colour.RED, Colour.RED: 1}) == {"a": "red", "red": 1}
        assert invoke(ToolCall("c", "t"), [made]).content == "red"

    def test_a_text_that_lies_is_bounded(self) -> None:
        """What it holds counts, not what it says."""
        made = Tool.from_schema("t", "", {}, lambda: ToolResult.text(Liar("\ud800" * 60_000)))

        content = invoke(ToolCall("c", "t"), [made]).content

        assert type(content) is str
        assert len(content.encode()) <= 50_000
        assert type(valid_text(Liar("x"))) is str

    def test_an_object_that_claims_to_be_a_result_is_none(self) -> None:
        """Its content could change after it was bounded."""
        fake = Mock(spec=ToolResult, content="x", artifacts=(), is_error=False)
        made = Tool.from_schema("t", "", {}, lambda: fake)

        assert "returned a Mock instead of text" in invoke(ToolCall("c", "t"), [made]).content

    def test_a_state_is_plain_json(self) -> None:
        """It holds no enum members, so that it is read back without being text in between."""
        state = RunState(run_id="r", model="m", messages=(ChatMessage.user("hi"),), reason=TerminationReason.COMPLETED)

        stored: Any = state.to_json()

        assert type(stored["reason"]) is type(stored["messages"][0]["role"]) is str
        assert RunState.from_json(stored) == state

    @pytest.mark.parametrize("given", [{"n": 10**5000}, {"o": object()}, {1: 2}])
    def test_arguments_that_no_text_can_show(self, given: Any) -> None:
        """They are malformed, and telling so does not raise."""
        call = ToolCall.from_wire({"id": "c", "function": {"name": "n", "arguments": given}})

        assert call.malformed is not None
        assert call.arguments == {}

    @pytest.mark.parametrize("word", [["wav"], {}, None])
    def test_an_audio_format_that_is_no_word(self, word: Any) -> None:
        """It is refused by its place or kept as it is, and no lookup breaks on it."""
        part = {"type": "input_audio", "input_audio": {"format": word, "data": "@"}}
        with pytest.raises(InvalidValueError, match=r"content\[0\]"):
            ChatMessage.from_wire({"role": "user", "content": [part]})

    def test_numbers_no_sink_takes(self) -> None:
        """An integer that Python would not write, and a float that JSON cannot say."""
        with pytest.raises(InvalidValueError, match=r"arguments.n: an integer of more than 4,300 digits"):
            ToolCall("c", "t", {"n": -(10**4300)})
        assert copy_json(10**4300 - 1) == 10**4300 - 1
        with pytest.raises(MalformedJsonError, match="1e400 is beyond every float"):
            decode('{"a": 1e400}')
        assert decode("[1.5]") == [1.5]

    @both
    def test_observers_whose_attributes_raise(self, colour: Any) -> None:
        """They are switched off as those whose methods raise; equality is not asked for."""

        class Broken:
            def __eq__(self, other: object) -> bool:
                raise RuntimeError

            __hash__ = None  # type: ignore[assignment]

            @property
            def step(self) -> Any:
                """Raise."""
                raise RuntimeError

        outcome = colour.run(runtime("done", live=[lambda _: Broken(), lambda _: Broken()]))

        assert outcome.content == "done"

    @both
    def test_an_async_observer_is_switched_off(self, colour: Any, caplog: pytest.LogCaptureFixture) -> None:
        """Nobody would await it; the log says so, and no coroutine is left behind."""

        class Later:
            async def step(self, step: Any) -> None:
                """Watch."""

        assert colour.run(runtime("done", live=[lambda _: Later()])).content == "done"
        gc.collect()
        assert "Observer Later raised TypeError" in caplog.text

    def test_what_an_observer_returns_is_nobodys(self) -> None:
        """A method that happens to return something is not switched off for it."""
        seen: list[Any] = []

        class Counts:
            def step(self, step: Any) -> int:
                """Watch."""
                seen.append(step)
                return len(seen)

        runtime("done", live=[lambda _: Counts()]).run("hi")

        assert len(seen) == 2

    @both
    def test_a_refusal_is_streamed_filtered_and_recorded(self, colour: Any) -> None:
        """It is the answer people see, so what is done to answers is done to it."""

        class Shout:
            def feed(self, text: str) -> str:
                """Raise the voice."""
                return text.upper()

            def finish(self) -> str:
                """Hold nothing back."""
                return ""

        def loud(inner: Any) -> Any:
            return lambda request: inner(attrs.evolve(request, stages=(*request.stages, Shout)))

        seen: list[Any] = []
        for middleware, said in (((), "I will not."), ((loud,), "I WILL NOT.")):
            host = runtime(CompletionResponse(refusal="I will not."), middleware=middleware)
            stream = colour.stream(host, watch=seen.append)
            step = next(e.step for e in seen if isinstance(e, StepRecorded) and e.step.kind is StepKind.LLM)

            assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == said
            assert stream.outcome.content == step.content == said
            seen.clear()


class TestSecrets:
    """What the host registered as a secret is no business of the model's."""

    @both
    def test_a_secret_in_a_result_does_not_reach_the_model(self, colour: Any) -> None:
        """Neither returned nor raised for it to read, and the artifacts stay with the host."""

        @tool
        def shows(context: ToolContext) -> ToolResult:
            """Return it."""
            return ToolResult.text(f"key {context.secret('key')}", ToolArtifact.text("l", "kept"))

        @tool
        def admits(context: ToolContext) -> ToolResult:
            """Return it as an error."""
            return ToolResult.error(f"refused {context.secret('key')}")

        @tool
        def raises(context: ToolContext) -> str:
            """Raise it."""
            raise ToolError(f"bad {context.secret('key')}")

        replies = calling(("shows", {}), ("admits", {}), ("raises", {})), "done"
        host = runtime(*replies, tools=[shows, admits, raises], secrets={"key": "hunter2hunter2"})
        outcome = colour.run(host)

        texts = [call.content for call in outcome.invocations]
        assert texts == ["key [redacted]", "refused [redacted]", "bad [redacted]"]
        assert [call.is_error for call in outcome.invocations] == [False, True, True]
        assert outcome.invocations[0].artifacts[0].data == {"text": "kept"}

    def test_secrets_are_kept_as_such(self) -> None:
        """A report that shows local variables shows no text of them, and one nobody asked for is masked too."""
        host = runtime("done", secrets={"plain": "hunter2hunter2", "made": Secret("swordfish99")})

        assert "hunter2" not in repr(host._assembly)
        assert host._assembly.redactor.redact("it is swordfish99") == "it is [redacted]"

    def test_known_values_alone(self) -> None:
        """What only looks like a secret stays, a short one is masked as a whole text, and nothing is copied in vain."""
        redactor = Redactor(["hunter2hunter2", "abc"])
        text = "password=something-else abc"

        assert redactor.mask_known(text) is text
        assert redactor.mask_known("abc") == "[redacted]"
        assert Redactor().mask_known(text) is text

    def test_what_cannot_be_masked_is_withheld(self) -> None:
        """Fail closed."""
        redactor = Redactor(["hunter2hunter2"])
        redactor._known = (None,)  # type: ignore[assignment]

        assert redactor.mask_known("text") == WITHHELD
