"""
A program that kills a writing tool before each step it asks of the system, one step further each time.

It prints a line of JSON for each kill: what a folder looks like afterwards.  Run with the tool's call, the way of
renaming (``step`` or ``names``), and a folder of its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import attrs
from nr_llm import ToolContext
from nr_llm_tools import ToolsSettings, WriteTools, _rename

OLD, NEW = "old line\n" * 300, "the new line\n" * 300
CALLS: dict[str, Callable[[WriteTools], object]] = {
    "create": lambda tools: tools.write_file(ToolContext(), "files/new.txt", NEW),
    "replace": lambda tools: tools.write_file(ToolContext(), "files/a.txt", NEW, overwrite=True),
    "move": lambda tools: tools.move_file(ToolContext(), "files/a.txt", "files/deep/a.txt"),
}
STEPS = ("open", "write", "fsync", "fchmod", "fstat", "stat", "close", "rename", "link", "unlink")


def arm(steps: int) -> None:
    """Have this process killed before that many steps more, and written texts take many steps."""
    left = iter(range(steps, -1, -1))

    def stepping(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            if next(left) == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return step

    write = os.write
    os.write = lambda fd, data: write(fd, data[:500])
    for name in STEPS:
        plain, counted = getattr(os, name), stepping(getattr(os, name))
        for able in (os.supports_dir_fd, os.supports_follow_symlinks):
            able.update({counted} if plain in able else ())
        setattr(os, name, counted)
    if (known := _rename.find_step()) is not None:
        after = stepping(lambda done: done)
        renaming = attrs.evolve(known, call=stepping(lambda *given: after(known.call(*given))))
        _rename.find_step = lambda: renaming


def seen(folder: Path) -> dict[str, Any]:
    """Return what there is in a folder: names and texts, drafts counted, and what each file may be done with."""
    texts = {OLD: "old", NEW: "new"}
    files = [path for path in folder.rglob("*") if path.is_file()]
    shown = {path.relative_to(folder).as_posix(): path for path in files if not path.name.startswith(".nr-llm-draft-")}
    return {
        "files": {name: texts.get(path.read_text(), "half") for name, path in shown.items()},
        "modes": {name: path.stat().st_mode & 0o777 for name, path in shown.items()},
        "drafts": len(files) - len(shown),
    }


def main(call: str, way: str, base: Path) -> None:
    """Kill one process after another, until one comes to its end."""
    if way == "names":
        _rename.find_step = lambda: None
    for steps in count():
        root = base / str(steps)
        (root / "files" / "deep").mkdir(parents=True)
        (root / "files" / "a.txt").write_text(OLD)
        (root / "files" / "a.txt").chmod(0o640)
        tools = WriteTools(ToolsSettings(root=root, write=("files",)))
        child = os.fork()
        if child == 0:
            arm(steps)
            CALLS[call](tools)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps(seen(root / "files")))
        if status == 0:
            break
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, status


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
