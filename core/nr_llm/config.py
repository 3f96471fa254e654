"""The part of `nr-llm.toml` that concerns plugins: which may load, and what each is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from nr_llm.errors import ConfigurationError, UnknownNameError


@attrs.frozen
class Table:
    """
    Settings of one plugin from one place.

    Attributes:
        values: Names and values, as TOML gives them.
        source: Where they are from, for people: a path, or words.
        folder: What relative paths in them are relative to, or None.
        trusted: Whether they may set credentials, addresses and paths outside of `folder`.
    """

    values: Mapping[str, Any] = attrs.field(repr=lambda values: f"<{', '.join(values)}>")
    source: str = "the program"
    folder: Path | None = attrs.field(default=None, kw_only=True)
    trusted: bool = attrs.field(default=True, kw_only=True)


@attrs.frozen(kw_only=True)
class PluginConfig:
    """
    What configuration files say about plugins.

    Attributes:
        allow: Distributions that may load, or None for all.
        deny: Distributions that may not.
        tables: For each plugin its tables, the one that counts first in front.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    tables: Mapping[str, tuple[Table, ...]] = attrs.field(factory=dict)

    def over(self, other: PluginConfig) -> PluginConfig:
        """Return this configuration with `other` behind it, such as a project's file over a user's."""
        names = dict.fromkeys((*self.tables, *other.tables))
        return PluginConfig(
            allow=other.allow if self.allow is None else self.allow,
            deny=(*self.deny, *other.deny),
            tables={name: (*self.tables.get(name, ()), *other.tables.get(name, ())) for name in names},
        )


def read_config(path: Path, *, trusted: bool) -> PluginConfig:
    """
    Read the ``[plugins]`` tables of a configuration file; its other tables are somebody else's.

    Args:
        path: A TOML file.
        trusted: Whether the file is the user's own.  The file of a project that was merely cloned is not: it may
            neither choose what loads nor redirect data, so it must not hold ``allow`` or ``deny``, and its
            plugin tables are marked.

    Raises:
        ConfigurationError: The file cannot be read, is not as expected, or says what it may not.
    """
    plugins = _document(path).get("plugins", {})
    if not isinstance(plugins, dict):
        raise ConfigurationError(f"{path}: plugins is no table.", remedy="Write [plugins.NAME] tables.")
    lists = {key: _names(path, key, plugins.pop(key)) for key in ("allow", "deny") if key in plugins}
    if lists and not trusted:
        raise ConfigurationError(
            f"{path} is not trusted and sets plugins.{' and plugins.'.join(lists)}.",
            remedy="Choose plugins in your user configuration or with NR_LLM_PLUGINS, or trust this project.",
        )
    tables = {name: (_table(path, name, values, trusted=trusted),) for name, values in plugins.items()}
    return PluginConfig(allow=lists.get("allow"), deny=lists.get("deny", ()), tables=tables)


def _document(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no TOML file: {error}.") from error


def _names(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ConfigurationError(f"{path}: plugins.{key} is no list of distribution names.")
    return tuple(value)


def _table(path: Path, name: str, values: object, *, trusted: bool) -> Table:
    if not isinstance(values, dict):
        problem = UnknownNameError("setting of [plugins]", name, known=("allow", "deny"))
        raise ConfigurationError(f"{path}: {problem}", remedy="Settings of a plugin stand in [plugins.NAME].")
    return Table(values, str(path), folder=path.absolute().parent, trusted=trusted)
