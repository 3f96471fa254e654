"""Refuses what a caller got wrong before anything of a run begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from nr_llm.actors import Actor
from nr_llm.cancellation import Cancellation
from nr_llm.conversation import check_pairs
from nr_llm.errors import InvalidValueError, similar
from nr_llm.limits import Limits
from nr_llm.options import Options
from nr_llm.runs import Suspended
from nr_llm.secrets import Secret
from nr_llm.state import RunState, Verdict

Verdicts: TypeAlias = Mapping[int, bool] | bool
"""What a person said to the pending calls, by index in the turn; a bool answers all of them."""

_KINDS: Mapping[str, type] = {
    "actor": Actor,
    "cancel": Cancellation,
    "dry_run": bool,
    "limits": Limits,
    "options": Options,
    "run_id": str,
}


def check_settings(settings: Mapping[str, Any], kind: Any) -> None:
    """
    Refuse settings of another type, and those that are none: a misspelt one would be ignored.

    Raises:
        InvalidValueError: A setting is of another type.
        TypeError: There is no such setting, as for any unexpected keyword argument.
    """
    for name, value in settings.items():
        if value is not None and name in _KINDS and not isinstance(value, _KINDS[name]):
            raise InvalidValueError(f"must be {_KINDS[name].__name__}, not {type(value).__name__}", path=name)
    if settings.keys() <= kind.__optional_keys__:
        return
    name = min(settings.keys() - kind.__optional_keys__)
    hint = "".join(f" Did you mean {close!r}?" for close in similar(name, kind.__optional_keys__)[:1])
    names = ", ".join(sorted(kind.__optional_keys__))
    raise TypeError(f"There is no setting {name!r}.{hint} The settings are: {names}.")


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
            raise InvalidValueError(f"{index!r} is no index of a pending call; those are {indices}", path="verdicts")
    return {index: Verdict.APPROVED if yes else Verdict.DENIED for index, yes in given.items()}


def secrets_of(given: Mapping[str, Secret | str]) -> dict[str, Secret]:
    """Return what a Runtime was given as `Secret` values."""
    return {alias: _secret(alias, secret) for alias, secret in given.items()}


def _secret(alias: str, secret: Secret | str) -> Secret:
    try:
        return secret if isinstance(secret, Secret) else Secret(secret)
    except InvalidValueError as error:
        raise InvalidValueError(error.rule, path=f"secrets[{alias!r}]") from None
