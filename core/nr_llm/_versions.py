"""Whether this host is in the range a plugin declares is decided here, before any of the plugin's code runs."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

# The part of PEP 440 and PEP 508 that built metadata holds for a dependency on a host with versions like `1.2.3`
# or `1.2.3rc1`.  `packaging` is the oracle in the tests; for these few lines it would be one more dependency.
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?(?P<range>[^;()@]*)\)?[^;]*(?:;(?P<marker>.*))?"
)
_VERSION = re.compile(r"(?P<release>\d+(?:\.\d+)*)(?:(?P<pre>a|b|rc)(?P<number>\d+))?(?:\.dev(?P<dev>\d+))?(?:\+\S*)?")
_CLAUSE = re.compile(r"\s*(?P<operator>~=|==|!=|<=|>=|<|>)\s*(?P<version>[^\s*]+?)(?P<any>\.\*)?\s*")
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "~=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_FINAL = ("z", 0)  # after a, b and rc; a bare development release is before them


def normalised(name: str) -> str:
    """Return a distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required_range(requirements: Iterable[str], name: str) -> str | None:
    """
    Return the range of versions a distribution demands of `name`, or None if it demands none.

    Args:
        requirements: The distribution's ``Requires-Dist`` lines.
        name: A normalised name.
    """
    for line in requirements:
        match = _REQUIREMENT.fullmatch(line)
        if match and normalised(match["name"]) == name and "extra" not in (match["marker"] or ""):
            return match["range"].strip() or None
    return None


def admits(version_range: str, version: str) -> bool:
    """
    Return whether `version` is in `version_range`; a pre-release counts like any other version.

    Raises:
        ValueError: One of them is not written as expected.
    """
    return all(_holds(clause, version) for clause in version_range.split(",") if clause.strip())


def _holds(clause: str, version: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        raise ValueError(f"{clause.strip()!r} is no range of versions")
    sign, bound = match["operator"], match["version"]
    (release, *stage), (least, *least_stage) = _parsed(version), _parsed(bound)
    if match["any"]:
        return (_padded(release, len(least))[: len(least)] == least) is (sign == "==")
    if sign == "~=" and _padded(release, len(least))[: len(least) - 1] != least[:-1]:
        return False
    size = max(len(release), len(least))
    mine, theirs = (_padded(release, size), *stage), (_padded(least, size), *least_stage)
    if sign == "<" and mine[0] == theirs[0] and least_stage == [_FINAL, True, 0]:
        return False  # `<2` leaves out the pre-releases of 2
    return _COMPARE[sign](mine, theirs)


def _parsed(version: str) -> tuple[tuple[int, ...], tuple[str, int], bool, int]:
    match = _VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"{version!r} is no version")
    release = tuple(map(int, match["release"].split(".")))
    stage = (match["pre"], int(match["number"])) if match["pre"] else ("" if match["dev"] else "z", 0)
    return release, stage, match["dev"] is None, int(match["dev"] or 0)


def _padded(release: tuple[int, ...], size: int) -> tuple[int, ...]:
    return release + (0,) * (size - len(release))
