"""Faults say what is wrong with a call's arguments in words a model can act on, every one at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias

import attrs

from nr_llm._json import encode
from nr_llm.errors import InvalidValueError, similar

EXCERPT_CHARS = 80
"""Characters of a refused value that are shown: enough to recognise it, too few to repeat a document."""

MODEL_BYTES = 4_000
"""UTF-8 bytes of the whole error text for the model: about a thousand tokens."""

MAX_FAULTS = 100
"""Faults gathered for one call; beyond that a further line teaches nothing and costs time."""

_KEY_CHARS = 60
_LINE_CHARS = 600
_SHOWN = 4
_COMPARED = 200
_HEAD = "The arguments do not fit this tool, so it did not run:"
_TAIL = "Correct every point and call the tool again."

Step: TypeAlias = str | int


@attrs.frozen
class Fault:
    """
    One thing wrong with the arguments of a call.

    Args:
        path: Where, such as ``items[2].price``; empty for the arguments as a whole.
        message: What was expected and a short excerpt of what was given.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ArgumentsError(InvalidValueError):
    """
    The arguments of a call do not fit the tool's parameters; the tool did not run.

    `str` names the places only, since what was given may be private; `for_model` and `for_person` tell all.

    Attributes:
        faults: Every fault found, in the order of the parameters; at most 100.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        places = ", ".join(fault.path or "(root)" for fault in self.faults[:_SHOWN])
        more = f" and {len(self.faults) - _SHOWN} more" if len(self.faults) > _SHOWN else ""
        super().__init__(f"arguments refused at {places}{more}")

    def for_model(self) -> str:
        """Return the one error text for the model: a line for each fault, at most 4,000 bytes."""
        return "\n".join([_HEAD, *(f"- {line}" for line in self._lines()), _TAIL])

    def for_person(self) -> str:
        """Return a line for each fault, at most 4,000 bytes, for whoever gave the arguments in a model's place."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        room = MODEL_BYTES - len(_HEAD) - len(_TAIL) - 40
        for done, fault in enumerate(self.faults):
            line = clip(str(fault), _LINE_CHARS)
            room -= len(line.encode(errors="replace")) + 3  # with the sign in front of it and the break behind
            if room < 0:
                yield f"and {len(self.faults) - done} more"
                return
            yield line


class Refused(Exception):  # noqa: N818 - it never leaves this package, `ArgumentsError` does
    """A reader does not take a value; cheap to raise, since a union raises it to try the next member."""

    def __init__(self, expected: str, given: object) -> None:
        self.expected = expected
        self.given = given

    def faults(self, path: str = "") -> Iterator[Fault]:
        """Yield what is wrong, in words; nothing is put into words before."""
        yield Fault(path, f"expected {self.expected}, got {excerpt(self.given)}")

    def count(self) -> int:
        """Return how many faults there are, without wording them."""
        return 1


class Told(Refused):
    """A refusal whose words are made already."""

    def __init__(self, message: str) -> None:
        self.message = message

    def faults(self, path: str = "") -> Iterator[Fault]:
        """Yield the one message."""
        yield Fault(path, self.message)


class Within(Refused):
    """Refusals inside a container, each with the step that leads to it."""

    def __init__(self, parts: Iterable[tuple[Step, Refused]]) -> None:
        self.parts = tuple(parts)

    def faults(self, path: str = "") -> Iterator[Fault]:
        """Yield the faults of every part, each below its step."""
        for step, part in self.parts:
            yield from part.faults(join(path, step))

    def count(self) -> int:
        """Return the number of faults in all parts."""
        return sum(part.count() for _, part in self.parts)


def arguments_error(refused: Refused) -> ArgumentsError:
    """Put a refusal into words."""
    return ArgumentsError(islice(refused.faults(), MAX_FAULTS))


def join(path: str, step: Step) -> str:
    """Return `path` one step further: ``items`` and 2 give ``items[2]``, then ``price`` gives ``items[2].price``."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if step.isidentifier() and len(step) <= _KEY_CHARS:
        return f"{path}.{step}" if path else step
    return f"{path}[{_visible(encode(clip(step, _KEY_CHARS)))}]"


def unknown(key: str, known: Iterable[str]) -> Told:
    """Return the refusal of a key nobody asked for, with the name that was probably meant."""
    names = list(known)
    alike = similar(key[:_KEY_CHARS], names[:_COMPARED])
    if alike:
        return Told(f"unknown name; did you mean {' or '.join(map(encode, alike))}?")
    if not names:
        return Told("unknown name; nothing is taken here")
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return Told(f"unknown name; known are: {clip(shown, 300)}")


def clip(text: str, limit: int) -> str:
    """Return `text`, cut to `limit` characters with a visible mark."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def excerpt(value: object) -> str:
    """Return at most 80 characters of a JSON value, spelled as JSON, nothing invisible in it."""
    return clip(_visible(_sketch(value)), EXCERPT_CHARS)


def _sketch(value: object) -> str:
    """Spell the outside of a value: two levels of containers, a few items, the head of a text."""
    if isinstance(value, list):
        return f"[{_listed(map(_flat, value[:_SHOWN]), len(value))}]"
    if isinstance(value, dict):
        members = (f"{_flat(key)}: {_flat(item)}" for key, item in islice(value.items(), _SHOWN))
        return f"{{{_listed(members, len(value))}}}"
    return _flat(value)


def _listed(shown: Iterable[str], total: int) -> str:
    return ", ".join(shown) + (", …" if total > _SHOWN else "")


def _flat(value: object) -> str:
    if isinstance(value, list):
        return "[…]" if value else "[]"
    if isinstance(value, dict):
        return "{…}" if value else "{}"
    if isinstance(value, str):
        return encode(clip(value, EXCERPT_CHARS))
    try:
        return encode(value)
    except InvalidValueError:  # NaN, an integer beyond Python's digit limit, no JSON at all
        return f"a value of type {type(value).__name__}"


def _visible(text: str) -> str:
    """Escape what a reader cannot see: controls, bidirectional marks, lone surrogates."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
