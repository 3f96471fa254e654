"""Each promise of the tool contract is broken by a tool of its own, and kept by honest ones."""

from __future__ import annotations

import asyncio
import math
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from nr_llm import (
    Actor,
    ArgumentsError,
    InvalidValueError,
    Tool,
    ToolArtifact,
    ToolContext,
    ToolError,
    ToolResult,
    tool,
)
from nr_llm._seam import timed_out
from nr_llm.testing import ToolContract, check_tool
from nr_llm.testing.attempts import Attempt, Caller


@tool(data_class="public", examples=[{"a": 1, "b": 2}])
def add(a: int, b: int = 0) -> ToolResult:
    """Add two numbers."""
    return ToolResult.text(str(a + b), ToolArtifact.table("sum", ["a", "b"], [[a, b]]))


@tool(data_class="public")
async def late(context: ToolContext, what: str = "") -> str:
    """Say something later."""
    await asyncio.sleep(0)
    context.raise_if_cancelled()
    if what == "no":
        raise ToolError("not that")
    return what


def odd(function: Callable[..., Any], parameters: dict[str, Any] | None = None, **settings: Any) -> Tool:
    """Return a tool whose function no signature vouches for."""
    return Tool.from_schema("odd", "Do something.", parameters or {}, function, data_class="public", **settings)


class TestAdd(ToolContract):
    """The suite, as a test module of a plugin would have it."""

    tool = add
    examples = [{"a": 3}]  # noqa: RUF012


class TestLate(ToolContract):
    """An asynchronous tool that takes a context."""

    tool = late


def test_honest_tools_keep_it() -> None:
    """A tool that keeps its promises passes; what could not be checked is told."""
    assert ("cancelled call: it takes no ToolContext, so it cannot be told",) == check_tool(add, {"a": 1})
    assert ("missing arguments: nothing is required",) == check_tool(late, [{"what": "no matter"}, {}])


def test_a_preview_finds_what_a_call_would() -> None:
    """Its context has the same things to offer."""
    said: list[Any] = []

    def preview(call: ToolContext, a: int, b: int) -> str:
        said.append((call.deps, call.secret("key"), call.actor, a + b))
        return "adds"

    settings: dict[str, Any] = {"deps": 5, "secrets": {"key": "k"}, "actor": Actor("ann")}
    check_tool(attrs.evolve(add, preview=preview), {"a": 1}, **settings)

    assert [(5, "k", Actor("ann"), 1), (5, "k", Actor("ann"), 3)] == said


def test_a_function_is_a_tool() -> None:
    """A typed function needs no decorator to be checked."""

    def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name}"

    assert any(note.startswith("examples: it has no examples") for note in check_tool(greet))


def test_a_hidden_coroutine_is_awaited() -> None:
    """A function that merely returns an awaitable is watched to its end, too."""

    async def later() -> str:
        return "late"

    check_tool(odd(lambda: later()), {})  # noqa: PLW0108  # the lambda is what hides it
    with pytest.raises(AssertionError, match="it raises KeyError"):
        check_tool(odd(lambda: raising()))  # noqa: PLW0108


def test_an_asynchronous_test_may_check() -> None:
    """A running event loop is no obstacle."""

    async def main() -> None:
        check_tool(late, {"what": "x"})

    asyncio.run(main())


def never(**_: Any) -> str:
    raise AssertionError("it must not run")


def numbers() -> Iterator[str]:
    yield "1"


async def raising() -> str:
    raise KeyError("inside")


def patient(context: ToolContext) -> str:
    """Wait to be told: it never ends before its time is up, and at once when it is."""
    context.cancelled.wait()
    return "stopped"


def deviating(**arguments: Any) -> str:
    return ["few", "some"][arguments.get("n", 0) // 50 + (arguments.get("n", 0) > 60)]


NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 99}},
    "additionalProperties": False,
}
BAD_TABLE = ToolArtifact.table("t", ["a"], [[1, 2]])
PREVIEWED = {"properties": {"n": {"type": "integer"}}, "additionalProperties": False}
BROKEN: list[Any] = [
    pytest.param(
        odd(never, PREVIEWED, preview=lambda: " ", effect="write", examples=[{"n": 1}]),
        "- preview: of .* there is nothing to see: The preview is empty",
        id="an empty preview",
    ),
    pytest.param(
        odd(never, PREVIEWED, preview=lambda n: {}[n], effect="write", examples=[{"n": 1}]),
        "- preview: KeyError",
        id="a preview that raises",
    ),
    pytest.param(attrs.evolve(add, description=" "), "- description: it has no description", id="description"),
    pytest.param(
        Tool(name="odd", description="x", parameters={"type": "nonsense"}, function=never, structure=dict),
        "- schema: .*valid JSON Schema|- schema: .*object schema",
        id="schema",
    ),
    pytest.param(odd(lambda **_: "", {"additionalProperties": True}), "additionalProperties: false", id="open schema"),
    pytest.param(odd(lambda: 7), "it returns a int for {}; return str or ToolResult", id="a number"),
    pytest.param(odd(numbers), "it returns a generator", id="a generator"),
    pytest.param(odd(raising), r"it raises KeyError\('inside'\) for {}; raise ToolError", id="an exception"),
    pytest.param(odd(lambda: sys.exit(1)), r"it raises SystemExit\(1\)", id="exit"),
    pytest.param(
        odd(lambda: ToolResult.text("x", BAD_TABLE)), "its artifacts for {} are left out. .*1 cells", id="table"
    ),
    pytest.param(
        odd(lambda: ToolResult.text("x", ToolArtifact.table("t", ["a"], [[math.nan]]))), "left out", id="no number"
    ),
    pytest.param(odd(deviating, NUMBER), r"raises IndexError.*{\"n\":61}", id="the simplest of many"),
    pytest.param(
        attrs.evolve(add, examples=({"a": "x"},)),
        r"its own example {\"a\":\"x\"} is refused.*expected an integer",
        id="example",
    ),
    pytest.param(odd(patient, context="context", timeout=0.01), "it does not end within 0.01 seconds", id="time-out"),
]


@pytest.mark.parametrize(("broken", "told"), BROKEN)
def test_a_broken_promise_is_told(broken: Tool, told: str) -> None:
    """The text names the tool, the promise, the arguments and the fix."""
    with pytest.raises(AssertionError, match=rf"(?s)Tool '{broken.name}' breaks its contract:\n.*({told})"):
        check_tool(broken)


def test_every_broken_promise_is_told() -> None:
    """One check tells all that is wrong."""
    broken = attrs.evolve(odd(lambda **_: None, {"additionalProperties": True}), description="")
    with pytest.raises(AssertionError) as caught:
        check_tool(broken)

    lines = [line.split(":")[0] for line in str(caught.value).splitlines() if line.startswith("- ")]
    assert ["- description", "- unknown arguments", "- every fault", "- examples", "- generated arguments"] == lines


def test_what_a_tool_returns_has_a_class() -> None:
    """A tool that does not say what it may return is told the words; a plain function says it by being passed."""
    with pytest.raises(AssertionError, match=r"add data_class=\.\.\. \(public, content,"):
        check_tool(tool(later))
    check_tool(later)


def later() -> str:
    """Say nothing yet."""
    return ""


def test_a_given_example_must_succeed() -> None:
    """An error is an answer to the tool's own example, and none to one that was given."""
    refusing = odd(lambda: ToolResult.error("no such table"))
    check_tool(refusing)

    with pytest.raises(AssertionError, match=r"answers {} with an error: no such table"):
        check_tool(refusing, {})
    with pytest.raises(AssertionError, match=r'answers {"a":"x"} with an error: .*was not called'):
        check_tool(add, {"a": "x"})


def test_arguments_that_are_no_json_are_shown() -> None:
    """An example that is no JSON is refused like any other, and shown."""
    with pytest.raises(AssertionError, match=r"arguments.a: a object is no JSON value"):
        check_tool(add, {"a": object()})


def test_a_tool_that_changes_things_runs_only_on_request() -> None:
    """Own examples and generated arguments do not run a write; given examples do, once."""
    written: list[str] = []

    @tool(data_class="public", effect="write", examples=[{"what": "own"}])
    def write(what: str) -> str:
        """Write."""
        written.append(what)
        return "done"

    check_tool(write)
    assert [] == written
    check_tool(write, {"what": "given"})
    assert ["given"] == written
    check_tool(write, executes=True, generated=5)
    assert written.count("own") == 1
    assert len(written) > 2


def test_a_tool_that_works_elsewhere_runs_only_on_request() -> None:
    """Neither does a remote read."""
    asked: list[str] = []

    @tool(data_class="public", remote=True)
    def fetch(what: str = "") -> str:
        """Fetch."""
        asked.append(what)
        return "done"

    notes = check_tool(fetch)

    assert [] == asked
    assert not any(note.startswith("generated") for note in notes)


def test_secrets_deps_and_actor_reach_the_tool() -> None:
    """What a tool needs from its host is given."""

    @tool(data_class="public")
    def nosy(context: ToolContext) -> str:
        """Look around."""
        assert context.actor is not None
        return f"{context.secret('key')} {context.deps} {context.actor.id}"

    check_tool(nosy, {}, secrets={"key": "s"}, deps=[1], actor=Actor("me"))
    with pytest.raises(AssertionError, match=r"no secret 'key'. Pass secrets="):
        check_tool(nosy, {}, deps=[1], actor=Actor("me"))


def test_a_cancelled_call_has_to_end() -> None:
    """A tool that was told and goes on breaks its promise; one that stops keeps it."""
    release = threading.Event()

    def stubborn(context: ToolContext) -> str:
        release.wait()
        return "late"

    class Suite(ToolContract):
        tool = odd(patient, context="context", timeout=0.01)
        grace = 60.0

    Suite().test_cancelled_call()
    Suite.tool, Suite.grace = odd(stubborn, context="context"), 0.05
    try:
        with pytest.raises(AssertionError, match=r"went on for 0.05 seconds after context.cancelled"):
            Suite().test_cancelled_call()
    finally:
        release.set()


def test_a_call_that_was_given_up_stays_so() -> None:
    """What a tool does once its time is up changes no verdict, however soon it ends."""
    ended = threading.Event()

    def end(context: ToolContext) -> str:
        context.cancelled.wait()
        ended.set()
        return "late"

    async def never_ends() -> str:
        await asyncio.sleep(math.inf)
        return "never"

    late = Caller(tool=odd(end, context="context", timeout=0.01)).call({})
    assert ended.wait(60)
    assert late.timed_out
    assert Caller(tool=odd(never_ends, timeout=0.01)).acall({}).timed_out


def test_a_call_that_never_began_may_be_given_up() -> None:
    """A machine may be too busy for the tool to begin: it was let through all the same, and has not ended."""
    attempt = Attempt({}).answered(odd(patient, timeout=0.01), timed_out(odd(patient, timeout=0.01)))

    assert (attempt.entered, attempt.timed_out) == (False, True)
    assert not Attempt({}).answered(odd(patient, timeout=None), ToolResult.text("")).timed_out


def test_a_tool_that_never_times_out_is_checked() -> None:
    """A tool without a time limit is held to the rest."""
    check_tool(odd(lambda: "", timeout=None), {})


def test_a_tool_of_changing_mind_is_told() -> None:
    """A tool that answers the same arguments differently is told so, with the arguments and the failure."""
    met = set[int]()

    def moody(n: int = 0) -> str:
        if n > 9 and n not in met:
            met.add(n)
            raise KeyError(n)
        return ""

    told = r'the same arguments differently, {"n":(\d+)}: .* once failed: it raises KeyError\(\1\) for {"n":\1}; raise'
    with pytest.raises(AssertionError, match=rf"- generated arguments: it answers {told}"):
        check_tool(odd(moody, NUMBER))


def test_a_cancelled_call_needs_an_example() -> None:
    """Without arguments nothing can be cancelled."""

    @tool(data_class="public")
    def asking(context: ToolContext, what: str) -> str:
        """Ask."""
        return what

    assert "cancelled call: it has no examples" in check_tool(asking)


def test_a_refusal_names_every_fault() -> None:
    """A tool whose own reader tells one fault at a time breaks its promise."""

    def first_only(arguments: Any) -> dict[str, Any]:
        try:
            return dict(add.structure(arguments))
        except ArgumentsError as error:
            raise ArgumentsError(error.faults[:1]) from None

    with pytest.raises(AssertionError, match=r"every fault: the refusal of .* does not name nr_llm_unknown_0"):
        check_tool(attrs.evolve(add, structure=first_only))


def test_a_reader_of_ones_own_may_refuse_in_its_own_words() -> None:
    """Refusals that list no faults are refusals all the same."""

    def read(arguments: Any) -> dict[str, Any]:
        if arguments.keys() - {"n"}:
            raise InvalidValueError(f"takes n only, not {', '.join(arguments)}")
        return dict(arguments)

    own = Tool(
        data_class="public",
        name="own",
        description="x",
        parameters=NUMBER,
        function=lambda **_: "",
        structure=read,
        remote=True,
    )

    assert check_tool(own)


def test_without_hypothesis_nothing_is_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is checked, and what was left out is told."""
    monkeypatch.setitem(sys.modules, "hypothesis", None)

    assert any("pip install hypothesis" in note for note in check_tool(add))


def test_an_unknown_setting_is_refused() -> None:
    """A misspelled setting does not pass unseen."""
    with pytest.raises(TypeError, match="takes no 'secret'; it takes deps, secrets"):
        check_tool(add, secret={"key": "s"})  # type: ignore[call-arg]
