"""
Opens files and folders below one root folder, and nothing else, however the path is written or the disk changes.

A path is never handed to the system whole.  The root is opened once for a call; from its descriptor each part of the
path is opened by itself, relative to the descriptor before it, refusing symbolic links.  What was opened is what is
used: there is no moment between a check and its use in which another process could swap a folder for a link.

Held by this:

- no ``..``, absolute path, NUL or empty path; no symbolic link at any place, the last part included;
- regular files only: pipes, sockets and devices are neither opened nor waited for;
- names of credentials and histories are refused at every level (`nr_llm_tools._denied`);
- what is missing, forbidden, a link, special or unreadable answers with one and the same sentence.

Not held, because no descriptor can tell: a *hard* link made below the root by someone who may write there and who
can reach the file it names; and a folder of another file system that the operator mounted below the root.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from nr_llm import ToolError

from nr_llm_tools._denied import Denied
from nr_llm_tools._text import cut, visible_name

MAX_PATH: Final = 1_000
"""Characters of a path."""

MAX_PARTS: Final = 64
"""Parts of a path, and levels a search goes down; each level of a search holds one descriptor open."""

Parts: TypeAlias = tuple[str, ...]

_FOLDER: Final = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)
_FILE: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_OURS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO})
"""Errors of this machine, not of the path; they are no secret and must not read as "there is no such file"."""


def guarded() -> bool:
    """Return whether this platform has what the guard is made of."""
    return (
        hasattr(os, "O_NOFOLLOW")
        and hasattr(os, "O_DIRECTORY")
        and {os.open, os.stat} <= os.supports_dir_fd
        and os.stat in os.supports_follow_symlinks
        and os.scandir in os.supports_fd
    )


def parse_path(text: str) -> Parts:
    """
    Return the parts of a relative path; none for the root itself.

    Raises:
        ToolError: The path is empty, absolute, too long, or has a ``..`` or NUL.
    """
    text = text.strip()
    if not text:
        raise ToolError("The path is empty. Use '.' for the root folder.")
    if "\0" in text or len(text) > MAX_PATH:
        raise ToolError(f"A path has no NUL character and at most {MAX_PATH:,} characters.")
    if text.startswith("/"):
        raise ToolError("Paths are relative to the root folder and begin without '/'. Use '.' for the root folder.")
    parts = tuple(part for part in text.split("/") if part not in {"", "."})
    if ".." in parts:
        raise ToolError("A path has no '..': nothing outside the root folder can be read.")
    if len(parts) > MAX_PARTS:
        raise ToolError(f"A path has at most {MAX_PARTS} parts.")
    return parts


def shown(parts: Parts) -> str:
    """Return a path as it is shown, on one line and without anything invisible."""
    return visible_name("/".join(parts)) or "."


class UnavailableError(ToolError):
    """A path cannot be had, for whatever reason."""


def unavailable(parts: Parts, *, lead: str = "list_directory and find_files show what there is.") -> UnavailableError:
    """Return the one answer to every path that cannot be had; `lead` must not depend on the reason."""
    return UnavailableError(f"There is no readable file or folder '{cut(shown(parts), 200)}'. {lead}")


@contextmanager
def open_root(path: Path, *, tool: str) -> Iterator[int]:
    """
    Open the root folder; the link that the operator may have named is followed here and only here.

    Raises:
        ToolError: The platform has no guard, or the folder cannot serve as a root.
    """
    if not guarded():
        raise ToolError(
            f"{tool} does not run on this platform: it has no folder descriptors, so links cannot be kept out."
        )
    remedy = "Tell the user to set `root` in [plugins.tools] to one existing folder."
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ToolError(f"{tool}: the configured root folder cannot be opened. {remedy}") from error
    try:
        if os.path.samestat(os.fstat(fd), os.stat("/")):  # noqa: PTH116 - one notation for all calls here
            raise ToolError(f"{tool}: the root folder is the whole file system, which is too much. {remedy}")
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_folder(root: int, parts: Parts, denied: Denied) -> Iterator[int]:
    """
    Open the folder `parts` below the descriptor `root`.

    Raises:
        ToolError: It cannot be had.
    """
    fd = _descend(root, parts, denied, asked=parts)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_file(root: int, parts: Parts, denied: Denied) -> Iterator[int]:
    """
    Open the regular file `parts` below the descriptor `root`, for reading.

    Raises:
        ToolError: It is a folder, or cannot be had.
    """
    with open_parent(root, parts, denied) as folder, one_answer(parts):
        if stat.S_ISDIR(look_at(folder, parts[-1]).st_mode):
            raise ToolError(f"'{shown(parts)}' is a folder. list_directory shows what is in it.")
        fd = open_child_file(folder, parts[-1])
    try:
        yield fd
    finally:
        os.close(fd)


def is_file(root: int, parts: Parts, denied: Denied) -> bool:
    """
    Return whether `parts` names a regular file that may be read.

    Raises:
        ToolError: There is nothing of that name to be had.
    """
    if not parts:
        return False
    with open_parent(root, parts, denied) as folder, one_answer(parts):
        return stat.S_ISREG(look_at(folder, parts[-1]).st_mode)


def open_child_folder(folder: int, name: str) -> int:
    """
    Return a descriptor of the folder `name`, a single part; the caller closes it.

    Raises:
        OSError: It is a link, no folder, or cannot be had.
    """
    return os.open(name, _FOLDER, dir_fd=folder)


def open_child_file(folder: int, name: str) -> int:
    """
    Return a descriptor of the regular file `name`, a single part; the caller closes it.

    It is looked at before it is opened, since opening a device may already do something, and again afterwards,
    since it may have been swapped in between.

    Raises:
        OSError: It is a link, no regular file, or cannot be had.
    """
    _check_regular(look_at(folder, name))
    fd = os.open(name, _FILE, dir_fd=folder)
    try:
        _check_regular(os.fstat(fd))
    except OSError:
        os.close(fd)
        raise
    return fd


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def look_at(folder: int, name: str) -> os.stat_result:
    """
    Return what there is of that name in a folder, a link as a link.

    Raises:
        OSError: There is nothing, or it cannot be told.
    """
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


@contextmanager
def one_answer(asked: Parts) -> Iterator[None]:
    """
    Turn whatever the system says of a path into the one answer, but not what it says of itself.

    Raises:
        ToolError: The system said something of the path.
        OSError: The system said something of itself.
    """
    try:
        yield
    except (OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno in _OURS:
            raise
        raise unavailable(asked) from None


@contextmanager
def open_parent(root: int, parts: Parts, denied: Denied) -> Iterator[int]:
    """
    Open the folder that `parts`, a file or folder that need not exist, is in.

    Raises:
        ToolError: `parts` is the root folder or refused, or the folder cannot be had.
    """
    if not parts:
        raise ToolError("The path names the root folder. list_directory shows what is in it.")
    if denied(parts):
        raise unavailable(parts)
    fd = _descend(root, parts[:-1], denied, asked=parts)
    try:
        yield fd
    finally:
        os.close(fd)


def _descend(root: int, parts: Parts, denied: Denied, *, asked: Parts) -> int:
    fd = os.dup(root)
    for depth, name in enumerate(parts, 1):
        parent = fd
        try:
            if denied(parts[:depth]):
                raise unavailable(asked)
            with one_answer(asked):
                fd = open_child_folder(parent, name)
        finally:
            os.close(parent)
    return fd
