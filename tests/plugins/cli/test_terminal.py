"""What a person at a terminal sees."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from nr_llm_cli.options import wants_colour
from nr_llm_cli.waiting import Waiting

from tests.plugins.cli.shell import on_terminal, plugin_file

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(path: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    """Run `run` on a terminal and return what appeared."""
    text, code = on_terminal("run", "hi", "-m", "scripted:", "--plugin", path, *arguments, env=env)
    assert code == 0, text
    return text


def test_an_answer_appears_while_it_is_written_and_once(tmp_path: Path) -> None:
    """Pieces are shown as they come; the whole answer is not printed again; lines of the two streams do not mix."""
    text = ESCAPES.sub("", run(plugin_file(tmp_path)))

    assert text.count("The sum is 3.") == 1
    assert "asking" not in text
    assert "\nThe sum is 3.\nround 2: " in text


def test_text_beside_calls_is_shown_once(tmp_path: Path) -> None:
    """What a model says before a call was seen while it was written."""
    text = ESCAPES.sub("", run(plugin_file(tmp_path, 'calling(("add", {"a": 1, "b": 2}), content="Let me see."), "3"')))

    assert text.count("Let me see.") == 1
    assert "Let me see.\nround 1: " in text


def test_tables_have_borders(tmp_path: Path) -> None:
    """A table of a tool is drawn."""
    text = run(plugin_file(tmp_path))

    assert "│ 1 │ 2 │" in ESCAPES.sub("", text)
    assert "\x1b[" in text


def test_markup_is_text(tmp_path: Path) -> None:
    """Brackets of a tool are no markup, its escapes no escapes: no colour, no link, no title."""
    more = '''
@tool
def bad() -> ToolResult:
    """Bad."""
    cells = [["[link=http://evil.test]x[/link]", "[red]y[/red]", ":smile:", "\\x1b]0;title\\x07"]]
    return ToolResult.text("r", ToolArtifact.table("[bold]l[/bold]", ["[b]c", "d", "e", "f"], cells))
'''
    text = run(plugin_file(tmp_path, 'calling(("bad", {})), "ok"', more=more), env={"COLUMNS": "200"})

    assert "[link=http://evil.test]x[/link]" in text
    assert "[red]y[/red]" in text
    assert ":smile:" in text
    assert "\\u001b]0;title\\u0007" in text
    assert "[bold]l[/bold]" in text
    assert "\x1b]" not in text


@pytest.mark.parametrize(
    ("arguments", "env"), [(("--no-color",), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"})], ids=str
)
def test_colours_can_be_refused(arguments: tuple[str, ...], env: dict[str, str], tmp_path: Path) -> None:
    """No escape sequence at all, and tables without borders."""
    text = run(plugin_file(tmp_path), *arguments, env=env)

    assert "\x1b" not in text
    assert "    a  b\n    1  2\n" in text


def test_quiet_is_quiet_on_a_terminal(tmp_path: Path) -> None:
    """Nothing moves, nothing but the answer is written."""
    assert run(plugin_file(tmp_path), "-q") == "The sum is 3.\n"


def test_waiting_is_shown(tmp_path: Path) -> None:
    """A call that takes a while has a sign that it goes on; here it goes on until the sign was seen."""
    more = '''
@tool
def rest(context: ToolContext) -> str:
    """Rest."""
    import sys
    context.progress("resting")
    return f"{sys.stdin.readline()}rested"
'''
    path = plugin_file(tmp_path, 'calling(("rest", {})), "ok"', more=more)
    text, code = on_terminal("run", "hi", "-m", "scripted:", "--plugin", path, keys=[("rest: resting", b"\n")])

    assert code == 0
    assert "rest {}  " in text


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, True),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm"}, True),
    ],
)
def test_the_environment_decides_on_colours(environ: dict[str, str], wanted: bool) -> None:
    """NO_COLOR counts when it is not empty; a dumb terminal has none."""
    assert wants_colour(environ) is wanted


class Sign:
    """A sign that notes what becomes of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.shown = threading.Event()
        self.gone = False

    def start(self) -> None:
        self.shown.set()

    def stop(self) -> None:
        self.gone = True


def test_a_sign_appears_and_goes() -> None:
    """After the delay it is there; the end removes it; ending twice is harmless."""
    signs: list[Sign] = []
    made = threading.Event()

    def make(text: str) -> Sign:
        signs.append(Sign(text))
        made.set()
        return signs[-1]

    waiting = Waiting(make, delay=0.0)
    waiting.begin("a …")
    assert made.wait(60)
    assert signs[0].shown.wait(60)
    waiting.end()
    waiting.end()

    assert (signs[0].text, signs[0].gone) == ("a …", True)


def test_what_is_quick_shows_no_sign() -> None:
    """A wait that ends before the delay leaves no trace, not even if its timer fires late."""
    signs: list[str] = []

    def make(text: str) -> Sign:
        signs.append(text)
        return Sign(text)

    waiting = Waiting(make, delay=3600.0)
    waiting.begin("a")
    timer = waiting._timer
    assert timer is not None
    waiting.begin("b")
    timer.function()
    waiting.end()

    assert signs == []
