"""A process that is killed while it writes leaves the file as it was, or as it shall be, and never half of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

OLD, NEW = "old line\n" * 40_000, "the new line\n" * 40_000
"""Large enough that writing takes several calls of the system."""

WRITER = """
import sys
from pathlib import Path
from nr_llm import ToolContext
from nr_llm_tools import ToolsSettings, WriteTools, _rename
if sys.argv[2] == "names":
    _rename.find_step = lambda: None
tools = WriteTools(ToolsSettings(root=Path(sys.argv[1]), write=("files",)))
texts = ["old line\\n" * 40_000, "the new line\\n" * 40_000]
print("begun", flush=True)
while True:
    for text in reversed(texts):
        tools.write_file(ToolContext(), "files/a.txt", text, overwrite=True)
        tools.write_file(ToolContext(), "files/b.txt", text, overwrite=True)
        (Path(sys.argv[1]) / "files" / "b.txt").unlink()
"""

MOVER = """
import sys
from pathlib import Path
from nr_llm import ToolContext
from nr_llm_tools import ToolsSettings, WriteTools, _rename
if sys.argv[2] == "names":
    _rename.find_step = lambda: None
tools = WriteTools(ToolsSettings(root=Path(sys.argv[1]), write=("files",)))
print("begun", flush=True)
while True:
    tools.move_file(ToolContext(), "files/a.txt", "files/deep/a.txt")
    tools.move_file(ToolContext(), "files/deep/a.txt", "files/a.txt")
"""


def killed(program: str, root: Path, *, way: str, after: float) -> None:
    """Run a program that works on a folder, and kill it some time after it has begun."""
    command = [sys.executable, "-c", program, str(root), way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(after)  # wherever it is by then
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("way", ["step", "names"])
def test_a_killed_writer(tmp_path: Path, seed: int, way: str) -> None:
    """The file says one thing or the other, its permissions as they were; a new file is whole or not there."""
    folder = tmp_path / "files"
    folder.mkdir()
    path, new = folder / "a.txt", folder / "b.txt"
    path.write_text(OLD)
    path.chmod(0o640)
    killed(WRITER, tmp_path, way=way, after=random.Random(seed).uniform(0, 0.1))

    assert path.read_text() in (OLD, NEW)
    assert path.stat().st_mode & 0o777 == 0o640
    assert not new.exists() or new.read_text() in (OLD, NEW)
    drafts = [one for one in folder.iterdir() if one not in (path, new)]
    assert len(drafts) <= 1
    assert all(one.name.startswith(".nr-llm-draft-") for one in drafts)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["step", "names"])
def test_a_killed_mover(tmp_path: Path, seed: int, way: str) -> None:
    """The file has one of its two names, or for a moment both where the system cannot do better; never none."""
    (tmp_path / "files" / "deep").mkdir(parents=True)
    (tmp_path / "files" / "a.txt").write_text(OLD)
    killed(MOVER, tmp_path, way=way, after=random.Random(seed).uniform(0, 0.05))

    found = [path.read_text() for path in (tmp_path / "files").rglob("*.txt")]
    assert set(found) == {OLD}
    assert len(found) <= (2 if way == "names" else 1)
