"""Refuses what a caller got wrong before anything of a run begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from nr_llm.actors import Actor
from nr_llm.cancellation import Cancellation
from nr_llm.conversation import check_pairs
from nr_llm.errors import InvalidValueError, similar
from nr_llm.limits import Limits
from nr_llm.options import Options
from nr_llm.providers import Provider
from nr_llm.runs import Suspended
from nr_llm.secrets import Secret
from nr_llm.state import RunState, Verdict
from nr_llm.tools import Tool

Verdicts: TypeAlias = Mapping[int, bool] | bool
"""What a person said to the pending calls, by index in the turn; a bool answers all of them."""

_KINDS: Mapping[str, type] = {
    "actor": Actor,
    "cancel": Cancellation,
    "dry_run": bool,
    "limits": Limits,
    "options": Options,
    "run_id": str,
    "secrets": Mapping,
}


def check_settings(settings: Mapping[str, Any], kind: Any) -> None:
    """
    Refuse settings of another type, and those that are none: a misspelt one would be ignored.

    Raises:
        InvalidValueError: A setting is of another type.
        TypeError: There is no such setting, as for any unexpected keyword argument.
    """
    check_kinds(**settings)
    if settings.keys() <= kind.__optional_keys__:
        return
    name = min(settings.keys() - kind.__optional_keys__)
    hint = _meant(name, kind.__optional_keys__)
    names = ", ".join(sorted(kind.__optional_keys__))
    raise TypeError(f"There is no setting {name!r}.{hint} The settings are: {names}.")


def check_kinds(**settings: Any) -> None:
    """
    Refuse what is of another type.

    Raises:
        InvalidValueError: It is.
    """
    for name, value in settings.items():
        if value is not None and name in _KINDS and not isinstance(value, _KINDS[name]):
            raise InvalidValueError(f"must be {_KINDS[name].__name__}, not {type(value).__name__}", path=name)


def _meant(name: str, known: Iterable[str]) -> str:
    for group in (Options, Limits):
        if name in attrs.fields_dict(group):
            return f" It is one of {group.__name__}: pass {group.__name__.lower()}={group.__name__}({name}=...)."
    return "".join(f" Did you mean {close!r}?" for close in similar(name, known)[:1])


def check_host(host: object) -> None:
    """
    Refuse a host that is none, such as tools that were passed first.

    Raises:
        InvalidValueError: It finds no plugins.
    """
    if host is not None and (isinstance(host, type) or not hasattr(host, "redactor")):
        raise InvalidValueError(
            f"must be a PluginHost, not {_shown(host)}; tools and providers are passed by name: tools=[...]",
            path="host",
        )


def check_parts(*, live: Any, middleware: Any, http: Any, async_http: Any) -> None:
    """
    Refuse parts of a Runtime that would fail only when a run needs them.

    Raises:
        InvalidValueError: A part is of another type, or a client of the other colour.
    """
    for factory in _listed(live, "live"):
        if not callable(factory):
            raise InvalidValueError(
                f"must be functions that make an observer of a run, not {_shown(factory)}; "
                "write live=[lambda run: observer]",
                path="live",
            )
    for layer in _listed(middleware, "middleware"):
        if isinstance(layer, type) or not callable(layer):
            raise InvalidValueError(f"must be layers, such as Retry(), not {_shown(layer)}", path="middleware")
    if _sends_later(http):
        raise InvalidValueError("is an asynchronous client; pass it as async_http", path="http")
    if hasattr(async_http, "close") and not hasattr(async_http, "aclose"):
        raise InvalidValueError("is a client that blocks; pass it as http", path="async_http")


def _sends_later(client: Any) -> bool:
    from inspect import iscoroutinefunction  # dear to import, and few pass a client

    return client is not None and iscoroutinefunction(getattr(client, "send", None))


def tools_of(given: Iterable[Tool | Callable[..., Any]]) -> list[Tool]:
    """
    Return what a Runtime was given as `Tool` objects.

    Raises:
        InvalidValueError: It is no list, or holds something else.
    """
    return [tool if isinstance(tool, Tool) else Tool.from_function(tool) for tool in _listed(given, "tools")]


def providers_of(given: Iterable[Provider]) -> dict[str, Provider]:
    """
    Return providers by their names.

    Raises:
        InvalidValueError: It is no list, something in it is no provider, or two have one name.
    """
    found: dict[str, Provider] = {}
    for provider in _listed(given, "providers"):
        if isinstance(provider, type) or not hasattr(provider, "describe"):
            raise InvalidValueError(
                f"must be providers, such as OpenAI(...), not {_shown(provider)}; plugins bring theirs",
                path="providers",
            )
        if provider.name in found:
            raise InvalidValueError(
                f"two providers are named {provider.name!r}; pass one of them another name", path="providers"
            )
        found[provider.name] = provider
    return found


def _listed(given: Any, path: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidValueError(f"must be a list, not {_shown(given)}; write {path}=[...]", path=path)
    return list(given)


def _shown(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def resumable(suspended: Suspended | RunState) -> RunState:
    """
    Return the state of a run that may go on.

    Raises:
        InvalidValueError: It is none, or its pending calls are not those of its conversation.
    """
    state: Any = suspended.state if isinstance(suspended, Suspended) else suspended
    if not isinstance(state, RunState):
        raise InvalidValueError(
            f"must be what a run returned as Suspended, or a RunState, not a {type(state).__name__}; "
            "read a stored one with RunState.from_json",
            path="suspended",
        )
    check_pairs(state.messages, pending=[pending.call for pending in state.pending])
    return state


def said(state: RunState, verdicts: Verdicts) -> dict[int, Verdict]:
    """
    Return what a person said to each call.

    Raises:
        InvalidValueError: No pending call has the index, or the verdict is no bool: a word is not taken for a yes.
    """
    indices = [pending.index for pending in state.pending]
    if isinstance(verdicts, bool):
        verdicts = dict.fromkeys(indices, verdicts)
    given: Any = verdicts
    if not isinstance(given, Mapping):
        raise InvalidValueError(
            f"must be a bool, or bools by index of the call, not a {type(given).__name__}", path="verdicts"
        )
    for index, yes in given.items():
        if not isinstance(yes, bool):
            raise InvalidValueError(f"must be True or False, not {yes!r}", path=f"verdicts[{index!r}]")
        if index not in indices and not state.ended:
            text = "; an index is a number, and JSON makes texts of keys" if isinstance(index, str) else ""
            raise InvalidValueError(
                f"{index!r} is no index of a pending call; those are {indices}{text}", path="verdicts"
            )
    return {index: Verdict.APPROVED if yes else Verdict.DENIED for index, yes in given.items()}


def secrets_of(given: Mapping[str, Secret | str]) -> dict[str, Secret]:
    """Return what a Runtime was given as `Secret` values."""
    return {alias: _secret(alias, secret) for alias, secret in given.items()}


def _secret(alias: str, secret: Secret | str) -> Secret:
    try:
        return secret if isinstance(secret, Secret) else Secret(secret)
    except InvalidValueError as error:
        raise InvalidValueError(error.rule, path=f"secrets[{alias!r}]") from None
