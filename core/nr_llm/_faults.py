"""What is wrong with the services, models and configurations of files is told with its reason and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nr_llm._directory import Entry
from nr_llm._operator import policy_from
from nr_llm._profiles import Profile
from nr_llm.aliases import ModelAlias, alias_of
from nr_llm.config import KNOWN, Config
from nr_llm.configurations import Configuration
from nr_llm.errors import ConfigurationError, MissingCredentialError, NrLlmError, UnknownNameError, similar
from nr_llm.plugins import Finding, RegisteredTool


def config_findings(
    config: Config,
    providers: Mapping[str, Entry],
    configurations: Mapping[str, Profile],
    tools: Mapping[str, RegisteredTool],
) -> Iterator[Finding]:
    """
    Yield what a person should know of what files say.

    Args:
        config: What they say.
        providers: Every provider there is, or what is wrong with it, by name.
        configurations: Every configuration there is, or what is wrong with it, by name.
        tools: Every tool there is, by all its names.
    """
    yield from _of_providers(config, providers)
    yield from _of_models(config, providers)
    for name, profile in configurations.items():
        if isinstance(profile, NrLlmError):
            yield _told(f"The configuration {name!r} cannot be used.", profile)
        else:
            yield from _of_configuration(profile, config, providers, tools)
    yield from _of_defaults(config, providers, configurations)
    yield from _of_policy(config, providers, tools)
    for name, source in config.unread:
        yield Finding(
            what=f"{source} sets {name!r}, which nothing reads.",
            why="there is no such setting",
            fix=f"Did you mean {similar(name, KNOWN)[0]}?",
            serious=False,
        )


def _of_providers(config: Config, providers: Mapping[str, Entry]) -> Iterator[Finding]:
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


def _of_models(config: Config, providers: Mapping[str, Entry]) -> Iterator[Finding]:
    for name, tables in config.models.items():
        try:
            alias = alias_of(name, tables)
        except NrLlmError as error:
            yield _told(f"The model {name!r} cannot be used.", error)
        else:
            yield from _of_alias(alias, providers)


def _of_alias(alias: ModelAlias, providers: Mapping[str, Entry]) -> Iterator[Finding]:
    if alias.provider not in providers:
        error = UnknownNameError("provider", alias.provider, known=providers, remedy=f"Correct it in {alias.source}.")
        yield _told(f"The model {alias.name!r} cannot be used.", error)


def _of_configuration(
    one: Configuration, config: Config, providers: Mapping[str, Entry], tools: Mapping[str, RegisteredTool]
) -> Iterator[Finding]:
    what = f"The configuration {one.name!r} cannot be used."
    for setting, models in (("model", (one.model,)), ("fallbacks", one.fallbacks)):
        for model in models:
            if model is not None and not _known(model, config, providers):
                remedy = f"Correct {setting} in [configurations.{one.name}] of {one.source}."
                yield _told(what, UnknownNameError("model", model, known=(*config.models, *providers), remedy=remedy))
    groups = {registered.tool.group for registered in tools.values() if registered.tool.group}
    for tool in (*(one.tools or ()), *(tool for narrowing in one.narrowings for tool in narrowing.tools)):
        known = {f"@{group}" for group in groups} if tool.startswith("@") else tools.keys()
        if tool not in known:
            remedy = f"Correct tools in [configurations.{one.name}], or install what has it."
            yield _told(what, UnknownNameError("tool", tool, known=known, remedy=remedy))


def _known(model: str, config: Config, providers: Mapping[str, Entry]) -> bool:
    return model in config.models or model.partition(":")[0] in providers


def _of_defaults(
    config: Config, providers: Mapping[str, Entry], configurations: Mapping[str, Profile]
) -> Iterator[Finding]:
    name = config.default_model
    if name is not None and not _known(name, config, providers):
        error = UnknownNameError(
            "model", name, known=(*config.models, *providers), remedy=f"Correct it in {config.default_source}."
        )
        yield _told("The default model cannot be used.", error)
    name = config.default_configuration
    if name is not None and name not in configurations:
        remedy = f"Correct it in {config.default_configuration_source}."
        error = UnknownNameError("configuration", name, known=configurations, remedy=remedy)
        yield _told("The default configuration cannot be used.", error)


def _told(what: str, error: NrLlmError, *, serious: bool = True) -> Finding:
    remedy = error.remedy if isinstance(error, ConfigurationError) else ""
    why = str(error).removesuffix(remedy).rstrip()
    return Finding(what=what, why=why, fix=remedy or "Correct what the reason names.", serious=serious)


def _of_policy(
    config: Config, providers: Mapping[str, Entry], tools: Mapping[str, RegisteredTool]
) -> Iterator[Finding]:
    """Yield what is wrong with ``[policy]``: a misspelt name would close nothing, or open nothing."""
    try:
        policy = policy_from(config.policy)
    except NrLlmError as error:
        yield _told("The policy cannot be used: no run with tools begins.", error)
        return
    groups = {registered.tool.group for registered in tools.values()}
    known = {*tools, *(registered.address for registered in tools.values())}
    restricted = {*known, *(f"@{group}" for group in groups if group)}
    yield from _strange("policy.tools", policy.tools, known, "tool")
    yield from _strange("policy.groups", policy.groups, groups, "group")
    yield from _strange("policy.restrict", policy.restrict, restricted, "tool or @group")
    yield from _strange("policy.zones", policy.zones, providers, "provider")


def _strange(setting: str, named: Iterable[str], known: Iterable[str], noun: str) -> Iterator[Finding]:
    known = tuple(known)
    for name in named:
        if name not in known:
            close = similar(name, known)
            yield Finding(
                what=f"{setting} names {name!r}, which there is not.",
                why=f"no {noun} here is called so",
                fix=f"Did you mean {close[0]}? Else nothing, if it is meant for one to come."
                if close
                else "Nothing, if it is meant for one to come; else remove it.",
                serious=False,
            )
