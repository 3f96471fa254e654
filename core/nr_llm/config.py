"""`nr-llm.toml` as it is written: which plugins load, what each is told, services, models, configurations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from nr_llm.errors import ConfigurationError, UnknownNameError, similar

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
"""What a provider, an alias or a configuration may be called: no colon, which separates a model's name in two."""

KNOWN: Final = (
    "audit",
    "configurations",
    "default_configuration",
    "default_model",
    "models",
    "plugins",
    "policy",
    "providers",
    "store",
)
"""What is read at the top of the file."""

PYPROJECT: Final = "pyproject.toml"
"""A file of this name belongs to many; ours is its table ``[tool.nr-llm]``."""

LISTS: Final = ("allow", "deny", "observe")
"""What ``[plugins]`` may hold beside tables of plugins."""

AUDIT: Final = ("write_arguments", "plain_state")
"""What ``[audit]`` may hold."""

_REMEDY: Final = "Say it in your user configuration instead, or trust this project: nr-llm config trust."


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
        allow_source: Where that list is from; empty if there is none.
        deny: Distributions whose plugins may not.
        deny_sources: Where each of them is from.
        observe: Plugins whose observers watch the runs.
        observe_sources: Where each of them is from.
        tables: What plugins are told, by the plugin's name.
        providers: Further services, by the name they get.
        models: Facts, limits and defaults of models, by the alias they get.
        configurations: What runs are given under one name, by that name.
        default_model: The model of runs that name none, or None.
        default_source: Where that is from; empty if there is none.
        default_configuration: The configuration of runs that name none, or None.
        default_configuration_source: Where that is from; empty if there is none.
        store: The plugin whose store keeps the runs, or None for the only one that offers a store.
        store_source: Where that is from; empty if nobody says it.
        policy: What is said about tools and providers, the file that counts first in front.
        unread: Names at the top of a file that look like one that is read, each with its file.
    """

    allow: tuple[str, ...] | None = None
    allow_source: str = ""
    deny: tuple[str, ...] = ()
    deny_sources: Mapping[str, str] = attrs.field(factory=dict)
    observe: tuple[str, ...] = ()
    observe_sources: Mapping[str, str] = attrs.field(factory=dict)
    tables: Tables = attrs.field(factory=dict)
    providers: Tables = attrs.field(factory=dict)
    models: Tables = attrs.field(factory=dict)
    configurations: Tables = attrs.field(factory=dict)
    default_model: str | None = None
    default_source: str = ""
    default_configuration: str | None = None
    default_configuration_source: str = ""
    store: str | None = None
    store_source: str = ""
    policy: tuple[Table, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()

    def provider_of(self, model: str) -> str:
        """Return the name of the provider that an alias or ``provider:model`` stands for."""
        rows = (table.values["provider"] for table in self.models.get(model, ()) if "provider" in table.values)
        return str(next(rows, model.partition(":")[0]))

    def over(self, other: Config) -> Config:
        """Return this configuration with `other` behind it, such as a project's file over a user's."""
        model = other if self.default_model is None else self
        configuration = other if self.default_configuration is None else self
        store = other if self.store is None else self
        return Config(
            allow=other.allow if self.allow is None else self.allow,
            allow_source=other.allow_source if self.allow is None else self.allow_source,
            deny=(*self.deny, *other.deny),
            deny_sources={**other.deny_sources, **self.deny_sources},
            observe=(*self.observe, *other.observe),
            observe_sources={**other.observe_sources, **self.observe_sources},
            tables=_stacked(self.tables, other.tables),
            providers=_stacked(self.providers, other.providers),
            models=_stacked(self.models, other.models),
            configurations=_stacked(self.configurations, other.configurations),
            default_model=model.default_model,
            default_source=model.default_source,
            default_configuration=configuration.default_configuration,
            default_configuration_source=configuration.default_configuration_source,
            store=store.store,
            store_source=store.store_source,
            policy=(*self.policy, *other.policy),
            unread=(*self.unread, *other.unread),
        )


def _stacked(front: Tables, back: Tables) -> Tables:
    return {name: (*front.get(name, ()), *back.get(name, ())) for name in dict.fromkeys((*front, *back))}


def read_config(path: Path, *, trusted: bool | Callable[[bytes], bool]) -> Config:
    """
    Read a configuration file; names at its top that are not in `KNOWN` are somebody else's.

    What a single plugin, provider, model or configuration is told is judged when it is used, so that a fault in one
    harms no other.  Of a file named ``pyproject.toml`` the table ``[tool.nr-llm]`` is read.

    Args:
        path: A TOML file.
        trusted: Whether the file is the user's own, or a function that tells it by the file's bytes.  The file of a
            project that was merely cloned is not: it may neither choose what loads nor redirect data, so it must not
            hold ``allow``, ``deny``, ``observe``, providers, a default configuration or a store, and its other tables
            are marked.

    Raises:
        ConfigurationError: The file cannot be read, is not as expected, or says what it may not.
    """
    data = _bytes(path)
    trusted = trusted(data) if callable(trusted) else trusted
    document = _document(path, data)
    plugins = _mapping(path, "plugins", document)
    lists = {key: _names(path, key, plugins.pop(key)) for key in LISTS if key in plugins}
    providers = _tables(path, "providers", document, trusted=trusted)
    model = _default(path, "default_model", document)
    configuration = _default(path, "default_configuration", document)
    store = _default(path, "store", document)
    if not trusted:
        _refuse(
            path, lists=lists, providers=providers, choices=[("default_configuration", configuration), ("store", store)]
        )
    return Config(
        allow=lists.get("allow"),
        allow_source=str(path) if "allow" in lists else "",
        deny=lists.get("deny", ()),
        deny_sources=dict.fromkeys(lists.get("deny", ()), str(path)),
        observe=lists.get("observe", ()),
        observe_sources=dict.fromkeys(lists.get("observe", ()), str(path)),
        tables={name: (_plugin(path, name, values, trusted=trusted),) for name, values in plugins.items()},
        providers=providers,
        models=_tables(path, "models", document, trusted=trusted),
        configurations=_tables(path, "configurations", document, trusted=trusted),
        default_model=model,
        default_source=str(path) if model else "",
        default_configuration=configuration,
        default_configuration_source=str(path) if configuration else "",
        store=store,
        store_source=str(path) if store else "",
        policy=_policy(path, document, trusted=trusted),
        unread=tuple((name, str(path)) for name in document if name not in KNOWN and similar(name, KNOWN)),
    )


def _refuse(path: Path, *, lists: Iterable[str], providers: Tables, choices: Iterable[tuple[str, str | None]]) -> None:
    """Refuse what a file that is not trusted may not say at all."""
    if lists:
        raise ConfigurationError(
            f"{path} is not trusted and sets plugins.{' and plugins.'.join(lists)}.",
            remedy="Choose plugins in your user configuration or with NR_LLM_PLUGINS, or trust this project: "
            "nr-llm config trust.",
        )
    if providers:
        raise ConfigurationError(
            f"{path} is not trusted and sets providers.{' and providers.'.join(providers)}.", remedy=_REMEDY
        )
    for name, value in choices:
        if value:
            raise ConfigurationError(f"{path} is not trusted and sets {name}.", remedy=_REMEDY)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error


def _document(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        document = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no TOML file: {error}.") from error
    return document if path.name != PYPROJECT else _mapping(path, "nr-llm", _mapping(path, "tool", document))


def _mapping(path: Path, section: str, document: Mapping[str, Any]) -> dict[str, Any]:
    found = document.get(section, {})
    if not isinstance(found, dict):
        raise ConfigurationError(f"{path}: {section} is no table.", remedy=f"Write [{section}.NAME] tables.")
    return found


def _names(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ConfigurationError(f"{path}: plugins.{key} is no list of names.")
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
                f"{path}: [{section}.{name!r}] has a name that no {section.removesuffix('s')} could be reached by.",
                remedy="Use letters, digits, '.', '_' and '-'.",
            )
        found[name] = (Table(values, str(path), folder=path.absolute().parent, trusted=trusted),)
    return found


def written(setting: str) -> str:
    """Return a setting of the policy as files write it: with the table that it stands in."""
    return f"audit.{setting}" if setting in AUDIT else f"policy.{setting}"


def _policy(path: Path, document: Mapping[str, Any], *, trusted: bool) -> tuple[Table, ...]:
    said: dict[str, Any] = {}
    for section in ("policy", "audit"):
        found = document.get(section, {})
        if not isinstance(found, dict):
            raise ConfigurationError(f"{path}: {section} is no table.", remedy=f"Write a table [{section}].")
        said |= found
    for name in document.get("audit", {}):
        if name not in AUDIT:
            raise UnknownNameError("setting of [audit]", name, known=AUDIT, remedy=f"There are: {', '.join(AUDIT)}.")
    if not said:
        return ()
    return (Table(said, str(path), folder=path.absolute().parent, trusted=trusted),)


def _default(path: Path, key: str, document: Mapping[str, Any]) -> str | None:
    value = document.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        kind = key.removeprefix("default_")
        remedy = {
            "model": "Write an alias of [models], or provider:model.",
            "store": "Write the NAME of the plugin that offers it.",
        }
        raise ConfigurationError(
            f"{path}: {key} names no {kind}.", remedy=remedy.get(kind, "Write the NAME of a [configurations.NAME].")
        )
    return value
