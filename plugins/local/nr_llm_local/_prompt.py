"""The words a small model is driven by: turns in ChatML, and tools as lines it can choose from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nr_llm._json import JSON, encode
from nr_llm.specs import ToolSpec

DESCRIPTION = 420
PARAMETER_DESCRIPTION = 90

INSTRUCTION = (
    'You choose one tool for the user\'s request and answer only with JSON: {"tool": NAME, "arguments": {...}}.'
)
REPLY_LINE = "- reply: Reply to the user directly, when no tool is needed. Arguments: text (string)."

_SPECIAL = re.compile(r"<\|(?=[a-z_]+\|>)|<(?=/?tool_call>)")


def turn(role: str, text: str) -> str:
    """Return one turn in ChatML."""
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def plain(text: str) -> str:
    """Return `text` so that nothing in it is read as a control token of the model."""
    return _SPECIAL.sub(lambda match: match.group()[0] + " " + match.group()[1:], text)


def spaced(value: JSON) -> str:
    """Encode JSON the way models have read most of it: a space after each comma and colon."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{encode(key)}: {spaced(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(spaced(item) for item in value) + "]"
    return encode(value)


def answer_text(name: str, arguments: Mapping[str, JSON]) -> str:
    """Return an answer as the model writes it."""
    return spaced({"tool": name, "arguments": dict(arguments)})


def result_text(result: str, request: str, *, failed: bool = False, left: Sequence[str] = ()) -> str:
    """Return what a tool gave, and the request once more, which a small model forgets over a long result."""
    more = f"\nStill open: {plain(', '.join(left))}" if left else ""
    return f"{'Error' if failed else 'Result'}: {plain(result)}\nRequest: {plain(request)}{more}"


def system_text(tools: Sequence[ToolSpec], host: str = "") -> str:
    """Return the instruction, the tools, and what the host has to say."""
    lines = [INSTRUCTION, "Tools:", *(tool_line(tool) for tool in tools), REPLY_LINE]
    if host:
        lines.append(plain(host))
    return "\n".join(lines)


def tool_line(tool: ToolSpec) -> str:
    """Return one tool as a line: what it does, its arguments in words, and an example in the form to write."""
    description = shortened(plain(tool.description), DESCRIPTION)
    return f"- {tool.name}: {description} {arguments_text(tool.parameters)}{_example(tool)}"


def arguments_text(parameters: Mapping[str, JSON]) -> str:
    """
    Return the parameters in words.

    Not as JSON: a small model copies a description that stands where a value would.
    """
    properties = parameters.get("properties")
    required = parameters.get("required")
    if not isinstance(properties, Mapping) or not properties:
        return "Arguments: none."
    names = required if isinstance(required, list) else []
    described = (_described(name, schema, optional=name not in names) for name, schema in properties.items())
    return f"Arguments: {plain('; '.join(described))}."


def _described(name: str, schema: JSON, *, optional: bool) -> str:
    if not isinstance(schema, Mapping):
        schema = {}
    text = f"{name} ({'optional ' if optional else ''}{_kind(schema)}"
    description = schema.get("description")
    if isinstance(description, str) and description:
        text += ": " + shortened(description, PARAMETER_DESCRIPTION).rstrip(".")
    return text + ")"


def _example(tool: ToolSpec) -> str:
    examples = tool.parameters.get("examples")
    first = examples[0] if isinstance(examples, list) and examples else None
    return f" Example: {plain(answer_text(tool.name, first))}" if isinstance(first, dict) else ""


def _kind(schema: Mapping[str, JSON]) -> str:
    if isinstance(values := schema.get("enum"), list):
        return "one of " + "|".join(v if isinstance(v, str) else encode(v) for v in values[:12])
    if isinstance(variants := schema.get("anyOf"), list):
        kinds = [_kind(one) for one in variants if isinstance(one, Mapping) and one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds)) or "anything"
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(str(one) for one in kind if one != "null")
    if kind == "array":
        items = schema.get("items")
        return "list of " + (_kind(items) if isinstance(items, Mapping) else "anything")
    if kind == "object" and isinstance(properties := schema.get("properties"), Mapping):
        return (
            "{"
            + ", ".join(f"{key}: {_kind(v) if isinstance(v, Mapping) else 'anything'}" for key, v in properties.items())
            + "}"
        )
    if kind == "boolean":
        return "true or false"
    return str(kind or "anything")


def shortened(text: str, limit: int) -> str:
    """Return the first paragraph of `text` in one line, cut at a word where it is too long."""
    line = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    if len(line) <= limit:
        return line
    return line[:limit].rsplit(" ", 1)[0].rstrip(",;:") + "…"
