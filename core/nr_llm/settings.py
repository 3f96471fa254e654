"""A plugin says what can be set as one typed class; where each value came from is the host's business."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import attrs

from nr_llm._convert import Given, convert, expanded, plain
from nr_llm.config import Table
from nr_llm.errors import ConfigurationError, MissingCredentialError, NrLlmError, UnknownNameError
from nr_llm.redaction import Redactor
from nr_llm.secrets import Secret

SECRET_FILE_BYTES: Final = 65_536
"""Size of a file that holds a secret at most: room for any key, none for a mistaken path."""

_FACTS: Final = "nr_llm.setting"
_REDIRECTING = re.compile(r"url|uri|host|endpoint|proxy|header|command|certificate|(^|_)ca_|dialect|region|resource")

T = TypeVar("T")

Variables: TypeAlias = Callable[[Mapping[str, object], Mapping[str, str]], Iterable[str]]
"""Tells a setting's variables from the other settings: their values, as far as they are set, and their sources."""


@attrs.frozen
class _Facts:
    env: tuple[str, ...] | Variables = ()
    protected: bool | None = None


@attrs.frozen(kw_only=True)
class Subject:
    """
    Whose settings are read.

    Attributes:
        name: Its name, such as ``openai``.
        kind: What it is, for people.
        section: The table that holds the tables of its kind.
        variables: Whether ``NR_LLM_NAME_SETTING`` may hold a setting.
        further: Whether the variables a setting declares beside count: those of a vendor's own plugin, and of no
            other service that happens to speak the vendor's form.
        beside: What its tables may hold beside settings, for people.
    """

    name: str
    kind: str = "Plugin"
    section: str = "plugins"
    variables: bool = True
    further: bool = True
    beside: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


@attrs.frozen
class _Declared:
    # One setting of a class, and the variables that may hold it, the most special first.
    name: str
    wanted: Any
    required: bool
    protected: bool
    variables: tuple[str, ...]
    further: Variables | None = None  # tells more of them, once the other settings are read


@attrs.frozen
class Loaded(Generic[T]):
    """
    Settings, and for each by name where its value is from: ``the program``, a variable, a file or ``default``.

    The sources hold no values, so they can be shown.
    """

    settings: T
    sources: Mapping[str, str]


def setting(*, env: Iterable[str] | Variables = (), protected: bool | None = None, **field: Any) -> Any:
    """
    Declare an attribute of a settings class that has more to say than its type and default.

    Args:
        env: Further variables that hold it, such as ``("OPENAI_API_KEY",)``, read after ``NR_LLM_PLUGIN_NAME``.  A
            function is called once the other settings are read, with their values and sources by name (those that
            are set nowhere are in the second alone, as ``default``), and returns the variables: a key belongs to the
            service that the other settings choose.
        protected: Whether a file that is not trusted must not set it.  By default secrets are protected, and names
            that redirect data (``…url…``, ``…host…``, ``…proxy…``, ``…dialect…`` and the like) or say whom to trust
            (``ca_…``, ``…certificate…``); a path may be set below the file's own folder.
        **field: What `attrs.field` takes: default, factory, converter, validator, repr.
    """
    return attrs.field(metadata={_FACTS: _Facts(env if callable(env) else tuple(env), protected)}, **field)


def load_settings(
    cls: type[T],
    *,
    plugin: str,
    values: Mapping[str, object] | Iterable[Table] = (),
    environ: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
    redactor: Redactor | None = None,
) -> T:
    """
    Return an instance of a settings class from what the program, the environment and files say.

    For each attribute the first of these counts: `overrides`; ``NR_LLM_PLUGIN_NAME``; the attribute's own variables;
    for a `Secret` each of these with ``_FILE``, naming a file that holds it; the tables; its default.  An
    empty variable counts as none.

    Args:
        cls: An attrs class.  Types: str, int, float, bool, Path, Secret, an Enum, a Literal, tuple[..., ...] of
            these, Mapping, and each of them or None.
        plugin: The plugin's name.
        values: Tables, the one that counts first in front, or the values of one.
        environ: Environment variables.
        overrides: Values the program sets.
        redactor: Learns the secrets.

    Raises:
        MissingCredentialError: A secret without default is nowhere.
        ConfigurationError: A value or name is wrong; the text names place and remedy, never a value.
    """
    return resolve_settings(
        cls, plugin=plugin, values=values, environ=environ, overrides=overrides, redactor=redactor
    ).settings


def resolve_settings(
    cls: type[T],
    *,
    plugin: str | Subject,
    values: Mapping[str, object] | Iterable[Table] = (),
    environ: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
    redactor: Redactor | None = None,
) -> Loaded[T]:
    """As `load_settings`, for a subject of any kind, and say where each value is from."""
    redactor = redactor or Redactor()
    subject = Subject(name=plugin) if isinstance(plugin, str) else plugin
    declared = _declared(cls, subject)
    tables = (Table(values),) if isinstance(values, Mapping) else tuple(values)
    program = Table(overrides or {})
    for table in (program, *tables):
        _refuse_unknown(table, declared, subject)
    found: dict[str, object] = {}
    sources = {one.name: "default" for one in declared}
    for one in sorted(declared, key=lambda one: one.further is not None):
        one = _with_further(one, found, sources)
        given = _given(one, [program], environ, tables)
        if given is not None:
            found[one.name], sources[one.name] = _read(one, *given, subject=subject, redactor=redactor)
        elif one.required:
            raise _missing(one, subject)
    return Loaded(_made(cls, found, subject, sources=sources, redactor=redactor), sources)


def variable(plugin: str, name: str) -> str:
    """Return the variable of a plugin's setting, such as ``NR_LLM_OPENAI_API_KEY``."""
    return "NR_LLM_" + re.sub(r"[^A-Z0-9]+", "_", f"{plugin}_{name}".upper())


def _declared(cls: type, subject: Subject) -> tuple[_Declared, ...]:
    try:
        fields, hints = attrs.fields(cls), get_type_hints(cls)
    except (TypeError, NameError, attrs.exceptions.NotAnAttrsClassError) as error:
        raise ConfigurationError(
            f"{subject}: {cls!r} is no settings class: {error}.",
            remedy="Its author makes it an attrs class whose types exist at run time.",
        ) from error
    return tuple(_declaration(field, hints[field.name], subject) for field in fields if field.init)


def _declaration(field: attrs.Attribute[Any], wanted: Any, subject: Subject) -> _Declared:
    facts = field.metadata.get(_FACTS, _Facts())
    name, protected = field.alias or field.name, facts.protected
    own = (variable(subject.name, name),) if subject.variables else ()
    if protected is None:
        protected = plain(wanted) is Secret or bool(_REDIRECTING.search(name))
    env = facts.env if subject.further else ()
    return _Declared(
        name,
        wanted,
        required=field.default is attrs.NOTHING,
        protected=protected,
        variables=own if callable(env) else (*own, *env),
        further=env if callable(env) else None,
    )


def _with_further(one: _Declared, found: Mapping[str, object], sources: Mapping[str, str]) -> _Declared:
    if one.further is None:
        return one
    return attrs.evolve(one, variables=(*one.variables, *one.further(found, sources)))


def _refuse_unknown(table: Table, declared: tuple[_Declared, ...], subject: Subject) -> None:
    names = [*(one.name for one in declared), *subject.beside]
    for name in table.values:
        if name not in names:
            known = f"It has {', '.join(names)}." if names else "It has none."
            problem = UnknownNameError("setting", name, known=names)
            raise ConfigurationError(f"{subject}, {table.source}: {problem}", remedy=known)


def _given(
    one: _Declared, program: Iterable[Table], environ: Mapping[str, str], tables: Iterable[Table]
) -> tuple[Given, str] | None:
    """Return the value that counts and where it is from."""
    places = (_in_tables(one, program), _in_environment(one, environ), _in_tables(one, tables))
    return next((given for place in places for given in place), None)


def _in_environment(one: _Declared, environ: Mapping[str, str]) -> Iterator[tuple[Given, str]]:
    for name in one.variables:
        if environ.get(name):
            yield Given(environ[name], text=True), name
    for name in one.variables if plain(one.wanted) is Secret else ():
        if environ.get(f"{name}_FILE"):
            yield Given(secret_text(f"{name}_FILE", environ[f"{name}_FILE"]), text=True), f"{name}_FILE"


def secret_text(name: str, path: str, *, folder: Path | None = None) -> str:
    """
    Return the text of a file that holds a secret.

    Args:
        name: What names the file, for errors.
        path: The file; ``~`` is the home folder.
        folder: What a relative path is relative to, or None for the current folder.

    Raises:
        ConfigurationError: It cannot be read, is too large or no UTF-8 text.
    """
    try:
        with ((folder or Path()) / expanded(path)).open("rb") as file:
            data = file.read(SECRET_FILE_BYTES + 1)
        if len(data) > SECRET_FILE_BYTES:
            raise ValueError("it is too large to be a secret")
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{name}: the file {path} is no UTF-8 text.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{name}: the file {path} cannot be read: {why}.") from error


def _in_tables(one: _Declared, tables: Iterable[Table]) -> Iterator[tuple[Given, str]]:
    for table in tables:
        if one.name in table.values:
            given = Given(table.values[one.name], folder=table.folder)
            if not table.trusted:
                _refuse_redirection(one, given, table)
            yield given, table.source


def _refuse_redirection(one: _Declared, given: Given, table: Table) -> None:
    # A cloned project may choose a model; it may not choose where keys and data go, nor what is read.
    if one.protected or not all(_within(path, table.folder) for path in _paths(given, one.wanted)):
        places = " or ".join((*one.variables[:1], "your user configuration"))
        raise ConfigurationError(
            f"{table.source} is not trusted and sets {one.name!r}.",
            remedy=f"Set {places} instead, or trust this project: nr-llm config trust.",
        )


def _paths(given: Given, wanted: Any) -> list[str]:
    listed = get_origin(plain(wanted)) is tuple and Path in get_args(plain(wanted))
    if listed and isinstance(given.value, list):
        return [str(value) for value in given.value]
    return [str(given.value)] if plain(wanted) is Path else []


def _within(path: str, folder: Path | None) -> bool:
    try:
        return folder is not None and (folder / expanded(path)).resolve().is_relative_to(folder.resolve())
    except ValueError:
        return False


def _read(one: _Declared, given: Given, source: str, *, subject: Subject, redactor: Redactor) -> tuple[object, str]:
    try:
        value = convert(given, one.wanted)
    except ValueError as error:
        raise ConfigurationError(
            f"{subject}: {one.name!r} from {source} cannot be used: {error}.",
            remedy=f"It is declared as {inspect.formatannotation(one.wanted)}.",
        ) from None  # the cause may show the value
    if isinstance(value, Secret):
        redactor.learn(value)
    return value, source


def _missing(one: _Declared, subject: Subject) -> NrLlmError:
    if plain(one.wanted) is Secret:
        return MissingCredentialError(subject.name, variables=one.variables)
    places = (*one.variables[:1], f"{one.name} in [{subject.section}.{subject.name}]")
    return ConfigurationError(f"{subject}: {one.name!r} is not set.", remedy=f"Set {' or '.join(places)}.")


def _made(
    cls: Callable[..., T],
    found: Mapping[str, object],
    subject: Subject,
    *,
    sources: Mapping[str, str],
    redactor: Redactor,
) -> T:
    try:
        return cls(**found)
    except Exception as error:  # noqa: BLE001 - a validator may raise anything
        text = redactor.redact(str(error)) or type(error).__name__
        places = ", ".join(dict.fromkeys(sources[name] for name in found))
        raise ConfigurationError(
            f"{subject}: its settings{f' (from {places})' if places else ''} are refused: {text}."
        ) from None
