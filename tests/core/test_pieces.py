"""Small pieces: window, toolbox, conversation, tools, threads, slots, cancellation, single calls."""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
import weakref
from typing import Any

import attrs
import pytest
from nr_llm import (
    Actor,
    Attachment,
    Cancellation,
    ChatMessage,
    ConfigurationError,
    InvalidSchemaError,
    InvalidValueError,
    Limits,
    RunCancelledError,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolEffect,
    ToolError,
    ToolResult,
    Toolset,
    ainvoke,
    as_messages,
    invoke,
    tool,
)
from nr_llm._slots import Slots
from nr_llm._threads import DaemonThreads
from nr_llm.window import Window, calibrated, estimate

from tests.core.waiting import AGES, until


@tool
def echo(what: str = "") -> str:
    """Say it back."""
    return what


class TestWindow:
    """Token estimates and pruning."""

    def test_everything_fits(self) -> None:
        """A conversation that fits is sent as the same object."""
        history = (ChatMessage.user("x"),)
        fitted, budget = Window(context=1000, reserved=100).fit(history, (), calibration=1.15)

        assert history is fitted
        assert (870, 0) == (budget.budget, budget.dropped)
        assert budget.budget - budget.estimated == budget.remaining

    @pytest.mark.lesson(76)
    def test_the_newest_turn_stays(self) -> None:
        """Oldest turns go first, calls together with their results; head and newest turn stay."""
        call = ChatMessage.assistant_tool_calls([ToolCall("c", "n", {"a": "x" * 400})])
        history = (
            ChatMessage.system("s"),
            ChatMessage.user("first"),
            call,
            ChatMessage.tool_result("c", "r" * 400),
            ChatMessage("assistant", "newest" * 200, reasoning={"p": "hm" * 50}),
        )
        fitted, budget = Window(context=700, reserved=100).fit(history, (echo.spec,), calibration=1.0)

        assert (*history[:2], history[4]) == fitted
        assert (2, True) == (budget.dropped, budget.tools > 0)

    def test_the_question_at_hand_stays(self) -> None:
        """In the middle of its tool calls a later question outlives the turn it was asked in."""
        history = (
            ChatMessage.user("first"),
            ChatMessage.assistant("x" * 3000),
            ChatMessage.user("second"),
            ChatMessage.assistant_tool_calls([ToolCall("c", "n")]),
            ChatMessage.tool_result("c", "r"),
        )
        fitted, budget = Window(context=700, reserved=100).fit(history, (), calibration=1.0)

        assert (history[0], *history[2:]) == fitted
        assert 1 == budget.dropped

    def test_no_more_goes_than_must(self) -> None:
        """Turns that fit stay, however many there are."""
        turns = tuple(ChatMessage.assistant("x" * 700) for _ in range(5))
        fitted, budget = Window(context=1000, reserved=100).fit((ChatMessage.user("u"), *turns), (), calibration=1.0)

        assert (5, 1) == (len(fitted), budget.dropped)

    @pytest.mark.parametrize(
        ("fields", "reserved"),
        [
            ({"max_tokens": 7, "max_output": 9}, 7),
            ({"max_tokens": None, "max_output": 9}, 9),
            ({"max_tokens": None, "max_output": None}, 2000),
            ({"max_tokens": 999_999, "max_output": None}, 50_000),
        ],
    )
    def test_reserve(self, fields: dict[str, Any], reserved: int) -> None:
        """The answer's share is what the caller set, else what the model writes, else a part, at most half."""
        assert reserved == Window.of(100_000, **fields).reserved

    def test_estimates(self) -> None:
        """Bytes count, not characters, and results are denser than prose."""
        assert estimate(ChatMessage.user("ä" * 70)) == estimate(ChatMessage.user("a" * 140)) == 48
        assert estimate(ChatMessage.tool_result("c", "a" * 140)) == 64

    def test_calibration_only_grows(self) -> None:
        """A report above the estimate raises the factor, one below changes nothing."""
        assert 2.0 == calibrated(1.0, observed=200, estimated=100)
        assert 1.15 == calibrated(1.15, observed=1, estimated=100)
        assert 1.15 == calibrated(1.15, observed=None, estimated=100)
        assert 1.15 == calibrated(1.15, observed=5, estimated=0)


class TestConversation:
    """Prompts in any form."""

    def test_forms(self) -> None:
        """A question, a message, a mapping and a mixture are taken."""
        user = ChatMessage.user("x")

        assert (user,) == as_messages("x") == as_messages(user) == as_messages({"role": "user", "content": "x"})
        assert (ChatMessage.system("s"), user, ChatMessage.assistant("y")) == as_messages(
            [user, {"role": "assistant", "content": "y"}], system="s"
        )

    def test_attachments_join_the_last_message(self) -> None:
        """Attachments belong to the last user message."""
        image = Attachment("image/png", b"x")

        assert (ChatMessage.user("x", image),) == as_messages("x", attachments=[image])
        for prompt in ([], [ChatMessage.assistant("y")]):
            with pytest.raises(InvalidValueError, match="attachments"):
                as_messages(prompt, attachments=[image])

    @pytest.mark.lesson(37)
    @pytest.mark.parametrize(
        ("prompt", "text"),
        [
            ([], "prompt: is empty"),
            ([{"role": "robot", "content": ""}], r"messages\[0\]: role"),
            ([ChatMessage.tool_result("c", "r")], r"messages\[0\]: answers 'c'"),
            ([ChatMessage.assistant_tool_calls([ToolCall("c", "n")])], r"messages\[1\]: the calls 'c' have no result"),
            (
                [ChatMessage.assistant_tool_calls([ToolCall("c", "n")]), ChatMessage.user("x")],
                r"messages\[1\]: the calls",
            ),
            (
                [
                    ChatMessage.assistant_tool_calls([ToolCall("c", "n")]),
                    ChatMessage.tool_result("c", "r"),
                    ChatMessage.tool_result("c", "r"),
                ],
                r"messages\[2\]: answers 'c'",
            ),
        ],
    )
    def test_refusals(self, prompt: Any, text: str) -> None:
        """What a provider would refuse is refused here, by place."""
        with pytest.raises(InvalidValueError, match=text):
            as_messages(prompt)


class TestTools:
    """Tools as values."""

    def test_decorator(self) -> None:
        """Name and description come from the function; settings from the decorator."""

        @tool(name="other", description="d", effect="write", group="g", examples=[{"what": "x"}])
        def original(what: str) -> str:
            """Not this."""
            return what

        assert ("other", "d", ToolEffect.WRITE, "g") == (
            original.name,
            original.description,
            original.effect,
            original.group,
        )
        assert (True, True, True) == (original.writes, original.alone, original.needs_approval)
        assert [{"what": "x"}] == original.spec.parameters["examples"]
        assert "direct" == original("direct")

    def test_approval(self) -> None:
        """A read may ask for consent, a write may do without."""
        assert attrs.evolve(echo, approval=True).needs_approval
        assert not attrs.evolve(echo, effect="write", approval=False).needs_approval
        assert not echo.needs_approval

    def test_names_of_functions(self) -> None:
        """A partial has its function's name, a lambda needs one."""
        import functools

        def half(a: int, b: int) -> str:
            """Half."""
            return str(a + b)

        assert "half" == Tool.from_function(functools.partial(half, b=1)).name
        with pytest.raises(InvalidSchemaError, match="pass name="):
            Tool.from_function(lambda: "x")

    @pytest.mark.parametrize("field", ["timeout", "concurrency", "result_bytes"])
    def test_bounds_are_positive(self, field: str) -> None:
        """Nothing may take no time or no bytes."""
        with pytest.raises(InvalidValueError, match=field):
            attrs.evolve(echo, **{field: 0})

    @pytest.mark.lesson(29)
    def test_from_schema(self) -> None:
        """A raw schema needs no signature; the context goes to the named parameter."""
        seen: list[ToolContext] = []

        def run(context: Any, **arguments: Any) -> str:
            seen.append(context)
            return str(arguments)

        made = Tool.from_schema("raw", "d", {"properties": {"a": {"type": "integer"}}}, run, context="context")

        assert "{'a': 1}" == invoke(ToolCall("c", "raw", {"a": 1}), [made]).content
        assert "raw" == seen[0].tool

    def test_context_by_itself(self) -> None:
        """A context of one's own has no secrets and no listener."""
        context = ToolContext()
        context.progress("x")
        context.raise_if_cancelled()
        with pytest.raises(ConfigurationError, match="no secret named 'k'"):
            context.secret("k")

    def test_toolset_is_a_protocol(self) -> None:
        """Anything with the three methods is a toolset."""

        class Own:
            def tools(self) -> list[Tool]:
                return []

            def open(self) -> None: ...

            def close(self) -> None: ...

        assert isinstance(Own(), Toolset)
        assert not isinstance(echo, Toolset)


class TestInvoke:
    """Single calls through the seam."""

    def test_sync(self) -> None:
        """A call is validated, run and bounded."""
        assert "x" == invoke(ToolCall("c", "echo", {"what": "x"}), [echo]).content
        assert invoke(ToolCall("c", "echo", {"what": 5}), Toolbox.of([echo])).is_error
        assert "this run has no tools" in invoke(ToolCall("c", "echo"), []).content
        assert "Did you mean 'echo'" in invoke(ToolCall("c", "ecko"), [echo]).content
        assert "no complete JSON object" in invoke(ToolCall("c", "echo", {}, "{"), [echo]).content

    def test_each_call_has_a_key_of_its_own(self) -> None:
        """Two single calls never share an idempotency key."""
        keys: list[str] = []

        @tool
        def note(context: ToolContext) -> str:
            """Note the key."""
            keys.append(context.idempotency_key)
            return ""

        for _ in range(2):
            invoke(ToolCall("c", "note"), [note])

        assert 2 == len(set(keys))

    def test_async(self) -> None:
        """The async twin does the same."""
        assert "x" == asyncio.run(ainvoke(ToolCall("c", "echo", {"what": "x"}), [echo])).content

    def test_async_tools_without_a_loop(self) -> None:
        """An async tool is awaited even where nothing awaits; it may be cancelled by its time-out."""
        entered, cancelled = threading.Event(), threading.Event()

        @tool
        async def slow(seconds: float) -> str:
            """Sleep."""
            entered.set()
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return "done"

        assert "done" == invoke(ToolCall("c", "slow", {"seconds": 0}), [slow]).content
        entered.clear()
        hasty = attrs.evolve(slow, timeout=0.05)
        assert "timed out" in invoke(ToolCall("c", "slow", {"seconds": AGES}), [hasty]).content
        assert not entered.is_set() or cancelled.wait(AGES)  # on a busy machine its time may be up before it begins

    def test_cancelled(self) -> None:
        """A thrown switch stops the wait."""
        cancel = Cancellation()
        cancel.cancel("enough")
        with pytest.raises(RunCancelledError, match="enough"):
            invoke(ToolCall("c", "echo"), [echo], cancel=cancel, limits=Limits(), actor=Actor("a"))

    def test_two_tools_of_one_name(self) -> None:
        """A toolbox refuses two tools of one name, and takes one twice."""
        with pytest.raises(InvalidValueError, match="two tools are named 'echo'"):
            Toolbox.of([echo, attrs.evolve(echo)])
        assert ("echo",) == Toolbox.of([echo, echo]).offered

    def test_a_raising_repr_of_an_exception(self) -> None:
        """An exception whose own name or text raises is still an error turn."""

        class NastyError(Exception):
            def __str__(self) -> str:
                raise RuntimeError("nested")

        @tool
        def boom() -> str:
            """Raise."""
            raise NastyError

        assert "failed" in invoke(ToolCall("c", "boom"), [boom]).content

    @pytest.mark.parametrize("nested", [RuntimeError, SystemExit])
    def test_a_text_that_raises(self, nested: type[BaseException]) -> None:
        """An error for the model that cannot be read is an error turn, not the end of the run."""

        class BrokenError(ToolError):
            def __str__(self) -> str:
                raise nested

        def breaks() -> str:
            raise BrokenError

        made = Tool.from_schema("t", "", {}, breaks)

        assert "failed with RuntimeError" in invoke(ToolCall("c", "t"), [made]).content

    def test_a_text_subclass(self) -> None:
        """A string of another class is its text."""

        class Text(str):
            __slots__ = ()

        made = Tool.from_schema("t", "", {}, lambda: Text("x"))
        result = invoke(ToolCall("c", "t"), [made])

        assert (str, "x") == (type(result.content), result.content)
        assert isinstance(result, ToolResult)


class TestThreads:
    """Daemon threads."""

    def test_threads_are_reused(self) -> None:
        """Work that finds a thread idle runs in it."""
        threads, seen = DaemonThreads(idle_seconds=10 * AGES), []

        for _ in range(3):
            threads.start(lambda: seen.append(threading.current_thread()))
            until(lambda: threads._idle == 1)

        assert (3, 1, True) == (len(seen), len(set(seen)), seen[0].daemon)

    def test_idle_threads_end(self) -> None:
        """A thread that finds no work in time is not kept."""
        threads, seen, begun = DaemonThreads(idle_seconds=0.0), [], threading.Event()

        def work() -> None:
            seen.append(threading.current_thread())
            begun.set()

        threads.start(work)
        assert begun.wait(AGES)
        seen[0].join(AGES)

        assert (False, 0) == (seen[0].is_alive(), threads._idle)

    def test_an_idle_thread_keeps_nothing_alive(self) -> None:
        """What a tool was given is let go when it has run."""

        class Big: ...

        threads, done = DaemonThreads(idle_seconds=10 * AGES), threading.Event()
        big = Big()
        reference = weakref.ref(big)
        threads.start(lambda big=big: done.set())  # type: ignore[misc]
        assert done.wait(AGES)
        until(lambda: threads._idle == 1)
        del big
        gc.collect()

        assert reference() is None

    def test_work_given_to_a_leaving_thread(self) -> None:
        """Work is never lost between a thread that leaves and one that comes."""
        threads, done = DaemonThreads(idle_seconds=0.0), threading.Semaphore(0)
        for _ in range(300):
            threads.start(done.release)  # type: ignore[arg-type]
        for _ in range(300):
            assert done.acquire(timeout=AGES)

    def test_a_thread_that_was_counted_on_stays(self) -> None:
        """A thread that gives up waiting just as it is given work does the work."""
        threads, done = DaemonThreads(), threading.Event()
        real = threads._work

        class Late:
            """Give work to the thread at the moment its wait ends."""

            def get(self, timeout: float | None = None) -> Any:
                if timeout is not None and not done.is_set():
                    threads.start(done.set)
                    raise queue.Empty
                return real.get(timeout=timeout)

            def put(self, work: Any) -> None:
                real.put(work)

        threads._work = Late()  # type: ignore[assignment]
        threads.start(lambda: None)

        assert done.wait(AGES)


class TestSlots:
    """Concurrency of tools."""

    def test_a_waiter_is_told(self) -> None:
        """A slot that is given back wakes those who found none."""
        slots, one, told = Slots(), attrs.evolve(echo, concurrency=1), []

        assert slots.take(echo, lambda: None)
        assert slots.take(one, lambda: None)
        assert not slots.take(one, lambda: told.append(1))
        slots.give_back(echo)
        assert [] == told
        slots.give_back(one)
        assert [1] == told
        assert slots.take(one, lambda: None)


class TestCancellation:
    """The switch."""

    def test_once(self) -> None:
        """Only the first call counts, and each listener hears it once."""
        cancel, heard = Cancellation(), []
        cancel.on_cancel(lambda: heard.append("a"))
        cancel.on_cancel(lambda: heard.append("b"))()
        assert not cancel.wait(0)
        cancel.cancel("first")
        cancel.cancel("second")
        cancel.on_cancel(lambda: heard.append("late"))()

        assert (["a", "late"], "first", True) == (heard, cancel.reason, cancel.wait(0))

    def test_forgetting_twice(self) -> None:
        """Taking a listener off after the switch was thrown does nothing."""
        cancel = Cancellation()
        forget = cancel.on_cancel(lambda: None)
        cancel.cancel()
        forget()

        assert cancel.cancelled

    def test_children(self) -> None:
        """A parent throws its children, a child does not throw its parent."""
        parent = Cancellation()
        first, second = parent.child(), parent.child()
        first.cancel("alone")
        parent.cancel("all")

        assert ("alone", "all") == (first.reason, second.reason)
