"""The command line and the store together, as processes: whatever ends a run, its record says so and is whole."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.plugins.cli.installed import declare
from tests.plugins.cli.shell import command, environment, plugin_file, spawn

pytest.importorskip("sqlalchemy", reason="the store's packages are not installed")

WAITS = '''
import pathlib, time

@tool
def wait(context: ToolContext, path: str) -> str:
    """Wait for a file."""
    context.progress("waiting")
    while not pathlib.Path(path).exists():
        time.sleep(0.05)
    return "done"
'''


@attrs.frozen
class Shell:
    """
    The command as processes beside the installed store, whose file is in a folder of the test.

    Attributes:
        folder: The folder.
    """

    folder: Path

    def variables(self) -> dict[str, str]:
        """Return the environment of each process."""
        path = f"{self.folder}:{environment().get('PYTHONPATH', '')}"
        return {"NR_LLM_PLUGINS": "nr-llm-store", "NR_LLM_HOME": str(self.folder / "home"), "PYTHONPATH": path}

    def __call__(self, *arguments: str | Path) -> Any:
        """Run a command and return what its document says, or its output if it is none."""
        done = subprocess.run(
            command(*arguments), env=environment(self.variables()), capture_output=True, check=True, encoding="utf-8"
        )
        return json.loads(done.stdout) if "--json" in arguments else done.stdout + done.stderr

    def waiting(self, *arguments: str) -> tuple[subprocess.Popen[str], str]:
        """Start a run, and return it with its name when its tool waits for a file of the folder."""
        go = json.dumps(str(self.folder / "go"))
        path = plugin_file(self.folder, f'calling(("wait", {{"path": {go}}})), "Done."', more=WAITS, name="waits")
        process = spawn("run", "hi", "-m", "scripted:", "--plugin", path, "--ndjson", *arguments, env=self.variables())
        assert process.stdout is not None
        name = json.loads(process.stdout.readline())["run_id"]
        for line in process.stdout:
            if '"progress"' in line:
                return process, name
        raise AssertionError("the run ended before its tool waited")

    def run(self, name: str) -> dict[str, Any]:
        """Return the record of a run, which is whole."""
        found: dict[str, Any] = self("runs", "show", name, "--json")
        if found["ended"]:
            assert self("runs", "verify", name, "--json") == []
        return found


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The command, beside a store."""
    declare(tmp_path, "nr_llm_store", name="store")
    return Shell(tmp_path)


def test_ctrl_c_is_in_the_record(shell: Shell) -> None:
    """The run is cancelled, and held by nobody."""
    process, name = shell.waiting()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    run = shell.run(name)

    assert process.returncode == 130
    assert (run["status"], run["reason"], run["rounds"]) == ("cancelled", "cancelled", 1)


def test_another_process_has_a_run_stop(shell: Shell) -> None:
    """It is noticed at the next step; the answer that would have come is not asked for."""
    process, name = shell.waiting()
    said = shell("runs", "cancel", name)
    (shell.folder / "go").touch()
    out, _ = process.communicate(timeout=60)
    run = shell.run(name)

    assert said == f"Run {name} is told to stop, and does at its next step.\n"
    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["event"] == "cancelled"
    assert (run["status"], [step["kind"] for step in run["steps"]]) == ("cancelled", ["request", "llm", "tool"])


def test_a_killed_run_is_settled_by_the_next(shell: Shell) -> None:
    """Nobody claims any more that it goes on, and its conversation can be gone on with."""
    process, name = shell.waiting("--privacy", "full")
    process.kill()
    process.communicate(timeout=60)
    before = shell.run(name)
    path = plugin_file(shell.folder, '"Hello."')
    document = shell("run", "more", "--continue", name, "--plugin", path, "--json")
    after = shell.run(name)

    assert (before["status"], after["status"], after["error"]) == ("running", "failed", "Abandoned")
    assert [message["role"] for message in document["messages"]] == ["user", "assistant", "tool", "user", "assistant"]
    assert shell.run(document["run_id"])["continues"] == name


def test_two_processes_keep_runs_at_once(shell: Shell) -> None:
    """Each has its record, and none waits for the other."""
    started = [shell.waiting() for _ in range(2)]
    listed = {run["run_id"]: run["status"] for run in shell("runs", "list", "--json")}
    (shell.folder / "go").touch()
    told = [(process.communicate(timeout=60), process.returncode) for process, _ in started]

    assert [code for _, code in told] == [0, 0], told
    assert listed == {name: "running" for _, name in started}
    assert [shell.run(name)["status"] for _, name in started] == ["completed", "completed"], told
    assert [row["runs"] for row in shell("usage", "--json")] == [2]


def test_a_stored_run_is_replayed_and_exported(shell: Shell) -> None:
    """From the file alone: the same steps, and each line of the record."""
    path = plugin_file(shell.folder)
    document = shell("run", "hi", "-m", "scripted:", "--plugin", path, "--privacy", "full", "--json")
    name = document["run_id"]
    lines = [json.loads(line) for line in shell("runs", "export", name).splitlines()]

    assert shell("runs", "replay", name, "--json") == {"run_id": name, "same": True, "differences": []}
    assert [line["record"] for line in lines] == ["run", *["step"] * 5, *["message"] * 4, "end"]
