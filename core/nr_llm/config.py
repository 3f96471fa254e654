"""`nr-llm.toml` as it is written: which plugins load and what each is told, further services, names for models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from nr_llm.errors import ConfigurationError, UnknownNameError, similar

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
"""What a provider or an alias may be called: no colon, which separates the two parts of a model's name."""

KNOWN: Final = ("default_model", "models", "plugins", "providers")
"""What is read at the top of the file."""

_REMEDY: Final = "Say it in your user configuration instead, or trust this project."


@attrs.frozen
class Table:
    """
    Settings of one plugin, provider or model from one place.

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


Tables = Mapping[str, tuple[Table, ...]]
"""For each name its tables, the one that counts first in front."""


@attrs.frozen(kw_only=True)
class Config:
    """
    What configuration files say.

    Attributes:
        allow: Distributions whose plugins may load, or None for all.
        deny: Distributions whose plugins may not.
        tables: What plugins are told, by the plugin's name.
        providers: Further services, by the name they get.
        models: Facts, limits and defaults of models, by the alias they get.
        default_model: The model of runs that name none, or None.
        default_source: Where that is from; empty if there is none.
        unread: Names at the top of a file that look like one that is read, each with its file.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    tables: Tables = attrs.field(factory=dict)
    providers: Tables = attrs.field(factory=dict)
    models: Tables = attrs.field(factory=dict)
    default_model: str | None = None
    default_source: str = ""
    unread: tuple[tuple[str, str], ...] = ()

    def over(self, other: Config) -> Config:
        """Return this configuration with `other` behind it, such as a project's file over a user's."""
        chosen = other if self.default_model is None else self
        return Config(
            allow=other.allow if self.allow is None else self.allow,
            deny=(*self.deny, *other.deny),
            tables=_stacked(self.tables, other.tables),
            providers=_stacked(self.providers, other.providers),
            models=_stacked(self.models, other.models),
            default_model=chosen.default_model,
            default_source=chosen.default_source,
            unread=(*self.unread, *other.unread),
        )


def _stacked(front: Tables, back: Tables) -> Tables:
    return {name: (*front.get(name, ()), *back.get(name, ())) for name in dict.fromkeys((*front, *back))}


def read_config(path: Path, *, trusted: bool) -> Config:
    """
    Read a configuration file; names at its top that are not in `KNOWN` are somebody else's.

    What a single plugin, provider or model is told is judged when it is used, so that a fault in one harms no other.

    Args:
        path: A TOML file.
        trusted: Whether the file is the user's own.  The file of a project that was merely cloned is not: it may
            neither choose what loads nor redirect data, so it must not hold ``allow``, ``deny`` or providers, and
            its other tables are marked.

    Raises:
        ConfigurationError: The file cannot be read, is not as expected, or says what it may not.
    """
    document = _document(path)
    plugins = _mapping(path, "plugins", document)
    lists = {key: _names(path, key, plugins.pop(key)) for key in ("allow", "deny") if key in plugins}
    if lists and not trusted:
        raise ConfigurationError(
            f"{path} is not trusted and sets plugins.{' and plugins.'.join(lists)}.",
            remedy="Choose plugins in your user configuration or with NR_LLM_PLUGINS, or trust this project.",
        )
    providers = _tables(path, "providers", document, trusted=trusted)
    if providers and not trusted:
        raise ConfigurationError(
            f"{path} is not trusted and sets providers.{' and providers.'.join(providers)}.", remedy=_REMEDY
        )
    default = _default(path, document)
    return Config(
        allow=lists.get("allow"),
        deny=lists.get("deny", ()),
        tables={name: (_plugin(path, name, values, trusted=trusted),) for name, values in plugins.items()},
        providers=providers,
        models=_tables(path, "models", document, trusted=trusted),
        default_model=default,
        default_source=str(path) if default else "",
        unread=tuple((name, str(path)) for name in document if name not in KNOWN and similar(name, KNOWN)),
    )


def _document(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no TOML file: {error}.") from error


def _mapping(path: Path, section: str, document: Mapping[str, Any]) -> dict[str, Any]:
    found = document.get(section, {})
    if not isinstance(found, dict):
        raise ConfigurationError(f"{path}: {section} is no table.", remedy=f"Write [{section}.NAME] tables.")
    return found


def _names(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ConfigurationError(f"{path}: plugins.{key} is no list of distribution names.")
    return tuple(value)


def _plugin(path: Path, name: str, values: object, *, trusted: bool) -> Table:
    if not isinstance(values, dict):
        problem = UnknownNameError("setting of [plugins]", name, known=("allow", "deny"))
        raise ConfigurationError(f"{path}: {problem}", remedy="Settings of a plugin stand in [plugins.NAME].")
    return Table(values, str(path), folder=path.absolute().parent, trusted=trusted)


def _tables(path: Path, section: str, document: Mapping[str, Any], *, trusted: bool) -> Tables:
    found: dict[str, tuple[Table, ...]] = {}
    for name, values in _mapping(path, section, document).items():
        if not isinstance(values, dict):
            raise ConfigurationError(
                f"{path}: {section}.{name} is no table.", remedy=f"Settings stand in [{section}.NAME]."
            )
        if not NAME.match(name):
            raise ConfigurationError(
                f"{path}: [{section}.{name!r}] has a name that no model could be reached by.",
                remedy="Use letters, digits, '.', '_' and '-'.",
            )
        found[name] = (Table(values, str(path), folder=path.absolute().parent, trusted=trusted),)
    return found


def _default(path: Path, document: Mapping[str, Any]) -> str | None:
    value = document.get("default_model")
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigurationError(
            f"{path}: default_model names no model.", remedy="Write an alias of [models], or provider:model."
        )
    return value
