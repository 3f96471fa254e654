"""No public fault report is forgotten: each number and each re-typed reply has a test of its own."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.corpus.report_numbers import NO_CLIENT, SECTIONS
from tests.support import ROOT, shared_folder

REPORTED = sorted(path for path in ROOT.glob("tests/corpus/test_*_reported.py"))
REPORTS = sorted(path for path in ROOT.glob("tests/plugins/*/test_*reports.py"))
NUMBERS = re.compile(r"report-(\d{1,3}(?:-\d{1,3})*)")


def imported(path: Path) -> ModuleType:
    """Return a test module; without the plugin that it tests there is nothing to compare."""
    try:
        return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("nr_llm_"):
            raise
        pytest.skip(f"{error.name} is not installed here, and {path.name} tests it")


def functions_of(owner: Any) -> Iterator[Any]:
    """Yield the test functions of a module and of its classes."""
    for name, value in vars(owner).items():
        if name.startswith("test_") and callable(value):
            yield value
        elif name.startswith("Test") and isinstance(value, type):
            yield from functions_of(value)


def parameters(path: Path) -> Iterator[tuple[Any, str]]:
    """Yield each parameter of a module's tests with its id; one without an id of its own has an empty one."""
    for test in functions_of(imported(path)):
        for mark in getattr(test, "pytestmark", ()):
            if mark.name != "parametrize":
                continue
            ids = mark.kwargs.get("ids")
            for given in mark.args[1]:
                if isinstance(given, ParameterSet):
                    yield given.values, str(given.id or "")
                else:
                    yield given, str(ids(given)) if callable(ids) else ""


def test_each_report_has_a_test_with_its_number() -> None:
    """A number without a test is one whose reason stands in the list; no test has a number that nobody knows."""
    named = {
        int(number)
        for path in REPORTS
        for _, name in parameters(path)
        for found in NUMBERS.findall(name)
        for number in found.split("-")
    }

    assert sorted({number for section in SECTIONS.values() for number in section} - NO_CLIENT.keys()) == sorted(named)


def test_the_numbers_are_those_of_the_collection() -> None:
    """A report that is added there is missed here."""
    text = (shared_folder() / "reference" / "wire.md").read_text(encoding="utf-8")
    collection = text[text.index("Public bug reports") :]

    assert [number for section in SECTIONS.values() for number in section] == list(
        map(int, re.findall(r"^(\d+)\. ", collection, re.MULTILINE))
    )


def test_each_reported_reply_is_met() -> None:
    """By the function of its name, which a test is given."""
    rows = json.loads((shared_folder() / "corpus" / "reported.json").read_text(encoding="utf-8"))

    met = [given.__name__ for path in REPORTED for given, _ in parameters(path)]

    assert sorted(met) == sorted(row["id"] for row in rows)


@pytest.mark.parametrize("paths", [REPORTS, REPORTED], ids=["reports", "replies"])
def test_the_modules_are_found(paths: list[Path]) -> None:
    """What is compared above is no empty list."""
    assert len(paths) >= 5
    assert all(list(parameters(path)) for path in paths)
