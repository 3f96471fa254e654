"""Keeps the world out of the loop: what a flow is made of can neither wait nor look around."""

from __future__ import annotations

import ast

import pytest

from tests.packaging.members import CORE

PURE = (
    *("_answering", "_budget", "_loop", "_seam", "_settle", "_turns", "bounds", "effects", "limits", "middleware"),
    *("prices", "runs", "state", "steps", "window"),
)
"""The modules that a flow is made of."""

WORLD = {
    *("asyncio", "datetime", "http", "importlib", "io", "logging", "multiprocessing", "os", "pathlib", "platform"),
    *("queue", "random", "secrets", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading"),
    *("time", "urllib", "uuid"),
}
"""Modules that tell the time, draw lots, read the surroundings, wait or do I/O."""

BUILTINS = {"open", "print", "input", "__import__", "exec", "eval"}


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


@pytest.mark.parametrize("name", PURE)
def test_the_loop_sees_nothing_of_the_world(name: str) -> None:
    """No module of the flow imports a clock, randomness, the environment, I/O or anything that waits."""
    nodes = list(ast.walk(ast.parse((CORE.package / f"{name}.py").read_text(encoding="utf-8"))))
    modules = {module.split(".")[0] for node in nodes for module in imported(node)}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}

    assert modules & WORLD == set()
    assert called & BUILTINS == set()
    assert modules & {"attrs", "nr_llm"}
