"""
Who may use which tool, and what a provider may be told: one decision, for enforcement and for explaining it alike.

A tool is open where all of these hold: it is registered, switched on, open to whoever the run acts for, granted by
the configuration, and returns nothing that the provider may not be told.  Their order only picks the reason that is
reported: the cheapest first, so that a refusal tells nothing about what is not reached.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

import attrs

from nr_llm._json import JSON
from nr_llm._origins import Origins, Trace
from nr_llm.actors import Actor, ActorKind
from nr_llm.audit import WriteAudit
from nr_llm.errors import ConfigurationError, InvalidValueError
from nr_llm.options import member
from nr_llm.tools import Tool, ToolEffect
from nr_llm.zones import DataClass, TrustZone, furthest, highest

T = TypeVar("T")

OBSERVE: Final = "observe"
"""The one word that lets tools above a zone's ceiling through; any other enforces (the reference system, ADR-113)."""

_LOG = logging.getLogger("nr_llm")


class PolicyReason(StrEnum):
    """Why a tool is not open; `NONE` where it is."""

    NONE = "none"
    NOT_REGISTERED = "not_registered"
    POLICY_UNREADABLE = "policy_unreadable"
    TOOL_DISABLED = "tool_disabled"
    REQUIRES_ADMIN = "requires_admin"
    ACTOR_NOT_PERMITTED = "actor_not_permitted"
    NOT_GRANTED = "not_granted"
    TRUST_ZONE = "trust_zone"


PERSONAL: Final = frozenset({PolicyReason.REQUIRES_ADMIN, PolicyReason.ACTOR_NOT_PERMITTED})
"""Reasons that hold for one actor and not for another."""


PLAIN_STATES: Final = ("tell", "refuse")
"""What becomes of a run that has to wait where the store has no key: it waits and that is told, or it does not."""


def _switches(value: Mapping[str, Any], field: attrs.Attribute[Any]) -> dict[str, bool]:
    for name, on in _mapping(value, field.name).items():
        if not isinstance(on, bool):
            raise InvalidValueError(f"must be true or false, not {on!r}", path=f"{field.name}.{name}")
    return dict(value)


def _restrictions(value: Mapping[str, Any], field: attrs.Attribute[Any]) -> dict[str, tuple[str, ...]]:
    return {name: _grants(given, f"{field.name}.{name}") for name, given in _mapping(value, field.name).items()}


def _grants(value: Any, path: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidValueError(f"must be a list, not a {type(value).__name__}", path=path)
    grants = tuple(value)
    for grant in grants:
        kind, _, name = grant.partition(":") if isinstance(grant, str) else ("", "", "")
        if grant != "admin" and (kind not in ("user", "group", "service") or not name):
            raise InvalidValueError(f"{grant!r} is none of admin, user:ID, group:NAME, service:ID", path=path)
    return grants


def _zones(value: Mapping[str, Any], field: attrs.Attribute[Any]) -> dict[str, TrustZone]:
    given = _mapping(value, field.name)
    return {name: member(TrustZone, zone, path=f"{field.name}.{name}") for name, zone in given.items()}


def _audit(value: WriteAudit | str) -> WriteAudit:
    return member(WriteAudit, value, path="write_arguments")


def _plain(value: Any) -> str:
    if value not in PLAIN_STATES:
        raise InvalidValueError(f"must be one of {', '.join(PLAIN_STATES)}, not {value!r}", path="plain_state")
    return str(value)


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) and name for name in value):
        raise InvalidValueError(f"must be a mapping of names, not a {type(value).__name__}", path=path)
    return value


@attrs.frozen(kw_only=True)
class Policy:
    """
    What an operator says about tools and providers; nothing said is the usual.

    Attributes:
        tools: Switches by a tool's name, or ``plugin:tool``: off is not offered even if it is named, on is offered
            without being named where it reads; a tool's own `enabled` counts without one.
        groups: Switches by a group's name; a tool of a group that is off is off, whatever its own switch says.
        restrict: By a tool's name, ``plugin:tool`` or ``@group``, who may use it beside administrators: ``user:ID``,
            ``group:NAME``, ``service:ID``, or ``admin`` for nobody else.
        zones: By a provider's name, how far away it is; otherwise one on this machine is `LOCAL`, any other
            `EXTERNAL_GLOBAL`.
        write_arguments: How a record keeps the arguments of writes where its privacy level keeps none.
        plain_state: ``refuse`` suspends no run whose state a store would keep unencrypted although its record keeps
            less than everything, whatever the program says; ``tell`` leaves it to the program.
        data_classes: ``observe`` lets tools above the ceiling of a zone through and says so; anything else enforces.

    Raises:
        InvalidValueError: A switch is no bool, a grant or zone is none.
    """

    __hash__ = None  # type: ignore[assignment]  # holds mappings

    tools: Mapping[str, bool] = attrs.field(factory=dict, converter=attrs.Converter(_switches, takes_field=True))  # type: ignore[misc]
    groups: Mapping[str, bool] = attrs.field(factory=dict, converter=attrs.Converter(_switches, takes_field=True))  # type: ignore[misc]
    restrict: Mapping[str, tuple[str, ...]] = attrs.field(
        factory=dict,
        converter=attrs.Converter(_restrictions, takes_field=True),  # type: ignore[misc]
    )
    zones: Mapping[str, TrustZone] = attrs.field(factory=dict, converter=attrs.Converter(_zones, takes_field=True))  # type: ignore[misc]
    write_arguments: WriteAudit = attrs.field(default=WriteAudit.DIGEST, converter=_audit)
    plain_state: str = attrs.field(default="tell", converter=_plain)
    data_classes: object = "enforce"

    @property
    def observes(self) -> bool:
        """Whether tools above a zone's ceiling are let through."""
        return isinstance(self.data_classes, str) and self.data_classes.strip().lower() == OBSERVE


_NOTHING_SAID: Final = Policy()


def nothing_said() -> Policy:
    """Return the policy of an operator who says nothing."""
    return _NOTHING_SAID


@attrs.frozen(kw_only=True)
class PolicyDecision:
    """
    What the policy says of one tool in one run.

    Attributes:
        tool: Its name, as a model would use it.
        allowed: Whether the run may use it.
        reason: Why not.
        data_class: What it may return; the strictest where that is unknown.
        zone: How far away the provider is, or None where no provider reads what it returns.
        ceiling: The highest class that may be told there, or None without a zone.
        observed: Whether it is above the ceiling and is let through all the same.
        effect: What running it changes.
        usual: Whether the run gets it without naming it.
        asks: Whether a person is asked before each call: ``approval``, ``input``, or empty.
    """

    tool: str
    allowed: bool = False
    reason: PolicyReason = PolicyReason.NONE
    data_class: DataClass = DataClass.SECRET
    zone: TrustZone | None = None
    ceiling: DataClass | None = None
    observed: bool = False
    effect: ToolEffect = ToolEffect.WRITE
    usual: bool = False
    asks: str = ""

    @property
    def text(self) -> str:
        """The decision as a sentence for people, made of what the policy says alone."""
        name = repr(self.tool)
        above = f"{name} may return data of class {self.data_class}; zone {self.zone} may be told {self.ceiling}"
        texts = {
            PolicyReason.NONE: f"Tool {name} is open to this run.",
            PolicyReason.NOT_REGISTERED: f"There is no tool named {name}.",
            PolicyReason.POLICY_UNREADABLE: f"Tool {name} is closed: the policy cannot be read.",
            PolicyReason.TOOL_DISABLED: f"Tool {name} is switched off.",
            PolicyReason.REQUIRES_ADMIN: f"Tool {name} is open to administrators only.",
            PolicyReason.ACTOR_NOT_PERMITTED: f"Tool {name} is not open to whoever this run acts for.",
            PolicyReason.NOT_GRANTED: f"Tool {name} is not among the tools of this run.",
            PolicyReason.TRUST_ZONE: f"Tool {above} at most.",
        }
        return f"Tool {above} at most; it is let through." if self.observed else texts[self.reason]

    def to_dict(self) -> dict[str, JSON]:
        """Return what a record keeps of it."""
        facts: dict[str, JSON] = {"tool": self.tool, "allowed": self.allowed, "reason": str(self.reason)}
        facts |= {"data_class": str(self.data_class), "observed": self.observed}
        if self.zone is not None and self.ceiling is not None:
            facts |= {"zone": str(self.zone), "ceiling": str(self.ceiling)}
        return facts


class PolicyError(ConfigurationError):
    """
    A tool is closed to whoever asked for it alone.

    Attributes:
        decision: What the policy says of it.
    """

    def __init__(self, decision: PolicyDecision) -> None:
        super().__init__(decision.text, remedy=_REMEDIES.get(decision.reason, ""))
        self.decision = decision


_REMEDIES: Final = {
    PolicyReason.TOOL_DISABLED: "Whoever runs this system can switch it on in [policy].",
    PolicyReason.REQUIRES_ADMIN: "Pass an actor who is one.",
    PolicyReason.ACTOR_NOT_PERMITTED: "Pass an actor whom [policy.restrict] names.",
}


@attrs.frozen(kw_only=True)
class Reader:
    """
    Somebody who may read what the tools of a run return.

    Attributes:
        usual: How far away they are unless the operator says otherwise.
        provider: The name the operator may declare a zone for; empty where the declaration is made already.
        elsewhere: Whether they pass on what they are told, so that they are not on this machine whatever is declared.
    """

    usual: TrustZone
    provider: str = ""
    elsewhere: bool = False

    def zone(self, policy: Policy) -> TrustZone:
        """Return how far away they are, as the operator says now."""
        said = policy.zones.get(self.provider, self.usual)
        return TrustZone.EXTERNAL_GLOBAL if self.elsewhere and said is TrustZone.LOCAL else said


@attrs.frozen(kw_only=True, eq=False)
class Gate:
    """
    Decides about the tools of one run.

    Attributes:
        policy: Returns what the operator says now.
        actor: On whose behalf the run acts, or None.
        readers: Who may read what tools return, of whom the furthest counts, or None where no provider does.
        granted: Names the configuration grants, or None for no bound.
        origins: The registered tools.
    """

    policy: Callable[[], Policy] = nothing_said
    actor: Actor | None = None
    readers: tuple[Reader, ...] | None = None
    granted: frozenset[str] | None = None
    origins: Origins = attrs.field(factory=Origins)

    def decide(self, name: str, tool: Tool | None) -> PolicyDecision:
        """
        Return what the policy says of a tool.

        Args:
            name: Its name, as a model would use it.
            tool: The tool, or None if there is none of that name.
        """
        if tool is None:
            return PolicyDecision(tool=name, reason=PolicyReason.NOT_REGISTERED)
        policy = self._policy()
        if policy is None:
            return PolicyDecision(tool=name, reason=PolicyReason.POLICY_UNREADABLE)
        trace = self.origins.trace(name, tool)
        reason = self._reason(name, trace, policy)
        data_class = _class(trace)
        zone = None if self.readers is None else furthest([reader.zone(policy) for reader in self.readers])
        ceiling = None if zone is None else zone.ceiling
        above = ceiling is not None and not data_class.within(ceiling)
        observed = above and reason is PolicyReason.NONE and policy.observes and not tool.remote
        if above and reason is PolicyReason.NONE and not observed:
            reason = PolicyReason.TRUST_ZONE
        return PolicyDecision(
            tool=name,
            allowed=reason is PolicyReason.NONE,
            reason=reason,
            data_class=data_class,
            zone=zone,
            ceiling=ceiling,
            observed=observed,
            effect=tool.effect,
            usual=reason is PolicyReason.NONE and not tool.writes and _on(trace, policy),
            asks="approval" if tool.needs_approval else "input" if tool.form is not None else "",
        )

    def usual(self, name: str, tool: Tool) -> bool:
        """Return whether a tool is offered without being named: a read that is on."""
        return not tool.writes and self.on(name, tool)

    def on(self, name: str, tool: Tool) -> bool:
        """Return whether a tool is on, by its switch or, without one, by itself; a group's switch is another."""
        policy = self._policy()
        return policy is not None and _on(self.origins.trace(name, tool), policy)

    def of(self, actor: Actor) -> Gate:
        """Return the gate for somebody else, such as whoever approves."""
        return attrs.evolve(self, actor=actor)

    def _policy(self) -> Policy | None:
        try:
            policy: object = self.policy()
        except Exception as error:  # noqa: BLE001 - fail closed, whatever broke
            _LOG.error("The policy cannot be read (%s): no tool is open", type(error).__name__)
            return None
        return policy if isinstance(policy, Policy) else None

    def _reason(self, name: str, trace: Trace, policy: Policy) -> PolicyReason:
        groups = trace.groups
        off = not all(policy.groups.get(group, True) for group in groups)
        if off or not all(_said(policy.tools, trace)):
            return PolicyReason.TOOL_DISABLED
        if trace.tool.admin_only and not (self.actor is not None and self.actor.administers):
            return PolicyReason.REQUIRES_ADMIN
        keys = (*trace.keys, *[f"@{group}" for group in groups])
        if not all(permits(policy.restrict[key], self.actor) for key in keys if key in policy.restrict):
            return PolicyReason.ACTOR_NOT_PERMITTED
        if self.granted is not None and name not in self.granted:
            return PolicyReason.NOT_GRANTED
        return PolicyReason.NONE


def _on(trace: Trace, policy: Policy) -> bool:
    """Return whether a tool is on, by its switches or, without one, by itself."""
    said = _said(policy.tools, trace)
    return all(said) if said else trace.tool.enabled


def _said(switches: Mapping[str, bool], trace: Trace) -> list[bool]:
    return [switches[key] for key in trace.keys if key in switches]


def _class(trace: Trace) -> DataClass:
    if trace.tool.data_class is not None:
        return trace.tool.data_class
    classes = [
        origin.tool.data_class or (DataClass.SECRET if origin.packaged else DataClass.CONTENT)
        for origin in trace.origins
    ]
    return highest(classes)


def permits(grants: Iterable[str], actor: Actor | None) -> bool:
    """Return whether an actor is one of those a tool is restricted to; an administrator always is."""
    if actor is None or actor.kind is ActorKind.ANONYMOUS:
        return False
    own = {f"{actor.kind}:{actor.id}", *(f"group:{group}" for group in actor.groups)}
    return actor.administers or not own.isdisjoint(grants)


OPEN: Final = Gate()
"""Where no operator says anything and no provider reads: what a program calls by itself."""
