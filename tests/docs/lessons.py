"""
Makes the page of lessons out of what is known of them and of the tests that are marked as proof.

``python -m tests.docs.lessons`` writes the page; a test compares it.  A test is marked by ``@pytest.mark.lesson(16)``,
or one of its parameters by ``pytest.param(..., marks=pytest.mark.lesson(16))``.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tests.support import ROOT

PAGE = ROOT / "docs/explanation/lessons.md"
DATA = Path(__file__).with_name("lessons.toml")
MARKS = ("pytest.mark.lesson",)
CASES = "*_cases.py"
"""Files of cases that are written once and run on memory, SQLite and PostgreSQL."""

HEAD = """\
# What others learned

People report what goes wrong in the libraries that let models call tools. We read those reports, by now {count} lessons in {reports} public threads, and asked of each whether it could happen here.
Each sentence says what goes wrong in the field and what is done here; behind it stands the test that fails when it is no longer so. The numbers are ours: a test is marked with those of the lessons it holds.

Of the lessons {held} are held by tests or by the type check, {apart} do not apply, and {later} belong to parts that are not built yet. This page is made of the tests' marks by `python -m tests.docs.lessons`.
"""  # noqa: E501

Pins = Mapping[int, Sequence[str]]


@attrs.frozen(kw_only=True)
class Lesson:
    """
    One lesson, or several that are one fault.

    Attributes:
        numbers: Their numbers.
        reports: The public reports that tell of them.
        fault: What goes wrong in the field.
        here: What is done here, or nothing.
        because: Why they do not apply, or nothing.
        later: Which part that is not built yet they belong to, or nothing.
        kept_by: The file that holds them where no test does, or nothing.
    """

    numbers: tuple[int, ...] = attrs.field(converter=tuple)
    reports: tuple[str, ...] = attrs.field(converter=tuple)
    fault: str
    here: str = ""
    because: str = ""
    later: str = ""
    kept_by: str = ""

    @property
    def tested(self) -> bool:
        """Whether each of its numbers needs a test."""
        return bool(self.here) and not self.kept_by


def themes(data: Path = DATA) -> dict[str, list[Lesson]]:
    """Return the lessons by their theme, in order."""
    found: list[Any] = tomllib.loads(data.read_text(encoding="utf-8"))["theme"]
    return {theme["title"]: [Lesson(**lesson) for lesson in theme["lesson"]] for theme in found}


def lessons() -> list[Lesson]:
    """Return all lessons."""
    return [lesson for theme in themes().values() for lesson in theme]


def pins(folder: Path = ROOT / "tests") -> dict[int, list[str]]:
    """
    Return the tests that are marked with each number, as ``path::name``, by path.

    Raises:
        ValueError: A mark stands where no test is, or its numbers are not written out.
    """
    found: dict[int, list[str]] = {}
    for path in sorted({*folder.rglob("test_*.py"), *folder.rglob(CASES)}):
        source = path.read_text(encoding="utf-8")
        if "mark.lesson" in source:
            for number, name in marked(source, path.relative_to(ROOT).as_posix()):
                if name not in found.setdefault(number, []):
                    found[number].append(name)
    return found


def marked(source: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers of a module's marks, each with the test or the class of tests that it stands on."""
    tree = ast.parse(source)
    seen = set[int]()
    for names, test in _tests(tree, ()):
        for mark in (mark for decorator in test.decorator_list for mark in _marks(decorator)):
            seen.add(id(mark))
            for number in mark.args:
                if not isinstance(number, ast.Constant) or not isinstance(number.value, int):
                    raise ValueError(f"{path}:{mark.lineno}: write the lesson's number out")
                yield number.value, "::".join((path, *names))
    strays = [mark.lineno for mark in _marks(tree) if id(mark) not in seen]
    if strays:
        raise ValueError(f"{path}:{strays[0]}: this mark stands on no test")


def _tests(
    node: ast.Module | ast.ClassDef, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef) and (child.name.startswith("Test") or child.name.endswith("Cases")):
            yield (*above, child.name), child
            yield from _tests(child, (*above, child.name))
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child.name.startswith("test_"):
            yield (*above, child.name), child


def _marks(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and ast.unparse(child.func) in MARKS:
            yield child


def page(found: Mapping[str, Sequence[Lesson]], tests: Pins) -> str:
    """Return the page: a section for each theme, a line for each lesson."""
    every = [lesson for theme in found.values() for lesson in theme]
    numbers = {kind: sum(len(one.numbers) for one in every if getattr(one, kind)) for kind in ("because", "later")}
    count = sum(len(one.numbers) for one in every)
    parts = [
        HEAD.format(
            count=count,
            reports=len({report for one in every for report in one.reports}),
            held=count - sum(numbers.values()),
            apart=numbers["because"],
            later=numbers["later"],
        )
    ]
    for title, theme in found.items():
        parts.append(f"\n## {title}\n\n")
        parts.extend(f"- {line(lesson, tests)}\n" for lesson in theme)
    return "".join(parts)


def line(lesson: Lesson, tests: Pins) -> str:
    """Return a lesson's line: its numbers, the sentence, the reports, what holds it."""
    numbers = ", ".join(map(str, lesson.numbers))
    said = f"**{numbers}.** {lesson.fault[0].upper()}{lesson.fault[1:]}"
    told = f" ({', '.join(lesson.reports)})"
    if lesson.because:
        return f"{said}: this does not apply, because {lesson.because}.{told}"
    if lesson.later:
        return f"{said}: this {lesson.later}.{told}"
    names = [lesson.kept_by] if lesson.kept_by else _unique(lesson, tests)
    return f"{said}; here {lesson.here}.{told}<br>{', '.join(map(_link, names))}"


def _unique(lesson: Lesson, tests: Pins) -> list[str]:
    return list(dict.fromkeys(name for number in lesson.numbers for name in tests.get(number, ())))


def _link(name: str) -> str:
    return f"[`{name}`](../../{name.split('::', maxsplit=1)[0]})"


if __name__ == "__main__":
    PAGE.write_text(page(themes(), pins()), encoding="utf-8")
