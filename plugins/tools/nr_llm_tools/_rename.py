"""Renames a file over nothing, or two files for each other, in one step of the system where it has such steps."""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable
from typing import Final

import attrs

_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
"""What says that a system, its file system or its filter of calls does not know the step, or may say so."""


@attrs.frozen
class Step:
    """The system's call that renames with a flag, and its flags (Linux' `renameat2`, macOS' `renameatx_np`)."""

    call: Callable[[int, bytes, int, bytes, int], int]
    new: int
    swap: int


def rename_new(source: str, destination: str, *, here: int, there: int) -> None:
    """
    Rename an entry of a folder to one that must not exist.

    Where the system has no such step the entry gets its second name first and loses its first one then; a process that
    is killed in between leaves both.

    Args:
        source: The entry.
        destination: Its name to be.
        here: Descriptor of the folder it is in.
        there: Descriptor of the folder it shall be in.

    Raises:
        FileExistsError: There is something of that name, whatever it is.
        OSError: It cannot be renamed.
    """
    step = find_step()
    if step is not None and _renamed(step, source, destination, here=here, there=there, flag=step.new):
        return
    os.link(source, destination, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)
    if os.path.samestat(_lstat(source, here), _lstat(destination, there)):  # else somebody has put another one there
        os.unlink(source, dir_fd=here)


def swap(one: str, other: str, *, folder: int) -> bool:
    """
    Exchange two entries of a folder; return whether the system can.

    Raises:
        OSError: One of them is gone, or they cannot be renamed.
    """
    step = find_step()
    return step is not None and _renamed(step, one, other, here=folder, there=folder, flag=step.swap)


def _renamed(step: Step, source: str, destination: str, *, here: int, there: int, flag: int) -> bool:
    import ctypes

    if step.call(here, os.fsencode(source), there, os.fsencode(destination), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


@functools.cache
def find_step() -> Step | None:
    """Return the system's call, or None where it has none."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    for name, new, swapping in (("renameat2", 1, 2), ("renameatx_np", 4, 2)):
        call = getattr(library, name, None)
        if call is not None:
            number, text = ctypes.c_int, ctypes.c_char_p
            call.argtypes = (number, text, number, text, ctypes.c_uint)
            return Step(call, new, swapping)
    return None


def _lstat(name: str, folder: int) -> os.stat_result:
    return os.stat(name, dir_fd=folder, follow_symlinks=False)
