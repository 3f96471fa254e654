"""The cache: where files are, when a file counts as verified, one's own file, and the lock."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import platformdirs
import pytest
from nr_llm.errors import UnknownNameError
from nr_llm_local import _cache
from nr_llm_local._cache import Shelf, alone, cache_folder, locate, settle, verified
from nr_llm_local._errors import LocalModelError

from tests.plugins.local.small_weights import DATA


def test_home_holds_the_cache(home: Path) -> None:
    """``NR_LLM_HOME`` moves everything."""
    assert cache_folder() == home / "cache" / "models"


def test_without_a_home_the_cache_is_where_the_system_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the platform's conventions."""
    monkeypatch.delenv("NR_LLM_HOME", raising=False)
    assert cache_folder() == Path(platformdirs.user_cache_dir("nr-llm")) / "models"


def test_what_is_not_there_is_not_located(shelf: Shelf) -> None:
    """And nothing is written."""
    assert locate("tiny") is None
    assert not list(shelf.folder.iterdir())


def test_a_whole_file_is_located_and_remembered(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is hashed once; after that its size and time vouch for it."""
    shelf.file.write_bytes(DATA)
    hashed = list[Path]()
    digest = _cache.digest_of
    monkeypatch.setattr(_cache, "digest_of", lambda path: hashed.append(path) or digest(path))
    assert [locate("tiny"), locate("tiny")] == [shelf.file] * 2
    assert hashed == [shelf.file]


def test_a_changed_file_is_hashed_again_and_refused(shelf: Shelf) -> None:
    """Same size, other bytes: the stamp does not vouch for what was written later."""
    shelf.file.write_bytes(DATA)
    assert verified(shelf)
    shelf.file.write_bytes(DATA[::-1])
    os.utime(shelf.file, ns=(1, 1))
    assert locate("tiny") is None


@pytest.mark.parametrize("stamp", ["", "{", "[]", '{"size": 1}', "\ufffd"])
def test_a_broken_stamp_costs_a_hash(shelf: Shelf, stamp: str) -> None:
    """And is written anew."""
    shelf.file.write_bytes(DATA)
    shelf.stamp.write_text(stamp, encoding="utf-8")
    assert verified(shelf)
    assert '"sha256"' in shelf.stamp.read_text(encoding="utf-8")


def test_a_file_of_another_size_is_not_even_hashed(shelf: Shelf) -> None:
    """It cannot be the right one."""
    shelf.file.write_bytes(DATA[:-1])
    assert not verified(shelf)
    assert not shelf.stamp.exists()


def test_a_file_that_cannot_be_read_is_an_error(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names it; fetching it again would not help."""

    def fail(_: Path) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    shelf.file.write_bytes(DATA)
    monkeypatch.setattr(_cache, "digest_of", fail)
    with pytest.raises(LocalModelError, match=r"tiny\.gguf cannot be read: Permission denied"):
        locate("tiny")


def test_a_cache_that_cannot_be_written_still_serves(shelf: Shelf) -> None:
    """The stamp is only a saving."""
    shelf.file.write_bytes(DATA)
    shelf.stamp.mkdir()
    assert locate("tiny") == shelf.file


def test_settling_moves_the_file_and_says_whose_it_is(shelf: Shelf) -> None:
    """Beside it stand the notice and the stamp, and nothing else."""
    shelf.joining.write_bytes(DATA)
    assert settle(shelf, shelf.joining) == shelf.file
    assert sorted(path.name for path in shelf.folder.iterdir()) == [
        "tiny.gguf",
        "tiny.gguf.NOTICE.txt",
        "tiny.gguf.verified.json",
    ]
    notice = shelf.notice.read_text(encoding="utf-8")
    assert "Tiny by nobody" in notice
    assert "Apache-2.0, https://example.org/licence" in notice
    assert shelf.weights.sha256 in notice


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a file that looks like weights."""
    path = tmp_path / "own.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF")
        file.truncate(2_000_000)
    return path


def test_a_file_of_ones_own_comes_first(shelf: Shelf, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the cache, under any name of a model, named by the variable or given."""
    shelf.file.write_bytes(DATA)
    assert locate("anything", own=own) == own
    monkeypatch.setenv("NR_LLM_LOCAL_MODEL", str(own))
    assert locate("tiny") == own


def test_without_one_the_name_has_to_exist(home: Path) -> None:
    """As everywhere."""
    with pytest.raises(UnknownNameError):
        locate("anything")


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "cannot be read: No such file"), (b"GGUF", "is no GGUF file"), (b"<html>" * 200_000, "is no GGUF file")],
)
def test_what_cannot_be_ones_own_model_is_refused(home: Path, tmp_path: Path, content: bytes | None, why: str) -> None:
    """With the file, the variable and the other ways in the message."""
    path = tmp_path / "own.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LocalModelError, match=why) as caught:
        locate("tiny", own=path)
    assert str(path) in str(caught.value)
    assert "Correct NR_LLM_LOCAL_MODEL" in caught.value.remedy
    assert "NR_LLM_OPENAI_BASE_URL" in caught.value.remedy


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_variable(home: Path) -> None:
    """``NR_LLM_HOME`` may name another."""
    home.write_text("a file where the folder should be", encoding="utf-8")
    from nr_llm_local._cache import shelf_of
    from nr_llm_local.catalogue import find

    with pytest.raises(LocalModelError, match="cannot be written") as caught, alone(shelf_of(find("")), waiting=list):
        pytest.fail("it was let in")
    assert "NR_LLM_HOME" in caught.value.remedy


def test_a_second_one_waits_for_the_first(shelf: Shelf) -> None:
    """It is told so, and goes on when the first is done."""
    order, waits = list[str](), threading.Event()

    def second() -> None:
        with alone(shelf, waiting=lambda: (order.append("waits"), waits.set())):
            order.append("second")

    thread = threading.Thread(target=second)
    with alone(shelf, waiting=lambda: order.append("never")):
        thread.start()
        assert waits.wait(30)
        order.append("first")
    thread.join()
    assert order == ["waits", "first", "second"]


def test_the_lock_of_a_process_that_died_is_free(shelf: Shelf) -> None:
    """Its file stays, its lock does not."""
    died = "import sys, os, fcntl; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", died, str(shelf.lock)], check=False).returncode == 9
    assert shelf.lock.exists()
    with alone(shelf, waiting=lambda: pytest.fail("waited for the dead")):
        pass


def test_a_lock_that_fails_otherwise_is_not_taken_for_waiting(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks is named."""
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(LocalModelError, match="cannot be locked: No locks available"),
        alone(shelf, waiting=lambda: pytest.fail("waited")),
    ):
        pytest.fail("it was let in")
