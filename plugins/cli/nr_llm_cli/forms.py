"""Asks for the keys of a form, one by one, with what each takes, until all of them fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nr_llm.inputs import InvalidInputError, filled

from nr_llm_cli.approving import Left
from nr_llm_cli.blanks import description_of, facts_of, value_of
from nr_llm_cli.parameters import takes_text
from nr_llm_cli.screen import exact

if TYPE_CHECKING:
    from nr_llm.approvals import Submission, WaitingCall, WaitingRun

    from nr_llm_cli.approving import Asker


def submissions(asker: Asker, waiting: WaitingRun) -> tuple[Submission, ...] | None:
    """Return what a person fills in for all calls with a form, or None if they leave the turn waiting."""
    try:
        return tuple(fill(asker, waiting, call) for call in waiting.asked)
    except (Left, EOFError, KeyboardInterrupt):
        asker.left()
        return None


def fill(asker: Asker, waiting: WaitingRun, call: WaitingCall) -> Submission:
    """
    Return what a person fills in for a call, or that they decline it.

    Raises:
        Left: They leave it waiting.
    """
    asker.show(waiting, call)
    while True:
        match asker.read(f"Fill in call {call.index}? [y]es, [n]o: decline, [d]etails, [q]uit: ").strip().lower():
            case "y" | "yes":
                return waiting.submission(call.index, _values(asker, waiting, call))
            case "n" | "no":
                return waiting.submission(call.index, None)
            case "d" | "details":
                asker.show(waiting, call, whole=True)
            case "q" | "quit":
                raise Left
            case _:
                asker.console.warn("Type y, n, d or q.")


def _values(asker: Asker, waiting: WaitingRun, call: WaitingCall) -> dict[str, Any]:
    form: Mapping[str, Any] = call.form or {}
    given: dict[str, Any] = {}
    while True:
        for name, schema in form.get("properties", {}).items():
            _ask(asker, name, schema, form=form, given=given)
        fault = fault_of(waiting, call.index, given)
        if fault is None:
            return given
        for line in fault.splitlines():
            asker.console.warn(exact(line), fg="red")


def fault_of(waiting: WaitingRun, index: int, values: Mapping[str, Any]) -> str | None:
    """Return what is wrong with what is given for a form, a line for each fault, or None."""
    if waiting.state is None:
        return waiting.unreadable
    try:
        filled(waiting.state, {index: values})
    except InvalidInputError as error:
        return error.faults
    return None


def _ask(asker: Asker, name: str, schema: Any, *, form: Mapping[str, Any], given: dict[str, Any]) -> None:
    """Ask for one key; an empty line leaves it as it is."""
    required = name in form.get("required", ())
    facts = ", ".join(facts_of(name, schema, form=form, given=given))
    if described := description_of(schema):
        asker.console.warn(f"  {exact(described)}", dim=True)
    while True:
        text = asker.read(f"  {exact(name)} ({exact(facts)}): ")
        if text:
            given[name] = value_of(text, schema, form)
            return
        if name in given or not required:
            return
        asker.console.warn(
            f"  {exact(name)} is required" + ('; "" is an empty text.' if takes_text(schema, form) else ".")
        )
