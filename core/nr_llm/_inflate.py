"""Decompress replies within bounds: what a few hundred bytes become may fill the memory of a host."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

from nr_llm._failures import DecodingError

CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
"""What can be read, and is asked for (RFC 9110, 8.4.1)."""

OTHERS = frozenset({"br", "zstd", "compress", "x-compress"})
"""What cannot.  Any other name is one that servers say of replies that are not compressed, such as ``utf-8``."""

PORTION = 256 * 1024
"""Bytes that are made at once at most."""

_ANY_WRAPPER = 32 + zlib.MAX_WBITS
_GZIP = 0x1F
"""Its first byte (RFC 1952, 2.3.1); the lower half of zlib's names the method (RFC 1950, 2.2)."""


def compressed(named: str) -> bool:
    """
    Return whether a reply with this `Content-Encoding` is compressed.

    Raises:
        DecodingError: In a way that cannot be read, or several times over: each time multiplies what it becomes.
    """
    used = [name for part in named.split(",") if (name := part.strip().lower()) in CODINGS | OTHERS]
    if len(used) > 1 or not CODINGS.issuperset(used):
        raise DecodingError(f"{', '.join(used[:3])} was not asked for")
    return bool(used)


def inflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """
    Yield a compressed body as it was before, in portions.

    Raises:
        DecodingError: It cannot be read, or is cut off.
    """
    inflater = _Inflater()
    for piece in pieces:
        yield from inflater.feed(piece)
    inflater.end()


async def ainflated(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield a compressed body as it was before; the asynchronous twin of `inflated`."""
    inflater = _Inflater()
    async for piece in pieces:
        for portion in inflater.feed(piece):
            yield portion
    inflater.end()


class _Inflater:
    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(_ANY_WRAPPER)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if data and not self._begun:
            self._begun = True
            if data[0] != _GZIP and data[0] & 0x0F != zlib.DEFLATED:  # some servers leave out what goes around it
                self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        full = True
        while data or full:
            if data and self._zlib.eof:  # a body may be several in turn (RFC 1952, 2.2)
                self._zlib = zlib.decompressobj(_ANY_WRAPPER)
            if portion := self._portion(data):
                yield portion
            full = len(portion) == PORTION
            data = self._zlib.unconsumed_tail or self._zlib.unused_data

    def _portion(self, data: bytes) -> bytes:
        try:
            return self._zlib.decompress(data, PORTION)
        except zlib.error as error:
            raise DecodingError(str(error)) from error

    def end(self) -> None:
        if self._begun and not self._zlib.eof:
            raise DecodingError("it was cut off")
