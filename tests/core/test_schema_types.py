"""Every supported type becomes a schema a provider takes and a reader that gives the type's own values."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import re
import typing
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, Required, TypedDict, TypeVar, Union
from uuid import UUID

import attrs
import pytest
import typing_extensions
from nr_llm._json import JSON
from nr_llm._schema import ArgumentsError, Constraint, Signature, signature_of
from nr_llm.errors import InvalidSchemaError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    ONE = 1
    NAME = "name"
    NONE = None
    HALF = 0.5


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@attrs.frozen
class Point:
    """
    A place.

    Attributes:
        x: To the right.
        y: Upwards.
    """

    x: int
    y: Annotated[int, "Up."] = 0


@dataclasses.dataclass(frozen=True)
class Box:
    """
    A box.

    Args:
        corner: Where it stands.
    """

    corner: Point
    labels: list[str] = dataclasses.field(default_factory=list)
    area: int = dataclasses.field(default=0, init=False)


class Filter(TypedDict):
    since: date
    until: NotRequired[date]


class Loose(TypedDict, total=False):
    a: Required[int]
    b: Annotated[NotRequired[int], "Second."]
    c: int


class ExtendedFilter(typing_extensions.TypedDict):
    word: str


UserId = NewType("UserId", int)
Percent = Annotated[float, "In percent.", Constraint(ge=0, le=100)]
Named = typing_extensions.TypeAliasType("Named", dict[str, int])
T = TypeVar("T")


def signature(hint: Any, **parameter: Any) -> Signature:
    """Return the signature of a function whose only parameter `x` has the type `hint`."""

    def function(x: Any) -> str:
        return str(x)

    function.__annotations__["x"] = hint
    if "default" in parameter:
        function.__defaults__ = (parameter["default"],)
    return signature_of(function)


def schema(hint: Any, **parameter: Any) -> Any:
    properties = signature(hint, **parameter).parameters["properties"]
    assert isinstance(properties, dict)
    return properties["x"]


def read(hint: Any, value: Any) -> Any:
    return signature(hint).structure({"x": value})["x"]


def message(hint: Any, value: Any) -> str:
    with pytest.raises(ArgumentsError) as caught:
        read(hint, value)
    return "\n".join(map(str, caught.value.faults))


def refusal(hint: Any) -> str:
    with pytest.raises(InvalidSchemaError) as caught:
        signature(hint)
    return str(caught.value)


POINT_SCHEMA = {
    "type": "object",
    "properties": {
        "x": {"type": "integer", "description": "To the right."},
        "y": {"type": "integer", "description": "Up.", "default": 0},
    },
    "additionalProperties": False,
    "required": ["x"],
}


class TestSchemas:
    @pytest.mark.parametrize(
        ("hint", "expected"),
        [
            (str, {"type": "string"}),
            (int, {"type": "integer"}),
            (float, {"type": "number"}),
            (bool, {"type": "boolean"}),
            (None, {"type": "null"}),
            (type(None), {"type": "null"}),
            (Any, {}),
            (object, {}),
            (JSON, {}),
            (datetime, {"type": "string", "format": "date-time"}),
            (date, {"type": "string", "format": "date"}),
            (time, {"type": "string", "format": "time"}),
            (timedelta, {"type": "string", "format": "duration"}),
            (UUID, {"type": "string", "format": "uuid"}),
            (Path, {"type": "string", "minLength": 1}),
            (PurePath, {"type": "string", "minLength": 1}),
            (Decimal, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}),
            (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
            (
                Literal["a", 1, True, None],  # noqa: PYI061
                {"type": ["string", "integer", "boolean", "null"], "enum": ["a", 1, True, None]},
            ),
            (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
            (Color, {"type": "string", "enum": ["red", "blue"]}),
            (Level, {"type": "integer", "enum": [1, 2]}),
            (Mixed, {"type": ["integer", "string", "null", "number"], "enum": [1, "name", None, 0.5]}),
            (list[int], {"type": "array", "items": {"type": "integer"}}),
            (typing.List[int], {"type": "array", "items": {"type": "integer"}}),  # noqa: UP006
            (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
            (collections.abc.Iterable[int], {"type": "array", "items": {"type": "integer"}}),
            (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
            (tuple[int, int], {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "integer"}}),
            (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
            (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            (collections.abc.Set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
            (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
            (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045
            (int | None, {"type": ["integer", "null"]}),
            (Union[int, UserId], {"type": "integer"}),  # noqa: UP007
            (date | None, {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}),
            (Path | PurePath, {"anyOf": [{"type": "string", "minLength": 1}]}),
            (UserId, {"type": "integer"}),
            (Named, {"type": "object", "additionalProperties": {"type": "integer"}}),
            (Percent, {"type": "number", "minimum": 0, "maximum": 100, "description": "In percent."}),
            (Annotated[int, "First.", "Second."], {"type": "integer", "description": "First."}),
            (Annotated[int, object()], {"type": "integer"}),
            (Point, POINT_SCHEMA),
            ("Point", POINT_SCHEMA),
            (list["Point"], {"type": "array", "items": POINT_SCHEMA}),
        ],
        ids=str,
    )
    def test_a_type_has_one_schema(self, hint: Any, expected: Any) -> None:
        """Each type is offered in plain JSON Schema, inlined, nothing of it left to references."""
        assert expected == schema(hint)

    def test_a_mixed_tuple_says_items_for_those_who_do_not_know_prefixes(self) -> None:
        """`prefixItems` is precise; `items` beside it helps providers that know nothing else."""
        assert schema(tuple[int, str, int]) == {
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "prefixItems": [{"type": "integer"}, {"type": "string"}, {"type": "integer"}],
            "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        }

    def test_a_dataclass_is_described_by_its_own_docstring(self) -> None:
        """Members without ``Annotated`` take their description from the class; what is not initialised is absent."""
        box = schema(Box)

        assert box["properties"].keys() == {"corner", "labels"}
        assert box["properties"]["corner"] == POINT_SCHEMA | {"description": "Where it stands."}
        assert box["required"] == ["corner"]

    def test_a_typed_dict_says_what_may_be_left_out(self) -> None:
        """``NotRequired`` counts although postponed annotations hide it in text."""
        assert schema(Filter)["required"] == ["since"]

    def test_a_partial_typed_dict_says_what_may_not_be_left_out(self) -> None:
        """``total=False`` makes members optional, ``Required`` takes one out of it, also inside ``Annotated``."""
        loose = schema(Loose)

        assert loose["required"] == ["a"]
        assert loose["properties"]["b"] == {"type": "integer", "description": "Second."}

    def test_a_typed_dict_of_typing_extensions_is_one(self) -> None:
        """The backport's class is another one, and the same to a user."""
        assert schema(ExtendedFilter)["required"] == ["word"]

    def test_a_docstring_that_dataclass_made_up_describes_nothing(self) -> None:
        """The generated ``Name(a: int)`` is no description."""

        @dataclasses.dataclass
        class Plain:
            a: int

        assert schema(Plain)["properties"] == {"a": {"type": "integer"}}

    def test_inherited_members_keep_their_description(self) -> None:
        """A base class documents what it declares."""

        @attrs.frozen
        class Solid(Point):
            z: int = 0
            names: list[str] = attrs.field(factory=list)

        assert "default" not in schema(Solid)["properties"]["names"]
        assert schema(Solid)["properties"]["x"]["description"] == "To the right."

    def test_a_member_takes_the_name_the_constructor_takes(self) -> None:
        """A private attribute is given by its public alias."""

        @attrs.frozen
        class Private:
            _inner: int
            other: int = attrs.field(alias="outer", default=1)
            hidden: int = attrs.field(init=False, default=2)

        assert list(schema(Private)["properties"]) == ["inner", "outer"]
        assert read(Private, {"inner": 1, "outer": 2}) == Private(inner=1, outer=2)


class TestDefaults:
    @pytest.mark.parametrize(
        ("hint", "default", "shown"),
        [
            (int, 3, 3),
            (float, 1, 1),
            (str, "", ""),
            (int | None, None, None),
            (Color, Color.RED, "red"),
            (date, date(2031, 5, 24), "2031-05-24"),
            (timedelta, timedelta(days=1, seconds=90), "P1DT90S"),
            (timedelta, -timedelta(microseconds=5), "-P0DT0.000005S"),
            (Path, Path("notes"), "notes"),
            (Decimal, Decimal("1.50"), "1.50"),
            (list[Color], [Color.RED], ["red"]),
            (tuple[int, ...], (1, 2), [1, 2]),
            (set[str], {"b", "a"}, ["a", "b"]),
            (dict[str, Color], {"a": Color.BLUE}, {"a": "blue"}),
        ],
        ids=str,
    )
    def test_a_default_is_shown_in_json(self, hint: Any, default: Any, shown: Any) -> None:
        """What the model reads as default is the JSON form of the parameter's own type."""
        assert schema(hint, default=default)["default"] == shown

    @pytest.mark.parametrize(
        ("hint", "default"),
        [
            (int, None),
            (int, object()),
            (str, 5),
            (float, float("nan")),
            (Path, Path("/home/somebody")),
            (Point, Point(1)),
            (Color, "red "),
        ],
        ids=str,
    )
    def test_a_private_default_is_not_shown(self, hint: Any, default: Any) -> None:
        """Sentinels, objects, this machine's paths and whatever the parameter would not take stay here."""
        assert "default" not in schema(hint, default=default)
        assert signature(hint, default=default).parameters.get("required") is None


class TestConstraints:
    @pytest.mark.parametrize(
        ("hint", "keyword", "good", "bad"),
        [
            (Annotated[int, Constraint(ge=1)], "minimum", 1, 0),
            (Annotated[int, Constraint(gt=1)], "exclusiveMinimum", 2, 1),
            (Annotated[float, Constraint(le=1)], "maximum", 1.0, 1.5),
            (Annotated[float, Constraint(lt=1)], "exclusiveMaximum", 0.5, 1.0),
            (Annotated[int, Constraint(multiple_of=5)], "multipleOf", 10, 11),
            (Annotated[float, Constraint(multiple_of=0.1)], "multipleOf", 0.3, 0.35),
            (Annotated[str, Constraint(min_length=2)], "minLength", "ab", "a"),
            (Annotated[str, Constraint(max_length=2)], "maxLength", "ab", "abc"),
            (Annotated[list[int], Constraint(min_length=1)], "minItems", [1], []),
            (Annotated[list[int], Constraint(max_length=1)], "maxItems", [1], [1, 2]),
        ],
        ids=str,
    )
    def test_a_limit_is_offered_and_checked(self, hint: Any, keyword: str, good: Any, bad: Any) -> None:
        """The schema says a limit and the reader holds it, so neither promises what the other breaks."""
        assert keyword in schema(hint)
        assert read(hint, good) == good
        assert message(hint, bad).startswith("x: expected ")

    def test_the_words_of_a_limit_reach_the_model(self) -> None:
        """A refused number comes with the range it should have been in."""
        assert message(Percent, 120) == "x: expected a number, at least 0, at most 100, got 120"

    def test_a_limit_binds_the_exact_reader_too(self) -> None:
        """Inside a union, where exact readers are asked first, a limit still counts."""
        assert "at least 1" in message(Annotated[int, Constraint(ge=1)] | None, 0)

    def test_a_marker_with_the_names_of_annotated_types_counts(self) -> None:
        """Markers of that package need not be imported to be understood."""

        class Ge:
            ge = 3

        assert schema(Annotated[int, Ge()])["minimum"] == 3

    @pytest.mark.parametrize(
        "hint",
        [
            Annotated[int | None, Constraint(ge=1)],
            Annotated[str, Constraint(ge=1)],
            Annotated[date, Constraint(min_length=1)],
            Annotated[Color, Constraint(min_length=1)],
        ],
        ids=str,
    )
    def test_a_limit_on_another_type_is_an_error(self, hint: Any) -> None:
        """A limit that cannot hold is a mistake to be told at registration."""
        assert "does not apply" in refusal(hint)

    @pytest.mark.parametrize(
        "hint",
        [
            Annotated[int, Constraint(multiple_of=0)],
            Annotated[str, Constraint(min_length=-1)],
            Annotated[str, Constraint(max_length=-1)],
        ],
        ids=str,
    )
    def test_a_limit_that_is_none_is_an_error(self, hint: Any) -> None:
        """JSON Schema knows no such limit."""
        assert "cannot be" in refusal(hint)

    def test_a_constraint_without_limit_is_an_error(self) -> None:
        """An empty constraint is a slip."""
        with pytest.raises(ValueError, match="at least one limit"):
            Constraint()


class TestRefusedTypes:
    @pytest.mark.parametrize(
        ("hint", "words"),
        [
            (bytes, "type bytes has no JSON form"),
            (complex, "no JSON form"),
            (T, "no JSON form"),
            (re.Pattern[str], "no JSON form"),
            (collections.namedtuple("Pair", "a b"), "no JSON form"),  # noqa: PYI024
            (functools.partial, "no JSON form"),
            (list, r"list does not say of what; write list\[str\]"),
            (typing.List, r"write list\[str\]"),  # noqa: UP006
            (dict, r"write dict\[str, str\]"),
            (Mapping, r"write Mapping\[str, str\]"),
            (tuple[()], r"write tuple\[str\]"),
            (dict[int, str], "keys that are no text"),
            (set[list[int]], "cannot be hashed"),
            (set[Any], "cannot be hashed"),
            (set[Filter], "cannot be hashed"),
            (set[Box], "cannot be hashed"),
            (Literal[b"a"], "has no JSON form"),
            (enum.Enum("Empty", []), "without members"),
            (enum.Enum("Objects", {"A": (1, 2)}), "has no JSON form"),
            (enum.Enum("Numbers", {"A": float("inf")}), "has no JSON form"),
            ("Nowhere", "name 'Nowhere' is not defined"),
            ("list[", "cannot be read"),
        ],
        ids=str,
    )
    def test_a_type_without_json_form_is_an_error(self, hint: Any, words: str) -> None:
        """Registration fails with the place, the reason and the fix."""
        text = refusal(hint)

        assert "signature.<locals>.function(x)" in text or "function(x)" in text
        assert re.search(words, text)

    def test_a_class_that_contains_itself_is_an_error(self) -> None:
        """Without references a recursive schema has no end."""

        @attrs.frozen
        class Node:
            children: list[Node]

        assert "function(x).children[]: " in refusal(Node)
        assert "Node contains itself" in refusal(Node)

    def test_a_recursive_alias_is_an_error(self) -> None:
        """The same for a union that names itself."""
        assert "contains itself" in refusal("Tree")

    def test_a_recursive_named_type_is_an_error(self) -> None:
        """The same for what Python 3.12 writes as ``type Forest = list[Forest]``."""
        assert "contains itself" in refusal(Forest)

    def test_a_dataclass_with_init_only_variables_is_an_error(self) -> None:
        """Its constructor wants what its fields do not say."""

        @dataclasses.dataclass
        class Odd:
            a: int
            b: dataclasses.InitVar[int]

        assert "takes other arguments than its fields" in refusal(Odd)

    def test_a_class_with_its_own_constructor_is_an_error(self) -> None:
        """Fields that the constructor does not take cannot be given."""

        @dataclasses.dataclass(init=False)
        class Odd:
            a: int

            def __init__(self) -> None:
                self.a = 1

        assert "takes other arguments than its fields" in refusal(Odd)

    def test_an_untyped_member_is_an_error(self) -> None:
        """A member of a class needs a type as a parameter does."""
        assert "has no type" in refusal(attrs.make_class("Untyped", ["a"]))

    def test_the_path_leads_into_classes(self) -> None:
        """The error names the member, not only the parameter."""

        @attrs.frozen
        class Outer:
            data: dict[str, bytes]

        assert "(x).data{}: type bytes" in refusal(Outer)


Tree = Union[int, list["Tree"]]  # noqa: UP007
Forest = typing_extensions.TypeAliasType("Forest", "list[Forest]")


class TestReading:
    @pytest.mark.parametrize(
        ("hint", "given", "expected"),
        [
            (Box, {"corner": {"x": 1}, "labels": ["a"]}, Box(Point(1), ["a"])),
            (Filter, {"since": "2031-05-24"}, {"since": date(2031, 5, 24)}),
            (Mixed, None, Mixed.NONE),
            (Mixed, 0.5, Mixed.HALF),
            (Literal[Color.RED], "red", Color.RED),
            (tuple[Point, ...], [{"x": 1}], (Point(1),)),
            (set[tuple[int, str]], [[1, "a"]], {(1, "a")}),
            (frozenset[Color], ["red"], frozenset({Color.RED})),
            (set[frozenset[int]], [[1]], {frozenset({1})}),
            (set[Point], [{"x": 1}], {Point(1)}),
            (list[Point] | None, '[{"x": "1"}]', [Point(1)]),
            (UserId, "7", 7),
            (bool | None, True, True),
            (timedelta, "-P2WT0.5S", -timedelta(weeks=2, seconds=0.5)),
            (datetime, "2031-05-24 14:30:00.25+02:00", datetime.fromisoformat("2031-05-24T14:30:00.250+02:00")),
            (time, "14:30z", time.fromisoformat("14:30+00:00")),
        ],
        ids=str,
    )
    def test_a_value_arrives_in_its_type(self, hint: Any, given: Any, expected: Any) -> None:
        """The tool receives what its signature promises."""
        value = read(hint, given)

        assert value == expected
        assert type(value) is type(expected)

    def test_what_is_left_out_is_left_to_the_default(self) -> None:
        """Absent parameters are not passed, so the function's own defaults hold, private ones included."""
        assert signature(int, default=3).structure({}) == {}

    def test_anything_is_handed_over_as_a_copy(self) -> None:
        """A tool may change what it is given without changing the history."""
        given = {"a": [1]}

        value = read(Any, given)

        assert value == given
        assert value["a"] is not given["a"]

    def test_anything_is_still_json(self) -> None:
        """`Any` does not open the door to NaN."""
        assert "expected a JSON value" in message(Any, [float("nan")])

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400, "9" * 50, "1e999"], ids=repr)
    def test_a_number_that_no_float_holds_is_refused(self, number: Any) -> None:
        """Neither infinities nor what would round to one."""
        assert "expected a number" in message(float, number)

    @pytest.mark.parametrize(
        ("hint", "value"),
        [
            (datetime, "2031-13-24T14:30:00Z"),
            (datetime, "2031-05-24X14:30:00Z"),
            (timedelta, "P"),
            (timedelta, "PT"),
            (timedelta, "P999999999W"),
            (Path, "a\0b"),
            (date, 5),
        ],
    )
    def test_text_that_is_no_such_value_is_refused(self, hint: Any, value: Any) -> None:
        """A right shape with a wrong content, or a right content beyond Python's range, is a fault like any other."""
        assert message(hint, value).startswith("x: expected a")

    def test_a_class_that_refuses_says_why(self) -> None:
        """The sentence of a validator is for whoever gave the value: here, the model."""

        @attrs.frozen
        class Even:
            n: int = attrs.field()

            @n.validator
            def _even(self, _: Any, value: int) -> None:
                if value % 2:
                    raise ValueError("must be even", self)

        assert message(Even, {"n": 3}) == "x: refused by Even: must be even"

    def test_a_class_that_refuses_without_words_is_named(self) -> None:
        """An empty error still gives a fault."""

        @attrs.frozen
        class Mute:
            n: int

            def __attrs_post_init__(self) -> None:
                raise ValueError

        assert message(Mute, {"n": 3}) == "x: refused by Mute: ValueError"

    def test_a_class_that_breaks_keeps_its_text_to_itself(self) -> None:
        """Any other exception of a constructor is named by type only, as a tool's would be."""

        @attrs.frozen
        class Broken:
            n: int

            def __attrs_post_init__(self) -> None:
                raise LookupError("postgres://user:password@host")

        assert message(Broken, {"n": 3}) == "x: refused by Broken (LookupError)"


@attrs.frozen
class Circle:
    kind: Literal["circle"]
    radius: int


@attrs.frozen
class Square:
    kind: Literal["square"]
    side: int


class TestUnions:
    @pytest.mark.parametrize(
        ("hint", "words"), [(float | None, "null or a number"), (bool | None, "null or true or false")], ids=str
    )
    def test_a_value_for_no_member_is_refused(self, hint: Any, words: str) -> None:
        """After exact and lossless reading there is nothing left to try."""
        assert message(hint, "x") == f'x: expected {words}, got "x"'

    def test_a_tagged_union_is_told_apart(self) -> None:
        """A literal member decides, without anything declared about it."""
        assert read(Circle | Square, {"kind": "square", "side": 2}) == Square("square", 2)

    def test_the_faults_are_those_of_the_member_that_was_meant(self) -> None:
        """The member with the fewest faults is probably the one, and says precisely what is missing."""
        assert message(Circle | Square | None, {"kind": "square", "side": "x"}) == (
            'x.side: expected an integer, got "x"'
        )

    def test_a_value_for_no_member_is_told_all_of_them(self) -> None:
        """Where nothing comes close, the alternatives are listed, null first."""
        assert message(int | list[int] | None, "x") == 'x: expected null, an integer or an array, got "x"'

    def test_members_are_converted_only_if_none_fits(self) -> None:
        """A nested union keeps the rule: exact anywhere goes before lossless anywhere."""
        assert read(dict[str, int] | list[int | str], ["7"]) == ["7"]
        assert read(list[int] | list[int | str], ["7"]) == ["7"]
