"""What models and tools write may hold characters that command a terminal; here they become visible escapes."""

from __future__ import annotations

import re
from typing import Final

from nr_llm._json import encode

_UNSAFE: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1: ESC and CSI among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi controls reorder what one reads
    "\u2028\u2029"  # line breaks that no line counter counts
    "\ufff9-\ufffb\U000e0000-\U000e007f"  # annotations and tags: text that is not shown
    "\ud800-\udfff"  # lone surrogates cannot be written at all
    "]"
)


_BLANK: Final = re.compile(
    "["
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0"  # count as printable and show nothing
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # variation selectors
    "]"
)


def visible(text: str) -> str:
    r"""Return `text` with controls, escapes and bidi controls shown as ``\u001b`` and the like; CRLF becomes LF."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str, most: int = 0) -> str:
    """
    Return `text` made visible in one line.

    Args:
        text: Anything.
        most: Characters it may have, an ellipsis included; 0 for no bound.
    """
    if most and len(text) > most:
        text = text[: most - 1] + "…"
    line = visible(text).replace("\n", "\\n").replace("\t", "\\t")
    return line if not most or len(line) <= most else line[: most - 1] + "…"


def document(value: object) -> str:
    """Return a JSON value as one line in which unsafe characters are escaped, so that it means the same."""
    return escaped(encode(value))


def escaped(text: str) -> str:
    """Return JSON text in which unsafe characters are escaped, so that it means the same."""
    return _UNSAFE.sub(_json_escape, text)


def exact(text: str) -> str:
    """
    Return JSON text, or a line, in which each character that cannot be seen is escaped, so that nothing hides.

    Beyond what commands a terminal these are all kinds of blanks but the space itself, and characters without width.
    """
    return "".join(one if one.isprintable() and not _BLANK.match(one) else _units(one) for one in text)


class Cleaner:
    """Makes a text visible that arrives in pieces, the same however it is cut."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown by now; a carriage return waits for its newline."""
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        return visible(text.removesuffix("\r"))

    def rest(self) -> str:
        """Return what was waiting."""
        held, self._held = self._held, ""
        return visible(held)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    return _units(match[0])


def _units(character: str) -> str:
    pair = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pair[i : i + 2].hex()}" for i in range(0, len(pair), 2))
