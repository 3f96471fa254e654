"""A plugin's settings are made once, when its hooks first ask for them, and kept with where they are from."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import attrs

from nr_llm.config import Config
from nr_llm.errors import ConfigurationError
from nr_llm.plugins import MisbuiltError
from nr_llm.redaction import Redactor
from nr_llm.secrets import Secret
from nr_llm.settings import Loaded, resolve_settings


class SettingsDesk:
    """
    Hands the plugins of a host their settings; thread-safe.

    Args:
        overrides: For a plugin by name, values or the settings object itself, from the program.
        config: What configuration files say.
        environ: Environment variables.
        redactor: Learns the secrets.
    """

    def __init__(
        self, overrides: Mapping[str, object], config: Config, *, environ: Mapping[str, str], redactor: Redactor
    ) -> None:
        self._overrides = dict(overrides)
        self._config = config
        self._environ = environ
        self._redactor = redactor
        self._lock = threading.Lock()
        self._made: dict[str, Loaded[Any]] = {}

    @property
    def configured(self) -> tuple[str, ...]:
        """Names of plugins that the program or a file has settings for."""
        return tuple(dict.fromkeys((*self._overrides, *self._config.tables)))

    @property
    def read(self) -> tuple[str, ...]:
        """Names of plugins that asked for their settings."""
        return tuple(self._made)

    def all(self) -> Mapping[str, Loaded[Any]]:
        """Return what each plugin was handed, and where it is from, by the plugin's name."""
        return dict(self._made)

    def loaded(self, plugin: str) -> Loaded[Any] | None:
        """Return what a plugin was handed, and where it is from."""
        return self._made.get(plugin)

    def settings(self, plugin: str, cls: type) -> object:
        """
        Return the settings of a plugin, one object for all its hooks.

        Raises:
            ConfigurationError: They cannot be made, or what the program passed is of another class.
            MisbuiltError: Its hooks ask for different classes.
        """
        with self._lock:
            if plugin not in self._made:
                self._made[plugin] = self._make(plugin, cls)
            settings = self._made[plugin].settings
        if type(settings) is not cls:
            raise MisbuiltError(
                f"its hooks take settings of {type(settings).__name__} and of {cls.__name__}: use one class"
            )
        return settings

    def _make(self, plugin: str, cls: type) -> Loaded[Any]:
        given = self._overrides.get(plugin, {})
        if isinstance(given, cls):
            return self._as_passed(given)
        if not isinstance(given, Mapping):
            raise ConfigurationError(
                f"Plugin {plugin!r} takes settings of {cls.__name__} and was passed {type(given).__name__}."
            )
        return resolve_settings(
            cls,
            plugin=plugin,
            values=self._config.tables.get(plugin, ()),
            environ=self._environ,
            overrides=given,
            redactor=self._redactor,
        )

    def _as_passed(self, settings: Any) -> Loaded[Any]:
        fields = attrs.fields(type(settings))
        for value in (getattr(settings, field.name) for field in fields):
            if isinstance(value, Secret):
                self._redactor.learn(value)
        return Loaded(settings, {field.alias or field.name: "the program" for field in fields})
