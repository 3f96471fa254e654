"""
A form is a type as a model sees it and as a call is read: one value, so the two cannot drift apart.

Readers are plain closures compiled once, at registration.  cattrs was measured for this job and put aside, for
it converts where we have to refuse: its list hook takes any iterable (a text becomes a list of letters) and its
primitives coerce, so every strict hook would be one of ours anyway.  What is left, reading an object's keys, it
does by generated code that resolves annotations itself (a class defined in a function fails), reserves names (no
parameter may be called `cl`) and takes 0.5 µs where our loop takes 0.2; and a union needs two readers of each
type, exact before lossless, for which a converter has no place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from nr_llm._json import JSON

Reader: TypeAlias = Callable[[Any], Any]
"""Takes a JSON value, gives the typed value or raises `Refused`."""


@attrs.frozen(eq=False, kw_only=True)
class Form:
    """
    How one type is offered and read.

    Args:
        schema: JSON Schema of the type, without references.
        expected: The type in words for a model, such as ``an integer``.
        exact: Reads only the type's own JSON form; a union asks this of every member first.
        read: Also reads what converts without loss (the table in ``docs/reference/coercion.md``).
        hashable: Whether the values it gives can be members of a set.
    """

    schema: dict[str, JSON]
    expected: str
    exact: Reader
    read: Reader
    hashable: bool = True
