"""Tells what a request names and no call has touched: a small model replies as soon as it has anything to say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nr_llm._json import encode
from nr_llm.messages import ToolCall

_POINT = re.compile(
    r"(?P<number>\d+(?:[.,:/-]\d+)*\b(?![\w./]*[\w/])(?:[ ]?%)?)"
    r"|(?P<name>\w*[\w/][._/]\w[\w./]*)"
    r"|(?P<word>[^\W\d_][\w-]*)"
)
_SHORT = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")  # e.g., a.m., U.S.
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_CONTINENTAL = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+")
_VALUE = re.compile(r"\d+(?:\.\d+)?")
_UNMISTAKABLE = re.compile(r"\d|[._/]")
_START = re.compile(r"(?:^|[.!?:\n]\s*)$")
LONGEST = 600
"""Characters of a request; a longer one holds a text, whose names are nothing to look up."""

MOST = 8
"""Points of a request; one of more is a list or a text too."""

Step = tuple[ToolCall, str]
"""A call and its result."""


def open_points(request: str, steps: Sequence[Step]) -> tuple[str, ...]:
    """
    Return the names and numbers of a request that no call and no result has, in the order they were said.

    A number without a point has to be an argument, or to stand in a result behind the same word: lists and lines are
    full of numbers.

    Args:
        request: What was asked.
        steps: What was called since then, and what it gave.
    """
    asked = "\n".join(encode(dict(call.arguments)) for call, _ in steps).casefold()
    given = "\n".join((asked, *(result.casefold() for _, result in steps)))
    return tuple(dict.fromkeys(text for text, number in _points(request) if not _touched(text, number, asked, given)))


def named(request: str) -> tuple[str, ...]:
    """Return what a request names unmistakably: paths and dotted names, codes, numbers of three digits and more."""
    return tuple(text for text, _ in _points(request) if len(text.rstrip(" %")) > 2 and _UNMISTAKABLE.search(text))


def beside(call: ToolCall, names: Sequence[str]) -> bool:
    """Return whether a call is about none of the things that a request names."""
    asked = encode(dict(call.arguments)).casefold()
    return bool(names) and not any(name.casefold() in asked or _among(name, asked) for name in names)


def _points(request: str) -> Sequence[tuple[str, str]]:
    """Return names as text, and numbers as text with the word before them; none of what is no short request."""
    found = tuple(_found(request)) if len(request) <= LONGEST else ()
    return found if len(found) <= MOST else ()


def _found(request: str) -> Iterator[tuple[str, str]]:
    before = ""
    for found in _POINT.finditer(request):
        text = found.group()
        if found["number"]:
            yield text, f"{before} {text}"
        elif found["name"]:
            if not _SHORT.fullmatch(text.rstrip(".")):
                yield text.rstrip("."), ""
        elif text[:1].isupper() and len(text) > 1 and not _START.search(request[: found.start()]):
            yield text, ""
        before = text


def _touched(text: str, number: str, asked: str, given: str) -> bool:
    if not number:
        return text.casefold() in given
    behind = rf"{re.escape(number.casefold())}(?!\d)"
    return _among(text, asked) or ("." in text and text in given) or re.search(behind, given) is not None


def _among(text: str, asked: str) -> bool:
    """Return whether arguments have a number, however either is written."""
    if re.search(rf"(?<![\d.]){re.escape(text)}(?!\.?\d)", asked):
        return True
    values = set(map(float, _VALUE.findall(asked)))
    return not values.isdisjoint(_meant(text)) or all(
        not values.isdisjoint(_meant(part)) for part in text.split(",") if part
    )


def _meant(text: str) -> set[float]:
    """Return the values a number may stand for: points and commas mean one thing here and another there."""
    number = text.rstrip(" %")
    found = set[float]()
    if _GROUPED.fullmatch(number):
        found.add(float(number.replace(",", "")))
    if _CONTINENTAL.fullmatch(number):
        found.add(float(number.replace(".", "").replace(",", ".")))
    return found | ({value / 100 for value in found} if number != text else set())
