"""A process that is killed while it writes leaves the file as it was, or as it shall be, and never half of it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from nr_llm_tools import _rename

from tests.plugins.tools import killing

ways = pytest.mark.parametrize("way", ["step", "names"])


def kills(call: str, way: str, folder: Path) -> list[dict[str, Any]]:
    """Return what each kill left, and last what a call leaves that comes to its end."""
    if way == "step" and _rename.find_step() is None:
        pytest.skip("this system has no such step")
    command = [sys.executable, killing.__file__, call, way, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@ways
def test_a_new_file_is_whole_or_not_there(tmp_path: Path, way: str) -> None:
    """Killed before each step; there are kills on both sides of the moment at which it is there."""
    *left, end = kills("create", way, tmp_path)

    assert {one["files"].get("new.txt", "none") for one in left} == {"none", "new"}
    assert {one["files"]["a.txt"] for one in left} == {"old"}
    assert {one["drafts"] for one in left} == {0, 1}
    assert (end["files"], end["drafts"]) == ({"a.txt": "old", "new.txt": "new"}, 0)


@ways
def test_an_old_file_says_one_or_the_other(tmp_path: Path, way: str) -> None:
    """Killed before each step, it is all old or all new, and its permissions are as they were."""
    *left, end = kills("replace", way, tmp_path)

    assert {one["files"]["a.txt"] for one in left} == {"old", "new"}
    assert all(one["files"].keys() == {"a.txt"} and one["modes"] == {"a.txt": 0o640} for one in left)
    assert {one["drafts"] for one in left} == {0, 1}
    assert (end["files"], end["modes"], end["drafts"]) == ({"a.txt": "new"}, {"a.txt": 0o640}, 0)


@ways
def test_a_file_that_is_moved_is_never_lost(tmp_path: Path, way: str) -> None:
    """Killed before each step it has one of its names; or both, where the system cannot do better."""
    *left, end = kills("move", way, tmp_path)

    names = {tuple(sorted(one["files"])) for one in left}
    assert {("a.txt",), ("deep/a.txt",)} <= names
    assert names <= {("a.txt",), ("deep/a.txt",), *([("a.txt", "deep/a.txt")] if way == "names" else [])}
    assert {text for one in left for text in one["files"].values()} == {"old"}
    assert end["files"] == {"deep/a.txt": "old"}


WRITER = """
import sys
from pathlib import Path
from nr_llm import ToolContext
from nr_llm_tools import ToolsSettings, WriteTools
tools = WriteTools(ToolsSettings(root=Path(sys.argv[1]), write=(".",)))
for turn in range(10**9):
    for text in sys.argv[2:]:
        tools.write_file(ToolContext(), "a.txt", text * 100_000, overwrite=True)
    if turn == 0:
        print("begun", flush=True)
"""


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    """From outside, also within a step of the system."""
    path = tmp_path / "a.txt"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), "a", "b"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(random.Random(seed).uniform(0, 0.1))  # wherever it is by then
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)

    assert path.read_text() in ("a" * 100_000, "b" * 100_000)
