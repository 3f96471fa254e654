"""The parts of reporting that no ordinary run reaches."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, cast

import pytest
from nr_llm.artifacts import ArtifactType, ToolArtifact
from nr_llm.events import Event, Finished, TextDelta
from nr_llm.messages import ToolCall
from nr_llm.previews import CallPreview
from nr_llm.prices import Price
from nr_llm.redaction import Redactor
from nr_llm.responses import Usage
from nr_llm.runs import RunResult, Suspended
from nr_llm.state import PendingCall, RunState, TerminationReason
from nr_llm_cli.console import Console
from nr_llm_cli.exits import Exit
from nr_llm_cli.narrate import Narrator, show_artifact
from nr_llm_cli.report import Document, Lines
from nr_llm_cli.turn import About, _ended

ABOUT = About(run_id="r", model="scripted:x", host="this process", local=True)
DATA: dict[str, dict[str, Any]] = {
    "table": {"columns": ["a"], "rows": [[1]]},
    "text": {"text": "note"},
    "diff": {"before": "a", "after": "a", "lines": [["+", "x"]]},
}


@pytest.mark.parametrize("kind", list(ArtifactType))
def test_every_type_of_artifact_is_drawn(kind: ArtifactType, capsys: pytest.CaptureFixture[str]) -> None:
    """The closed set has a renderer for each member: none is shown as JSON."""
    show_artifact(Console(colour=False), ToolArtifact(kind, "Label", DATA[kind]))
    text = capsys.readouterr().err

    assert text.startswith("    Label\n    ")
    assert "{" not in text


def test_a_diff_is_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Names, then lines; what would act on a terminal is written out, and no colour is written to a file."""
    lines = [("@", "-1 +1"), ("-", "old\x1b[2J"), ("+", "new\u202e\n")]
    show_artifact(Console(), ToolArtifact.diff("Label", "a.txt", "a.txt", lines=lines))

    assert capsys.readouterr().err.splitlines() == [
        "    Label",
        "    --- a.txt",
        "    +++ a.txt",
        "    @@ -1 +1 @@",
        "    -old\\u001b[2J",
        "    +new\\u202e\\n",
    ]


def test_a_long_diff_is_cut_beside_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """And says how much more there is."""
    long = ToolArtifact.diff("Label", None, "a", lines=[("+", "x")] * 30)
    show_artifact(Console(colour=False), long, most=20)

    assert capsys.readouterr().err.endswith("    +x\n    … 12 more lines\n")


def test_a_diff_has_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Green is added, red is removed."""
    said: list[tuple[str, dict[str, Any]]] = []
    console = Console()
    monkeypatch.setattr(console, "say", lambda text="", **style: said.append((text, style)))
    show_artifact(console, ToolArtifact.diff("Label", "a", "a", lines=[("-", "x"), ("+", "y"), (" ", "z")]))

    assert said[3:] == [("    -x", {"fg": "red"}), ("    +y", {"fg": "green"}), ("     z", {})]


def test_a_call_that_waits_is_shown_with_its_preview(capsys: pytest.CaptureFixture[str]) -> None:
    """A person sees what it would do, with whatever acts on a terminal written out."""
    calls = [PendingCall(index=i, call=ToolCall(f"c{i}", "move", {"to": "b"})) for i in range(2)]
    previews = [CallPreview(index=1, tool="move", lines=["a -> b\x1b[2J", "2 bytes"])]
    state = RunState(run_id="r", model="scripted:x", pending=calls, previews=previews)
    Narrator(Console(colour=False)).finish(Suspended(state, tuple(calls)))

    assert capsys.readouterr().err.splitlines() == [
        '  waits: move {"to":"b"}',
        '  waits: move {"to":"b"}',
        "    a -> b\\u001b[2J",
        "    2 bytes",
    ]


def test_an_artifact_of_an_unknown_type_is_shown_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A stored artifact of a later version loses nothing."""
    show_artifact(Console(colour=False), ToolArtifact("chart", "Label", {"x": ["\x1b"]}))

    assert capsys.readouterr().err == '    Label\n    {"x":["\\u001b"]}\n'


def test_events_of_later_versions_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """An event nobody knows here is neither shown nor written."""
    later, written = cast(Event, object()), list[str]()
    for reporter in (Narrator(Console(colour=False)), Lines(written.append, Redactor()), Document(written.append)):
        reporter.begin(ABOUT)
        capsys.readouterr()
        reporter.event(later)

    assert [json.loads(line)["event"] for line in written] == ["context"]
    assert capsys.readouterr() == ("", "")


def test_a_document_is_written_once() -> None:
    """Somebody who interrupts the command while the document is on its way gets no second one."""
    result = RunResult(
        content="", messages=(), invocations=(), usage=Usage(), rounds=1, reason=TerminationReason.CANCELLED,
        truncated=True, run_id="r",
    )  # fmt: skip
    written = list[str]()
    document = Document(written.append)
    document.begin(ABOUT)
    document.event(Finished(result))
    document.interrupt(RunState(run_id="r", model="m"))

    assert [json.loads(line)["status"] for line in written] == ["cancelled"]


def test_deltas_are_no_data_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    """Into a pipe the answer goes as a whole, in the end."""
    Narrator(Console(colour=False)).event(TextDelta("hi"))

    assert capsys.readouterr().out == ""


def test_a_known_cost_is_told_after_one_round_too(capsys: pytest.CaptureFixture[str]) -> None:
    """A run whose price is known ends with what it cost, however short it was."""
    result = RunResult(
        content="x", messages=(), invocations=(), usage=Usage(1_000_000, 0), rounds=1,
        reason=TerminationReason.COMPLETED, truncated=False, run_id="r", cost=Decimal(2),
        price=Price(input=2, output=1),
    )  # fmt: skip
    Narrator(Console(colour=False)).finish(result)

    assert capsys.readouterr().err == "total: 1 round, 0 calls, tokens: 1000000 in, 0 out, cost: 2.0000 USD\n"


@pytest.mark.parametrize("reason", [reason for reason in TerminationReason if reason.budget])
def test_a_spent_budget_is_named(reason: TerminationReason) -> None:
    """A run that a budget ended says which, with the code of a bound."""
    result = RunResult(
        content="", messages=(), invocations=(), usage=Usage(), rounds=1, reason=reason, truncated=True, run_id="r"
    )
    failure = _ended(result).failure

    assert failure is not None
    assert failure.exit is Exit.BOUND
    assert not failure.message.startswith("The run ended early")
