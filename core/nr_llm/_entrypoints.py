"""What is installed is read here, from metadata alone: no plugin is imported, and no broken package raises."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import importlib_metadata

from nr_llm._versions import normalised, required_range
from nr_llm.plugins import GROUP, HOST

_SECTION = re.compile(rf"^\[{re.escape(GROUP)}\]", re.MULTILINE)


@attrs.frozen(kw_only=True)
class EntryPoint:
    """
    One plugin as its package declares it.

    Attributes:
        name: Namespace of its tools, name of its provider.
        value: Where its object is, as ``module`` or ``module:object``.
        distribution: Normalised name of the package.
        version: The package's version.
        requires: Range of host versions it needs, or None.
        origin: How the package came here: ``index``, ``editable``, ``vcs``, ``archive``, ``folder`` or ``unknown``.
        load: Imports the object and returns it.
    """

    name: str
    value: str
    distribution: str
    version: str
    requires: str | None
    origin: str
    load: Callable[[], object] = attrs.field(repr=False, eq=False)


@attrs.frozen
class Unreadable:
    """A package that declares plugins and whose metadata cannot be read."""

    distribution: str
    reason: str


@attrs.frozen
class Installed:
    """What the metadata says: the plugins, sorted by distribution and name, and the packages that cannot be read."""

    entry_points: tuple[EntryPoint, ...]
    unreadable: tuple[Unreadable, ...]


def installed() -> Installed:
    """Read the plugins of all installed packages; of a package found twice on the path the first counts."""
    entry_points: list[EntryPoint] = []
    unreadable: list[Unreadable] = []
    for name in sorted(_declaring()):
        try:
            entry_points += _entry_points(name)
        except Exception as error:  # noqa: BLE001 - foreign files can be broken in any way
            unreadable.append(Unreadable(name, f"{type(error).__name__}: {error}"))
    return Installed(tuple(sorted(entry_points, key=lambda e: (e.distribution, e.name))), tuple(unreadable))


def host_version() -> str | None:
    """Return the installed version of the host, or None when it runs uninstalled."""
    try:
        return importlib_metadata.version(HOST)
    except importlib_metadata.PackageNotFoundError:
        return None


def _declaring() -> Iterator[str]:
    # Names of packages that declare plugins.  Reading METADATA is the slow part, so only theirs is read.
    seen = set()
    for distribution in importlib_metadata.distributions():
        try:
            text = distribution.read_text("entry_points.txt") or ""
            if _SECTION.search(text) and (name := _name(distribution)) not in seen:
                seen.add(name)
                yield name
        except Exception:  # noqa: BLE001, S112 - undecodable: nobody can tell that it declares a plugin
            continue


def _name(distribution: Any) -> str:
    try:
        return normalised(distribution.name)
    except Exception:  # noqa: BLE001 - a half-removed package is named by its folder
        folder = str(getattr(distribution, "_path", "")).replace("\\", "/").rpartition("/")[2]
        return normalised(folder.partition("-")[0] or "unknown")


def _entry_points(name: str) -> list[EntryPoint]:
    distribution = importlib_metadata.distribution(name)
    version, origin = distribution.version, _origin(distribution)
    requires = required_range(distribution.requires or (), HOST)
    return [
        EntryPoint(
            name=point.name,
            value=point.value,
            distribution=name,
            version=version,
            requires=requires,
            origin=origin,
            load=point.load,
        )
        for point in distribution.entry_points.select(group=GROUP)
    ]


def _origin(distribution: Any) -> str:
    try:
        origin = distribution.origin  # PEP 610: what pip was told to install
    except ValueError:
        return "unknown"
    if origin is None:
        return "index"
    if hasattr(origin, "vcs_info"):
        return "vcs"
    if hasattr(origin, "archive_info"):
        return "archive"
    return "editable" if getattr(getattr(origin, "dir_info", None), "editable", False) else "folder"
