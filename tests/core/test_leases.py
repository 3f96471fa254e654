"""Leases and fences, with the store in memory, and the names that segments have."""

from __future__ import annotations

from pathlib import Path

import pytest
from nr_llm import InvalidValueError, Runtime
from nr_llm._segments import MACHINE_CHARACTERS, machine, numbered_by, process_of, segment_name

from tests.core.lease_cases import LeaseCases
from tests.core.run_cases import face

__all__ = ["TestMemory", "face"]


class TestMemory(LeaseCases):
    """Kept in memory."""


def told_by(folder: Path, boot: str) -> str:
    """Return who numbers processes, where a system tells of a start of its kernel."""
    (folder / "sys/kernel/random").mkdir(parents=True, exist_ok=True)
    (folder / "sys/kernel/random/boot_id").write_text(f"{boot}\n")
    (folder / "self/ns").mkdir(parents=True, exist_ok=True)
    (folder / "self/ns/pid").touch()
    return numbered_by(folder)


def test_machines_of_one_name(tmp_path: Path) -> None:
    """Two starts of a kernel, and two containers on one, number processes each for itself."""
    one, two = told_by(tmp_path / "a", "b00t"), told_by(tmp_path / "b", "b00t")
    again = told_by(tmp_path / "a", "another")

    assert len({one, two, again}) == 3
    assert one.startswith("b00t:")
    assert one == told_by(tmp_path / "a", "b00t")


@pytest.mark.parametrize("told", [True, False])
def test_a_segments_name(told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is short enough, however long the machine's; one of another machine says nothing of processes here."""
    import os

    monkeypatch.setattr("socket.gethostname", lambda: "a" * 60)
    monkeypatch.setattr("nr_llm._segments.numbered_by", lambda proc: told_by(tmp_path, "x") if told else "")
    machine.cache_clear()
    try:
        name = segment_name()
        assert len(machine()) == MACHINE_CHARACTERS
        assert len(name) < 64
        assert process_of(name) == os.getpid()
        assert [process_of(other) for other in (None, "", f"b{name[1:]}", "a:b:c")] == [None] * 4
    finally:
        machine.cache_clear()


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    """Nothing is invented."""
    assert numbered_by(tmp_path) == ""


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), True, "900", 1e9])
def test_a_lease_that_is_none(seconds: object) -> None:
    """It is refused by name."""
    with pytest.raises(InvalidValueError, match="lease_seconds"):
        Runtime(lease_seconds=seconds)  # type: ignore[arg-type]
