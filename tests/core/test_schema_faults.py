"""Faults tell a model everything at once, where and what, in a bounded text."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from nr_llm._schema import ArgumentsError, Fault, signature_of
from nr_llm._schema.faults import EXCERPT_CHARS, MAX_FAULTS, MODEL_BYTES, excerpt, join
from nr_llm.errors import InvalidValueError


@attrs.frozen
class Item:
    name: str
    price: float


def order(items: list[Item], customer: str, note: str = "") -> str:
    return f"{items}{customer}{note}"


def faults(arguments: Any, function: Any = order) -> list[str]:
    with pytest.raises(ArgumentsError) as caught:
        signature_of(function).structure(arguments)
    return [str(fault) for fault in caught.value.faults]


class TestFaults:
    def test_all_are_reported_with_their_paths(self) -> None:
        """One error turn is enough to correct every argument."""
        given = {
            "items": [{"name": "a", "price": 1.5}, {"name": 7, "price": "cheap", "size": 3}, {}, "x"],
            "custmer": "c",
            "note": None,
        }
        assert faults(given) == [
            "items[1].name: expected text, got 7",
            'items[1].price: expected a number, got "cheap"',
            "items[1].size: unknown name; known are: name, price",
            "items[2].name: missing; expected text",
            "items[2].price: missing; expected a number",
            'items[3]: expected an object (Item), got "x"',
            "customer: missing; expected text",
            "note: expected text, got null",
            'custmer: unknown name; did you mean "customer"?',
        ]

    def test_arguments_that_are_no_object_are_one_fault(self) -> None:
        """A list or a text where the arguments should be is said plainly."""
        assert faults([1]) == ["expected an object, got [1]"]

    def test_a_name_for_a_tool_that_takes_none_is_said_so(self) -> None:
        """There is nothing to suggest then."""

        def ping() -> str:
            return "pong"

        assert faults({"loud": True}, ping) == ["loud: unknown name; nothing is taken here"]

    def test_many_names_are_listed_in_part(self) -> None:
        """A long list of names would drown the fault."""
        names: dict[str, Any] = {}
        exec(f"def f({', '.join(f'a{i}: int' for i in range(40))}) -> str: ...", names)

        (*_, last) = faults({f"a{i}": i for i in range(40)} | {"zzz": 1}, names["f"])

        assert last.startswith("zzz: unknown name; known are: a0, a1,")
        assert last.endswith("a19, …")

    def test_their_number_is_bounded(self) -> None:
        """Beyond a hundred a further line teaches nothing."""

        def f(a: list[int], b: dict[str, int]) -> str:
            return f"{a}{b}"

        assert len(faults({"a": ["x"] * 500, "b": {str(i): "x" for i in range(500)}}, f)) == MAX_FAULTS
        assert len(faults({"a": [], "b": {}} | {f"c{i}": 1 for i in range(500)}, f)) == MAX_FAULTS

    def test_deep_faults_cost_linear_time(self) -> None:
        """Nesting does not multiply the work: no value is read again, level by level, to find its faults."""
        reads = 0

        @attrs.frozen
        class Counted:
            n: int = attrs.field()

            def __attrs_post_init__(self) -> None:
                nonlocal reads
                reads += 1

        hint: Any = Counted
        given: Any = {"n": 1}
        for _ in range(12):
            hint, given = list[hint], [given, 5]

        def f(a: Any) -> str:
            return str(a)

        f.__annotations__["a"] = hint

        assert len(faults({"a": given}, f)) == 12
        assert reads == 1


class TestArgumentsError:
    def test_it_is_a_value_error_of_ours(self) -> None:
        """Callers of `call` catch it as what it is."""
        assert issubclass(ArgumentsError, InvalidValueError)

    def test_its_text_names_places_only(self) -> None:
        """Values may be private and texts end in logs."""
        error = ArgumentsError([Fault(p, "got secret") for p in ("", "a", "b", "c", "d", "e")])

        assert str(error) == "arguments refused at (root), a, b, c and 2 more"

    def test_the_model_is_told_all(self) -> None:
        """A head, a line for each fault, what to do."""
        assert ArgumentsError([Fault("a", "missing"), Fault("", "expected an object, got 5")]).for_model() == (
            "The arguments do not fit this tool, so it did not run:\n"
            "- a: missing\n"
            "- expected an object, got 5\n"
            "Correct every point and call the tool again."
        )

    def test_a_person_is_told_the_faults(self) -> None:
        """In lines, without a word to a model."""
        assert ArgumentsError([Fault("a", "missing"), Fault("b", "missing")]).for_person() == "a: missing\nb: missing"

    def test_the_text_for_the_model_is_bounded(self) -> None:
        """However many and however long the faults, in bytes, and it says how many are left out."""
        error = ArgumentsError([Fault(f"ä{i}", "ü" * 5_000) for i in range(50)])

        text = error.for_model()

        assert len(text.encode()) <= MODEL_BYTES
        assert "more\nCorrect" in text
        assert len(ArgumentsError([Fault("a" * 9_000, "\ud800" * 9_000)]).for_model()) < MODEL_BYTES


class TestExcerpt:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (None, "null"),
            (True, "true"),
            (1.5, "1.5"),
            ("a\n", '"a\\n"'),
            ("é", '"é"'),
            ("\u202eabc\x9b", '"\\u202eabc\\u009b"'),
            ("\ud800", '"\\ud800"'),
            ([], "[]"),
            ([1, "a", None, [2], 5], '[1, "a", null, […], …]'),
            ({"a": {}, "b": {"c": 1}, "d": []}, '{"a": {}, "b": {…}, "d": []}'),
            (float("nan"), "a value of type float"),
            pytest.param(10**5000, "a value of type int", id="huge"),
            (object(), "a value of type object"),
        ],
    )
    def test_it_is_json_with_nothing_invisible(self, value: Any, shown: str) -> None:
        """Spelled as the model wrote it; what cannot be seen or encoded is escaped or named."""
        assert excerpt(value) == shown

    @pytest.mark.parametrize(
        "value",
        ["x" * 1_000, ["y" * 1_000] * 9, {"z" * 1_000: "z" * 1_000}, "\u202e" * 1_000],
        ids=["text", "array", "object", "marks"],
    )
    def test_it_is_short(self, value: Any) -> None:
        """At most eighty characters, the mark of the cut included."""
        assert len(excerpt(value)) == EXCERPT_CHARS
        assert excerpt(value).endswith("…")


class TestPath:
    @pytest.mark.parametrize(
        ("steps", "path"),
        [
            (["items", 2, "price"], "items[2].price"),
            ([0, 1], "[0][1]"),
            (["a b"], '["a b"]'),
            (["a", "b.c"], 'a["b.c"]'),
            (["\u202e"], '["\\u202e"]'),
        ],
    )
    def test_a_path_is_unambiguous(self, steps: list[str | int], path: str) -> None:
        """Names that are no identifiers are quoted, so a dot in a key is no step."""
        joined = ""
        for step in steps:
            joined = join(joined, step)
        assert joined == path

    def test_a_long_key_is_cut(self) -> None:
        """A key the model made up may be a document."""
        assert len(join("", "k" * 10_000)) < 80
