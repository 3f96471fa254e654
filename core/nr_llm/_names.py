"""Names are given out here: to the host's own objects, then to first-party plugins, and to no stranger in dispute."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from nr_llm.plugins import PluginRecord, RegisteredTool
from nr_llm.specs import TOOL_NAME
from nr_llm.tools import Tool, Toolset

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


@attrs.frozen(eq=False)
class Offer:
    """
    Something a plugin offers under a name.

    Attributes:
        name: The name.
        value: The tool, provider or command.
        record: The plugin.
        toolset: The toolset a tool belongs to, or None.
    """

    name: str
    value: Any
    record: PluginRecord
    toolset: Toolset | None = attrs.field(default=None, kw_only=True)

    @property
    def rank(self) -> int:
        """Who goes first: the host's own objects (0), this project's plugins (1), anybody's (2)."""
        if self.record.distribution is None:
            return 0
        return 1 if self.record.first_party else 2


@attrs.frozen
class Names:
    """
    The tools of all plugins, each under a name of its own.

    Attributes:
        tools: All tools, in the order their plugins are listed.
        found: Every name a tool is known by: as a model sees it, ``plugin__tool`` and ``plugin:tool``.
        disputed: Names nobody has, since several claim them.
    """

    tools: tuple[RegisteredTool, ...]
    found: Mapping[str, RegisteredTool]
    disputed: Mapping[str, tuple[Offer, ...]]


def owner(offers: Sequence[Offer]) -> Offer | None:
    """Return which of several offers of one name has it, or None when the first in rank are several."""
    best = min(offer.rank for offer in offers)
    first = [offer for offer in offers if offer.rank == best]
    return first[0] if len(first) == 1 else None


def by_name(offers: Iterable[Offer]) -> dict[str, list[Offer]]:
    """Return the offers grouped by name, in order of appearance."""
    groups: dict[str, list[Offer]] = {}
    for offer in offers:
        groups.setdefault(offer.name, []).append(offer)
    return groups


def name_tools(offers: Sequence[Offer]) -> Names:
    """
    Give every tool a name of its own.

    Args:
        offers: All tools, sorted as their plugins are listed, so that the outcome is the same in every process.
    """
    owners = {name: owner(group) for name, group in by_name(offers).items()}
    taken = {name for name, offer in owners.items() if offer is not None}
    tools: list[RegisteredTool] = []
    for offer in offers:
        mine = owners[offer.name] is offer
        wire = offer.name if mine else _free(_wire_name(offer), taken, offer)
        taken.add(wire)
        tools.append(_registered(offer, wire))
    found = {tool.wire_name: tool for tool in tools}
    for tool, offer in zip(tools, offers, strict=True):
        found[tool.address] = tool
        found.setdefault(_wire_name(offer), tool)
    disputed = {name: tuple(group) for name, group in by_name(offers).items() if owners[name] is None}
    return Names(tuple(tools), found, disputed)


def _wire_name(offer: Offer) -> str:
    return _UNFIT.sub("_", f"{offer.record.name}__{offer.name}")


def _free(wire: str, taken: set[str], offer: Offer) -> str:
    # Too long for a provider, or by chance another tool's name: a digest tells them apart.
    if wire not in taken and TOOL_NAME.match(wire):
        return wire
    digest = hashlib.sha256(f"{offer.record.name}:{offer.name}".encode()).hexdigest()[:8]
    return f"{offer.name[:54]}__{digest}"


def _registered(offer: Offer, wire: str) -> RegisteredTool:
    tool: Tool = offer.value
    return RegisteredTool(
        tool=tool if tool.name == wire else attrs.evolve(tool, name=wire),
        name=offer.name,
        plugin=offer.record.name,
        distribution=offer.record.distribution,
        version=offer.record.version,
    )
