"""No lesson of others is forgotten: each is held by a test, or says plainly why it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.lessons import CASES, PAGE, Lesson, lessons, line, marked, page, pins, themes
from tests.support import ROOT, shared_folder

COUNT = 161
TESTS = pins()


def test_the_page_is_up_to_date() -> None:
    """It is written by `python -m tests.docs.lessons`."""
    assert PAGE.read_text(encoding="utf-8") == page(themes(), TESTS)


def test_each_number_is_told_once() -> None:
    """None is left out, and none is told twice."""
    assert sorted(number for lesson in lessons() for number in lesson.numbers) == list(range(1, COUNT + 1))


def test_each_number_has_a_test_or_a_reason() -> None:
    """A number that says what is done here is held by a test."""
    bare = [number for lesson in lessons() if lesson.tested for number in lesson.numbers if number not in TESTS]

    assert bare == []


def test_a_test_has_a_lesson_that_asks_for_one() -> None:
    """A mark names a number that is known, and none that is said not to apply, or not to be built."""
    asking = {number for lesson in lessons() if lesson.tested for number in lesson.numbers}

    assert {number: names for number, names in TESTS.items() if number not in asking} == {}


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: str(lesson.numbers[0]))
def test_a_lesson_is_one_of_three(lesson: Lesson) -> None:
    """It is held here, does not apply, or is to come, under the heading of its kind; it is one sentence and cited."""
    [title] = [title for title, theme in themes().items() if lesson in theme]
    answers = [lesson.here, lesson.because, lesson.later]

    assert sum(map(bool, answers)) == 1
    assert (title == "What does not apply") is bool(lesson.because)
    assert (title == "Not built yet") is bool(lesson.later)
    assert lesson.reports
    assert not any(text.endswith(".") or ". " in text for text in (lesson.fault, *answers))
    assert not lesson.kept_by or (ROOT / lesson.kept_by).is_file()


def test_the_reports_are_those_of_the_collection() -> None:
    """Each lesson cites the reports its numbers have there, all of them and no other."""
    text = (shared_folder() / "reference" / "peers.md").read_text(encoding="utf-8")
    section = text[text.index("\n## 2. ") : text.index("\n## 3. ")]
    collected = {int(number): told for number, told in re.findall(r"^(\d+)\. (.*)$", section, re.MULTILINE)}

    assert sorted(collected) == list(range(1, COUNT + 1))
    for lesson in lessons():
        told = " ".join(collected[number] for number in lesson.numbers)
        threads = re.findall(r"#(\d+)", told)
        assert sorted(threads) == sorted(report.split("#")[1] for report in lesson.reports if "#" in report)
        assert all(report.split("#")[0] in told or "contrib" in report for report in lesson.reports)


def test_marks_are_found_wherever_a_test_has_them() -> None:
    """On a function, a method, a class of tests and a parameter; each once for each number."""
    source = """
@pytest.mark.lesson(1, 2)
def test_a(): ...

@pytest.mark.lesson(3)
class TestB:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.lesson(4))])
    async def test_c(self): ...
"""

    assert list(marked(source, "t.py")) == [
        (1, "t.py::test_a"),
        (2, "t.py::test_a"),
        (3, "t.py::TestB"),
        (4, "t.py::TestB::test_c"),
    ]


def test_cases_are_marked_where_they_are_written() -> None:
    """They are run by whoever inherits them: each file of cases with a mark is imported by tests."""
    source = "class DecisionCases:\n    @pytest.mark.lesson(5)\n    def test_a(self): ..."
    found = (path for path in (ROOT / "tests").rglob(CASES) if "mark.lesson" in path.read_text("utf-8"))
    modules = {path.stem for path in found if not path.stem.startswith("test_")}
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests/plugins/store").glob("test_*.py"))

    assert list(marked(source, "a_cases.py")) == [(5, "a_cases.py::DecisionCases::test_a")]
    assert modules
    assert {module for module in modules if f"from tests.core.{module} import " not in tests} == set()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("pytestmark = pytest.mark.lesson(1)", "t.py:1: this mark stands on no test"),
        ("@pytest.mark.lesson(1)\ndef helper(): ...", "t.py:1: this mark stands on no test"),
        ("@pytest.mark.lesson(N)\ndef test_a(): ...", "t.py:1: write the lesson's number out"),
    ],
)
def test_a_mark_that_proves_nothing_is_refused(source: str, why: str) -> None:
    """It would be a number without a test, or a test without its number."""
    with pytest.raises(ValueError, match=why):
        list(marked(source, "t.py"))


def test_a_line_says_what_holds_it() -> None:
    """The tests of all its numbers, each once; or the reason."""
    held = Lesson(numbers=[1, 2], reports=["a/b#1"], fault="it breaks", here="it holds")
    apart = Lesson(numbers=[3], reports=["a/b#2"], fault="it breaks", because="it cannot")
    tests = {1: ["tests/t.py::test_a"], 2: ["tests/t.py::test_a", "tests/u.py::test_b"]}

    assert line(held, tests) == (
        "**1, 2.** It breaks; here it holds. (a/b#1)<br>"
        "[`tests/t.py::test_a`](../../tests/t.py), [`tests/u.py::test_b`](../../tests/u.py)"
    )
    assert line(apart, tests) == "**3.** It breaks: this does not apply, because it cannot. (a/b#2)"


def test_marks_are_read_from_files(tmp_path: Path) -> None:
    """Of tests alone; what has none is passed over."""
    assert pins(tmp_path) == {}
    assert TESTS
