"""The parts of reporting that no ordinary run reaches."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from nr_llm.artifacts import ArtifactType, ToolArtifact
from nr_llm.events import Event, Finished, TextDelta
from nr_llm.redaction import Redactor
from nr_llm.responses import Usage
from nr_llm.runs import RunResult
from nr_llm.state import RunState, TerminationReason
from nr_llm_cli.console import Console
from nr_llm_cli.narrate import Narrator, show_artifact
from nr_llm_cli.report import Document, Lines
from nr_llm_cli.turn import About

ABOUT = About(run_id="r", model="scripted:x", host="this process", local=True)
DATA: dict[str, dict[str, Any]] = {"table": {"columns": ["a"], "rows": [[1]]}, "text": {"text": "note"}}


@pytest.mark.parametrize("kind", list(ArtifactType))
def test_every_type_of_artifact_is_drawn(kind: ArtifactType, capsys: pytest.CaptureFixture[str]) -> None:
    """The closed set has a renderer for each member: none is shown as JSON."""
    show_artifact(Console(colour=False), ToolArtifact(kind, "Label", DATA[kind]))
    text = capsys.readouterr().err

    assert text.startswith("    Label\n    ")
    assert "{" not in text


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
