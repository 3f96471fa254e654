"""
The host finds plugins, runs each alone, and keeps going whatever one of them does.

Finding them needs their metadata alone (`_entrypoints`), and so does deciding which may load (`_selection`).  A
plugin's own code runs in `_plugin`, guarded and timed, and not before something of it is asked for (`_catalogue`).
pluggy marks the hooks, holds their declarations and reads the implementations of one plugin (`hookspecs`); it
neither discovers nor calls: its loader stops at the first broken package, and one raising implementation would drop
what all others returned.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, Final, Self, TypedDict, Unpack

from nr_llm._catalogue import Catalogue, dispute, excuse
from nr_llm._contributions import COMMANDS, CONFIGURATIONS, PROVIDERS, STORES, TABLES, TOOLS
from nr_llm._directory import Directory
from nr_llm._doctor import Case, examine
from nr_llm._faults import config_findings
from nr_llm._observers import ObserverFactory
from nr_llm._operator import policy_from
from nr_llm._passed import Claims, named
from nr_llm._plugin import Plugin, Surroundings
from nr_llm._profiles import Profiles
from nr_llm._selection import Selection, judge, select
from nr_llm._services import Service, Services
from nr_llm._settings import SettingsDesk
from nr_llm._stores import store_of
from nr_llm.aliases import ModelAlias, alias_of
from nr_llm.config import Config
from nr_llm.configurations import Configuration
from nr_llm.effective import Value, of_choices, of_rows
from nr_llm.errors import ConfigurationError, NrLlmError, UnknownNameError
from nr_llm.plugins import (
    Finding,
    PluginRecord,
    RegisteredCommand,
    RegisteredProvider,
    RegisteredTool,
)
from nr_llm.policy import Policy
from nr_llm.redaction import Redactor
from nr_llm.settings import Loaded
from nr_llm.stores import RunStore

SLOW_AFTER: Final = 1.0
"""Seconds of a plugin's own code from which on people notice the wait (gptme warns at the same figure)."""

_log = logging.getLogger("nr_llm.plugins")


class HostOptions(TypedDict, total=False):
    """What a host may be given beside plugins; see `PluginHost`."""

    settings: Mapping[str, object] | None
    environ: Mapping[str, str] | None
    config: Config | None
    redactor: Redactor | None
    clock: Callable[[], float]
    slow_after: float


class PluginHost:
    """
    The plugins of one application, and what they offer.

    A host is an object, not a global: make one per application.  It is thread-safe, and none of its methods raises
    because a plugin is broken, but `require` and the lookups that need just that plugin.

    ``PluginHost(plugins=[...])`` uses what it is given and reads no metadata; `discover` finds installed plugins.

    Args:
        plugins: Modules or objects with hook implementations, tools, toolsets, providers; a mapping gives them
            their names.  They go before installed ones, and an object passed twice counts once.
        settings: For a plugin by name, values of its settings or the settings object itself.
        environ: Environment variables; this process's by default.
        config: What configuration files say; see `read_config`.
        redactor: Learns the secrets in settings.
        clock: Seconds, to measure plugins with.
        slow_after: Seconds of a plugin's code from which on it counts as slow.

    Attributes:
        redactor: Masks every secret the plugins' settings hold; share it with whatever writes.
    """

    def __init__(
        self,
        plugins: Iterable[object] | Mapping[str, object] = (),
        *,
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        config: Config | None = None,
        redactor: Redactor | None = None,
        clock: Callable[[], float] = time.perf_counter,
        slow_after: float = SLOW_AFTER,
    ) -> None:
        self.redactor = redactor or Redactor()
        self._environ = os.environ if environ is None else environ
        self._config = config or Config()
        self._desk = SettingsDesk(settings or {}, self._config, environ=self._environ, redactor=self.redactor)
        self._around = Surroundings(
            settings=self._desk.settings, claim=Claims(), clock=clock, slow_after=slow_after, redactor=self.redactor
        )
        self._selection: Selection | None = None
        self._unreadable: dict[str, str] = {}
        self._aliases: dict[str, ModelAlias] = {}
        self._read: dict[str, Configuration] = {}
        self._services = Services(
            self._config.providers, environ=self._environ, redactor=self.redactor, plugin=self._required
        )
        self._catalogue = Catalogue(self._own(plugins, avoid=()))

    @classmethod
    def discover(
        cls,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] = (),
        *,
        plugins: Iterable[object] | Mapping[str, object] = (),
        **options: Unpack[HostOptions],
    ) -> PluginHost:
        """
        Return a host with the installed plugins; their metadata is read, none of their code runs.

        Args:
            allow: Distributions that may load; by default ``NR_LLM_PLUGINS``, then the configuration, then all.
            deny: Distributions that may not, besides those of ``NR_LLM_PLUGINS_DENY`` and the configuration.
            plugins: As for the class.
            **options: As for the class.
        """
        from nr_llm._entrypoints import host_version, installed

        host, found = cls(**options), installed()
        host._unreadable = {package.distribution: package.reason for package in found.unreadable}
        host._selection = select(allow, deny, environ=host._environ, config=host._config)
        free = [point for point in found.entry_points if host._selection.refusal(point.distribution) is None]
        own = host._own(plugins, avoid=[point.name for point in free])
        records = judge(
            found.entry_points,
            host._selection,
            host=host_version(),
            taken=[plugin.record.name for plugin in own],
        )
        loads = [point.load for point in found.entry_points]
        others = [Plugin(record, load, around=host._around) for record, load in zip(records, loads, strict=True)]
        host._catalogue = Catalogue((*own, *others))
        return host

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def records(self) -> tuple[PluginRecord, ...]:
        """Return every plugin as it is now, the program's own first, then by distribution and name; loads nothing."""
        return tuple(plugin.record for plugin in self._catalogue.plugins)

    def load(self, name: str | None = None) -> tuple[PluginRecord, ...]:
        """
        Load all plugins, or those of one name, and ask them for all they have; return their records.

        Raises:
            UnknownNameError: There is no plugin of that name.
        """
        chosen = self._catalogue.plugins if name is None else self._called(name)
        for plugin in chosen:
            for hook in (TOOLS, PROVIDERS, TABLES, CONFIGURATIONS, STORES, COMMANDS):
                plugin.give(hook)
        return tuple(plugin.record for plugin in chosen)

    def require(self, name: str) -> PluginRecord:
        """
        Load one plugin and return its record, or raise what is wrong with it.

        Raises:
            UnknownNameError: There is no plugin of that name.
            ConfigurationError: Its settings are wrong.
            NameClashError: Another plugin has its name.
            PluginLoadError: It is denied, incompatible or failed; its own exception is the cause.
        """
        return self._required(name).record

    def settings(self, name: str) -> Loaded[Any] | None:
        """
        Load a plugin and return its settings and where each is from, or None if it takes none.

        Raises:
            UnknownNameError: There is no plugin of that name.
        """
        self.load(name)
        return self._desk.loaded(name)

    def tools(self) -> tuple[RegisteredTool, ...]:
        """Return every tool, each under a name of its own; loads all plugins."""
        return self._catalogue.names().tools

    def tool(self, name: str) -> RegisteredTool:
        """
        Return one tool by the name a model uses, or as ``plugin:tool``; loads all plugins.

        Raises:
            NameClashError: Several plugins have a tool of that name.
            UnknownNameError: None has.
            PluginError: The plugin in ``plugin:tool`` cannot be used.
            ConfigurationError: That plugin's settings are wrong.
        """
        names = self._catalogue.names()
        if name in names.found:
            return names.found[name]
        if name in names.disputed:
            raise dispute("tool", name, names.disputed[name])
        if ":" in name:
            self.require(name.partition(":")[0])
        raise UnknownNameError("tool", name, known=names.found, remedy=excuse(self.records()))

    def providers(self) -> tuple[RegisteredProvider, ...]:
        """Return every provider that has its name to itself and can be made; loads all plugins."""
        entries = self._directory.all().values()
        return tuple(entry.registered for entry in entries if isinstance(entry, Service))

    def provider(self, name: str) -> RegisteredProvider:
        """
        Return one provider.

        The program's own go first, then those of ``[providers.NAME]``, then the plugin of that name; other plugins
        are loaded only if none has it.

        Raises:
            NameClashError: Several plugins have a provider of that name.
            UnknownNameError: None has.
            MissingCredentialError: Its table names a variable for the key, which is not set.
            PluginError: The plugin of that name, or the one its table names, cannot be used.
            ConfigurationError: Its settings are wrong.
        """
        found = self._directory.near(name)
        if found is None:
            if any(record.name == name for record in self.records()):
                self.require(name)
            found = self._directory.far(name)
        if found is None:
            raise UnknownNameError("provider", name, known=self._directory.names(), remedy=excuse(self.records()))
        return found

    def models(self) -> Mapping[str, ModelAlias]:
        """Return the rows ``[models.NAME]`` that can be used, by alias; loads no plugin."""
        found: dict[str, ModelAlias] = {}
        for name in self._config.models:
            with contextlib.suppress(ConfigurationError):
                found[name] = self._alias(name)
        return found

    def model(self, name: str) -> ModelAlias | None:
        """
        Return the row ``[models.NAME]``, or None if there is none.

        Raises:
            ConfigurationError: It is wrong.
        """
        return self._alias(name) if name in self._config.models else None

    @property
    def default_model(self) -> str | None:
        """The model of runs that name none, as the configuration says, or None."""
        return self._config.default_model

    def configurations(self) -> Mapping[str, Configuration]:
        """Return the rows ``[configurations.NAME]`` and those of packages that can be used; loads all plugins."""
        return {name: one for name, one in self._profiles.all().items() if isinstance(one, Configuration)}

    def configuration(self, name: str) -> Configuration:
        """
        Return what ``[configurations.NAME]`` says, over what a package says; loads all plugins.

        Raises:
            UnknownNameError: There is none of that name.
            NameClashError: Several packages offer it.
            ConfigurationError: It is wrong.
        """
        return self._profiles.one(name)

    @property
    def default_configuration(self) -> str | None:
        """The configuration of runs that name none, as the files say, or None."""
        return self._config.default_configuration

    def store(self) -> RunStore | None:
        """
        Return where runs are kept, or None if nobody keeps them; loads all plugins unless the files name one.

        Raises:
            NrLlmError: Several plugins offer a store and none is named, or the one that would cannot be used.
        """
        return store_of(self._catalogue.plugins, self._config, self._required)

    @cached_property
    def policy(self) -> Policy:
        """What files say about tools and providers; `ConfigurationError` for what is wrong or may not be said."""
        return policy_from(self._config.policy)

    def observers(self) -> tuple[ObserverFactory, ...]:
        """
        Return the observers of the plugins that the configuration has watch; loads those alone.

        One that is not there or cannot be used is logged: nobody who watches may stop a run.
        """
        found = []
        for name in dict.fromkeys(self._config.observe):
            try:
                found.append(self._required(name))
            except NrLlmError as error:
                _log.warning("plugin %r is to watch the runs and cannot: %s", name, self.redactor.redact(str(error)))
        return self._catalogue.observers(found)

    def commands(self) -> tuple[RegisteredCommand, ...]:
        """Return every command that has its name to itself; loads all plugins."""
        return self._catalogue.commands()

    def doctor(self) -> tuple[Finding, ...]:
        """Load all plugins and return what is wrong with them and the configuration, why, and what to do about it."""
        records = self.load()
        case = Case(
            records=records,
            unreadable=self._unreadable,
            selection=self._selection,
            disputed=self._catalogue.names().disputed,
            disputed_providers=self._catalogue.disputed_providers(),
            configured=self._desk.configured,
            read=self._desk.read,
        )
        return examine(case, self.config_findings())

    def config_findings(self) -> tuple[Finding, ...]:
        """Return what is wrong with the providers, models and configurations of files; loads all plugins."""
        tools = self._catalogue.names().found
        return tuple(config_findings(self._config, self._directory.all(), self._profiles.all(), tools))

    def effective(self) -> tuple[Value, ...]:
        """Return every setting that counts and where it is from, secrets masked; loads all plugins."""
        self.load()
        services = {name: entry.loaded for name, entry in self._directory.all().items() if isinstance(entry, Service)}
        profiles = [(one, self._profiles.tables(name)) for name, one in self.configurations().items()]
        rows = of_rows(self._desk.all(), services, self._config.models, profiles, redactor=self.redactor)
        return (*of_choices(self._config, self._selection), *rows)

    def close(self) -> None:
        """Close every toolset that was opened, the last first; one that raises is logged and stops no other."""
        for toolset in reversed(self._catalogue.toolsets):
            try:
                toolset.close()
            except Exception as error:  # noqa: BLE001 - a plugin's error must not keep others open
                kind = type(toolset.toolset).__name__
                _log.warning("closing the toolset %s raised %s", kind, self.redactor.redact(repr(error)))

    def _called(self, name: str) -> list[Plugin]:
        """Return the plugins of a name, the usable first."""
        found = [plugin for plugin in self._catalogue.plugins if plugin.record.name == name]
        if not found:
            raise UnknownNameError("plugin", name, known=[record.name for record in self.records()])
        return sorted(found, key=lambda plugin: not plugin.record.usable)

    def _required(self, name: str) -> Plugin:
        """Return a plugin, loaded, or raise what is wrong with it."""
        self.load(name)
        plugin = self._called(name)[0]
        if not plugin.record.usable and plugin.twin is None:
            raise plugin.trouble() from plugin.error
        return plugin

    @property
    def _directory(self) -> Directory:
        return Directory(self._catalogue, self._services)

    @property
    def _profiles(self) -> Profiles:
        return Profiles(self._catalogue, self._config, self._read)

    def _alias(self, name: str) -> ModelAlias:
        if name not in self._aliases:
            self._aliases[name] = alias_of(name, self._config.models[name])
        return self._aliases[name]

    def _own(self, plugins: Iterable[object] | Mapping[str, object], *, avoid: Iterable[str]) -> tuple[Plugin, ...]:
        own: Mapping[str, object] = plugins if isinstance(plugins, Mapping) else named(plugins, avoid)
        return tuple(
            Plugin(PluginRecord(name=name), lambda thing=thing: thing, around=self._around)  # type: ignore[misc]
            for name, thing in own.items()
        )
