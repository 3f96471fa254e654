"""What Anthropic's models can be told beyond the common options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import attrs
from nr_llm.errors import InvalidValueError
from nr_llm.options import ProviderOptions, whole

LEAST_BUDGET = 1024
"""Tokens of thinking the service takes at least: https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking"""


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _one_of(*words: str) -> Any:
    def check(_: object, field: attrs.Attribute[Any], value: Any) -> None:
        if value is not None and value not in words:
            raise InvalidValueError(f"{value!r} is none of {', '.join(words)}", path=field.name)

    return check


@attrs.frozen(kw_only=True)
class AnthropicOptions(ProviderOptions):
    """
    Settings of Anthropic's models.

    Attributes:
        thinking: ``adaptive`` lets the model decide how much to think, ``disabled`` forbids it.
        thinking_budget: Tokens of thinking at most, 1024 or more; older models take this, newer ones `thinking`.
        effort: How much work the model puts in, such as ``low``; as `Options.reasoning_effort`, and without thinking.
        top_k: Tokens to choose among.
        cache: ``auto`` marks tools, system prompt and the end of the conversation for the service's cache.
        cache_ttl: How long it is kept: ``5m`` or ``1h``.
        betas: Names of beta features, for the ``anthropic-beta`` header.
        service_tier: ``auto`` or ``standard_only``.
        user_id: An opaque id of the person at the other end.
        raw: Fields of the request body by the service's own names.
    """

    namespace: ClassVar[str] = "anthropic"

    thinking: Literal["adaptive", "disabled"] | None = attrs.field(
        default=None, validator=_one_of("adaptive", "disabled")
    )
    thinking_budget: int | None = attrs.field(default=None, validator=whole(LEAST_BUDGET))
    effort: str | None = None
    top_k: int | None = attrs.field(default=None, validator=whole(1))
    cache: Literal["off", "auto"] = attrs.field(default="off", validator=_one_of("off", "auto"))
    cache_ttl: Literal["5m", "1h"] | None = attrs.field(default=None, validator=_one_of("5m", "1h"))
    betas: tuple[str, ...] = attrs.field(default=(), converter=_names)
    service_tier: str | None = None
    user_id: str | None = None
