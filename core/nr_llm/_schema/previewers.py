"""A tool's preview takes whichever of the tool's parameters it names: found out once, when the tool is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from nr_llm._schema.signatures import context_of, parameters_of
from nr_llm.contexts import Previewer, ToolContext
from nr_llm.errors import InvalidSchemaError


def previewer_of(preview: Callable[..., Any], function: Callable[..., Any], parameters: Mapping[str, Any]) -> Previewer:
    """
    Return a function that calls a tool's preview with what it takes of a call.

    Args:
        preview: What the tool's author wrote.
        function: The tool's function, whose defaults are those of the preview, too.
        parameters: JSON Schema of the tool's arguments.

    Raises:
        InvalidSchemaError: It is no Python function, is asynchronous, or needs what is no parameter of the tool.
    """
    if not callable(preview):
        raise InvalidSchemaError(f"must be a function, not a {type(preview).__name__}", path="preview")
    if inspect.iscoroutinefunction(preview) or inspect.iscoroutinefunction(type(preview).__call__):
        raise InvalidSchemaError("is asynchronous; a preview may block, so write it with def", path="preview")
    context, defaults = context_of(preview), _defaults(function, parameters["properties"])
    taken = {p.name: p for p in parameters_of(preview) if p.name != context}
    everything = False
    for parameter in taken.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            everything = True
        elif _unknown(parameter, parameters["properties"]):
            raise InvalidSchemaError(f"takes {parameter.name!r}, which is no parameter of the tool", path="preview")

    def previewed(arguments: Mapping[str, Any], call: ToolContext) -> object:
        given = {name: value for name, value in {**defaults, **arguments}.items() if everything or name in taken}
        return preview(**given, **({} if context is None else {context: call}))

    return previewed


def _defaults(function: Callable[..., Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a call's arguments leave out: the defaults of a tool's function, else those its schema says."""
    said = {name: schema["default"] for name, schema in known.items() if "default" in schema}
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function of another language, described by a schema
        return said
    return said | {p.name: p.default for p in found if p.name in known and p.default is not p.empty}


def _unknown(parameter: inspect.Parameter, known: Mapping[str, Any]) -> bool:
    by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    return not by_name or (parameter.name not in known and parameter.default is parameter.empty)
