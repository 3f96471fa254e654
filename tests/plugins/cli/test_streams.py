"""Stdout has answers alone, whatever plugins print; and a stream that is not there is no error."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.plugins.cli.shell import ask, command, environment, invoke, on_terminal, plugin_file

LOUD = '''
print("while it is imported")


@tool
def shout() -> str:
    """Shout."""
    print("while it runs")
    return "quiet"


class Loud(ScriptedProvider):
    def models(self):
        print("while it lists models")
        return []


@hookimpl(specname="nr_llm_commands")
def commands():
    print("while it is asked")
    return []
'''
SHOUTS = 'calling(("shout", {})), "Done."'


@pytest.fixture
def loud(tmp_path: Path) -> Path:
    """Return a file with a plugin that prints wherever it can."""
    path = plugin_file(tmp_path, SHOUTS, more=LOUD, name="loud")
    path.write_text(path.read_text(encoding="utf-8").replace("return [ScriptedProvider(", "return [Loud("), "utf-8")
    return path


@pytest.mark.parametrize("form", ["--json", "--ndjson"])
def test_documents_are_pure(form: str, loud: Path) -> None:
    """Every line of stdout is JSON; what was printed is on stderr."""
    result = ask(loud, form)

    assert [json.loads(line) for line in result.stdout.splitlines()]
    assert result.stderr == "while it is imported\nwhile it is asked\nwhile it runs\n"


def test_an_answer_is_pure(loud: Path) -> None:
    """For people too: what is piped on is the answer."""
    assert ask(loud, "-q").stdout == "Done.\n"


@pytest.mark.parametrize(
    "arguments",
    [("tools", "call", "shout", "--format", "json"), ("tools", "list", "--json"), ("tools", "show", "shout", "--json")],
)
def test_documents_about_tools_are_pure(arguments: tuple[str, ...], loud: Path) -> None:
    """Loading and calling print aside."""
    result = invoke(*arguments, "--plugin", loud)

    assert json.loads(result.stdout)
    assert result.stderr.startswith("while it is imported\n")


@pytest.mark.parametrize(
    "arguments", [("plugins", "list", "--load"), ("plugins", "doctor"), ("providers", "list"), ("models", "list")]
)
def test_documents_about_plugins_are_pure(arguments: tuple[str, ...], loud: Path, tmp_path: Path) -> None:
    """An installed plugin that prints prints aside as well."""
    metadata = tmp_path / "loud-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[nr_llm.tool]\nloud = loud\n")
    path = f"{loud.parent}:{environment().get('PYTHONPATH', '')}"

    done = subprocess.run(
        command(*arguments, "--json"), env=environment({"PYTHONPATH": path, "NR_LLM_PLUGINS": "loud"}),
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip

    json.loads(done.stdout)
    assert "while it is imported\n" in done.stderr


def test_a_conversation_is_edited_on_the_terminal(loud: Path) -> None:
    """The prompt keeps its terminal while plugins have none."""
    seen, code = on_terminal(
        "chat", "-m", "scripted:", "--plugin", loud, keys=[("> ", b"hi\n"), ("Done.", b""), ("> ", b"/exit\n")]
    )

    assert code == 0
    assert "while it runs" in seen


@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    [
        ("tools list", ">&-", 0),
        ("tools call shout", "2>&-", 0),
        ("tools call shout", "<&- >&- 2>&-", 0),
        ("run hi -m scripted:", "2>&-", 0),
        ("run - -m scripted:", "<&-", 2),
        ("chat -m scripted:", "<&-", 0),
        ("tools call shout --json -", "<&-", 2),
    ],
)
def test_a_stream_that_is_closed_leads_nowhere(arguments: str, closed: str, code: int, loud: Path) -> None:
    """What was asked for is done, and a missing input is an empty one."""
    line = f"exec {shlex.join(command(*arguments.split(), '--plugin', loud))} {closed}"

    done = subprocess.run(
        ["/bin/sh", "-c", line], env=environment(), capture_output=True, encoding="utf-8", check=False
    )

    assert done.returncode == code
    assert "AttributeError" not in done.stderr
