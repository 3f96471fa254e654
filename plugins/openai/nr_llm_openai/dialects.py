"""How services that speak Chat Completions differ, as rows of data: a new service is a row, not a class."""

from __future__ import annotations

import re
from typing import Literal

import attrs
from nr_llm.errors import UnknownNameError


@attrs.frozen(kw_only=True)
class Dialect:
    """
    One service's, or one server's, deviations from the common form.

    Attributes:
        name: The row's name, as settings give it.
        base_url: Where the service lives, or None when the user has to say.
        max_tokens: The field that bounds the answer; new OpenAI models refuse the old name, old servers the new one.
        call_content: What an assistant turn with calls and no text carries as `content`: servers disagree on
            which of null, an empty string and nothing they take.
        stream_usage: Whether the service reports usage in a stream when asked with `stream_options`.
        strict: Whether the service enforces strict schemas.
        replayed: Fields of a reply that the service wants back on an assistant turn with calls, such as its
            reasoning; what it never sent is never sent.
        id_length: Most characters of a call's id; longer ones are replaced by a digest. None for no bound.
        unsampled: Models that refuse sampling settings, as a pattern on their name.
        windows: (pattern on the model's name, tokens of its window, most tokens it writes), first match wins.
        max_tools: Most tools of a request, or None when unknown.
    """

    name: str
    base_url: str | None = None
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    call_content: Literal["null", "empty", "absent"] = "null"
    stream_usage: bool = True
    strict: bool = True
    replayed: tuple[str, ...] = ()
    id_length: int | None = None
    unsampled: re.Pattern[str] | None = None
    windows: tuple[tuple[re.Pattern[str], int, int], ...] = ()
    max_tools: int | None = None


OPENAI = Dialect(
    name="openai",
    base_url="https://api.openai.com/v1",
    max_tokens="max_completion_tokens",
    id_length=40,
    unsampled=re.compile(r"(o\d|gpt-5)(?!.*chat)"),
    # https://platform.openai.com/docs/models
    windows=(
        (re.compile(r"gpt-5"), 400_000, 128_000),
        (re.compile(r"o\d"), 200_000, 100_000),
        (re.compile(r"gpt-4\.1"), 1_047_576, 32_768),
        (re.compile(r"gpt-4o"), 128_000, 16_384),
        (re.compile(r"gpt-4-turbo"), 128_000, 4_096),
        (re.compile(r"gpt-4"), 8_192, 8_192),
        (re.compile(r"gpt-3\.5"), 16_385, 4_096),
    ),
    max_tools=128,
)
"""OpenAI itself."""

COMPATIBLE = Dialect(name="compatible", replayed=("reasoning_content", "reasoning_details"))
"""Any other server: vLLM, llama.cpp, LM Studio, LiteLLM, gateways."""

DIALECTS = {row.name: row for row in (OPENAI, COMPATIBLE)}
"""The rows by name."""


def dialect_named(name: str) -> Dialect:
    """
    Return the row called `name`.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in DIALECTS:
        raise UnknownNameError("dialect", name, known=DIALECTS)
    return DIALECTS[name]
