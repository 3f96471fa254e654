"""Makes packages look installed: a module and its metadata in a folder on the import path."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


def install(
    folder: Path,
    module: str,
    source: str,
    *,
    name: str | None = None,
    requires: str = "nr-llm~=0.1.0",
) -> str:
    """
    Write a package with one plugin.

    Args:
        folder: A folder of the import path.
        module: The plugin's module; its last part is the plugin's name unless `name` is given.
        source: The module's source.
        name: The plugin's name.
        requires: The range of hosts it needs.

    Returns:
        The distribution's name.
    """
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    return declare(folder, module, name=name, requires=requires)


def declare(folder: Path, module: str, *, name: str | None = None, requires: str = "nr-llm~=0.1.0") -> str:
    """Write the metadata alone, for a module that is there."""
    distribution = module.replace("_", "-")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n{needs}\n")
    (info / "entry_points.txt").write_text(f"[nr_llm.tool]\n{name or module.removeprefix('nr_llm_')} = {module}\n")
    return distribution


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a folder on this process's import path for one test."""
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    return folder
