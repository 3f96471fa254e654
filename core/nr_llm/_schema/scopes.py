"""A scope resolves annotations that are still text, also those that name something local to a function."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from nr_llm.contexts import ToolContext
from nr_llm.results import ToolResult


@attrs.frozen(eq=False)
class Scope:
    """
    Where an annotation was written.

    Args:
        globals: Names of its module.
        locals: Names nearer than those: a function's closure, a class's body.
        qualname: Dotted name of the function or class, such as ``outer.<locals>.inner``.
    """

    globals: dict[str, Any]
    locals: Mapping[str, Any]
    qualname: str

    def resolve(self, text: str) -> object:
        """
        Return what an annotation means.

        Raises:
            NameError: A name in it is not known here.
            Exception: Whatever else evaluating it raises.
        """
        try:
            return self._evaluate(text, self.locals)
        except NameError:
            return self._evaluate(text, {**_OWN_NAMES, **self._enclosing(), **self.locals})

    def _evaluate(self, text: str, names: Mapping[str, Any]) -> object:
        # An annotation is code of the module that is registered, and has run already; `typing` does the same.
        return eval(text, self.globals, names)  # noqa: S307

    def _enclosing(self) -> dict[str, Any]:
        """Return the local names of the functions this was defined in, as far as they are still running."""
        parts = self.qualname.split(".")
        outer = {".".join(parts[:end]) for end in range(1, len(parts))}
        names: dict[str, Any] = {}
        frame = inspect.currentframe()
        while frame is not None:
            if frame.f_globals is self.globals and frame.f_code.co_qualname in outer:
                names = {**frame.f_locals, **names}
            frame = frame.f_back
        return names


def scope_of_function(function: Callable[..., Any]) -> Scope:
    """Return the scope of a function's annotations: its module, its closure, the functions around it."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    closure = {name: cell.cell_contents for name, cell in cells if _filled(cell)}
    return Scope(function.__globals__, closure, function.__qualname__)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading it is the test
    except ValueError:
        return False
    return True


def scope_of_class(owner: type, *, module: str | None = None) -> Scope:
    """
    Return the scope of a class's annotations: its module, its body, the functions around it.

    Args:
        owner: The class.
        module: Name of another module the annotation was written in, as a TypedDict remembers of its bases.
    """
    names = sys.modules.get(module or owner.__module__)
    return Scope(vars(names) if names else {}, dict(vars(owner)), owner.__qualname__)


_OWN_NAMES = {"ToolContext": ToolContext, "ToolResult": ToolResult}
"""The two names of ours that signatures use and linters move below ``if TYPE_CHECKING``."""
