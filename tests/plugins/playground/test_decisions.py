"""People decide on the page: each refusal has its status, and a decision is about what was shown and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest
from nr_llm import PluginHost, RunStatus, StoreError, Suspended
from nr_llm.config import Config, Table
from nr_llm.stores import MemoryStore
from nr_llm.testing import calling

from tests.plugins.playground.client import Client, Reply
from tests.plugins.playground.shop import ORDER, REMOVED, SENDS, ended, opened

ALL = ["stock", "remove", "send", "close_shop"]


@pytest.fixture(autouse=True)
def nothing_removed() -> None:
    """Forget what was removed before."""
    REMOVED.clear()


async def held(client: Client, **body: Any) -> tuple[str, list[dict[str, Any]]]:
    """Begin a run that waits; return its name and its calls as somebody sees them who may decide."""
    reply = await client.post("/api/runs", {"prompt": "hi", "tools": ALL} | body)
    run_id = reply.lines[0]["run_id"]
    return run_id, (await client.get(f"/api/runs/{run_id}")).json()["pending"]


async def decide(client: Client, run_id: str, *decisions: Any) -> Reply:
    """Decide."""
    return await client.post(f"/api/runs/{run_id}/decide", {"decisions": list(decisions)})


def yes(call: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return that a call may run."""
    return {"index": call["index"], "approve": True, "digest": call["digest"]} | more


class TestDecide:
    """Calls that wait for an approval."""

    def test_approved(self) -> None:
        """The feed of the next segment tells what ran."""

        async def main() -> None:
            async with opened(ORDER, "gone") as (client, app, _):
                run_id, [read, write] = await held(client)
                assert (read["waits"], write["waits"]) == (False, True)
                assert write["arguments"] == {"article": "lamp"}
                assert write["preview"] == {"lines": ["lamp: 12 in stock"], "failed": False}
                assert REMOVED == []
                reply = await decide(client, run_id, yes(write))
                assert reply.told == ["context", "tool_finished", "tool_finished", "done"]
                assert (reply.lines[0]["segment"], reply.lines[0]["seq"]) == (1, 0)
                assert REMOVED == ["lamp"]
                assert (await client.get(f"/api/runs/{run_id}")).json()["pending"] is None
                assert ended(app)

        asyncio.run(main())

    def test_what_the_feed_shows_is_enough(self) -> None:
        """An administrator may decide by the last line alone."""

        async def main() -> None:
            async with opened(ORDER, "gone") as (client, _, _):
                reply = await client.post("/api/runs", {"prompt": "hi", "tools": ALL})
                last = reply.lines[-1]
                [write] = [call for call in last["pending"] if call["waits"]]
                assert (await decide(client, last["run_id"], yes(write))).told[-1] == "done"
                assert REMOVED == ["lamp"]

        asyncio.run(main())

    def test_denied(self) -> None:
        """Nothing runs, and the model is told."""

        async def main() -> None:
            async with opened(ORDER, "as you say") as (client, _, _):
                run_id, [_, write] = await held(client)
                reply = await decide(client, run_id, yes(write, approve=False))
                assert reply.lines[-1]["content"] == "as you say"
                assert REMOVED == []

        asyncio.run(main())

    def test_one_and_not_the_other(self) -> None:
        """Each call has its own word, and what nobody decided on waits on."""

        async def main() -> None:
            turn = calling(("remove", {"article": "a"}), ("remove", {"article": "b"}), ("remove", {"article": "c"}))
            async with opened(turn, "done") as (client, _, _):
                run_id, [a, b, _] = await held(client)
                reply = await decide(client, run_id, yes(a), yes(b, approve=False))
                assert reply.told == ["context", "awaiting_approval"]
                assert REMOVED == []
                pending = (await client.get(f"/api/runs/{run_id}")).json()["pending"]
                [c] = [call for call in pending if call["waits"]]
                assert (await decide(client, run_id, yes(c))).told[-1] == "done"
                assert REMOVED == ["a", "c"]

        asyncio.run(main())

    def test_other_arguments(self) -> None:
        """They name the digest of the call that was shown; the call runs with them."""

        async def main() -> None:
            async with opened(ORDER, "gone") as (client, _, _):
                run_id, [_, write] = await held(client)
                stale = await decide(client, run_id, yes(write, digest="0" * 64, arguments={"article": "x"}))
                assert (stale.status, stale.code) == (409, "stale")
                assert (await decide(client, run_id, yes(write, arguments={"article": "sofa"}))).status == 200
                assert REMOVED == ["sofa"]

        asyncio.run(main())

    def test_two_at_once(self) -> None:
        """One has the run; the other is told with a status, and nothing runs twice."""

        async def main() -> None:
            async with opened(ORDER, "gone") as (client, app, _):
                run_id, [_, write] = await held(client)
                replies = await asyncio.gather(*(decide(client, run_id, yes(write)) for _ in range(4)))
                assert {reply.code for reply in replies if reply.status != 200} <= {"claimed", "not_waiting"}
                assert sum(reply.status == 200 for reply in replies) == 1
                assert REMOVED == ["lamp"]
                assert ended(app)

        asyncio.run(main())


class TestRefused:
    """Each situation has the status that the reference system gives it; the run waits as it did."""

    @pytest.mark.parametrize(
        ("change", "status", "code"),
        [
            ({"digest": None}, 409, "stale"),
            ({"digest": ""}, 409, "stale"),
            ({"digest": "0" * 64}, 409, "stale"),
            ({"digest": "ü"}, 409, "stale"),
            ({"index": 0}, 409, "stale"),
            ({"index": 9}, 409, "stale"),
            ({"index": "1"}, 400, "invalid"),
            ({"index": None}, 400, "invalid"),
            ({"approve": "yes"}, 400, "invalid"),
            ({"approve": False, "arguments": {}}, 400, "invalid"),
            ({"arguments": []}, 400, "invalid"),
            ({"arguments": {"way": 1}}, 422, "invalid_input"),
            ({"reason": "why"}, 400, "unknown_field"),
        ],
    )
    def test_decisions(self, change: dict[str, Any], status: int, code: str) -> None:
        """A digest that is missing or stale, and what is no decision."""

        async def main() -> None:
            async with opened(ORDER, "gone") as (client, app, runtime):
                run_id, [_, write] = await held(client)
                assert runtime.store is not None
                before = runtime.store.run(run_id)
                reply = await decide(client, run_id, yes(write) | change)
                assert (reply.status, reply.code) == (status, code)
                if status == 409:
                    assert reply.json()["status"] == "awaiting_approval"
                assert runtime.store.run(run_id) == before
                assert REMOVED == []
                assert ended(app)

        asyncio.run(main())

    @pytest.mark.parametrize("given", [None, [], {}, "yes", [1], [{}] * 201])
    def test_no_list(self, given: Any) -> None:
        """What is no list of decisions."""

        async def main() -> None:
            async with opened(ORDER, "gone") as (client, _, _):
                run_id, _ = await held(client)
                reply = await client.post(f"/api/runs/{run_id}/decide", {"decisions": given})
                assert (reply.status, reply.code) == (400, "invalid")

        asyncio.run(main())

    def test_what_does_not_wait(self) -> None:
        """A run that is over, one that waits for something else, and one that does not exist."""

        async def main() -> None:
            async with opened(SENDS, "sent", "hello") as (client, _, _):
                run_id, [call] = await held(client)
                for name, code in ((run_id, "not_waiting"), ("nothing", "unknown_run")):
                    reply = await decide(client, name, yes(call))
                    assert (reply.status, reply.code) == (400, code)
                given = {"submissions": [{"index": 0, "digest": call["digest"], "values": {"city": "Rome"}}]}
                assert (await client.post(f"/api/runs/{run_id}/submit", given)).told[-1] == "done"
                again = await client.post(f"/api/runs/{run_id}/submit", given)
                assert (again.status, again.code) == (400, "not_waiting")

        asyncio.run(main())

    def test_who_may_decide(self) -> None:
        """A stranger learns nothing; an approver sees the calls and the bare facts; a write of others is not theirs."""

        async def main() -> None:
            turn = calling(("remove", {"article": "secret lamp"}))
            async with opened(turn, "gone", user="ann") as (ann, _, _):
                run_id, [write] = await held(ann)
                eve, bob = ann.with_headers(x_user="eve"), ann.with_headers(x_user="bob")
                for reply in (
                    await decide(eve, run_id, yes(write)),
                    await decide(eve, "nothing", yes(write)),
                ):
                    assert (reply.status, reply.code) == (400, "unknown_run")
                assert (await eve.get(f"/api/runs/{run_id}")).status == 404
                seen = (await bob.get(f"/api/runs/{run_id}")).json()
                assert seen["pending"][0]["arguments"] == {"article": "secret lamp"}
                assert (seen["run"]["status"], seen["replayable"]) == ("waiting_for_approval", False)
                [listed] = (await bob.get("/api/runs?status=waiting_for_approval")).json()["runs"]
                assert listed["run_id"] == run_id
                assert (await bob.get("/api/runs")).json()["runs"] == []
                assert (await eve.get("/api/runs?status=waiting_for_approval")).json()["runs"] == []
                told = await decide(bob, run_id, yes(write))
                assert told.told[-1] == "done"
                assert b"secret" not in told.body
                assert told.lines[0]["view_level"] == "metadata"
                assert REMOVED == ["secret lamp"]

        asyncio.run(main())

    def test_who_may_decide_and_not_read(self) -> None:
        """They see the calls that wait, and how it went on as bare facts: no step, and nothing that was said."""

        async def main() -> None:
            async with opened(ORDER, "it is gone", user="ann", privacy="full") as (ann, _, _):
                run_id, [_, write] = await held(ann)
                bob = ann.with_headers(x_user="bob")
                for query in ("", "?segment=0"):
                    waits = await bob.get(f"/api/runs/{run_id}/events{query}")
                    assert waits.told == ["context", "awaiting_approval"]
                    assert waits.lines[0]["view_level"] == "metadata"
                    assert waits.lines[0]["filtered"] is True
                    assert [line["event"] for line in waits.lines] == waits.told
                [_, seen] = waits.lines[-1]["pending"]
                assert seen["digest"] == write["digest"]

                went = await decide(bob, run_id, yes(seen))
                for query in ("", "?segment=0", "?segment=1"):
                    again = await bob.get(f"/api/runs/{run_id}/events{query}")
                    assert again.body == went.body
                assert (went.told[-1], went.lines[0]["view_level"]) == ("done", "metadata")
                assert b"it is gone" not in again.body
                info = await bob.get(f"/api/runs/{run_id}")
                assert (info.status, info.json()["replayable"], info.json()["pending"]) == (200, False, None)

                eve = ann.with_headers(x_user="eve")
                for query in ("", "?segment=0", "?segment=1"):
                    assert (await eve.get(f"/api/runs/{run_id}/events{query}")).code == "unknown_run"

        asyncio.run(main())

    def test_a_write_they_could_not_make(self) -> None:
        """Whoever approves it has to be one who could."""

        async def main() -> None:
            turn = calling(("close_shop", {}))
            async with opened(turn, "closed") as (client, _, _):
                run_id, [write] = await held(client)
                reply = await decide(client.with_headers(x_user="bob"), run_id, yes(write))
                assert (reply.status, reply.code) == (403, "not_permitted")
                assert reply.json()["status"] == "awaiting_approval"

        asyncio.run(main())

    def test_four_eyes(self) -> None:
        """Where the configuration wants it nobody approves a run of their own."""

        async def main() -> None:
            host = PluginHost([], config=Config(configurations={"careful": (Table({"four_eyes": True}),)}))
            async with opened(ORDER, "gone", host=host, user="ann") as (client, _, _):
                run_id, [_, write] = await held(client, configuration="careful")
                reply = await decide(client, run_id, yes(write))
                assert (reply.status, reply.code) == (403, "second_approver")
                assert reply.json()["status"] == "awaiting_approval"
                assert (await decide(client.with_headers(x_user="bob"), run_id, yes(write))).status == 200

        asyncio.run(main())

    def test_a_decision_that_cannot_be_kept(self) -> None:
        """Nothing runs that is not on record."""

        class Failing(MemoryStore):
            fails = False

            def write(self, change: Any) -> Any:
                if self.fails and change.claim:
                    raise StoreError("disk full")
                return super().write(change)

        async def main() -> None:
            store = Failing()
            async with opened(ORDER, "gone", store=store) as (client, app, _):
                run_id, [_, write] = await held(client)
                store.fails = True
                reply = await decide(client, run_id, yes(write))
                assert (reply.status, reply.code) == (503, "store")
                assert reply.json()["status"] == "awaiting_approval"
                assert REMOVED == []
                assert ended(app)

        asyncio.run(main())

    def test_a_state_that_cannot_be_read(self) -> None:
        """It is told, and the run waits."""

        class Corrupt(MemoryStore):
            broken = False

            def live(self, run_id: str) -> Any:
                found = super().live(run_id)
                return attrs.evolve(found, state={"nonsense": 1}) if self.broken and found else found

        async def main() -> None:
            store = Corrupt()
            async with opened(ORDER, "gone", store=store) as (client, _, _):
                run_id, [_, write] = await held(client)
                store.broken = True
                reply = await decide(client, run_id, yes(write))
                assert (reply.status, reply.code) == (500, "unreadable")
                assert (await client.get(f"/api/runs/{run_id}")).json()["pending"] == []

        asyncio.run(main())


class TestSubmit:
    """Calls that wait for a form."""

    def test_filled_in(self) -> None:
        """The call runs with what was given."""

        async def main() -> None:
            async with opened(SENDS, "sent") as (client, _, _):
                run_id, [call] = await held(client)
                assert call["form"]["required"] == ["city"]
                row = {"index": 0, "digest": call["digest"], "values": {"city": "Rome"}}
                reply = await client.post(f"/api/runs/{run_id}/submit", {"submissions": [row]})
                steps = [line["step"] for line in reply.lines if line["event"] == "step"]
                assert [step["kind"] for step in steps] == ["input", "tool", "request", "llm"]
                assert steps[0]["decisions"][0]["tool"] == "send"
                assert steps[1]["tool_result"] == "sent to Rome"
                assert reply.lines[-1]["event"] == "done"

        asyncio.run(main())

    def test_declined(self) -> None:
        """Null in place of values: the call is not run."""

        async def main() -> None:
            async with opened(SENDS, "well then") as (client, _, _):
                run_id, [call] = await held(client)
                row = {"index": 0, "digest": call["digest"], "values": None}
                reply = await client.post(f"/api/runs/{run_id}/submit", {"submissions": [row]})
                assert b"sent to" not in reply.body
                assert reply.lines[-1]["event"] == "done"

        asyncio.run(main())

    @pytest.mark.parametrize(
        ("change", "status", "code"),
        [
            ({"values": {}}, 422, "invalid_input"),
            ({"values": {"city": 7}}, 422, "invalid_input"),
            ({"digest": ""}, 409, "stale"),
            ({"digest": "ü"}, 409, "stale"),
            ({"digest": 7}, 400, "invalid"),
            ({"index": True}, 400, "invalid"),
            ({"index": 1}, 409, "stale"),
            ({"values": []}, 400, "invalid"),
            ({"why": 1}, 400, "unknown_field"),
        ],
    )
    def test_refused(self, change: dict[str, Any], status: int, code: str) -> None:
        """What does not fit is told with every fault, and the run waits as it did."""

        async def main() -> None:
            async with opened(SENDS, "sent") as (client, _, runtime):
                run_id, [call] = await held(client)
                row = {"index": 0, "digest": call["digest"], "values": {"city": "Rome"}} | change
                reply = await client.post(f"/api/runs/{run_id}/submit", {"submissions": [row]})
                assert (reply.status, reply.code) == (status, code)
                if status == 422:
                    assert "city" in reply.json()["faults"]
                    assert (reply.json()["index"], reply.json()["status"]) == (0, "awaiting_input")
                assert runtime.store is not None
                run = runtime.store.run(run_id)
                assert run is not None
                assert run.status is RunStatus.WAITING_FOR_INPUT

        asyncio.run(main())

    def test_values_are_not_forgotten(self) -> None:
        """A submission without values is no declining."""

        async def main() -> None:
            async with opened(SENDS, "sent") as (client, _, _):
                run_id, [call] = await held(client)
                row = {"index": 0, "digest": call["digest"]}
                reply = await client.post(f"/api/runs/{run_id}/submit", {"submissions": [row]})
                assert (reply.status, reply.code) == (400, "invalid")

        asyncio.run(main())


class TestElsewhere:
    """Runs that are decided on somewhere else."""

    def test_a_run_of_another_process(self) -> None:
        """Its record is shown, and it is decided on here."""

        async def main() -> None:
            store = MemoryStore()
            async with opened(ORDER, store=store) as (_, _, runtime):
                outcome = await runtime.arun("hi", tools=["remove", "stock"], privacy="full")
                assert isinstance(outcome, Suspended)
            async with opened("gone", store=store) as (client, _, _):
                feed = await client.get(f"/api/runs/{outcome.run_id}/events")
                assert feed.told == ["context", "awaiting_approval"]
                assert feed.lines[0]["source"] == "store"
                [write] = [call for call in feed.lines[-1]["pending"] if call["waits"]]
                assert (await decide(client, outcome.run_id, yes(write))).told[-1] == "done"
                assert REMOVED == ["lamp"]

        asyncio.run(main())

    def test_gone_on_with_elsewhere(self) -> None:
        """The lines that are kept here are not taken for all that happened."""

        async def main() -> None:
            store = MemoryStore()
            async with opened(ORDER, "gone", store=store) as (client, _, _):
                run_id, [_, write] = await held(client)
                waits = await client.get(f"/api/runs/{run_id}/events")
                assert (waits.lines[0]["source"], waits.lines[-1]["event"]) == ("live", "awaiting_approval")
                async with opened("gone", store=store) as (other, _, _):
                    await decide(other, run_id, yes(write))
                over = await client.get(f"/api/runs/{run_id}/events")
                assert (over.lines[0]["source"], over.lines[-1]["event"]) == ("store", "done")
                again = await client.get(f"/api/runs/{run_id}/events?segment=0")
                assert again.body == waits.body

        asyncio.run(main())

    def test_under_way_elsewhere(self) -> None:
        """A run that another process drives is said to be unfinished, and can be stopped."""

        async def main() -> None:
            store = MemoryStore()
            async with opened("hello", store=store) as (client, _, runtime):
                async with runtime.astream("hi", run_id="r") as stream:
                    await stream.begin()
                    feed = await client.get("/api/runs/r/events")
                    assert feed.told == ["context", "unfinished"]
                    assert feed.lines[-1]["status"] == "running"
                    stopped = await client.post("/api/runs/r/cancel")
                    assert (stopped.status, stopped.json()) == (202, {"cancelled": True})
                    events = [event async for event in stream]
                assert str(events[-1].outcome.reason) == "cancelled"  # type: ignore[union-attr]
                over = await client.get("/api/runs/r/events")
                assert over.lines[-1]["event"] == "cancelled"

        asyncio.run(main())
