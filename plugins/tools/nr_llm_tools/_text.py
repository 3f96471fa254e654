"""Makes text from a disk fit to be shown: valid, visible, redacted and of bounded length."""

from __future__ import annotations

import os
import re
from enum import Enum
from typing import Final

MAX_LINE: Final = 1_000
"""Characters of a line that are shown; more is data, not text."""

_SAMPLE: Final = 8_192
"""Bytes that are looked at to tell text from data."""

_SHARE: Final = 0.3
"""Share of a sample's characters that may be no text; Latin-1 prose stays far below, compressed data is far above."""

_INVISIBLE: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters but the tab, line separators, and marks that reorder a line (CVE-2021-42574)."""


class Skipped(Enum):
    """Why a file is not read as text."""

    LARGE = "too large"
    BINARY = "binary"
    UNREADABLE = "unreadable"


def read_text(fd: int, *, limit: int) -> str | Skipped:
    """
    Return the text of an open file, invalid UTF-8 replaced by U+FFFD, or why it has none.

    The size is asked before a byte is read, and the reading is bounded too, since a file may grow.

    Args:
        fd: A descriptor at the file's beginning.
        limit: Bytes the file may have.

    Raises:
        OSError: The file cannot be read.
    """
    if os.fstat(fd).st_size > limit:
        return Skipped.LARGE
    data = _read(fd, limit + 1)
    if len(data) > limit:
        return Skipped.LARGE
    if is_binary(data[:_SAMPLE]):
        return Skipped.BINARY
    return data.decode("utf-8-sig", errors="replace")


def read_exactly(fd: int, *, limit: int) -> str | Skipped:
    """
    Return the text of an open file exactly as it is, or why that cannot be had.

    Args:
        fd: A descriptor at the file's beginning.
        limit: Bytes the file may have.

    Raises:
        OSError: The file cannot be read.
    """
    data = _read(fd, limit + 1)
    if len(data) > limit:
        return Skipped.LARGE
    try:
        return Skipped.BINARY if is_binary(data) else data.decode()
    except UnicodeDecodeError:
        return Skipped.BINARY


def _read(fd: int, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := os.read(fd, most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def is_binary(sample: bytes) -> bool:
    """Return whether bytes are no text, by what is odd in them."""
    if b"\0" in sample:
        return True
    text = sample.decode(errors="replace")
    odd = sum(char == "\ufffd" or (char < " " and char not in "\t\n\r\f\b\x1b") for char in text)
    return odd > _SHARE * len(text)


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, as editors count them: ended by a line feed, which a carriage return may precede."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def visible_line(line: str) -> str:
    r"""Return `line` with everything that would act on a terminal or hide from a reader written as ``\x1b``."""
    return _INVISIBLE.sub(lambda found: _escape(found[0]), line)


def visible_name(name: str) -> str:
    r"""Return a file name on one line; bytes that are no UTF-8 and unprintable characters are written as ``\xff``."""
    return name if name.isprintable() else "".join(char if char.isprintable() else _escape(char) for char in name)


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as Python's file names carry it
        code -= 0xDC00
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def cut(text: str, most: int) -> str:
    """Return `text`, or its first `most` characters and how many are missing."""
    return text if len(text) <= most else f"{text[:most]}… (+{len(text) - most:,} characters)"


def excerpt(line: str, near: int, *, width: int) -> str:
    """Return the part of a trimmed `line` that has the character at `near`, at most about `width` characters long."""
    start = 0 if near < width else near - width // 4
    piece = line[start : start + width]
    before = "… " if start else ""
    after = " …" if start + width < len(line) else ""
    return f"{before}{piece.strip()}{after}"


def clamp(value: int, low: int, high: int, *, default: int) -> int:
    """Return `value` within its bounds; below `low` means that nobody meant it, so it is the default."""
    return default if value < low else min(value, high)
