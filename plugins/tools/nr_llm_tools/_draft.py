"""Puts a whole file in its place or leaves the place as it was: written beside it, made durable, then renamed."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress

from nr_llm import ToolError

from nr_llm_tools._denied import DRAFT
from nr_llm_tools._rename import rename_new, swap

_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class ChangedError(ToolError):
    """A file is no longer the one that was looked at."""


def put(
    folder: int, name: str, data: bytes, *, over: os.stat_result | None, before_it_counts: Callable[[], None]
) -> None:
    """
    Have a file hold `data` and nothing else, or leave everything as it is.

    Args:
        folder: Descriptor of its folder.
        name: Its name in there.
        data: Its content.
        over: The file it replaces, as it was looked at; None if there must be none.
        before_it_counts: Called when all is written and nothing has changed yet; may raise.

    Raises:
        FileExistsError: There is a file, and there must be none.
        ChangedError: The file is not the one of `over` any more.
        OSError: It cannot be written.
    """
    draft = f"{DRAFT}{secrets.token_hex(8)}"
    fd = os.open(draft, _DRAFT, 0o666 if over is None else 0o600, dir_fd=folder)
    try:
        try:
            _write(fd, data)
            if over is not None:
                _belong(fd, over)
            os.fsync(fd)
        finally:
            os.close(fd)
        before_it_counts()
        if over is None:
            rename_new(draft, name, here=folder, there=folder)
        else:
            _replace(folder, draft, name, over=over)
    except BaseException:
        _forget(folder, draft)
        raise
    sync(folder)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _belong(fd: int, over: os.stat_result) -> None:
    """Give a draft owner, group and permissions of the file it replaces; of those, no right to act as its owner."""
    if _own(fd) != (over.st_uid, over.st_gid):
        os.fchown(fd, over.st_uid, over.st_gid)
    os.fchmod(fd, stat.S_IMODE(over.st_mode) & 0o777)


def _own(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_uid, status.st_gid


def _replace(folder: int, draft: str, name: str, *, over: os.stat_result) -> None:
    """
    Put a draft in place of a file, if that is still the one that was looked at.

    The two are exchanged, and what was there is looked at once more before it goes: so nothing that somebody wrote in
    the last moment is lost.  Where the system cannot exchange, the last look comes before the renaming.
    """
    try:
        exchanged = _same(folder, name, over=over) and swap(draft, name, folder=folder)
        if not exchanged:
            if not _same(folder, name, over=over):
                raise ChangedError(_CHANGED)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        elif _same(folder, draft, over=over):
            _forget(folder, draft)
        else:
            _give_back(folder, draft, name)
            raise ChangedError(_CHANGED)
    except FileNotFoundError:
        raise ChangedError(_CHANGED) from None


def _give_back(folder: int, draft: str, name: str) -> None:
    """Put back what somebody else had put there; if the place is free again by now, all the simpler."""
    try:
        swap(draft, name, folder=folder)
    except FileNotFoundError:
        rename_new(draft, name, here=folder, there=folder)


_CHANGED = "The file was changed by somebody else just now; nothing was written. Read it again."


def _same(folder: int, name: str, *, over: os.stat_result) -> bool:
    now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return (now.st_dev, now.st_ino, now.st_mode, now.st_size, now.st_mtime_ns) == (
        over.st_dev,
        over.st_ino,
        over.st_mode,
        over.st_size,
        over.st_mtime_ns,
    )


def _forget(folder: int, draft: str) -> None:
    with suppress(OSError):
        os.unlink(draft, dir_fd=folder)


def sync(folder: int) -> None:
    """Make a folder's names durable, where its file system can."""
    with suppress(OSError):
        os.fsync(folder)
