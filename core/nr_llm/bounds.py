"""
Fail-closed bounds on everything a tool hands over.

Both channels of a result are made valid Unicode and cut to a number of bytes here, in the one seam each call
passes, and again, without effect, where the loop takes a result in.  What passes can be encoded by
every sink, since it was encoded here with the encoder the sinks use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nr_llm._json import copy_json, encode_bytes, valid_text
from nr_llm.artifacts import ArtifactType, ToolArtifact
from nr_llm.diffs import MARKS
from nr_llm.errors import InvalidValueError
from nr_llm.limits import ARTIFACT_BYTES, CONTENT_BYTES
from nr_llm.results import ToolResult

OMITTED = "Artifacts omitted"
"""Label of the text that stands in for artifacts that could not be kept."""

_MIDDLE_DOTS = "\n… "


def bound_text(text: str, *, limit: int = CONTENT_BYTES, noun: str = "result") -> str:
    """
    Return `text` as valid Unicode of at most `limit` UTF-8 bytes, the marker that says so included.

    A text of exactly `limit` bytes passes unmarked; no character is split; a second pass changes nothing.

    Args:
        text: Any string.
        limit: UTF-8 bytes, at least 64.
        noun: What the marker calls the text.
    """
    text = valid_text(text)
    if len(text) * 4 <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    marker = f"{_MIDDLE_DOTS}{noun} cut to {limit:,} bytes".encode()
    return (data[: limit - len(marker)].decode(errors="ignore").encode() + marker).decode()


def bound_artifacts(artifacts: tuple[ToolArtifact, ...], *, limit: int = ARTIFACT_BYTES) -> tuple[ToolArtifact, ...]:
    """
    Return copies of `artifacts` that every sink can encode, or one text that says why there are none.

    All or nothing: a list of which a part was dropped would read as the whole.

    Args:
        artifacts: What the tool attached, of any quality.
        limit: Bytes of the whole list as compact UTF-8 JSON.
    """
    if not artifacts:
        return ()
    try:
        kept = tuple(_checked(artifact, i) for i, artifact in enumerate(artifacts))
        size = len(encode_bytes([artifact.to_dict() for artifact in kept]))
    except Exception as error:  # noqa: BLE001  # a tool's mapping may raise anything while it is read
        return (_omitted(f"They could not be encoded: {_reason(error)}."),)
    if size > limit:
        return (_omitted(f"They exceed the limit of {limit:,} bytes with {size:,} bytes."),)
    return kept


def _omitted(why: str) -> ToolArtifact:
    return ToolArtifact.text(OMITTED, why)


def _reason(error: Exception) -> str:
    if not isinstance(error, InvalidValueError):
        return type(error).__name__
    return f"{error.rule[:200]} at {error.path[:100]}"


def _checked(artifact: ToolArtifact, i: int) -> ToolArtifact:
    try:
        kind = ArtifactType(artifact.type)
    except ValueError:
        raise InvalidValueError("has no known type", path=f"artifacts[{i}]") from None
    if not isinstance(artifact.label, str):
        raise InvalidValueError("must be a string", path=f"artifacts[{i}].label")
    # Two levels are taken by the list and the artifact around the data; the depth is theirs together.
    data = copy_json([{"data": artifact.data}])[0]["data"]  # type: ignore[index,call-overload]
    if not isinstance(data, dict):
        raise InvalidValueError("must be a mapping", path=f"artifacts[{i}].data")
    _CHECKS[kind](data, f"artifacts[{i}].data")
    return ToolArtifact(kind, valid_text(artifact.label), data)


def _check_text(data: Mapping[str, Any], path: str) -> None:
    if data.keys() != {"text"} or not isinstance(data["text"], str):
        raise InvalidValueError("a text artifact is {'text': string}", path=path)


def _check_table(data: Mapping[str, Any], path: str) -> None:
    if data.keys() != {"columns", "rows"} or not all(isinstance(data[key], list) for key in ("columns", "rows")):
        raise InvalidValueError("a table artifact is {'columns': list, 'rows': list}", path=path)
    columns, rows = data["columns"], data["rows"]
    if not all(isinstance(name, str) for name in columns):
        raise InvalidValueError("a column name is no string", path=f"{path}.columns")
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(columns):
            raise InvalidValueError(f"the row does not have {len(columns)} cells", path=f"{path}.rows[{i}]")
        if any(isinstance(cell, (list, dict)) for cell in row):
            raise InvalidValueError("a cell is neither text, number, boolean nor null", path=f"{path}.rows[{i}]")


def _check_diff(data: Mapping[str, Any], path: str) -> None:
    if data.keys() != {"before", "after", "lines"} or not isinstance(data["lines"], list):
        raise InvalidValueError("a diff artifact is {'before': path, 'after': path, 'lines': list}", path=path)
    paths = [data[key] for key in ("before", "after") if data[key] is not None]
    if not paths or not all(_is_line(name) for name in paths):
        raise InvalidValueError("neither has a path of one line, or one of them has another", path=path)
    for i, line in enumerate(data["lines"]):
        if not (isinstance(line, list) and len(line) == 2 and line[0] in _MARKS and _is_line(line[1])):
            raise InvalidValueError("a line of a diff is a mark and a text of one line", path=f"{path}.lines[{i}]")


def _is_line(value: object) -> bool:
    return isinstance(value, str) and "\n" not in value


_MARKS = tuple(MARKS)  # compared, not hashed: a tool may put a list there

_CHECKS = {ArtifactType.TABLE: _check_table, ArtifactType.TEXT: _check_text, ArtifactType.DIFF: _check_diff}


def bound_result(result: ToolResult, *, limit: int = CONTENT_BYTES) -> ToolResult:
    """Return `result` with both channels bounded; an error keeps its flag."""
    content = bound_text(result.content, limit=limit)
    if content is result.content and not result.artifacts:
        return result
    if result.is_error:
        return ToolResult.error(content)
    return ToolResult.text(content, *bound_artifacts(result.artifacts))


def bound_arguments(arguments: Mapping[str, Any], *, limit: int) -> str | None:
    """Return why `arguments` are too large, or None when they are not."""
    size = len(encode_bytes(arguments))
    return f"the arguments have {size:,} bytes; the limit is {limit:,}" if size > limit else None
