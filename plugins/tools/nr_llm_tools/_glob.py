"""
Reads file name patterns into the same linear matcher, so that a pattern of many stars cannot hang a host either.

``*`` and ``?`` stay within one name, ``**/`` stands for any number of folders, ``[a-c]`` and ``[!a-c]`` for one
character, ``{py,toml}`` for alternatives.
"""

from __future__ import annotations

from nr_llm_tools._automaton import Alt, Matcher, Node, Place, Repeat, Seq, Take
from nr_llm_tools._regex import Accepts, exactly

WILDCARDS = frozenset("*?[{")
"""The characters that make a text a pattern."""


def compile_globs(*patterns: str) -> Matcher:
    """
    Return a matcher for whole names or relative paths that match any of the patterns.

    Raises:
        PatternError: The patterns are too large.
    """
    return Matcher(Seq((Place.START, Alt(tuple(map(_parse, patterns))), Place.END)))


def _parse(pattern: str) -> Node:
    options = [_sequence(option) for option in _expand(pattern)]
    return options[0] if len(options) == 1 else Alt(tuple(options))


def _expand(pattern: str) -> list[str]:
    """Return the pattern once for each alternative of its first braces; further braces are literal."""
    head, brace, rest = pattern.partition("{")
    inside, closing, tail = rest.partition("}")
    if not brace or not closing:
        return [pattern]
    return [head + option + tail for option in inside.split(",")]


def _sequence(pattern: str) -> Seq:
    items: list[Node] = []
    at = 0
    while at < len(pattern):
        node, at = _item(pattern, at)
        items.append(node)
    return Seq(tuple(items))


def _item(pattern: str, at: int) -> tuple[Node, int]:
    char = pattern[at]
    if pattern.startswith("**/", at):
        return Repeat(Seq((Repeat(_ANYTHING, 0, None), exactly("/"))), 0, 1), at + 3
    if pattern.startswith("**", at):
        return Repeat(_ANYTHING, 0, None), at + 2
    if char == "*":
        return Repeat(_IN_NAME, 0, None), at + 1
    if char == "?":
        return _IN_NAME, at + 1
    end = pattern.find("]", at + 3 if pattern.startswith("[!", at) else at + 2) if char == "[" else -1
    if end > 0:
        return _class(pattern[at + 1 : end]), end + 1
    return exactly(char), at + 1


_ANYTHING = Take(lambda _: True)
_IN_NAME = Take(lambda char: char != "/")


def _class(body: str) -> Take:
    negated = body.startswith("!")
    chars = body[1:] if negated else body
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(chars):
        if chars[at + 1 : at + 2] == "-" and at + 2 < len(chars):
            ranges.append((chars[at], chars[at + 2]))
            at += 3
        else:
            ranges.append((chars[at], chars[at]))
            at += 1
    return Take(_in_ranges(tuple(ranges), negated=negated))


def _in_ranges(ranges: tuple[tuple[str, str], ...], *, negated: bool) -> Accepts:
    return lambda char: char != "/" and any(low <= char <= high for low, high in ranges) is not negated
