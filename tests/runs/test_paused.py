"""Processes are killed, and paused while others take their runs: none is lost, no write repeated, who wakes stops."""

from __future__ import annotations

import itertools
import logging
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm import HOST, ChatMessage, Role, RunHistory, RunStatus, check_pairs, replay
from nr_llm._json import encode
from nr_llm._segments import process_of

from tests.integration.depth import DEPTH
from tests.postgres import PostgresServer
from tests.runs.forks import Forks, forking, journal

store_plugin = pytest.importorskip("nr_llm_store", reason="the store plugin is not installed here")

LIVES = 20 * DEPTH
"""Runs that are followed from their beginning to their end, for each database."""

WAIT = 0.1
"""Seconds that a store waits for a process that was paused with a lock."""

CHANGED = [("fence", 2, 80), ("fence", 1, 30), ("fence begins", 2, 60), ("door", 2, 8), ("tool", 2, 12)]
KEPT = [("step", 6, 60), ("step under way", 6, 20), ("step begins", 6, 60), ("end", 1, 40), ("end under way", 1, 10)]
KEPT += [("wait", 1, 60), ("wait begins", 1, 60)]
POINTS = {
    "run": [*[("start", 1, 60_000)] * 3, *CHANGED * 2, *KEPT, ("begin", 1, 100), ("begin begins", 1, 60)],
    "decide": [("start", 1, 60_000), *[("claim", 1, 100), ("claim begins", 1, 60)] * 3, *CHANGED * 2, *KEPT],
    "settle": [("start", 1, 8_000), ("end", 1, 60), ("end begins", 1, 60)],
}
"""Where processes are stopped: a point, for which time at most, and how many function calls later at most."""

WINDOW = ("at a tool's door", "in a tool")
"""Where a write has begun, or cannot be kept from it: after the clock was read, before the tool does anything."""


@attrs.define
class Paused:
    """A process that was paused, and what was there when others had taken over."""

    pid: int
    place: str
    left: str | None = None
    noted: int = 0


@attrs.define
class Life:
    """One run, and the processes that have a part in it."""

    forks: Forks
    store: Any
    task: dict[str, Any]
    chance: random.Random
    faults: int = 0
    paused: list[Paused] = attrs.field(factory=list)
    tally: Counter[str] = attrs.field(factory=Counter)
    numbers: Iterator[int] = attrs.field(factory=itertools.count)

    @property
    def run_id(self) -> str:
        """The run."""
        return str(self.task["run_id"])

    @property
    def notes(self) -> list[dict[str, Any]]:
        """Everything that was noted."""
        return journal(Path(self.task["journal"]))

    def record(self) -> str:
        """Return all that is stored of the run."""
        run, steps = self.store.run(self.run_id), self.store.steps(self.run_id)
        said = [(entry.said, entry.message) for entry in self.store.transcript(self.run_id)]
        live = self.store.live(self.run_id)
        return encode([run.to_dict(), run.owner, [s.to_dict() for s in steps], said, live and dict(live.state)])

    # -- processes ----------------------------------------------------------------------------------------------

    def start(self, do: str, fuse: Sequence[Any] | None = None) -> int:
        """Have a process do something, and perhaps be killed or paused meanwhile."""
        if self.faults > 0 and fuse is None:
            point, times, calls = self.chance.choice(POINTS[do])
            sign = self.chance.choice(["SIGKILL", "SIGSTOP"])
            fuse = [sign, point, self.chance.randrange(times) + 1, self.chance.randrange(calls)]
        task = {**self.task, "do": do, "fuse": fuse, "rounds": self.chance.randrange(do == "run", 4), "wait": 10 * WAIT}
        return self.forks.start({**task, "seed": f"{self.run_id} {next(self.numbers)}"})

    def join(self, pid: int) -> str:
        """Wait for a process, note how it ended, and return that."""
        became = self.forks.wait(pid)
        mine = [one for one in self.notes if one["pid"] == pid]
        if became == "ended":
            self.judge(pid, mine[-1])
            return became
        [told] = [one for one in mine if one["what"] == "signal"]
        self.faults -= 1
        self.tally[f"{told['signal']} {told['do']}: {told['place']}"] += 1
        if became == "stopped":
            self.paused.append(Paused(pid, told["place"]))
        return became

    def judge(self, pid: int, over: dict[str, Any], *, taken: bool = False) -> None:
        """Check how a process ended by itself."""
        assert over["what"] == "over"
        outcome = over["outcome"]
        self.tally[f"{'woken' if taken else 'ended'}: {outcome}"] += 1
        fine = {
            "RunResult",
            "Suspended",
            "tuple",
            "NoneType",
            "RunClaimedError",
            "NotWaitingError",
            "StaleDecisionError",
        }
        if any(one.place.endswith("kept") or one.place == "in a decision" for one in self.paused):
            fine.add("StoreError")  # of a lock that another process was paused with
        assert outcome in ({"RunClaimedError"} if taken else fine), f"{self.run_id}: {pid} {over}"

    def wake(self, paused: Paused) -> None:
        """Have a process go on: if others have its run, it writes nothing any more, and says why."""
        self.paused.remove(paused)
        assert self.forks.wake(paused.pid) == "ended"
        notes = self.notes
        mine = [one for one in notes if one["pid"] == paused.pid]
        self.judge(paused.pid, mine[-1], taken=paused.left is not None)
        if paused.left is None:
            return
        assert self.record() == paused.left, f"{self.run_id}: it wrote to the record of others"
        begun = [one for one in notes[paused.noted :] if one["pid"] == paused.pid and one["what"] == "began"]
        if paused.place in WINDOW:
            self.tally[f"woken {paused.place}: went on to write"] += len(begun)
        else:
            assert not begun, f"{self.run_id}: a write began after the takeover, {paused}"

    # -- the run ------------------------------------------------------------------------------------------------

    def live(self) -> None:
        """Go on until the run has ended and every process is gone."""
        self.join(self.start("run"))
        for _ in range(1_000):
            run = self.store.run(self.run_id)
            if run.status.terminal if run is not None else not self.paused:
                break
            if run is None:
                self.wake_all()
            elif run.status is RunStatus.RUNNING:
                self.take_over(run)
            else:
                self.decide()
            if self.chance.random() < 0.3:
                self.wake_all()
        else:
            pytest.fail(f"{self.run_id} never ends")
        self.wake_all()

    def wake_all(self) -> None:
        """Have every process go on that is paused."""
        for paused in tuple(self.paused):
            self.wake(paused)

    def take_over(self, run: Any) -> None:
        """Settle a run whose process is dead or paused, perhaps at the second attempt."""
        pid = process_of(run.owner)
        time.sleep(max(0.0, run.lease - time.time()) + 0.001)
        if self.chance.random() < 0.2:
            self.join(self.start("settle"))
        settled = RunHistory(self.store, HOST).settle_abandoned()
        now = self.store.run(self.run_id)
        holder = next((one for one in self.paused if one.pid == pid), None)
        if now.status.terminal:
            self.tally["taken over"] += 1
            assert settled in ((), (self.run_id,))
            if holder is not None:
                holder.left, holder.noted = self.record(), len(self.notes)
        elif self.paused:
            self.tally["held by a lock"] += 1
            for one in tuple(self.paused):
                self.wake(one)

    def decide(self) -> None:
        """Have one process decide, or two at once."""
        pids = [self.start("decide") for _ in range(self.chance.choice([1, 1, 2]))]
        for pid in pids:
            self.join(pid)
        if self.paused and any(one.pid in pids for one in self.paused):
            run = self.store.run(self.run_id)
            if run.status.waiting:  # paused before it had claimed the run, perhaps with a lock
                self.wake_all()


def decided(store: Any, run_id: str) -> dict[str, dict[str, Any]]:
    """Return what the record says that a person said last to each call, by the call's key."""
    said: dict[str, dict[str, Any]] = {}
    for step in store.steps(run_id):
        payload = step.step.payload
        texts = {one["index"]: one["arguments"]["text"] for one in payload.get("edited_arguments") or ()}
        for one in payload.get("decisions") or ():
            key = f"{run_id}:{step.step.round}:{one['index']}"
            assert key not in said, f"{key} was decided twice"
            said[key] = {**one, "text": texts.get(one["index"])}
    return said


def check(life: Life) -> str:
    """Check what is left of a run, and return what became of it."""
    store, run_id, notes = life.store, life.run_id, life.notes
    run = store.run(run_id)
    if run is None:
        assert not any(one["what"] in ("kept", "wrote") for one in notes), f"{run_id} is lost"
        return "never begun"
    assert run.status.terminal
    assert store.live(run_id) is None
    assert store.verify(run_id) == ()
    history = RunHistory(store, HOST)
    said = history.conversation(run_id)
    check_pairs(said)
    wrote = Counter(one["key"] for one in notes if one["what"] == "wrote")
    texts = {one["key"]: one["text"] for one in notes if one["what"] == "wrote"}
    assert set(wrote.values()) <= {1}, f"{run_id}: written twice"
    verdicts, yes = decided(store, run_id), {one["key"] for one in notes if one["what"] == "said" and one["yes"]}
    told = set()
    for key, call, answer in answered(run_id, said):
        told.add(key)
        verdict = verdicts.get(key)
        if call.name == "change" and wrote[key]:
            agreed = verdict["approved"] if verdict else key in yes
            assert agreed, f"{key} was written without a person's yes"
            assert texts[key] == ((verdict and verdict["text"]) or call.arguments["text"])
        if "wrote " in answer:
            assert wrote[key] == 1, f"{key}: a write that was not made is told"
        elif "outcome is unknown" not in answer:
            assert wrote[key] == 0, f"{key}: a write that was made is denied: {answer}"
    assert set(wrote) <= told
    assert replay(history, run_id).same
    return str(run.status)


def answered(run_id: str, said: tuple[ChatMessage, ...]) -> Iterator[tuple[str, Any, str]]:
    """Yield each call with its key and its answer."""
    answers = {message.tool_call_id: message.content for message in said if message.role is Role.TOOL}
    turns = [message for message in said if message.role is Role.ASSISTANT]
    for number, turn in enumerate(turns, 1):
        for index, call in enumerate(turn.tool_calls or ()):
            yield f"{run_id}:{number}:{index}", call, answers[call.id]


@attrs.frozen
class World:
    """A database, and who forks processes that use it."""

    database: str
    url: str
    store: Any
    forks: Forks

    def life(self, run_id: str, folder: Path, *, seed: object, **task: Any) -> Life:
        """Return the life of a run that is to begin."""
        facts = {"url": self.url, "run_id": run_id, "journal": str(folder / f"journal-{run_id}"), **task}
        return Life(self.forks, self.store, facts, random.Random(str(seed)))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return each database in turn."""
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    url, name = f"sqlite:///{tmp_path_factory.mktemp('paused') / 'runs.db'}", f"paused_{os.getpid()}"
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.create_database(name)
    store = store_plugin.SqlStore.of(store_plugin.StoreSettings(url=url, wait_seconds=WAIT))
    store.upgrade()
    with forking() as forks:
        yield World(request.param, url, store, forks)
    store.close()
    if request.param == "postgresql":
        server.drop_database(name)


@pytest.mark.parametrize("awaiting", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("name", "point", "writes"),
    [
        ("look", "tool", 0),
        ("look", "step", 0),
        ("mark", "fence", 0),
        ("put", "fence", 0),
        ("put", "fence begins", 0),
        ("mark", "tool", 1),
        ("put", "tool", 1),
        ("change", "claim", 0),
        ("change", "fence", 0),
    ],
)
def test_taken_over(world: World, name: str, point: str, writes: int, awaiting: bool, tmp_path: Path) -> None:
    """Whoever wakes after it ends with `RunClaimedError`; only a tool that had begun goes on, and that is known."""
    run_id = f"{world.database}-{name}-{point.replace(' ', '-')}-{awaiting}"
    life = world.life(run_id, tmp_path, seed=run_id, awaiting=awaiting, calls=[name], say="yes")
    fuse = ("SIGSTOP", point, 1, 3)
    became = life.join(life.start("run", None if name == "change" else fuse))
    if name == "change":
        assert (became, life.tally) == ("ended", Counter({"ended: Suspended": 1}))
        became = life.join(life.start("decide", fuse))
    assert became == "stopped"
    life.take_over(world.store.run(run_id))
    assert life.paused[0].left is not None
    life.wake_all()

    assert life.tally["woken: RunClaimedError"] == 1
    assert check(life) == "failed"
    assert sum(one["what"] == "wrote" for one in life.notes) == writes


def test_paused_with_a_lock(world: World, tmp_path: Path) -> None:
    """Nobody takes a run while its process is in the middle of a change of it: it goes on when that does."""
    life = world.life(f"{world.database}-lock", tmp_path, seed=0, calls=["put"])
    assert life.join(life.start("run", ("SIGSTOP", "fence under way", 1, 0))) == "stopped"
    life.take_over(world.store.run(life.run_id))

    assert (life.tally["held by a lock"], life.tally["ended: RunResult"], life.paused) == (1, 1, [])
    assert check(life) == "completed"
    assert sum(one["what"] == "wrote" for one in life.notes) == 1


@pytest.mark.lesson(119, 121)
def test_killed_and_paused(world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Wherever it is, as it runs, writes, waits, decides or settles: the run ends once, and its record is true."""
    caplog.set_level(logging.ERROR, logger="nr_llm")  # of each run that is settled there is a line
    tally: Counter[str] = Counter()
    for seed in range(LIVES):
        life = world.life(f"{world.database}-{seed}", tmp_path, seed=f"{world.database} {seed}")
        life.faults = life.chance.choice([2, 3, 4])
        life.live()
        life.tally[f"the run: {check(life)}"] += 1
        tally += life.tally
    print(f"\n{world.database}", *(f"{count:6} {what}" for what, count in sorted(tally.items())), sep="\n")

    for sign in ("SIGKILL", "SIGSTOP"):
        assert sum(count for what, count in tally.items() if what.startswith(sign)) >= LIVES // 5
    assert tally["taken over"] > 0
