"""What a call says when the database cannot be read."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from nr_llm.cancellation import Cancellation
from nr_llm.contexts import ToolContext
from nr_llm.errors import RunCancelledError, ToolError
from nr_llm_sql import _connection

from tests.plugins.sql.databases import Make, call, read

TOOLS = ["list_tables", "table_schema", "read_records"]


def use(database: Path | None, tool: str, **settings: object) -> None:
    """Call a tool with as little as it needs."""
    call(database, tool, {} if tool == "list_tables" else {"table": "t"}, **settings)


@pytest.mark.parametrize("tool", TOOLS)
class TestNoDatabase:
    def test_none_is_configured(self, tool: str) -> None:
        """Without a database every tool names the setting."""
        with pytest.raises(ToolError, match=r"\[plugins\.sql\] or the variable NR_LLM_SQL_DATABASE"):
            use(None, tool)

    def test_the_file_is_missing(self, tool: str, tmp_path: Path) -> None:
        """A missing file is no new database; the model does not learn the path."""
        with pytest.raises(ToolError, match="There is no database file") as caught:
            use(tmp_path / "missing.db", tool)

        assert str(tmp_path) not in str(caught.value)
        assert not (tmp_path / "missing.db").exists()

    def test_the_file_is_something_else(self, tool: str, tmp_path: Path) -> None:
        """A file of another kind is named as such."""
        path = tmp_path / "text.db"
        path.write_text("This is no database at all.\n" * 100)

        with pytest.raises(ToolError, match="not a SQLite database"):
            use(path, tool)

    def test_the_file_is_damaged(self, tool: str, make: Make) -> None:
        """A database with a broken page is reported, not shown in part."""
        path = make("CREATE TABLE t (x)", t=[("y" * 500,)] * 100)
        data = bytearray(path.read_bytes())
        data[100:] = b"\xff" * (len(data) - 100)
        path.write_bytes(data)

        with pytest.raises(ToolError, match="damaged"):
            use(path, tool)

    def test_the_file_is_damaged_beyond_words(self, tool: str, make: Make) -> None:
        """SQLite's report quotes the broken definition, which is no text."""
        path = make("CREATE TABLE t (x)")
        path.write_bytes(path.read_bytes().replace(b"CREATE TABLE t", b"CREATE TAB\xff\xfet"))

        with pytest.raises(ToolError, match="could not be read"):
            use(path, tool)

    def test_the_database_is_locked(self, tool: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """A database that another program keeps to itself is waited for, then given up, long before the call is."""
        monkeypatch.setattr(_connection, "BUSY_SECONDS", 0.01)
        path = make("CREATE TABLE t (x)")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")

            with pytest.raises(ToolError, match="locked by another program"):
                use(path, tool, seconds=3600.0)


def test_the_log_has_the_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Who runs the host learns where the file was looked for."""
    with caplog.at_level(logging.WARNING), pytest.raises(ToolError):
        read(tmp_path / "missing.db", "t")

    assert str(tmp_path / "missing.db") in caplog.text


def test_the_log_has_what_was_refused(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Who runs the host learns why a view cannot be read."""
    path = make("CREATE TABLE t (token); CREATE VIEW v AS SELECT token AS x FROM t")

    with caplog.at_level(logging.INFO):
        read(path, "v")

    assert "t.token" in caplog.text


def test_time_is_up(make: Make) -> None:
    """A call past its time says so, and what would be faster."""
    path = make("CREATE TABLE t (x)", t=[(1,)])

    with pytest.raises(ToolError, match=r"in time \(5 seconds\)"):
        read(path, "t", settings={"context": ToolContext(deadline=0.0)})


def test_time_is_up_while_the_schema_is_read(make: Make) -> None:
    """Reading the schema counts."""
    path = make(";".join(f"CREATE TABLE t{i} (x)" for i in range(300)))

    with pytest.raises(ToolError, match="in time"):
        read(path, "t1", settings={"context": ToolContext(deadline=0.0)})


def test_a_cancelled_run_is_left(make: Make) -> None:
    """A cancelled run ends the call as cancelled, not as failed."""
    path = make("CREATE TABLE t (x)", t=[(1,)])
    cancelled = Cancellation()
    cancelled.cancel("enough")

    with pytest.raises(RunCancelledError):
        read(path, "t", settings={"context": ToolContext(cancelled=cancelled)})


def test_a_later_deadline_changes_nothing(shop: Path) -> None:
    """The runtime's deadline counts only if it is the earlier one."""
    assert "Ada" in read(shop, "customers", settings={"context": ToolContext(deadline=1e12)}).content


def test_an_unexpected_code_gives_nothing_away(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of SQLite that nobody foresaw is one plain sentence."""
    from nr_llm_sql import _session

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error near /secret/path")

    monkeypatch.setattr(_session, "sources", fail)

    with pytest.raises(ToolError, match=r"^The database could not be read\. The log says more\.$"):
        read(shop, "orders")


def test_a_failing_table_is_no_refusal(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error other than a broken view is reported as one."""
    from nr_llm_sql import _session

    def fail(*_: object) -> None:
        error = sqlite3.OperationalError("locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error

    monkeypatch.setattr(_session, "table", fail)
    with pytest.raises(ToolError, match="locked"):
        read(shop, "orders")

    monkeypatch.setattr(_session, "_probe", fail)
    with pytest.raises(ToolError, match="locked"):
        call(shop, "list_tables")
