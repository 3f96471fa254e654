"""Reads the members of the workspace once, as data for the packaging tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import attrs

from tests.support import ROOT


@attrs.frozen
class Member:
    """
    One distribution of the workspace.

    Attributes:
        folder: Where its `pyproject.toml` is.
        package: The folder of its import package.
        project: The `[project]` table.
    """

    folder: Path
    package: Path
    project: dict[str, Any]

    @property
    def name(self) -> str:
        """The distribution's name."""
        return str(self.project["name"])

    @property
    def modules(self) -> list[Path]:
        """The source files of the package."""
        return sorted(self.package.rglob("*.py"))


def read(folder: Path) -> dict[str, Any]:
    """Return the `pyproject.toml` of a folder."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def requirement_name(requirement: str) -> str:
    """Return the normal form of the name that a requirement starts with."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


CORE = Member(ROOT, ROOT / "core" / "nr_llm", read(ROOT)["project"])
PLUGINS = [
    Member(path.parent, path.parent / f"nr_llm_{path.parent.name}", read(path.parent)["project"])
    for path in sorted(ROOT.glob("plugins/*/pyproject.toml"))
]
MEMBERS = [CORE, *PLUGINS]
