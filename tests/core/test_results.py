"""Results and artifacts: one text for the model, and nothing else can get out."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import cattrs
import pytest
from nr_llm import ArtifactType, InvalidValueError, ToolArtifact, ToolResult
from nr_llm._json import encode

TABLE = ToolArtifact.table("rows", ["a"], [["secret-cell"]])


class TestToolResult:
    """The two ways to make a result, and no other."""

    def test_text_keeps_the_order_of_artifacts(self) -> None:
        """Case 21: artifacts stay in order; a success is no error."""
        second = ToolArtifact.text("t", "x")
        result = ToolResult.text("content", TABLE, second)

        assert ("content", False, (TABLE, second)) == (result.content, result.is_error, result.artifacts)

    def test_errors_have_no_artifacts(self) -> None:
        """Case 21: an error has its text and nothing else."""
        result = ToolResult.error("no")

        assert ("no", True, ()) == (result.content, result.is_error, result.artifacts)
        with pytest.raises(TypeError):
            ToolResult.error("no", TABLE)  # type: ignore[call-arg]

    @pytest.mark.parametrize(
        "turn",
        [str, format, "{}".format, lambda r: f"{r}", lambda r: "%s" % r],  # noqa: UP031
        ids=["str", "format", "method", "f-string", "percent"],
    )
    def test_no_string_form(self, turn: Any) -> None:
        """Case 21: turning a result into a string raises instead of leaking."""
        with pytest.raises(TypeError, match=r"use result\.content"):
            turn(ToolResult.text("content", TABLE))

    def test_repr_has_sizes_only(self) -> None:
        """The repr tells sizes and counts."""
        assert "<ToolResult text, 7 characters, 1 artifacts>" == repr(ToolResult.text("content", TABLE))
        assert "<ToolResult error, 2 characters, 0 artifacts>" == repr(ToolResult.error("no"))
        assert "secret" not in repr(TABLE)

    def test_no_public_constructor_and_no_subclass(self) -> None:
        """Neither the class itself nor a subclass makes results."""
        with pytest.raises(TypeError):
            ToolResult()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"ToolResult\.text"):
            ToolResult(object(), "x", is_error=True, artifacts=(TABLE,))
        with pytest.raises(TypeError, match="no subclasses"):
            type("Sub", (ToolResult,), {})

    @pytest.mark.parametrize(
        "way",
        [
            copy.copy,
            copy.deepcopy,
            pickle.dumps,
            attrs.asdict,
            lambda r: attrs.evolve(r, content="x"),
            attrs.astuple,
            lambda r: getattr(copy, "replace", attrs.evolve)(r, content="x"),
            lambda r: encode(cattrs.unstructure(r)),
            vars,
            dict,
            list,
        ],
        ids=["copy", "deepcopy", "pickle", "asdict", "evolve", "astuple", "replace", "cattrs", "vars", "dict", "list"],
    )
    def test_no_copy_path(self, way: Any) -> None:
        """No general tool copies, dumps or changes a result."""
        with pytest.raises((TypeError, attrs.exceptions.NotAnAttrsClassError, InvalidValueError)):
            way(ToolResult.text("content", TABLE))

    def test_immutable(self) -> None:
        """Fields cannot be set, nor new ones added."""
        result = ToolResult.text("content")
        for name in ("content", "is_error", "artifacts", "other"):
            with pytest.raises(AttributeError):
                setattr(result, name, "x")

    def test_content_is_text(self) -> None:
        """Other contents, and other things beside it, are refused where they are made."""
        with pytest.raises(InvalidValueError, match="content: must be a string, not a int"):
            ToolResult.text(5)  # type: ignore[arg-type]
        with pytest.raises(InvalidValueError, match="must be a ToolArtifact, not a dict"):
            ToolResult.text("x", {})  # type: ignore[arg-type]


class TestArtifacts:
    """Artifacts are made without a check; the seam has it."""

    def test_forms(self) -> None:
        """Tables and texts have the documented shapes."""
        assert {
            "type": "table",
            "label": "rows",
            "data": {"columns": ["a"], "rows": [["secret-cell"]]},
        } == TABLE.to_dict()
        assert {"type": "text", "label": "t", "data": {"text": "x"}} == ToolArtifact.text("t", "x").to_dict()
        assert {"before": None, "after": "a", "lines": [("+", "x")]} == ToolArtifact.diff(
            "t", None, "a", lines=[("+", "x")]
        ).data

    def test_making_one_never_raises_on_its_data(self) -> None:
        """A tool that builds nonsense is stopped later, at one place."""
        ToolArtifact("bogus", 5, object())  # type: ignore[arg-type]

    def test_each_type_has_a_producer(self) -> None:
        """The set is closed: each member can be made through a constructor of its own."""
        made = [ToolArtifact.table("t", [], []), ToolArtifact.text("t", ""), ToolArtifact.diff("t", "a", "a")]

        assert list(ArtifactType) == [artifact.type for artifact in made]
