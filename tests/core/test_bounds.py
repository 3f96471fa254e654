"""The fail-closed bounds on what a tool hands over."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import ToolArtifact, ToolResult
from nr_llm._json import encode_bytes
from nr_llm.bounds import OMITTED, bound_arguments, bound_artifacts, bound_result, bound_text
from nr_llm.limits import ARTIFACT_BYTES, CONTENT_BYTES


class TestText:
    """Content in bytes."""

    def test_exactly_at_the_limit(self) -> None:
        """Case 42: 50,000 bytes pass unmarked, 50,001 are cut to 50,000."""
        assert "x" * CONTENT_BYTES == bound_text("x" * CONTENT_BYTES)
        cut = bound_text("x" * (CONTENT_BYTES + 1))
        assert (CONTENT_BYTES, "result cut to 50,000 bytes") == (len(cut.encode()), cut.partition("… ")[2])

    def test_the_head_is_kept(self) -> None:
        """Case 41: a long text keeps its beginning and ends with the marker."""
        cut = bound_text("abc" + "x" * 60_002)

        assert CONTENT_BYTES == len(cut.encode())
        assert cut.startswith("abcxxx")

    @pytest.mark.parametrize("character", ["é", "€", "\U0001f600"])
    def test_no_character_is_split(self, character: str) -> None:
        """Case 43: characters of any width stay whole, and little room is left."""
        cut = bound_text(character * CONTENT_BYTES)

        assert CONTENT_BYTES - 4 < len(cut.encode()) <= CONTENT_BYTES
        assert set(cut.partition("\n")[0]) == {character}

    def test_surrogates(self) -> None:
        """Case 44: a lone surrogate becomes a visible replacement."""
        assert "a\ufffdb" == bound_text("a\udc80b")

    @given(st.text(), st.integers(64, 300))
    def test_never_over_the_bound_and_idempotent(self, text: str, limit: int) -> None:
        """Any text ends within its bound, and a second pass changes nothing."""
        once = bound_text(text * 40, limit=limit)

        assert len(once.encode()) <= limit
        assert once == bound_text(once, limit=limit)


def omitted(artifacts: tuple[ToolArtifact, ...]) -> str:
    """Return why a list was replaced."""
    (artifact,) = artifacts
    assert (OMITTED, "text") == (artifact.label, artifact.type)
    return str(artifact.data["text"])


class Hostile(dict[str, Any]):
    """A mapping that raises while it is read."""

    def items(self) -> Any:
        raise RuntimeError("secret inside")


class TestArtifacts:
    """Artifacts, all or nothing."""

    def test_a_valid_table_passes(self) -> None:
        """Case 49: type, label and data are unchanged, tuples become lists."""
        (kept,) = bound_artifacts((ToolArtifact.table("rows", ("a", "b"), ((1, None), ("x", True))),))

        assert {
            "type": "table",
            "label": "rows",
            "data": {"columns": ["a", "b"], "rows": [[1, None], ["x", True]]},
        } == kept.to_dict()

    def test_a_valid_diff_passes(self) -> None:
        """Of a new file, one that is gone, and one that was moved; with every mark."""
        lines = [("@", "-1,2 +1,2"), (" ", "a"), ("-", "b"), ("+", "c"), ("\\", "No newline at end of file")]
        for before, after in ((None, "new"), ("old", None), ("old", "new")):
            (kept,) = bound_artifacts((ToolArtifact.diff("d", before, after, lines=lines),))

            assert {"before": before, "after": after, "lines": [list(line) for line in lines]} == kept.data

    def test_nothing_stays_nothing(self) -> None:
        """No artifacts are no artifacts."""
        assert () == bound_artifacts(())

    def test_text_is_made_valid(self) -> None:
        """Case 46: labels, leaves and keys are valid Unicode afterwards."""
        (kept,) = bound_artifacts((ToolArtifact.table("l\ud800", ["c\ud800"], [["v\ud800"]]),))

        json.dumps(kept.to_dict(), ensure_ascii=False).encode()
        assert ("l\ufffd", [["v\ufffd"]]) == (kept.label, kept.data["rows"])

    def test_too_large(self) -> None:
        """Case 47: too many bytes replace the list by one text that says so."""
        assert "exceed the limit of 50,000 bytes" in omitted(bound_artifacts((ToolArtifact.text("t", "x" * 60_000),)))

    def test_exactly_at_the_limit(self) -> None:
        """50,000 bytes of JSON pass, one more does not; letters beyond ASCII count as their UTF-8."""
        room = ARTIFACT_BYTES - len(encode_bytes([ToolArtifact.text("", "").to_dict()]))

        assert 49_953 == room
        assert "" == bound_artifacts((ToolArtifact.text("", "x" * room),))[0].label
        assert OMITTED == bound_artifacts((ToolArtifact.text("", "x" * (room + 1)),))[0].label
        assert "" == bound_artifacts((ToolArtifact.text("", "€" * (room // 3)),))[0].label

    @pytest.mark.lesson(66, 67)
    @pytest.mark.parametrize(
        ("artifact", "why"),
        [
            (ToolArtifact.table("t", ["a"], [[float("inf")]]), "no JSON number"),
            (ToolArtifact.table("t", ["a"], [[b"x"]]), "no JSON value"),
            (ToolArtifact.table("t", ["a"], [[1, 2]]), "does not have 1 cells"),
            (ToolArtifact.table("t", ["a"], ["x"]), "does not have 1 cells"),
            (ToolArtifact.table("t", ["a"], [[[1]]]), "neither text, number"),
            (ToolArtifact.table("t", [1], [[1]]), "no string"),  # type: ignore[list-item]
            (ToolArtifact("table", "t", {"columns": [], "rows": {}}), "a table artifact is"),
            (ToolArtifact("table", "t", {"columns": [], "rows": [], "more": 1}), "a table artifact is"),
            (ToolArtifact("text", "t", {"text": 5}), "a text artifact is"),
            (ToolArtifact("diff", "t", {"before": "a", "lines": []}), "a diff artifact is"),
            (ToolArtifact("diff", "t", {"before": "a", "after": "a", "lines": "x"}), "a diff artifact is"),
            (ToolArtifact.diff("t", None, None), "neither has a path"),
            (ToolArtifact.diff("t", "a\nb", "a"), "a path of one line"),
            (ToolArtifact.diff("t", "a", 5), "a path of one line"),  # type: ignore[arg-type]
            (ToolArtifact.diff("t", "a", "a", lines=[("?", "x")]), "a mark and a text of one line"),
            (ToolArtifact.diff("t", "a", "a", lines=[("+", "x\ny")]), "at artifacts[1].data.lines[0]"),
            (ToolArtifact.diff("t", "a", "a", lines=[("+",)]), "a mark and a text"),  # type: ignore[list-item]
            (ToolArtifact.diff("t", "a", "a", lines=[([], "x")]), "a mark and a text"),  # type: ignore[list-item]
            (ToolArtifact.diff("t", "a", "a", lines=["+x"]), "a mark and a text"),  # type: ignore[list-item]
            (ToolArtifact("tree", "t", {}), "no known type"),
            (ToolArtifact("text", 5, {"text": "x"}), "must be a string at artifacts[1].label"),  # type: ignore[arg-type]
            (ToolArtifact("text", "t", ["x"]), "must be a mapping"),  # type: ignore[arg-type]
            (ToolArtifact("text", "t", Hostile(text="x")), "could not be encoded: RuntimeError"),
        ],
    )
    def test_bad_data_costs_the_artifacts(self, artifact: ToolArtifact, why: str) -> None:
        """Cases 48 and 51: one bad artifact replaces the whole list, and the text says why."""
        reason = omitted(bound_artifacts((ToolArtifact.text("good", "x"), artifact)))

        assert why in reason
        assert "secret" not in reason

    @pytest.mark.parametrize("levels", [61, 62])
    def test_depth(self, levels: int) -> None:
        """Case 50: data may nest 61 levels below itself; the 65th level of the whole list is too deep."""
        data: Any = 1
        for _ in range(levels):
            data = [data]
        reason = omitted(bound_artifacts((ToolArtifact("text", "t", {"text": data}),)))

        assert ("nested deeper" in reason) is (levels == 62)

    def test_cycles(self) -> None:
        """Case 50: a structure that holds itself is replaced, not followed."""
        loop: dict[str, Any] = {}
        loop["text"] = loop

        assert "nested deeper" in omitted(bound_artifacts((ToolArtifact("text", "t", loop),)))

    def test_what_passes_is_a_copy(self) -> None:
        """A tool that changes its data later changes no trace."""
        rows = [["a"]]
        (kept,) = bound_artifacts((ToolArtifact.table("t", ["c"], rows),))
        rows[0][0] = "changed"

        assert [["a"]] == kept.data["rows"]


class TestResult:
    """Both channels together."""

    def test_channels_are_independent(self) -> None:
        """A long text costs no artifact, a large artifact no text."""
        table = ToolArtifact.table("t", ["c"], [["v"]])
        long_text = bound_result(ToolResult.text("x" * 60_000, table))
        large_artifact = bound_result(ToolResult.text("short", ToolArtifact.text("t", "x" * 60_000)))

        assert (50_000, "t") == (len(long_text.content.encode()), long_text.artifacts[0].label)
        assert ("short", OMITTED) == (large_artifact.content, large_artifact.artifacts[0].label)

    def test_an_error_keeps_its_flag(self) -> None:
        """Case 52: a long error is cut and stays an error without artifacts."""
        result = bound_result(ToolResult.error("x" * 60_000))

        assert (True, 50_000, ()) == (result.is_error, len(result.content.encode()), result.artifacts)

    @given(
        st.recursive(
            st.none() | st.integers() | st.text() | st.floats() | st.binary(),
            lambda s: st.lists(s) | st.dictionaries(st.text(), s),
        )
    )
    def test_whatever_passes_can_be_encoded(self, data: Any) -> None:
        """Any data ends as artifacts every sink can encode, and a second pass changes nothing."""
        once = bound_artifacts((ToolArtifact("table", "l", data),))
        encoded = encode_bytes([artifact.to_dict() for artifact in once])

        assert len(encoded) <= ARTIFACT_BYTES
        assert encoded == encode_bytes([artifact.to_dict() for artifact in bound_artifacts(once)])


def test_arguments() -> None:
    """Arguments are measured as their JSON."""
    assert bound_arguments({"a": "x"}, limit=9) is None
    assert "the arguments have 9 bytes; the limit is 8" == bound_arguments({"a": "x"}, limit=8)
