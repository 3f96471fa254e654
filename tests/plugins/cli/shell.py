"""Runs the command as its users do: in this process, in a process of its own, on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from nr_llm_cli.root import program

SCRIPT = '''
from nr_llm import ToolArtifact, ToolContext, ToolResult, tool
from nr_llm.errors import *
from nr_llm.hookspecs import hookimpl
from nr_llm.messages import ToolCall
from nr_llm.responses import CompletionResponse, FinishReason, Usage
from nr_llm.testing import ScriptedProvider, calling


@tool(group="sums")
def add(a: int, b: int) -> ToolResult:
    """Add two numbers."""
    return ToolResult.text(f"{a + b}", ToolArtifact.table("Sum", ["a", "b"], [[a, b]]))


@tool(effect="write")
def erase(path: str) -> str:
    """Erase a file."""
    return f"erased {path}"


@hookimpl
def nr_llm_tools():
    return [value for value in list(globals().values()) if type(value).__name__ == "Tool"]


'''
"""What the plugin files of these tests begin with."""

NOWHERE = "/nonexistent/nr-llm"
"""A home without any file, so that a test finds no settings of whoever runs it."""

ADDS = 'calling(("add", {"a": 1, "b": 2}), usage=Usage(10, 5)), "The sum is 3."'
"""A model that calls a tool and answers."""


def plugin_file(folder: Path, replies: str = ADDS, *, model: str = "", more: str = "", name: str = "script") -> Path:
    """
    Write a plugin file with a scripted model.

    Args:
        folder: Where.
        replies: Source of the model's replies.
        model: Source of what is known of the model, as keyword arguments.
        more: Further source, such as tools.
        name: The file's name, without its ending.
    """
    provider = f"ScriptedProvider({replies}, {model})"
    hook = f"@hookimpl\ndef nr_llm_providers():\n    return [{provider}]\n"
    path = folder / f"{name}.py"
    path.write_text(SCRIPT + more + "\n\n" + hook, encoding="utf-8")
    return path


def invoke(
    *arguments: str | Path, stdin: str | bytes | None = None, env: Mapping[str, str | None] | None = None
) -> Result:
    """Run the command in this process, without installed plugins and without the environment's settings."""
    clean: dict[str, str | None] = dict.fromkeys(name for name in os.environ if name.startswith("NR_LLM_"))
    runner = CliRunner(
        env={**clean, "NR_LLM_PLUGINS": "", "NR_LLM_HOME": NOWHERE, **(env or {})}, catch_exceptions=False
    )
    return runner.invoke(program, [str(argument) for argument in arguments], input=stdin)


def ask(path: Path, *arguments: str | Path, **settings: Any) -> Result:
    """Run `run` with the scripted model of a file."""
    return invoke("run", "hi", "-m", "scripted:", "--plugin", path, *arguments, **settings)


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a process of its own, without settings of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NR_LLM_", "COV_"))}
    return {**kept, "NR_LLM_PLUGINS": "", "NR_LLM_HOME": NOWHERE, "PYTHONUTF8": "1", **(more or {})}


def command(*arguments: str | Path) -> list[str]:
    """Return the command line of a process of its own."""
    return [sys.executable, "-m", "nr_llm_cli", *map(str, arguments)]


def spawn(*arguments: str | Path, env: Mapping[str, str] | None = None, **settings: Any) -> subprocess.Popen[str]:
    """Start the command as a process of its own, its output readable line by line."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    return subprocess.Popen(command(*arguments), env=environment(env), encoding="utf-8", **pipes)


def last_error(text: str) -> dict[str, Any]:
    """Return the error that stderr's last line holds."""
    found: dict[str, Any] = json.loads(text.rstrip("\n").split("\n")[-1])["error"]
    return found


def on_terminal(
    *arguments: str | Path,
    keys: Sequence[tuple[str, bytes]] = (),
    env: Mapping[str, str] | None = None,
    to: Path | None = None,
) -> tuple[str, int]:
    """
    Run the command with a terminal on all three streams.

    Args:
        *arguments: The command line.
        keys: What to type, each after the text that has to appear first.
        env: Further variables.
        to: A file for stdout, which is a terminal too unless it is given.

    Returns:
        All that appeared, and the exit code.
    """
    variables = environment({"TERM": "xterm", "COLUMNS": "80", "LINES": "40", "CI": "", **(env or {})})
    waiting, seen, at = list(keys), "", 0
    process, terminal = pty.fork()
    if process == 0:
        if to is not None:
            os.dup2(os.open(to, os.O_WRONLY | os.O_CREAT), 1)
        os.execve(sys.executable, command(*arguments), variables)
    with contextlib.suppress(OSError):  # Linux: reading from a terminal whose programs have ended
        while select.select([terminal], [], [], 60)[0] and (data := os.read(terminal, 65536)):
            seen += data.decode("utf-8", "replace")
            while waiting and waiting[0][0] in seen[at:]:
                at = seen.index(waiting[0][0], at) + len(waiting[0][0])
                os.write(terminal, waiting.pop(0)[1])
    os.close(terminal)
    return seen.replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
