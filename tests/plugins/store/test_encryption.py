"""Nothing of a run's live state can be read in the database when there is a key, or when the run has ended."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from nr_llm import Policy, Suspended, SuspensionError, tool
from nr_llm.errors import ConfigurationError, StoreError
from nr_llm.records import RunStatus
from nr_llm.redaction import Redactor
from nr_llm.secrets import Secret
from nr_llm.testing import Harness, calling
from nr_llm_store import SqlStore, StoreSettings
from nr_llm_store._seal import MARK, Seal, message_of, state_of

from tests.plugins.store.conftest import Make
from tests.plugins.store.runs import begun, change, live

CANARY = "the-canary-of-this-conversation"
OLD, NEW = (base64.b64encode(bytes([i]) * 32).decode() for i in (1, 2))


def stored(store: SqlStore) -> dict[str, list[tuple[object, ...]]]:
    """Return the live state as it is in the database."""
    queries = {"state": "SELECT run_id, live_state FROM nr_llm_run", "message": "SELECT * FROM nr_llm_live_message"}
    with store._database.engine.connect() as connection:
        return {name: [tuple(row) for row in connection.exec_driver_sql(text)] for name, text in queries.items()}


def on_disk(folder: Path) -> bytes:
    """Return all bytes of a SQLite database: the file and its log."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("runs.db*")))


def test_nothing_can_be_read_on_disk(tmp_path: Path) -> None:
    """With a key neither the file nor its log holds what was said; without one the test would find it."""
    plain = begun(SqlStore(tmp_path / "plain" / "runs.db"), "r1", CANARY)
    sealed = begun(SqlStore(tmp_path / "sealed" / "runs.db", keys=[NEW]), "r1", CANARY)
    sealed.write(change(checkpoint=live(CANARY + "!", start=1)))

    assert (plain.encrypts, sealed.encrypts) == (False, True)
    assert CANARY.encode() in on_disk(tmp_path / "plain")
    assert (tmp_path / "sealed" / "runs.db-wal").stat().st_size > 0
    assert CANARY.encode() not in on_disk(tmp_path / "sealed")
    found = sealed.live("r1")
    assert found is not None
    assert found.state == {"note": CANARY + "!"}
    assert found.messages == ({"content": CANARY}, {"content": CANARY + "!"})
    plain.close()
    sealed.close()


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED])
def test_an_end_wipes_what_was_plain(tmp_path: Path, status: RunStatus) -> None:
    """Also without a key nothing is left in the file once the run has ended: pages are overwritten."""
    store = begun(SqlStore(tmp_path / "runs.db"), "r1", *(f"{CANARY}-{i}-{'x' * 3000}" for i in range(9)))
    store.write(change(status=status, reason="completed"))
    store.close()

    assert stored(store) == {"state": [("r1", None)], "message": []}
    assert CANARY.encode() not in on_disk(tmp_path)
    store.close()


def test_every_key_decrypts_and_the_first_encrypts(make: Make) -> None:
    """What an older key encrypted is read while that key is there, and new states are under the first."""
    store = begun(make(keys=[OLD]), "r1", CANARY)
    both = SqlStore(store._database.engine, keys=[f"{NEW},\n {OLD}"])

    found = both.live("r1")
    both.write(change(checkpoint=live("more", start=1)))

    assert found is not None
    assert found.messages == ({"content": CANARY},)
    assert both.live("r1") is not None
    with pytest.raises(StoreError, match=r"is not in `keys` in \[plugins.store\] or the variable NR_LLM_STORE_KEYS"):
        store.live("r1")


def test_rewrap_leaves_nothing_under_an_old_key(make: Make) -> None:
    """After a rewrap the first key is enough; plain states are encrypted too, and a second rewrap does nothing."""
    store = begun(make(keys=[OLD]), "r1", CANARY, "second")
    begun(SqlStore(store._database.engine), "r2", CANARY)
    both = SqlStore(store._database.engine, keys=[NEW, OLD])

    assert both.rewrap() == 5
    assert both.rewrap() == 0
    assert SqlStore(store._database.engine).rewrap() == 0
    only = SqlStore(store._database.engine, keys=[NEW])
    assert [only.live(run_id) for run_id in ("r1", "r2")] == [live(CANARY, "second"), live(CANARY)]
    assert all(str(row[-1]).startswith(f"{MARK}{only._seal.first}:") for rows in stored(only).values() for row in rows)


def test_a_value_that_was_moved_cannot_be_opened(make: Make) -> None:
    """An encrypted value is bound to its run, column and number."""
    store = begun(begun(make(keys=[NEW]), "r1", "one", "two"), "r2", "other")
    for move in (
        "UPDATE nr_llm_run SET live_state = (SELECT live_state FROM nr_llm_run WHERE run_id = 'r2')",
        "UPDATE nr_llm_live_message SET message = (SELECT message FROM nr_llm_live_message WHERE run_id = 'r2')",
    ):
        with store._database.engine.begin() as connection:
            connection.exec_driver_sql(move)
        with pytest.raises(StoreError, match="changed or moved"):
            store.live("r1")
        begun(SqlStore(store._database.engine, keys=[NEW]), f"free-{move[7:20]}")
    with pytest.raises(StoreError, match="changed or moved"):
        Seal([NEW]).open(Seal([NEW]).close("{}", state_of("r1")), message_of("r1", 0))
    with pytest.raises(StoreError, match="changed or moved"):
        Seal([NEW]).open(f"{MARK}{Seal([NEW]).first}:***", state_of("r1"))


def test_the_same_text_is_never_encrypted_the_same_way() -> None:
    """Equal states cannot be told to be equal."""
    seal = Seal([NEW])

    assert seal.close("{}", "p") != seal.close("{}", "p")
    assert seal.open(seal.close("{}", "p"), "p") == "{}"


@pytest.mark.parametrize("key", ["short", "Zm9v", "ä" * 44, base64.b64encode(bytes(16)).decode()])
def test_a_key_of_another_form_is_refused(key: str) -> None:
    """What is no key is named by its setting, with how to make one, and never shown."""
    with pytest.raises(ConfigurationError, match="NR_LLM_STORE_KEYS is not base64 of 32 bytes") as caught:
        SqlStore("runs.db", keys=[key])
    assert key not in str(caught.value)


def test_keys_are_learned_by_the_redactor(tmp_path: Path) -> None:
    """Whatever passes the redactor from then on shows no key and no address."""
    redactor = Redactor()
    settings = StoreSettings(url=Secret(f"sqlite:///{tmp_path}/runs.db"), keys=Secret(f"{NEW},{OLD}"))

    store = SqlStore.of(settings, redactor=redactor)

    shown = redactor.redact(f"{NEW} and {OLD} in {settings.url.reveal() if settings.url else ''}")
    assert not {NEW, OLD, str(tmp_path)} & set(shown.split())
    assert NEW not in repr(store)


@tool(effect="write")
def change_it() -> str:
    """Write, with a person's consent."""
    return "changed"


class TestRunsThatWait:
    """What becomes of a run that waits where there is no key, and where there is one."""

    def wait(self, store: SqlStore, *, run_id: str = "r1", **settings: Any) -> Any:
        """Have a run wait."""
        with Harness(tools=[change_it], store=store, **settings) as harness:
            return harness.run(replies=[calling(("change_it", {}))], tools=["change_it"], run_id=run_id)

    def test_without_a_key_it_is_told_once(self, make: Make, caplog: pytest.LogCaptureFixture) -> None:
        """The operator hears of the first; both wait."""
        store = make()
        both = [self.wait(store), self.wait(store, run_id="r2")]

        assert all(isinstance(one, Suspended) for one in both)
        assert caplog.text.count("kept whole and unencrypted") == 1

    @pytest.mark.parametrize("setting", [{"on_plain_state": "refuse"}, {"policy": Policy(plain_state="refuse")}])
    def test_without_a_key_it_can_be_refused(self, make: Make, setting: dict[str, Any]) -> None:
        """By the program or by the operator: then nobody is asked, and nothing of the conversation is left."""
        store = make()
        with pytest.raises(SuspensionError, match="unencrypted; nobody is asked, and nothing more is run"):
            self.wait(store, **setting)
        run = store.run("r1")

        assert run is not None
        assert (run.status, run.error) == (RunStatus.FAILED, "SuspensionError")
        assert stored(store) == {"state": [("r1", None)], "message": []}

    @pytest.mark.parametrize(("keys", "level"), [([NEW], "metadata"), ([], "full")])
    def test_where_nothing_more_is_kept_it_waits(
        self, make: Make, keys: list[str], level: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """With a key, or where the record keeps everything anyway, nothing is refused or told."""
        assert isinstance(self.wait(make(keys=keys), privacy=level, on_plain_state="refuse"), Suspended)
        assert "unencrypted" not in caplog.text
