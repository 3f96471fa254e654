"""Steps are appended to a file as they happen, as the run's privacy level leaves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nr_llm_store
import pytest
from nr_llm import PluginHost, Runtime
from nr_llm.config import Config, Table
from nr_llm.testing import ScriptedProvider

MARKER = "plain-marker-3309"


def runtime(path: Path | None, **settings: Any) -> Runtime:
    """Return a Runtime whose runs are logged to a file, if there is one."""
    values = {} if path is None else {"log": str(path)}
    config = Config(observe=("store",), tables={"store": (Table(values),)})
    host = PluginHost({"store": nr_llm_store}, config=config, environ={})
    provider = ScriptedProvider()
    provider.script(MARKER)
    return Runtime(host, providers=[provider], model="scripted:", **settings)


@pytest.mark.parametrize("level", ["metadata", "full"])
def test_lines(tmp_path: Path, level: str) -> None:
    """One for each step and one for the end of each run, in a file of the user's own."""
    path = tmp_path / "new" / "runs.ndjson"
    with runtime(path, privacy=level) as own:
        own.run(MARKER, tools=[], run_id="a")
        own.run(MARKER, tools=[], run_id="b")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    assert [(line["run_id"], line.get("kind")) for line in lines] == [
        (run_id, kind) for run_id in "ab" for kind in ("request", "llm", None)
    ]
    assert (lines[2]["end"]["reason"], lines[2]["end"]["rounds"]) == ("completed", 1)
    assert (MARKER in path.read_text("utf-8")) is (level == "full")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_no_file(tmp_path: Path) -> None:
    """Without one nothing is written."""
    with runtime(None) as own:
        own.run("hi", tools=[])

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The run goes on; it is told once."""
    (tmp_path / "taken").write_text("")
    with runtime(tmp_path / "taken" / "runs.ndjson") as own:
        assert own.run("hi", tools=[]).content == MARKER  # type: ignore[union-attr]

    assert caplog.text.count("switched off") == 1
