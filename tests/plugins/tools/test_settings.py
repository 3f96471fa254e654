"""The settings: the folder is fixed when they are made, and no cap can be switched off by a slip."""

from __future__ import annotations

from pathlib import Path

import pytest
from nr_llm import ConfigurationError
from nr_llm_tools import ToolsSettings


def test_the_root_is_the_current_folder_of_the_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later change of the current folder moves nothing."""
    monkeypatch.chdir(tmp_path)
    settings = ToolsSettings()
    monkeypatch.chdir("/")

    assert tmp_path == settings.root


def test_the_root_may_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As people write it in a configuration file."""
    monkeypatch.setenv("HOME", str(tmp_path))

    assert tmp_path / "notes" == ToolsSettings(root="~/notes").root


def test_a_home_folder_of_nobody_is_an_error() -> None:
    """The error names the setting and the remedy."""
    with pytest.raises(ConfigurationError, match=r"plugins\.tools\.root: .* Write the folder out"):
        ToolsSettings(root="~nobody-of-this-name/notes")


@pytest.mark.parametrize("name", ["file_bytes", "entries_visited", "seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_cap_is_above_zero(name: str, value: float) -> None:
    """The error names the setting."""
    with pytest.raises(ConfigurationError, match=rf"plugins\.tools\.{name}"):
        ToolsSettings(**{name: value})
