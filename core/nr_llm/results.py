"""What a tool returns: one text for the model, an error flag, and artifacts with no way to a provider."""

from __future__ import annotations

from typing import Any, NoReturn, final

from nr_llm.artifacts import ToolArtifact
from nr_llm.errors import InvalidValueError

_MAKING = object()


@final
class ToolResult:
    """
    The result of one tool call, made by `text` or `error` alone.

    `content` is the only part a provider ever sees.  There is deliberately no string form, no dictionary form,
    no copy with changes: each would be a way for artifacts to leave.

    Attributes:
        content: The text for the model.
        is_error: Whether the call failed.
        artifacts: For the trace and the people who read it; always empty for an error.
    """

    __slots__ = ("__artifacts", "__content", "__is_error")

    def __init__(self, making: object, content: str, *, is_error: bool, artifacts: tuple[ToolArtifact, ...]) -> None:
        if making is not _MAKING:
            raise TypeError("make a ToolResult with ToolResult.text(...) or ToolResult.error(...)")
        if not isinstance(content, str):
            raise InvalidValueError(f"must be a string, not a {type(content).__name__}", path="content")
        self.__content = str.__str__(content)  # of a subclass, the text it holds: it may say anything of itself
        self.__is_error = is_error
        self.__artifacts = artifacts

    @classmethod
    def text(cls, content: str, *artifacts: ToolArtifact) -> ToolResult:
        """
        Return a success.

        Raises:
            InvalidValueError: The content is no string, or something else is passed for an artifact.
        """
        for artifact in artifacts:
            if not isinstance(artifact, ToolArtifact):
                raise InvalidValueError(f"must be a ToolArtifact, not a {type(artifact).__name__}", path="artifacts")
        return cls(_MAKING, content, is_error=False, artifacts=artifacts)

    @classmethod
    def error(cls, content: str) -> ToolResult:
        """
        Return a failure; it carries no artifacts, so a half-built structure cannot leave.

        Raises:
            InvalidValueError: The content is no string.
        """
        return cls(_MAKING, content, is_error=True, artifacts=())

    @property
    def content(self) -> str:
        """The text for the model."""
        return self.__content

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return self.__is_error

    @property
    def artifacts(self) -> tuple[ToolArtifact, ...]:
        """What people see beside the content."""
        return self.__artifacts

    def __init_subclass__(cls, **kwargs: Any) -> NoReturn:
        raise TypeError("ToolResult has no subclasses")

    def __repr__(self) -> str:
        kind = "error" if self.__is_error else "text"
        return f"<ToolResult {kind}, {len(self.__content)} characters, {len(self.__artifacts)} artifacts>"

    def __str__(self) -> str:
        raise TypeError("a ToolResult is no string; use result.content")

    def __format__(self, spec: str) -> str:
        raise TypeError("a ToolResult is no string; use result.content")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a ToolResult is neither copied nor pickled; store the run's steps instead")
