"""
How a run comes to an answer of a given form: asked for natively or by a forced tool, checked, repaired once.

Where a service can hold its model to a schema, the schema goes with each request.  Elsewhere the form is offered as
one more tool, whose arguments are the answer: the model may call other tools before, and is made to call this one
once nothing else is left.  An answer that does not fit is handed back with every fault, once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, TypeAlias

import attrs

from nr_llm._json import encode
from nr_llm._turns import answered
from nr_llm.effects import CallOutcome
from nr_llm.errors import InvalidOutputError, InvalidValueError
from nr_llm.messages import ChatMessage
from nr_llm.options import Options
from nr_llm.outputs import Output, output_of
from nr_llm.providers import Model
from nr_llm.results import ToolResult
from nr_llm.specs import ToolSpec
from nr_llm.state import PendingCall, RunState, TerminationReason
from nr_llm.toolbox import Toolbox

NAME = "final_answer"
"""Name of the tool whose arguments are the answer, unless another tool has it."""

DONE = (TerminationReason.COMPLETED, TerminationReason.MAX_ROUNDS, TerminationReason.CALLS_EXHAUSTED)
"""Ends that come with an answer; a run that ended otherwise has none to check."""


Judged: TypeAlias = tuple[RunState, InvalidOutputError | None]


@attrs.frozen(kw_only=True, eq=False)
class Answering:
    """
    The form a run's answer has to have, and the way to it.

    Attributes:
        output: The form.
        native: Whether the service holds its model to a schema; else a forced tool does.
        spec: The forced tool.
    """

    output: Output
    native: bool
    spec: ToolSpec

    @classmethod
    def by(cls, output: Output, *, native: bool, taken: Collection[str]) -> Answering:
        """
        Return the way to an answer.

        Args:
            output: Its form.
            native: Whether the service holds its model to a schema.
            taken: Names of the other tools.
        """
        name = next(name for name in _names() if name not in taken)
        about = f" {output.description}" if output.description else ""
        text = f"Give the final answer, once nothing else is left to do. Its arguments are the answer.{about}"
        return cls(output=output, native=native, spec=ToolSpec(name, text, output.schema))

    def asked(
        self, tools: tuple[ToolSpec, ...], options: Options, *, due: bool
    ) -> tuple[tuple[ToolSpec, ...], Options]:
        """Return the tools and options of the next request, so that its answer has the form."""
        if self.native:
            return tools, attrs.evolve(options, response_schema=self.output.schema)
        if not tools or due or options.tool_choice == "none":
            options = attrs.evolve(options, tool_choice=self.spec.name)
        return (*tools, self.spec), options

    def forces(self, options: Options) -> bool:
        """Whether a request is to call the tool of the answer: text in its place is judged here like any other."""
        return options.tool_choice == self.spec.name

    def judged(self, state: RunState, *, last: TerminationReason | None) -> Judged:
        """
        Return `state`, a reply just folded in, with its answer taken or handed back.

        The error is what ends the run once the state is recorded: the answer was handed back before.

        Args:
            state: The run.
            last: Why this was the closing request, if it was.
        """
        given = tuple(pending for pending in state.pending if pending.call.name == self.spec.name)
        if given:
            return self._called(state, given, last=last)
        if state.reason not in DONE or not (faults := self._faults(state.answer or "")):
            return state, None
        if not (self.native or state.answer_due):
            return _asking(state, f"Now give the answer: call {self.spec.name}."), None
        if state.repairs:
            return _failed(state, faults)
        again = "answer with one JSON object and nothing else" if self.native else f"call {self.spec.name}"
        return _asking(state, f"{_listed(faults)}\nCorrect every point and {again}.", repairs=1), None

    def value(self, state: RunState) -> Any:
        """Return the answer of a run that ended with one, as the value it is, or None."""
        return self.output.read(state.answer or "") if state.reason in DONE else None

    def _called(self, state: RunState, given: tuple[PendingCall, ...], *, last: TerminationReason | None) -> Judged:
        if len(given) < len(state.pending):
            early = "Not taken: the results of the other calls come first. Then give the answer, in a turn of its own."
            return _replied(state, given, early), None
        call = given[0].call
        text = encode(dict(call.arguments)) if call.malformed is None else call.malformed
        if not (faults := self._faults(text)):
            state = _replied(state, given[:1], "Taken.", is_error=False)
            state = _replied(state, given[1:], "Not taken: one answer is enough.")
            return attrs.evolve(state, answer=text, reason=last or TerminationReason.COMPLETED), None
        state = _replied(state, given, f"{_listed(faults)}\nCorrect every point and call {self.spec.name} again.")
        return _failed(state, faults) if state.repairs else (attrs.evolve(state, answer_due=True, repairs=1), None)

    def _faults(self, text: str) -> tuple[str, ...]:
        from nr_llm._schema import ArgumentsError

        try:
            self.output.read(text)
        except ArgumentsError as error:
            return tuple(map(str, error.faults))
        except InvalidValueError as error:
            return (str(error),)
        return ()


def answering_of(kind: Any, model: Model, toolbox: Toolbox) -> Answering | None:
    """Return the way to an answer of a kind, which the model knows or a tool has to show; None for any text."""
    if kind is None:
        return None
    output, way = output_of(kind), model.structured_output
    native = way == "native" or (way == "closed" and output.closed) or (way == "alone" and not toolbox.offered)
    return Answering.by(output, native=native, taken=toolbox.offered)


def _asking(state: RunState, text: str, *, repairs: int = 0) -> RunState:
    """Return `state` with the answer asked for once more, and nothing else."""
    messages = (*state.messages, ChatMessage.user(text))
    return attrs.evolve(state, messages=messages, answer_due=True, repairs=repairs, answer=None, reason=None)


def _failed(state: RunState, faults: tuple[str, ...]) -> Judged:
    error = InvalidOutputError(
        f"the answer does not have the form that was asked for, also after it was told so: {faults[0]}",
        provider=state.model.partition(":")[0],
    )
    error.faults = faults
    return attrs.evolve(state, answer="", reason=TerminationReason.FAILED), error


def _names() -> Iterator[str]:
    yield NAME
    number = 1
    while True:
        number += 1
        yield f"{NAME}_{number}"


def _listed(faults: tuple[str, ...]) -> str:
    lines = "\n".join(f"- {fault[:300]}" for fault in faults[:20])
    return f"The answer does not have the form that was asked for:\n{lines}"


def _replied(state: RunState, batch: tuple[PendingCall, ...], text: str, *, is_error: bool = True) -> RunState:
    result = ToolResult.error(text) if is_error else ToolResult.text(text)
    return answered(state, batch, {pending.index: CallOutcome(result, executed=False) for pending in batch})
