r"""
Reads the regular expressions a model may use, those that can be matched in linear time.

A subset of Python's syntax with Python's meaning: literals, ``.``, classes, ``\d \w \s \b`` and their opposites,
``^ $ \A \Z``, groups, alternatives, ``* + ? {m,n}`` (lazy forms too: for "does it match" they are the same), and a
leading ``(?i)``.  Everything else is refused by its name, never silently read as something different.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from nr_llm_tools._automaton import Alt, Matcher, Node, PatternError, Place, Repeat, Seq, Take, is_word

MAX_DEPTH: Final = 40
"""Groups inside groups."""

MAX_COUNT: Final = 1_000
"""The largest number in a counted repeat."""

Accepts = Callable[[str], bool]

_CLASSES: Final[dict[str, Accepts]] = {
    "d": str.isdecimal,
    "D": lambda char: not char.isdecimal(),
    "w": is_word,
    "W": lambda char: not is_word(char),
    "s": str.isspace,
    "S": lambda char: not char.isspace(),
}
_PLACES: Final = {"b": Place.BOUNDARY, "B": Place.INSIDE, "A": Place.START, "Z": Place.END}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_HEX: Final = {"x": 2, "u": 4, "U": 8}
_REFUSED_GROUPS: Final = (
    ("?=", "look-ahead"),
    ("?!", "look-ahead"),
    ("?<=", "look-behind"),
    ("?<!", "look-behind"),
    ("?P=", "a back-reference"),
    ("?>", "an atomic group"),
    ("?(", "a conditional group"),
    ("?#", "a comment"),
)
_NAMED_GROUP: Final = re.compile(r"\?P<[A-Za-z_]\w*>")
_COUNT: Final = re.compile(r"\{(\d{0,6})(?:(,)(\d{0,6}))?\}")
_FLAGS: Final = re.compile(r"\(\?([imsu]+)\)")


def compile_regex(pattern: str) -> Matcher:
    """
    Return the matcher of a regular expression for single lines.

    Raises:
        PatternError: The pattern is malformed, too large, or uses what needs backtracking.
    """
    return Matcher(parse_regex(pattern))


def parse_regex(pattern: str) -> Node:
    """
    Return the tree of a regular expression.

    Raises:
        PatternError: As for `compile_regex`.
    """
    flags = _FLAGS.match(pattern)
    fold = flags is not None and "i" in flags[1]
    return _Parser(pattern, flags.end() if flags else 0, fold=fold).parse()


def required_text(node: Node) -> str:
    """Return the longest text that every match of `node` contains; it may be empty."""
    best = run = ""
    for item in node.items if isinstance(node, Seq) else (node,):
        literal = item.literal if isinstance(item, Take) else None
        run = run + literal if literal is not None else ""
        best = max(best, run, key=len)
    return best


def exactly(char: str, *, fold: bool = False) -> Take:
    """Return the node of one character, in either case when `fold`."""
    if fold and char.lower() != char.upper():
        return Take(_folded(char.__eq__))
    return Take(char.__eq__, char)


def _folded(accepts: Accepts) -> Accepts:
    return lambda char: accepts(char) or accepts(char.lower()) or accepts(char.upper())


class _Parser:
    """Recursive descent; one method for each rule of the grammar."""

    def __init__(self, pattern: str, at: int, *, fold: bool) -> None:
        self._pattern = pattern
        self._at = at
        self._fold = fold
        self._depth = 0

    def parse(self) -> Node:
        node = self._alternatives()
        if self._at < len(self._pattern):
            raise self._error("has a ')' without a '('")
        return node

    def _error(self, what: str) -> PatternError:
        return PatternError(f"the regular expression {what} (at character {self._at + 1})")

    def _looking_at(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _skip(self, text: str) -> bool:
        if self._looking_at(text):
            self._at += len(text)
            return True
        return False

    def _next(self, what: str) -> str:
        if self._at >= len(self._pattern):
            raise self._error(f"ends inside {what}")
        self._at += 1
        return self._pattern[self._at - 1]

    def _alternatives(self) -> Node:
        options = [self._sequence()]
        while self._skip("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def _sequence(self) -> Seq:
        items: list[Node] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            item = self._repeated(self._atom())
            items += item.items if isinstance(item, Seq) else (item,)
        return Seq(tuple(items))

    def _repeated(self, atom: Node) -> Node:
        bounds = self._quantifier()
        if bounds is None:
            return atom
        if isinstance(atom, Place):
            raise self._error("repeats a position, such as '^' or '\\b'")
        if self._looking_at("+"):
            raise self._error("has a possessive repeat, such as '*+', which is not supported")
        self._skip("?")  # a lazy repeat matches the same texts
        if self._quantifier() is not None:
            raise self._error("has a repeat of a repeat; put the inner one into a group")
        return Repeat(atom, *bounds)

    def _quantifier(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skip(sign):
                return bounds
        count = _COUNT.match(self._pattern, self._at)
        if count is None or count[0] in {"{}", "{,}"}:
            return self._any_number() if count is not None and count[0] == "{,}" else None
        self._at = count.end()
        low = int(count[1] or 0)
        high = low if count[2] is None else int(count[3]) if count[3] else None
        if max(low, high or 0) > MAX_COUNT:
            raise self._error(f"repeats more than {MAX_COUNT} times")
        if high is not None and high < low:
            raise self._error("has a repeat whose minimum is above its maximum")
        return low, high

    def _any_number(self) -> tuple[int, None]:
        self._at += len("{,}")
        return 0, None

    def _atom(self) -> Node:
        if self._quantifier() is not None:
            raise self._error("has a repeat with nothing before it")
        char = self._next("an atom")
        match char:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case ".":
                return Take(lambda char: char != "\n")
            case "^":
                return Place.START
            case "$":
                return Place.END
            case _:
                return exactly(char, fold=self._fold)

    def _group(self) -> Node:
        for sign, name in _REFUSED_GROUPS:
            if self._looking_at(sign):
                raise self._error(f"uses {name}, which cannot be matched in linear time or is not supported")
        if not self._skip("?:"):
            named = _NAMED_GROUP.match(self._pattern, self._at)
            if named:
                self._at = named.end()
            elif self._looking_at("?"):
                raise self._error("has an unknown group; flags such as (?i) stand at the very start")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"has more than {MAX_DEPTH} groups inside each other")
        node = self._alternatives()
        if not self._skip(")"):
            raise self._error("has a '(' without a ')'")
        self._depth -= 1
        return node

    def _escape(self) -> Node:
        char = self._next("an escape")
        if char in _CLASSES:
            return Take(_CLASSES[char])
        if char in _PLACES:
            return _PLACES[char]
        if char.isdigit():
            raise self._error("uses a back-reference or an octal escape, which are not supported")
        return exactly(self._escaped_char(char), fold=self._fold)

    def _escaped_char(self, char: str) -> str:
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in _HEX:
            digits = self._pattern[self._at : self._at + _HEX[char]]
            if not re.fullmatch(rf"[0-9A-Fa-f]{{{_HEX[char]}}}", digits) or int(digits, 16) > 0x10FFFF:
                raise self._error(f"has an incomplete '\\{char}' escape")
            self._at += _HEX[char]
            return chr(int(digits, 16))
        if char.isascii() and char.isalnum():
            raise self._error(f"has an unknown escape '\\{char}'")
        return char

    def _class(self) -> Take:
        negated = self._skip("^")
        tests: list[Accepts] = []
        first = True
        while first or not self._looking_at("]"):
            first = False
            tests.append(self._class_item())
        self._skip("]")
        accepts = _any_of(tuple(tests))
        if self._fold:
            accepts = _folded(accepts)
        return Take(_none_of(accepts) if negated else accepts)

    def _class_item(self) -> Accepts:
        low = self._class_char()
        if not isinstance(low, str):
            return low
        if not self._looking_at("-") or self._pattern.startswith("-]", self._at):
            return low.__eq__
        self._skip("-")
        high = self._class_char()
        if not isinstance(high, str) or high < low:
            raise self._error("has a range in a class whose ends are not in order")
        return _between(low, high)

    def _class_char(self) -> str | Accepts:
        char = self._next("a class")
        if char != "\\":
            return char
        char = self._next("an escape")
        if char in _CLASSES:
            return _CLASSES[char]
        if char == "b":
            return "\b"
        if char.isdigit():
            raise self._error("uses an octal escape, which is not supported")
        return self._escaped_char(char)


def _any_of(tests: tuple[Accepts, ...]) -> Accepts:
    return tests[0] if len(tests) == 1 else lambda char: any(test(char) for test in tests)


def _none_of(accepts: Accepts) -> Accepts:
    return lambda char: not accepts(char)


def _between(low: str, high: str) -> Accepts:
    return lambda char: low <= char <= high
