"""A run that one process suspends and another goes on with, out of a file they share."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import attrs
import pytest

from tests.plugins.cli.installed import declare
from tests.plugins.cli.shell import command, environment, last_error, on_terminal, plugin_file

pytest.importorskip("sqlalchemy", reason="the store's packages are not installed")
pytest.importorskip("nr_llm_store", reason="the store is not installed")

NOTES = '''
import pathlib

@tool(effect="write")
def note(path: str, text: str) -> str:
    """Write a line behind a file."""
    with pathlib.Path(path).open("a") as file:
        file.write(text + "\\n")
    return "written"
'''


@attrs.frozen
class Shell:
    """
    The command as processes beside a store, whose file is in a folder of the test.

    Attributes:
        folder: The folder.
    """

    folder: Path

    @property
    def file(self) -> Path:
        """What the tool writes into."""
        return self.folder / "notes"

    def variables(self) -> dict[str, str]:
        """Return the environment of each process."""
        path = f"{self.folder}:{environment().get('PYTHONPATH', '')}"
        return {"NR_LLM_PLUGINS": "nr-llm-store", "NR_LLM_HOME": str(self.folder / "home"), "PYTHONPATH": path}

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return subprocess.run(
            command(*arguments),
            env=environment(self.variables()),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            encoding="utf-8",
        )

    def plugin(self, after: str) -> Path:
        """Write the plugin file, whose model first wants to write."""
        wants = f'calling(("note", {{"path": {json.dumps(str(self.file))}, "text": "one"}}))'
        return plugin_file(self.folder, after or f"{wants}, 'never'", more=NOTES)

    def held(self) -> str:
        """Suspend a run and return its name."""
        done = self("run", "hi", "-m", "scripted:", "-T", "note", "--plugin", self.plugin(""), "--json")
        assert done.returncode == 7, done.stderr
        self.plugin('"Noted."')
        run_id: str = json.loads(done.stdout)["run_id"]
        return run_id


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The command, beside a store."""
    declare(tmp_path, "nr_llm_store", name="store")
    return Shell(tmp_path)


def test_another_process_approves_and_a_third_is_told(shell: Shell) -> None:
    """The write happens once; who comes second learns what became of the run, by code and by word."""
    run_id, plugin = shell.held(), ("--plugin", shell.folder / "script.py")
    [waiting] = json.loads(shell("runs", "inbox", "--json").stdout)
    first = shell("runs", "approve", run_id[:8], "--yes", *plugin)
    second = shell("runs", "approve", run_id[:8], "--yes", "--json", *plugin)

    assert waiting["run_id"] == run_id
    assert (first.returncode, first.stdout) == (0, "Noted.\n"), first.stderr
    assert (second.returncode, last_error(second.stderr)["code"]) == (9, "refused")
    assert "does not wait for an approval: it is completed" in second.stderr
    assert shell.file.read_text(encoding="utf-8") == "one\n"
    assert json.loads(shell("runs", "verify", run_id, "--json").stdout) == []


def test_of_two_at_once_one_goes_on(shell: Shell) -> None:
    """However they meet, the write happens once, and exactly one of them is refused."""
    run_id = shell.held()
    line = command("runs", "approve", run_id, "--yes", "--plugin", shell.folder / "script.py")
    both = [
        subprocess.Popen(line, env=environment(shell.variables()), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        process.communicate(timeout=120)

    assert sorted(process.returncode for process in both) == [0, 9]
    assert shell.file.read_text(encoding="utf-8") == "one\n"


def test_a_person_edits_what_is_kept(shell: Shell) -> None:
    """On the terminal, in the process that began the run: the record names what was changed."""
    keys = [("leave it waiting: ", b"e\n"), ("leave them): ", None), ("leave it waiting: ", b"y\n")]
    changed = json.dumps({"path": str(shell.file), "text": "two"}).encode() + b"\n"
    text, code = on_terminal(
        "run", "hi", "-m", "scripted:", "-T", "note", "--privacy", "full", "--plugin", shell.plugin(""),
        keys=[(seen, changed if typed is None else typed) for seen, typed in keys],
        env={**shell.variables(), "NO_COLOR": "1", "VISUAL": "", "EDITOR": ""},
    )  # fmt: skip

    assert code == 0, text
    assert "With changed arguments:" in text
    assert shell.file.read_text(encoding="utf-8") == "two\n"


def test_a_person_confirms_what_is_shown(shell: Shell) -> None:
    """`runs approve` asks on a terminal; whoever says no leaves the run waiting."""
    run_id = shell.held()
    arguments = ("runs", "approve", run_id, "--plugin", shell.folder / "script.py")
    environ = {**shell.variables(), "NO_COLOR": "1"}
    no, refused = on_terminal(*arguments, keys=[("[y/N]: ", b"n\n")], env=environ)
    yes, code = on_terminal(*arguments, keys=[("[y/N]: ", b"y\n")], env=environ)

    assert (refused, code) == (7, 0), (no, yes)
    assert "Approve 0 note?" in no
    assert "Noted." in yes


def test_a_form_is_filled_in_later_on_a_terminal(shell: Shell) -> None:
    """`runs input` asks key by key; whoever leaves, leaves it waiting."""
    more = '''
FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

@tool(form=FORM)
def order(city: str = "") -> str:
    """Order."""
    return f"to {city}"
'''
    path = plugin_file(shell.folder, 'calling(("order", {}))', more=more)
    done = shell("run", "hi", "-m", "scripted:", "-T", "order", "--plugin", path, "--json")
    run_id = json.loads(done.stdout)["run_id"]
    plugin_file(shell.folder, "lambda request: request.messages[-1].content", more=more)
    arguments, environ = ("runs", "input", run_id, "--plugin", path), {**shell.variables(), "NO_COLOR": "1"}
    left, waits = on_terminal(*arguments, keys=[("[q]uit: ", b"q\n")], env=environ)
    keys = [("[q]uit: ", b"y\n"), ("city (string, required): ", b"Ghent\n")]
    text, code = on_terminal(*arguments, keys=keys, env=environ)

    assert (done.returncode, json.loads(done.stdout)["status"]) == (7, "awaiting_input")
    assert (waits, code) == (7, 0), (left, text)
    assert "Left waiting: nothing was decided." in left
    assert "to Ghent\n" in text
