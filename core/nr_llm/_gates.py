"""Makes the gate of a run: what the operator says, who acts, how far away whoever reads is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from nr_llm._choice import Source
from nr_llm._models import Chosen
from nr_llm.actors import Actor
from nr_llm.errors import ConfigurationError, InvalidValueError, NrLlmError
from nr_llm.plugins import RegisteredTool
from nr_llm.policy import Gate, Policy
from nr_llm.providers import Provider
from nr_llm.zones import TrustZone, furthest

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
    return Policy if host is None else lambda: host.policy


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


def gate_of(
    policy: PolicySource, actor: Actor | None, zone: TrustZone | None, *, found: Sequence[RegisteredTool]
) -> Gate:
    """
    Return the gate of a run.

    Args:
        policy: What the operator says.
        actor: On whose behalf it acts.
        zone: How far away the provider is, or None where none reads.
        found: The tools of plugins.
    """
    return Gate(
        policy=policy,
        actor=actor,
        zone=zone,
        addresses={one.wire_name: one.address for one in found},
        packaged={one.wire_name: one.tool for one in found if one.distribution is not None},
    )


def zone_of(named: Chosen, policy: Policy, lookup: Callable[[str], Provider]) -> TrustZone:
    """
    Return how far away those are who read what a run's tools return: its provider, and whoever may answer instead.

    A configuration declares the zone of its own model's provider.  For another one that a caller names, that only
    counts where it is further.

    Args:
        named: The model of the run.
        policy: What the operator says of providers.
        lookup: Returns the provider of an alias or ``provider:model``.
    """
    return furthest(_zones(named, policy, lookup))


def _zones(named: Chosen, policy: Policy, lookup: Callable[[str], Provider]) -> Iterator[TrustZone]:
    configuration = named.configuration
    declared = None if configuration is None else configuration.zone
    if configuration is None or declared is None:
        yield _provider_zone(named.provider, policy)
    else:
        yield declared
        if configuration.model is None or _looked_up(configuration.model, lookup) is not named.provider:
            yield _provider_zone(named.provider, policy)
    for fallback in () if configuration is None else configuration.fallbacks:
        provider = _looked_up(fallback, lookup)
        yield TrustZone.EXTERNAL_GLOBAL if provider is None else _provider_zone(provider, policy)


def _provider_zone(provider: Provider, policy: Policy) -> TrustZone:
    usual = TrustZone.LOCAL if provider.endpoint.local else TrustZone.EXTERNAL_GLOBAL
    return policy.zones.get(provider.name, usual)


def _looked_up(reference: str, lookup: Callable[[str], Provider]) -> Provider | None:
    try:
        return lookup(reference)
    except NrLlmError:
        return None
