"""Arguments typed in a shell become what a tool's schema wants."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click
import pytest
from nr_llm_cli.parameters import from_json, from_pairs, takes_text

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "number": {"type": "integer"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"type": ["string", "null"]},
        "kind": {"enum": ["1", "2"]},
        "fixed": {"const": "1"},
        "point": {"$ref": "#/$defs/Point"},
        "colour": {"$ref": "#/$defs/Colour"},
        "open": {},
        "odd": True,
        "one": {"oneOf": [{"type": "boolean"}]},
    },
    "$defs": {"Point": {"type": "object"}, "Colour": {"enum": ["red"]}},
}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("text=1", "1"),
        ("text=a=b", "a=b"),
        ("text=", ""),
        ("number=1", 1),
        ("number=one", "one"),
        ("either=1", "1"),
        ("maybe=null", "null"),
        ("kind=1", "1"),
        ("fixed=1", "1"),
        ('point={"x": 1}', {"x": 1}),
        ("colour=red", "red"),
        ("open=[1, 2]", [1, 2]),
        ("odd=true", True),
        ("one=true", True),
        ("unknown=1", 1),
    ],
)
def test_a_value_is_read_as_the_schema_wants(pair: str, value: Any) -> None:
    """Text stays text where a tool takes text; elsewhere it is JSON if it can be."""
    assert from_pairs([pair], SCHEMA) == {pair.partition("=")[0]: value}


@pytest.mark.parametrize("pairs", [["a"], ["=1"], ["a=1", "a=2"]])
def test_what_is_no_pair_is_refused(pairs: list[str]) -> None:
    """A pair without a name, without a value, or twice is a mistake and not a guess."""
    with pytest.raises(click.UsageError, match="--arg"):
        from_pairs(pairs, SCHEMA)


def test_a_reference_that_leads_nowhere_asks_for_no_text() -> None:
    """A schema that cannot be followed is no reason to fail: the tool's own check speaks."""
    assert not takes_text({"$ref": "#/$defs/Gone"}, SCHEMA)
    assert not takes_text({"$ref": "https://example.org"}, SCHEMA)


def test_an_object_is_read_from_text_file_and_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--json` takes the object itself, @FILE and -."""
    path = tmp_path / "arguments.json"
    path.write_text('{"a": 2}', encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 3}')))

    assert from_json('{"a": 1}') == {"a": 1}
    assert from_json(f"@{path}") == {"a": 2}
    assert from_json("-") == {"a": 3}


@pytest.mark.parametrize(
    ("text", "said"), [("{", "not JSON"), ("[1]", "not list"), ("@nowhere.json", "nowhere.json cannot be read")]
)
def test_what_is_no_object_is_refused(text: str, said: str) -> None:
    """The error says what is wrong, and with which file."""
    with pytest.raises(click.UsageError, match=said):
        from_json(text)
