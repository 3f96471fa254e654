"""The runs that were: listed, found, shown again and exported, each as far as it was kept and is theirs to see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import attrs
import pytest
from nr_llm import MemoryStore, PrivacyLevel, RunStatus
from nr_llm.records import RunChange, RunHead, StoredStep
from nr_llm.testing import calling
from nr_llm_cli import exported
from nr_llm_playground import Caps
from nr_llm_playground.past import PROMPT_CHARACTERS

from tests.plugins.playground.client import Exchange
from tests.plugins.playground.shop import ANN, ORDER, SENDS, opened

BODY = {"prompt": "How many lamps?"}


def kept(store: MemoryStore, run_id: str, *, status: str = "completed", **change: Any) -> None:
    """Keep a run that has a status, and no steps."""
    known = {name: change.pop(name) for name in ("began", "privacy") if name in change}
    head = RunHead(run_id=run_id, model="scripted:demo", actor=ANN, **({"began": 100.0} | known))
    start = RunChange(run_id=run_id, at=100.0)
    store.create(head, start)
    end = RunChange(run_id=run_id, at=101.5, status=RunStatus(status), **change)
    assert store.write(end).applied


class TestList:
    """The list of runs."""

    def test_a_run_in_it(self) -> None:
        """What it used, how it ended, what was asked where that was kept, and nothing of its packages."""

        async def main() -> None:
            async with opened("Twelve.", user="ann") as (client, _, _):
                for level in ("metadata", "full"):
                    await client.post("/api/runs", BODY | {"privacy": level})
                full, metadata = (await client.get("/api/runs")).json()["runs"]
                assert (full["level"], full["prompt"]) == ("full", "How many lamps?")
                assert (metadata["level"], metadata["prompt"]) == ("metadata", None)
                assert (full["status"], full["reason"], full["rounds"]) == ("completed", "completed", 1)
                assert full["actor"]["id"] == "ann"
                assert "provenance" not in full

        asyncio.run(main())

    def test_a_long_question(self) -> None:
        """It is cut; of one with an image the text is shown."""

        async def main() -> None:
            async with opened("ok", privacy="full") as (client, _, _):
                await client.post("/api/runs", {"prompt": "x" * 500})
                part = {"type": "text", "text": "what is this?"}
                image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
                await client.post("/api/runs", {"messages": [{"role": "user", "content": [part, image]}]})
                image_run, text_run = (await client.get("/api/runs")).json()["runs"]
                assert image_run["prompt"].strip() == "what is this?"
                assert text_run["prompt"] == "x" * PROMPT_CHARACTERS

        asyncio.run(main())

    def test_a_run_without_a_question(self) -> None:
        """One that ended before it asked anything has none."""

        async def main() -> None:
            store = MemoryStore()
            kept(store, "r", privacy="full")
            async with opened("ok", store=store) as (client, _, _):
                [run] = (await client.get("/api/runs")).json()["runs"]
                assert (run["run_id"], run["prompt"]) == ("r", None)

        asyncio.run(main())

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", ["e", "d", "c", "b", "azure"]),
            ("status=completed", ["c", "b", "azure"]),
            ("status=completed,failed", ["d", "c", "b", "azure"]),
            ("configuration=careful", []),
            ("text=ZURE", ["azure"]),
            ("text=scripted", ["e", "d", "c", "b", "azure"]),
            ("text=ANN", ["e", "d", "c", "b", "azure"]),
            ("text=nothing", []),
            ("limit=2", ["e", "d"]),
            ("limit=0", ["e", "d", "c", "b", "azure"]),
        ],
    )
    def test_filters(self, query: str, found: list[str]) -> None:
        """By status, configuration and text."""

        async def main() -> None:
            store = MemoryStore()
            for number, name in enumerate(("azure", "b", "c")):
                kept(store, name, began=100.0 + number)
            kept(store, "d", status="failed", began=103.0)
            kept(store, "e", status="running", began=104.0)
            async with opened("ok", store=store) as (client, _, _):
                reply = (await client.get(f"/api/runs?{query}")).json()
                assert [run["run_id"] for run in reply["runs"]] == found

        asyncio.run(main())

    @pytest.mark.parametrize("text", ["", "a"])
    def test_pages(self, text: str) -> None:
        """Each begins where the one before ended, also among runs that began at the same time; none is lost."""

        async def main() -> None:
            store = MemoryStore()
            names = [f"a{number:02}" for number in range(23)]
            for number, name in enumerate(names):
                kept(store, name, began=100.0 + number // 10)
            async with opened("ok", store=store) as (client, _, _):
                seen, mark = [], ""
                for _ in range(9):
                    page = (await client.get(f"/api/runs?limit=5&text={text}&before={mark}")).json()
                    seen += [run["run_id"] for run in page["runs"]]
                    mark = page["next"]
                    if mark is None:
                        break
                assert seen == sorted(names, reverse=True)
                assert mark is None

        asyncio.run(main())


class Counting(MemoryStore):
    """A store that says which steps it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []

    def steps(self, run_id: str, *, after: int = -1, limit: int | None = None) -> Sequence[StoredStep]:
        """Return steps of a run, and remember from where on."""
        self.read.append(after)
        return super().steps(run_id, after=after, limit=limit)


async def told(feed: Exchange) -> AsyncIterator[dict[str, Any]]:
    """Yield the lines of a feed to its end."""
    while (line := await feed.line()) is not None:
        yield line


class TestStored:
    """A run that is over, from its record."""

    def test_its_feed(self) -> None:
        """The steps as they were kept, numbered through over all segments, and the end with the answer."""

        async def main() -> None:
            store = MemoryStore()
            async with opened(ORDER, "gone", store=store, privacy="full") as (client, _, _):
                run_id = (await client.post("/api/runs", BODY | {"tools": ["stock", "remove"]})).lines[0]["run_id"]
                pending = (await client.get(f"/api/runs/{run_id}")).json()["pending"]
                rows = [{"index": 1, "approve": True, "digest": pending[1]["digest"]}]
                await client.post(f"/api/runs/{run_id}/decide", {"decisions": rows})
            async with opened("ok", store=store) as (client, _, _):
                feed = await client.get(f"/api/runs/{run_id}/events?after=7")
                first, *steps, last = feed.lines
                assert (first["source"], first["level"], first["filtered"]) == ("store", "full", False)
                kinds = [line["step"]["kind"] for line in steps]
                assert kinds == ["request", "llm", "approval", "approval", "tool", "tool", "request", "llm"]
                assert [line["seq"] for line in feed.lines] == list(range(len(feed.lines)))
                assert all(line["t"] >= 0 for line in feed.lines)
                assert steps[4]["step"]["tool_artifacts"][0]["label"] == "Stock"
                assert (last["event"], last["content"], last["reason"]) == ("done", "gone", "completed")
                assert last["usage"] == {}
                known = (await client.get(f"/api/runs/{run_id}")).json()
                assert (known["replayable"], known["why_not"], known["live"]) == (True, None, False)

        asyncio.run(main())

    def test_a_long_one(self) -> None:
        """It is read a few steps at a time, as its reader takes them, and no line is longer than the bound."""

        async def main() -> None:
            store = Counting()
            turns = [calling(("stock", {"article": f"lamp {number}" + " of brass" * 300})) for number in range(12)]
            async with opened(*turns, "done", store=store, privacy="full") as (client, _, _):
                body = BODY | {"tools": ["stock"], "limits": {"rounds": 20}}
                run_id = (await client.post("/api/runs", body)).lines[0]["run_id"]
            async with opened("ok", store=store, caps=Caps(line_bytes=16_000)) as (client, _, _):
                store.read.clear()
                async with client.watching("GET", f"/api/runs/{run_id}/events", stalled=True) as feed:
                    for _ in range(20):  # as often as something could be read meanwhile
                        await asyncio.to_thread(int)
                    assert len(store.read) <= 1
                    feed.takes.set()
                    lines = [line async for line in told(feed)]
                assert len(store.read) == 3
                assert [line["seq"] for line in lines] == list(range(len(lines)))
                assert sum(line["event"] == "step" for line in lines) == 12 * 3 + 2
                assert (lines[-1]["event"], lines[-1]["content"]) == ("done", "done")
                assert max(len(line) for line in feed.reply.body.splitlines(keepends=True)) <= 16_000
                assert any(line.get("cut") for line in lines)

        asyncio.run(main())

    def test_below_full(self) -> None:
        """What was not kept is not there, and why there is no replay is said."""

        async def main() -> None:
            store = MemoryStore()
            async with opened("my secret", store=store, user="ann") as (client, _, _):
                run_id = (await client.post("/api/runs", BODY)).lines[0]["run_id"]
            async with opened("ok", store=store, user="ann") as (client, _, _):
                feed = await client.get(f"/api/runs/{run_id}/events")
                known = (await client.get(f"/api/runs/{run_id}")).json()
                assert b"secret" not in feed.body
                assert feed.lines[-1]["content_length"] == 9
                assert (feed.lines[0]["filtered"], feed.lines[0]["view_level"]) == (True, "metadata")
                assert known["replayable"] is False
                assert "'metadata'" in known["why_not"]

        asyncio.run(main())

    @pytest.mark.parametrize(
        ("status", "reason", "error", "event"),
        [
            ("completed", "completed", None, "done"),
            ("completed", "max_rounds", None, "done"),
            ("completed", "tokens_exhausted", None, "budget"),
            ("completed", "a_newer_word", None, "error"),
            ("completed", None, None, "error"),
            ("cancelled", "cancelled", None, "cancelled"),
            ("failed", "failed", "ServiceError", "error"),
            ("failed", "policy_denied", "no_names", "guardrail_blocked"),
            ("failed", "approval_denied", "no_names", "guardrail_approval_required"),
            ("running", None, None, "unfinished"),
            ("queued", None, None, "unfinished"),
        ],
    )
    def test_its_end(self, status: str, reason: str | None, error: str | None, event: str) -> None:
        """Every status and reason has its line, and what nobody knows is no success."""

        async def main() -> None:
            store = MemoryStore()
            kept(store, "r", status=status, reason=reason, error=error)
            async with opened("ok", store=store) as (client, _, _):
                *_, last = (await client.get("/api/runs/r/events")).lines
                assert last["event"] == event
                if event == "error":
                    assert last["error"]["class"] == (error or "unknown")
                if event.startswith("guardrail"):
                    assert last["guardrail"] == "no_names"
                if event == "unfinished":
                    assert last["status"] == status

        asyncio.run(main())

    def test_a_status_of_a_newer_version(self) -> None:
        """It is shown as it is, and no success is made of it."""

        class Newer(MemoryStore):
            def run(self, run_id: str) -> Any:
                found = super().run(run_id)
                return None if found is None else attrs.evolve(found, raw_status="dreaming")

        async def main() -> None:
            store = Newer()
            kept(store, "r")
            async with opened("ok", store=store) as (client, _, _):
                *_, last = (await client.get("/api/runs/r/events")).lines
                assert (last["event"], last["status"]) == ("unfinished", "dreaming")

        asyncio.run(main())

    def test_a_run_that_waits_for_input(self) -> None:
        """Its last line has the form."""

        async def main() -> None:
            store = MemoryStore()
            async with opened(SENDS, store=store, user="ann") as (client, _, _):
                run_id = (await client.post("/api/runs", BODY | {"tools": ["send"]})).lines[0]["run_id"]
            async with opened("ok", store=store, user="ann") as (client, _, _):
                feed = await client.get(f"/api/runs/{run_id}/events")
                assert feed.lines[-1]["event"] == "awaiting_input"
                assert feed.lines[-1]["pending"][0]["form"]["required"] == ["city"]

        asyncio.run(main())

    def test_arguments_that_could_not_be_read(self) -> None:
        """A call whose arguments are no JSON is shown as what the model wrote."""

        async def main() -> None:
            from nr_llm import ToolCall

            turn = calling(ToolCall("c0", "send", malformed="{oops"), ("remove", {"article": "a"}))
            async with opened(turn) as (client, _, _):
                run_id = (await client.post("/api/runs", BODY | {"tools": ["send", "remove"]})).lines[0]["run_id"]
                pending = (await client.get(f"/api/runs/{run_id}")).json()["pending"]
                assert [call.get("malformed") for call in pending] == ["{oops", None]

        asyncio.run(main())


class TestExport:
    """The record as a file."""

    def test_as_stored(self) -> None:
        """The same as on the command line, line by line or as one object."""

        async def main() -> None:
            async with opened("Twelve.", user="ann", privacy="full") as (client, _, runtime):
                run_id = (await client.post("/api/runs", BODY)).lines[0]["run_id"]
                lines = await client.get(f"/api/runs/{run_id}/export")
                whole = await client.get(f"/api/runs/{run_id}/export?form=json")
                assert runtime.store is not None
                run = runtime.store.run(run_id)
                assert run is not None
                assert lines.lines == json.loads(json.dumps(list(exported.records(runtime.store, run))))
                assert whole.json() == json.loads(json.dumps(exported.whole(runtime.store, run)))
                for reply, form in ((lines, "ndjson"), (whole, "json")):
                    assert reply.headers["content-disposition"] == f'attachment; filename="{run_id}.{form}"'
                    assert reply.headers["cache-control"] == "no-store"

        asyncio.run(main())

    def test_another_form(self) -> None:
        """There are two."""

        async def main() -> None:
            async with opened("ok") as (client, _, _):
                reply = await client.get("/api/runs/r/export?form=html")
                assert (reply.status, reply.code) == (400, "invalid")

        asyncio.run(main())

    def test_an_odd_name(self) -> None:
        """It cannot say anything but a name."""

        async def main() -> None:
            store = MemoryStore()
            kept(store, 'a"; x=\r\n"ü')
            async with opened("ok", store=store) as (client, _, _):
                reply = await client.get('/api/runs/a"; x=\r\n"ü/export')
                assert reply.headers["content-disposition"] == 'attachment; filename="a___x_____.ndjson"'

        asyncio.run(main())


class TestViews:
    """How much somebody sees of a run while it happens."""

    @pytest.mark.parametrize(
        ("user", "level", "whole"),
        [
            ("root", "metadata", True),
            ("root", "none", True),
            ("ann", "metadata", False),
            ("ann", "redacted", False),
            ("ann", "full", True),
        ],
    )
    def test_live(self, user: str, level: str, whole: bool) -> None:
        """An administrator sees steps whole, others what the level leaves; the first line says which."""

        async def main() -> None:
            script = calling(("stock", {"article": "me@example.org"}))
            async with opened(script, "mail me@example.org", user=user, privacy=level) as (client, _, _):
                reply = await client.post("/api/runs", BODY)
                assert (b"me@example.org" in reply.body) is whole
                assert reply.lines[0]["filtered"] is not whole
                assert reply.lines[0]["view_level"] == (None if whole else level)
                assert reply.lines[0]["level"] == level
                assert ("text" in [line["event"] for line in reply.lines]) is whole

        asyncio.run(main())

    def test_one_run_seen_by_two(self) -> None:
        """Its owner sees less of it than an administrator does, at the same time."""

        async def main() -> None:
            async with opened("my secret", user="ann") as (ann, _, _):
                mine = await ann.post("/api/runs", BODY)
                run_id = mine.lines[0]["run_id"]
                theirs = await ann.with_headers(x_user="root").get(f"/api/runs/{run_id}/events")
                assert b"secret" not in mine.body
                assert b"my secret" in theirs.body
                assert mine.lines[-1]["event"] == theirs.lines[-1]["event"] == "done"

        asyncio.run(main())

    def test_levels_are_members(self) -> None:
        """The tests above name them all but one."""
        assert set(PrivacyLevel) == {"none", "metadata", "redacted", "full"}
