"""What a task is and when it counts as solved."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs


@attrs.frozen
class EvalTool:
    """A tool as the evaluation offers it: deterministic, with data of its own."""

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., str]
    defaults: Mapping[str, Any] = attrs.field(factory=dict)


def closed(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


@attrs.frozen
class Task:
    """One request and the calls that are right for it; no calls means that a reply is right."""

    prompt: str
    tool: str | None = None
    accept: tuple[Mapping[str, Any], ...] = ()


@attrs.frozen
class LoopTask:
    """One request that needs several calls; right when the last sentence holds every pattern and no wrong one."""

    prompt: str
    patterns: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


def task(prompt: str, tool: str | None = None, /, *accept: Mapping[str, Any]) -> Task:
    return Task(prompt, tool, accept)


def same_arguments(given: Mapping[str, Any], wanted: Mapping[str, Any], *, defaults: Mapping[str, Any]) -> bool:
    """Tell whether two sets of arguments mean the same, letting a stated default pass for one left out."""
    left = {
        k: v for k, v in given.items() if not (k in defaults and k not in wanted and _normal(v) == _normal(defaults[k]))
    }
    left = {k: v for k, v in left.items() if v is not None or k in wanted}
    if left.keys() != wanted.keys():
        return False
    return all(_same(left[key], wanted[key]) for key in wanted)


def _same(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, re.Pattern):
        return isinstance(given, str) and wanted.fullmatch(given.strip()) is not None
    if isinstance(wanted, Value):
        return isinstance(given, str) and arithmetic(given) == wanted.number
    return bool(_normal(given) == _normal(wanted))


@attrs.frozen
class Value:
    """Any expression that comes to this number."""

    number: float


def _normal(value: Any) -> Any:
    if isinstance(value, str):
        text = value.strip().casefold().removeprefix("./").rstrip("/") or "."
        return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text
    if isinstance(value, Mapping):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normal(item) for item in value]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def arithmetic(expression: str) -> float | None:
    """Compute an expression of numbers and + - * / // % ** and parentheses, or return None."""
    try:
        return round(_compute(ast.parse(expression.replace("^", "**").replace("×", "*"), mode="eval").body), 6)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError):
        return None


_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def _compute(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_compute(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _compute(left), _compute(right)
            if isinstance(op, ast.Pow) and abs(b) > 100:
                raise ValueError("too large")
            return _OPERATORS[type(op)](a, b)
        case _:
            raise ValueError("not arithmetic")
