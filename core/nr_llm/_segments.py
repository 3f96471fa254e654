"""Who holds a stored run: each segment's name tells, where its process ran, whether that process is still there."""

from __future__ import annotations

import functools
import os
import uuid
from pathlib import Path
from typing import Final

MACHINE_CHARACTERS: Final = 32
"""Of a machine's name so many are in a segment's, which stays below 64 (the reference system's figure)."""

_NUMBERING_CHARACTERS: Final = 8


def segment_name() -> str:
    """Return a name for one segment of a run: machine, process and a part of its own."""
    return f"{machine()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def process_of(owner: str | None) -> int | None:
    """Return the process of a segment, if it was one of this machine."""
    parts = (owner or "").rsplit(":", 2)
    return int(parts[1]) if len(parts) == 3 and parts[0] == machine() and parts[1].isdecimal() else None


def process_is_there(pid: int) -> bool:
    """Say whether there is a process of this number, whoever's it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # it is somebody else's, or cannot be known
    return True


@functools.cache
def machine() -> str:
    """
    Return a short name of this machine: of all that count processes as this one does, and of nobody else.

    Many machines have one name (``localhost``), and so have a machine and its containers, which number processes each
    for itself. Where the system tells, the name says therefore which start of which kernel, and whose numbers.
    """
    import hashlib  # most runs are not kept
    import socket

    name, numbering = socket.gethostname(), numbered_by(Path("/proc"))
    if not numbering:
        return name[:MACHINE_CHARACTERS]
    digest = hashlib.sha256(numbering.encode()).hexdigest()[:_NUMBERING_CHARACTERS]
    return f"{name[: MACHINE_CHARACTERS - _NUMBERING_CHARACTERS - 1]}-{digest}"


def numbered_by(proc: Path) -> str:
    """
    Return who numbers the processes: the start of the kernel and its namespace; empty where that is not told.

    Args:
        proc: Where Linux tells such things.
    """
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot}:{(proc / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return ""
