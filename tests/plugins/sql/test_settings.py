"""What a host may set."""

from __future__ import annotations

from pathlib import Path

import pytest
from nr_llm.errors import InvalidValueError
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
