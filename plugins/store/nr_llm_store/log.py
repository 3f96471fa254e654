"""Appends what happens in runs to a file, a line of JSON for each step: a record that any tool can read at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import attrs
from nr_llm import RunEnd, RunInfo, StepRecord
from nr_llm.codecs.json import JSON, encode_bytes


@attrs.frozen(eq=False)
class RunLog:
    """
    Makes observers that append to one file; several processes may.

    Each line is one JSON object with ``run_id``, ``at`` (seconds since 1970) and either the step, as the run's privacy
    level leaves it, or ``end``: why the run ended and what it used.

    Args:
        path: The file; it and its folder are made when the first line is written, for their owner alone.
        clock: Seconds since 1970.
    """

    path: Path
    clock: Callable[[], float] = time.time
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __call__(self, info: RunInfo) -> RunLogger:
        """Return the observer of one run."""
        return RunLogger(self, info.run_id)

    def write(self, run_id: str, fields: dict[str, JSON]) -> None:
        """
        Append a line, whole, in one write.

        Raises:
            OSError: The file cannot be written.
        """
        line = encode_bytes({"run_id": run_id, "at": self.clock(), **fields}) + b"\n"
        with self._lock, self._opened() as file:
            file.write(line)

    def _opened(self) -> IO[bytes]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return os.fdopen(fd, "wb", buffering=0)


@attrs.frozen(eq=False)
class RunLogger:
    """Appends the steps of one run."""

    log: RunLog
    run_id: str

    def step(self, step: StepRecord) -> None:
        """Append a step."""
        self.log.write(self.run_id, step.to_dict())

    def close(self, end: RunEnd) -> None:
        """Append how the run ended."""
        used = {"reason": None if end.reason is None else str(end.reason), **end.totals.to_dict()}
        self.log.write(self.run_id, {"end": used})
