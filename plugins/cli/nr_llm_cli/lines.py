"""Finds the line of a TOML file that a setting stands on, as far as that can be told without a parser that keeps it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_FENCES = ('"""', "'''")


def located(source: str, name: str) -> str:
    """
    Return a source with the line of a setting, if it is a file that has it; else the source alone.

    Args:
        source: A path, or words.
        name: The setting, such as ``models.fast.context``; its parts stand as they are, quotes left out.
    """
    line = _lines(source).get(name) if source.endswith(".toml") else None
    return source if line is None else f"{source}:{line}"


@cache
def _lines(source: str) -> dict[str, int]:
    """Return the line of each key, by its parts with dots between; what stands in a text of several lines is none."""
    try:
        text = Path(source).read_text("utf-8")
    except (OSError, ValueError):
        return {}
    found: dict[str, int] = {}
    header: tuple[str, ...] = ()
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        if fence:
            fence = "" if fence in line else fence
            continue
        fence = next((mark for mark in _FENCES if line.count(mark) % 2), "")
        if match := _HEADER.match(line):
            header = _parts(match[1])
        elif match := _KEY.match(line):
            key = (*header, *_parts(match[1]))
            found.setdefault(".".join(key), number)
            for inner in re.findall(r"""[{,]\s*([\w-]+|"[^"]*"|'[^']*')\s*=""", line) if "{" in line else ():
                found.setdefault(".".join((*key, inner.strip("\"'"))), number)
    return found


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(part.strip("\"'") for part in _PART.findall(text))
    return parts[2:] if parts[:2] == ("tool", "nr-llm") else parts
