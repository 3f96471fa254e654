"""Prints the largest modules and functions, since both grow unseen and a reader pays for it."""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent


class Size(NamedTuple):
    """How many lines a thing has: a module all its lines, a function its body without the docstring."""

    lines: int
    where: str


def source_files() -> list[Path]:
    """Return the modules of the core and of every plugin."""
    return sorted([*ROOT.glob("core/nr_llm/**/*.py"), *ROOT.glob("plugins/*/nr_llm_*/**/*.py")])


def modules() -> list[Size]:
    """Return the modules, largest first."""
    return sorted(
        (Size(len(path.read_text(encoding="utf-8").splitlines()), name(path)) for path in source_files()), reverse=True
    )


def functions() -> list[Size]:
    """Return the functions, largest first."""
    return sorted((size for path in source_files() for size in functions_in(path)), reverse=True)


def functions_in(path: Path) -> Iterator[Size]:
    """Yield the functions of one module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            yield Size(lines, f"{name(path)}:{node.lineno} {node.name}")


def name(path: Path) -> str:
    """Return a path as seen from the root."""
    return path.relative_to(ROOT).as_posix()


def main(count: int = 15) -> None:
    """Print the `count` largest of each kind, and the medians."""
    for kind, found in (("modules", modules()), ("functions", functions())):
        lines = [size.lines for size in found]
        print(f"{len(found)} {kind}: median {statistics.median(lines):g} lines, largest {max(lines)}")
        for size in found[:count]:
            print(f"{size.lines:6} {size.where}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
