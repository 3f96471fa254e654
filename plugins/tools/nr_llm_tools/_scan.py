"""Walks folders below a descriptor within bounds of time, number and depth, and keeps account of what it left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import attrs

from nr_llm_tools._denied import NOISE, Denied
from nr_llm_tools._guard import MAX_PARTS, Parts, open_child_folder

FOLDER: Final = "folder"
FILE: Final = "file"
LINK: Final = "link"
OTHER: Final = "other"

Found: TypeAlias = tuple[int, Parts]
"""A descriptor of the folder and the parts of a file in it; the descriptor is open until the next step of the walk."""


@attrs.define(kw_only=True)
class Scan:
    """
    The bounds of one call, and what they cost.

    Attributes:
        most: Directory entries it may look at.
        seconds: Wall time it may take.
        clock: Seconds that only grow.
        check: Raises when the run was cancelled.
        denied: Tells which paths are refused.
        full: Whether `most` was reached: what was listed is still good, nothing more is.
        late: Whether the time is over.
    """

    most: int
    seconds: float
    clock: Callable[[], float]
    check: Callable[[], None]
    denied: Denied
    full: bool = False
    late: bool = False
    _deadline: float = attrs.field(alias="deadline")
    _visited: int = attrs.field(default=0, init=False)
    _deep: int = attrs.field(default=0, init=False)
    _unreadable: int = attrs.field(default=0, init=False)
    _passed_by: set[str] = attrs.field(factory=set, init=False)

    @_deadline.default
    def _from_now(self) -> float:
        return self.clock() + self.seconds

    @property
    def partial(self) -> bool:
        """Whether there may be more than what was found."""
        return self.full or self.late

    def again(self) -> Scan:
        """Return the bounds of one more walk, in the same time."""
        return Scan(
            most=self.most,
            seconds=self.seconds,
            clock=self.clock,
            check=self.check,
            denied=self.denied,
            deadline=self._deadline,
        )

    def on_time(self) -> bool:
        """
        Return whether there is time left.

        Raises:
            RunCancelledError: Nobody waits any more.
        """
        self.check()
        self.late = self.late or self.clock() >= self._deadline
        return not self.late

    def entries(self, folder: int, parts: Parts) -> list[tuple[str, str]]:
        """
        Return name and kind of what may be shown of a folder, sorted by name.

        Raises:
            OSError: The folder cannot be read.
        """
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if not self._room():
                    break
                if not self.denied((*parts, entry.name)):
                    found.append((entry.name, _kind(entry)))
        return sorted(found)

    def _room(self) -> bool:
        self.full = self.full or self._visited >= self.most
        self._visited += 1
        return not self.full and self.on_time()

    def files(self, folder: int, parts: Parts) -> Iterator[Found]:
        """Yield the files in and below a folder, each folder's own files first, by name, until the time is over."""
        try:
            entries = self.entries(folder, parts)
        except OSError:
            self._unreadable += 1
            return
        for name, kind in entries:
            if kind == FILE and self.on_time():
                yield folder, (*parts, name)
        for name, kind in entries:
            if kind == FOLDER and not self.partial:
                yield from self._below(folder, (*parts, name))

    def _below(self, folder: int, parts: Parts) -> Iterator[Found]:
        if parts[-1] in NOISE:
            self._passed_by.add(parts[-1])
            return
        if len(parts) > MAX_PARTS:
            self._deep += 1
            return
        try:
            child = open_child_folder(folder, parts[-1])
        except OSError:  # gone, forbidden, or swapped for a link since it was listed
            self._unreadable += 1
            return
        try:
            yield from self.files(child, parts)
        finally:
            os.close(child)

    def notes(self) -> list[str]:
        """Return a line for each thing that was left out."""
        notes = []
        if self.late:
            notes.append(f"Stopped after {self.seconds:g} seconds; name a folder in `path` to look at less.")
        elif self.full:
            notes.append(f"Stopped after {self.most:,} entries; name a folder in `path` to look at less.")
        if self._deep:
            notes.append(f"Folders more than {MAX_PARTS} levels deep, not entered: {self._deep:,}.")
        if self._unreadable:
            notes.append(f"Folders that could not be read: {self._unreadable:,}.")
        if self._passed_by:
            notes.append(f"Not entered: {', '.join(sorted(self._passed_by))}; name one in `path` to look there.")
        return notes


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return FOLDER
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


def size_of(folder: int, name: str) -> int | None:
    """Return the bytes of a regular file, or None for anything else and for what is gone."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
