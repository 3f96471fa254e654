"""Reads what files say in ``[policy]``: the user's own say all of it, a project that is not trusted only closes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from nr_llm.config import Table, written
from nr_llm.errors import ConfigurationError, InvalidValueError, similar
from nr_llm.policy import OBSERVE, Policy

SWITCHES: Final = ("tools", "groups")
"""What any file may switch off."""

SETTINGS: Final = (*SWITCHES, "restrict", "zones", "data_classes", "write_arguments", "plain_state")
"""What ``[policy]`` may hold, and ``[audit]``."""

_LOG = logging.getLogger("nr_llm")


def policy_from(tables: Iterable[Table]) -> Policy:
    """
    Return what files say about tools and providers.

    A switch that a file which is not trusted turns off stays off, whatever the others say.

    Args:
        tables: What each says, the one that counts first in front.

    Raises:
        ConfigurationError: A value is wrong, or a file says what it may not; file, setting and remedy are named.
    """
    said: dict[str, Any] = {}
    closed: dict[str, dict[str, bool]] = {}
    for table in reversed(tuple(tables)):
        _check(table)
        for name, value in table.values.items():
            if isinstance(value, Mapping):
                said[name] = {**said.get(name, {}), **value}
            else:
                said[name] = value
            if not table.trusted:
                closed[name] = {**closed.get(name, {}), **value}
    for name, switches in closed.items():
        said[name] |= switches
    if str(said.get("data_classes", "enforce")).strip().lower() not in ("enforce", OBSERVE):
        _LOG.warning("policy.data_classes is neither enforce nor observe: it is enforced")
    return Policy(**said)


def _check(table: Table) -> None:
    for name, value in table.values.items():
        if name not in SETTINGS:
            close = similar(name, SETTINGS)
            hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(SETTINGS)}."
            raise ConfigurationError(f"{table.source}: [policy] has no setting {name!r}.", remedy=hint)
        if not table.trusted and (name not in SWITCHES or _opens(value)):
            raise ConfigurationError(
                f"{table.source} is not trusted and sets {written(name)}.",
                remedy="It may switch tools and groups off alone; say the rest in your user configuration, or trust "
                "this project: nr-llm config trust.",
            )
    try:
        Policy(**table.values)
    except InvalidValueError as error:
        told = f"{table.source}: {written(error.path)}: {error.rule}."
        raise ConfigurationError(told, remedy="Correct or remove it.") from error


def _opens(value: object) -> bool:
    return not isinstance(value, Mapping) or any(on is not False for on in value.values())
