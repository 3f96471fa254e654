"""
The promises every tool keeps, as a suite that checks any tool in one line.

``check_tool(my_tool)`` checks them all.  To see each promise by itself, subclass the suite in a test module:
``class TestMine(ToolContract): tool = my_tool``.  Tools are called through the seam that runs use, so what holds here
holds in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict, Unpack
from unittest import SkipTest

from nr_llm._json import encode
from nr_llm._schema import ArgumentsError, compile_schema
from nr_llm.actors import Actor
from nr_llm.bounds import OMITTED
from nr_llm.errors import ConfigurationError, InvalidValueError, RunCancelledError, ToolError
from nr_llm.results import ToolResult
from nr_llm.specs import ToolSpec
from nr_llm.testing.arguments import fuzz
from nr_llm.testing.attempts import Attempt, Caller
from nr_llm.testing.promises import check_all, configure, demand
from nr_llm.tools import Tool
from nr_llm.zones import DataClass

Arguments: TypeAlias = Mapping[str, Any]

STRANGER = "nr_llm_unknown"
"""An argument no tool takes."""


class ContractSettings(TypedDict, total=False):
    """
    How a tool is checked; the attributes of `ToolContract` by the same names say more.

    Keys:
        deps: What it finds as ``context.deps``.
        secrets: What it finds as ``context.secret(alias)``.
        actor: On whose behalf it is called.
        executes: Whether its own examples and generated arguments really run it.
        generated: How many generated calls it gets.
        grace: Seconds a cancelled call gets to stop.
    """

    deps: Any
    secrets: Mapping[str, str]
    actor: Actor | None
    executes: bool | None
    generated: int
    grace: float


class ToolContract:
    """
    What every tool promises; each method checks one promise and raises `AssertionError` with the fix.

    pytest collects a subclass whose name begins with ``Test``.

    Attributes:
        tool: The tool.
        examples: Arguments that must succeed, beside the tool's own examples, which need only be answered.
        deps: What the tool finds as ``context.deps``.
        secrets: What it finds as ``context.secret(alias)``.
        actor: On whose behalf it is called.
        executes: Whether its own examples and generated arguments really run it; None means: if it only reads,
            and only here.  Arguments in `examples` always do.
        generated: How many generated calls it gets; Hypothesis makes them.
        grace: Seconds a cancelled call gets to stop.
    """

    tool: Tool
    examples: Sequence[Arguments] = ()
    deps: Any = None
    secrets: Mapping[str, str] = {}
    actor: Actor | None = None
    executes: bool | None = None
    generated: int = 50
    grace: float = 10.0

    def test_description(self) -> None:
        """A model is told what the tool does."""
        demand(self.tool.description.strip(), "it has no description; write a docstring that a model understands")

    def test_data_class(self) -> None:
        """Whoever runs it knows what it may return at most; of what says nothing only the strictest can be assumed."""
        classes = ", ".join(DataClass)
        demand(self.tool.data_class, f"it does not say what it may return; add data_class=... ({classes})")

    def test_spec(self) -> None:
        """What a model is told of the tool can be sent, and read back unchanged."""
        wire = self.tool.spec.to_wire()
        encode(wire)
        demand(ToolSpec.from_wire(wire) == self.tool.spec, "its spec changes on its way through the wire form")

    def test_schema(self) -> None:
        """The parameters are a JSON Schema of an object, and refer to nothing outside."""
        compile_schema(self.tool.parameters)

    def test_unknown_arguments(self) -> None:
        """An argument nobody declared is named and refused, never dropped: the schema is closed."""
        self._refused({STRANGER: 1}, names=[STRANGER])

    def test_missing_arguments(self) -> None:
        """A required argument that is missing is named, and the tool does not run."""
        if not self._required:
            raise SkipTest("nothing is required")
        self._refused({}, names=self._required)

    def test_every_fault(self) -> None:
        """All faults of a call are told together, so that a model can repair them in one go."""
        strangers = [f"{STRANGER}_{n}" for n in range(2)]
        self._refused(dict.fromkeys(strangers, 1), names=[*self._required, *strangers])

    def test_preview(self) -> None:
        """What a person is shown before a call, if anything, is text for every example, and raises nothing."""
        for arguments in () if self.tool.preview is None else (*self.examples, *self._own):
            shown = self._caller.preview(arguments)
            demand(not shown.failed, f"of {_shown(arguments)} there is nothing to see: {shown.lines[0]}")

    def test_examples(self) -> None:
        """Arguments that must succeed do; its own examples fit its schema and are answered; both in both colours."""
        if not self.examples and not self._own:
            raise SkipTest("it has no examples")
        for arguments in self._own:
            self._fits(arguments)
        # What writes is not asked to do so twice.
        calls = [self._caller.call] if self.tool.writes else [self._caller.call, self._caller.acall]
        for call in calls:
            for arguments in self.examples:
                result = self._answered(call(arguments))
                demand(not result.is_error, f"it answers {_shown(arguments)} with an error: {result.content[:500]}")
            for arguments in self._own if self._runs else ():
                self._answered(call(arguments))

    def test_generated_arguments(self) -> None:
        """Whatever arguments come, fitting or not, it answers with a result and raises nothing of its own."""
        check = self._answers if self._runs else self._reads
        try:
            fuzz(self.tool.parameters, check, calls=self.generated)
        except ConfigurationError as error:
            raise SkipTest(str(error)) from None

    def test_cancelled_call(self) -> None:
        """A call that nobody waits for any more ends soon, by itself or by `context.cancelled`."""
        if self.tool.context is None:
            raise SkipTest("it takes no ToolContext, so it cannot be told")
        runs = [*self.examples, *(self._own if self._runs else ())]
        if not runs:
            raise SkipTest("it has no examples")
        attempt = self._caller.call_cancelled(runs[0], seconds=self.grace)
        demand(not attempt.timed_out, f"it went on for {self.grace:g} seconds after context.cancelled was thrown")
        self._answered(attempt)

    @property
    def _caller(self) -> Caller:
        return Caller(tool=self.tool, deps=self.deps, secrets=self.secrets, actor=self.actor)

    @property
    def _runs(self) -> bool:
        return not (self.tool.writes or self.tool.remote) if self.executes is None else self.executes

    @property
    def _required(self) -> list[str]:
        required: Any = self.tool.parameters.get("required", [])
        return list(required)

    @property
    def _own(self) -> Sequence[Arguments]:
        """The tool's own examples; one that requires nothing has one without saying so."""
        return self.tool.examples or ([] if self._required else [{}])

    def _fits(self, arguments: Arguments) -> None:
        try:
            self.tool.structure(arguments)
        except ArgumentsError as error:
            raise AssertionError(f"its own example {_shown(arguments)} is refused: {error.for_model()}") from None

    def _reads(self, arguments: Arguments) -> None:
        """Let the tool's schema read the arguments, without running it."""
        try:
            self.tool.structure(arguments)
        except InvalidValueError:
            return

    def _refused(self, arguments: Arguments, *, names: Sequence[str]) -> None:
        attempt = self._caller.call(arguments)
        ran = attempt.entered or attempt.timed_out  # nothing is given up but what was let through
        demand(not ran, f"it runs with {_shown(arguments)}; let its schema say additionalProperties: false")
        text = attempt.result.content
        unnamed = [name for name in names if name not in text]
        cut = "\n- and " in text  # a list that is too long for a model ends with the number of the rest
        demand(cut or not unnamed, f"the refusal of {_shown(arguments)} does not name {', '.join(unnamed)}")

    def _answers(self, arguments: Arguments) -> None:
        self._answered(self._caller.call(arguments))

    def _answered(self, attempt: Attempt) -> ToolResult:
        """Return the result of a call that kept every promise about results."""
        shown, result = _shown(attempt.arguments), attempt.result
        if attempt.timed_out:
            raise AssertionError(f"it does not end within {self.tool.timeout:g} seconds for {shown}")
        if attempt.entered:
            if attempt.raised is None:
                kind = type(attempt.returned).__name__
                fine = isinstance(attempt.returned, str | ToolResult)
                demand(fine, f"it returns a {kind} for {shown}; return str or ToolResult")
            elif not isinstance(attempt.raised, ToolError | RunCancelledError):
                fix = "raise ToolError(text for the model) or return ToolResult.error(text)"
                raise AssertionError(f"it raises {attempt.raised!r} for {shown}; {fix}") from attempt.raised
        encode([result.content, *(artifact.to_dict() for artifact in result.artifacts)])
        for artifact in result.artifacts:
            demand(artifact.label != OMITTED, f"its artifacts for {shown} are left out. {artifact.data.get('text')}")
        return result


def check_tool(
    tool: Tool | Callable[..., Any],
    examples: Arguments | Iterable[Arguments] = (),
    **settings: Unpack[ContractSettings],
) -> tuple[str, ...]:
    """
    Check that a tool keeps every promise of `ToolContract`.

    Args:
        tool: A tool, or a typed function.
        examples: Arguments that must succeed: one mapping or several.
        **settings: Those of `ContractSettings`.

    Returns:
        What could not be checked, each with its reason.

    Raises:
        AssertionError: Promises are broken; the text lists every one.
    """
    suite = _suite(tool, examples, settings)
    return check_all(suite, f"Tool {suite.tool.name!r}")


def _suite(tool: Tool | Callable[..., Any], examples: Arguments | Iterable[Arguments], settings: Any) -> ToolContract:
    suite = ToolContract()
    suite.tool = tool if isinstance(tool, Tool) else Tool.from_function(tool, data_class=DataClass.CONTENT)
    suite.examples = [examples] if isinstance(examples, Mapping) else list(examples)
    configure(suite, settings, ContractSettings.__annotations__, taker="check_tool")
    return suite


def _shown(arguments: Arguments) -> str:
    return encode(dict(arguments))[:300]
