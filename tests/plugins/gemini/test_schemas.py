"""A JSON Schema is said in the older form of the service, and what it cannot say is reported by its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm_gemini import openapi_schema
from nr_llm_gemini.schemas import DEEPEST, FORMATS, KNOWN, MOST_NODES


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string", "minLength": 1, "pattern": "x"}, {"type": "string", "minLength": 1, "pattern": "x"}),
        ({"type": ["string", "null"]}, {"nullable": True, "type": "string"}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"type": ["null"]}, {"nullable": True}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"const": 5}, {"type": "integer", "minimum": 5, "maximum": 5}),
        ({"enum": ["x", None]}, {"nullable": True, "type": "string", "enum": ["x"]}),
        ({"enum": [None]}, {"nullable": True}),
        ({"oneOf": [{"type": "string"}, {"type": "boolean"}]}, {"anyOf": [{"type": "string"}, {"type": "boolean"}]}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "nullable": True}),
        ({"anyOf": [{"type": "null"}]}, {"nullable": True}),
        ({"allOf": [{"type": "string"}], "title": "T"}, {"type": "string", "title": "T"}),
        (
            {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9},
            {"type": "integer", "minimum": 1, "maximum": 8},
        ),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "array", "items": {"const": "x"}}, {"type": "array", "items": {"type": "string", "enum": ["x"]}}),
        ({"type": "object", "properties": {}, "additionalProperties": False}, {"type": "object"}),
        ({"$schema": "x", "$id": "y", "$comment": "z", "type": "string"}, {"type": "string"}),
        ({"properties": {"a": {"default": []}}}, {"type": "object", "properties": {"a": {"default": []}}}),
        ({"$ref": "#/$defs/A", "title": "T", "$defs": {"A": {"type": "string"}}}, {"type": "string", "title": "T"}),
        ({"$ref": "#/definitions/a~1b~0", "definitions": {"a/b~": {"type": "string"}}}, {"type": "string"}),
        ({"allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "string"}}}, {"type": "string"}),
    ],
)
def test_what_can_be_said_in_other_words_is(schema: dict[str, Any], said: dict[str, Any]) -> None:
    """Nothing is lost by it."""
    made = openapi_schema(schema)

    assert made.schema == said
    assert made.dropped == ()


@pytest.mark.parametrize(
    ("schema", "said", "dropped"),
    [
        ({"type": "number", "multipleOf": 2}, {"type": "number"}, ["multipleOf"]),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number"}, ["exclusiveMinimum"]),
        ({"type": "integer", "exclusiveMinimum": True}, {"type": "integer"}, ["exclusiveMinimum"]),
        (
            {"type": "integer", "minimum": 0, "exclusiveMinimum": 1},
            {"type": "integer", "minimum": 0},
            ["exclusiveMinimum"],
        ),
        ({"type": "string", "format": "email"}, {"type": "string"}, ["format"]),
        ({"const": True}, {"type": "boolean"}, ["const"]),
        ({"const": {"a": 1}}, {}, ["const"]),
        ({"enum": [1, 2]}, {"type": "integer"}, ["enum"]),
        ({"enum": [1, "a"]}, {}, ["enum"]),
        ({"type": "string", "enum": ["", "a"]}, {"type": "string"}, ["enum"]),
        ({"enum": "a"}, {}, ["enum"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "object"}, ["additionalProperties"]),
        ({"type": "object", "required": ["a"]}, {"type": "object"}, ["required"]),
        (
            {"properties": {"a": {"type": "string"}}, "required": ["a", "b"], "anyOf": [{"required": ["b"]}, {}]},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            ["anyOf[0].required", "required", "anyOf"],
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
            ["prefixItems"],
        ),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, {}, ["allOf"]),
        ({"oneOf": [{}], "anyOf": [{"type": "string"}]}, {"type": "string"}, ["oneOf"]),
        ({"not": {}, "if": {}, "patternProperties": {}}, {}, ["not", "if", "patternProperties"]),
        ({"$ref": "https://host/a.json"}, {"type": "object"}, ["$ref"]),
        ({"$ref": "#/$defs/B", "type": "string"}, {"type": "string"}, ["$ref"]),
        ({"$ref": 3}, {"type": "object"}, ["$ref"]),
        ({"$ref": "#"}, {"type": "object"}, ["$ref"]),
        (
            {"properties": {"a.b": {"items": {"type": "string", "uniqueItems": True}}}},
            {"type": "object", "properties": {"a.b": {"items": {"type": "string"}}}},
            ["properties.a.b.items.uniqueItems"],
        ),
    ],
)
def test_what_cannot_be_said_is_reported(schema: dict[str, Any], said: dict[str, Any], dropped: list[str]) -> None:
    """By its place; the rest is said."""
    made = openapi_schema(schema)

    assert made.schema == said
    assert sorted(made.dropped) == sorted(dropped)


def test_a_definition_that_comes_back_to_itself_ends_there() -> None:
    """The tree below is any object."""
    kids = {"type": "array", "items": {"$ref": "#/$defs/T"}}
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "kids": kids}}

    made = openapi_schema({"properties": {"root": {"$ref": "#/$defs/T"}}, "$defs": {"T": tree}})

    assert made.schema["properties"] == {
        "root": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"type": "object"}}},
        }
    }
    assert made.dropped == ("properties.root.properties.kids.items.$ref",)


def test_a_reference_to_itself_has_an_end() -> None:
    """Without a schema in between, and through single alternatives too."""
    loop: dict[str, Any] = {"allOf": [{}]}
    for _ in range(40):
        loop = {"allOf": [loop]}

    assert openapi_schema({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}).dropped == ("$ref",)
    assert openapi_schema(loop).dropped == ("$ref",)


def test_definitions_that_multiply_have_an_end() -> None:
    """Each names the next three times; written out that were more schemas than there are bytes."""
    levels = {
        f"d{i}": {"type": "object", "properties": {name: {"$ref": f"#/$defs/d{i + 1}"} for name in "abc"}}
        for i in range(40)
    }

    made = openapi_schema({"$ref": "#/$defs/d0", "$defs": {**levels, "d40": {"type": "string"}}})

    assert made.dropped
    assert str(made.schema).count("type") <= 4 * MOST_NODES


def test_depth_has_an_end() -> None:
    """The place is reported."""
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(DEEPEST):
        deep = {"type": "array", "items": deep}

    made = openapi_schema(deep)

    assert made.dropped == (".".join(["items"] * DEEPEST) + ".(too large)",)


NAMES = [*sorted(KNOWN), "$ref", "$defs", "const", "oneOf", "allOf", "not", "exclusiveMinimum", "prefixItems", "odd"]
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1.5, "", "x", "string", "object", "null", "#", "#/$defs/a", ["string", "null"]]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*NAMES, "a"]), inner, max_size=4)
        | st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2)})
    ),
    max_leaves=15,
)


@pytest.mark.lesson(140)
@given(st.dictionaries(st.sampled_from([*NAMES, "a"]), VALUES, max_size=5))
def test_whatever_a_schema_holds_only_known_keywords_come_out(schema: dict[str, Any]) -> None:
    """In the forms the service takes, wherever schemas stand."""
    _check(openapi_schema(schema).schema)


def _check(node: Any) -> None:
    assert node.keys() <= KNOWN
    assert node.get("format", "enum") in FORMATS
    assert not isinstance(node.get("type"), list)
    assert all(isinstance(value, str) and value for value in node.get("enum", ()))
    assert node.get("properties") != {}
    assert set(node.get("required", ())) <= node.get("properties", {}).keys()
    assert node.get("type") != "array" or "items" in node
    inner = [*node.get("properties", {}).values(), *node.get("anyOf", ())]
    for child in [*inner, *([node["items"]] if "items" in node else [])]:
        _check(child)
