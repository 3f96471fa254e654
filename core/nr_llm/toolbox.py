"""Which tools a run may use: what is registered, what of it is offered, and what the policy closed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import attrs

from nr_llm.errors import InvalidValueError
from nr_llm.policy import OPEN, Gate, PolicyDecision, PolicyReason
from nr_llm.specs import ToolSpec
from nr_llm.tools import Tool


@attrs.frozen(eq=False)
class Toolbox:
    """
    The tools of one run.

    Attributes:
        registered: Every tool the host has, by the name a model would use.
        offered: Names of those this run may use, in the order they are offered.
        gate: Decides about each again when it is called.
        judged: What the policy closed, or let through above a ceiling, of the tools that were chosen.
        specs: What the model is told of those on offer.
    """

    registered: Mapping[str, Tool]
    offered: tuple[str, ...]
    gate: Gate = attrs.field(default=OPEN, kw_only=True)
    judged: tuple[PolicyDecision, ...] = attrs.field(default=(), kw_only=True)
    specs: tuple[ToolSpec, ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "specs", tuple(self.registered[name].spec for name in self.offered))

    @classmethod
    def of(cls, tools: Iterable[Tool], gate: Gate = OPEN) -> Toolbox:
        """
        Return a toolbox that offers all of `tools`.

        Raises:
            InvalidValueError: Two of them have one name.
        """
        registered: dict[str, Tool] = {}
        for tool in tools:
            if registered.setdefault(tool.name, tool) is not tool:
                raise InvalidValueError(f"two tools are named {tool.name!r}", path="tools")
        return cls(registered, tuple(registered), gate=gate)

    def get(self, name: str) -> Tool | None:
        """Return the tool if this run may use it."""
        return self.registered.get(name) if name in self.offered else None

    def within(self, names: Collection[str] | None) -> Toolbox:
        """Return the toolbox of a run that goes on: of the tools, those that it began with; None for no bound."""
        if names is None:
            return self
        offered = tuple(name for name in self.offered if name in names)
        judged = tuple(decision for decision in self.judged if decision.tool in names)
        return Toolbox(self.registered, offered, gate=self.gate, judged=judged)

    def denial(self, name: str) -> PolicyDecision | None:
        """
        Return why a registered tool must not run now, or None; a tool that nobody has is nobody's decision.

        It is looked at when a call is about to run, since an operator may have closed the tool meanwhile.
        """
        if name not in self.registered:
            return None
        decision = self.gate.decide(name, self.registered[name])
        if not decision.allowed:
            return decision
        return None if name in self.offered else closed(decision)


def closed(decision: PolicyDecision) -> PolicyDecision:
    """Return the decision about a tool that is open to a run which was not given it."""
    return attrs.evolve(decision, allowed=False, observed=False, reason=PolicyReason.NOT_GRANTED)


def judge(chosen: Toolbox, gate: Gate, *, most: int | None = None, usual: bool = False) -> Toolbox:
    """
    Return the toolbox of a run.

    Args:
        chosen: The tools that are wanted.
        gate: Decides which of them the run may use.
        most: How many tools the model copes with, or None.
        usual: Whether nobody chose them; then the run gets as many as the model copes with.

    Raises:
        InvalidValueError: More tools are chosen than the model copes with.
    """
    decisions = [gate.decide(name, chosen.registered[name]) for name in chosen.offered]
    offered = tuple(decision.tool for decision in decisions if decision.allowed)
    if usual:
        offered = offered[:most]
    if most is not None and len(offered) > most:
        raise InvalidValueError(
            f"{len(offered)} tools are chosen and the model copes with {most}; choose fewer: {', '.join(offered)}",
            path="tools",
        )
    judged = tuple(one for one in decisions if not one.allowed or (one.observed and one.tool in offered))
    return Toolbox(chosen.registered, offered, gate=gate, judged=judged)
