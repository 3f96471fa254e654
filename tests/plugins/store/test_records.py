"""What real runs leave in a database is a whole record, and each round adds what is new in it."""

from __future__ import annotations

import itertools
import threading

import pytest
from nr_llm import Limits, RunResult, Suspended, tool
from nr_llm.privacy import PrivacyLevel
from nr_llm.records import RunStatus
from nr_llm.stores import RunQuery
from nr_llm.testing import Harness, calling
from nr_llm_store import SqlStore

from tests.plugins.store.conftest import Make
from tests.postgres import PostgresServer

ROUNDS = 40


@tool
def look(what: str) -> str:
    """Look at something."""
    return f"saw {what}"


@tool(effect="write")
def change_it(what: str) -> str:
    """Change something, with a person's consent."""
    return f"changed {what}"


@pytest.mark.parametrize("level", PrivacyLevel)
def test_the_record_of_a_run_is_whole(make: Make, level: PrivacyLevel) -> None:
    """At each level a run that has ended, one that failed and one that waits have nothing to complain about."""
    store = make()
    with Harness(tools=[look, change_it], store=store, privacy=level) as harness:
        harness.provider.script(calling(("look", {"what": "a"}), ("look", {"what": "b"})), "done")
        assert isinstance(harness.runtime.run("go", run_id="ended"), RunResult)
        harness.provider.script(calling(("look", {"what": "a"})), OSError("no such luck"))
        with pytest.raises(OSError, match="no such luck"):
            harness.runtime.run("go", run_id="failed")
        harness.provider.script(calling(("change_it", {"what": "a"})))
        assert isinstance(harness.runtime.run("go", tools=["change_it"], run_id="waits"), Suspended)

    runs = {run.run_id: run.status for run in store.runs(RunQuery())}
    assert runs == {
        "ended": RunStatus.COMPLETED,
        "failed": RunStatus.FAILED,
        "waits": RunStatus.WAITING_FOR_APPROVAL,
    }
    assert [store.verify(run_id) for run_id in runs] == [(), (), ()]


def test_a_round_adds_what_is_new(make: Make) -> None:
    """A late round stores as many bytes as an early one, though its request is many times as long."""
    store = make()
    sizes: list[int] = []

    def measured(request: object) -> object:
        with store._database.engine.connect() as connection:
            total = 0
            for table, column in (("event", "payload"), ("message", "message"), ("live_message", "message")):
                text = f"SELECT coalesce(sum(length({column})), 0) FROM nr_llm_{table}"
                total += int(connection.exec_driver_sql(text).scalar() or 0)
        sizes.append(total)
        return calling(("look", {"what": f"thing {len(sizes):03}"})) if len(sizes) < ROUNDS else "done"

    with Harness(tools=[look], store=store, privacy="full", limits=Limits(rounds=ROUNDS + 1)) as harness:
        harness.provider.script(measured)
        assert isinstance(harness.runtime.run("go", run_id="long"), RunResult)

    added = [later - earlier for earlier, later in itertools.pairwise(sizes)]
    assert len(added) == ROUNDS - 1
    assert max(added[5:]) - min(added[5:]) <= 30  # numbers and counts gain a digit
    assert store.verify("long") == ()


def test_two_may_upgrade_a_server_at_once(postgres_server: PostgresServer) -> None:
    """Of two who make the tables of a server one does, and the other finds them."""
    address = postgres_server.create_database("twice")
    stores = [SqlStore(address), SqlStore(address)]
    found: list[str] = []
    threads = [threading.Thread(target=lambda store=store: found.append(store.upgrade())) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert found == ["0001", "0001"]
    for store in stores:
        store.close()
    postgres_server.drop_database("twice")
