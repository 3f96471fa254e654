"""The inference library uses instructions that old processors lack; a clear word comes before the crash."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Final

from nr_llm_local._errors import LocalModelError

NEEDED: Final = frozenset({"avx2", "fma", "f16c"})
"""What the library's x86-64 wheels are compiled for."""

_CPUINFO: Final = Path("/proc/cpuinfo")


def check_cpu(*, machine: str | None = None, cpuinfo: Path = _CPUINFO) -> None:
    """
    Make sure that the model can run on this processor, as far as the system tells.

    Args:
        machine: The kind of machine; this one's unless given.
        cpuinfo: The file in which Linux lists what processors can do.

    Raises:
        LocalModelError: It cannot.
    """
    if sys.platform != "linux" or (machine or platform.machine()).lower() not in {"x86_64", "amd64"}:
        return
    flags = _flags(cpuinfo)
    lacking = sorted(NEEDED - flags)
    if flags and lacking:
        raise LocalModelError(f"This processor lacks {', '.join(lacking)}, which the embedded model needs.")


def _flags(cpuinfo: Path) -> frozenset[str]:
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "flags":
            return frozenset(value.split())
    return frozenset()
