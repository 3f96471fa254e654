"""Compares and quotes names as SQLite does, since a guard that reads names differently guards nothing."""

from __future__ import annotations

import string
from functools import lru_cache

from nr_llm.redaction import Redactor

LONGEST_NAME = 128
"""Characters a table or column name may have; a longer one is treated as if it were not there."""

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_REDACTOR = Redactor()


def fold(name: str) -> str:
    """Return the form in which SQLite compares names: ASCII letters alone lose their case."""
    return name.translate(_LOWER)


def folded(*names: str) -> frozenset[str]:
    """Return the comparison forms of `names`."""
    return frozenset(map(fold, names))


def quoted(name: str) -> str:
    """Return `name` as an identifier in an SQL text."""
    return '"' + name.replace('"', '""') + '"'


@lru_cache(maxsize=4_096)
def clear(name: str) -> bool:
    """
    Return whether `name` reads the same wherever it is shown.

    Line breaks and invisible characters in a name could draw a row that is not there, a name that did not
    decode cannot be asked for, and a name that is a secret would be masked.
    """
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or "\ufffd" in name:
        return False
    return " ".join(name.split()) == name == _REDACTOR.redact(name)
