"""A file hashed while it is written, and how far a transfer is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from nr_llm_local._progress import Meter, Progress
from nr_llm_local._sink import Sink, digest_of


def test_the_hash_is_of_what_is_in_the_file(tmp_path: Path) -> None:
    """Written now or before, or after a new beginning."""
    path = tmp_path / "file"
    for keep, given, held in ((False, b"abc", b"abc"), (True, b"def", b"abcdef"), (False, b"x", b"x")):
        with Sink(path, keep=keep) as sink:
            sink.write(given)
        assert path.read_bytes() == held
        assert sink.digest == digest_of(path) == hashlib.sha256(held).hexdigest()
        assert sink.count == len(held)


def test_a_new_beginning_empties_the_file(tmp_path: Path) -> None:
    """And the hash."""
    with Sink(tmp_path / "file", keep=True) as sink:
        sink.write(b"abc")
        sink.restart()
        sink.write(b"d")
    assert (tmp_path / "file").read_bytes() == b"d"
    assert sink.digest == hashlib.sha256(b"d").hexdigest()


def test_what_was_written_stays_when_it_fails(tmp_path: Path) -> None:
    """It is a beginning of the file."""
    with pytest.raises(RuntimeError), Sink(tmp_path / "file") as sink:
        sink.write(b"abc")
        raise RuntimeError
    assert (tmp_path / "file").read_bytes() == b"abc"


def test_the_time_left_is_told_by_the_average_speed() -> None:
    """Not of what was here before, not in the first second, and not when nothing moves."""
    told = list[Progress]()
    times = iter([100.0, 100.5, 102.0, 104.0])
    meter = Meter(told.append, source="someone", total=1_000, clock=lambda: next(times))
    for done in (200, 210, 200, 600):
        meter(done)
    assert [progress.seconds_left for progress in told] == [None, None, None, 4.0]
    assert told[-1] == Progress(source="someone", done=600, total=1_000, seconds_left=4.0)
