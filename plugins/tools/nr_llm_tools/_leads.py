"""What a look-up without a result may go on with: names that are nearly what was asked for, a word to look for."""

from __future__ import annotations

import difflib
import heapq
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

import attrs

from nr_llm_tools._guard import MAX_PATH, Parts, shown
from nr_llm_tools._search import Query

MOST: Final = 3
"""Names that are proposed; more are a list, and there is a tool for that."""

MENTIONS: Final = 5
"""Lines that are shown of a word that no file is named by."""

CLOSENESS: Final = 0.75
"""How alike two names are, as `difflib` measures it: a letter or an ending may differ."""

COMPARED: Final = 64
"""Characters of a name that are compared: the work for one grows with their square, and strangers choose names."""

LEAST: Final = 4
"""Letters of a word that is looked for by itself; shorter ones stand everywhere."""

_WORD: Final = re.compile(r"[^\W\d_]+?(?=[A-Z][a-z]|[\W\d_]|$)")
"""Letters up to what parts names: an underscore, a sign, a digit, a capital before a small letter."""


def near(wanted: str, files: Iterable[Parts], *, on_time: Callable[[], bool]) -> list[Parts]:
    """
    Return the files whose name is nearly `wanted`, whatever follows the last dot; the nearest first.

    Args:
        wanted: A name or a pattern; of a path the last part counts.
        files: The files there are; one whose path is too long to be asked for is none.
        on_time: Whether there is time for one more name.
    """
    named: dict[str, list[Parts]] = {}
    for file in files:
        named.setdefault(_compared(file[-1]), []).append(file)
    scored = _close(_compared(_bare(wanted)), named, on_time=on_time)
    found = (file for _, stem in heapq.nlargest(MOST, scored) for file in named[stem] if len(shown(file)) <= MAX_PATH)
    return list(islice(found, MOST))


def _close(wanted: str, names: Iterable[str], *, on_time: Callable[[], bool]) -> Iterator[tuple[float, str]]:
    """Yield the names that are alike enough and how much they are, until the time is over."""
    matcher = difflib.SequenceMatcher(b=wanted)
    for name in names:
        if not on_time():
            return
        matcher.set_seq1(name)
        if matcher.real_quick_ratio() >= CLOSENESS <= matcher.quick_ratio() and matcher.ratio() >= CLOSENESS:
            yield matcher.ratio(), name


def _compared(name: str) -> str:
    return _stem(name.casefold())[:COMPARED]


@attrs.frozen
class Step:
    """
    One more way to look for a text.

    Attributes:
        query: What to look for.
        parts: The file or folder to look in.
        said: How to say that it was looked for so.
        filtered: Whether only files of the wanted name count.
    """

    query: Query
    parts: Parts
    said: str
    filtered: bool = False


def wider(query: Query, parts: Parts) -> Iterator[Step]:
    """
    Yield how to go on where a text was not found: capitals or not, then in every file, then each of its words there.

    A pattern says exactly what is meant, so nothing else is looked for.
    """
    if not query.cased:
        return
    anyhow = query.in_any_case()
    yield Step(anyhow, parts, " in capital or small letters", filtered=True)
    yield Step(anyhow, (), ", none where it was looked for")
    for stem in _stems(query.needle):
        yield Step(_beginning(stem), (), f": none, but with '{stem}'")


def mentions(pattern: str) -> Iterator[Query]:
    """Yield what to look for in files where no file is named like `pattern`: the name, then each of its words."""
    name = _bare(_stem(pattern.strip()))
    if len(name) >= LEAST:
        yield Query(name, None).in_any_case()
    yield from map(_beginning, _stems(name))


def anything(*_: Parts) -> bool:
    """Return that a file is wanted, whatever its name."""
    return True


def _beginning(stem: str) -> Query:
    return Query(stem, None, any_case=True)


def _bare(pattern: str) -> str:
    """Return the last part of a path or pattern without its wildcards."""
    return pattern.strip().rstrip("/").rpartition("/")[2].replace("*", "").replace("?", "")


def _stems(text: str) -> list[str]:
    """
    Return the beginnings of the longest words of a text, the longest first: endings do not matter.

    ``cleaning_interval`` gives ``inter`` and ``clean``.
    """
    words = sorted({word.casefold() for word in _WORD.findall(text) if len(word) >= LEAST}, key=lambda w: (-len(w), w))
    return [word[: max(LEAST, len(word) * 5 // 8)] for word in words[:MOST]]


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name
