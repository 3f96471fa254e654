"""Services that a table describes: made by the plugin whose form they speak, from that table and no other source."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import attrs

from nr_llm import _keyring
from nr_llm._contributions import made
from nr_llm._plugin import Maker, Plugin, because
from nr_llm.config import Table, Tables
from nr_llm.errors import ConfigurationError, MissingCredentialError, NrLlmError, PluginLoadError, UnknownNameError
from nr_llm.plugins import PluginRecord, RegisteredProvider
from nr_llm.redaction import Redactor
from nr_llm.secrets import Secret
from nr_llm.settings import Loaded, Subject, resolve_settings, secret_text, variable

SOURCES: Final = ("api_key_env", "api_key_file", "api_key_keyring")
"""What a provider's table may name its key by."""

BESIDE: Final = ("plugin", *SOURCES)
"""What a provider's table may hold beside the settings of the plugin it names."""

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*\Z")


@attrs.frozen(eq=False)
class Service:
    """
    A provider made from tables.

    Attributes:
        registered: The provider and where it is from.
        loaded: Its settings and where each is from, or None for one that no table describes.
        missing: Variables that may hold the key its table announces and nobody has set; empty if all is there.
    """

    registered: RegisteredProvider
    missing: tuple[str, ...] = ()
    loaded: Loaded[Any] | None = None

    def ready(self) -> RegisteredProvider:
        """
        Return the provider.

        Raises:
            MissingCredentialError: Its key is missing.
        """
        if self.missing:
            raise MissingCredentialError(self.registered.name, variables=self.missing)
        return self.registered


@attrs.frozen(eq=False)
class Services:
    """
    Makes providers of tables, each once; thread-safe.

    Attributes:
        tables: What files say, by the provider's name.
        environ: Environment variables.
        redactor: Learns the secrets.
        plugin: Returns a plugin by name, loaded, or raises what is wrong with it.
    """

    tables: Tables
    environ: Mapping[str, str]
    redactor: Redactor
    plugin: Callable[[str], Plugin]
    _made: dict[str, Service] = attrs.field(factory=dict, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def whole(self, name: str) -> bool:
        """Say whether the files' tables of a name need no other, since they say whose form the service speaks."""
        return any("plugin" in table.values for table in self.tables.get(name, ()))

    def refuse_twins(self, name: str, plugins: Iterable[Plugin]) -> None:
        """
        Refuse a name whose variables are somebody else's, so that no key goes astray.

        Raises:
            ConfigurationError: A plugin or another table has the name, or one that differs in case or separators.
        """
        place, mine = _place(name, self.tables[name]), variable(name, "")
        for plugin in plugins:
            if plugin.record.distribution is not None and variable(plugin.record.name, "") == mine:
                raise ConfigurationError(
                    f"{place} has the name of the plugin {plugin.record.name!r} ({plugin.record.label}).",
                    remedy=f"Give it another name, or set [plugins.{plugin.record.name}] if the plugin's own provider "
                    "is meant.",
                )
        for other in self.tables:
            if other != name and variable(other, "") == mine:
                raise ConfigurationError(
                    f"{place} and [providers.{other}] share the variables {mine}….", remedy="Rename one of them."
                )

    def make(self, name: str, tables: Sequence[Table], record: PluginRecord | None = None) -> Service:
        """
        Return the provider that tables describe.

        Args:
            name: What it is called.
            tables: What is said of it, the one that counts first in front.
            record: The plugin that contributed the last of them, or None if they are all from files.

        Raises:
            ConfigurationError: A table is wrong; the text names file, table and setting, never a value.
            PluginError: The plugin cannot be used, or fails at it.
        """
        if name not in self._made:
            service = self._new(name, tables, record)
            with self._lock:
                self._made.setdefault(name, service)
        return self._made[name]

    def _new(self, name: str, tables: Sequence[Table], record: PluginRecord | None) -> Service:
        plugin = self._kind(name, tables)
        maker = plugin.maker()
        if maker is None:
            raise ConfigurationError(
                f"{_place(name, tables)}: plugin {plugin.record.name!r} makes no further providers.",
                remedy="Name a plugin that does, such as openai.",
            )
        loaded, missing = self._settings(name, tables, maker)
        try:
            provider = made(maker.function(name=name, settings=loaded.settings), name)
        except ConfigurationError as error:
            text = str(error).removesuffix(error.remedy).rstrip()
            raise ConfigurationError(f"{_place(name, tables)}: {text}", remedy=error.remedy) from error
        except NrLlmError:
            raise
        except Exception as error:  # a plugin may raise anything; its other providers go on
            reason = self.redactor.redact(because("nr_llm_make_provider", error))
            raise PluginLoadError(
                f"{_place(name, tables)}: {reason}", plugin=plugin.record.name, distribution=plugin.record.label
            ) from error
        of = record or plugin.record
        registered = RegisteredProvider(
            provider=provider,
            plugin=of.name,
            distribution=of.distribution,
            version=of.version,
            source=tables[0].source,
        )
        return Service(registered, missing, loaded)

    def _kind(self, name: str, tables: Sequence[Table]) -> Plugin:
        place = _place(name, tables)
        kind = _first(tables, ("plugin",))
        if kind is None:
            raise ConfigurationError(
                f"{place} does not say whose form the service speaks.",
                remedy='Add plugin = "openai", or the plugin of another form.',
            )
        if not isinstance(kind[1], str):
            raise ConfigurationError(f"{place}: plugin is no text.", remedy='Write plugin = "openai", for one.')
        try:
            return self.plugin(kind[1])
        except UnknownNameError as error:
            install = f"Install the package that brings it: pip install 'nr-llm[{kind[1]}]'."
            remedy = f"Correct plugin in [providers.{name}]." if error.suggestions else install
            raise ConfigurationError(f"{place}: {error}", remedy=remedy) from error

    def _settings(self, name: str, tables: Sequence[Table], maker: Maker) -> tuple[Loaded[Any], tuple[str, ...]]:
        """Return the settings, and the variables of a key that is announced and missing."""
        subject = Subject(name=name, kind="Provider", section="providers", further=False, beside=BESIDE)
        front, named = self._key(name, tables)
        loaded: Loaded[Any] = resolve_settings(
            maker.settings,
            plugin=subject,
            values=[*front, *(self._plain(name, table) for table in tables)],
            environ=self.environ,
            redactor=self.redactor,
        )
        if getattr(loaded.settings, "api_key", None) is not None:
            return loaded, ()
        if named is not None:
            return loaded, (variable(name, "api_key"), named)
        return self._with_vendor_key(loaded), ()

    def _with_vendor_key(self, loaded: Loaded[Any]) -> Loaded[Any]:
        """Fill in the key that the vendor's own variable holds, of the vendor that the settings themselves choose."""
        for name in getattr(loaded.settings, "key_variables", ()):
            if value := self.environ.get(name, "").strip():
                settings = attrs.evolve(loaded.settings, api_key=self._learned(value))
                return Loaded(settings, {**loaded.sources, "api_key": name})
        return loaded

    def _key(self, name: str, tables: Sequence[Table]) -> tuple[tuple[Table, ...], str | None]:
        """Return the key as a table of its own, if it is there, and the variable that a table names for it."""
        for table in tables:
            if "api_key" in table.values:
                raise _literal(name, table, "api_key", name)
        given = _first(tables, SOURCES)
        if given is None:
            return (), None
        table = given[0]
        if "api_key_env" not in table.values:
            return (self._kept(name, table),), None
        named = self._variable(name, table, "api_key_env", table.values["api_key_env"])
        value = self.environ.get(named, "").strip()
        return ((Table({"api_key": self._learned(value)}, named),) if value else ()), named

    def _kept(self, name: str, table: Table) -> Table:
        """Return the key that a file or the keyring holds, as a table of its own."""
        if "api_key_file" in table.values:
            text = self._file(name, table, "api_key_file", table.values["api_key_file"])
            return Table({"api_key": self._learned(text)}, table.source)
        place, given = f"{_place(name, [table])}: api_key_keyring", table.values["api_key_keyring"]
        # What was put here by mistake may be the key itself, so it is not shown.
        if not isinstance(given, str) or not all(given.partition("/")) or self.redactor.redact(given) != given:
            raise ConfigurationError(
                f"{place} names no key of the keyring.", remedy='Write "SERVICE/NAME", such as "nr-llm/work".'
            )
        service, _, entry = given.partition("/")
        key = _keyring.stored(service, entry)
        if key is None:
            remedy = f"nr-llm keys set {entry}" if service == _keyring.SERVICE else f"Put it there under {service}."
            raise ConfigurationError(f"{place}: the keyring has no key {given!r}.", remedy=remedy)
        return Table({"api_key": self._learned(key)}, f"keyring {given}")

    def _plain(self, name: str, table: Table) -> Table:
        """Return a table's settings, with the headers that stand elsewhere filled in."""
        values = {key: value for key, value in table.values.items() if key not in BESIDE}
        for key in ("base_url", "proxy"):
            if secret := _secret_in(values.get(key)):
                raise ConfigurationError(
                    f"{_place(name, [table])}: {key} holds a {secret}, and files are copied and shown.",
                    remedy=f"Set {variable(name, key)} to the whole address instead.",
                )
        if isinstance(values.get("headers"), Mapping):
            values["headers"] = {
                header: self._header(name, table, header, value) for header, value in values["headers"].items()
            }
        return attrs.evolve(table, values=values)

    def _header(self, name: str, table: Table, header: str, value: object) -> object:
        from nr_llm.codecs.access import CREDENTIAL

        if isinstance(value, Mapping) and len(value) == 1:
            ((way, where),) = value.items()
            if way == "env":
                return self._from_variable(name, table, f"headers.{header}", where)
            if way == "file":
                return self._learned(self._file(name, table, f"headers.{header}", where)).reveal()
        if not isinstance(value, str):
            raise ConfigurationError(
                f"{_place(name, [table])}: headers.{header} is no text.",
                remedy='Write a text, { env = "VARIABLE" } or { file = "PATH" }.',
            )
        if CREDENTIAL.search(header.lower()):
            raise _literal(name, table, f"headers.{header}", header)
        return value

    def _from_variable(self, name: str, table: Table, setting: str, where: object) -> str:
        named = self._variable(name, table, setting, where)
        value = self.environ.get(named, "").strip()
        if not value:
            raise ConfigurationError(
                f"{_place(name, [table])}: {setting} is in {named}, which is not set.", remedy=f"Set {named}."
            )
        return self._learned(value).reveal()

    def _variable(self, name: str, table: Table, setting: str, given: object) -> str:
        # What was put here by mistake may be the key itself, so it is not shown.
        if not isinstance(given, str) or not _VARIABLE.match(given) or self.redactor.redact(given) != given:
            raise ConfigurationError(
                f"{_place(name, [table])}: {setting} names no environment variable.",
                remedy="Write its name in capitals, such as MY_SERVICE_KEY, and set it to the key.",
            )
        return given

    def _file(self, name: str, table: Table, setting: str, given: object) -> str:
        place = f"{_place(name, [table])}: {setting}"
        if not isinstance(given, str) or not given:
            raise ConfigurationError(f"{place} names no file.", remedy="Write the path of a file that holds the key.")
        text = secret_text(place, given, folder=table.folder).strip()
        if not text:
            raise ConfigurationError(f"{place}: the file {given} is empty.", remedy="Write the key into it.")
        return text

    def _learned(self, text: str) -> Secret:
        secret = Secret(text)
        self.redactor.learn(secret)
        return secret


def _secret_in(address: object) -> str:
    """Return what secret an address holds, or an empty text."""
    from nr_llm.codecs.access import CREDENTIAL

    try:
        parts = urlsplit(address if isinstance(address, str) else "")
        if parts.password:
            return "password"
        return "key" if any(CREDENTIAL.search(name.lower()) for name, _ in parse_qsl(parts.query)) else ""
    except ValueError:
        return ""  # whoever uses the address says what is wrong with it


def _place(name: str, tables: Sequence[Table]) -> str:
    return f"{tables[0].source}: [providers.{name}]"


def _first(tables: Sequence[Table], names: Sequence[str]) -> tuple[Table, object] | None:
    found = ((table, table.values[name]) for table in tables for name in names if name in table.values)
    return next(found, None)


def _literal(name: str, table: Table, setting: str, stem: str) -> ConfigurationError:
    example = re.sub(r"[^A-Z0-9]+", "_", f"{stem}_KEY".upper() if setting == "api_key" else stem.upper())
    instead = f'api_key_env = "{example}"' if setting == "api_key" else f'{setting} = {{ env = "{example}" }}'
    return ConfigurationError(
        f"{_place(name, [table])}: {setting} holds a key, and files are copied and shown.",
        remedy=f"Write {instead}, set that variable, and have the key replaced.",
    )
