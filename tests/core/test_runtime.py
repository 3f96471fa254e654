"""Runs in both colours: what goes right, and every edge at which loops lie."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import subprocess
import sys
import threading
import time
from typing import Any

import attrs
import pytest
from nr_llm import (
    Actor,
    Cancellation,
    ChatMessage,
    CompletionRequest,
    CompletionResponse,
    ConfigurationError,
    Event,
    Finished,
    InvalidValueError,
    Limits,
    MemoryStore,
    Options,
    PluginHost,
    ProviderError,
    ReasoningDelta,
    Role,
    RunChange,
    Runtime,
    ServiceError,
    StepRecorded,
    StoreError,
    StreamInterruptedError,
    Suspended,
    TerminationReason,
    TextDelta,
    Tool,
    ToolArtifact,
    ToolCallDelta,
    ToolContext,
    ToolError,
    ToolFinished,
    ToolProgress,
    ToolResult,
    UnknownNameError,
    Usage,
    Written,
    tool,
)
from nr_llm.effects import Completer, Flow
from nr_llm.middleware import Middleware
from nr_llm.testing import ScriptedProvider, calling

from tests.core.colours import COLOURS
from tests.core.waiting import AGES, ended_calls, until

both = pytest.mark.parametrize("colour", COLOURS)


@tool
def echo(what: str = "") -> str:
    """Say it back."""
    return what


@tool
async def aecho(what: str = "") -> str:
    """Say it back, later."""
    await asyncio.sleep(0)
    return what


@tool(effect="write", approval=False)
def write(what: str = "") -> str:
    """Write."""
    return f"wrote {what}"


def runtime(*replies: Any, tools: Any = (echo, aecho, write), **settings: Any) -> Runtime:
    """Return a Runtime whose model answers with `replies`."""
    model = settings.pop("describe", {})
    return Runtime(tools=tools, providers=[ScriptedProvider(*replies, **model)], model="scripted:", **settings)


def valid(messages: tuple[ChatMessage, ...]) -> bool:
    """Return whether a conversation may be sent: each call has one result."""
    calls = [call.id for message in messages for call in message.tool_calls or ()]
    return calls == [message.tool_call_id for message in messages if message.role is Role.TOOL]


def is_tool_step(event: Event) -> bool:
    """Return whether an event is the record of a tool call."""
    return isinstance(event, StepRecorded) and event.step.kind == "tool"


@both
class TestRuns:
    """What goes right."""

    def test_a_run_with_tools(self, colour: Any) -> None:
        """Sync and async tools are called, and the answer comes back."""
        result = colour.run(
            runtime(calling(("echo", {"what": "a"}), ("aecho", {"what": "b"})), "done"), tools=["echo", "aecho"]
        )

        assert ("done", ["a", "b"]) == (result.content, [i.content for i in result.invocations])

    @pytest.mark.lesson(129)
    def test_streamed_deltas_join_to_the_content(self, colour: Any) -> None:
        """The pieces of the answer, joined, are the stored content."""
        pieces: list[str] = []
        reply = CompletionResponse(content="A longer answer.", reasoning="hm")
        kinds: list[type] = []

        def watch(event: Event) -> None:
            kinds.append(type(event))
            if isinstance(event, TextDelta):
                pieces.append(event.text)

        stream = colour.stream(runtime(calling(("echo", {})), reply), watch=watch)

        assert "A longer answer." == "".join(pieces) == stream.outcome.content
        assert {ReasoningDelta, ToolCallDelta, StepRecorded, ToolFinished, Finished} <= set(kinds)
        assert Finished is kinds[-1]

    def test_a_reply_without_deltas_is_emitted_as_one(self, colour: Any) -> None:
        """A provider that does not stream still gives its text as a delta."""
        events: list[Event] = []
        provider = ScriptedProvider("whole")
        provider.complete = lambda request, cancelled: iter([CompletionResponse(content="whole")])  # type: ignore[method-assign]
        colour.stream(Runtime(providers=[provider], model="scripted:"), watch=events.append)

        assert [TextDelta("whole")] == [e for e in events if isinstance(e, TextDelta)]

    def test_the_result_starts_the_next_run(self, colour: Any) -> None:
        """The messages of a result are a valid prompt."""
        first = colour.run(runtime(calling(("echo", {})), "one"))
        second = colour.run(runtime("two"), (*first.messages, {"role": "user", "content": "and?"}))

        assert "two" == second.content
        assert len(first.messages) + 2 == len(second.messages)

    def test_complete_executes_nothing(self, colour: Any) -> None:
        """One model call offers tools and runs none."""
        reply = colour.complete(runtime(calling(("echo", {}))), "hi", tools=["echo"], options=Options(temperature=0))

        assert ["echo"] == [call.name for call in reply.tool_calls]

    def test_a_provider_s_own_layers_are_around_its_calls(self, colour: Any) -> None:
        """In runs and single completions alike, outside of the Runtime's."""
        seen: list[str] = []

        def noting(name: str) -> Middleware:
            def layer(inner: Completer) -> Completer:
                def completer(request: CompletionRequest) -> Flow[CompletionResponse]:
                    seen.append(name)
                    return (yield from inner(request))

                return completer

            return layer

        class Layered(ScriptedProvider):
            middleware = (noting("a"), noting("b"))

        own = Runtime(providers=[Layered("x", "y")], model="scripted:m", middleware=[noting("c")])

        assert ("x", "y") == (colour.run(own).content, colour.complete(own, "hi").content)
        assert list("abcabc") == seen

    @pytest.mark.lesson(108)
    def test_call_passes_the_seam(self, colour: Any) -> None:
        """A single call is validated and bounded like any other."""
        own = runtime("x")

        assert "a" == colour.call(own, "echo", {"what": "a"}).content
        assert "a" == colour.call(own, aecho, {"what": "a"}).content
        assert colour.call(own, "echo", {"bogus": 1}).is_error

    def test_a_suspended_run_goes_on(self, colour: Any) -> None:
        """A write without consent suspends; a verdict lets it run."""
        asking = attrs.evolve(write, approval=True)
        own = runtime(calling(("write", {"what": "x"})), "done", tools=[asking])
        held = colour.run(own, tools=["write"])
        result = colour.resume(own, held, True)

        assert isinstance(held, Suspended)
        assert ("done", ["wrote x"]) == (result.content, [i.content for i in result.invocations])

    @pytest.mark.lesson(53, 71)
    def test_a_verdict_per_call(self, colour: Any) -> None:
        """Verdicts may differ between the calls of a turn."""
        asking = attrs.evolve(write, approval=True)
        own = runtime(calling(("write", {"what": "a"}), ("write", {"what": "b"})), "done", tools=[asking])
        result = colour.resume(own, colour.run(own, tools=["write"]).state, {0: True, 1: False}, tools=["write"])

        assert [False, True] == [i.is_error for i in result.invocations]

    def test_dry_run(self, colour: Any) -> None:
        """A dry run asks no provider, watched or not."""
        own = runtime("x")
        result = colour.run(own, dry_run=True)

        assert TerminationReason.DRY_RUN is result.reason
        assert [] == own.provider("scripted").requests  # type: ignore[union-attr]

    @pytest.mark.lesson(129)
    def test_steps_arrive_in_the_order_of_the_calls(self, colour: Any) -> None:
        """Events follow completion, trace steps follow the calls."""
        gate = threading.Event()

        @tool
        def first() -> str:
            """Wait for the second."""
            gate.wait(AGES)
            return "1"

        @tool
        def second() -> str:
            """Let the first go on."""
            gate.set()
            return "2"

        events: list[Event] = []
        colour.stream(runtime(calling(("first", {}), ("second", {})), "x", tools=[first, second]), watch=events.append)

        assert ["first", "second"] == [e.step.tool_name for e in events if is_tool_step(e)]  # type: ignore[union-attr]
        assert {"first", "second"} == {e.tool for e in events if isinstance(e, ToolFinished)}

    def test_blocking_tools_meet(self, colour: Any) -> None:
        """Three blocking tools of one turn run at the same time."""
        barrier = threading.Barrier(3)

        @tool
        def meet(n: int) -> str:
            """Wait for the others."""
            barrier.wait(AGES)
            return str(n)

        result = colour.run(runtime(calling(*[("meet", {"n": n}) for n in range(3)]), "x", tools=[meet]))

        assert ["0", "1", "2"] == [i.content for i in result.invocations]

    def test_parallel_calls_are_limited(self, colour: Any) -> None:
        """No more calls run at once than the limits allow."""
        running, most, lock = 0, 0, threading.Lock()

        @tool
        def busy() -> str:
            """Count who is here."""
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            with lock:
                running -= 1
            return ""

        own = runtime(calling(*[("busy", {})] * 6), "x", tools=[busy], limits=Limits(parallel_calls=2))
        result = colour.run(own)

        assert (6, True) == (len(result.invocations), most <= 2)

    def test_a_tools_own_concurrency_is_limited(self, colour: Any) -> None:
        """A tool with one slot runs once at a time."""
        running, most, lock = 0, 0, threading.Lock()

        @tool(concurrency=1)
        def busy() -> str:
            """Count who is here."""
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.005)
            with lock:
                running -= 1
            return ""

        result = colour.run(runtime(calling(*[("busy", {})] * 4), "x", tools=[busy]))

        assert (4, 1) == (len(result.invocations), most)

    @pytest.mark.lesson(47, 63, 125)
    def test_context_of_a_tool(self, colour: Any) -> None:
        """A tool learns its run, call, actor and deps, gets secrets, reports progress."""
        seen: dict[str, Any] = {}
        events: list[Event] = []

        @tool
        def nosy(context: ToolContext) -> str:
            """Look around."""
            context.progress("half way")
            context.raise_if_cancelled()
            seen.update(attrs.asdict(context, recurse=False), secret=context.secret("key"))
            return ""

        own = runtime(calling(("nosy", {})), "x", tools=[nosy], secrets={"key": "s3cret-value"})
        colour.stream(own, run_id="r1", actor=Actor("me"), deps={"db": 1}, watch=events.append)

        assert ("r1", "c0", "nosy", Actor("me"), {"db": 1}) == tuple(
            seen[name] for name in ("run_id", "call_id", "tool", "actor", "deps")
        )
        assert ("s3cret-value", "r1:1:0") == (seen["secret"], seen["idempotency_key"])
        assert [ToolProgress("c0", "nosy", "half way")] == [e for e in events if isinstance(e, ToolProgress)]
        assert "[redacted]" == own._assembly.redactor.redact("s3cret-value")

    def test_an_unknown_secret_is_an_error_turn(self, colour: Any) -> None:
        """A secret nobody registered fails the call, not the run."""

        @tool
        def nosy(context: ToolContext) -> str:
            """Ask."""
            return context.secret("nope")

        result = colour.run(runtime(calling(("nosy", {})), "x", tools=[nosy]))

        assert "UnknownNameError" in result.invocations[0].content

    def test_context_variables_reach_tools(self, colour: Any) -> None:
        """Tools run in a copy of the caller's context."""
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
        token = variable.set("from the caller")

        @tool
        def read() -> str:
            """Read the variable."""
            return variable.get()

        @tool
        async def aread() -> str:
            """Read the variable, awaiting."""
            await asyncio.sleep(0)
            return variable.get()

        result = colour.run(runtime(calling(("read", {}), ("aread", {})), "x", tools=[read, aread]))
        variable.reset(token)

        assert ["from the caller"] * 2 == [i.content for i in result.invocations]

    def test_awaitables_of_plain_functions_are_awaited(self, colour: Any) -> None:
        """A lambda or partial that hides an async function gives its value, not the coroutine."""

        async def late(what: str) -> str:
            return what

        hidden = Tool.from_schema("hidden", "", {"properties": {}}, lambda: late("a"))
        partial = Tool.from_schema("partial", "", {"properties": {}}, functools.partial(late, "b"))
        result = colour.run(runtime(calling(("hidden", {}), ("partial", {})), "x", tools=[hidden, partial]))

        assert ["a", "b"] == [i.content for i in result.invocations]

    def test_arguments_are_fresh_for_each_tool(self, colour: Any) -> None:
        """A tool that changes its arguments changes neither history nor trace."""

        @tool
        def greedy(items: list[int]) -> str:
            """Eat."""
            items.clear()
            return ""

        result = colour.run(runtime(calling(("greedy", {"items": [1]})), "x", tools=[greedy]))

        assert {"items": [1]} == result.messages[1].tool_calls[0].arguments == result.invocations[0].arguments

    def test_small_models_get_small_results(self, colour: Any) -> None:
        """A model's own bound on results is kept."""
        own = runtime(calling(("echo", {"what": "x" * 900})), "x", describe={"result_bytes": 300})

        assert 300 == len(colour.run(own).invocations[0].content.encode())

    def test_a_tools_own_bound_is_kept(self, colour: Any) -> None:
        """A tool may ask for less than the run allows."""
        small = attrs.evolve(echo, result_bytes=300)

        result = colour.run(runtime(calling(("echo", {"what": "x" * 900})), "x", tools=[small]))

        assert 300 == len(result.invocations[0].content.encode())

    def test_filters_change_what_leaves_and_what_is_stored(self, colour: Any) -> None:
        """Stages see the text in order, may hold it back, and the stored content is what left."""

        class Shout:
            def feed(self, text: str) -> str:
                return text.upper()

            def finish(self) -> str:
                return "!"

        class HoldAll:
            def __init__(self) -> None:
                self.held = ""

            def feed(self, text: str) -> str:
                self.held += text
                return ""

            def finish(self) -> str:
                return self.held

        def layer(inner: Any) -> Any:
            return lambda request: inner(attrs.evolve(request, stages=(*request.stages, HoldAll, Shout)))

        for method in (colour.stream, colour.run):
            pieces: list[str] = []
            watch = {"watch": lambda e: pieces.append(e.text) if isinstance(e, TextDelta) else None}  # noqa: B023
            outcome = method(runtime("a reply", middleware=[layer]), **(watch if method == colour.stream else {}))
            content = outcome.outcome.content if method == colour.stream else outcome.content

            assert "A REPLY!" == content
            assert method == colour.run or "".join(pieces) == content


@both
class TestChoice:
    """Which tools and models a run gets."""

    def test_the_default_set_is_enabled_reads(self, colour: Any) -> None:
        """Case 29: neither writes nor disabled tools are offered unasked."""
        off = attrs.evolve(echo, name="off", enabled=False)
        own = runtime("x", tools=[echo, write, off])
        colour.run(own)

        assert ["echo"] == [t.name for t in own.provider("scripted").requests[0].tools]  # type: ignore[union-attr]

    def test_an_empty_list_means_no_tools(self, colour: Any) -> None:
        """Case 28: an empty list offers nothing."""
        own = runtime("x")
        colour.run(own, tools=[])

        assert () == own.provider("scripted").requests[0].tools  # type: ignore[union-attr]

    def test_functions_tools_names_and_groups_mix(self, colour: Any) -> None:
        """A choice may hold a function, a tool, a name and a group."""

        def extra(n: int) -> str:
            """Extra."""
            return str(n)

        grouped = attrs.evolve(echo, name="grouped", group="g")
        own = runtime("x", tools=[echo, write, grouped])
        colour.run(own, tools=[extra, "write", "@g", aecho])

        assert ["extra", "write", "grouped", "aecho"] == [
            t.name
            for t in own.provider("scripted").requests[0].tools  # type: ignore[union-attr]
        ]

    def test_a_single_name_is_a_choice(self, colour: Any) -> None:
        """A bare name is taken as a list of one."""
        own = runtime("x")
        colour.run(own, tools="echo")

        assert ["echo"] == [t.name for t in own.provider("scripted").requests[0].tools]  # type: ignore[union-attr]

    @pytest.mark.parametrize(("choice", "hint"), [(["ecko"], "echo"), (["@gg"], "'g'"), (["nobody:tool"], "nobody")])
    def test_an_unknown_name_is_refused_with_a_hint(self, colour: Any, choice: list[str], hint: str) -> None:
        """A misspelled tool, group or plugin names what exists."""
        own = runtime("x", tools=[echo, attrs.evolve(echo, name="grouped", group="g")])

        with pytest.raises(UnknownNameError, match=hint):
            colour.run(own, tools=choice)

    def test_two_tools_of_one_name_are_refused(self, colour: Any) -> None:
        """Situation 6: two different tools with one name never replace each other silently."""
        other = attrs.evolve(echo, description="another")

        with pytest.raises(InvalidValueError, match="two tools are named 'echo'"):
            colour.run(runtime("x"), tools=[echo, other])
        with pytest.raises(InvalidValueError, match="two tools are named 'echo'"):
            runtime("x", tools=[echo, other])

    def test_admin_tools_need_an_admin(self, colour: Any) -> None:
        """Case 37: not offered to others, executed for an administrator; disabled wins."""
        admin = attrs.evolve(echo, name="admin", admin_only=True)
        own = runtime(calling(("admin", {})), "x", tools=[echo, admin, attrs.evolve(admin, name="off", enabled=False)])

        assert colour.run(own, actor=Actor("a")).invocations[0].is_error
        own.provider("scripted").requests.clear()  # type: ignore[union-attr]
        assert not colour.run(own, actor=Actor("a", admin=True)).invocations[0].is_error
        assert ["echo", "admin"] == [t.name for t in own.provider("scripted").requests[-1].tools]  # type: ignore[union-attr]
        with pytest.raises(ConfigurationError, match="administrators"):
            colour.call(own, "admin", {})

    def test_a_tool_outside_the_choice_is_not_permitted(self, colour: Any) -> None:
        """Case 27: a registered tool that was not offered is refused and never entered."""
        entered = []

        @tool
        def hidden() -> str:
            """Hide."""
            entered.append(1)
            return ""

        result = colour.run(runtime(calling(("hidden", {})), "x", tools=[echo, hidden]), tools=["echo"])

        assert ([], True) == (entered, "not permitted" in result.invocations[0].content)

    def test_too_many_tools_for_a_model(self, colour: Any) -> None:
        """A model that copes with one tool is not offered two."""
        with pytest.raises(InvalidValueError, match="copes with 1"):
            colour.run(runtime("x", describe={"max_tools": 1}), tools=["echo", "aecho"])

    def test_a_default_set_is_cut_to_what_the_model_copes_with(self, colour: Any) -> None:
        """Tools that nobody chose do not keep a small model from answering."""
        own = runtime("x", describe={"max_tools": 1})
        colour.run(own)

        assert ["echo"] == [t.name for t in own.provider("scripted").requests[0].tools]  # type: ignore[union-attr]

    def test_no_model_is_an_error(self, colour: Any) -> None:
        """Nothing is asked merely because something is installed."""
        with pytest.raises(ConfigurationError, match="No model is named"):
            colour.run(Runtime(providers=[ScriptedProvider("x")]))
        with pytest.raises(ConfigurationError, match="names no model"):
            colour.run(Runtime(), model=":x")
        with pytest.raises(UnknownNameError, match="'scripted'"):
            colour.run(Runtime(providers=[ScriptedProvider("x")]), model="scriptd:x")
        with pytest.raises(UnknownNameError, match=r"'gpt-5-mini'\. A model is named PROVIDER:MODEL"):
            colour.run(Runtime(providers=[ScriptedProvider("x")]), model="gpt-5-mini")
        assert "scripted" == Runtime(providers=[ScriptedProvider("x")]).provider("scripted").name

    def test_the_window_is_the_models(self, colour: Any) -> None:
        """A conversation that cannot fit ends legibly, without a request."""
        own = runtime("x", describe={"context": 1200, "max_output": 100})
        result = colour.run(own, "y" * 9000)

        assert TerminationReason.CONTEXT_OVERFLOW is result.reason
        assert [] == own.provider("scripted").requests  # type: ignore[union-attr]


@both
class TestToolFaults:
    """Tools that misbehave."""

    @pytest.mark.lesson(57)
    def test_exception_text_stays_in_the_log(self, colour: Any, caplog: pytest.LogCaptureFixture) -> None:
        """Case 26: neither model nor trace sees what a tool raised; the log does, secrets masked."""

        @tool
        def boom() -> str:
            """Raise."""
            raise ValueError("https://user:hunter22@host/ sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD")

        steps: list[Event] = []
        with caplog.at_level(logging.ERROR, "nr_llm"):
            stream = colour.stream(runtime(calling(("boom", {})), "x", tools=[boom]), watch=steps.append)

        told = stream.outcome.invocations[0].content
        assert ("ValueError" in told, "hunter22" in told, stream.run_id in told) == (True, False, True)
        assert not any("hunter22" in str(e) for e in steps if is_tool_step(e))
        assert ("ValueError" in caplog.text, "hunter22" in caplog.text) == (True, False)

    @pytest.mark.lesson(74)
    @pytest.mark.parametrize(
        "error", [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), StopIteration(), TimeoutError()]
    )
    @pytest.mark.parametrize("kind", ["sync", "async"])
    def test_no_exception_of_a_tool_ends_the_host(self, colour: Any, error: BaseException, kind: str) -> None:
        """`sys.exit` and its like in a tool are an error turn."""

        def boom() -> str:
            """Raise."""
            raise error

        async def aboom() -> str:
            """Raise."""
            raise error

        made = Tool.from_function(boom if kind == "sync" else aboom, name="boom")
        result = colour.run(runtime(calling(("boom", {})), "x", tools=[made]))

        assert ("x", True) == (result.content, result.invocations[0].is_error)

    def test_a_tool_error_is_for_the_model(self, colour: Any, caplog: pytest.LogCaptureFixture) -> None:
        """The text of a `ToolError` reaches the model, and is no failure to log."""

        @tool
        def boom() -> str:
            """Raise."""
            raise ToolError("The table is locked; try again.")

        result = colour.run(runtime(calling(("boom", {})), "x", tools=[boom]))

        assert "The table is locked; try again." == result.invocations[0].content
        assert "" == caplog.text

    @pytest.mark.parametrize("value", [None, 7, b"x", ["a"], object()])
    def test_other_values_are_an_error_turn(self, colour: Any, value: object) -> None:
        """A tool that returns neither text nor result is told apart from one that returns an empty text."""
        odd = Tool.from_schema("odd", "", {"properties": {}}, lambda: value)
        result = colour.run(runtime(calling(("odd", {})), "x", tools=[odd]))

        assert f"returned a {type(value).__name__}" in result.invocations[0].content

    @pytest.mark.parametrize("kind", ["sync", "async"])
    def test_a_timed_out_tool_gives_up_its_slot(self, colour: Any, kind: str, caplog: pytest.LogCaptureFixture) -> None:
        """A slow tool is told, counted and left behind; a write's outcome is called unknown."""
        entered, told, release = threading.Event(), threading.Event(), threading.Event()

        def slow(context: ToolContext) -> str:
            """Wait to be told."""
            entered.set()
            if context.cancelled.wait(AGES):
                told.set()
            release.wait(AGES)
            return "late"

        async def aslow(context: ToolContext) -> str:
            """Wait to be cancelled."""
            entered.set()
            try:
                await asyncio.sleep(AGES)
            finally:
                told.set()
            return "late"

        function = slow if kind == "sync" else aslow
        made = [
            Tool.from_function(function, name=name, timeout=0.05, effect=effect, approval=False)
            for name, effect in (("read", "read"), ("change", "write"))
        ]
        own = runtime(calling(("read", {}), ("change", {})), "x", tools=made, limits=Limits(parallel_calls=1))
        result = colour.run(own, tools=["read", "change"])
        release.set()

        assert not entered.is_set() or told.wait(AGES)  # on a busy machine its time may be up before it begins
        assert "timed out after 0.05 seconds" in result.invocations[0].content
        assert "outcome is unknown" in result.invocations[1].content

    def test_a_tool_that_stops_for_a_cancelled_run(self, colour: Any) -> None:
        """`raise_if_cancelled` of a call that was not cancelled raises nothing; one that was is an error turn."""
        cancel = Cancellation()

        @tool
        def stop(context: ToolContext) -> str:
            """Cancel the call from inside."""
            context.cancelled.cancel("enough")
            context.raise_if_cancelled()
            return "not reached"

        result = colour.run(runtime(calling(("stop", {})), "x", tools=[stop]), cancel=cancel)

        assert "no longer waits" in result.invocations[0].content

    def test_invalid_arguments_never_reach_the_tool(self, colour: Any) -> None:
        """Faults of arguments are listed for the model; malformed and oversized ones are refused."""
        entered = []

        @tool
        def strict(n: int) -> str:
            """Count."""
            entered.append(n)
            return str(n)

        calls = [("strict", {"n": "x", "m": 1}), ("strict", {"n": "7"})]
        own = runtime(calling(*calls), "x", tools=[strict])
        result = colour.run(own)
        first = result.invocations[0].content

        assert ([7], True, True) == (entered, "n" in first, "m" in first)
        small = colour.run(
            runtime(calling(("echo", {"what": "x" * 300})), "x"), limits=Limits(argument_bytes=100)
        ).invocations[0]
        assert "the limit is 100" in small.content


@both
class TestEdges:
    """Where naive loops lie: cancellation, interrupts, raising watchers, stores and consumers."""

    CALLS = (("echo", {"what": "a"}), ("write", {"what": "b"}), ("echo", {"what": "c"}))

    def own(self, **settings: Any) -> Runtime:
        """Return a Runtime whose model reads, writes and reads."""
        return runtime(calling(*self.CALLS), "done", **settings)

    def test_a_raising_observer_is_switched_off(self, colour: Any, caplog: pytest.LogCaptureFixture) -> None:
        """An observer that raises is logged once and never stops the run."""
        seen: list[str] = []

        class Bad:
            def step(self, step: Any) -> None:
                seen.append(step.kind)
                raise RuntimeError("secret of the observer")

            def close(self, state: Any) -> None:
                seen.append("close")

        class Good:
            def delta(self, delta: Any) -> None:
                seen.append("delta")

        def refuses(info: Any) -> Any:
            raise OSError("no")

        own = self.own(live=[lambda info: Bad(), refuses, lambda info: Good()])
        stream = colour.stream(own, tools=["echo", "write"])

        assert "done" == stream.outcome.content
        assert (1, 0) == (seen.count("request"), seen.count("close"))
        assert "delta" in seen
        assert (2, False) == (caplog.text.count("switched off"), "secret of" in caplog.text)

    @pytest.mark.lesson(127)
    def test_observers_see_steps_before_they_are_stored(self, colour: Any) -> None:
        """A step is shown even when storing it fails, and the store's failure stops the run."""
        seen: list[Any] = []

        class Watcher:
            def step(self, step: Any) -> None:
                seen.append(step.kind)

            def close(self, state: Any) -> None:
                seen.append(state.reason)

        class Full(MemoryStore):
            def write(self, change: RunChange) -> Written:
                if any(step.kind == "tool" for step in change.steps):
                    raise OSError("disk full at /secret/path")
                if change.status is not None:
                    seen.append(f"stored as {change.status}, {change.error}")
                return super().write(change)

        with pytest.raises(StoreError, match=r"'record' of run .*OSError") as caught:
            colour.run(self.own(live=[lambda info: Watcher()], store=Full()), tools=["echo", "write"])

        assert ["request", "llm", "tool", "stored as failed, StoreError", TerminationReason.FAILED] == seen
        assert valid(caught.value.state.messages)
        assert "a" == next(m.content for m in caught.value.state.messages if m.role is Role.TOOL)
        assert "secret" not in str(caught.value)

    def test_a_store_that_fails_at_the_fence_prevents_the_write(self, colour: Any) -> None:
        """A write whose checkpoint could not be stored does not run."""
        written = []

        @tool(effect="write", approval=False)
        def note() -> str:
            """Write."""
            written.append(1)
            return ""

        class Broken(MemoryStore):
            def write(self, change: RunChange) -> Written:
                if change.status is not None:
                    raise StoreError("no again")
                if change.checkpoint and any(p.get("started") for p in change.checkpoint.state.get("pending", ())):
                    raise StoreError("no")
                return super().write(change)

        with pytest.raises(StoreError, match=r"^no$"):
            colour.run(runtime(calling(("note", {})), "x", tools=[note], store=Broken()), tools=["note"])

        assert [] == written

    def test_a_store_that_fails_at_the_end(self, colour: Any) -> None:
        """A run whose end cannot be stored fails, with its whole history."""
        ended: list[Any] = []

        class Broken(MemoryStore):
            def write(self, change: RunChange) -> Written:
                if change.status is not None:
                    raise OSError("no")
                return super().write(change)

        class Watcher:
            def close(self, state: Any) -> None:
                ended.append(state.reason)

        own = self.own(store=Broken(), live=[lambda info: Watcher()])
        with pytest.raises(StoreError) as caught:
            colour.run(own, tools=["echo", "write"])
        assert [TerminationReason.COMPLETED] == ended
        assert "done" == caught.value.state.answer

    def test_a_consumer_that_raises_anywhere(self, colour: Any) -> None:
        """Whatever event a consumer chokes on, its own error comes out and the history is valid."""
        count = 0
        total: list[Event] = []
        colour.stream(self.own(), tools=["echo", "write"], watch=total.append)
        for at in range(len(total)):
            count = 0

            def watch(event: Event, at: int = at) -> None:
                nonlocal count
                count += 1
                if count == at + 1:
                    raise ZeroDivisionError(at)

            stream, error = colour.broken(self.own(), tools=["echo", "write"], watch=watch)

            assert isinstance(error, ZeroDivisionError)
            assert valid(stream.state.messages)
            self.check_honest(stream.state.messages)

    @staticmethod
    def check_honest(messages: tuple[ChatMessage, ...]) -> None:
        """A call that ran is never called not executed."""
        results = [m.content for m in messages if m.role is Role.TOOL]
        ran = [i for i, text in enumerate(results) if not text.startswith("Not executed")]
        assert ran == list(range(len(ran)))

    def test_leaving_anywhere(self, colour: Any) -> None:
        """A stream that is left at any event has a valid history, and nothing further is called."""
        total: list[Event] = []
        colour.stream(self.own(), tools=["echo", "write"], watch=total.append)
        for at in range(len(total) - 1):
            events: list[Event] = []
            own = self.own()

            def after(event: Event, events: list[Event] = events, at: int = at) -> bool:
                events.append(event)
                return len(events) == at + 1

            stream = colour.left(own, after=after, tools=["echo", "write"])

            assert valid(stream.state.messages)
            assert stream.state.reason is not None
            self.check_honest(stream.state.messages)
            if not stream.state.ended or stream.state.reason is TerminationReason.CANCELLED:
                with pytest.raises(RuntimeError, match="no outcome yet"):
                    _ = stream.outcome

    def test_cancelling_anywhere(self, colour: Any) -> None:
        """A cancelled run returns, cancelled, with a valid history."""
        total: list[Event] = []
        colour.stream(self.own(), tools=["echo", "write"], watch=total.append)
        for at in range(len(total) - 2):
            cancel, count = Cancellation(), 0

            def watch(event: Event, at: int = at, cancel: Cancellation = cancel) -> None:
                nonlocal count
                count += 1
                if count == at + 1:
                    cancel.cancel("by the operator")

            stream = colour.stream(self.own(), cancel=cancel, tools=["echo", "write"], watch=watch)

            assert valid(stream.outcome.messages)
            assert stream.outcome.reason in (TerminationReason.CANCELLED, TerminationReason.COMPLETED)
            self.check_honest(stream.outcome.messages)
            assert len(stream.outcome.invocations) == sum(m.role is Role.TOOL for m in stream.outcome.messages)

    def test_cancelling_through_the_stream(self, colour: Any) -> None:
        """The stream itself can be asked to stop."""
        own = self.own()
        streams: list[Any] = []
        original = type(own).stream if colour.name == "sync" else type(own).astream

        def catching(*args: Any, **settings: Any) -> Any:
            streams.append(original(own, *args, **settings))
            return streams[0]

        setattr(own, "stream" if colour.name == "sync" else "astream", catching)
        stream = colour.stream(own, watch=lambda event: streams[0].cancel())

        assert TerminationReason.CANCELLED is stream.outcome.reason

    def test_cancelling_while_tools_run(self, colour: Any) -> None:
        """What finished is kept with its artifacts, what ran is unknown, what waited was not executed."""
        cancel, release, first_done = Cancellation(), threading.Event(), threading.Event()

        @tool
        def quick() -> ToolResult:
            """Be quick."""
            return ToolResult.text("kept", ToolArtifact.text("t", "x"))

        @tool
        def stuck() -> str:
            """Get stuck."""
            first_done.wait(AGES)
            cancel.cancel("now")
            release.wait(AGES)
            return "late"

        def watch(event: Event) -> None:
            if isinstance(event, ToolFinished) and event.tool == "quick":
                first_done.set()

        later = attrs.evolve(echo, exclusive=True)
        own = runtime(calling(("quick", {}), ("stuck", {}), ("echo", {})), "x", tools=[quick, stuck, later])
        stream = colour.stream(own, cancel=cancel, watch=watch)
        release.set()
        contents = [i.content for i in stream.outcome.invocations]

        assert "kept" == contents[0]
        assert "unknown" in contents[1]
        assert contents[2].startswith("Not executed")
        assert valid(stream.outcome.messages)

    def test_a_cancelled_run_whose_end_cannot_be_stored(self, colour: Any) -> None:
        """The store's failure comes out: nobody may think the end was kept."""

        class Broken(MemoryStore):
            def write(self, change: RunChange) -> Written:
                if change.status is not None:
                    raise OSError("no")
                cancel.cancel()
                return super().write(change)

        cancel = Cancellation()
        with pytest.raises(StoreError):
            colour.run(self.own(store=Broken()), cancel=cancel)

    def test_a_provider_error_carries_the_settled_state(self, colour: Any) -> None:
        """A failing second request keeps what the first round did."""
        own = runtime(calling(("echo", {"what": "a"})), ServiceError("down"))
        with pytest.raises(ServiceError) as caught:
            colour.run(own)

        state = caught.value.state
        assert (TerminationReason.FAILED, True) == (state.reason, valid(state.messages))
        assert "a" == state.messages[-1].content

    def test_a_foreign_error_carries_the_state_too(self, colour: Any) -> None:
        """Whatever ends a run, what it did until then is on the exception."""
        own = runtime(calling(("echo", {"what": "a"})), ZeroDivisionError("foreign"))
        with pytest.raises(ZeroDivisionError) as caught:
            colour.run(own)

        assert "a" == caught.value.state.messages[-1].content  # type: ignore[attr-defined]

    def test_a_spent_budget_is_logged(self, colour: Any, caplog: pytest.LogCaptureFixture) -> None:
        """Case 33: a run that stops at its budget says so in the log."""
        own = runtime(calling(("echo", {}), usage=Usage(900, 200)), "x", limits=Limits(tokens=1000))
        result = colour.run(own)

        assert TerminationReason.TOKENS_EXHAUSTED is result.reason
        assert "stopped with tokens_exhausted: its budget is spent (1100 tokens" in caplog.text

    def test_a_spent_time_is_logged_without_tokens(self, colour: Any, caplog: pytest.LogCaptureFixture) -> None:
        """Where no tokens were reported, none are made up."""
        colour.run(runtime(calling(("echo", {})), "x", limits=Limits(seconds=0.0)))

        assert "its budget is spent (unknown tokens" in caplog.text

    def test_a_provider_without_an_answer(self, colour: Any) -> None:
        """A provider that ends without a reply is a malformed one, not an endless run."""
        provider = ScriptedProvider()
        provider.complete = lambda request, cancelled: iter(())  # type: ignore[method-assign]

        with pytest.raises(ProviderError, match="ended without a reply"):
            colour.run(Runtime(providers=[provider], model="scripted:"))

    def test_a_foreign_flow_effect_is_refused(self, colour: Any) -> None:
        """Middleware that yields something else is told so."""

        def layer(inner: Any) -> Any:
            def completer(request: Any) -> Any:
                yield "not an effect"
                return (yield from inner(request))

            return completer

        with pytest.raises(TypeError, match="no effect"):
            colour.run(runtime("x", middleware=[layer]))

    def test_a_stop_iteration_is_no_end(self, colour: Any) -> None:
        """A `StopIteration` of a provider is a fault, not the end of the run."""

        def stop(request: Any) -> Any:
            raise StopIteration("oops")

        provider = ScriptedProvider(stop)
        with pytest.raises(RuntimeError):
            colour.run(Runtime(providers=[provider], model="scripted:"))


@both
class TestRetry:
    """Asking again after passing failures."""

    def test_a_passing_failure_is_retried(self, colour: Any) -> None:
        """Two failures and a success make one answer of three attempts."""
        failures = [ServiceError("down", retryable=True, retry_after=0.001)] * 2
        from nr_llm import Retry

        own = runtime(*failures, "up", middleware=[Retry(seconds=0.001)])
        steps: list[Event] = []
        stream = colour.stream(own, watch=steps.append)

        assert "up" == stream.outcome.content
        assert [3] == [e.step.attempts for e in steps if isinstance(e, StepRecorded) and e.step.kind == "llm"]

    @pytest.mark.parametrize(
        ("error", "attempts"),
        [
            (ServiceError("down", retryable=True), 3),
            (ServiceError("final"), 1),
            (ServiceError("later", retryable=True, retry_after=3600.0), 1),
        ],
    )
    def test_retries_end(self, colour: Any, error: ProviderError, attempts: int) -> None:
        """Retries are bounded, and nothing final or far away is waited for."""
        from nr_llm import Retry

        own = runtime(error, middleware=[Retry(seconds=0.001)])
        with pytest.raises(ServiceError) as caught:
            colour.run(own)

        assert attempts == caught.value.attempts == len(own.provider("scripted").requests)  # type: ignore[union-attr]

    def test_nothing_is_retried_once_a_delta_has_left(self, colour: Any) -> None:
        """A half answer that was shown is not followed by a whole one."""
        provider = ScriptedProvider()

        def complete(request: Any, cancelled: Any) -> Any:
            provider.requests.append(request)
            yield TextDelta("par")
            raise ServiceError("cut", retryable=True)

        provider.complete = complete  # type: ignore[method-assign]
        with pytest.raises(ServiceError) as caught:
            colour.stream(Runtime(providers=[provider], model="scripted:"))

        assert (True, 1) == (caught.value.delivered, len(provider.requests))

    def test_what_had_left_is_noted_on_the_error(self, colour: Any) -> None:
        """An interrupted stream's error tells the text received until then."""
        provider = ScriptedProvider()

        def complete(request: Any, cancelled: Any) -> Any:
            yield TextDelta("par")
            yield TextDelta("tial")
            raise StreamInterruptedError("cut")

        provider.complete = complete  # type: ignore[method-assign]
        with pytest.raises(StreamInterruptedError) as caught:
            colour.stream(Runtime(providers=[provider], model="scripted:"))

        assert ("partial", True) == (caught.value.partial, caught.value.delivered)

    def test_text_that_came_with_the_end_only(self, colour: Any) -> None:
        """What a reply holds beyond its deltas is emitted, so that joined deltas equal the content."""
        provider = ScriptedProvider()
        provider.complete = lambda request, cancelled: iter([TextDelta("a"), CompletionResponse(content="abc")])  # type: ignore[method-assign]
        events: list[Event] = []
        colour.stream(Runtime(providers=[provider], model="scripted:"), watch=events.append)

        assert [TextDelta("a"), TextDelta("bc")] == [e for e in events if isinstance(e, TextDelta)]

    def test_a_wait_ends_when_the_run_is_cancelled(self, colour: Any) -> None:
        """A cancelled run does not sit out its back-off."""
        cancel = Cancellation()

        def fail(request: Any) -> Any:
            threading.Timer(0.01, cancel.cancel).start()
            return ServiceError("down", retryable=True, retry_after=50.0)

        result = colour.run(runtime(fail), cancel=cancel)

        assert TerminationReason.CANCELLED is result.reason


class TestColours:
    """What belongs to one colour."""

    def test_a_blocking_run_imports_no_event_loop(self) -> None:
        """Neither the Runtime nor a blocking run imports asyncio."""
        code = (
            "import sys; from nr_llm import Runtime; from nr_llm.testing import ScriptedProvider;"
            "Runtime(providers=[ScriptedProvider('x')], model='scripted:').run('hi');"
            "print('asyncio' in sys.modules, 'httpx' in sys.modules, 'pluggy' in sys.modules, 'cattrs' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

        assert "False False False False" == done.stdout.strip()

    def test_both_colours_leave_the_same_trace(self) -> None:
        """Steps of sync and async, streamed and not, are equal but for durations."""
        traces = []
        for param in COLOURS:
            colour = param.values[0]
            for streamed in (False, True):
                steps: list[Any] = []
                watcher = attrs.make_class("Watcher", [])()
                watcher_type = type(watcher)
                watcher_type.step = lambda self, step, steps=steps: steps.append(step)
                own = runtime(
                    calling(("echo", {"what": "a"}), ("write", {}), ("nope", {})),
                    "done",
                    live=[lambda info, w=watcher: w],
                )
                (colour.stream if streamed else colour.run)(own, run_id="r", tools=["echo", "write"])
                traces.append(steps)

        assert 7 == len(traces[0])
        assert traces[0] == traces[1] == traces[2] == traces[3]

    def test_cancelling_the_task_settles_the_run(self) -> None:
        """A cancelled task closes the run with a valid history and tells the tools."""
        states: list[Any] = []
        told = threading.Event()
        entered = threading.Event()

        @tool
        async def forever() -> str:
            """Never return."""
            entered.set()
            try:
                await asyncio.sleep(60)
            finally:
                told.set()
            return ""

        class Watcher:
            def close(self, state: Any) -> None:
                states.append(state)

        async def main() -> None:
            own = runtime(
                calling(("forever", {}), ("echo", {})), "x", tools=[forever, echo], live=[lambda info: Watcher()]
            )
            task = asyncio.create_task(own.arun("hi"))
            while not entered.is_set():  # noqa: ASYNC110  # set by a tool, perhaps in another thread
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())

        assert told.is_set()
        assert (TerminationReason.CANCELLED, True) == (states[0].reason, valid(states[0].messages))
        assert 1 == len(states)

    def test_an_interrupt_settles_the_run(self) -> None:
        """Ctrl-C in a blocking run leaves a cancelled run with a valid history."""

        def interrupt(request: Any) -> Any:
            raise KeyboardInterrupt

        stream = runtime(calling(("echo", {"what": "a"})), interrupt).stream("hi")
        with pytest.raises(KeyboardInterrupt), stream:
            list(stream)

        assert (TerminationReason.CANCELLED, True) == (stream.state.reason, valid(stream.state.messages))

    def test_runs_share_a_runtime_between_threads(self) -> None:
        """Many runs at once do not mix."""
        own = Runtime(
            tools=[echo, aecho],
            providers=[
                ScriptedProvider(
                    lambda r: (
                        calling(("aecho", {"what": r.messages[0].content}))
                        if len(r.messages) == 1
                        else r.messages[-1].content
                    )
                )
            ],
            model="scripted:",
        )
        results: dict[int, Any] = {}
        threads = [threading.Thread(target=lambda n=n: results.update({n: own.run(str(n))})) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        own.close()

        assert {n: str(n) for n in range(12)} == {n: result.content for n, result in results.items()}

    def test_closing(self) -> None:
        """A Runtime is a context manager in both colours, and may be closed twice."""
        with runtime(calling(("aecho", {})), "x") as own:
            own.run("hi")
            own.close()

        async def main() -> None:
            async with runtime("x") as own:
                await own.arun("hi")

        asyncio.run(main())

    def test_a_performer_without_an_answer(self) -> None:
        """An effect that ends without an answer is a fault, not the end of the run."""
        from nr_llm._adrive import aevents
        from nr_llm._aperform import AsyncPerformer
        from nr_llm._drive import events
        from nr_llm._perform import Performer

        own = runtime("x")

        class Silent(Performer):
            def complete(self, request: Any) -> Any:
                yield from ()

        class AsyncSilent(AsyncPerformer):
            async def complete(self, request: Any) -> Any:
                for item in ():
                    yield item

        setting = own._assembly.new("hi", streamed=False)
        with pytest.raises(RuntimeError, match="without an answer"):
            list(events(setting.flow, Silent(setting.desk, await_in_loop=own._await_in_loop)))

        async def main() -> None:
            setting = own._assembly.new("hi", streamed=False)
            with pytest.raises(RuntimeError, match="without an answer"):
                async for _ in aevents(setting.flow, AsyncSilent(setting.desk)):
                    pass

        asyncio.run(main())

    @both
    def test_what_finished_unseen_is_kept(self, colour: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A result that was in the box when its run was left is no lost result."""
        ended = ended_calls(monkeypatch)

        def after(event: Event) -> bool:
            return isinstance(event, ToolFinished) and all(ended.acquire(timeout=AGES) for _ in range(2))

        calls = calling(("echo", {"what": "0"}), ("echo", {"what": "1"}))
        stream = colour.left(runtime(calls, "x"), after=after)

        assert {"0", "1"} == {m.content for m in stream.state.messages if m.role is Role.TOOL}

    @both
    def test_what_is_no_result_is_passed_over(self, colour: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A box that holds a result and the news that the run was cancelled loses neither result nor run."""
        ended, switch = ended_calls(monkeypatch), Cancellation()

        def after(event: Event) -> bool:
            if not isinstance(event, ToolFinished):
                return False
            switch.cancel()
            return all(ended.acquire(timeout=AGES) for _ in range(2))

        calls = calling(("echo", {"what": "0"}), ("echo", {"what": "1"}))
        stream = colour.left(runtime(calls, "x"), after=after, cancel=switch)

        assert {"0", "1"} == {m.content for m in stream.state.messages if m.role is Role.TOOL}

    def test_a_message_to_a_closed_loop_is_for_nobody(self) -> None:
        """A tool that returns after its event loop has closed harms nobody."""
        from nr_llm._inbox import Inbox

        async def main() -> Inbox:
            return Inbox()

        asyncio.run(main()).post("late")

    @both
    def test_an_async_tool_of_a_call_given_up_does_not_start(self, colour: Any) -> None:
        """A coroutine handed to the loop after its call was given up is cancelled there."""
        entered, made = [], list[Any]()

        async def late() -> str:
            entered.append(1)
            return "x"

        @tool(timeout=0.02)
        def slow_to_begin(context: ToolContext) -> str:
            """Hand out a coroutine too late."""
            context.cancelled.wait(AGES)
            made.append(late())
            return made[0]  # type: ignore[no-any-return]

        result = colour.run(runtime(calling(("slow_to_begin", {})), "x", tools=[slow_to_begin]))
        until(lambda: bool(made) and inspect.getcoroutinestate(made[0]) == inspect.CORO_CLOSED)

        assert "timed out" in result.invocations[0].content
        assert [] == entered


def test_a_runtime_says_what_it_was_given() -> None:
    """Where plugins are found, where runs are kept and how much of them, their bounds, and what masks secrets."""
    host, store, limits = PluginHost([]), MemoryStore(), Limits(rounds=3)
    given = Runtime(host, store=store, limits=limits, privacy="redacted")
    plain = Runtime()

    assert (given.host, given.store, given.limits, given.privacy) == (host, store, limits, "redacted")
    assert given.redactor is host.redactor
    assert (plain.host, plain.store, plain.limits, plain.privacy) == (None, None, Limits(), None)
