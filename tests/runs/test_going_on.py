"""Stored conversations are gone on with, and runs within runs are kept by the same rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nr_llm import HOST, ChatMessage, RunHistory, RunQuery, tool
from nr_llm._json import encode
from nr_llm.testing import Harness, calling

from tests.runs.victim import look

store_plugin = pytest.importorskip("nr_llm_store", reason="the store plugin is not installed here")

MARKER = "plain-marker-3309"


@pytest.mark.lesson(19)
def test_a_conversation_with_tools(tmp_path: Path) -> None:
    """Another process goes on with it from the store: calls and results are there, and the tools are offered."""
    path = tmp_path / "runs.db"
    with Harness(tools=[look], store=store_plugin.SqlStore(path), privacy="full") as harness:
        harness.run("Look.", replies=[calling(("look", {"what": "a"})), "Seen."], tools=["look"])
    said = RunHistory(store_plugin.SqlStore(path), HOST).conversation("run-1")
    with Harness(tools=[look], store=store_plugin.SqlStore(path), privacy="full") as harness:
        settings: Any = {"tools": ["look"], "continues": "run-1", "run_id": "run-2"}
        again = harness.run(
            [*said, ChatMessage.user("Look again.")], replies=[calling(("look", {"what": "b"})), "Yes."], **settings
        )

    first = harness.provider.requests[0]
    assert [message.role for message in first.messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert [spec.name for spec in first.tools] == ["look"]
    assert [call.content for call in again.invocations] == ["saw b"]  # type: ignore[union-attr]
    assert RunHistory(store_plugin.SqlStore(path), HOST).conversation("run-2") == again.messages  # type: ignore[union-attr]


@pytest.mark.lesson(59)
@pytest.mark.parametrize("level", ["metadata", "full"])
def test_a_run_within_a_run(level: str, tmp_path: Path) -> None:
    """It has a record of its own, and keeps no more than the outer one."""
    store = store_plugin.SqlStore(tmp_path / "runs.db")

    @tool
    def ask_another() -> str:
        """Ask another model."""
        inner.run(MARKER, replies=[MARKER])
        return "asked"

    with Harness(store=store, privacy=level) as inner, Harness(store=store, privacy=level) as outer:
        outer.run(replies=[calling(("ask_another", {})), "done"], tools=[ask_another], run_id="outer")
    history = RunHistory(store, HOST)
    kept = {
        run.run_id: encode([step.to_dict() for step in history.steps(run.run_id)]) for run in history.find(RunQuery())
    }

    assert sorted(kept) == ["outer", "run-1"]
    assert MARKER not in kept["outer"]
    assert (MARKER in kept["run-1"]) is (level == "full")
