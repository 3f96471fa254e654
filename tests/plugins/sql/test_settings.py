"""What a host may set."""

from __future__ import annotations

from pathlib import Path

import nr_llm_sql
import pytest
from nr_llm import PluginHost
from nr_llm.config import read_config
from nr_llm.errors import ConfigurationError, InvalidValueError
from nr_llm_sql import SqlSettings


def test_defaults_need_nothing() -> None:
    """Without any setting there is no database and the documented limits hold."""
    settings = SqlSettings()

    assert (settings.database, settings.rows, settings.max_rows, settings.tables) == (None, 20, 50, ())


def test_an_empty_path_is_none() -> None:
    """An empty variable means that there is no database."""
    assert SqlSettings(database="").database is None


def test_a_tilde_is_the_home_folder() -> None:
    """Paths may be written as people write them."""
    assert SqlSettings(database="~/a.db").database == Path.home() / "a.db"


def test_one_name_is_a_list_of_one() -> None:
    """A string is not taken apart into letters."""
    assert SqlSettings(tables="orders").tables == ("orders",)


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("database", "a\0b", "database"),
        ("tables", ["a", ""], "tables[1]"),
        ("denied_tables", [""], "denied_tables[0]"),
        ("denied_columns", [""], "denied_columns[0]"),
        ("rows", 0, "rows"),
        ("max_rows", 1001, "max_rows"),
        ("seconds", 0, "seconds"),
        ("seconds", float("nan"), "seconds"),
        ("seconds", float("inf"), "seconds"),
        ("value_bytes", 999, "value_bytes"),
        ("value_bytes", 2**31, "value_bytes"),
    ],
)
def test_bad_values_name_their_place(field: str, value: object, path: str) -> None:
    """A value out of range is refused with the setting's name."""
    with pytest.raises(InvalidValueError) as caught:
        SqlSettings(**{field: value})

    assert caught.value.path == path


@pytest.mark.parametrize(
    "line",
    [
        "writable_role = true",
        'tables = ["api_keys"]',
        "denied_tables = []",
        "denied_columns = []",
        'schemas = ["private"]',
        "max_rows = 1000",
        "seconds = 3600.0",
        "value_bytes = 1_000_000_000",
    ],
)
def test_a_file_that_is_not_trusted_widens_nothing(line: str, tmp_path: Path) -> None:
    """A cloned project that could would read what its user's settings deny."""
    config = tmp_path / "nr-llm.toml"
    config.write_text(f"[plugins.sql]\n{line}\n")

    with pytest.raises(ConfigurationError, match=line.split(maxsplit=1)[0]):
        PluginHost({"sql": nr_llm_sql}, environ={}, config=read_config(config, trusted=False)).require("sql")
