"""What a line of a feed becomes on its way out: stamped with its time, and cut where it is too long for a browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nr_llm._json import JSON, decode, encode_bytes

LONGEST_TEXT: Final = 4_000
"""Characters that are left of a text in a line that is too long."""

_HEAD: Final = ("event", "seq", "run_id", "segment", "t")


def stamped(line: str, milliseconds: float) -> bytes:
    """Return a line of a `Feed` with the time since the segment began as its last field, ``t``."""
    return f'{line.rstrip()[:-1]},"t":{milliseconds:.0f}}}\n'.encode()


def bounded(line: bytes, *, most: int) -> bytes:
    """
    Return a line that is not too long: texts in it are cut, or else it holds no more than which line it is.

    Args:
        line: A line of a feed.
        most: Bytes that it may have.
    """
    if len(line) <= most:
        return line
    whole: Any = decode(line)
    shorter = encode_bytes({**_cut(whole), "cut": True}) + b"\n"
    if len(shorter) <= most:
        return shorter
    head = {name: whole[name] for name in _HEAD if name in whole}
    return encode_bytes({**head, "cut": True, "withheld": f"{len(line):,} bytes are too many to show"}) + b"\n"


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        more = len(value) - LONGEST_TEXT
        return value if more <= 0 else f"{value[:LONGEST_TEXT]}… [{more:,} more characters]"
    if isinstance(value, Mapping):
        return {name: _cut(item) for name, item in value.items()}
    return [_cut(item) for item in value] if isinstance(value, list) else value


def line_of(event: str, number: int, /, **fields: JSON) -> bytes:
    """Return a line of our own."""
    return encode_bytes({"event": event, "seq": number, **fields}) + b"\n"
