"""Plugins, tools and providers as small as can be, out of which the host's tests are made."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from nr_llm._host import PluginHost
from nr_llm.codecs.access import ServiceSettings
from nr_llm.hookspecs import hookimpl
from nr_llm.plugins import PluginRecord
from nr_llm.providers import Endpoint
from nr_llm.providers import Model as Known
from nr_llm.secrets import Secret
from nr_llm.settings import setting
from nr_llm.tools import Tool

from tests.distributions import Site

GOOD = """
    @hookimpl
    def nr_llm_tools():
        return [named("good")]
"""


def named(name: str) -> Tool:
    """Return a tool of a name."""
    return Tool.from_function(lambda: name, name=name, description=name)


class Model:
    """A provider as small as can be."""

    endpoint = Endpoint("nowhere", local=True)

    def __init__(self, name: str) -> None:
        self.name = name

    def describe(self, model: str):
        raise NotImplementedError

    def complete(self, request, cancelled):
        raise NotImplementedError


class Command:
    """A command as small as can be."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self):
        raise NotImplementedError


class Plugin:
    """A plugin made of what its hooks return: a value, or an exception to raise."""

    def __init__(self, tools: object = None, providers: object = None, commands: object = None) -> None:
        self.given = {"tools": tools, "providers": providers, "commands": commands}
        self.asked: list[str] = []

    def _give(self, what: str):
        self.asked.append(what)
        if isinstance(self.given[what], BaseException):
            raise self.given[what]
        return self.given[what]

    @hookimpl
    def nr_llm_tools(self):
        return self._give("tools")

    @hookimpl
    def nr_llm_providers(self):
        return self._give("providers")

    @hookimpl
    def nr_llm_commands(self):
        return self._give("commands")


class Shared:
    """A toolset that notes what is done with it."""

    def __init__(self, *given: object) -> None:
        self.given = given
        self.log: list[str] = []
        self.trouble: dict[str, BaseException] = {}

    def tools(self) -> Iterator[object]:
        self.log.append("tools")
        for name in self.given:
            yield (
                Tool.from_function(self._function(name), name=name, description="d") if isinstance(name, str) else name
            )

    def open(self) -> None:
        self.log.append("open")
        if "open" in self.trouble:
            raise self.trouble["open"]

    def close(self) -> None:
        self.log.append("close")
        if "close" in self.trouble:
            raise self.trouble["close"]

    def _function(self, name: str):
        def function(text: str = "") -> str:
            self.log.append(name)
            return f"{name}{text}"

        return function


def found(host: PluginHost, site: Site) -> dict[str, PluginRecord]:
    """Return the records of the packages a test wrote, by plugin name (of several, by package)."""
    records = [record for record in host.records() if record.distribution in site.names]
    names = [record.name for record in records]
    return {(r.name if names.count(r.name) == 1 else str(r.distribution)): r for r in records}


@attrs.frozen
class Options:
    """Settings of a plugin."""

    rows: int = 5
    key: Secret | None = setting(default=None, env=("ACME_KEY",))


class WithSettings:
    """A plugin that keeps what it was handed."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    @hookimpl
    def nr_llm_tools(self, settings: Options):
        self.seen.append(settings)
        return [named("a")]

    @hookimpl
    def nr_llm_providers(self, settings: Options):
        self.seen.append(settings)


@attrs.frozen(kw_only=True)
class FormSettings(ServiceSettings):
    """Settings of a plugin whose vendor has variables of its own."""

    api_key: Secret | None = setting(env=("VENDOR_KEY",), default=None)
    base_url: str | None = setting(env=("VENDOR_URL",), default=None)
    dialect: str | None = None
    rows: int = 5

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The vendor that a dialect stands for has a variable."""
        return ("GROQ_KEY", "GROQ_KEY_2") if self.dialect == "groq" else ()


class Service(Model):
    """A provider that keeps what it was made of."""

    def __init__(self, name: str, settings: FormSettings) -> None:
        super().__init__(name)
        self.settings = settings

    @property
    def key(self) -> str | None:
        return self.settings.api_key and self.settings.api_key.reveal()

    def describe(self, model: str) -> Known:
        return Known(provider=self.name, name=model or "usual", context=1000, max_tools=9)


class Form:
    """A plugin that makes providers."""

    @hookimpl
    def nr_llm_make_provider(self, name: str, settings: FormSettings):
        return Service(name, settings)


class Tables:
    """A plugin that contributes services as data."""

    def __init__(self, **tables: object) -> None:
        self.tables = tables

    @hookimpl
    def nr_llm_provider_tables(self):
        return self.tables
