"""Pulling a model: what is said first, who is asked, what is left behind when it fails."""

from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import pytest
from nr_llm_local import _pull
from nr_llm_local._cache import Shelf, locate
from nr_llm_local._cpu import check_cpu
from nr_llm_local._errors import LocalModelError, NoSpaceError, NotFetchedError, UnreachableWeightsError
from nr_llm_local._fetch_official import fetch_official
from nr_llm_local._fetch_parts import fetch_parts
from nr_llm_local._pull import SOURCES, Source, plan_of, pull
from nr_llm_local.catalogue import WEIGHTS, find

from tests.plugins.local.small_weights import DATA, Wanted, copying, failing, giving

DONE = ["tiny.gguf", "tiny.gguf.NOTICE.txt", "tiny.gguf.lock", "tiny.gguf.verified.json"]
"""The files of a model that was pulled."""


def files(shelf: Shelf) -> list[str]:
    """Return the names of what is in the cache."""
    return sorted(path.name for path in shelf.folder.iterdir())


def unreachable(*sources: Source) -> UnreachableWeightsError:
    """Return the error of a pull that no source helps."""
    with pytest.raises(UnreachableWeightsError) as caught:
        pull("tiny", sources=sources)
    return caught.value


def test_a_plan_says_what_would_be_done(shelf: Shelf) -> None:
    """Sizes and the place, before anything is; an earlier beginning is counted."""
    shelf.partial.write_bytes(DATA[:4_000])
    plan = plan_of("tiny")
    assert (plan.here, plan.own, plan.path, plan.weights) == (False, False, shelf.file, shelf.weights)
    assert (plan.resumed, plan.needed) == (4_000, len(DATA) + 15_000)
    assert plan.free == pytest.approx(shutil.disk_usage(shelf.folder).free, rel=0.5)
    assert files(shelf) == ["tiny.gguf.part"]


def test_a_plan_makes_no_folder(home: Path) -> None:
    """Space is looked up where the folder will be."""
    assert plan_of().weights is find("")
    assert not home.exists()


def test_a_file_of_ones_own_is_used_as_it_is(shelf: Shelf, tmp_path: Path) -> None:
    """Nobody is asked for anything."""
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF" + bytes(1_000_000))
    plans = list[Any]()
    assert pull("tiny", own=own, announce=plans.append, sources=[failing(AssertionError())]) == own
    assert [(plan.own, plan.here, plan.needed) for plan in plans] == [(True, True, 0)]


def test_the_first_source_that_has_it_is_taken(shelf: Shelf) -> None:
    """Those before it say why not; those behind it are not asked; the file is moved in whole."""
    notes, told = list[str](), list[Any]()
    sources = [failing("not today", "one"), giving(DATA, "two"), failing(AssertionError(), "three")]
    assert pull("tiny", note=notes.append, progress=told.append, sources=sources) == shelf.file
    assert notes[:3] == ["Fetching from one.", "Not from one: not today.", "Fetching from two."]
    assert shelf.file.read_bytes() == DATA
    assert files(shelf) == DONE
    assert [progress.done for progress in told] == [0, len(DATA)]
    assert locate("tiny") == shelf.file


def test_what_is_here_is_not_fetched(shelf: Shelf) -> None:
    """A second pull asks nobody."""
    pull("tiny", sources=[giving(DATA)])
    assert pull("tiny", sources=[failing(AssertionError())]) == shelf.file


def test_a_wrong_file_in_the_cache_is_replaced(shelf: Shelf) -> None:
    """Whatever has happened to it."""
    shelf.file.write_bytes(DATA[::-1])
    pull("tiny", sources=[giving(DATA)])
    assert shelf.file.read_bytes() == DATA


def test_a_source_with_another_file_is_passed_over(shelf: Shelf) -> None:
    """Its hash and the right one are said, and nothing of it stays."""
    error = unreachable(giving(DATA[::-1], "mirror"))
    assert "mirror gave a file with SHA-256" in str(error)
    assert shelf.weights.sha256 in error.reasons["mirror"]
    assert files(shelf) == ["tiny.gguf.lock"]


def test_no_source_left_lists_the_reason_of_each_and_the_other_ways(shelf: Shelf) -> None:
    """Own file, key, server."""
    full = OSError(errno.ENOSPC, "No space left on device")
    shelf.partial.touch()
    error = unreachable(failing("offline.", "one"), failing(full, "two"))
    assert files(shelf) == ["tiny.gguf.lock"]
    assert error.reasons == {"one": "offline.", "two": "[Errno 28] No space left on device"}
    assert "local:tiny could not be fetched. one: offline; two: [Errno 28] No space left on device." in str(error)
    for way in ("NR_LLM_LOCAL_MODEL", "-m PROVIDER:MODEL", "NR_LLM_OPENAI_BASE_URL"):
        assert way in error.remedy


def test_a_source_that_takes_too_much_room_is_passed_over(shelf: Shelf) -> None:
    """Another may take less."""
    huge = giving(DATA, "huge", room=1 << 60)
    notes = list[str]()
    assert pull("tiny", note=notes.append, sources=[huge, giving(DATA)]) == shelf.file
    assert notes[1].startswith(f"Not from huge: needs {1 << 60:,} bytes of disk, of which ")


def test_no_room_for_any_is_said_before_anything_is_fetched(shelf: Shelf) -> None:
    """With both numbers and the variable that names another disk."""
    with pytest.raises(NoSpaceError, match="Fetching local:tiny takes") as caught:
        pull("tiny", sources=[giving(DATA, room=1 << 60), giving(DATA, room=1 << 61)])
    assert caught.value.needed == 1 << 60 > caught.value.free > 0
    assert "NR_LLM_HOME" in caught.value.remedy
    assert "NR_LLM_LOCAL_MODEL" in caught.value.remedy


def test_a_disk_that_cannot_be_looked_at_is_an_error(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not an unexpected one."""

    def fail(_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(shutil, "disk_usage", fail)
    with pytest.raises(LocalModelError, match="cannot be looked at: Permission denied"):
        pull("tiny", sources=[giving(DATA)])


def test_ctrl_c_leaves_nothing_of_a_joined_file(shelf: Shelf) -> None:
    """And no stamp."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull("tiny", sources=[giving(DATA, before=interrupt)])
    assert files(shelf) == ["tiny.gguf.lock"]


def test_ctrl_c_keeps_what_has_come_of_the_official_file(shelf: Shelf, served: Wanted) -> None:
    """The next pull asks for the rest alone."""
    served.moods = ["cut"]
    move(shelf, served.url)

    def interrupt(progress: Any) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull("tiny", progress=interrupt, sources=SOURCES[:1])
    here = len(shelf.partial.read_bytes())
    assert 0 < here <= 4_000
    assert files(shelf) == ["tiny.gguf.lock", "tiny.gguf.part"]
    pull("tiny", sources=SOURCES[:1])
    assert served.ranges == [None, f"bytes={here}-"]
    assert files(shelf) == DONE


def move(shelf: Shelf, url: str) -> None:
    """Let the catalogue have the small model's official file somewhere."""
    WEIGHTS["tiny"] = attrs.evolve(shelf.weights, url=url)  # the fixture takes it out again


def test_a_wrong_official_file_is_thrown_away_and_the_parts_are_taken(
    shelf: Shelf, index: Path, served: Wanted
) -> None:
    """Nothing of it stays to be resumed."""
    shelf.partial.write_bytes(b"x" * 3_000)
    move(shelf, served.url)
    parts = attrs.evolve(SOURCES[1], fetch=lambda shelf, at: fetch_parts(shelf, at, download=copying(index)))
    notes = list[str]()
    assert pull("tiny", note=notes.append, sources=[SOURCES[0], parts]) == shelf.file
    assert f"{served.url} gave a file with SHA-256" in notes[1]
    assert shelf.file.read_bytes() == DATA
    assert files(shelf) == DONE


def test_a_beginning_of_the_official_file_is_removed_when_the_parts_did_it(shelf: Shelf) -> None:
    """It would only take room."""
    shelf.partial.write_bytes(DATA[:100])
    pull("tiny", sources=[failing("offline"), giving(DATA)])
    assert files(shelf) == DONE


def test_the_official_file_is_asked_for_before_the_parts() -> None:
    """Its publisher has the better right to be asked; with what is here it takes less room."""
    assert [source.fetch for source in SOURCES] == [fetch_official, fetch_parts]


def test_two_pulls_at_once_fetch_once(shelf: Shelf) -> None:
    """The second waits, says so, and finds what the first has fetched."""
    waits = threading.Event()
    results, notes = list[Path](), list[str]()

    def note(text: str) -> None:
        notes.append(text)
        waits.set()

    second = threading.Thread(
        target=lambda: results.append(pull("tiny", note=note, sources=[failing(AssertionError())]))
    )

    def start_second() -> None:
        second.start()
        assert waits.wait(30)

    results.append(pull("tiny", sources=[giving(DATA, before=start_second)]))
    second.join()
    assert results == [shelf.file] * 2
    assert notes == ["Another process is fetching it; waiting for that."]


def test_a_processor_that_cannot_run_it_is_told_before_a_gigabyte_is_fetched(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is asked for."""

    def old() -> None:
        raise LocalModelError("This processor lacks avx2.")

    monkeypatch.setattr(_pull, "check_cpu", old)
    with pytest.raises(LocalModelError, match="lacks avx2"):
        pull("tiny", sources=[failing(AssertionError())])
    assert files(shelf) == []


class Cpu(NamedTuple):
    """A processor as Linux describes it."""

    machine: str
    text: str


MODERN = "processor\t: 0\nflags\t\t: fpu sse2 avx avx2 fma f16c\n"


@pytest.mark.parametrize(
    ("cpu", "lacking"),
    [
        (Cpu("x86_64", MODERN), ()),
        (Cpu("AMD64", MODERN.replace("avx2 ", "")), ("avx2",)),
        (Cpu("x86_64", "model: old\nflags: fpu sse2"), ("avx2", "f16c", "fma")),
        (Cpu("x86_64", "processor: 0\n"), ()),
        (Cpu("aarch64", "Features: fp asimd"), ()),
    ],
)
def test_what_a_processor_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: Cpu, lacking: Sequence[str]
) -> None:
    """Only what Linux says of an x86-64 processor is judged."""
    monkeypatch.setattr("sys.platform", "linux")
    path = tmp_path / "cpuinfo"
    path.write_text(cpu.text, encoding="utf-8")
    if not lacking:
        check_cpu(machine=cpu.machine, cpuinfo=path)
        return
    with pytest.raises(LocalModelError, match=f"lacks {', '.join(lacking)}, which") as caught:
        check_cpu(machine=cpu.machine, cpuinfo=path)
    assert "NR_LLM_LOCAL_MODEL" in caught.value.remedy


def test_a_system_that_tells_nothing_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file, or no such system."""
    check_cpu(machine="x86_64", cpuinfo=tmp_path / "missing")
    monkeypatch.setattr("sys.platform", "darwin")
    check_cpu(machine="x86_64", cpuinfo=tmp_path)


def test_weights_that_are_not_here_name_the_command(home: Path) -> None:
    """What a provider raises when there is no file."""
    error = NotFetchedError("tiny", where=str(home))
    assert f"local:tiny are not in {home}" in str(error)
    assert error.remedy.startswith("Fetch them by `nr-llm models pull tiny` or with --pull.")
    assert error.name == "tiny"
