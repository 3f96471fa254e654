"""The file that weights are written to is hashed on the way, so that checking it costs no second reading."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

CHUNK: Final = 1 << 20
"""Bytes read at once from a disk."""


class Sink:
    """
    A file under construction; use it in a ``with`` statement, which leaves what was written on the disk.

    Args:
        path: The file.
        keep: Whether what it holds already is kept and added to.
    """

    def __init__(self, path: Path, *, keep: bool = False) -> None:
        self.path = path
        self._file = path.open("r+b" if keep and path.exists() else "w+b")
        self._hash = hashlib.sha256()
        self.count = 0
        while chunk := self._file.read(CHUNK):
            self._note(chunk)

    @property
    def digest(self) -> str:
        """SHA-256 of what the file holds, in hex."""
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """Add bytes at the end."""
        self._file.write(data)
        self._note(data)

    def restart(self) -> None:
        """Empty the file."""
        self._file.seek(0)
        self._file.truncate()
        self._hash = hashlib.sha256()
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        finally:
            self._file.close()

    def _note(self, data: bytes) -> None:
        self._hash.update(data)
        self.count += len(data)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
