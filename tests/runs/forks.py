"""
A program that forks a process for each segment of a run, so that one costs no start of an interpreter; no test itself.

``python -m tests.runs.forks`` reads requests from its standard input, a line of JSON each, and answers each with one:
``{"fork": TASK}`` with a process, ``{"wait": PID}`` with what became of it, ``{"wake": PID}`` with nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import attrs

ROOT = Path(__file__).parents[2]


@attrs.frozen
class Forks:
    """The program, seen from the test that started it."""

    requests: IO[str]
    answers: IO[str]

    def start(self, task: dict[str, Any]) -> int:
        """Have a process carry out a task, and return its number."""
        return int(self._ask(fork=task))

    def wait(self, pid: int) -> str:
        """Wait until a process is ``stopped``, ``killed`` or has ``ended``."""
        return str(self._ask(wait=pid))

    def wake(self, pid: int) -> str:
        """Have a process that was stopped go on, and wait again."""
        self._ask(wake=pid)
        return self.wait(pid)

    def _ask(self, **request: Any) -> Any:
        self.requests.write(f"{json.dumps(request)}\n")
        self.requests.flush()
        return json.loads(self.answers.readline())


@contextmanager
def forking() -> Iterator[Forks]:
    """Run the program; when the block is left, so are its processes."""
    command = [sys.executable, "-m", "tests.runs.forks"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield Forks(server.stdin, server.stdout)
        server.stdin.close()


def journal(path: Path) -> list[dict[str, Any]]:
    """Return what the processes noted, in order."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _became(status: int) -> str:
    if os.WIFSTOPPED(status):
        return "stopped"
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return "killed"
    assert os.WEXITSTATUS(status) == 0
    return "ended"


def _fork(task: dict[str, Any]) -> int:
    from tests.runs.segments import carry_out

    pid = os.fork()
    if not pid:
        code = 1
        try:
            carry_out(task)
            code = 0
        finally:
            os._exit(code)
    return pid


def main() -> None:
    """Answer until there is nobody to ask."""
    there: set[int] = set()
    for line in sys.stdin:
        answer: Any = None
        match json.loads(line):
            case {"fork": task}:
                there.add(answer := _fork(task))
            case {"wait": pid}:
                answer = _became(os.waitpid(pid, os.WUNTRACED)[1])
                there -= set() if answer == "stopped" else {pid}
            case {"wake": pid}:
                os.kill(pid, signal.SIGCONT)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    for pid in there:  # a test has failed and left them
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
