"""What a person is shown of a call that waits, what they are asked, and what their answers come to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nr_llm import PluginHost, Runtime, Suspended, tool
from nr_llm.approvals import WaitingRun
from nr_llm.config import read_config
from nr_llm.hookspecs import hookimpl
from nr_llm.testing import ScriptedProvider, calling
from nr_llm_cli.approving import Asker, attended
from nr_llm_cli.blanks import type_of, value_of
from nr_llm_cli.console import Console
from nr_llm_cli.forms import submissions
from nr_llm_cli.going_on import asks
from nr_llm_cli.held import SHOWN, Sight, argument_lines, held_of
from nr_llm_cli.screen import exact
from nr_llm_cli.whoami import decider

from tests.plugins.cli.shell import on_terminal, plugin_file

FORM = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where\nto"},
        "floor": {"type": "integer", "minimum": 0, "default": 1},
        "kind": {"enum": ["door", "desk"]},
    },
    "required": ["city"],
}


@tool(effect="write", preview=lambda path, times=1: ["@@ 1 @@", "+new", "-old", f" {path} {times}"])
def drop(path: str, times: int = 1) -> str:
    """
    Drop a file.

    For ever.
    """
    return "dropped"


@tool
def stock() -> str:
    """Say what is there."""
    return "12"


@tool(effect="write", admin_only=True, preview=lambda: "secret plans")
def launch() -> str:
    """Launch."""
    return "launched"


@tool(form=FORM)
def order(article: str, city: str = "", floor: int = 0, kind: str = "") -> str:
    """Order an article."""
    return f"{article} goes to {city}"


class Shelf:
    """Brings the tools."""

    @hookimpl
    def nr_llm_tools(self) -> list[Any]:
        """Return them."""
        return [drop, stock, launch, order]


@pytest.fixture
def host() -> Iterator[PluginHost]:
    """A host with the tools."""
    host = PluginHost([Shelf()])
    yield host
    host.close()


def held(host: PluginHost, *calls: tuple[str, dict[str, Any]]) -> WaitingRun:
    """Return a run that waits with these calls."""
    provider = ScriptedProvider(calling(*calls), "never")
    runtime = Runtime(host, providers=[provider], model="scripted:")
    outcome = runtime.run("hi", tools=sorted({name for name, _ in calls}))
    assert isinstance(outcome, Suspended)
    return held_of(outcome.state)


def asker(host: PluginHost, *answers: str, edits: bool = True) -> Asker:
    """Return who asks, answered line by line, and at the end of the lines by a closed terminal."""
    lines = iter(answers)

    def read(prompt: str) -> str:
        print(prompt)
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    return Asker(console=Console(colour=False), sight=Sight.of(host, decider()), edits=edits, read=read)


def shown(host: PluginHost, waiting: WaitingRun, index: int = 0, **how: Any) -> str:
    """Return a call as lines."""
    sight = Sight.of(host, decider())
    return "\n".join(line for line, _ in sight.lines(waiting, waiting.calls[index], **how))


# -- what is shown ----------------------------------------------------------------------------------------------


def test_a_call_is_shown_as_it_is(host: PluginHost) -> None:
    """Tool, origin, effect, each argument as JSON, and what it would do."""
    text = shown(host, held(host, ("drop", {"path": "a\nb", "times": 2})))

    assert text.splitlines() == [
        "Call 0: drop (the file shelf), write",
        '  "path": "a\\nb"',
        '  "times": 2',
        "  It would:",
        "    @@ 1 @@",
        "    +new",
        "    -old",
        "    a b 2",
    ]


def test_a_diff_has_its_colours(host: PluginHost) -> None:
    """What is added is green, what is removed red."""
    waiting = held(host, ("drop", {"path": "x"}))
    styles = {line.strip(): style for line, style in Sight.of(host, decider()).lines(waiting, waiting.calls[0])}

    assert (styles["+new"], styles["-old"]) == ({"fg": "green"}, {"fg": "red"})


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain é 漢 😀", "plain é 漢 😀"),
        ("\u202eevil", "\\u202eevil"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\x1b[2K\r", "\\u001b[2K\\u000d"),
        ("a\u00a0b", "a\\u00a0b"),
        ("\u3164\ufe0f\u2800", "\\u3164\\ufe0f\\u2800"),
        ("\U000e0041", "\\udb40\\udc41"),
    ],
)
def test_nothing_is_invisible(text: str, seen: str) -> None:
    """Controls, reordering, blanks that are none, and characters without width are escaped; letters stay."""
    assert exact(text) == seen


def test_names_of_arguments_hide_nothing() -> None:
    """They are JSON too, and so is a text that looks like an escape told from one."""
    assert list(argument_lines({"pa\u200bth": "\\u200b"}, most=None)) == ['"pa\\u200bth": "\\\\u200b"']
    assert list(argument_lines({}, most=None)) == ["(no arguments)"]


def test_what_is_cut_says_so(host: PluginHost) -> None:
    """How much is missing and how to see it; the details have all of it."""
    waiting = held(host, ("drop", {"path": "x" * (SHOWN + 100), "times": 7}))
    text, whole = shown(host, waiting), shown(host, waiting, whole=True)

    assert text.splitlines()[2] == "  … 111 more characters NOT shown; d shows all"
    assert "x" * (SHOWN + 100) in whole
    assert '  "times": 7' in whole
    assert "NOT shown" not in whole


def test_details_name_everything_else(host: PluginHost) -> None:
    """The digest, the run, what the tool says of itself, and what runs beside it."""
    waiting = held(host, ("drop", {"path": "x"}), ("stock", {}))
    text = shown(host, waiting, whole=True)

    assert f"  digest: {waiting.calls[0].digest}\n" in text
    assert f"run: {waiting.run.run_id}, model scripted:script" in text
    assert "    For ever." in text
    assert text.endswith("  runs beside it: stock {}")


def test_changed_arguments_are_told_from_the_model_s(host: PluginHost) -> None:
    """And the preview is said to be of the call before."""
    text = shown(host, held(host, ("drop", {"path": "x"})), arguments={"path": "y"})

    assert '  With changed arguments:\n  "path": "y"\n  Before the change it would:\n' in text


def test_a_preview_that_is_not_for_them_is_withheld(host: PluginHost) -> None:
    """A tool for administrators tells its plans to nobody else."""
    from nr_llm import Actor

    runtime = Runtime(host, providers=[ScriptedProvider(calling(("launch", {})), "x")], model="scripted:")
    outcome = runtime.run("hi", tools=["launch"], actor=Actor("root", admin=True))
    assert isinstance(outcome, Suspended)
    text = shown(host, held_of(outcome.state))

    assert "secret plans" not in text
    assert "The preview is withheld" in text


def test_a_preview_of_a_tool_that_is_switched_off_by_its_address_is_withheld(tmp_path: Path) -> None:
    """The policy is asked as ever, by ``plugin:tool`` too."""
    path = tmp_path / "nr-llm.toml"
    path.write_text('[policy.tools]\n"shelf:drop" = false\n', "utf-8")
    config = read_config(path, trusted=True)
    waiting = held(PluginHost({"shelf": Shelf()}), ("drop", {"path": "x"}))

    assert "+new" in shown(PluginHost({"shelf": Shelf()}), waiting)
    assert "+new" not in shown(PluginHost({"shelf": Shelf()}, config=config, environ={}), waiting)


# -- what is answered -------------------------------------------------------------------------------------------


def test_each_call_is_decided(host: PluginHost) -> None:
    """One yes, one no; reads are not asked about, and what is no answer is asked again."""
    waiting = held(host, ("drop", {"path": "x"}), ("stock", {}), ("drop", {"path": "y"}))
    said = asker(host, "ok", "", " Y ", "no").decisions(waiting)

    assert said == (waiting.decision(0, approve=True), waiting.decision(2, approve=False))


@pytest.mark.parametrize("answers", [("y", "q"), ("y",), ("quit",)])
def test_leaving_decides_nothing(
    answers: tuple[str, ...], host: PluginHost, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even about the calls that were answered before."""
    waiting = held(host, ("drop", {"path": "x"}), ("drop", {"path": "y"}))

    assert asker(host, *answers).decisions(waiting) is None
    assert "Left waiting: nothing was decided." in capsys.readouterr().err


def test_arguments_are_changed_in_the_line(
    host: PluginHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What does not fit the tool is refused; the changed call is shown and asked about anew."""
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    waiting = held(host, ("drop", {"path": "x"}))
    edits = ("e", '{"times": 2}', "y", "[]", "y", "{", "y", '{"path": "y"}', "d", "y")
    said = asker(host, *edits).decisions(waiting)
    told = capsys.readouterr().err

    assert said == (waiting.decision(0, approve=True, arguments={"path": "y"}),)
    assert told.count("That cannot be used:\n  ") == 3
    assert "That cannot be used:\n  path: missing; expected text\n" in told
    assert '  With changed arguments:\n  "path": "y"\n' in told


@pytest.mark.parametrize("edits", [("e", ""), ("e", "[]", "n"), ("e", '{"path": "x"}')])
def test_a_change_can_be_given_up(edits: tuple[str, ...], host: PluginHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the call is the model's."""
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    waiting = held(host, ("drop", {"path": "x"}))

    assert asker(host, *edits, "y").decisions(waiting) == (waiting.decision(0, approve=True),)


def test_arguments_are_changed_in_an_editor(host: PluginHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets them as JSON, a line for each, in which nothing is invisible."""
    monkeypatch.setenv("VISUAL", "sed -i 's/u200bx/u200by/'")
    waiting = held(host, ("drop", {"path": "\u200bx"}))

    assert asker(host, "e", "y").decisions(waiting) == (
        waiting.decision(0, approve=True, arguments={"path": "\u200by"}),
    )


def test_without_a_store_nothing_is_changed(host: PluginHost, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, and asked again."""
    waiting = held(host, ("drop", {"path": "x"}))

    assert asker(host, "e", "n", edits=False).decisions(waiting) == (waiting.decision(0, approve=False),)
    assert "Arguments can be changed only where the run is kept" in capsys.readouterr().err


# -- forms ------------------------------------------------------------------------------------------------------


def test_a_form_is_asked_key_by_key(host: PluginHost, capsys: pytest.CaptureFixture[str]) -> None:
    """With type, whether it is required, default and description; what is left empty is left out."""
    waiting = held(host, ("order", {"article": "lamp"}))
    said = submissions(asker(host, "d", "y", "", "Ghent", "", "desk"), waiting)
    out, err = capsys.readouterr()

    assert said == (waiting.submission(0, {"city": "Ghent", "kind": "desk"}),)
    assert "  city (string, required): \n" in out
    assert '  floor (integer {"minimum":0}, may be left empty, default 1): \n' in out
    assert "  kind (one of door, desk, may be left empty): \n" in out
    assert "  Where to\n" in err
    assert '  city is required; "" is an empty text.\n' in err


def test_faults_are_said_and_asked_again(host: PluginHost, capsys: pytest.CaptureFixture[str]) -> None:
    """What was right stays on an empty line."""
    waiting = held(host, ("order", {"article": "lamp"}))
    said = submissions(asker(host, "y", "Ghent", "-1", "", "", "2", ""), waiting)
    out, err = capsys.readouterr()

    assert said == (waiting.submission(0, {"city": "Ghent", "floor": 2}),)
    assert "floor" in err
    assert 'now "Ghent"' in out


@pytest.mark.parametrize("answers", [("q",), ("y", "Ghent"), ("what",)])
def test_a_form_can_be_left(answers: tuple[str, ...], host: PluginHost) -> None:
    """Half a form is none."""
    assert submissions(asker(host, *answers), held(host, ("order", {"article": "lamp"}))) is None


def test_a_form_can_be_declined(host: PluginHost) -> None:
    """The model is told."""
    waiting = held(host, ("order", {"article": "lamp"}))

    assert submissions(asker(host, "n"), waiting) == (waiting.submission(0, None),)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "boolean"}, "boolean"),
        ({"type": ["string", "null"], "title": "T"}, '{"type":["string","null"]}'),
        ({"type": "array", "items": {"type": "string"}}, '{"type":"array","items":{"type":"string"}}'),
        ({"$ref": "#/$defs/kind"}, "one of a"),
        (True, "anything"),
    ],
)
def test_types_are_told(schema: Any, said: str) -> None:
    """In a word where there is one, else as the schema."""
    assert type_of(schema, {"$defs": {"kind": {"enum": ["a"]}}}) == said


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("2", {"type": "string"}, "2"),
        ("2", {"type": "integer"}, 2),
        ('""', {"type": "string"}, ""),
        ("two", {"type": "integer"}, "two"),
        ('["a"]', {"type": "array"}, ["a"]),
    ],
)
def test_a_line_stands_for_a_value(text: str, schema: Any, value: Any) -> None:
    """Text where the form takes text, else JSON; what is neither is left to the form's check."""
    assert value_of(text, schema, {}) == value


# -- on a terminal ----------------------------------------------------------------------------------------------

ASKED = "leave it waiting: "
ERASES = 'calling(("erase", {"path": "x\\u202e"})), "Erased."'


def terminal(path: Path, *arguments: str, keys: list[tuple[str, bytes]]) -> tuple[str, int]:
    """Run `run` on a terminal."""
    return on_terminal("run", "hi", "-m", "scripted:", "--plugin", path, *arguments, keys=keys, env={"NO_COLOR": "1"})


def test_a_person_is_asked_and_the_run_goes_on(tmp_path: Path) -> None:
    """The default on a terminal: shown, looked into, approved, answered."""
    path = plugin_file(tmp_path, ERASES)
    text, code = terminal(path, "-T", "erase", keys=[(ASKED, b"d\n"), (ASKED, b"maybe\n"), (ASKED, b"y\n")])

    assert code == 0, text
    assert 'Call 0: erase (the file script), write\n  "path": "x\\u202e"\n' in text
    assert "digest: " in text
    assert "nothing counts as a yes but y" in text
    assert text.count("Erased.\n") == 1
    assert "\u202e" not in text


@pytest.mark.parametrize("key", [b"q\n", b"\x04", b"\x03"])
def test_a_person_leaves(key: bytes, tmp_path: Path) -> None:
    """By q, Ctrl-D or Ctrl-C: nothing ran, and the code is that of a run that waits."""
    text, code = terminal(plugin_file(tmp_path, ERASES), "-T", "erase", keys=[(ASKED, key)])

    assert code == 7, text
    assert "Left waiting: nothing was decided." in text
    assert "erased" not in text


def test_a_person_declines(tmp_path: Path) -> None:
    """The model goes on without."""
    text, code = terminal(plugin_file(tmp_path, ERASES), "-T", "erase", keys=[(ASKED, b"n\n")])

    assert code == 0, text
    assert "not executed" in text


def test_a_person_who_wants_quiet_sees_what_they_decide_on(tmp_path: Path) -> None:
    """Nobody approves what they were not shown."""
    text, code = terminal(plugin_file(tmp_path, ERASES), "-T", "erase", "-q", keys=[(ASKED, b"y\n")])

    assert code == 0, text
    assert "Call 0: erase" in text
    assert "Model scripted" not in text


def test_programs_on_a_terminal_are_not_asked(tmp_path: Path) -> None:
    """Output for programs is not interrupted by questions."""
    text, code = terminal(plugin_file(tmp_path, ERASES), "-T", "erase", "--ndjson", keys=[])

    assert code == 7, text
    assert "awaiting_approval" in text


def test_a_form_is_filled_in_on_the_terminal(tmp_path: Path) -> None:
    """Key by key, and the tool gets it."""
    more = '''
FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

@tool(form=FORM)
def order(city: str = "") -> str:
    """Order."""
    return f"to {city}"
'''
    path = plugin_file(tmp_path, 'calling(("order", {})), lambda request: request.messages[-1].content', more=more)
    keys = [("[q]uit: ", b"y\n"), ("city (string, required): ", b"Ghent\n")]
    text, code = terminal(path, "-T", "order", keys=keys)

    assert code == 0, text
    assert "to Ghent\n" in text


def test_what_was_typed_before_is_no_answer(tmp_path: Path) -> None:
    """A yes that was typed while the model still wrote approves nothing: the question comes after it."""
    slow = 'lambda request: __import__("select").select([0], [], []) and calling(("erase", {"path": "x"})), "Over."'
    text, code = terminal(
        plugin_file(tmp_path, slow), "-T", "erase", keys=[("Model scripted", b"y\n"), (ASKED, b"n\n")]
    )

    assert code == 0, text
    assert "not executed" in text


def test_questions_nobody_reads_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal for the answers alone is not enough."""
    monkeypatch.setattr("sys.stdin", Terminal())
    assert not attended()
    monkeypatch.setattr("sys.stderr", Terminal())
    assert attended()
    assert asks(as_json=False, ndjson=False) == "ask"
    assert asks(as_json=True, ndjson=False) is None


class Terminal:
    """Says that it is one."""

    def isatty(self) -> bool:
        """Return that."""
        return True
