"""Processes are killed at random points of their runs: none is lost, each history is true, no write is made twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from nr_llm import HOST, ChatMessage, Role, RunHistory, RunQuery, RunStatus, RunStore, check_pairs, replay

from tests.integration.depth import DEPTH
from tests.postgres import PostgresServer

store_plugin = pytest.importorskip("nr_llm_store", reason="the store plugin is not installed here")

KILLED = 10 * DEPTH
"""Processes that are killed for each database."""

ROOT = Path(__file__).parents[2]

VICTIM = "nr-llm-victim"
"""How PostgreSQL knows the connections of a process that is killed."""


def killed(url: str, seed: int, written: Path) -> list[str]:
    """Have a process run conversations and kill it; return the runs it said it had kept."""
    chance = random.Random(seed)
    by_itself = seed % 2
    calls = chance.randrange(1, 150_000) if by_itself else 0
    command = [sys.executable, "-m", "tests.runs.victim", url, str(seed), str(calls), str(written)]
    named = {**os.environ, "PGAPPNAME": VICTIM}
    with subprocess.Popen(command, cwd=ROOT, env=named, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        told = [victim.stdout.readline()]
        if not by_itself:
            time.sleep(chance.uniform(0, 0.25))
            victim.kill()
        told += victim.stdout
    assert victim.returncode == -signal.SIGKILL
    return [line.strip() for line in told if line.endswith("\n")]


def outlived(server: PostgresServer) -> None:
    """Wait for the server to be done with a dead process: it carries out what it was sent last."""
    while server.psql(f"select 1 from pg_stat_activity where application_name = '{VICTIM}' limit 1;"):
        time.sleep(0.01)


def check_writes(run_id: str, said: Sequence[ChatMessage], written: Counter[str]) -> None:
    """Check that each write was made once at most, and that the history tells the truth of it."""
    answers = {message.tool_call_id: message.content for message in said if message.role is Role.TOOL}
    turns = [message for message in said if message.role is Role.ASSISTANT]
    for number, turn in enumerate(turns, 1):
        for index, call in enumerate(turn.tool_calls or ()):
            times = written[f"{run_id}:{number}:{index}"]
            answer = answers.get(call.id, "Not executed")
            assert times <= 1
            if answer.startswith(("wrote", "changed")):
                assert times == 1, f"{run_id}: a write that was not made is told"
            if answer.startswith(("Not executed", "A person declined", "There is no tool")):
                assert times == 0, f"{run_id}: a write that was made is denied"


def check(store: RunStore, told: list[str], written: Counter[str]) -> Counter[str]:
    """Check what a killed process left, and return what became of its runs."""
    history = RunHistory(store, HOST)
    under_way = {run.run_id for run in history.find(RunQuery(limit=10_000)) if run.status is RunStatus.RUNNING}
    ended = history.settle_abandoned()

    assert set(ended) == under_way
    for run_id in told:
        run = store.run(run_id)
        assert run is not None, f"run {run_id} is lost"
        assert run.status is not RunStatus.RUNNING
        steps = history.steps(run_id)
        assert [step.sequence for step in steps] == list(range(run.steps))
        said = history.conversation(run_id)
        check_writes(run_id, said, written)
        if run.status is not RunStatus.WAITING_FOR_APPROVAL:
            check_pairs(said)
            assert store.live(run_id) is None
        assert replay(history, run_id).same
        assert history.steps(run_id) == steps
    return Counter(str(history.get(run_id).status) for run_id in told)  # type: ignore[union-attr]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process in one blow")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_killed(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Whatever it did when it died, and on either database; the next process takes over the file as it is."""
    server: PostgresServer | None = None
    if database == "postgresql":
        server = request.getfixturevalue("postgres_server")
        assert server is not None
        url = server.create_database(f"killed_{os.getpid()}")
    else:
        url = f"sqlite:///{tmp_path / 'runs.db'}"
    store = store_plugin.SqlStore(url)
    store.upgrade()
    found: Counter[str] = Counter()
    for seed in range(KILLED):
        told = killed(url, seed, tmp_path / "written")
        if server is not None:
            outlived(server)
        lines = (tmp_path / "written").read_text().splitlines()
        found += check(store, told, Counter(lines))
    store.close()
    if server is not None:
        server.drop_database(f"killed_{os.getpid()}")
    print(database, dict(found))

    assert found["completed"] > 0
    assert found["failed"] > 0
