"""Makes the gate of a run: what the operator says, who acts, how far away whoever reads is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs

from nr_llm._choice import Source
from nr_llm._models import Chosen
from nr_llm._origins import Origin, Origins
from nr_llm.errors import ConfigurationError, InvalidValueError, NrLlmError
from nr_llm.plugins import RegisteredTool
from nr_llm.policy import Policy, Reader, nothing_said
from nr_llm.tools import Tool
from nr_llm.zones import TrustZone

PolicySource: TypeAlias = Callable[[], Policy]
"""Returns what the operator says now."""


def policy_of(given: Policy | PolicySource | None, host: Source | None) -> PolicySource:
    """
    Return where the policy of runs is from: the program, else the host's configuration, else nobody says anything.

    Raises:
        InvalidValueError: What is given is none.
    """
    if isinstance(given, Policy):
        return lambda: given
    if given is not None:
        if not callable(given):
            raise InvalidValueError(f"must be a Policy, not a {type(given).__name__}", path="policy")
        return given
    return nothing_said if host is None else lambda: host.policy


def read(policy: PolicySource) -> Policy:
    """
    Return what the operator says now.

    Raises:
        ConfigurationError: It cannot be read; then no run begins.
    """
    try:
        said: object = policy()
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"The policy cannot be read: {type(error).__name__}.", remedy="Have what you pass as policy return one."
        ) from error
    if not isinstance(said, Policy):
        raise ConfigurationError(f"The policy is a {type(said).__name__}.", remedy="Return a Policy.")
    return said


def origins_of(found: Sequence[RegisteredTool], own: Mapping[str, Tool] | None = None) -> Origins:
    """
    Return the registered tools as the policy knows them.

    Args:
        found: Those of plugins.
        own: The program's own, by name.
    """
    plugged = [
        Origin(name=one.wire_name, tool=one.tool, address=one.address, packaged=one.distribution is not None)
        for one in found
    ]
    mine = [Origin(name=name, tool=tool) for name, tool in (own or {}).items()]
    return Origins((*mine, *plugged))


@attrs.define(eq=False)
class Known:
    """Remembers the registered tools as the policy knows them, so that a run looks at those it is given alone."""

    _last: tuple[Sequence[RegisteredTool], Mapping[str, Tool], Origins] | None = None

    def origins(self, found: Sequence[RegisteredTool], own: Mapping[str, Tool]) -> Origins:
        """Return them, the same as long as the tools are the same objects; safe to call from many threads."""
        last = self._last
        if last is None or last[0] is not found or last[1] is not own:
            self._last = last = (found, own, origins_of(found, own))
        return last[2]


def readers_of(named: Chosen, lookup: Callable[[str], Chosen]) -> tuple[Reader, ...]:
    """
    Return who may read what a run's tools return: its provider, and whoever may answer instead.

    A configuration declares the zone of its own model's provider.  For another one that a caller names, that only
    counts where it is further.

    Args:
        named: The model of the run.
        lookup: Returns what an alias or ``provider:model`` stands for.
    """
    return tuple(_readers(named, lookup))


def _readers(named: Chosen, lookup: Callable[[str], Chosen]) -> Iterator[Reader]:
    configuration = named.configuration
    declared = None if configuration is None else configuration.zone
    if configuration is None or declared is None:
        yield _reader(named)
    else:
        yield Reader(usual=declared, elsewhere=named.known.elsewhere)
        meant = None if configuration.model is None else _looked_up(configuration.model, lookup)
        if meant is None or meant.provider is not named.provider:
            yield _reader(named)
    for fallback in () if configuration is None else configuration.fallbacks:
        found = _looked_up(fallback, lookup)
        yield Reader(usual=TrustZone.EXTERNAL_GLOBAL) if found is None else _reader(found)


def _reader(named: Chosen) -> Reader:
    usual = TrustZone.LOCAL if named.provider.endpoint.local else TrustZone.EXTERNAL_GLOBAL
    return Reader(usual=usual, provider=named.provider.name, elsewhere=named.known.elsewhere)


def _looked_up(reference: str, lookup: Callable[[str], Chosen]) -> Chosen | None:
    try:
        return lookup(reference)
    except NrLlmError:
        return None
