"""Packages that are written for one test: metadata and modules in a temporary folder on the path."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest


class Site:
    """
    A folder on the path that packages are written into.

    Args:
        folder: An existing folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        self.modules: list[str] = []

    def add(
        self,
        name: str,
        version: str = "1.0",
        *,
        entry_points: Mapping[str, str] | None = None,
        modules: Mapping[str, str] | None = None,
        requires: Sequence[str] = (),
        direct_url: str | None = None,
    ) -> Path:
        """
        Write a package; every module begins with the imports a plugin needs.

        Returns:
            The folder of its metadata.
        """
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {line}" for line in requires)]
        (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines, ""]), "utf-8")
        if entry_points is not None:
            points = [f"{key} = {value}" for key, value in entry_points.items()]
            (info / "entry_points.txt").write_text("\n".join(["[nr_llm.tool]", *points, ""]), "utf-8")
        if direct_url is not None:
            (info / "direct_url.json").write_text(direct_url, "utf-8")
        for module, code in (modules or {}).items():
            self.modules.append(module)
            (self.folder / f"{module}.py").write_text(PREAMBLE + textwrap.dedent(code), "utf-8")
        self.names.append(name)
        return info

    def plugin(self, name: str, code: str, *, version: str = "1.0", module: str = "", **more: Sequence[str]) -> None:
        """Write a package ``nr-llm-NAME`` whose one entry point, NAME, is a module with `code`."""
        module = module or f"plugin_{name}"
        self.add(f"acme-{name}", version, entry_points={name: module}, modules={module: code}, **more)

    def forget(self) -> None:
        """Take its modules out of the interpreter."""
        for module in self.modules:
            sys.modules.pop(module, None)


PREAMBLE = """\
from nr_llm.hookspecs import hookimpl
from nr_llm.tools import Tool, tool

def named(name):
    def function(text: str = "") -> str:
        return f"{__name__}: {text}"
    return Tool.from_function(function, name=name, description=name)

"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Return an empty site in front of the path."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    found = Site(folder)
    yield found
    found.forget()
