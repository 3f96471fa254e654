"""What the store does beyond the promises of every store: purge, verify, odd names, engines, settings, commands."""

from __future__ import annotations

import itertools
import stat
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import nr_llm_store
import pytest
import sqlalchemy
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import PluginHost
from nr_llm.actors import Actor
from nr_llm.errors import ConfigurationError, StoreError
from nr_llm.privacy import PrivacyLevel, StepRecord
from nr_llm.records import OPEN, TERMINAL, Checkpoint, RunStatus, RunTotals, TranscriptEntry
from nr_llm.responses import Usage
from nr_llm.secrets import Secret
from nr_llm.settings import load_settings
from nr_llm.stores import MemoryStore, RunQuery
from nr_llm.testing.stores import check_store
from nr_llm_store import SqlStore, StoreSettings
from nr_llm_store._changes import MOST_TOKENS
from nr_llm_store._later import LaterStore
from nr_llm_store._money import PART, joined, split
from nr_llm_store.settings import RETENTION_DAYS, USAGE_DAYS
from nr_llm_store.verify import verify

from tests.plugins.store.conftest import Make
from tests.plugins.store.runs import BEGAN, DAY, begun, change, ended, head, live, step

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


class TestPurge:
    """What is older than it is to be kept is forgotten, category by category."""

    def test_ended_runs_alone(self, make: Make) -> None:
        """A run that has not ended, or ended lately, stays, however old it is."""
        store = make()
        ended(store, "old", at=BEGAN)
        ended(store, "late", at=BEGAN + 39 * DAY)
        begun(store, "waits")
        store.write(change("waits", status=RunStatus.WAITING_FOR_APPROVAL, claim=""))
        begun(store, "goes-on")

        purged = store.purge(now=BEGAN + 40 * DAY)

        assert (purged.runs, purged.usage) == (1, 0)
        assert {run.run_id for run in store.runs(RunQuery())} == {"late", "waits", "goes-on"}
        assert store.live("waits") is not None

    @pytest.mark.parametrize("days", [0, -1, 0.5])
    def test_no_window_is_the_default(self, make: Make, days: float) -> None:
        """A window below a day is nobody's wish to lose everything."""
        store = ended(make(), at=BEGAN)

        assert store.purge(now=BEGAN + (RETENTION_DAYS - 1) * DAY, retention_days=days, usage_days=days).runs == 0
        assert store.purge(now=BEGAN + (RETENTION_DAYS + 1) * DAY, retention_days=days, usage_days=days).runs == 1
        assert store.purge(now=BEGAN + (USAGE_DAYS - 1) * DAY, retention_days=days, usage_days=days).usage == 0
        assert store.purge(now=BEGAN + (USAGE_DAYS + 1) * DAY, retention_days=days, usage_days=days).usage == 1
        assert not store.usage()

    def test_many_runs(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """More runs than fit one transaction go one after another."""
        monkeypatch.setattr("nr_llm_store.store.CHUNK", 3)
        store = make()
        for number in range(8):
            ended(store, f"r{number}")

        assert store.purge(now=BEGAN + 99 * DAY).runs == 8
        assert [(row.runs, row.model) for row in store.usage()] == [(8, "acme:m")]

    def test_a_name_twice(self, make: Make) -> None:
        """A run that is named twice is deleted, and counted, once."""
        store = ended(make())

        assert store.delete(["r1", "r1", "nobody"]) == 1
        assert [row.runs for row in store.usage()] == [1]


class TestVerify:
    """A record that is whole has no findings, and each kind of damage has its own."""

    def test_a_whole_record(self, make: Make) -> None:
        """Runs that go on, wait or have ended are in order."""
        store = ended(begun(make(), "goes-on"), "over")
        begun(store, "waits")
        store.write(change("waits", status=RunStatus.WAITING_FOR_APPROVAL, claim=""))
        sent = StepRecord(kind="request", round=1, payload={"messages_sent": [[0, 1]]})
        store.write(change("waits", expect=OPEN, owner=None, steps=(sent,), transcript=(TranscriptEntry("x"),)))

        assert [store.verify(run_id) for run_id in ("goes-on", "over", "waits")] == [(), (), ()]
        assert [found.code for found in store.verify("nobody")] == ["unknown"]

    @pytest.mark.parametrize(
        ("damage", "codes"),
        [
            ("DELETE FROM nr_llm_event", ["count"]),
            ("UPDATE nr_llm_event SET sequence = 3", ["gap"]),
            ("UPDATE nr_llm_run SET status = 'dreaming'", ["status"]),
            ("UPDATE nr_llm_run SET reason = NULL, ended = NULL", ["reason", "ended"]),
            ("UPDATE nr_llm_run SET owner = 'me'", ["claim"]),
            ("UPDATE nr_llm_run SET live_state = '{}'", ["live"]),
            ("INSERT INTO nr_llm_live_message VALUES ('r1', 0, '{}')", ["live"]),
            ("UPDATE nr_llm_run SET status = 'running'", ["ended"]),
            ("UPDATE nr_llm_run SET status = 'waiting_for_input', ended = NULL", ["live"]),
            ("UPDATE nr_llm_run SET provenance = '{}'", ["provenance"]),
            ("""UPDATE nr_llm_run SET provenance = '{"tools": {"look": {"package": null}}}'""", ["schema"]),
            ("""UPDATE nr_llm_event SET payload = '{"messages_sent": [[0, 1], [1, 2]]}'""", ["span"]),
            ("""UPDATE nr_llm_event SET payload = '{"messages_sent": ["x", {"role": "user"}]}'""", ["span"]),
        ],
    )
    def test_damage(self, make: Make, damage: str, codes: list[str]) -> None:
        """What should not be is found and said."""
        store = ended(make())
        with store._database.engine.begin() as connection:
            connection.execute(sqlalchemy.text(damage.replace(": ", r"\: ").replace(":n", r"\:n")))

        assert [finding.code for finding in store.verify("r1")] == codes

    def test_any_store(self) -> None:
        """The checks ask only what every store answers."""
        assert verify(ended(MemoryStore()), "r1") == ()


def test_usage_outlives_its_run_and_its_name(make: Make) -> None:
    """Two runs that had one name, one after the other, both count."""
    store = make()
    used = RunTotals(usage=Usage(10**15, None), cost=Decimal("0.000000000000000000007"))
    for _ in range(2):
        begun(store)
        store.write(change(status=RunStatus.COMPLETED, reason="completed", totals=used))
        assert store.delete(["r1"]) == 1

    [row] = store.usage()
    assert (row.runs, row.usage) == (2, Usage(2 * 10**15, None))
    assert row.cost == Decimal("0.000000000000000000014")


@given(st.decimals(min_value=0, allow_nan=False, allow_infinity=False, places=None), st.integers(1, 1000))
def test_amounts_are_exact(amount: Decimal, times: int) -> None:
    """However many digits an amount has, it comes back as it was, and so does its multiple."""
    units, rest = split(amount)
    parts, remainder = divmod(units, PART)

    assert joined(units, rest) == amount
    assert "E+" not in str(joined(units, rest)) or units == 0
    if abs(amount) < 10**9 and len(amount.as_tuple().digits) < 20:
        assert joined(PART * parts * times + remainder * times, rest, times=times) == amount * times


@given(st.text(), st.text(min_size=1))
def test_odd_names(tmp_path_factory: pytest.TempPathFactory, run_id: str, model: str) -> None:
    """A run of any name and model is kept and found again under that name."""
    store = SqlStore(tmp_path_factory.mktemp("odd") / "runs.db")
    begun(store, run_id, model=model, configuration=run_id)

    found = store.run(run_id)
    assert found is not None
    assert store.write(change(run_id, steps=step(0).steps, error=model, reason=model)).applied
    assert [each.sequence for each in store.steps(run_id)] == [0]
    assert len(store.runs(RunQuery(configuration=run_id))) == 1
    store.close()


def test_odd_names_on_a_server(make: Make) -> None:
    """NUL and lone surrogates, which a database refuses, do not stop a run."""
    store = begun(make(), "a\0b\ud800", model="m\0", configuration="\ud800")

    assert store.run("a\0b\ud800") is not None
    odd = StepRecord(kind="\0", round=1, payload={"\0": "\0"})
    assert store.write(change("a\0b\ud800", steps=(odd,))).applied
    assert store.steps("a\0b\ud800")[0].step.payload == {"\0": "\0"}
    assert store.request_stop("a\0b\ud800", BEGAN + 1)
    assert store.live("a\0b\ud800") == live("hello")


class TestReference:
    """What only few changes do comes out as in the reference store."""

    @pytest.mark.parametrize(
        "changes",
        [
            [change(expect=frozenset())],
            [change(lease=0.0, claim="you"), change(owner="you", lease=5.0)],
            [change(checkpoint=Checkpoint(state={}, start=5, messages=({"a": 1},)))],
            [change(checkpoint=Checkpoint(state={"b": 1}, start=0, messages=()))],
            [change(checkpoint=live("a", "b", "c", start=1)), change(checkpoint=live("d", start=2))],
            [change(status=RunStatus.FAILED), change(expect=TERMINAL, owner=None, checkpoint=live("late"))],
            [change(status=RunStatus.FAILED), change(expect=TERMINAL, owner=None, status=RunStatus.RUNNING)],
            [change(status=RunStatus.CANCELLED, checkpoint=live("late"), claim="you", lease=9.0)],
            [change(claim="", lease=9.0), change(owner=None, reason="", error="")],
            [change(status=RunStatus.QUEUED, unless_stopped=True), change(expect=frozenset({RunStatus.QUEUED}))],
        ],
    )
    def test_a_change(self, make: Make, changes: list[Any]) -> None:
        """The run, its live state and what was said of the change are equal."""
        mine, theirs = begun(make()), begun(MemoryStore())

        for one in changes:
            assert mine.write(one) == theirs.write(one)
            assert mine.run("r1") == theirs.run("r1")
            assert mine.live("r1") == theirs.live("r1")

    @pytest.mark.parametrize(
        "facts",
        [
            {
                "status": RunStatus.COMPLETED,
                "checkpoint": live("x"),
                "claim": "me",
                "lease": 5.0,
                "reason": "completed",
            },
            {"status": RunStatus.QUEUED, "claim": "", "lease": 5.0},
            {"steps": step(0).steps, "transcript": (TranscriptEntry("x"),), "totals": RunTotals(rounds=1)},
        ],
    )
    def test_a_new_run(self, make: Make, facts: dict[str, Any]) -> None:
        """A run may begin with all that a change holds."""
        mine, theirs = make(), MemoryStore()
        for store in (mine, theirs):
            store.create(head(), change(**facts))

        assert mine.run("r1") == theirs.run("r1")
        assert mine.live("r1") == theirs.live("r1")
        assert mine.steps("r1") == tuple(theirs.steps("r1"))


def test_nonsense_that_a_service_reported(make: Make) -> None:
    """Counts of tokens beyond all sums leave the usage of everybody readable."""
    store = make()
    actor = Actor("ann")
    for run_id in ("a", "b", "c"):
        begun(store, run_id, actor=actor)
        used = RunTotals(usage=Usage(2**63 - 1, 2**63 - 1))
        store.write(change(run_id, status=RunStatus.COMPLETED, reason="completed", totals=used))

    assert [(row.runs, row.usage) for row in store.usage()] == [(3, Usage(3 * MOST_TOKENS, 3 * MOST_TOKENS))]
    assert store.spent("ann", datetime.fromtimestamp(0, UTC)).tokens == 6 * MOST_TOKENS


@pytest.mark.parametrize("column", ["provenance", "actor", "setting"])
def test_a_damaged_row_hides_no_other(make: Make, column: str) -> None:
    """It is listed without what cannot be read, and a run whose actor cannot be read is nobody's."""
    store = make()
    begun(begun(store, "whole"), "odd", actor=Actor("ann"), setting={"tools": []})
    with store._database.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE nr_llm_run SET {column} = '{{' WHERE run_id = 'odd'")

    assert {run.run_id for run in store.runs(RunQuery())} == {"whole", "odd"}
    odd = store.run("odd")
    assert odd is not None
    assert (odd.head.actor == Actor.anonymous()) is (column == "actor")
    assert (odd.head.setting is None) is (column == "setting")


@pytest.mark.parametrize("damaged", ["{", "[]", "null"])
@pytest.mark.parametrize("table", ["nr_llm_run", "nr_llm_live_message"])
def test_a_damaged_live_state(make: Make, table: str, damaged: str) -> None:
    """It is told as what it is, so that an inbox can name the run and show the others."""
    store = make()
    begun(store)
    with store._database.engine.begin() as connection:
        column = "live_state" if table == "nr_llm_run" else "message"
        connection.exec_driver_sql(f"UPDATE {table} SET {column} = '{damaged}'")

    with pytest.raises(StoreError, match="live state of run r1 is damaged"):
        store.live("r1")


def test_words_of_a_newer_version(make: Make) -> None:
    """A status or level that this version does not know is shown, and takes part in no change."""
    store = begun(make())
    with store._database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE nr_llm_run SET status = 'dreaming', privacy = 'veiled'")

    run = store.run("r1")
    assert run is not None
    assert (run.status, run.raw_status, run.head.privacy) == (None, "dreaming", PrivacyLevel.METADATA)
    written = store.write(step(0))
    assert (written.applied, written.status) == (False, "dreaming")
    assert not store.request_stop("r1", BEGAN)
    assert not store.delete(["r1"])


def test_an_engine_of_the_callers(tmp_path: Path) -> None:
    """A program may lend its engine, and keeps it: closing the store leaves it open."""
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/own.db")
    store = begun(SqlStore(engine))
    store.write(step(0))
    store.close()

    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM nr_llm_event").scalar() == 1
    assert len(store.steps("r1")) == 1
    engine.dispose()


class TestSettings:
    """The store is where settings say."""

    def test_the_default_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without settings it is in the folder that NR_LLM_HOME names, or in the user's data folder."""
        monkeypatch.setenv("NR_LLM_HOME", str(tmp_path))
        assert SqlStore().place == str(tmp_path / "data" / "runs.db")
        monkeypatch.delenv("NR_LLM_HOME")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
        assert SqlStore().place.endswith("nr-llm/runs.db")

    def test_from_the_environment(self, tmp_path: Path) -> None:
        """The address may be in a variable or a file, and goes before the path."""
        (tmp_path / "url").write_text("postgresql://ann:hunter22@host/runs", encoding="utf-8")
        environ = {"NR_LLM_DATABASE_URL_FILE": str(tmp_path / "url"), "NR_LLM_STORE_RETENTION_DAYS": "0"}

        settings = load_settings(StoreSettings, plugin="store", values={"path": "runs.db"}, environ=environ)

        assert SqlStore.of(settings).place == "runs on host"
        assert settings.retention_days == RETENTION_DAYS
        assert load_settings(StoreSettings, plugin="store", environ={"NR_LLM_STORE_USAGE_DAYS": "7"}).usage_days == 7

    @pytest.mark.parametrize("seconds", [0, -1, 3_601])
    def test_times_that_are_none(self, seconds: float) -> None:
        """A time-out is a time."""
        with pytest.raises(ValueError, match="must be above 0 and at most 3,600"):
            StoreSettings(wait_seconds=seconds)


class TestPlugin:
    """The plugin offers the store its settings describe."""

    def test_the_store_of_a_host(self, tmp_path: Path) -> None:
        """A host finds it; what every store can and what this one alone can is passed on."""
        host = PluginHost({"store": nr_llm_store}, settings={"store": {"path": tmp_path / "runs.db"}}, environ={})
        store = host.store()
        assert store is not None
        assert store is host.store()
        store.close()  # nothing was opened
        assert not list(tmp_path.iterdir())

        ended(store)

        assert store.blocking
        assert store.verify("r1") == ()  # type: ignore[attr-defined]
        assert not store.request_stop("r1", BEGAN)
        with pytest.raises(AttributeError):
            store._nothing  # type: ignore[attr-defined]  # noqa: B018
        store.close()

    def test_it_keeps_every_promise(self, tmp_path: Path) -> None:
        """Made later it is the same store."""
        numbers = itertools.count()

        def make() -> LaterStore:
            return LaterStore(lambda: SqlStore(tmp_path / f"{next(numbers)}.db"))

        assert check_store(make) == ()

    def test_a_key_of_another_form_fails_the_plugin(self) -> None:
        """Whoever asks for the store learns what is wrong with a setting, before a run begins."""
        host = PluginHost({"store": nr_llm_store}, settings={"store": {"keys": Secret("short")}}, environ={})

        with pytest.raises(ConfigurationError, match="NR_LLM_STORE_KEYS is not base64 of 32 bytes"):
            host.store()


class TestCommands:
    """`nr-llm db …` looks after the tables."""

    def run(self, name: str, settings: StoreSettings) -> str:
        """Return what a command says."""
        [command] = [each for each in nr_llm_store.nr_llm_commands(settings) if each.name == name]
        result = CliRunner().invoke(command, standalone_mode=False)
        assert result.exception is None, result.exception
        return result.output

    def test_on_a_new_file(self, tmp_path: Path) -> None:
        """A file says that it has no tables, gets them, and is up to date."""
        settings = StoreSettings(path=tmp_path / "runs.db", keys=Secret(KEY))

        assert self.run("db current", settings) == f"{tmp_path}/runs.db: no tables yet\n"
        assert self.run("db upgrade", settings) == f"{tmp_path}/runs.db: has its tables now, revision 0001\n"
        assert self.run("db upgrade", settings) == f"{tmp_path}/runs.db: is up to date, revision 0001\n"
        assert self.run("db current", settings) == f"{tmp_path}/runs.db: revision 0001\n"
        begun(SqlStore(tmp_path / "runs.db")).close()
        assert stat.S_IMODE((tmp_path / "runs.db").stat().st_mode) == 0o600
        said = "0 runs forgotten, and the usage of 0 that were forgotten before"
        assert self.run("db purge", settings) == f"{tmp_path}/runs.db: {said}\n"
        assert self.run("db rewrap", settings) == f"{tmp_path}/runs.db: 2 values encrypted anew\n"

    def test_without_click_there_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The store works where there is no command line; another missing module is not passed over."""
        assert len(list(nr_llm_store.nr_llm_commands(StoreSettings()))) == 4
        monkeypatch.delitem(sys.modules, "nr_llm_store.commands")
        monkeypatch.setitem(sys.modules, "click", None)
        assert nr_llm_store.nr_llm_commands(StoreSettings()) == []
        monkeypatch.setitem(sys.modules, "nr_llm_store.commands", None)
        with pytest.raises(ModuleNotFoundError):
            nr_llm_store.nr_llm_commands(StoreSettings())


@pytest.mark.parametrize(
    ("missing", "options", "extra"),
    [
        ("psycopg", {"database": "postgresql://host/runs"}, "postgresql"),
        ("cryptography.hazmat.primitives.ciphers.aead", {"keys": [KEY]}, "encryption"),
    ],
)
def test_a_package_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, missing: str, options: dict[str, Any], extra: str
) -> None:
    """Who needs an extra is told which."""
    for name in [name for name in sys.modules if name.startswith("psycopg")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(ConfigurationError, match=rf'pip install "nr-llm-store\[{extra}\]"'):
        SqlStore(**options)


def test_the_package_has_no_other_names() -> None:
    """A misspelt name is an error of the kind that Python raises."""
    with pytest.raises(AttributeError, match="no attribute 'SqlStor'"):
        nr_llm_store.SqlStor  # noqa: B018
