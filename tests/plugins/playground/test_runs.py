"""Runs on the page: begun, watched, left and watched again, stopped; each segment ends in one honest line."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from nr_llm import AuthenticationError, Limits, StoreError
from nr_llm.feed import Feed
from nr_llm.testing import calling
from nr_llm_playground import Caps
from nr_llm_playground.live import UNTOLD

from tests.plugins.playground.client import Client
from tests.plugins.playground.shop import ORDER, Gate, ended, opened

LAST = {
    "done",
    "awaiting_approval",
    "awaiting_input",
    "cancelled",
    "error",
    "budget",
    "guardrail_blocked",
    "guardrail_approval_required",
    "unfinished",
}
"""The lines that end a feed."""

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


async def begun(client: Client, **body: Any) -> Any:
    """Return the answer to a new run."""
    return await client.post("/api/runs", {"prompt": "hi"} | body)


class TestBegin:
    """A new run."""

    def test_its_feed(self) -> None:
        """First what is known, then steps whole with their artifacts, then one last line; numbers have no gap."""

        async def main() -> None:
            script = calling(("stock", {"article": "lamp"}))
            async with opened(script, "There are 12.") as (client, _, _):
                reply = await begun(client)

            first, *between, last = reply.lines
            assert reply.status == 200
            assert reply.headers["content-type"] == "application/x-ndjson; charset=utf-8"
            assert reply.headers["x-accel-buffering"] == "no"
            assert first["event"] == "context"
            assert (first["model"], first["segment"], first["source"]) == ("scripted:demo", 0, "live")
            assert (first["local"], first["host"], first["level"]) == (True, "this process", "metadata")
            assert (first["filtered"], first["view_level"]) == (False, None)
            [tool] = [line["step"] for line in between if line.get("step", {}).get("kind") == "tool"]
            assert tool["tool_artifacts"][0]["data"]["rows"] == [["lamp", 12]]
            assert (last["event"], last["reason"], last["content"]) == ("done", "completed", "There are 12.")
            assert [line["seq"] for line in reply.lines] == list(range(len(reply.lines)))
            assert [line["t"] for line in reply.lines] == sorted(line["t"] for line in reply.lines)
            assert not LAST & {line["event"] for line in between}

        asyncio.run(main())

    @pytest.mark.parametrize(
        ("tools", "offered"),
        [
            (None, ["stock", "send"]),
            ([], []),
            (["remove"], ["remove"]),
        ],
    )
    def test_tools(self, tools: list[str] | None, offered: list[str]) -> None:
        """Nothing said is the default set, and an empty list is no tools at all."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                said = {} if tools is None else {"tools": tools}
                for body in (said, {"tools": tools}):
                    reply = await begun(client, **body)
                    [request] = [line["step"] for line in reply.lines if line.get("step", {}).get("kind") == "request"]
                    assert request.get("tool_specs", []) == offered

        asyncio.run(main())

    def test_what_a_run_may_be_given(self) -> None:
        """Every field of the form arrives."""

        async def main() -> None:
            async with opened("hello", "again") as (client, _, runtime):
                provider: Any = runtime.provider("scripted")
                text = base64.b64encode(b"1;2").decode()
                files = [
                    {"name": "../a/table.csv", "media_type": "text/csv", "data": text},
                    {"name": "dot.png", "media_type": "text/plain", "data": base64.b64encode(PNG).decode()},
                    {"name": "odd", "media_type": "audio/x-odd", "data": base64.b64encode(b"\xff\xfe").decode()},
                    {"name": "nul", "data": base64.b64encode(b"a\0b").decode()},
                ]
                provider._model["attachments"] = ("image/", "audio/", "application/")
                body = {
                    "model": "scripted:other",
                    "system": "Be brief.",
                    "options": {"temperature": 0.5, "max_tokens": 9, "seed": None},
                    "limits": {"rounds": 3, "seconds": None},
                    "attachments": files,
                    "privacy": "full",
                    "configuration": None,
                }
                reply = await begun(client, **body)
                [request] = provider.requests
                system, user = request.messages

                assert reply.lines[0]["level"] == "full"
                assert reply.lines[0]["rounds_limit"] == 3
                assert (request.model, request.options.temperature, request.options.max_tokens) == ("other", 0.5, 9)
                assert (system.content, user.content) == ("Be brief.", "hi\n\nFile table.csv:\n1;2")
                assert [(one.media_type, one.name) for one in user.attachments] == [
                    ("image/png", "dot.png"),
                    ("audio/x-odd", "odd"),
                    ("application/octet-stream", "nul"),
                ]

        asyncio.run(main())

    def test_a_whole_conversation(self) -> None:
        """Messages in the form of the wire, in place of a prompt."""

        async def main() -> None:
            async with opened("hello") as (client, _, runtime):
                messages = [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "hello"},
                    {"role": "user", "content": "and now?"},
                ]
                file = {"name": "a.txt", "data": base64.b64encode("ü".encode()).decode()}
                reply = await client.post("/api/runs", {"messages": messages, "attachments": [file]})
                provider: Any = runtime.provider("scripted")

                assert reply.told == ["context", "done"]
                assert provider.requests[0].messages[-1].content == "and now?\n\nFile a.txt:\nü"

        asyncio.run(main())

    def test_going_on_with_a_conversation(self) -> None:
        """What was said goes before, where it was kept and is theirs; an open end is none."""

        async def main() -> None:
            async with opened("hello", "again", privacy="full", user="ann") as (client, app, runtime):
                before = (await begun(client)).lines[0]["run_id"]
                reply = await begun(client, prompt="more", continues=before)
                provider: Any = runtime.provider("scripted")

                assert [one.content for one in provider.requests[-1].messages] == ["hi", "hello", "more"]
                assert runtime.store is not None
                stored = runtime.store.run(reply.lines[0]["run_id"])
                assert stored is not None
                assert stored.head.continues == before
                other = client.with_headers(x_user="eve")
                assert (await begun(other, continues=before)).code == "unknown_run"
                assert ended(app)

        asyncio.run(main())

    def test_an_open_conversation_is_not_gone_on_with(self) -> None:
        """Nor one that was kept without what was said."""

        async def main() -> None:
            async with opened(ORDER, "bye") as (client, _, _):
                waits = (await begun(client, tools=["stock", "remove"])).lines[0]["run_id"]
                assert (await begun(client, continues=waits)).code == "not_ended"
                metadata = (await begun(client)).lines[0]["run_id"]
                assert (await begun(client, continues=metadata)).code == "configuration"

        asyncio.run(main())

    def test_a_question_nobody_answered(self) -> None:
        """It is not asked again with the next one."""

        async def main() -> None:
            error = AuthenticationError("the key is not known", provider="scripted", status=401)
            async with opened(error, "hello", privacy="full") as (client, _, runtime):
                failed = (await begun(client, prompt="lost")).lines[0]["run_id"]
                await begun(client, prompt="found", continues=failed)
                provider: Any = runtime.provider("scripted")
                assert [one.content for one in provider.requests[-1].messages] == ["found"]

        asyncio.run(main())

    def test_a_dry_run(self) -> None:
        """It shows what would be sent, and asks nobody."""

        async def main() -> None:
            async with opened("hello") as (client, _, runtime):
                reply = await begun(client, dry_run=True)
                provider: Any = runtime.provider("scripted")

                assert (reply.lines[-1]["event"], reply.lines[-1]["reason"]) == ("done", "dry_run")
                assert provider.requests == []

        asyncio.run(main())


class TestRefused:
    """Runs that do not begin: a status and a word, and no line."""

    @pytest.mark.parametrize(
        ("body", "code", "field"),
        [
            ({}, "blank_prompt", "prompt"),
            ({"prompt": " \n"}, "blank_prompt", "prompt"),
            ({"prompt": 7}, "invalid", "prompt"),
            ({"prompt": "a", "messages": []}, "invalid", "messages"),
            ({"messages": "a"}, "invalid", "messages"),
            ({"messages": []}, "invalid", None),
            ({"messages": [{"role": "nobody", "content": ""}]}, "invalid", None),
            ({"prompt": "a", "temperature": 1}, "unknown_field", "temperature"),
            ({"prompt": "a", "base_url": "http://evil.test"}, "unknown_field", "base_url"),
            ({"prompt": "a", "capture_raw": True}, "unknown_field", "capture_raw"),
            ({"prompt": "a", "options": {"provider_options": {}}}, "unknown_field", "provider_options"),
            ({"prompt": "a", "options": {"temperature": 3}}, "invalid", "options.temperature"),
            ({"prompt": "a", "options": {"temperature": 10**400}}, "invalid", "options.temperature"),
            ({"prompt": "a", "options": []}, "invalid", None),
            ({"prompt": "a", "limits": {"seconds": 10**400}}, "invalid", "limits.seconds"),
            ({"prompt": "a", "limits": {"rounds": 21}}, "invalid", "limits.rounds"),
            ({"prompt": "a", "limits": {"rounds": -1}}, "invalid", "limits.rounds"),
            ({"prompt": "a", "limits": {"round": 1}}, "unknown_field", "round"),
            ({"prompt": "a", "dry_run": 1}, "invalid", "dry_run"),
            ({"prompt": "a", "privacy": "total"}, "invalid", "privacy"),
            ({"prompt": "a", "tools": "stock"}, "invalid", "tools"),
            ({"prompt": "a", "tools": [7]}, "invalid", "tools"),
            ({"prompt": "a", "tools": [""]}, "invalid", "tools"),
            ({"prompt": "a", "tools": ["x"] * 501}, "invalid", "tools"),
            ({"prompt": "a", "tools": ["nothing"]}, "configuration", None),
            ({"prompt": "a", "model": "nowhere:x"}, "configuration", None),
            ({"prompt": "a", "model": "scripted:x\n"}, "invalid", "model"),
            ({"prompt": "a", "configuration": "none"}, "configuration", None),
            ({"prompt": "a", "continues": "none"}, "unknown_run", None),
            ({"prompt": "a", "attachments": {}}, "invalid", "attachments"),
            ({"prompt": "a", "attachments": [{"name": "a", "data": "!"}]}, "invalid", "attachments"),
            ({"prompt": "a", "attachments": [{"name": "a", "url": "http://evil.test"}]}, "unknown_field", "url"),
            ({"prompt": "a", "attachments": [{}] * 21}, "invalid", "attachments"),
        ],
    )
    def test_fields(self, body: dict[str, Any], code: str, field: str | None) -> None:
        """What is wrong is named, and nothing is asked."""

        async def main() -> None:
            async with opened("hello") as (client, app, runtime):
                reply = await client.post("/api/runs", body)
                provider: Any = runtime.provider("scripted")

                assert (reply.code, reply.json().get("field")) == (code, field)
                assert reply.status in {400, 404}
                assert set(reply.json()["error"]) == {"code", "message", "id"}
                assert provider.requests == []
                assert ended(app)

        asyncio.run(main())

    def test_an_address_in_a_message(self) -> None:
        """It is no way to have something fetched."""

        async def main() -> None:
            part = {"type": "image_url", "image_url": {"url": "https://evil.test/a.png"}}
            message = {"role": "user", "content": [{"type": "text", "text": "look"}, part]}
            async with opened("hello") as (client, _, _):
                reply = await client.post("/api/runs", {"messages": [message]})
                assert (reply.status, reply.code) == (400, "invalid")
                assert "as bytes" in reply.json()["error"]["message"]

        asyncio.run(main())

    def test_a_store_that_fails(self) -> None:
        """Whoever asks is told with a status, not in the middle of a feed."""

        class Broken:
            blocking = True

            def create(self, head: Any, change: Any) -> None:
                raise StoreError("disk full")

            def close(self) -> None:
                """Nothing is held."""

        async def main() -> None:
            async with opened("hello", store=Broken()) as (client, app, _):
                reply = await begun(client)
                assert (reply.status, reply.code) == (503, "store")
                assert ended(app)

        asyncio.run(main())

    def test_as_many_as_it_takes(self) -> None:
        """One more is refused at once, and taken when another has ended."""

        async def main() -> None:
            gate = Gate()
            script = calling(("wait", {}))
            async with opened(script, "one", "two", tools=[gate.tool], caps=Caps(runs=1)) as (client, app, _):
                async with client.watching("POST", "/api/runs", {"prompt": "a"}) as first:
                    await gate.reached.wait()
                    reply = await begun(client)
                    assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "busy", "5")
                    gate.opened.set()
                    await first.until("done")
                assert (await begun(client)).told == ["context", "done"]
                assert ended(app)

        asyncio.run(main())

    def test_as_many_as_one_may_have(self) -> None:
        """Nobody takes the place of all others: who has that many is told, and somebody else begins one."""

        async def main() -> None:
            gate = Gate()
            script = calling(("wait", {}))
            async with opened(script, "one", "two", tools=[gate.tool], caps=Caps(runs_each=1)) as (client, app, _):
                async with client.watching("POST", "/api/runs", {"prompt": "a"}) as first:
                    await gate.reached.wait()
                    reply = await begun(client)
                    assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "busy", "5")
                    assert reply.json()["error"]["message"].startswith(
                        "As many runs of yours are under way as one may have (1)"
                    )
                    assert (await begun(Client(app, x_user="ann"))).told == ["context", "done"]
                    gate.opened.set()
                    await first.until("done")
                assert (await begun(client)).told == ["context", "done"]
                assert ended(app)

        asyncio.run(main())

    def test_once_it_stops(self) -> None:
        """A server that is about to stop begins nothing."""

        async def main() -> None:
            async with opened("hello") as (client, app, _):
                await app.aclose()
                reply = await begun(client)
                assert (reply.status, reply.code) == (503, "stopping")

        asyncio.run(main())


class TestEnds:
    """How a feed ends."""

    def test_a_service_that_refuses(self) -> None:
        """The error has its class and its text, and the feed ends well."""

        async def main() -> None:
            error = AuthenticationError("the key is not known", provider="scripted", status=401)
            async with opened(error) as (client, app, _):
                reply = await begun(client)
                assert reply.told == ["context", "error"]
                assert reply.lines[-1]["error"]["class"] == "AuthenticationError"
                assert ended(app)

        asyncio.run(main())

    def test_a_fault_of_ours(self, caplog: pytest.LogCaptureFixture) -> None:
        """Its text stays in the log."""

        class Broken:
            def __call__(self, request: Any) -> Any:
                raise ZeroDivisionError("/etc/passwd")

        async def main() -> None:
            async with opened(Broken()) as (client, _, _):
                reply = await begun(client)
                assert reply.told == ["context", "error"]
                assert b"passwd" not in reply.body

        asyncio.run(main())
        assert "passwd" in caplog.text

    def test_a_budget(self) -> None:
        """It is named for what it is."""

        async def main() -> None:
            script = calling(("stock", {"article": "lamp"}))
            async with opened(script, script, "x", limits=Limits(tool_bytes=1)) as (client, _, _):
                reply = await begun(client)
                assert reply.lines[-1]["event"] == "budget"
                assert reply.lines[-1]["reason"] == "bytes_exhausted"

        asyncio.run(main())

    def test_stopped_by_somebody(self) -> None:
        """The feed says so, and so does the record."""

        async def main() -> None:
            gate = Gate()
            async with opened(calling(("wait", {})), tools=[gate.tool]) as (client, app, _):
                async with client.watching("POST", "/api/runs", {"prompt": "a"}) as feed:
                    run_id = (await feed.until("context"))["run_id"]
                    await gate.reached.wait()
                    stopped = await client.post(f"/api/runs/{run_id}/cancel")
                    last = await feed.until("cancelled")
                    assert await feed.line() is None
                assert (stopped.status, stopped.json()) == (202, {"cancelled": True})
                assert last["reason"] == "cancelled"
                assert (await client.get(f"/api/runs/{run_id}")).json()["run"]["status"] == "cancelled"
                assert ended(app)
                again = await client.post(f"/api/runs/{run_id}/cancel")
                assert (again.status, again.json()) == (202, {"cancelled": True})

        asyncio.run(main())

    def test_the_server_stops(self) -> None:
        """A run that does not notice is broken off, is settled, and its feed ends in a line of its own."""

        async def main() -> None:
            gate = Gate()
            caps = Caps(settle_seconds=0.001)
            async with opened(calling(("wait", {})), tools=[gate.tool], caps=caps) as (client, app, _):
                async with client.watching("POST", "/api/runs", {"prompt": "a"}) as feed:
                    run_id = (await feed.until("context"))["run_id"]
                    await gate.reached.wait()
                    await app.aclose()
                    last = await feed.until("cancelled")
                    assert await feed.line() is None
                assert last["run_id"] == run_id
                assert (await client.get(f"/api/runs/{run_id}")).json()["run"]["status"] == "cancelled"

        asyncio.run(main())


class TestWatch:
    """Feeds that are left and taken up."""

    def test_who_goes_away_ends_nothing(self) -> None:
        """The run goes on, and whoever comes back has the rest without a gap."""

        async def main() -> None:
            gate = Gate()
            async with opened(calling(("wait", {})), "went well", tools=[gate.tool]) as (client, app, _):
                async with client.watching("POST", "/api/runs", {"prompt": "a"}) as feed:
                    run_id = (await feed.until("context"))["run_id"]
                    last = await feed.until("progress")
                assert app.live.under_way == 1
                gate.opened.set()
                rest = await client.get(f"/api/runs/{run_id}/events?after={last['seq']}")
                numbers = [line["seq"] for line in rest.lines]
                assert numbers == list(range(last["seq"] + 1, last["seq"] + 1 + len(numbers)))
                assert rest.lines[-1]["event"] == "done"
                assert (await client.get(f"/api/runs/{run_id}/events?segment=0&after=999")).body == b""

        asyncio.run(main())

    def test_several_readers(self) -> None:
        """Each has all of it."""

        async def main() -> None:
            gate = Gate()
            async with opened(calling(("wait", {})), "went well", tools=[gate.tool]) as (client, _, _):
                async with client.watching("POST", "/api/runs", {"prompt": "a"}) as feed:
                    run_id = (await feed.until("context"))["run_id"]
                    async with client.watching("GET", f"/api/runs/{run_id}/events") as other:
                        await gate.reached.wait()
                        gate.opened.set()
                        await other.until("done")
                    await feed.until("done")
                    assert feed.reply.body == other.reply.body

        asyncio.run(main())

    def test_heartbeats(self) -> None:
        """They come while nothing happens, and have no number."""

        async def main() -> None:
            gate = Gate()
            caps = Caps(heartbeat_seconds=0.001)
            async with opened(calling(("wait", {})), "went well", tools=[gate.tool], caps=caps) as (client, _, _):
                async with client.watching("POST", "/api/runs", {"prompt": "a"}) as feed:
                    await gate.reached.wait()
                    assert await feed.until("heartbeat") == {"event": "heartbeat"}
                    gate.opened.set()
                    await feed.until("done")

        asyncio.run(main())

    def test_lines_that_are_gone(self) -> None:
        """A long run keeps its last lines; whoever comes late is told what is missing."""

        async def main() -> None:
            caps = Caps(tail_bytes=4_000)
            async with opened("word " * 400, caps=caps) as (client, app, _):
                run_id = (await begun(client)).lines[-1]["run_id"]
                late = await client.get(f"/api/runs/{run_id}/events?after=1")
                gap, first, *_ = late.lines
                assert gap == {"event": "gap", "from": 2, "to": first["seq"] - 1}
                assert late.lines[-1]["event"] == "done"
                assert app.live.size <= 2 * 4_000

        asyncio.run(main())

    def test_a_line_that_is_too_long(self) -> None:
        """Its texts are cut, and it says so; the run itself has all of them."""

        async def main() -> None:
            async with opened("x" * 12_000, caps=Caps(line_bytes=8_000)) as (client, _, runtime):
                reply = await begun(client, privacy="full")
                assert max(len(line) for line in reply.body.splitlines()) < 8_000
                assert reply.lines[-1]["cut"] is True
                assert reply.lines[-1]["event"] == "done"
                assert runtime.store is not None
                [_, said] = runtime.store.transcript(reply.lines[0]["run_id"])
                assert len(str(said.message)) > 12_000

        asyncio.run(main())

    def test_a_run_that_nobody_keeps(self) -> None:
        """It is shown while it lasts here."""

        async def main() -> None:
            async with opened("hello", store=None) as (client, _, _):
                reply = await begun(client)
                run_id = reply.lines[0]["run_id"]
                known = (await client.get(f"/api/runs/{run_id}")).json()
                assert reply.lines[0]["level"] is None
                assert (known["run"]["status"], known["run"]["reason"]) == ("ended", "completed")
                assert (known["live"], known["replayable"]) == (False, False)
                assert (await client.get("/api/runs")).json() == {"runs": [], "next": None}
                assert (await client.get(f"/api/runs/{run_id}/events")).body == reply.body
                assert (await client.post(f"/api/runs/{run_id}/cancel")).status == 404
                said = {"decisions": [{"index": 0, "approve": True, "digest": ""}]}
                assert (await client.post(f"/api/runs/{run_id}/decide", said)).code == "no_store"
                assert (await client.get(f"/api/runs/{run_id}/export")).status == 404

        asyncio.run(main())


def test_a_view_that_breaks(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It ends in a line that says so; the run, and whoever sees it otherwise, are not touched."""
    whole = Feed.event

    def breaking(feed: Feed, event: Any) -> str | None:
        if feed.filter is not None:
            raise ZeroDivisionError("/etc/passwd")
        return whole(feed, event)

    async def main() -> None:
        monkeypatch.setattr(Feed, "event", breaking)
        async with opened("hello", user="ann") as (client, app, _):
            reply = await begun(client)
            run_id = reply.lines[0]["run_id"]
            assert reply.told == ["context", "error"]
            assert reply.lines[-1]["error"] == {"class": "ZeroDivisionError", "message": UNTOLD}
            other = await client.with_headers(x_user="root").get(f"/api/runs/{run_id}/events")
            assert other.told == ["context", "done"]
            assert ended(app)

    asyncio.run(main())
    assert "cannot be told" in caplog.text
