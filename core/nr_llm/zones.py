"""How much what a tool returns is worth protecting, and how far away whoever reads it is: two ladders that meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final


class DataClass(StrEnum):
    """What a tool may return, the least worth protecting first (the reference system's ladder, ADR-094)."""

    PUBLIC = "public"
    CONTENT = "content"
    SOURCE_CODE = "source_code"
    CONFIGURATION = "configuration"
    DIAGNOSTICS = "diagnostics"
    SECRET = "secret"  # noqa: S105 - a class of data

    @classmethod
    def of(cls, value: object) -> DataClass:
        """Return the class of a name, and the last of the ladder for what is none."""
        return next((member for member in cls if member == value), cls.SECRET)

    def within(self, ceiling: DataClass) -> bool:
        """Return whether it is no higher than `ceiling`."""
        return _CLASSES.index(self) <= _CLASSES.index(ceiling)


_CLASSES: Final = tuple(DataClass)


class TrustZone(StrEnum):
    """
    How far away a provider is, the nearest first; the further, the less may be told to it.

    `LOCAL` is this machine, `PRIVATE` a service of one's own, `EXTERNAL` one under one's own law and contract,
    `EXTERNAL_GLOBAL` any other.
    """

    LOCAL = "local"
    PRIVATE = "private"
    EXTERNAL = "external"
    EXTERNAL_GLOBAL = "external_global"

    @property
    def ceiling(self) -> DataClass:
        """The highest class that may be told to a provider there."""
        return CEILINGS[self]

    def nearer(self, than: TrustZone) -> bool:
        """Return whether it is nearer than another."""
        return _ZONES.index(self) < _ZONES.index(than)


_ZONES: Final = tuple(TrustZone)


CEILINGS: Final[Mapping[TrustZone, DataClass]] = {
    TrustZone.LOCAL: DataClass.SECRET,
    TrustZone.PRIVATE: DataClass.DIAGNOSTICS,
    TrustZone.EXTERNAL: DataClass.CONFIGURATION,
    TrustZone.EXTERNAL_GLOBAL: DataClass.CONTENT,
}
"""The highest class that may be told to each zone (the reference system's figures, ADR-094)."""


def furthest(zones: Iterable[TrustZone]) -> TrustZone:
    """Return the furthest of some zones; the furthest there is if there are none."""
    return max(zones, key=_ZONES.index, default=TrustZone.EXTERNAL_GLOBAL)


def highest(classes: Iterable[DataClass]) -> DataClass:
    """Return the class most worth protecting of some; `CONTENT` if there are none."""
    return max(classes, key=_CLASSES.index, default=DataClass.CONTENT)
