"""`nr-llm chat`: question after question, from a pipe or a person."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import Result
from nr_llm_cli.commands.chat import lines
from nr_llm_cli.console import Console

from tests.plugins.cli.kept import Shop, open_shop
from tests.plugins.cli.shell import invoke, on_terminal, plugin_file

COUNTS = 'lambda r: f"{r.messages[-1].content}: {len(r.messages)} messages"'
WAITS = '''
@tool
def wait(context: ToolContext) -> str:
    """Wait."""
    context.progress("waiting")
    context.cancelled.wait()
    return "done"
'''


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A store that is installed, in memory."""
    return open_shop(tmp_path, monkeypatch)


def chat(path: Path, lines: str, *arguments: str) -> Result:
    """Hold a conversation from a pipe."""
    return invoke("chat", "-m", "scripted:", "--plugin", path, *arguments, stdin=lines)


def test_each_question_comes_with_all_before_it(tmp_path: Path) -> None:
    """The model is given what was said before; answers alone are on stdout; blank lines ask nothing."""
    result = chat(plugin_file(tmp_path, COUNTS), "one\n\ntwo\n")

    assert result.exit_code == 0
    assert result.stdout == "one: 1 messages\ntwo: 3 messages\n"
    assert result.stderr.count("Model scripted:script") == 1


def test_an_instruction_is_given_once(tmp_path: Path) -> None:
    """`-s` stands in front of the whole conversation."""
    assert chat(plugin_file(tmp_path, COUNTS), "one\ntwo\n", "-q", "-s", "Be kind.").output == (
        "one: 2 messages\ntwo: 4 messages\n"
    )


def test_commands_are_no_questions(tmp_path: Path) -> None:
    """/tools lists the tools on offer, /new forgets, /help and unknown ones list the commands, /exit leaves."""
    result = chat(plugin_file(tmp_path, COUNTS), "one\n/tools\n/new\n/help\n/nope\ntwo\n/exit\nthree\n")

    assert result.stdout == "one: 1 messages\ntwo: 1 messages\n"
    assert "add\n" in result.stderr
    assert "There is no command '/nope'; there are:\n" in result.stderr
    assert result.stderr.count("What was said before is left behind.") == 1
    assert "/help lists" not in result.stderr, "nobody types at a pipe"
    assert result.stderr.count("/exit    leave") == 2


def test_no_tools_are_listed_as_none(tmp_path: Path) -> None:
    """A conversation without tools says so."""
    assert "none\n" in chat(plugin_file(tmp_path, COUNTS), "/tools\n", "-T", "none").stderr


@pytest.mark.parametrize(
    ("replies", "arguments", "code"),
    [
        ('ServiceError("broke")', (), 4),
        ('calling(("erase", {"path": "x"}))', ("-T", "erase"), 7),
        ('calling(("add", {"a": 1, "b": 2}))', ("--max-rounds", "1"), 6),
    ],
)
def test_a_pipe_stops_at_the_first_failure(replies: str, arguments: tuple[str, ...], code: int, tmp_path: Path) -> None:
    """Nobody is there to decide what to do, so the code says how it ended."""
    result = chat(plugin_file(tmp_path, replies), "one\ntwo\n", *arguments)

    assert result.exit_code == code
    assert result.stderr.count("Error: ") == 1


def test_an_unknown_model_is_told_before_the_first_question(tmp_path: Path) -> None:
    """One does not type a question in vain."""
    result = invoke("chat", "-m", "nobody:", "--plugin", plugin_file(tmp_path, COUNTS), stdin="")

    assert result.exit_code == 3


def test_a_person_talks(tmp_path: Path) -> None:
    """On a terminal there is a prompt, failures do not end the conversation, Ctrl-D does."""
    replies = f'{COUNTS}, ServiceError("broke"), calling(("erase", {{"path": "x"}})), {COUNTS}'
    keys = [
        ("/help lists what else there is", b""),
        ("> ", b"one\n"),
        ("> ", b"two\n"),
        ("broke", b""),
        ("> ", b"three\n"),
        ("Approve call 0?", b"q\n"),
        ("approve erase", b""),
        ("> ", b"four\n"),
        ("four: 3 messages", b""),
        ("> ", b"\x04"),
    ]
    path = plugin_file(tmp_path, replies)
    text, code = on_terminal("chat", "-m", "scripted:", "--plugin", path, "-T", "erase", keys=keys)

    assert code == 0
    assert "one: 1 messages" in text
    assert "Error: broke" in text
    assert text.count("Error: ") == 1, "what was left waiting by choice is none"
    assert "four: 3 messages" in text


def test_a_person_can_send_the_answers_elsewhere(tmp_path: Path) -> None:
    """With stdout in a file the prompt is on the terminal all the same, and the file has answers alone."""
    answers = tmp_path / "answers.txt"
    keys = [("> ", b"one\n"), ("> ", b"/exit\n")]
    text, code = on_terminal(
        "chat", "-m", "scripted:", "--plugin", plugin_file(tmp_path, COUNTS), keys=keys, to=answers
    )

    assert code == 0
    assert "one: 1 messages" not in text
    assert answers.read_text(encoding="utf-8") == "one: 1 messages\n"


def test_ctrl_c_stops_an_answer_and_not_the_conversation(tmp_path: Path) -> None:
    """The interrupted turn stays in the conversation, its call answered."""
    replies = f'calling(("wait", {{}})), {COUNTS}'
    keys = [
        ("> ", b"one\n"),
        ("wait: waiting", b"\x03"),
        ("Interrupted", b""),
        ("> ", b"two\n"),
        ("two: 4 messages", b""),
        ("> ", b"/exit\n"),
    ]
    path = plugin_file(tmp_path, replies, more=WAITS)
    text, code = on_terminal("chat", "-v", "-m", "scripted:", "--plugin", path, keys=keys)

    assert code == 0
    assert "Interrupted after 1 round and 1 call, 1 of them failed or interrupted" in text
    assert "two: 4 messages" in text


class Keyboard(io.StringIO):
    """A terminal's stdin."""

    def isatty(self) -> bool:
        return True


def test_ctrl_c_at_the_prompt_only_drops_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The way out is told, and the next line is read."""
    typed = iter([KeyboardInterrupt(), "one", EOFError()])

    def read() -> str:
        item = next(typed)
        if isinstance(item, BaseException):
            raise item
        return item

    monkeypatch.setattr("sys.stdin", Keyboard())
    monkeypatch.setattr("builtins.input", read)

    assert list(lines(Console(colour=False))) == ["one"]
    assert "/exit or Ctrl-D leaves.\n" in capsys.readouterr().err


class TestKept:
    """Where a store is installed."""

    def test_each_answer_is_a_run_that_goes_on_with_the_one_before(self, shop: Shop) -> None:
        """The record says so, and on whose behalf they ran; a new conversation goes on with none."""
        result = shop.chat("one\ntwo\n/new\nthree\n", replies=COUNTS)
        third, second, first = shop.runs()

        assert result.stdout == "one: 1 messages\ntwo: 3 messages\nthree: 1 messages\n"
        assert [run.head.continues for run in (first, second, third)] == [None, first.run_id, None]
        assert [run.head.privacy for run in shop.runs()] == ["metadata"] * 3
        assert first.head.actor

    def test_nothing_is_kept_where_that_is_wished(self, shop: Shop) -> None:
        """Listing the tools keeps nothing either."""
        shop.chat("one\n", "--no-store")
        shop.chat("/tools\n")

        assert shop.runs() == []

    def test_a_conversation_of_another_day_is_gone_on_with(self, shop: Shop) -> None:
        """The first question comes with what was said then, and is kept as the run before was."""
        shop.chat("one\ntwo\n", "--privacy", "full", replies=COUNTS)
        result = shop.chat("three\n", "-c", replies=COUNTS)
        third, second, _ = shop.runs()

        assert result.stdout == "three: 5 messages\n"
        assert (third.head.continues, third.head.privacy) == (second.run_id, "full")

    def test_an_answer_that_failed_is_not_gone_on_with(self, shop: Shop) -> None:
        """A run that waits keeps its question; the next question goes on with the run before it."""
        keys = [("> ", b"one\n"), ("> ", b"two\n"), ("approve erase", b""), ("> ", b"three\n"), ("> ", b"\x04")]
        path = plugin_file(shop.folder, f'{COUNTS}, calling(("erase", {{"path": "x"}})), {COUNTS}')
        env = {"NR_LLM_HOME": str(shop.folder / "home")}
        text, code = on_terminal(
            "chat", "-m", "scripted:", "--plugin", path, "-T", "erase", "--approve", "reads", keys=keys, env=env
        )

        assert code == 0
        assert "three: 3 messages" in text

    def test_an_instruction_for_a_conversation_that_has_begun_is_refused(self, shop: Shop) -> None:
        """It would stand in the middle."""
        result = shop.chat("", "-c", "-s", "Be kind.")

        assert result.exit_code == 2
        assert "-s belongs to the first question" in result.stderr


def test_a_person_is_asked_about_a_call(tmp_path: Path) -> None:
    """The call is shown, decided on, and the conversation goes on with what came of it."""
    replies = f'calling(("erase", {{"path": "x"}})), {COUNTS}, {COUNTS}'
    keys = [
        ("> ", b"one\n"),
        ("Approve call 0?", b"y\n"),
        ("erased x: 3 messages", b""),
        ("> ", b"two\n"),
        ("two: 5 messages", b""),
        ("> ", b"/exit\n"),
    ]
    path = plugin_file(tmp_path, replies)
    text, code = on_terminal("chat", "-m", "scripted:", "--plugin", path, "-T", "erase", keys=keys)

    assert code == 0
    assert "erase" in text
