"""Tools that a service runs by itself: named in its plugin's options, declared beside ours, never called here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from nr_llm._json import JSON, copy_object, encode_bytes
from nr_llm.errors import InvalidValueError, UnknownNameError

ServerTool: TypeAlias = str | Mapping[str, Any]
"""A tool's short name, or its declaration as the service writes it, for settings of its own."""

PATH = "server_tools"
"""Name of the option, as in errors."""


def server_tools(
    given: ServerTool | Iterable[ServerTool], *, known: Mapping[str, Mapping[str, JSON]]
) -> tuple[Mapping[str, JSON], ...]:
    """
    Return the declarations of tools that were named or declared.

    Args:
        given: One tool or several.
        known: Declaration of each tool that has a short name.

    Raises:
        InvalidValueError: One is neither a name nor a declaration; `path` says which.
        UnknownNameError: There is no tool of a name.
    """
    several = (given,) if isinstance(given, (str, Mapping)) else given
    if not isinstance(several, Iterable):
        raise InvalidValueError(f"must be names or declarations, not {type(given).__name__}", path=PATH)
    return tuple(_declaration(tool, known, path=f"{PATH}[{i}]") for i, tool in enumerate(several))


def _declaration(tool: ServerTool, known: Mapping[str, Mapping[str, JSON]], *, path: str) -> Mapping[str, JSON]:
    if isinstance(tool, str):
        if tool not in known:
            remedy = "Give its declaration as the service writes it in place of a name."
            raise UnknownNameError("server tool", tool, known=known, remedy=remedy)
        return dict(known[tool])
    if not isinstance(tool, Mapping):
        raise InvalidValueError(f"must be a name or a declaration, not {type(tool).__name__}", path=path)
    return copy_object(tool, path=path)


def check_kind(declaration: Mapping[str, JSON], *, refused: Collection[str], path: str) -> str:
    """
    Return the kind of a declaration.

    Args:
        declaration: A tool as the service writes it.
        refused: Beginnings of the kinds that the service only asks for and somebody else has to run.
        path: Place for errors.

    Raises:
        InvalidValueError: It has none, or one that the service does not run.
    """
    kind = declaration.get("type")
    if not isinstance(kind, str) or not kind:
        raise InvalidValueError("needs a type, as the service names it", path=path)
    if kind.startswith(tuple(refused)):
        raise InvalidValueError(f"{kind!r} is not run by the service; offer a tool that runs it here", path=path)
    return kind


def beside(declarations: Sequence[Mapping[str, JSON]], tools: bytes) -> bytes:
    """Return a JSON list of tools with the service's own in front; without any it is `tools` itself."""
    if not declarations:
        return tools
    own = encode_bytes([dict(declaration) for declaration in declarations])
    return own if tools == b"[]" else own[:-1] + b"," + tools[1:]
