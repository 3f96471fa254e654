"""A schema becomes strict when the provider's subset can say it, and what strictness adds is taken out again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal

import attrs
import pytest
from nr_llm._json import JSON
from nr_llm._schema import Constraint, compile_schema, drop_strict_nulls, signature_of, strict_schema


@attrs.frozen
class Point:
    x: int
    y: int = 0


@attrs.frozen
class Circle:
    kind: Literal["circle"]
    radius: int = 1


@attrs.frozen
class Square:
    kind: Literal["square"]
    side: int = 1


def closed(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | {"required": [*required]} if required else schema


def strict(schema: dict[str, Any]) -> Any:
    rewritten, reasons = strict_schema(schema)
    assert reasons == ()
    return rewritten


def reasons(schema: dict[str, Any]) -> tuple[str, ...]:
    rewritten, reasons = strict_schema(schema)
    assert rewritten is None
    return reasons


class TestStrictSchema:
    def test_every_property_is_required_and_optional_ones_are_nullable(self) -> None:
        """The default moves into the description, the one place left for it."""
        schema = closed(
            ["a"],
            a={"type": "integer", "description": "First."},
            b={"type": "integer", "description": "Second.", "default": 5},
            c={"type": ["string", "null"], "default": None},
        )
        assert strict(schema) == {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "First."},
                "b": {"type": ["integer", "null"], "description": "Second. Default: 5."},
                "c": {"type": ["string", "null"], "description": "Default: null."},
            },
            "required": ["a", "b", "c"],
            "additionalProperties": False,
        }

    @pytest.mark.parametrize(
        ("part", "rewritten"),
        [
            ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
            ({"enum": ["a"]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
            ({"type": "string", "const": "a"}, {"type": ["string", "null"], "enum": ["a", None]}),
            ({"const": None}, {"enum": [None]}),
            ({"$ref": "#/$defs/p"}, {"anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}]}),
            (
                {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "D."},
                {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "D."},
            ),
            ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
            (
                {"type": "array", "items": closed(x={"type": "integer"})},
                {
                    "type": ["array", "null"],
                    "items": closed(["x"], x={"type": ["integer", "null"]}),
                },
            ),
            (
                {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "integer"}, "minItems": 1},
                {"type": ["array", "null"], "items": {"type": "integer"}, "minItems": 1},
            ),
            ({"type": "string", "minLength": 1, "title": "T"}, {"type": ["string", "null"]}),
            ({"type": "string", "format": "date"}, {"type": ["string", "null"], "format": "date"}),
            ({"type": "string", "format": "path"}, {"type": ["string", "null"]}),
        ],
        ids=str,
    )
    def test_an_optional_part_is_rewritten(self, part: Any, rewritten: Any) -> None:
        """Whatever the shape, null is added once; keywords that only narrow are left to our own check."""
        assert strict(closed(a=part))["properties"]["a"] == rewritten

    def test_an_open_root_is_closed(self) -> None:
        """A schema that says nothing of further names loses nothing by it."""
        assert strict({"type": "object"}) == closed() | {"required": []}

    def test_definitions_are_rewritten_too(self) -> None:
        """References may stay, what they lead to must be strict."""
        schema = closed(["a"], a={"$ref": "#/$defs/p"}) | {"$defs": {"p": closed(x={"type": "integer"})}}

        assert strict(schema)["$defs"] == {"p": closed(["x"], x={"type": ["integer", "null"]})}

    def test_the_schema_given_is_not_changed(self) -> None:
        """It is still what the arguments are checked against."""
        schema = closed(a={"type": "integer", "default": 1})

        strict(schema)

        assert schema == closed(a={"type": "integer", "default": 1})


class TestReasons:
    @pytest.mark.parametrize(
        ("part", "reason"),
        [
            ({}, "a: a value of any type"),
            (True, "a: a schema that is true or false"),
            ({"type": "object", "additionalProperties": True}, "a: an object with free keys"),
            ({"type": "object", "additionalProperties": {"type": "string"}}, "a: an object with free keys"),
            ({"type": "object", "properties": []}, "a: no valid object schema"),
            ({"type": "object", "required": "x"}, "a: no valid object schema"),
            ({"enum": []}, "a: a value of any type"),
            ({"type": "array"}, "a: an array that does not say of what"),
            ({"type": "array", "items": {}}, "a[]: a value of any type"),
            ({"type": "object", "patternProperties": {}}, "a: keyword patternProperties is not supported"),
            ({"type": "string", "not": {}}, "a: keyword not is not supported"),
            ({"anyOf": [{"type": "string"}, {}]}, "a: a value of any type"),
            ({"type": "string", "enum": [str(i) for i in range(1_001)]}, "(root): more than 1,000 enum values"),
            (closed(**{f"p{i}": {"type": "null"} for i in range(5_001)}), "(root): more than 5,000 properties"),
        ],
        ids=lambda value: str(value)[:50],
    )
    def test_what_the_subset_cannot_say_is_named(self, part: Any, reason: str) -> None:
        """The report says where and what, so that an author can change it."""
        assert reason in reasons(closed(["a"], a=part))

    def test_all_reasons_are_given(self) -> None:
        """One report suffices."""
        assert reasons(closed(a={}, b={"type": "array"}) | {"oneOf": []}) == (
            "(root): keyword oneOf is not supported",
            "a: a value of any type",
            "b: an array that does not say of what",
        )

    def test_a_root_that_is_no_object_is_a_reason(self) -> None:
        """Parameters are an object."""
        assert reasons({"anyOf": [closed()]}) == ("(root): the root is no plain object",)

    def test_too_many_levels_are_a_reason(self) -> None:
        """Ten levels of objects pass, the eleventh does not."""
        schema: dict[str, Any] = closed()
        for _ in range(9):
            schema = closed(a=schema)

        assert strict(schema)
        (reason,) = reasons(closed(a=schema))
        assert reason.endswith("nested deeper than 10 levels")


class TestDropStrictNulls:
    def test_a_null_for_an_optional_parameter_is_left_out(self) -> None:
        """The function's own default holds then."""
        schema = closed(["a"], a={"type": "integer"}, b={"type": "integer"})

        assert drop_strict_nulls({"a": 1, "b": None}, schema) == {"a": 1}

    @pytest.mark.parametrize(
        "part",
        [
            {"type": ["integer", "null"]},
            {"type": "null"},
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            {"oneOf": [{"type": "integer"}, {"enum": [None]}]},
            {"enum": [1, None]},
            {"const": None},
            {},
            {"description": "Anything."},
            {"$ref": "#/$defs/nullable"},
        ],
        ids=str,
    )
    def test_a_null_that_is_a_value_stays(self, part: Any) -> None:
        """The parameter takes null, so null was meant."""
        schema = closed(a=part) | {"$defs": {"nullable": {"type": ["string", "null"]}}}

        assert drop_strict_nulls({"a": None}, schema) == {"a": None}

    @pytest.mark.parametrize("schema", [closed(["a"], a={"type": "integer"}), closed()], ids=str)
    def test_a_null_that_is_a_fault_stays(self, schema: dict[str, Any]) -> None:
        """A required parameter or an unknown name is for validation to refuse."""
        assert drop_strict_nulls({"a": None}, schema) == {"a": None}

    @pytest.mark.parametrize(
        ("part", "given", "kept"),
        [
            (closed(x={"type": "integer"}), {"x": None}, {}),
            ({"type": "array", "items": closed(x={"type": "integer"})}, [{"x": None}, {"x": 1}], [{}, {"x": 1}]),
            (
                {"type": "array", "prefixItems": [closed(x={"type": "integer"})], "items": {"type": "null"}},
                [{"x": None}, None],
                [{}, None],
            ),
            ({"type": "array"}, [{"x": None}], [{"x": None}]),
            ({"$ref": "#/$defs/p"}, {"x": None}, {}),
            ({"$ref": "#/$defs/q~1r"}, {"x": None}, {}),
            ({"$ref": "#/$defs/nowhere/at/all"}, {"x": None}, {"x": None}),
            ({"$ref": "#/$defs/circle"}, {"x": None}, {"x": None}),
            ({"anyOf": [{"type": "null"}, closed(x={"type": "integer"})]}, {"x": None}, {}),
            ({"anyOf": [{"type": "array", "items": closed(x={"type": "integer"})}]}, [{"x": None}], [{}]),
            ({"anyOf": [closed(y={"type": "integer"})]}, {"x": None}, {"x": None}),
            ({"anyOf": [closed(x=True)]}, {"x": 1}, {"x": 1}),
        ],
        ids=str,
    )
    def test_nulls_are_found_at_every_depth(self, part: Any, given: JSON, kept: JSON) -> None:
        """In members, items, unions and behind references; where nothing is known, nothing is taken out."""
        p = closed(x={"type": "integer"})
        schema = closed(a=part) | {"$defs": {"p": p, "q/r": p, "circle": {"$ref": "#/$defs/circle"}}}

        assert drop_strict_nulls({"a": given}, schema) == {"a": kept}

    def test_a_tag_tells_members_of_a_union_apart(self) -> None:
        """The nulls of one shape are not judged by the schema of another."""

        def f(shape: Circle | Square) -> str:
            return str(shape)

        signature = signature_of(f)
        taken = drop_strict_nulls({"shape": {"kind": "square", "side": None}}, signature.parameters)

        assert signature.structure(taken) == {"shape": Square("square")}


def test_a_strict_call_still_fits_the_signature() -> None:
    """What a provider enforces by the strict schema passes the tool's own check without its nulls."""

    def f(
        when: date,
        point: Point,
        limit: Annotated[int, "Rows.", Constraint(ge=1)] = 10,
        mode: Literal["a", "b"] = "a",
        tags: list[str] | None = None,
    ) -> str:
        return f"{when}{point}{limit}{mode}{tags}"

    signature = signature_of(f)
    given: dict[str, JSON] = {
        "when": "2031-05-24",
        "point": {"x": 1, "y": None},
        "limit": None,
        "mode": None,
        "tags": None,
    }

    compile_schema(strict(signature.parameters))(given)
    assert signature.structure(drop_strict_nulls(given, signature.parameters)) == {
        "when": date(2031, 5, 24),
        "point": Point(1),
        "tags": None,
    }
