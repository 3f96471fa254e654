"""What can keep the model away, said so that whoever reads it knows the other ways to one."""

from __future__ import annotations

from typing import Final

from nr_llm.errors import ConfigurationError

OWN_FILE: Final = "NR_LLM_LOCAL_MODEL"
"""The variable that names a GGUF file of one's own."""

WAYS: Final = (
    f"Other ways to a model: your own GGUF file, named in {OWN_FILE}; a key, such as OPENAI_API_KEY, with "
    "-m PROVIDER:MODEL; a server's URL in NR_LLM_OPENAI_BASE_URL with -m openai:MODEL."
)
"""The ways that work without fetching anything."""


class LocalModelError(ConfigurationError):
    """The embedded model cannot be had or cannot run here; the remedy names the other ways to a model."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=f"{remedy} {WAYS}".lstrip())


class NotFetchedError(LocalModelError):
    """
    The weights are not here.

    Attributes:
        name: The model's name.
    """

    def __init__(self, name: str, *, where: str) -> None:
        super().__init__(
            f"The weights of local:{name} are not in {where}.",
            remedy=f"Fetch them by `nr-llm models pull {name}` or with --pull.",
        )
        self.name = name


class UnreachableWeightsError(LocalModelError):
    """
    No source had the weights.

    Attributes:
        name: The model's name.
        reasons: What each source said, by the source, in the order they were asked.
    """

    def __init__(self, name: str, *, reasons: dict[str, str]) -> None:
        told = "; ".join(f"{source}: {reason.rstrip('.')}" for source, reason in reasons.items())
        super().__init__(f"The weights of local:{name} could not be fetched. {told}.", remedy="Try again later.")
        self.name = name
        self.reasons = reasons


class NoSpaceError(LocalModelError):
    """
    The disk is too full.

    Attributes:
        needed: Bytes that fetching takes.
        free: Bytes there are.
    """

    def __init__(self, message: str, *, needed: int, free: int) -> None:
        super().__init__(message, remedy="Make room, or name a folder on a larger disk in NR_LLM_HOME.")
        self.needed = needed
        self.free = free


class SourceError(Exception):
    """One source does not have the weights; the next one is asked."""
