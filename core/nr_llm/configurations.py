"""What runs are given under one name: prompt, tools and options to begin with, and the bounds of whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from nr_llm._rows import USUAL, Row, set_limits, under
from nr_llm.config import Table
from nr_llm.errors import ConfigurationError
from nr_llm.limits import Limits
from nr_llm.options import Options
from nr_llm.privacy import PrivacyLevel, strictest, strictest_named
from nr_llm.settings import Subject, resolve_settings
from nr_llm.zones import TrustZone

SYSTEM_BYTES: Final = 262_144
"""Size of a ``system_file`` at most: more than the window of most models, and a mistaken path ends soon."""

_SYSTEM: Final = ("system", "system_file")


@attrs.frozen
class Narrowing:
    """
    The tools that a file which is not trusted leaves of those there are.

    Attributes:
        tools: Names, ``@group`` and ``plugin:tool``.
        source: The file.
    """

    tools: tuple[str, ...]
    source: str


@attrs.frozen(kw_only=True)
class Configuration:
    """
    A row of the configuration, ``[configurations.NAME]``.

    Attributes:
        name: Its name.
        model: An alias or ``provider:model``, or None; a caller's goes first.
        system: The instruction in front of the conversation, or None; a caller's replaces it.
        options: Settings of model calls; a caller's go first.
        tools: Names, ``@group`` and ``plugin:tool``; None leaves the choice to the caller.  A caller only narrows
            them.
        narrowings: What files that are not trusted leave of the tools.
        limits: Bounds, by the names of `Limits`; a caller's hold where they are lower.
        privacy: How much of a run may be kept at most, or None.
        four_eyes: Whether whoever began a run may not approve its calls.
        zone: How far away the provider of `model` is, as the operator declares it, or None.
        fallbacks: Models to ask when the first cannot answer; kept and shown, and not used yet.
        source: Where the row is from.
        sources: Where each of its settings is from.
    """

    __hash__ = None  # type: ignore[assignment]  # holds mappings

    name: str
    model: str | None = None
    system: str | None = attrs.field(default=None, repr=lambda text: "None" if text is None else f"<{len(text)} chars>")
    options: Options = attrs.field(factory=Options)
    tools: tuple[str, ...] | None = None
    narrowings: tuple[Narrowing, ...] = ()
    limits: Mapping[str, Any] = attrs.field(factory=dict)
    privacy: PrivacyLevel | None = None
    four_eyes: bool = False
    zone: TrustZone | None = None
    fallbacks: tuple[str, ...] = ()
    source: str = "the program"
    sources: Mapping[str, str] = attrs.field(factory=dict, repr=False)

    @property
    def chooses(self) -> bool:
        """Whether it says which tools there are."""
        return self.tools is not None or bool(self.narrowings)

    def under(self, options: Options) -> Options:
        """Return a caller's options, with the row's where the caller set none; namespaces are joined."""
        return under(options, self.options)

    def begins(self, limits: Limits, behind: Mapping[str, Any]) -> Limits:
        """
        Return the limits of a run.

        Args:
            limits: What the caller asks for; those that differ from the usual ones are the caller's will.
            behind: Limits of the model's row, for what the caller does not set; the lower of both counts.
        """
        unsaid = {name: _least(behind.get(name), self.limits.get(name)) for name in (*behind, *self.limits)}
        return self.clamp(attrs.evolve(USUAL, **{**unsaid, **set_limits(limits)}))

    def clamp(self, limits: Limits) -> Limits:
        """Return limits with those lowered that are above the row's."""
        return attrs.evolve(limits, **{name: _least(getattr(limits, name), most) for name, most in self.limits.items()})


def _least(value: Any, other: Any) -> Any:
    """Return the lower of two bounds, of which None is none."""
    return min((bound for bound in (value, other) if bound is not None), default=None)


@attrs.frozen(kw_only=True)
class _Row:
    # What [configurations.NAME] may hold.
    model: str | None = None
    system: str | None = None
    system_file: Path | None = None
    options: Mapping[str, Any] = attrs.field(factory=dict)
    tools: tuple[str, ...] | None = None
    limits: Mapping[str, Any] = attrs.field(factory=dict)
    privacy: PrivacyLevel | None = None
    four_eyes: bool = False
    zone: TrustZone | None = None
    fallbacks: tuple[str, ...] = ()


SETTINGS: Final = tuple(field.name for field in attrs.fields(_Row))
"""What a row may say."""


def configuration_of(
    name: str, tables: Iterable[Table], *, provider: Callable[[str], str] = lambda model: model.partition(":")[0]
) -> Configuration:
    """
    Read a row.

    Args:
        name: Its name.
        tables: What files and packages say of it, the one that counts first in front.
        provider: Returns the name of the provider that an alias or ``provider:model`` stands for.

    Raises:
        ConfigurationError: A name or value is wrong, or a file says what it may not; file, table and remedy are named.
    """
    tables = tuple(tables)
    subject = Subject(name=name, kind="Configuration", section="configurations", variables=False, further=False)
    read = Row(subject, tables)
    alone = [_loaded(subject, table) for table in tables]  # so that a fault behind another table is found too
    loaded = resolve_settings(_Row, plugin=subject, values=tables, environ={})
    row = loaded.settings
    own = [(table, said) for table, said in zip(tables, alone, strict=True) if table.trusted]
    for table, said in zip(tables, alone, strict=True):
        if not table.trusted:
            _refuse_wider(read, table, said, own=[mine for _, mine in own], provider=provider)
    system, spoken = _system(subject, tables, alone)
    return Configuration(
        name=name,
        model=row.model,
        system=system,
        options=read.options("options"),
        tools=next((said.tools for _, said in own if said.tools is not None), None),
        narrowings=tuple(
            Narrowing(said.tools, table.source)
            for table, said in zip(tables, alone, strict=True)
            if said.tools is not None and not table.trusted
        ),
        limits=read.limits(),
        privacy=strictest_named(*(said.privacy for said in alone)),
        four_eyes=any(said.four_eyes for said in alone),
        zone=row.zone,
        fallbacks=row.fallbacks,
        source=tables[0].source,
        sources={**loaded.sources, "system": spoken},
    )


def _loaded(subject: Subject, table: Table) -> _Row:
    said = resolve_settings(_Row, plugin=subject, values=[table], environ={}).settings
    place = f"{subject}, {table.source}"
    if said.system is not None and said.system_file is not None:
        raise ConfigurationError(f"{place}: system and system_file exclude each other.", remedy="Remove one of them.")
    for setting in ("model", "fallbacks", "tools"):
        value = getattr(said, setting)
        if "" in (value if isinstance(value, tuple) else (value,)):
            raise ConfigurationError(f"{place}: {setting} holds an empty name.", remedy="Correct or remove it.")
    return said


def _refuse_wider(row: Row, table: Table, said: _Row, *, own: Iterable[_Row], provider: Callable[[str], str]) -> None:
    """Refuse a cloned project that goes beyond the user's own row of the name, or beyond what is usual without one."""
    own = list(own)
    kept = strictest_named(*(mine.privacy for mine in own)) or PrivacyLevel.METADATA
    declared = next((mine.zone for mine in own if mine.zone is not None), None)
    zone = declared or TrustZone.EXTERNAL_GLOBAL
    models = [model for mine in own for model in (mine.model, *mine.fallbacks) if model]
    homes = {provider(model) for model in models}
    said_models = {"model": (said.model,), "fallbacks": said.fallbacks}
    if said.privacy is not None and strictest(said.privacy, kept) is not said.privacy:
        raise row.untrusted(table, "privacy")
    if said.zone is not None and said.zone.nearer(zone):
        raise row.untrusted(table, "zone")
    if said.model is not None and declared is not None:
        meant = next((mine.model for mine in own if mine.model is not None), None)
        if meant is None or provider(said.model) != provider(meant):  # the zone was declared for that one's provider
            raise row.untrusted(table, "model")
    for setting in _SYSTEM:
        if getattr(said, setting) is not None and any(mine.system or mine.system_file for mine in own):
            raise row.untrusted(table, setting)
    for setting, named in said_models.items():
        if own and any(model and provider(model) not in homes for model in named):
            raise row.untrusted(table, setting)


def _system(subject: Subject, tables: Iterable[Table], alone: Iterable[_Row]) -> tuple[str | None, str]:
    """Return the instruction and where it is from; a file's text is read."""
    for table, said in zip(tables, alone, strict=True):
        if said.system is not None:
            return said.system, table.source
        if said.system_file is not None:
            return _text(f"{subject}, {table.source}: system_file", said.system_file), str(said.system_file)
    return None, "default"


def _text(place: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(SYSTEM_BYTES + 1)
        if len(data) > SYSTEM_BYTES:
            raise ValueError(f"it has more than {SYSTEM_BYTES:,} bytes")
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{place}: {path} is no UTF-8 text.", remedy="Save it as UTF-8.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{place}: {path} cannot be read: {why}.", remedy="Correct the path.") from error
