"""Previews: what a call that waits for a person would do; bounded, kept with its run, and never in its way."""

from __future__ import annotations

import json
import threading
from functools import partial
from typing import Any

import attrs
import pytest
from nr_llm import (
    CallPreview,
    Cancellation,
    InvalidSchemaError,
    MemoryStore,
    Preview,
    PrivacyLevel,
    RunHistory,
    RunResult,
    RunState,
    RunStep,
    Runtime,
    Suspended,
    TerminationReason,
    Tool,
    Toolbox,
    ToolContext,
    Verdict,
    decide,
    open_previews,
    replay,
    tool,
    tool_loop,
)
from nr_llm._invoke import _desk
from nr_llm._previews import Previewing
from nr_llm.actors import Actor
from nr_llm.history import HOST
from nr_llm.previews import WITHHELD, bound_preview
from nr_llm.privacy import StepFilter
from nr_llm.redaction import Redactor
from nr_llm.testing import ScriptedProvider, calling

from tests.core.colours import COLOURS, Sync
from tests.core.flows import Driven, plan, state, text

both = pytest.mark.parametrize("colour", COLOURS)
SHOWN = CallPreview(index=0, tool="rename", lines=("a -> b",))


def renaming(preview: Any, **settings: Any) -> Tool:
    """Return a tool that writes and has a preview."""

    @tool(effect="write", preview=preview, **settings)
    def rename(old: str, new: str = "b") -> str:
        """Rename a thing."""
        return f"{old} is now {new}"

    return rename


def runtime_of(preview: Any, *replies: Any, **settings: Any) -> Runtime:
    """Return a runtime whose model calls the tool once."""
    asked = calling(("rename", {"old": "a"}))
    provider = ScriptedProvider(asked, *replies)
    return Runtime(tools=[renaming(preview)], providers=[provider], model="scripted:", **settings)


def held(colour: Any, preview: Any, **settings: Any) -> Suspended:
    """Return a run that waits for one call of a tool with a preview."""
    with runtime_of(preview) as runtime:
        outcome = colour.run(runtime, tools=["rename"], **settings)
    assert isinstance(outcome, Suspended)
    return outcome


def bounded(given: object) -> CallPreview:
    """Return what becomes of what a preview gave."""
    return bound_preview(0, "rename", given, mask=lambda line: line.replace("hunter2", "***"))


class TestBounds:
    """Whatever a tool says is cut to what a person reads."""

    def test_too_many_too_long(self) -> None:
        """Case 82: 25 lines of 600 characters become 20 of 500 and one note."""
        preview = bounded(["x" * 600] * 25)

        assert ["x" * 499 + "…"] * 20 == list(preview.lines[:20])
        assert ("… 5 more lines",) == preview.lines[20:]

    def test_exactly_within(self) -> None:
        """20 lines of 500 characters pass as they are; one more line is said to be one."""
        assert ("x" * 500,) * 20 == bounded("\n".join(["x" * 500] * 20)).lines
        assert "… 1 more line" == bounded(["x"] * 21).lines[-1]

    def test_blanks_collapse(self) -> None:
        """Blanks of any kind become one, at the ends none."""
        assert ("a b", "c d") == bounded("  a \t b\r\nc\x0bd ").lines

    @pytest.mark.parametrize("given", ["", " \n\t", [], ["", " "], [""] * 30])
    def test_an_empty_one_has_failed(self, given: object) -> None:
        """A person is told that there is nothing to see."""
        assert CallPreview(index=0, tool="rename", lines=("The preview is empty.",), failed=True) == bounded(given)

    def test_blank_lines_before_the_rest_are_no_empty_preview(self) -> None:
        """What is cut off may be what matters, and is counted."""
        assert not bounded([""] * 20 + ["x"]).failed

    @pytest.mark.parametrize(("given", "kind"), [(5, "int"), (["a", 5], "list"), (None, "NoneType"), (b"x", "bytes")])
    def test_what_is_no_text_has_failed(self, given: object, kind: str) -> None:
        """The tool's author has to fix it; the call can be decided on all the same."""
        assert (f"The preview is a {kind} instead of text.",) == bounded(given).lines
        assert bounded(given).failed

    def test_secrets_are_masked_before_anything_is_cut(self) -> None:
        """A secret that a line ends in is not shown by half."""
        assert "x" * 495 + " ***" == bounded("x" * 495 + " hunter2").lines[0]

    def test_surrogates(self) -> None:
        """What no sink can encode is replaced."""
        assert ("a\ufffd",) == bounded("a\ud800").lines


class TestTool:
    """A tool with a preview."""

    def test_a_preview_takes_what_it_names(self) -> None:
        """Some of the parameters, all of them, the context under any name, in any form of function."""

        class Folder:
            def preview(self, new: str) -> str:
                return new

        def noted(mark: str, old: str) -> str:
            return mark + old

        def watched(old: str, call: ToolContext, more: str = "more") -> str:
            return f"{old} {call.tool} {more}"

        context = ToolContext(tool="rename")
        cases = [
            (Folder().preview, "B"),
            (partial(noted, "!"), "!A"),
            (partial(noted, mark="?"), "?A"),
            (watched, "A rename more"),
            (lambda **words: str(sorted(words)), "['new', 'old']"),
            (lambda: "nothing", "nothing"),
        ]
        for preview, said in cases:
            previewer = renaming(preview).previewer

            assert previewer is not None
            assert said == previewer({"old": "A", "new": "B"}, context)

    def test_from_schema(self) -> None:
        """A tool without a signature has one, too."""
        schema = {"properties": {"old": {"type": "string"}}, "required": ["old"]}
        made = Tool.from_schema("rename", "Rename.", schema, lambda old: old, preview=lambda old: f"{old}!")

        assert made.previewer is not None
        assert "a!" == made.previewer({"old": "a"}, ToolContext())
        assert Tool.from_schema("now", "Say when.", {}, max, preview=lambda: "x").previewer is not None
        assert attrs.evolve(made, preview=None).previewer is None

    def test_defaults_survive_another_function(self) -> None:
        """Hosts and tests put their own in front of a tool's; what the schema says still holds."""
        made = attrs.evolve(renaming(lambda old, new: old + new), function=lambda **_: "x")

        assert made.previewer is not None
        assert "ab" == made.previewer({"old": "a"}, ToolContext())

    def test_none_is_usual(self) -> None:
        """Tools that say nothing have no preview."""
        assert renaming(None).preview is None
        assert "preview" not in repr(renaming(lambda: "x"))

    @pytest.mark.parametrize(
        ("preview", "why"),
        [
            ("x", "must be a function, not a str"),
            (print, "no Python function"),
            (lambda older: older, "takes 'older', which is no parameter of the tool"),
            (lambda old, /: old, "takes 'old', which is no parameter"),
        ],
    )
    def test_one_that_cannot_be_called_is_refused(self, preview: Any, why: str) -> None:
        """When the tool is made, and not when somebody waits."""
        with pytest.raises(InvalidSchemaError, match=why):
            renaming(preview)

    def test_an_asynchronous_one_is_refused(self) -> None:
        """It runs in a thread in either colour, so it may as well block."""

        async def later(old: str) -> str:
            return old

        with pytest.raises(InvalidSchemaError, match="is asynchronous"):
            renaming(later)


class TestFlow:
    """The flow asks for previews and puts them into what it records."""

    def test_only_tools_that_have_one_are_asked(self) -> None:
        """The effect holds their calls; its answer is in the state, the step and the outcome."""

        @tool(effect="write")
        def plain() -> str:
            """Write."""
            return ""

        class Answering(Driven):
            def _answer(self, effect: Any) -> Any:
                return (attrs.evolve(SHOWN, index=1),) if isinstance(effect, Preview) else super()._answer(effect)

        calls = calling(("plain", {}), ("rename", {"old": "a"}))
        run = Answering(tool_loop(state(), plan(plain, renaming(lambda: "x"))), [calls])

        (asked,) = [effect for effect in run.effects if isinstance(effect, Preview)]
        assert [1] == [pending.index for pending in asked.calls]
        assert (attrs.evolve(SHOWN, index=1),) == run.outcome.previews
        assert run.outcome.previews == run.steps[-1].previews == run.checkpoints[-1].previews

    def test_a_preview_goes_with_its_call(self) -> None:
        """Once a call is answered nothing is left of it in the state."""
        pending = attrs.evolve(state(), previews=(SHOWN,), pending=())
        first = Driven(tool_loop(state(), plan(renaming(None))), [calling(("rename", {"old": "a"}))]).outcome.state
        again = decide(attrs.evolve(first, previews=(SHOWN,)), {0: Verdict.APPROVED})
        run = Driven(tool_loop(again, plan(renaming(None))), [text("done")])

        assert pending.previews
        assert () == run.checkpoints[-1].previews


class TestRuns:
    """Runs in both colours."""

    @both
    def test_a_suspended_run_shows_it(self, colour: Any) -> None:
        """A person sees what the tool says of this very call, its defaults included."""
        outcome = held(colour, lambda old, new: [f"{old} -> {new}"])

        assert (SHOWN,) == outcome.previews == outcome.state.previews

    @both
    def test_a_raising_one(self, colour: Any, caplog: pytest.LogCaptureFixture) -> None:
        """Case 82, A46: the run is suspended as ever; the class is named, the text goes to the log alone."""

        def broken(old: str) -> str:
            raise LookupError("a secret text")

        outcome = held(colour, broken)

        assert (
            CallPreview(index=0, tool="rename", lines=("The preview failed with LookupError.",), failed=True)
            == (outcome.previews[0])
        )
        assert "a secret text" in caplog.text

    @both
    def test_one_that_leaves_the_process_has_failed(self, colour: Any) -> None:
        """`SystemExit` in a thread would leave somebody waiting for ever."""

        def leaving() -> str:
            raise SystemExit(3)

        assert ("The preview failed with SystemExit.",) == held(colour, leaving).previews[0].lines

    @both
    def test_an_awaitable_is_no_text(self, colour: Any) -> None:
        """A function that hands a coroutine on is told apart, and the coroutine closed."""

        async def later() -> str:
            return "x"

        assert "coroutine instead of text" in held(colour, partial(lambda made: made(), later)).previews[0].lines[0]

    @both
    def test_the_context_is_that_of_the_call(self, colour: Any) -> None:
        """A preview works for the same actor as the call would, and may ask for the run's secrets, which are masked."""
        seen: list[ToolContext] = []

        def preview(context: ToolContext) -> str:
            seen.append(context)
            context.progress("nobody watches")
            return f"key {context.secret('key')}"

        with runtime_of(preview, secrets={"key": "hunter2hunter2"}) as runtime:
            outcome = colour.run(runtime, tools=["rename"], actor=Actor("ann"))

        assert ("ann", "rename") == (seen[0].actor.id, seen[0].tool)  # type: ignore[union-attr]
        assert "hunter2" not in outcome.previews[0].lines[0]

    @both
    def test_one_that_never_ends(self, colour: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """After its time the run is suspended without it, and it is told that nobody waits."""
        contexts: list[ToolContext] = []

        def endless(context: ToolContext) -> str:
            contexts.append(context)
            context.cancelled.wait()
            return "late"

        monkeypatch.setattr("nr_llm._previews.PREVIEW_SECONDS", 0.05)
        outcome = held(colour, endless)

        assert ("The preview took more than 0.05 seconds.",) == outcome.previews[0].lines
        assert outcome.previews[0].failed
        assert contexts[0].cancelled.wait()

    @both
    def test_a_run_is_cancelled_while_one_is_made(self, colour: Any) -> None:
        """It ends at once, its call answered."""
        cancel, going = Cancellation(), threading.Event()

        def preview() -> str:
            cancel.cancel("enough")
            going.wait()
            return "late"

        with runtime_of(preview) as runtime:
            outcome = colour.run(runtime, tools=["rename"], cancel=cancel)
        going.set()

        assert isinstance(outcome, RunResult)
        assert TerminationReason.CANCELLED is outcome.reason
        assert ["Not executed"] == [call.content[:12] for call in outcome.invocations]

    @both
    def test_it_is_made_anew_while_the_turn_still_waits(self, colour: Any) -> None:
        """Of two calls one is decided; the preview of the other shows how things are now."""
        said = iter(["first", "second", "third"])
        calls = calling(("rename", {"old": "a"}), ("rename", {"old": "b"}))
        provider = ScriptedProvider(calls, "done")
        made = renaming(lambda: next(said))
        with Runtime(tools=[made], providers=[provider], model="scripted:") as runtime:
            outcome = colour.run(runtime, tools=["rename"])
            again = colour.resume(runtime, outcome, {0: True})

        assert [("first",), ("second",)] == [preview.lines for preview in outcome.previews]
        assert [(1, ("third",))] == [(preview.index, preview.lines) for preview in again.previews]

    def test_calls_are_not_made_for_nobody(self) -> None:
        """A turn that nobody waits for any more makes no further previews."""
        made: list[str] = []
        toolbox = Toolbox.of([renaming(lambda old: made.append(old) or "x")])
        pending = held(Sync(), lambda: "x").pending
        desk = _desk(toolbox, None, None, None, None)
        turn = Previewing(desk, pending, made.append)  # type: ignore[arg-type]
        turn.take(None)
        turn.leave()
        turn.work()

        assert ([], False) == (made, turn.done)


class TestKept:
    """What becomes of a preview in states, steps and records."""

    def test_a_state_keeps_it(self) -> None:
        """Through JSON and back, beside its call."""
        outcome = held(Sync(), lambda old, new: f"{old} -> {new}")

        assert outcome.state == RunState.from_json(json.loads(json.dumps(outcome.state.to_json())))
        assert (SHOWN,) == RunState.from_json(outcome.state.to_json()).previews

    @pytest.mark.parametrize("wrong", [{"tool": "delete"}, {"index": 1}])
    def test_one_that_names_another_call_is_dropped(self, wrong: dict[str, Any]) -> None:
        """It would speak for a call that it does not describe."""
        outcome = held(Sync(), lambda: "x")
        state = attrs.evolve(outcome.state, previews=(SHOWN, attrs.evolve(SHOWN, **wrong)))

        assert (SHOWN,) == RunState.from_json(state.to_json()).previews

    @pytest.mark.parametrize("level", list(PrivacyLevel))
    def test_it_is_content(self, level: PrivacyLevel) -> None:
        """Where content is not kept, nothing but a count is."""
        step = RunStep(kind="approval", round=1, previews=(SHOWN,))
        payload = StepFilter(level, Redactor()).record(step).payload

        shown = [{"index": 0, "tool": "rename", "lines": ["a -> b"], "failed": False}]
        expected = {"previews": shown} if level.keeps_content else {"previews_count": 1, "content_redacted": True}
        assert expected == payload

    @both
    def test_a_replay_has_the_same(self, colour: Any) -> None:
        """It takes previews from the record, as it takes results; also where a turn was held twice."""
        store = MemoryStore()
        with runtime_of(lambda: "x", "done", store=store, privacy="full") as runtime:
            outcome = colour.run(runtime, tools=["rename"], run_id="r")
            waiting = replay(RunHistory(store, HOST), "r")
            colour.resume(runtime, outcome, {0: True})
        again = replay(RunHistory(store, HOST), "r")

        assert () == waiting.differences == again.differences
        assert "previews" in next(step for step in again.steps if step.kind == "approval").payload


class TestOpen:
    """Who may see a preview is asked when it is shown (A47)."""

    @pytest.mark.parametrize(
        "toolbox",
        [
            Toolbox.of([]),
            Toolbox({"rename": renaming(lambda: "x")}, ()),
            Toolbox.of([renaming(None)]),
        ],
        ids=["gone", "not open", "no preview"],
    )
    def test_it_is_withheld(self, toolbox: Toolbox) -> None:
        """A tool that is gone, not open to whoever looks, or has no preview any more."""
        (preview,) = open_previews([SHOWN], toolbox)

        assert CallPreview(index=0, tool="rename", lines=(WITHHELD,), failed=True) == preview

    def test_it_is_shown(self) -> None:
        """To whom the tool is open."""
        assert (SHOWN,) == open_previews([SHOWN], Toolbox.of([renaming(lambda: "x")]))
