"""
Writes the recorded run that the playground shows to whoever has no model yet.

    python -m tests.plugins.playground.record_demo

A script answers in place of a model, and the shop is made up.  The times are made up too, so that the file is the
same on every machine and a test can hold it against this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nr_llm import Actor, MemoryStore, RunHistory, Runtime, ToolArtifact, ToolResult, tool
from nr_llm._json import encode_bytes
from nr_llm.feed import Feed, lines
from nr_llm.responses import CompletionResponse, Usage
from nr_llm.testing import ScriptedProvider, calling

from tests.support import ROOT

TARGET = ROOT / "plugins/playground/nr_llm_playground/demo.ndjson"
LABEL = "A recorded example of our own making: no model was asked, the shop is made up, and so are the times."
QUESTION = "Which articles are nearly out of stock? Order twenty of the one that sells best."
ANSWER = (
    "Five articles are nearly out of stock. The desk lamp sells best, with 31 sold in 30 days and 4 left, so I have "
    "ordered 20 of it; they are due in three days."
)
STOCK = [
    ["desk lamp", "lighting", 4, 31, 39.9, "2026-11-02"],
    ["floor lamp", "lighting", 2, 12, 89.0, "2026-10-19"],
    ["reading chair", "seating", 1, 3, 249.0, None],
    ["side table", "tables", 3, 17, 79.5, "2026-11-11"],
    ["wall clock", "decoration", 5, 22, 24.0, ""],
]
PAUSES = {"context": 0, "text": 45, "tool_call": 60, "step": 30, "tool_finished": 10}
"""Milliseconds before a line of a kind; any other comes at once."""
THINKING = 900
ANN = Actor("ann", admin=True)


@tool
def low_stock(most: int = 5) -> ToolResult:
    """List the articles of which at most so many are left."""
    columns = ["article", "group", "left", "sold in 30 days", "price", "last ordered"]
    rows = [row for row in STOCK if row[2] <= most]
    text = "\n".join(f"{row[0]}: {row[2]} left, {row[3]} sold in 30 days" for row in rows)
    return ToolResult.text(text, ToolArtifact.table("Articles with at most 5 left", columns, rows))


@tool(effect="write", preview=lambda article, count: [f"orders {count} × {article}", f"{article}: 4 left today"])
def order(article: str, count: int) -> str:
    """Order an article from its supplier."""
    return f"{count} × {article} ordered, due in three days"


def recorded() -> Iterator[dict[str, Any]]:
    """Yield the lines of both segments."""
    script = ScriptedProvider(
        calling(("low_stock", {"most": 5}), content="I look at what is left first.", usage=Usage(186, 31)),
        calling(("order", {"article": "desk lamp", "count": 20}), usage=Usage(301, 27)),
        CompletionResponse(content=ANSWER, usage=Usage(364, 48)),
    )
    store = MemoryStore()
    with Runtime(tools=[low_stock, order], providers=[script], model="scripted:demo", store=store) as runtime:
        more: dict[str, Any] = {"demo": True, "label": LABEL, "host": "this process", "local": True, "level": None}
        more |= {"configuration": None, "tools": ["low_stock", "order"], "rounds_limit": 5}
        more |= {"source": "demo", "filtered": False, "view_level": None}
        began = runtime.stream(QUESTION, tools=[low_stock, order], actor=ANN, run_id="demo", privacy="full")
        yield from map(json.loads, lines(began, Feed(), segment=0, **more))
        waiting = RunHistory(store, ANN).waiting("demo")
        assert waiting is not None
        yes = [waiting.decision(one.index, approve=True) for one in waiting.asked]
        went_on = runtime.stream_decide("demo", yes, by=ANN)
        yield from map(json.loads, lines(went_on, Feed(), segment=1, **more))


def timed(given: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield lines with times that are made up, in place of those of this machine."""
    now = 0
    for line in given:
        step = line.get("step", {})
        durations = {"llm": THINKING, "tool": 140}
        if "duration_ms" in step:
            step["duration_ms"] = float(durations.get(step["kind"], 0))
        if "seconds" in line:
            line["seconds"] = 0.14
        if step.get("kind") == "request":
            yield line | {"t": now}
            now += THINKING
            continue
        now += 2_000 if line.get("segment") == 1 else PAUSES.get(line["event"], 0)
        yield line | {"t": now}


def written() -> bytes:
    """Return the file."""
    return b"".join(encode_bytes(line) + b"\n" for line in timed(recorded()))


if __name__ == "__main__":
    Path(TARGET).write_bytes(written())
