"""The recorded run that the page shows without any model."""

from __future__ import annotations

import asyncio
import json

from nr_llm_playground.demo import demo_lines

from tests.plugins.playground.record_demo import LABEL, TARGET, written
from tests.plugins.playground.shop import opened


def test_the_file_is_what_its_writer_writes() -> None:
    """A change of the feed changes the recording: run `python -m tests.plugins.playground.record_demo`."""
    assert TARGET.read_bytes() == written()


def test_it_says_what_it_is() -> None:
    """Each segment is labelled as made up, names no service, and has one end; times only grow."""
    lines = [json.loads(line) for line in demo_lines()]
    heads = [line for line in lines if line["event"] == "context"]
    steps = [line["step"] for line in lines if line["event"] == "step"]

    assert [(head["demo"], head["label"], head["model"]) for head in heads] == [(True, LABEL, "scripted:demo")] * 2
    assert [line["event"] for line in lines if line["event"] in {"awaiting_approval", "done"}] == [
        "awaiting_approval",
        "done",
    ]
    assert lines[-1]["event"] == "done"
    assert [line["t"] for line in lines] == sorted(line["t"] for line in lines)
    assert any("tool_artifacts" in step for step in steps)


def test_it_is_served() -> None:
    """To whoever may use the page."""

    async def main() -> None:
        async with opened("hello") as (client, _, runtime):
            reply = await client.get("/api/demo")
            assert reply.body == b"".join(demo_lines())
            assert runtime.provider("scripted").requests == []  # type: ignore[union-attr]

    asyncio.run(main())
