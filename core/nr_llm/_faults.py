"""What is wrong with the services and models of configuration files is told with its reason and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nr_llm._directory import Entry
from nr_llm.aliases import ModelAlias, alias_of
from nr_llm.config import KNOWN, Config
from nr_llm.errors import ConfigurationError, MissingCredentialError, NrLlmError, UnknownNameError, similar
from nr_llm.plugins import Finding


def config_findings(config: Config, providers: Mapping[str, Entry]) -> Iterator[Finding]:
    """
    Yield what a person should know of what files say.

    Args:
        config: What they say.
        providers: Every provider there is, or what is wrong with it, by name.
    """
    for name, entry in providers.items():
        serious = name in config.providers
        if isinstance(entry, NrLlmError):
            yield _told(f"Provider {name!r} cannot be used.", entry)
        elif entry.missing:
            missing = MissingCredentialError(name, variables=entry.missing)
            yield _told(f"Provider {name!r} cannot be used.", missing, serious=serious)
        elif serious and entry.registered.source is None:
            yield Finding(
                what=f"[providers.{name}] is not used.",
                why="the program passes a provider of that name itself",
                fix="Rename one of them.",
                serious=False,
            )
    for name, tables in config.models.items():
        try:
            alias = alias_of(name, tables)
        except NrLlmError as error:
            yield _told(f"The model {name!r} cannot be used.", error)
        else:
            yield from _of_alias(alias, providers)
    yield from _of_default(config, providers)
    for name, source in config.unread:
        yield Finding(
            what=f"{source} sets {name!r}, which nothing reads.",
            why="there is no such setting",
            fix=f"Did you mean {similar(name, KNOWN)[0]}?",
            serious=False,
        )


def _of_alias(alias: ModelAlias, providers: Mapping[str, Entry]) -> Iterator[Finding]:
    if alias.provider not in providers:
        error = UnknownNameError("provider", alias.provider, known=providers, remedy=f"Correct it in {alias.source}.")
        yield _told(f"The model {alias.name!r} cannot be used.", error)


def _of_default(config: Config, providers: Mapping[str, Entry]) -> Iterator[Finding]:
    name = config.default_model
    if name is not None and name not in config.models and name.partition(":")[0] not in providers:
        error = UnknownNameError(
            "model", name, known=(*config.models, *providers), remedy=f"Correct it in {config.default_source}."
        )
        yield _told("The default model cannot be used.", error)


def _told(what: str, error: NrLlmError, *, serious: bool = True) -> Finding:
    remedy = error.remedy if isinstance(error, ConfigurationError) else ""
    why = str(error).removesuffix(remedy).rstrip()
    return Finding(what=what, why=why, fix=remedy or "Correct what the reason names.", serious=serious)
