"""A raw JSON Schema is checked once, fetches nothing, and validates as strictly as a signature."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from nr_llm._json import encode
from nr_llm._schema import ArgumentsError, compile_schema
from nr_llm._schema.raw import refuse
from nr_llm.errors import InvalidSchemaError
from nr_llm.tools import Tool


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def faults(schema: dict[str, Any], arguments: Any) -> list[str]:
    with pytest.raises(ArgumentsError) as caught:
        compile_schema(schema)(arguments)
    return [str(fault) for fault in caught.value.faults]


def refusal(schema: Any) -> str:
    with pytest.raises(InvalidSchemaError) as caught:
        compile_schema(schema)
    return str(caught.value)


class TestValidation:
    def test_good_arguments_come_back_as_a_deep_copy(self) -> None:
        """The tool may change what it gets without changing the history."""
        given = {"a": [{"b": 1}]}

        taken = compile_schema(closed(a={"type": "array"}))(given)

        assert taken == given
        assert taken["a"] is not given["a"]
        assert taken["a"][0] is not given["a"][0]  # type: ignore[index]

    def test_all_faults_are_reported_with_their_paths(self) -> None:
        """The words are those of signatures."""
        schema = closed(
            items={
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "price": {"type": "number", "minimum": 0}},
                    "required": ["name"],
                    "additionalProperties": False,
                },
            },
            mode={"enum": ["fast", "slow"]},
            tags={"type": ["array", "null"]},
        ) | {"required": ["mode"]}
        given = {"items": [{"nme": "a", "price": -1}, 5], "tags": "x", "mood": "fast"}

        assert sorted(faults(schema, given)) == [
            "items[0].name: missing",
            'items[0].nme: unknown name; did you mean "name"?',
            "items[0].price: it is less than the minimum of 0, got -1",
            "items[1]: expected an object, got 5",
            "mode: missing",
            'mood: unknown name; did you mean "mode"?',
            'tags: expected null or an array, got "x"',
        ]

    def test_a_choice_is_listed(self) -> None:
        """The options stand in the fault."""
        assert faults(closed(a={"enum": ["x", 1, None]}), {"a": "y"}) == ['a: expected one of "x", 1, null, got "y"']

    def test_faults_in_a_union_are_those_of_the_nearest_member(self) -> None:
        """The branch with the fewest findings was probably meant."""
        circle = closed(r={"type": "integer"}) | {"required": ["r"]}
        square = closed(s={"type": "integer"}, t={"type": "integer"}) | {"required": ["s", "t"]}

        assert faults(closed(a={"anyOf": [square, circle]}), {"a": {}}) == ["a.r: missing"]

    def test_a_union_of_types_is_said_in_types(self) -> None:
        """Branches that only name a type need no more words."""
        schema = closed(a={"oneOf": [{"type": "integer"}, {"type": "null"}]})

        assert faults(schema, {"a": []}) == ["a: expected an integer or null, got []"]

    @pytest.mark.parametrize(
        ("part", "value"),
        [
            ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, 1),
            ({"not": {}}, 1),
            ({"pattern": "^(a+)+$"}, "a" * 40 + "!"),
            ({"const": "x"}, "y" * 500),
            ({"type": "array", "prefixItems": [{}], "unevaluatedItems": False}, [1, 2]),
            ({"propertyNames": {"maxLength": 1}}, {"ab": 1}),
            ({"format": "date"}, "soon"),
            ({"maxLength": 3}, "x" * 10_000),
        ],
        ids=str,
    )
    def test_every_other_finding_is_a_bounded_fault(self, part: Any, value: Any) -> None:
        """Whatever the keyword, the fault says where and shows the head of what was given, no more."""
        (fault,) = faults(closed(a=part), {"a": value})

        assert fault.startswith("a: ")
        assert ", got " in fault
        assert len(fault) < 300

    def test_names_are_suggested_through_references(self) -> None:
        """A definition knows its names as well as an inlined object."""
        point = {"type": "object", "additionalProperties": False, "properties": {"width": {}}}
        schema = closed(a={"$ref": "#/$defs/point"}) | {"$defs": {"point": point}}

        assert faults(schema, {"a": {"widht": 1}}) == ['a.widht: unknown name; did you mean "width"?']

    def test_names_that_a_pattern_decides_are_not_listed(self) -> None:
        """There is no list to give."""
        schema = closed(a={"patternProperties": {"^x": {}}, "additionalProperties": False})

        assert faults(schema, {"a": {"y": 1}}) == ["a.y: unknown name"]

    @pytest.mark.parametrize(
        ("keys", "path"),
        [
            (["0"], 'a["0"]'),
            (["007"], 'a["007"]'),
            (["7", "007"], "a"),
            (["9" * 5_000], 'a["9'),
            (["-1"], 'a["-1"]'),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_a_key_that_looks_like_a_number_is_a_key(self, keys: list[str], path: str) -> None:
        """The validator takes it for an index; where two keys look alike, the object around them is named."""
        schema = closed(a={"additionalProperties": {"type": "integer"}})

        told = faults(schema, {"a": dict.fromkeys(keys, "x")})

        assert len(told) == len(keys)
        assert all(fault.startswith(path) for fault in told)
        if path != "a":
            assert compile_schema(schema)({"a": dict.fromkeys(keys, "5")}) == {"a": dict.fromkeys(keys, 5)}

    @pytest.mark.parametrize("arguments", [{"a": float("nan")}, {"a": object()}, {1: 2}], ids=str)
    def test_what_is_no_json_is_refused(self, arguments: Any) -> None:
        """NaN would pass as null in the validator; it never gets there."""
        assert len(faults({"type": "object", "additionalProperties": True}, arguments)) == 1

    def test_a_fault_in_plain_json_has_its_path_once(self) -> None:
        """The path is not repeated in the message."""
        assert faults(closed(a={}), {"a": [float("inf")]}) == ["a[0]: inf is no JSON number"]

    def test_arguments_that_are_no_object_are_refused(self) -> None:
        """Before anything else is looked at."""
        assert faults(closed(), [1]) == ["must be a mapping, not a list"]

    def test_the_number_of_faults_is_bounded(self) -> None:
        """Beyond a hundred a further line teaches nothing."""
        schema = closed(a={"type": "array", "items": {"type": "boolean"}})

        assert len(faults(schema, {"a": [1] * 500})) == 100
        assert len(faults(schema, {"a": []} | {f"b{i}": 1 for i in range(500)})) == 100


class TestOpenness:
    @pytest.mark.parametrize("schema", [closed(a={}), {"type": "object"}, closed()], ids=str)
    def test_a_schema_that_says_nothing_is_closed(self, schema: Any) -> None:
        """A name the model made up must not vanish silently."""
        assert faults(schema, {"made_up": 1})[0].startswith("made_up: unknown name")

    @pytest.mark.parametrize(
        "more",
        [
            {"additionalProperties": True},
            {"additionalProperties": {"type": "integer"}},
            {"patternProperties": {"^m": {"type": "integer"}}},
            {"allOf": [{"properties": {"made_up": {"type": "integer"}}}]},
        ],
        ids=str,
    )
    def test_a_schema_that_says_something_means_it(self, more: Any) -> None:
        """An open schema is the author's decision."""
        assert compile_schema(closed() | more)({"made_up": 1}) == {"made_up": 1}


class TestCoercion:
    @pytest.mark.parametrize(
        ("part", "given", "taken"),
        [
            ({"type": "integer"}, "7", 7),
            ({"type": "number"}, "7.5", 7.5),
            ({"type": "boolean"}, "true", True),
            ({"type": ["integer", "null"]}, "null", None),
            ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
            ({"type": "array", "items": {"type": "integer"}}, '["7", 8]', [7, 8]),
            ({"type": "object", "properties": {"a": {"type": "array"}}}, '{"a": "[1]"}', {"a": [1]}),
            ({"type": ["string", "integer"]}, "7", "7"),
            ({"type": "string"}, "7", "7"),
        ],
        ids=str,
    )
    def test_a_wrong_type_is_converted_without_loss(self, part: Any, given: Any, taken: Any) -> None:
        """The table of signatures holds here too, and only where the value does not fit as it is."""
        result = compile_schema(closed(x=part))({"x": given})["x"]

        assert (type(result), result) == (type(taken), taken)

    @pytest.mark.parametrize(
        ("part", "given"),
        [
            ({"type": "integer"}, "7.9"),
            ({"type": "integer"}, True),
            ({"type": "string"}, 7),
            ({"type": "array"}, "text"),
            ({"type": "array"}, '{"a": 1}'),
            ({"type": "integer", "minimum": 9}, "7"),
            ({"allOf": [{"type": "integer"}, {"type": "boolean"}]}, "7"),
        ],
        ids=str,
    )
    def test_what_would_be_lossy_is_refused(self, part: Any, given: Any) -> None:
        """A conversion never makes a bad value good."""
        assert faults(closed(x=part), {"x": given})

    def test_text_in_text_in_text_has_an_end(self) -> None:
        """Each level of JSON inside text takes a pass, and there are four."""
        part: Any = {"type": "integer"}
        given: Any = 7
        for _ in range(5):
            part, given = {"type": "array", "items": part}, encode([given])

        assert faults(closed(x=part), {"x": given})

    def test_what_is_given_is_not_changed(self) -> None:
        """Conversion happens in the copy."""
        given = {"x": "7"}

        compile_schema(closed(x={"type": "integer"}))(given)

        assert given == {"x": "7"}


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """Serve a permissive schema on this machine and list who asked for it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: Any) -> None:
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}", asked
    http.shutdown()
    thread.join()
    http.server_close()


class TestReferences:
    def test_local_references_work(self) -> None:
        """Definitions inside the schema are its own, circles included."""
        schema = closed(tree={"$ref": "#/$defs/tree"}) | {
            "$defs": {
                "tree": {
                    "type": "object",
                    "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
                    "additionalProperties": False,
                }
            }
        }
        check = compile_schema(schema)

        assert check({"tree": {"kids": [{}]}}) == {"tree": {"kids": [{}]}}
        with pytest.raises(ArgumentsError):
            check({"tree": {"kids": [{"kid": 1}]}})

    @pytest.mark.parametrize("word", ["$ref", "$dynamicRef", "$recursiveRef"])
    def test_nothing_is_fetched(self, server: tuple[str, list[str]], word: str) -> None:
        """A schema from a stranger must not make this machine call an address."""
        address, asked = server

        text = refusal(closed(a={"items": [{word: f"{address}/schema.json"}]}))

        assert f'parameters.properties.a.items[0]["{word}"]: refers to something outside' in text
        assert asked == []

    @pytest.mark.parametrize("more", [{"$schema": "/meta"}, {"$id": "/id", "$ref": "#/$defs/none"}], ids=str)
    def test_other_ways_out_are_closed_too(self, server: tuple[str, list[str]], more: dict[str, str]) -> None:
        """A meta-schema or a base address is not fetched either."""
        address, asked = server
        absolute = {key: value if value.startswith("#") else address + value for key, value in more.items()}

        assert "is no valid JSON Schema" in refusal(closed() | absolute)
        assert asked == []

    def test_files_are_not_read(self) -> None:
        """A file address is an outside too."""
        assert "refers to something outside" in refusal(closed(a={"$ref": "file:///etc/passwd"}))

    def test_the_retriever_refuses_whatever_gets_past(self) -> None:
        """The last line behind the check of the text."""
        with pytest.raises(ValueError, match="is not fetched"):
            refuse("https://example.org/schema.json")

    def test_data_that_looks_like_a_reference_is_data(self) -> None:
        """A default may hold anything."""
        schema = closed(a={"default": {"$ref": "http://example.org"}, "enum": [{"$ref": "x:y"}]}, **{"$ref": {}})

        assert compile_schema(schema)({}) == {}


def doubled(steps: int, *, word: str = "allOf", last: Any = None) -> dict[str, Any]:
    """A schema in which each definition refers twice to the one before it."""
    twice = [[{"$ref": f"#/$defs/{step}"}] * 2 for step in range(steps)]
    definitions = {"0": last or {"type": "string"}} | {str(i): {word: refs} for i, refs in enumerate(twice, 1)}
    return closed(x={"$ref": f"#/$defs/{steps}"}) | {"$defs": definitions}


class TestLooks:
    @pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
    def test_references_that_multiply_are_refused(self, word: str) -> None:
        """A small schema must not keep the host busy for hours."""
        assert "more than 10,000 times" in refusal(doubled(40, word=word))

    def test_references_that_multiply_within_reason_are_taken(self) -> None:
        """A thousand looks are nothing."""
        assert compile_schema(doubled(8))({"x": "a"}) == {"x": "a"}

    def test_references_to_parts_of_a_value_do_not_multiply(self) -> None:
        """Each looks at something else, so their number is the value's size."""
        refs = [{"$ref": f"#/$defs/{i}"} for i in range(40)]
        pairs = {str(i + 1): {"type": "object", "properties": {"a": ref, "b": ref}} for i, ref in enumerate(refs)}
        schema = closed(x={"$ref": "#/$defs/40"}) | {"$defs": {"0": {"type": "string"}, **pairs}}

        assert compile_schema(schema)({"x": {"a": {}, "b": {}}}) == {"x": {"a": {}, "b": {}}}

    def test_a_tree_may_be_as_deep_as_any_value(self) -> None:
        """A definition that refers to itself looks at each value once."""
        below = {"$ref": "#/$defs/tree"}
        tree = {"type": "object", "properties": {"left": below, "right": below}, "additionalProperties": False}
        value: dict[str, Any] = {}
        for _ in range(60):
            value = {"left": value}

        assert compile_schema(closed(x=below) | {"$defs": {"tree": tree}})({"x": value}) == {"x": value}

    @pytest.mark.parametrize("reference", ["#/$defs/node", "#/%24defs/node"])
    def test_alternatives_that_recur_bound_how_deep_values_nest(self, reference: str) -> None:
        """Work that doubles with each level ends where it would be too much, in a fault the model understands."""
        below = {"properties": {"in": {"$ref": reference}}, "type": "object"}
        node = {"anyOf": [{**below, "required": ["a"]}, {**below, "required": ["b"]}, {"type": "string"}]}
        check = compile_schema(closed(x={"$ref": reference}) | {"$defs": {"node": node}})

        value: Any = "end"
        for _ in range(5):
            value = {"in": value, "a": 1}
        assert check({"x": value}) == {"x": value}
        for _ in range(40):
            value = {"in": value, "a": 1}
        with pytest.raises(ArgumentsError) as caught:
            check({"x": value})
        assert "nested deeper than" in str(caught.value.faults[0])

    def test_references_in_circles_end(self) -> None:
        """Looking at one value for ever is looking once."""
        schema = closed(x={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}

        assert compile_schema(schema)({"x": 1}) == {"x": 1}

    @pytest.mark.parametrize(
        "part",
        [
            {"$ref": "#/allOf/0"},
            {"$ref": "#/$defs/true"},
            {"$ref": "#/$defs/a~1b"},
            {"$ref": "#name"},
            {"$id": "http://part/", "$ref": "#/$defs/own", "$defs": {"own": {}}},
            {"if": {"type": "string"}, "then": {"not": {"const": "b"}}, "else": {"default": {"$ref": 5}}},
            {"dependentSchemas": {"y": {"type": "object"}}},
        ],
    )
    def test_every_way_to_refer_is_counted(self, part: dict[str, Any]) -> None:
        """By place in lists and maps, by name, and within a part that has an address of its own."""
        definitions = {"true": True, "a/b": {}, "named": {"$anchor": "name"}}
        schema = closed(x=part) | {"$defs": definitions, "allOf": [{"title": "all"}]}

        assert compile_schema(schema)({"x": "a"}) == {"x": "a"}


class TestRefusedSchemas:
    @pytest.mark.parametrize(
        ("schema", "words"),
        [
            ({}, 'add "type": "object"'),
            ({"type": "string"}, "must be an object schema"),
            ({"anyOf": [{"type": "object"}]}, "must be an object schema"),
            ([], "must be a mapping"),
            (closed(a={"type": "objekt"}), "parameters.properties.a.type: is no valid JSON Schema"),
            (closed(a={"pattern": "(a"}), "parameters.properties.a.pattern: is no valid JSON Schema"),
            (closed(a={"minimum": float("nan")}), "is no JSON number"),
            (closed(a={"$ref": "#/nowhere"}), "is no valid JSON Schema"),
            (closed(a={"description": "x" * 70_000}), "more than 65,536"),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_a_schema_that_cannot_be_used_is_an_error(self, schema: Any, words: str) -> None:
        """At registration, with the path and the reason, never at the first call."""
        assert words in refusal(schema)

    def test_a_schema_too_deep_is_an_error(self) -> None:
        """Recursion has an end before Python's."""
        schema: dict[str, Any] = {}
        for _ in range(1_000):
            schema = {"items": schema}

        assert "nested deeper than 64 levels" in refusal(closed(a=schema))

    def test_old_drafts_are_understood(self) -> None:
        """A server of tools may speak draft 4."""
        schema = closed(a={"type": "integer", "minimum": 1, "exclusiveMinimum": True}) | {
            "$schema": "http://json-schema.org/draft-04/schema#"
        }
        assert faults(schema, {"a": 1})
        assert compile_schema(schema)({"a": 2}) == {"a": 2}

    def test_an_empty_object_stays_one_at_every_depth(self) -> None:
        """Providers refuse ``[]`` where ``{}`` was; ours is what was given, at every level."""
        schema = closed(a=closed(), b={"type": "array", "items": closed(c={})})

        wire = encode(Tool.from_schema("t", "", schema, str).spec.to_wire())

        assert wire.count('"properties":{}') == 1
        assert '"c":{}' in wire

    def test_the_schema_given_is_not_changed(self) -> None:
        """Closing it happens in a copy."""
        schema = closed(a={})

        compile_schema(schema)

        assert schema == closed(a={})
