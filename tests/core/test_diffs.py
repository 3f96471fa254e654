"""A diff as text, in the form that programs read."""

from __future__ import annotations

from nr_llm import ToolArtifact
from nr_llm.diffs import unified

LINES = [("@", "-1,2 +1,2"), (" ", "a"), ("-", "b"), ("+", "c"), ("\\", "No newline at end of file")]


def test_a_change() -> None:
    """Names, places, lines and notes."""
    assert ("--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n") == unified(
        ToolArtifact.diff("d", "a.txt", "a.txt", lines=LINES).data
    )


def test_a_file_that_is_new_or_gone() -> None:
    """The side that is missing is the null device, as everywhere."""
    assert unified(ToolArtifact.diff("d", None, "a", lines=LINES).data).startswith("--- /dev/null\n+++ a\n@@")
    assert unified(ToolArtifact.diff("d", "a", None, lines=LINES).data).startswith("--- a\n+++ /dev/null\n@@")


def test_a_file_that_was_moved() -> None:
    """Without a changed line its names are all there is to say."""
    assert "rename from a\nrename to b\n" == unified(ToolArtifact.diff("d", "a", "b").data)
