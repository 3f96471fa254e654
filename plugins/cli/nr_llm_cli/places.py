"""Where files of a person's own are kept, and where a project keeps its configuration."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

FILE: Final = "nr-llm.toml"
"""Name of a configuration file, the user's or a project's."""

KINDS: Final = ("config", "data", "state", "cache")
"""The folders: what is written by hand, what is kept, what is logged, what can be fetched again."""

_ROOTS: Final = (".git", ".hg")


def folder(kind: Literal["config", "data", "state", "cache"]) -> Path:
    """Return a folder of the user's own: below ``NR_LLM_HOME`` if that is set, else where the system has its kind."""
    if home := os.environ.get("NR_LLM_HOME"):
        return Path(home).expanduser().absolute() / kind
    import platformdirs

    places: dict[str, Callable[[str], Path]] = {
        "config": platformdirs.user_config_path,
        "data": platformdirs.user_data_path,
        "state": platformdirs.user_state_path,
        "cache": platformdirs.user_cache_path,
    }
    return places[kind]("nr-llm")


def user_file() -> Path:
    """Return the user's configuration file, which need not exist."""
    return folder("config") / FILE


def project_folders(start: Path) -> tuple[Path, ...]:
    """
    Return the folders whose file is a project's: the given one and its parents up to the root of the repository.

    Outside of a repository it is the given one alone: a file that somebody left in a shared folder above is nobody's
    project.
    """
    folders = (start, *start.parents)
    root = next((i for i, each in enumerate(folders) if any(_is(each / name) for name in _ROOTS)), 0)
    return folders[: root + 1]


def project_file(start: Path) -> Path | None:
    """Return the nearest project file: ``nr-llm.toml``, or a ``pyproject.toml`` with a table ``[tool.nr-llm]``."""
    for each in project_folders(start):
        if _is(each / FILE):
            return each / FILE
        if _is(each / "pyproject.toml") and _ours(each / "pyproject.toml"):
            return each / "pyproject.toml"
    return None


def here() -> Path | None:
    """Return the current folder, or None if it is gone."""
    with contextlib.suppress(OSError):
        return Path.cwd()
    return None


def _is(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.exists()
    return False


def _ours(path: Path) -> bool:
    """Say whether a pyproject.toml speaks of us; one that cannot be read and does not name us is somebody else's."""
    import tomllib

    try:
        data = path.read_bytes()
    except OSError:
        return False
    if b"nr-llm" not in data:
        return False
    try:
        tool = tomllib.loads(data.decode()).get("tool", {})
    except (ValueError, RecursionError):
        return b"[tool.nr-llm" in data
    return isinstance(tool, dict) and "nr-llm" in tool
