"""`nr-llm models pull`: what is written, where, and when."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from typing import Any

import click
import nr_llm_local
import pytest
from click.testing import CliRunner, Result
from nr_llm import PluginHost
from nr_llm.errors import UnknownNameError
from nr_llm_local import _pull, _said, commands, nr_llm_commands
from nr_llm_local._cache import Shelf
from nr_llm_local._progress import Progress
from nr_llm_local._pull import Source
from nr_llm_local.catalogue import WEIGHTS
from nr_llm_local.commands import Teller, pull_model

from tests.plugins.local.small_weights import DATA, failing, giving


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, shelf: Shelf) -> Any:
    """Return what runs the command with some sources."""

    def run(sources: Sequence[Source], *arguments: str, command: click.Command = pull_model) -> Result:
        real = _pull.pull
        monkeypatch.setattr(commands, "pull", lambda *given, **named: real(*given, **named, sources=sources))
        return CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=False)

    return run


def test_size_licence_and_disk_are_said_first(ask: Any, shelf: Shelf) -> None:
    """All of it on stderr: the same command fetches the model of a run, whose answer has stdout for itself."""
    result = ask([failing("offline", "one"), giving(DATA)], "local:tiny")
    lines = result.stderr.splitlines()
    assert lines[0] == "Tiny Q4: 10,244 bytes, licence Apache-2.0 (https://example.org/licence)"
    assert lines[1] == "Tiny by nobody"
    assert lines[2].startswith(f"To {shelf.file}; takes up to ")
    assert "Not from one: offline." in lines
    assert "100 %  10,244 bytes of 10,244 bytes" in lines
    assert lines[-1].startswith("The file is whole and the right one")
    assert result.stdout == ""


def test_what_is_here_is_said_to_be(ask: Any, shelf: Shelf) -> None:
    """And nothing more."""
    ask([giving(DATA)], "tiny")
    assert ask([], "tiny").stderr.splitlines()[2:] == [f"It is here: {shelf.file}"]


def test_an_earlier_attempt_is_said(ask: Any, shelf: Shelf) -> None:
    """So that nobody fears to begin anew."""
    shelf.partial.write_bytes(DATA[:100])
    assert "100 bytes of it are here from an earlier attempt." in ask([giving(DATA)], "tiny").stderr


def test_a_file_of_ones_own_is_said(ask: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of a licence that is not its."""
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF" + bytes(1_000_000))
    monkeypatch.setenv("NR_LLM_LOCAL_MODEL", str(own))
    assert ask([], "tiny").stderr == f"Your own file is used: {own}\n"


def test_quiet_writes_nothing(ask: Any) -> None:
    """But errors, which are raised."""
    assert ask([giving(DATA)], "tiny", "-q").output == ""


def test_a_quiet_command_around_it_is_obeyed(ask: Any) -> None:
    """``run -q --pull`` writes the answer alone."""

    @click.command()
    @click.option("-q", "--quiet", is_flag=True)
    @click.pass_context
    def around(context: click.Context, *, quiet: bool) -> None:
        with pull_model.make_context("models pull", ["tiny"], parent=context) as inner:
            pull_model.invoke(inner)

    assert ask([giving(DATA)], "-q", command=around).output == ""


def test_the_command_line_finds_it() -> None:
    """By its path."""
    assert [command.name for command in PluginHost({"local": nr_llm_local}).commands()] == ["models pull"]


def test_an_unknown_model_is_an_error(ask: Any) -> None:
    """Which lists those there are."""
    with pytest.raises(UnknownNameError, match=r"There are qwen2\.5-coder-1\.5b and qwen2\.5-coder-0\.5b and tiny"):
        ask([], "qwen")


def test_the_help_names_the_models() -> None:
    """Those of the catalogue, the default as such."""
    default, small = WEIGHTS
    assert f"NAME is {default} (unless given) or {small}." in str(pull_model.help)


def test_without_click_there_is_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin works where there is no command line; another missing module is not passed over."""
    assert nr_llm_commands() == [pull_model]
    real, missing = builtins.__import__, "click"

    def without(name: str, *rest: Any) -> Any:
        if name == "nr_llm_local.commands":
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert nr_llm_commands() == []
    missing = "something"
    with pytest.raises(ModuleNotFoundError):
        nr_llm_commands()


def told(capsys: pytest.CaptureFixture[str], *steps: int) -> str:
    """Return what is written when a transfer of 1,000 bytes goes on like this, and then ends."""
    teller = Teller()
    for done in steps:
        teller.progress(Progress(source="one", done=done, total=1_000, seconds_left=None))
    teller.say("Done.")
    return capsys.readouterr().err


def test_elsewhere_than_on_a_terminal_each_tenth_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A log is not flooded."""
    assert told(capsys, 0, 50, 99, 100, 150, 350).splitlines() == [
        "  0 %  0 bytes of 1,000 bytes",
        " 10 %  100 bytes of 1,000 bytes",
        " 35 %  350 bytes of 1,000 bytes",
        "Done.",
    ]


def test_on_a_terminal_one_line_moves(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter one covers a longer one, and what follows stands on a line of its own."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert told(capsys, 100, 9) == ("\r 10 %  100 bytes of 1,000 bytes\r  0 %  9 bytes of 1,000 bytes  \nDone.\n")


@pytest.mark.parametrize(
    ("count", "text"),
    [(999_999, "999,999 bytes"), (1_000_000, "1 MB"), (491_400_064, "491 MB"), (1_117_320_768, "1.12 GB")],
)
def test_sizes(count: int, text: str) -> None:
    """In the units of disks."""
    assert _said.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (3_700, "1 h 01 min")]
)
def test_durations(seconds: float, text: str) -> None:
    """Never negative, never more exact than anyone can tell."""
    assert _said.duration(seconds) == text


def test_the_time_left_ends_the_line() -> None:
    """Where it can be told."""
    line = _said.progress(Progress(source="one", done=30_000_000, total=100_000_000, seconds_left=90))
    assert line == " 30 %  30 MB of 100 MB, 1 min 30 s left"
