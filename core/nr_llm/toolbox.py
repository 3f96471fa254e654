"""Which tools a run may use: the gate between what is registered and what is offered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from nr_llm.actors import Actor
from nr_llm.errors import InvalidValueError, UnknownNameError
from nr_llm.specs import ToolSpec
from nr_llm.tools import Tool


@attrs.frozen(eq=False)
class Toolbox:
    """
    The tools of one run.

    Attributes:
        registered: Every tool the host has, by the name a model would use.
        offered: Names of those this run may use, in the order they are offered.
        specs: What the model is told of them.
    """

    registered: Mapping[str, Tool]
    offered: tuple[str, ...]
    specs: tuple[ToolSpec, ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "specs", tuple(self.registered[name].spec for name in self.offered))

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> Toolbox:
        """
        Return a toolbox that offers all of `tools`.

        Raises:
            InvalidValueError: Two of them have one name.
        """
        registered: dict[str, Tool] = {}
        for tool in tools:
            if registered.setdefault(tool.name, tool) is not tool:
                raise InvalidValueError(f"two tools are named {tool.name!r}", path="tools")
        return cls(registered, tuple(registered))

    def get(self, name: str) -> Tool | None:
        """Return the tool if this run may use it."""
        return self.registered.get(name) if name in self.offered else None


def denial(tool: Tool, actor: Actor | None) -> str | None:
    """
    Return why `actor` may not use `tool`, or None.

    The same decision serves offering, execution and resume; the order picks the reported reason only.
    """
    if tool.admin_only and not (actor is not None and actor.admin):
        return f"tool {tool.name!r} is open to administrators only"
    return None


def default_names(tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Return the tools a run gets without naming any: enabled reads."""
    return tuple(name for name, tool in tools.items() if tool.enabled and not tool.writes)


def offer(
    registered: Mapping[str, Tool], *, names: Iterable[str] | None, actor: Actor | None, most: int | None = None
) -> Toolbox:
    """
    Return the toolbox of a run.

    Args:
        registered: Every tool the host has, by the name a model would use.
        names: Tools chosen by name; None for the default set.
        actor: On whose behalf the run acts.
        most: How many tools the model copes with, or None.

    Raises:
        UnknownNameError: A chosen tool is not registered.
        InvalidValueError: More tools are chosen by name than the model copes with; of the default set, which nobody
            chose, it gets as many as it copes with.
    """
    chosen = default_names(registered) if names is None else tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in registered:
            raise UnknownNameError("tool", name, known=registered)
    offered = tuple(name for name in chosen if denial(registered[name], actor) is None)
    if names is None:
        offered = offered[:most]
    if most is not None and len(offered) > most:
        raise InvalidValueError(
            f"{len(offered)} tools are chosen and the model copes with {most}; choose fewer: {', '.join(offered)}",
            path="tools",
        )
    return Toolbox(registered, offered)
