"""Threads, processes and forks that share a database do not get into each other's way."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from nr_llm.errors import RunExistsError
from nr_llm.records import RunStatus
from nr_llm_store import SqlStore

from tests.plugins.store.conftest import Make
from tests.plugins.store.runs import begun, change, live, step
from tests.support import ROOT

CLAIM = """
import sys
from nr_llm.records import WAITING, RunStatus
from nr_llm_store import SqlStore
from tests.plugins.store.runs import change

store = SqlStore(sys.argv[1])
for number in range(20):
    store.run(f"r{number}")
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    claim = change(f"r{number}", owner=None, expect=WAITING, status=RunStatus.RUNNING, claim=sys.argv[2])
    print(int(store.write(claim).applied), flush=True)
store.close()
"""


def address(store: SqlStore) -> str:
    """Return where a store is, for another process."""
    url = store._database.engine.url
    return str(url.database) if store._database.sqlite else url.render_as_string(hide_password=False)


def test_of_processes_that_claim_a_run_one_gets_it(make: Make) -> None:
    """Each of many waiting runs goes to one of the processes that want it."""
    store = make()
    for number in range(20):
        begun(store, f"r{number}")
        store.write(change(f"r{number}", status=RunStatus.WAITING_FOR_APPROVAL, claim=""))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, address(store), f"p{i}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for i in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said = [process.communicate("go\n", timeout=120)[0].split() for process in processes]

    assert [process.returncode for process in processes] == [0] * 3
    assert [sum(map(int, each)) for each in zip(*said, strict=True)] == [1] * 20
    for number in range(20):
        run = store.run(f"r{number}")
        assert run is not None
        assert run.owner is not None
        assert said[int(run.owner[1:])][number] == "1"


def test_threads_write_runs_of_their_own(make: Make) -> None:
    """What several threads write at the same time is all there, each run without a gap."""
    store = make()
    failed: list[BaseException] = []

    def work(run_id: str) -> None:
        try:
            begun(store, run_id)
            for number in range(30):
                record = step(number, checkpoint=live("more", start=1))
                assert store.write(change(run_id, sequence=number, steps=record.steps, checkpoint=record.checkpoint))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(f"r{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert not failed
    for i in range(4):
        assert [each.sequence for each in store.steps(f"r{i}")] == list(range(30))


def test_of_threads_that_begin_a_run_one_does(make: Make) -> None:
    """A name is given once, however many want it."""
    store = make()
    outcomes: list[str] = []

    def work() -> None:
        try:
            begun(store)
        except RunExistsError:
            outcomes.append("taken")
        else:
            outcomes.append("begun")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert sorted(outcomes) == ["begun", "taken", "taken", "taken"]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_process_has_connections_of_its_own(make: Make) -> None:
    """A store works in a forked child and in its parent, and the child leaves the parent's connections alone."""
    store = begun(make())
    store.write(step(0))
    child = os.fork()
    if child == 0:  # no assertion here may reach pytest
        ok = False
        try:
            ok = store.write(step(1)).applied and len(store.steps("r1")) == 2
            store.close()
            gc.collect()
        finally:
            os._exit(0 if ok else 1)

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert store.write(step(2)).applied
    assert [each.sequence for each in store.steps("r1")] == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_beside_a_write_waits_for_it(tmp_path: Path) -> None:
    """A child never inherits a SQLite connection in the middle of a transaction, nor a lock nobody will open."""
    store = begun(SqlStore(tmp_path / "runs.db"))
    inside, go_on = threading.Event(), threading.Event()
    real = store._add_live

    def slowly(*rest: object) -> None:
        inside.set()
        go_on.wait(60)
        real(*rest)  # type: ignore[arg-type]

    store._add_live = slowly  # type: ignore[method-assign]
    writer = threading.Thread(target=store.write, args=(step(0, checkpoint=live("more", start=1)),))
    writer.start()
    assert inside.wait(60)
    threading.Timer(0.05, go_on.set).start()
    child = os.fork()
    if child == 0:
        ok = False
        try:
            store._add_live = real  # type: ignore[method-assign]
            ok = store.write(step(1)).applied
        finally:
            os._exit(0 if ok else 1)

    _, status = os.waitpid(child, 0)
    writer.join(60)

    assert os.waitstatus_to_exitcode(status) == 0
    assert [each.sequence for each in store.steps("r1")] == [0, 1]
    store.close()


LOOK = """
import sqlite3, sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
print(connection.execute("SELECT status FROM nr_llm_run").fetchone()[0], flush=True)
sys.stdin.readline()
print(connection.execute("SELECT status FROM nr_llm_run").fetchone()[0], flush=True)
connection.close()
"""


def look(path: Path) -> subprocess.Popen[str]:
    """Have another process read the status of the one run of a file: at once, and again when it is told to."""
    return subprocess.Popen(
        [sys.executable, "-c", LOOK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("stores", [1, 2])
def test_who_looks_and_leaves_takes_no_log_away(tmp_path: Path, stores: int) -> None:
    """The last to close removes SQLite's log, and a process that still has the file open is seen not to be gone."""
    path = tmp_path / "runs.db"
    opened = [SqlStore(path) for _ in range(stores)]
    begun(opened[0], "r1")
    for store in opened:
        assert store.run("r1") is not None
    first, _ = look(path).communicate("\n", timeout=60)
    second = look(path)
    assert second.stdout is not None
    before = second.stdout.readline()
    opened[0].write(change("r1", status=RunStatus.COMPLETED, reason="completed"))
    after, _ = second.communicate("\n", timeout=60)
    for store in opened:
        store.close()
    last, _ = look(path).communicate("\n", timeout=60)

    assert first.split() == ["running", "running"]
    assert [before.strip(), after.strip()] == ["running", "completed"]
    assert last.split() == ["completed", "completed"]


def test_a_store_that_nobody_closes_leaves_no_connection(tmp_path: Path) -> None:
    """Its log is written back, as by `close`."""
    store = SqlStore(tmp_path / "runs.db")
    begun(store, "r1")
    before = (tmp_path / "runs.db-wal").exists()
    del store
    gc.collect()

    assert (before, (tmp_path / "runs.db-wal").exists()) == (True, False)
