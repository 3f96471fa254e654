"""The command as a process: signals, pipes, ends of pipes."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.cli.shell import command, environment, last_error, plugin_file, spawn

WAITS = '''
@tool(effect="write", approval=False)
def wait(context: ToolContext) -> str:
    """Wait."""
    context.progress("waiting")
    context.cancelled.wait()
    return "done"
'''
CALLS = 'calling(("add", {"a": 1, "b": 2})), calling(("wait", {})), "never"'
AT_ONCE = 'calling(("add", {"a": 1, "b": 2}), ("wait", {})), "never"'


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A model that calls `add` in one round, and in the next a tool that waits for ever."""
    return plugin_file(tmp_path, CALLS, more=WAITS)


def interrupted(path: Path, *arguments: str) -> tuple[str, str, int]:
    """
    Run until the tool waits, press Ctrl-C, and return stdout, stderr and the code.

    What was read ahead of the line that says so is lost, so the tool has to be the last thing that runs.
    """
    process = spawn("run", "hi", "-m", "scripted:", "--plugin", path, "-T", "add", "-T", "wait", *arguments)
    watched = process.stdout if "--ndjson" in arguments else process.stderr
    assert watched is not None
    seen = ""
    while "waiting" not in seen:
        line = watched.readline()
        assert line, seen
        seen += line
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    out, err = (seen + out, err) if watched is process.stdout else (out, seen + err)
    return out, err, process.returncode


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line in bash."""
    return subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, check=True, encoding="utf-8")


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_ctrl_c_cancels_the_run(waiting: Path) -> None:
    """The code is 130, stdout is empty, and what was done is told in one line."""
    out, err, code = interrupted(waiting, "-v")

    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == (
        "Error: Interrupted after 2 rounds and 2 calls, 1 of them failed or interrupted; the run is cancelled."
    )
    assert "Traceback" not in err


def test_ctrl_c_stops_a_model_that_thinks(tmp_path: Path) -> None:
    """Nothing was done, and that is said."""
    waits = 'lambda r: __import__("sys").stderr.write("waiting\\n") and __import__("time").sleep(3600)'
    _, err, code = interrupted(plugin_file(tmp_path, waits, more=WAITS))

    assert code == 130
    assert err.splitlines()[-1] == "Error: Interrupted after 0 rounds and 0 calls; the run is cancelled."


def test_ctrl_c_ends_the_events(waiting: Path) -> None:
    """The last event is `cancelled`; the envelope names the run."""
    out, err, code = interrupted(waiting, "--ndjson")

    assert code == 130
    assert events(out)[-1]["event"] == "cancelled"
    assert events(out)[-1]["rounds"] == 2
    assert last_error(err) == {
        "code": "interrupted",
        "message": "Interrupted after 2 rounds and 2 calls, 1 of them failed or interrupted; the run is cancelled.",
        "hint": "",
        "run_id": events(out)[0]["run_id"],
    }


def test_ctrl_c_leaves_a_valid_document(tmp_path: Path) -> None:
    """The conversation can be gone on with: every call is answered, the started write as unknown."""
    more = WAITS.replace('context.progress("waiting")', "import sys; print('waiting', file=sys.stderr, flush=True)")
    out, _, code = interrupted(plugin_file(tmp_path, AT_ONCE, more=more), "--json")
    found = json.loads(out)

    assert code == 130
    assert (found["status"], found["reason"], found["truncated"]) == ("cancelled", "cancelled", True)
    assert [message["role"] for message in found["messages"]] == ["user", "assistant", "tool", "tool"]
    assert "outcome is unknown" in found["messages"][-1]["content"]


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """`nr-llm … | head -1`: silent, code 0, whatever was still to come."""
    path = plugin_file(tmp_path, '"x" * 300_000')
    with spawn("run", "hi", "-m", "scripted:", "--plugin", path, "--ndjson") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()

        assert (process.wait(timeout=60), err) == (0, "")


def test_a_reader_that_left_before_the_end_is_no_error(tmp_path: Path) -> None:
    """The interpreter's last flush does not complain either."""
    line = shlex.join(command("tools", "show", "add", "--plugin", plugin_file(tmp_path)))

    done = shell(f"{line} | true; echo ${{PIPESTATUS[0]}}")

    assert (done.stdout, done.stderr) == ("0\n", "")


def test_commands_work_in_pipes(tmp_path: Path) -> None:
    """One answer is the next question."""
    path = plugin_file(tmp_path, 'lambda r: r.messages[-1].content + "!"')
    line = shlex.join(command("run", "-", "-q", "-m", "scripted:", "--plugin", path))

    done = shell(f"echo hi | {line} | {line}")

    assert (done.stdout, done.stderr) == ("hi!!\n", "")


def test_a_terminal_that_knows_no_unicode_is_no_error(tmp_path: Path) -> None:
    """Characters it cannot show become escapes."""
    path = plugin_file(tmp_path, '"日本"')
    process = spawn(
        "run", "hi", "-q", "-m", "scripted:", "--plugin", path, env={"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    )
    out, _ = process.communicate(timeout=60)

    assert out == "\\u65e5\\u672c\n"
