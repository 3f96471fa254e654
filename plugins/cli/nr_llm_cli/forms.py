"""Asks for the keys of a form, one by one, with what each takes, until all of them fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nr_llm._json import decode, encode
from nr_llm.errors import MalformedJsonError
from nr_llm.inputs import InvalidInputError, filled

from nr_llm_cli.approving import Left
from nr_llm_cli.parameters import takes_text
from nr_llm_cli.screen import exact

if TYPE_CHECKING:
    from nr_llm.approvals import Submission, WaitingCall, WaitingRun

    from nr_llm_cli.approving import Asker


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


def keys_of(form: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a form asks for, a line for each key."""
    for name, schema in form.get("properties", {}).items():
        described = _description(schema)
        facts = ", ".join(_facts(name, schema, form=form))
        yield exact(f"{name} ({facts})" + (f": {described}" if described else ""))


def _description(schema: Any) -> str:
    return " ".join(str(schema.get("description", "")).split()) if isinstance(schema, Mapping) else ""


def _facts(name: str, schema: Any, *, form: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> list[str]:
    facts = [type_of(schema, form), "required" if name in form.get("required", ()) else "may be left empty"]
    if given is not None and name in given:
        facts.append(f"now {encode(given[name])}")
    elif isinstance(schema, Mapping) and "default" in schema:
        facts.append(f"default {encode(schema['default'])}")
    return facts


def _ask(asker: Asker, name: str, schema: Any, *, form: Mapping[str, Any], given: dict[str, Any]) -> None:
    """Ask for one key; an empty line leaves it as it is."""
    required = name in form.get("required", ())
    facts = ", ".join(_facts(name, schema, form=form, given=given))
    if described := _description(schema):
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


def value_of(text: str, schema: Any, form: Mapping[str, Any]) -> Any:
    """Return what a line stands for: text where the form takes text, else JSON where it is JSON; ``""`` is empty."""
    if text == '""':
        return ""
    if takes_text(schema, form):
        return text
    try:
        return decode(text)
    except MalformedJsonError:
        return text


def type_of(schema: Any, form: Mapping[str, Any]) -> str:
    """Return what a key takes, in a few words or as its schema."""
    if not isinstance(schema, Mapping):
        return "anything"
    reference = schema.get("$ref", "")
    if reference.startswith("#/$defs/"):
        return type_of(form.get("$defs", {}).get(reference.removeprefix("#/$defs/")), {})
    if "enum" in schema:
        return f"one of {', '.join(one if isinstance(one, str) else encode(one) for one in schema['enum'])}"
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in {"object", "array"}:
        bounds = {key: value for key, value in schema.items() if key in _BOUNDS}
        return f"{kind} {encode(bounds)}" if bounds else kind
    return encode({key: value for key, value in schema.items() if key not in {"description", "title", "default"}})


_BOUNDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "format"}
)
