"""Holds every module to the house form, and to the boundaries that an import graph cannot see."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.packaging import sizes
from tests.packaging.members import MEMBERS, PLUGINS, Member
from tests.support import ROOT

MODULES = [path for member in MEMBERS for path in member.modules]
each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
each_plugin = pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
UNSEEN = {"ToolResult", "ToolArtifact", "ArtifactType", "results", "artifacts"}
"""Names of the root that carry artifacts; a provider package may take none of them."""


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """Return the full names of all that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def module_of(path: Path, member: Member) -> ModuleType:
    parts = path.relative_to(member.package.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


@each_module
def test_module_opens_with_its_reason(path: Path) -> None:
    """A module says first, in whole sentences, why it exists."""
    opening = (ast.get_docstring(tree(path)) or "").split("\n\n")[0].strip()

    assert opening.endswith((".", ":"))


@each_module
def test_annotations_are_postponed(path: Path) -> None:
    """A module that defines anything has its annotations postponed, so that names may stand in any order."""
    defines = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree(path).body)

    assert not defines or "__future__.annotations" in imported(path)


@each_module
def test_module_is_of_readable_size(path: Path) -> None:
    """No module is above 400 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@each_module
def test_functions_are_of_readable_size(path: Path) -> None:
    """No function is above 50 lines, its docstring apart."""
    assert [size for size in sizes.functions_in(path) if size.lines > 50] == []


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_lists_of_public_names_are_sorted_and_true(member: Member) -> None:
    """Wherever a module has `__all__`, it is sorted, without doubles, and each name is there."""
    for path in member.modules:
        declared = [node for node in tree(path).body if isinstance(node, ast.Assign) and _names(node) == ["__all__"]]
        if declared:
            module = module_of(path, member)
            assert list(module.__all__) == sorted(set(module.__all__), key=_order), path
            assert [name for name in module.__all__ if not hasattr(module, name)] == [], path


def _order(name: str) -> tuple[int, str]:
    """Constants first, then classes, then functions, as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def test_root_lists_what_it_re_exports() -> None:
    """The root's `__all__` is the names that it takes from its modules: nothing forgotten, nothing by accident."""
    taken = {
        name.rpartition(".")[2] for name in imported(ROOT / "core/nr_llm/__init__.py") if name.startswith("nr_llm.")
    } - {"_lazy"}
    listed = importlib.import_module("nr_llm").__all__

    assert set(listed) == taken
    assert len(listed) > 50


@each_plugin
def test_plugin_imports_no_sibling(plugin: Member) -> None:
    """A plugin's modules know the core and themselves; the cli may be built upon."""
    siblings = {other.package.name for other in PLUGINS} - {plugin.package.name, "nr_llm_cli"}
    found = {name.split(".")[0] for path in plugin.modules for name in imported(path)}

    assert found & siblings == set()


@pytest.mark.parametrize(
    "package",
    ["core/nr_llm/http.py", "plugins/anthropic", "plugins/gemini", "plugins/local", "plugins/ollama", "plugins/openai"],
)
def test_providers_take_no_artifact_from_the_root(package: str) -> None:
    """What sends bytes cannot name a result or an artifact, not even through the root's re-exports."""
    place = ROOT / package
    paths = [place] if place.suffix else list(place.rglob("*.py"))
    names = {name for path in paths for name in imported(path) if name.startswith("nr_llm.")}

    assert {name for name in names if UNSEEN & set(name.split("."))} == set()


def brought_by(statement: str) -> set[str]:
    """Return the top-level modules from outside the standard library that a statement imports in a fresh process."""
    probe = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, encoding="utf-8")
    return {name.split(".")[0] for name in done.stdout.split()} - set(sys.stdlib_module_names)


@pytest.mark.lesson(88, 89, 90)
def test_importing_the_core_brings_nothing() -> None:
    """`import nr_llm` imports no library: its names are fetched when they are asked for."""
    assert brought_by("import nr_llm") == {"nr_llm"}


@pytest.mark.lesson(88, 89, 90)
def test_every_public_name_is_light() -> None:
    """Even all public names together bring no HTTP client, no validator, no converter and no plugin."""
    light = {"nr_llm", "attr", "attrs", "pluggy", "importlib_metadata", "lazy_importer", "zipp"}

    assert brought_by("from nr_llm import *") <= light


def test_every_test_says_what_it_shows() -> None:
    """Each test has a docstring: the sentence that is false when it fails."""
    silent = [
        f"{path.relative_to(ROOT)}::{node.name}"
        for path in sorted(ROOT.glob("tests/**/*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if not ast.get_docstring(node)
    ]

    assert silent == []
