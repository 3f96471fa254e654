"""A docstring gives a tool its description and, where no annotation does, its parameters theirs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import attrs


@attrs.frozen
class Docs:
    """
    What a docstring says.

    Args:
        text: Summary and long description, without the sections on arguments, result and errors.
        parameters: Description of each parameter or attribute it names.
    """

    text: str = ""
    parameters: Mapping[str, str] = attrs.field(factory=dict)


def docs_of(documented: object) -> Docs:
    """Read a docstring in Google, NumPy, reST or Epydoc style; one that follows none is description as a whole."""
    text = inspect.cleandoc(getattr(documented, "__doc__", None) or "")
    if not text or _is_generated(documented, text):
        return Docs()
    import docstring_parser  # only here: a tool without docstring needs no parser

    try:
        parsed = docstring_parser.parse(text)
    except Exception:  # noqa: BLE001 - it stumbles over odd text; that costs the structure, never the tool
        return Docs(text)
    parts = (parsed.short_description, parsed.long_description)
    parameters = {p.arg_name: _one_line(p.description or "") for p in parsed.params}
    return Docs("\n\n".join(part.strip() for part in parts if part), parameters)


def _is_generated(documented: object, text: str) -> bool:
    """Return whether `dataclass` made this up: the class's name and signature, which the schema says better."""
    return isinstance(documented, type) and text.startswith(f"{documented.__name__}(")


def _one_line(text: str) -> str:
    return " ".join(text.split())
