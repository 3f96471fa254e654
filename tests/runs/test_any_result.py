"""Whatever a tool returns or raises goes through store, export and replay: nothing raises and nothing is lost."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nr_llm import HOST, RunHistory, RunResult, ToolArtifact, ToolError, ToolResult, replay
from nr_llm._json import encode
from nr_llm.testing import Harness, calling

from tests.integration.depth import tried
from tests.integration.test_any_result import Act, acts, deep, raising, returning, tool

store_plugin = pytest.importorskip("nr_llm_store", reason="the store plugin is not installed here")

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return one store for all examples."""
    store = store_plugin.SqlStore(tmp_path_factory.mktemp("runs") / "runs.db")
    yield store
    store.close()


@pytest.mark.lesson(69)
@pytest.mark.parametrize("level", ["full", "redacted", "metadata"])
@tried(100)
@given(act=acts, writes=st.booleans(), awaiting=st.booleans())
@example(act=returning(ToolResult.text("x", ToolArtifact("text", "t", {"text": 10**5000}))), writes=True, awaiting=True)
@example(act=returning(ToolResult.text("\ud83d\0", ToolArtifact("text", "\0", deep(64)))), writes=False, awaiting=False)
@example(act=returning("x" * 10_000_000), writes=False, awaiting=False)
@example(
    act=returning(ToolResult.text("", ToolArtifact("text", "t", {"text": "x" * 10_000_000}))),
    writes=True,
    awaiting=True,
)
@example(act=raising(ToolError("\ud83d" * 60_000)), writes=True, awaiting=True)
def test_nothing_is_lost(store: Any, level: str, act: Act, writes: bool, awaiting: bool) -> None:
    """The record holds what the live observer saw, or what its level leaves of it; a replay comes out the same."""
    tools = [tool(act, "first", effect="write" if writes else "read"), tool(act, "second")]
    run_id = f"run-{next(NUMBERS)}"
    settings: dict[str, Any] = {
        "replies": [calling(("first", {}), ("second", {})), "the answer"],
        "tools": tools,
        "run_id": run_id,
        "privacy": level,
    }
    with Harness(store=store) as harness:
        result = asyncio.run(harness.arun(**settings)) if awaiting else harness.run(**settings)
        live = [json.loads(encode(step.to_dict())) for step in harness.steps]

    assert isinstance(result, RunResult)
    history = RunHistory(store, HOST)
    kept = [json.loads(encode(step.step.to_dict())) for step in history.steps(run_id)]
    assert [step["kind"] for step in kept] == [step["kind"] for step in live]
    if level == "full":
        assert kept == live
        assert history.conversation(run_id) == result.messages
        assert replay(history, run_id).same
    else:
        shown = [step.get("tool_artifacts") for step in live]
        counted = [step.get("tool_artifacts_count", len(step.get("tool_artifacts", ()))) for step in kept]
        assert counted == [len(artifacts or ()) for artifacts in shown]
