"""Counts what there is one of (the sink, the encoder, the seam), and keeps the world out of the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.packaging.members import CORE, MEMBERS
from tests.support import ROOT

KIT = CORE.package / "testing"
"""Plays the model's and the host's part by hand, so it makes messages of its own."""

PURE = ("_loop", "_seam", "_settle", "_turns", "bounds", "effects", "middleware", "runs", "state", "steps", "window")
"""The modules a flow is made of."""

WORLD = {
    *("asyncio", "datetime", "http", "importlib", "io", "logging", "multiprocessing", "os", "pathlib", "platform"),
    *("queue", "random", "secrets", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading"),
    *("time", "urllib", "uuid"),
}
"""Modules that tell the time, draw lots, read the surroundings, wait or do I/O."""


def modules() -> list[Path]:
    return [path for member in MEMBERS for path in member.modules if KIT not in path.parents]


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def called(node: ast.AST) -> str:
    """Return the last name of what a node calls, or nothing when it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def callers(name: str, paths: list[Path]) -> list[str]:
    """Return ``module.function`` for each call of a name, the innermost function."""
    return sorted(
        f"{path.stem}.{function.name}"
        for path in paths
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in own_nodes(function)
        if called(node) == name
    )


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, those of functions inside it left out."""
    for node in ast.iter_child_nodes(function):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from own_nodes(node)


def test_one_place_makes_a_message_of_a_result() -> None:
    """`ChatMessage.tool_result` is called once: where the loop answers calls with `result.content`."""
    assert callers("tool_result", modules()) == ["_turns.answered"]


def test_one_module_encodes_json() -> None:
    """Neither `json.dumps` nor another encoder of the standard library is used outside of `nr_llm._json`."""
    encoders = {"dump", "dumps", "JSONEncoder"}
    found = {
        path.relative_to(ROOT).as_posix()
        for path in modules()
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and node.attr in encoders and getattr(node.value, "id", "") == "json")
        or (isinstance(node, ast.ImportFrom) and node.module == "json" and encoders & {a.name for a in node.names})
    }

    assert found == {"core/nr_llm/_json.py"}


def test_one_seam_takes_what_tools_hand_over() -> None:
    """What a tool returned, raised or failed to do in time becomes a result in the batch alone, whoever called."""
    core = [path for path in modules() if CORE.package in path.parents]

    assert callers("received", core) == ["_calls._judge"]
    assert set(callers("failed", core)) == {"_calls._judge"}
    assert callers("timed_out", core) == ["_calls._expire"]


def test_the_loop_sees_nothing_of_the_world() -> None:
    """The modules of the flow import no clock, no randomness, no environment, no I/O and nothing that waits."""
    imported = {
        (name, module.split(".")[0])
        for name in PURE
        for node in ast.walk(tree(CORE.package / f"{name}.py"))
        for module in modules_of(node)
    }

    assert {pair for pair in imported if pair[1] in WORLD} == set()
    assert ("_loop", "nr_llm") in imported


def modules_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
