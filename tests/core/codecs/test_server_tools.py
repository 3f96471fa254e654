"""Tools that a service runs are named or declared, and stand in front of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from nr_llm.codecs.json import JSON
from nr_llm.codecs.server_tools import beside, check_kind, server_tools
from nr_llm.errors import InvalidValueError, UnknownNameError

KNOWN: Mapping[str, Mapping[str, JSON]] = {"search": {"type": "search_1"}, "run": {"type": "run_1"}}


@pytest.mark.parametrize("given", ["search", {"type": "search_1"}, ["search"], ({"type": "search_1"},)])
def test_one_or_several_by_name_or_declaration(given: Any) -> None:
    """All of them become declarations."""
    assert server_tools(given, known=KNOWN) == ({"type": "search_1"},)


def test_declarations_are_copied() -> None:
    """What is changed afterwards is not sent."""
    declaration = {"type": "search_1", "domains": ["a"]}
    (made,) = server_tools(declaration, known=KNOWN)
    declaration["type"] = "other"

    assert made == {"type": "search_1", "domains": ["a"]}


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    """And with what to write for a tool that has no short name."""
    with pytest.raises(UnknownNameError, match="Did you mean 'search'") as caught:
        server_tools(["serch"], known=KNOWN)

    assert "declaration" in str(caught.value)


@pytest.mark.parametrize(("given", "path"), [(5, "server_tools"), (["run", 5], "server_tools[1]")])
def test_anything_else_is_refused_where_it_stands(given: Any, path: str) -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidValueError) as caught:
        server_tools(given, known=KNOWN)

    assert caught.value.path == path


def test_a_kind_is_needed_and_run_by_the_service() -> None:
    """Others would be asked for in vain."""
    assert check_kind({"type": "search_1"}, refused=("shell",), path="p") == "search_1"
    with pytest.raises(InvalidValueError, match="needs a type"):
        check_kind({"kind": "x"}, refused=("shell",), path="p")
    with pytest.raises(InvalidValueError, match="not run by the service"):
        check_kind({"type": "shell_2"}, refused=("shell",), path="p")


@pytest.mark.parametrize(
    ("own", "tools", "expected"),
    [
        ((), b'[{"a":1}]', b'[{"a":1}]'),
        (({"type": "s"},), b"[]", b'[{"type":"s"}]'),
        (({"type": "s"}, {"type": "t"}), b'[{"a":1}]', b'[{"type":"s"},{"type":"t"},{"a":1}]'),
    ],
)
def test_they_stand_in_front(own: tuple[dict[str, JSON], ...], tools: bytes, expected: bytes) -> None:
    """So that what is marked as the last one stays ours."""
    assert beside(own, tools) == expected
