"""Reads the documentation's fenced blocks, so that what a page shows can be run as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.support import ROOT

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`]*)$")
TITLE = re.compile(r'title="(?P<title>[^"]+)"')
ILLUSTRATIVE = re.compile(r"^ *<!-- illustrative: (?P<reason>.+) -->$")
LANGUAGES = frozenset({"console", "json", "python", "text", "toml"})
"""What a fence may hold. Commands are `console` blocks, so that none hides in a fence without a language."""


@attrs.frozen
class Block:
    """
    One fenced block.

    Attributes:
        page: The page's path from the root of the checkout.
        line: The line of its opening fence, counted from 1.
        language: The first word after the fence.
        title: The file that the block is the content of, or None.
        text: The lines between the fences.
        reason: Why it is not run, or None when it is.
    """

    page: str
    line: int
    language: str
    title: str | None
    text: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Return every Markdown page that people read: the root's, the documentation's, each plugin's."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")]
    return sorted(found)


def blocks(page: Path) -> Iterator[Block]:
    """
    Yield the fenced blocks of a page, in order.

    Raises:
        ValueError: A fence is never closed.
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    name = page.relative_to(ROOT).as_posix()
    position = 0
    while position < len(lines):
        opening = FENCE.match(lines[position])
        if opening is None:
            position += 1
            continue
        start, indent = position, len(opening["indent"])
        end = next((at for at in range(start + 1, len(lines)) if lines[at].strip() == "```"), None)
        if end is None:
            raise ValueError(f"{name}:{start + 1}: this fence is never closed")
        marker = ILLUSTRATIVE.match(lines[start - 1]) if start else None
        title = TITLE.search(opening["info"])
        yield Block(
            page=name,
            line=start + 1,
            language=opening["info"].split(" ")[0],
            title=title["title"] if title else None,
            text="".join(line[indent:] + "\n" for line in lines[start + 1 : end]),
            reason=marker["reason"] if marker else None,
        )
        position = end + 1


def every_block() -> list[Block]:
    """Return the blocks of all pages."""
    return [block for page in pages() for block in blocks(page)]


@attrs.frozen
class Command:
    """A command of a console block and the output that the page shows for it (empty: any)."""

    line: str
    output: str


def commands(block: Block) -> list[Command]:
    """
    Split a console block at its prompts.

    Raises:
        ValueError: The block does not begin with a prompt.
    """
    if not block.text.startswith("$ "):
        raise ValueError(f"{block}: a console block begins with `$ `")
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    return [Command(*part.split("\n", 1)) for part in parts]


def shows(expected: str, actual: str) -> bool:
    """Say whether a command printed what the page shows; `...` in the page stands for any text."""
    pattern = ".*?".join(re.escape(piece.strip()) for piece in expected.split("..."))
    return re.fullmatch(pattern, actual.strip(), flags=re.DOTALL) is not None
