"""Counted in the source: one sink for what a model reads, one encoder, one seam."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from pathlib import Path

import pytest

from tests.support import ROOT

CORE = ROOT / "core" / "nr_llm"
SOURCES = [*CORE.rglob("*.py"), *ROOT.glob("plugins/*/nr_llm_*/**/*.py")]
SHIPPED = [path for path in SOURCES if CORE / "testing" not in path.parents]
ENCODERS = {"dumps", "dump", "JSONEncoder", "iterencode"}
FOREIGN = {"orjson", "msgspec", "simplejson", "ujson", "rapidjson"}


KINDS = (ast.Call, ast.Attribute, ast.Import, ast.ImportFrom)


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Return the nodes of a module that calls, attributes and imports are."""
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, KINDS)]


def name_of(call: ast.Call) -> str:
    """Return the last name of what is called: ``tool_result`` for ``ChatMessage.tool_result(...)``."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def callers(name: str) -> dict[str, int]:
    """Return the modules of what ships that call a name, and how often."""
    found = Counter(
        path.relative_to(ROOT).as_posix()
        for path in SHIPPED
        for node in nodes(path)
        if isinstance(node, ast.Call) and name_of(node) == name
    )
    return dict(found)


def test_one_sink() -> None:
    """A result's content becomes a message at exactly one place."""
    assert {"core/nr_llm/_turns.py": 1} == callers("tool_result")

    [call] = [
        node for node in nodes(CORE / "_turns.py") if isinstance(node, ast.Call) and name_of(node) == "tool_result"
    ]
    handed = [part.attr for part in ast.walk(call) if isinstance(part, ast.Attribute)]
    assert "content" in handed
    assert "artifacts" not in handed


def test_one_encoder() -> None:
    """JSON is written in one module, with one set of flags, and by no other library."""
    writers = {
        path.relative_to(ROOT).as_posix()
        for path in SHIPPED
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "json"
        if node.attr in ENCODERS
    }
    imported = {
        alias.name.split(".")[0]
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in [*node.names, ast.alias(getattr(node, "module", None) or "")]
    }

    assert {"core/nr_llm/_json.py"} == writers
    assert set() == imported & FOREIGN


@pytest.mark.lesson(139)
@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("bound_result", {"core/nr_llm/_seam.py", "core/nr_llm/_loop.py"}),
        ("received", {"core/nr_llm/_calls.py"}),
        ("failed", {"core/nr_llm/_calls.py"}),
        ("timed_out", {"core/nr_llm/_calls.py"}),
    ],
)
def test_one_seam(name: str, modules: set[str]) -> None:
    """What a tool returned or raised is taken in where every call passes, and bounded once more by the loop."""
    assert modules == callers(name).keys()


def test_the_encoder_is_imported_by_no_other_name() -> None:
    """`from json import ...` would hide an encoder from the count above."""
    hidden = {
        f"{path.relative_to(ROOT)}: {alias.name}"
        for path in SHIPPED
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module == "json"
        for alias in node.names
        if alias.name in ENCODERS
    }

    assert set() == hidden
