"""What a host may set in ``[plugins.tools]`` or by ``NR_LLM_TOOLS_*``: the one folder that is read, and the caps."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import attrs
from nr_llm import ConfigurationError, ToolError
from nr_llm.settings import setting

from nr_llm_tools._guard import parse_path

FILE_BYTES: Final = 2_000_000
"""Bytes a file may have to be read, the reference system's figure for its source tools."""

ENTRIES_VISITED: Final = 20_000
"""Directory entries one search looks at, the reference system's figure."""

SECONDS: Final = 5.0
"""Wall time of one search, the reference system's figure."""


def _absolute(path: Path | str) -> Path:
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:  # whose home "~name" is cannot be told
        raise ConfigurationError(f"plugins.tools.root: {error}", remedy="Write the folder out.") from None


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    if isinstance(paths, str):
        raise ConfigurationError("plugins.tools.write is one text.", remedy='Write a list, such as ["notes"].')
    try:
        return tuple("/".join(parse_path(path)) or "." for path in paths)
    except ToolError as error:
        raise ConfigurationError(f"plugins.tools.write: {error}", remedy="Name folders below the root.") from None


def _positive(_: object, field: attrs.Attribute[Any], value: float) -> None:
    if not value > 0:
        raise ConfigurationError(f"plugins.tools.{field.name} is {value!r}.", remedy="Set it to a number above 0.")


@attrs.frozen(kw_only=True)
class ToolsSettings:
    """
    Settings of the plugin.

    A file that is not trusted, such as a cloned project's, may only choose a root below its own folder: the other
    settings are bounds, and it could widen them.

    Attributes:
        root: The folder below which files may be read; the current folder when the settings are made.
        write: Folders below `root` in which files may be written and moved, ``.`` for all of it; none by default.
        deny: Further names no file tool shows, such as ``*.sqlite`` or ``private/notes.txt`` (parent and name).
        file_bytes: Bytes a file may have to be read or searched.
        entries_visited: Directory entries one call looks at.
        seconds: Wall time after which a search stops and says so.
    """

    root: Path = attrs.field(factory=Path, converter=_absolute)
    write: tuple[str, ...] = setting(default=(), converter=_folders, protected=True)
    deny: tuple[str, ...] = setting(default=(), protected=True)
    file_bytes: int = setting(default=FILE_BYTES, validator=_positive, protected=True)
    entries_visited: int = setting(default=ENTRIES_VISITED, validator=_positive, protected=True)
    seconds: float = setting(default=SECONDS, validator=_positive, protected=True)
