"""How services that speak OpenAI's forms differ, as rows of data: a new service is a row, not a class."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

import attrs
from nr_llm.errors import UnknownNameError


def _pattern(names: str) -> re.Pattern[str]:
    return re.compile(names)


@attrs.frozen
class Known:
    """
    What is known of a family of models.

    Attributes:
        names: Pattern that the beginnings of its members' names match.
        context: Tokens of the window, or None when unknown.
        max_output: Most tokens of an answer, or None when unknown.
        attachments: Beginnings of the media types that it reads; None when unknown.
    """

    names: re.Pattern[str] = attrs.field(converter=_pattern)
    context: int | None = None
    max_output: int | None = None
    attachments: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class Dialect:
    """
    One service's, or one server's, deviations from the common form.

    Attributes:
        name: The row's name, as settings give it.
        base_url: Where the service lives, or None when the user has to say.
        hosts: Further hosts of the service, beside that of `base_url`; one that begins with a dot stands for all below.
        key_variables: The vendor's variables that may hold the key.
        key_header: Header of the key; anything but ``authorization`` carries it bare.
        max_tokens: The field that bounds the answer; new OpenAI models refuse the old name, old servers the new one.
        call_content: What an assistant turn with calls and no text carries as `content`: servers disagree on
            which of null, an empty string and nothing they take.
        required: The word that makes the model call some tool.
        forbids: Whether the service takes the word that lets the model call none; where it does not, the closing
            request of a run leaves the tools out.
        seed: The field of the seed.
        stream_usage: Whether the service reports usage in a stream when asked with `stream_options`.
        strict: Whether the service enforces strict schemas.
        replayed: Fields of a reply that the service wants back on an assistant turn with calls, such as its
            reasoning; what it never sent is never sent.  ``content`` stands for content with thinking among it, which
            goes back on every turn.
        prefixed: Whether a final assistant turn, which the model goes on from, has to say so.
        id_length: Most characters of a call's id; longer ones are replaced by a digest. None for no bound.
        id_exact: Whether every id has to be that long, of letters and digits.
        unsampled: Models that refuse sampling settings, as a pattern on their name.
        lacking: (pattern on the model's name, options it refuses): these are left out, with a warning.
        models: What is known of models; the first row that matches counts.
        max_tools: Most tools of a request, or None when unknown.
        media: Beginnings of the media types that its messages have a form for; None where the common form holds.
        structured_output: As `Model.structured_output`.
    """

    name: str
    base_url: str | None = None
    hosts: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    key_header: str = "authorization"
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    call_content: Literal["null", "empty", "absent"] = "null"
    required: str = "required"
    forbids: bool = True
    seed: str = "seed"
    stream_usage: bool = True
    strict: bool = True
    replayed: tuple[str, ...] = ()
    prefixed: bool = False
    id_length: int | None = None
    id_exact: bool = False
    unsampled: re.Pattern[str] | None = None
    lacking: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = ()
    models: tuple[Known, ...] = ()
    max_tools: int | None = None
    media: tuple[str, ...] | None = None
    structured_output: Literal["native", "alone", "none"] | None = None


SIGHT = ("image/", "application/pdf")

_UNSAMPLED = re.compile(r"(o\d|gpt-5)(?!.*chat)")

OPENAI = Dialect(
    name="openai",
    base_url="https://api.openai.com/v1",
    key_variables=("OPENAI_API_KEY",),
    max_tokens="max_completion_tokens",
    id_length=40,
    unsampled=_UNSAMPLED,
    # https://platform.openai.com/docs/models
    models=(
        Known("gpt-5", 400_000, 128_000, SIGHT),
        Known("o1-mini", 128_000, 65_536, ()),
        Known("o1-preview", 128_000, 32_768, ()),
        Known("o3-mini", 200_000, 100_000, ()),
        Known(r"o\d", 200_000, 100_000, SIGHT),
        Known(r"gpt-4\.1", 1_047_576, 32_768, SIGHT),
        Known("gpt-4o(-mini)?-audio|gpt-audio", 128_000, 16_384, ("audio/",)),
        Known("gpt-4o", 128_000, 16_384, SIGHT),
        Known("gpt-4-turbo", 128_000, 4_096),
        Known(r"gpt-4(-\d{4})?$", 8_192, 8_192, ()),
        Known(r"gpt-3\.5", 16_385, 4_096, ()),
    ),
    max_tools=128,
    structured_output="native",
)
"""OpenAI itself."""

AZURE = Dialect(
    name="azure",
    hosts=(".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
    key_variables=("AZURE_OPENAI_API_KEY",),
    key_header="api-key",
    max_tokens="max_completion_tokens",
    id_length=40,
    unsampled=_UNSAMPLED,
    max_tools=128,
    structured_output="native",
)
"""OpenAI's models at Azure, by deployment or by model; the address says which."""

GROQ = Dialect(
    name="groq",
    base_url="https://api.groq.com/openai/v1",
    key_variables=("GROQ_API_KEY",),
    max_tokens="max_completion_tokens",
    media=("image/",),
    models=(
        # https://vercel.com/ai-gateway/models/llama-4-scout
        Known("meta-llama/llama-4-scout", 131_072, None, ("image/",)),
        # https://console.groq.com/docs/models
        Known("openai/gpt-oss", 131_072, 65_536, ()),
        Known("llama-3.3-70b-versatile", 131_072, 32_768, ()),
        Known("llama-3.1-8b-instant", 131_072, 131_072, ()),
    ),
    max_tools=128,
)

MISTRAL = Dialect(
    name="mistral",
    base_url="https://api.mistral.ai/v1",
    key_variables=("MISTRAL_API_KEY",),
    call_content="empty",
    required="any",
    seed="random_seed",
    stream_usage=False,
    strict=False,
    replayed=("content",),
    prefixed=True,
    id_length=9,
    id_exact=True,
    # Of a name that moves on, the smallest window it stood for: https://mastra.ai/models/providers/mistral
    models=(
        Known("mistral-medium-|pixtral-large-", 128_000, attachments=("image/",)),
        Known(r"mistral-large-2[34]\d\d", 128_000, attachments=()),  # https://ollama.com/library/mistral-large
        Known("codestral-", 256_000, attachments=()),
    ),
    structured_output="alone",
)

OPENROUTER = Dialect(
    name="openrouter",
    base_url="https://openrouter.ai/api/v1",
    key_variables=("OPENROUTER_API_KEY",),
    replayed=("reasoning_details",),
)

TOGETHER = Dialect(
    name="together",
    base_url="https://api.together.xyz/v1",
    hosts=("api.together.ai",),
    key_variables=("TOGETHER_API_KEY",),
    structured_output="alone",
)

FIREWORKS = Dialect(
    name="fireworks",
    base_url="https://api.fireworks.ai/inference/v1",
    key_variables=("FIREWORKS_API_KEY",),
    structured_output="alone",
)

DEEPSEEK = Dialect(
    name="deepseek",
    base_url="https://api.deepseek.com/v1",
    key_variables=("DEEPSEEK_API_KEY",),
    replayed=("reasoning_content",),
    strict=False,
    # https://api-docs.deepseek.com/quick_start/pricing-details-usd; the names move on to models of other windows
    models=(Known("deepseek-(chat|reasoner)$", attachments=()),),
    max_tools=128,
    structured_output="none",
)

XAI = Dialect(
    name="xai",
    base_url="https://api.x.ai/v1",
    key_variables=("XAI_API_KEY",),
    # https://docs.x.ai/docs/guides/reasoning
    lacking=((re.compile(r"grok-4|grok-3-mini|grok-code"), ("frequency_penalty", "presence_penalty", "stop")),),
    models=(
        Known("grok-4-0709|grok-4$", 256_000, None, ("image/",)),  # https://openrouter.ai/x-ai/grok-4
        Known("grok-3", 131_072),  # https://docs.x.ai/docs/models
    ),
    max_tools=128,
    structured_output="native",
)

PERPLEXITY = Dialect(
    name="perplexity",
    base_url="https://api.perplexity.ai",
    key_variables=("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
    structured_output="alone",
)

HUGGINGFACE = Dialect(
    name="huggingface",
    base_url="https://router.huggingface.co/v1",
    key_variables=("HF_TOKEN",),
    replayed=("reasoning_content", "reasoning_details"),
)

COMPATIBLE = Dialect(name="compatible", replayed=("reasoning_content", "reasoning_details"))
"""Any other server: vLLM, llama.cpp, LM Studio, LiteLLM, gateways."""

DIALECTS = {
    row.name: row
    for row in (
        OPENAI,
        AZURE,
        GROQ,
        MISTRAL,
        OPENROUTER,
        TOGETHER,
        FIREWORKS,
        DEEPSEEK,
        XAI,
        PERPLEXITY,
        HUGGINGFACE,
        COMPATIBLE,
    )
}
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


def dialect_at(host: str) -> Dialect:
    """Return the row of the service at a host; of hosts nobody knows, the common form."""
    host = host.lower().rstrip(".")
    for row in DIALECTS.values():
        own = urlsplit(row.base_url).hostname if row.base_url else None
        if host == own or any(host.endswith(at) if at.startswith(".") else host == at for at in row.hosts):
            return row
    return COMPATIBLE
