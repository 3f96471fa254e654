"""Asks a service which models it offers, page by page; performs no I/O, as the loop does not."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, TypeAlias

from nr_llm.errors import ConfigurationError, MalformedReplyError
from nr_llm.providers import HttpReply, HttpRequest, Model, ModelLister, Provider

PAGES: Final = 100
"""Pages that are asked for at most: services list up to 1,000 models on each, and none has 100,000."""

Asking: TypeAlias = Generator[HttpRequest, HttpReply, tuple[Model, ...]]
"""Yields requests, is sent the replies, returns the models."""


def asking(provider: Provider) -> Asking:
    """
    Return the flow that lists a provider's models: of its service, else those it declares itself.

    Raises:
        ConfigurationError: It does neither.
        ProviderError: The service refuses, or its list has no end.
    """
    codec = getattr(provider, "codec", None)
    if isinstance(codec, ModelLister):
        return (yield from _pages(provider, codec))
    declared = declares(provider)
    if declared is None:
        raise ConfigurationError(
            f"Provider {provider.name!r} cannot list its models: its service is not known to have a list.",
            remedy=f"Name one with {provider.name}:MODEL, or in [models.NAME] of nr-llm.toml.",
        )
    return declared


def declares(provider: Provider) -> tuple[Model, ...] | None:
    """Return the models a provider lists without being asked over the network, or None if it lists none."""
    models = getattr(provider, "models", None)
    return tuple(models()) if callable(models) else None


def _pages(provider: Provider, codec: ModelLister) -> Asking:
    found: list[Model] = []
    page: str | None = None
    seen: set[str | None] = set()
    while page not in seen and len(seen) < PAGES:
        seen.add(page)
        reply = yield codec.list_models(page)
        if not 200 <= reply.status < 300:
            raise codec.error(reply)  # type: ignore[attr-defined]  # a codec is what lists
        answer = codec.decode_models(reply)
        found += answer.models
        page = answer.next
        if page is None:
            return tuple(found)
    raise MalformedReplyError(f"its list of models has no end: asked for {len(seen)} pages", provider=provider.name)
