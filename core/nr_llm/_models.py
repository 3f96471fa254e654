"""Turns the name of a model into who answers, what is known of the model, and what its runs begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from nr_llm._choice import Source
from nr_llm.aliases import ModelAlias, facts_of
from nr_llm.configurations import Configuration
from nr_llm.errors import ConfigurationError, InvalidRequestError, UnknownNameError
from nr_llm.limits import LEAST_RESULT_BYTES, Limits
from nr_llm.messages import ChatMessage
from nr_llm.options import Options
from nr_llm.providers import Model, Provider


@attrs.frozen
class Chosen:
    """
    A model as a run uses it.

    Attributes:
        provider: Who answers.
        known: What is known of the model.
        alias: The row it was named by, or None.
        configuration: What the run was given under one name, or None.
    """

    provider: Provider
    known: Model
    alias: ModelAlias | None = None
    configuration: Configuration | None = None

    def options(self, given: Options) -> Options:
        """Return a caller's options, with the configuration's and the row's behind them."""
        given = given if self.configuration is None else self.configuration.under(given)
        return given if self.alias is None else self.alias.under(given)

    def limits(self, given: Limits) -> Limits:
        """
        Return a caller's limits, with the row's behind them.

        They are tightened to what the configuration says, and to the results the model copes with.
        """
        if self.configuration is not None:
            limits = self.configuration.begins(given, {} if self.alias is None else self.alias.limits)
        else:
            limits = given if self.alias is None else self.alias.bounding(given)
        most = self.known.result_bytes
        if most is None or most >= limits.result_bytes:
            return limits
        return attrs.evolve(limits, result_bytes=max(most, LEAST_RESULT_BYTES))

    def check(self, messages: Iterable[ChatMessage]) -> None:
        """
        Refuse attachments that the model is known not to read; what it reads is unknown if it does not say.

        Raises:
            InvalidRequestError: There is one; the text names it, the model, what that reads and what to do.
        """
        reads = self.known.attachments
        if reads is None:
            return
        for attachment in (each for message in messages for each in message.attachments):
            if not any(attachment.media_type.lower().startswith(prefix) for prefix in reads):
                named = f" ({attachment.name})" if attachment.name else ""
                raise InvalidRequestError(
                    f"the model {self.known.name!r} reads no {attachment.media_type}{named}, "
                    f"{f'only {_kinds(reads)}' if reads else 'and no other attachment'}; leave it out, hand over its "
                    "text, or name another model",
                    provider=self.provider.name,
                )


def _kinds(prefixes: Iterable[str]) -> str:
    return ", ".join(f"{prefix}*" if prefix.endswith("/") else prefix for prefix in prefixes)


def chosen(reference: str, host: Source | None, provider: Callable[[str], Provider]) -> Chosen:
    """
    Look up a model.

    Args:
        reference: An alias, or ``provider:model``; without a colon, a provider's default model.
        host: Knows the aliases, or None if there are none.
        provider: Returns a provider by name.

    Raises:
        UnknownNameError: It is neither.
        ConfigurationError: It is no text, the alias is wrong, its provider is unknown or wrong, or no model is named
            and the provider has no default.
    """
    aliases: Mapping[str, ModelAlias] = {} if host is None else host.models()
    alias = host.model(reference) if host is not None and isinstance(reference, str) else None
    if alias is None:
        name, known_as = split_model(reference)
        found = _named(reference, name, aliases, provider)
        known = _described(found, known_as, f"Name one, such as '{found.name}:MODEL'.")
        return Chosen(found, facts_of(known, aliases.values()))
    if not alias.trusted and alias.provider != reference and _is_provider(reference, provider):
        raise ConfigurationError(
            f"Model {alias.name!r}: {alias.source} is not trusted and gives the name of a provider to another one.",
            remedy="Say it in your user configuration instead, or trust this project: nr-llm config trust.",
        )
    try:
        found = provider(alias.provider)
    except UnknownNameError as error:
        raise ConfigurationError(
            f"Model {alias.name!r}, {alias.source}: {error}", remedy=f"Correct provider in [models.{alias.name}]."
        ) from error
    known = _described(found, alias.id, f'Add id = "MODEL" to [models.{alias.name}].')
    return Chosen(found, alias.describe(known), alias)


def _is_provider(name: str, provider: Callable[[str], Provider]) -> bool:
    try:
        provider(name)
    except UnknownNameError:
        return False
    return True


def _described(provider: Provider, model: str, remedy: str) -> Model:
    known = provider.describe(model)
    if not known.name:
        raise ConfigurationError(f"Provider {provider.name!r} has no default model.", remedy=remedy)
    return known


def _named(
    reference: str, name: str, aliases: Mapping[str, ModelAlias], provider: Callable[[str], Provider]
) -> Provider:
    try:
        return provider(name)
    except UnknownNameError as error:
        if ":" in reference:
            raise
        remedy = "A model is named PROVIDER:MODEL, such as openai:gpt-5-mini or local:, or by an alias of nr-llm.toml."
        raise UnknownNameError("model", name, known=(*error.suggestions, *aliases), remedy=remedy) from None


def split_model(reference: str) -> tuple[str, str]:
    """
    Split ``provider:model``; without a colon the provider's default model is meant.

    Raises:
        ConfigurationError: There is no provider in it.
    """
    given: Any = reference
    provider, _, model = given.partition(":") if isinstance(given, str) else ("", "", "")
    if not provider:
        raise ConfigurationError(f"{reference!r} names no model.", remedy="Write provider:model, such as local:.")
    return provider, model
