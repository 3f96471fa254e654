"""What runs here: the Python interpreter and the installed packages, without a path, a user's name or a variable."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Callable, Iterable
from typing import Final

import attrs
from nr_llm import Tool, ToolResult, tool

from nr_llm_tools._table import Row, fitting, showing, table_result
from nr_llm_tools._text import visible_name

MAX_NAME: Final = 100
"""Characters of a name or version that are shown; metadata is written by strangers."""

_SEPARATOR: Final = re.compile(r"[\s,;]+")
"""Stands between names, and never in one: who asks for two packages at once gets both."""

Distributions = Callable[[], Iterable[importlib.metadata.Distribution]]


@attrs.frozen
class InterpreterTools:
    """
    The interpreter tools.

    Args:
        distributions: Returns the installed distributions.
    """

    distributions: Distributions = importlib.metadata.distributions

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools, all of them reads."""
        packages = tool(group="system", data_class="diagnostics", timeout=30.0, examples=({}, {"prefix": "pytest"}))(
            self.list_packages
        )
        return (
            packages,
            tool(group="system", data_class="diagnostics", timeout=10.0, examples=({},))(self.get_python_info),
        )

    def list_packages(self, prefix: str = "") -> ToolResult:
        """
        List the installed Python packages with their versions, or look up one of them: is it installed, which version?

        The first line says how many there are.

        Args:
            prefix: Name of one package, or how the names begin, such as "pytest"; left out for all.
        """
        wanted = tuple(map(_normal, filter(None, _SEPARATOR.split(prefix.strip()[:MAX_NAME])))) or ("",)
        installed = self._installed()
        found = [row for name, row in sorted(installed.items()) if name.startswith(wanted)]
        rows = fitting(found)
        count = showing(len(rows), len(found), "package")
        names = " or ".join(f"'{visible_name(name)}'" for name in wanted)
        start = f" whose name begins with {names}, of {len(installed):,}" if any(wanted) else " installed"
        return table_result(f"{count}{start}", ("name", "version"), rows, label="Installed packages")

    def _installed(self) -> dict[str, Row]:
        """Return name and version by normalised name; of two of one name the first is the one that is imported."""
        found: dict[str, Row] = {}
        for distribution in self.distributions():
            name, version = _identity(distribution)
            if name:
                found.setdefault(_normal(name), (name, version))
        return found

    def get_python_info(self) -> ToolResult:
        """Get the version of Python itself, not of a package, and the operating system and machine it runs on."""
        return ToolResult.text(
            f"Python {platform.python_version()} ({platform.python_implementation()}), "
            f"{sys.maxsize.bit_length() + 1}-bit, on {platform.system()} {platform.machine()}"
        )


def _identity(distribution: importlib.metadata.Distribution) -> tuple[str, str | None]:
    try:
        metadata = distribution.metadata
        # Asked first: what a missing key gives differs between versions of Python.
        name = metadata["Name"] if "Name" in metadata else ""  # noqa: SIM401 - `get` came with 3.12
        version = metadata["Version"] if "Version" in metadata else ""  # noqa: SIM401
    except Exception:  # noqa: BLE001 - a broken installation costs its own row, never the list
        return "", None
    return _shown(name), _shown(version) if version else None


def _shown(text: str) -> str:
    return visible_name(str(text)[:MAX_NAME])


def _normal(name: str) -> str:
    """Return a name as the packaging standards compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
