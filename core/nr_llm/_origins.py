"""Whose tool one is: a copy under another name is still the tool it was copied from, to whoever closed that one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MethodType
from typing import TypeAlias

import attrs

from nr_llm.tools import Tool

Work: TypeAlias = tuple[int, int]


@attrs.frozen(kw_only=True, eq=False)
class Origin:
    """
    A registered tool.

    Attributes:
        name: What a model would call it.
        tool: The tool.
        address: ``plugin:tool``, or None for the program's own.
        packaged: Whether an installed package brought it; without a class of its own its class is unknown.
    """

    name: str
    tool: Tool
    address: str | None = None
    packaged: bool = False


@attrs.frozen(eq=False)
class Trace:
    """
    Whose one tool is.

    Attributes:
        tool: The tool.
        origins: The registered tools that it is or was copied from; none for one that is new.
        keys: The names and addresses that an operator may have closed it by.
    """

    tool: Tool
    origins: tuple[Origin, ...]
    keys: tuple[str, ...]

    @property
    def groups(self) -> frozenset[str]:
        """The groups that it is in, by itself or by what it was copied from."""
        return frozenset([self.tool.group, *[origin.tool.group for origin in self.origins]])


@attrs.frozen(eq=False)
class Origins:
    """
    The registered tools, those included that the program's own stand in front of.

    Attributes:
        all: They.
    """

    all: tuple[Origin, ...] = ()

    def trace(self, name: str, tool: Tool) -> Trace:
        """
        Return whose a tool is.

        Several tools of one source may share a function and tell by their name what to do, so that the name goes
        first.  Of a copy under another name all of them count, and so do those of plugins where the program has made
        a tool of its own of them.

        Args:
            name: What a model would call it.
            tool: The tool.
        """
        origins = self._of(name, tool)
        named = [origin.address for origin in self._by_name.get(name, ())]
        copied = [key for origin in origins for key in (origin.name, origin.address)]
        keys = tuple([key for key in dict.fromkeys((name, *named, *copied)) if key is not None])
        return Trace(tool, origins, keys)

    def _of(self, name: str, tool: Tool) -> tuple[Origin, ...]:
        shared = self._by_work.get(_work(tool), ())
        named = [origin for origin in shared if origin.name == name]
        if any(origin.address is not None for origin in named):
            return tuple(named)
        copied = [origin for origin in shared if origin.address is not None] if named else shared
        return (*named, *copied)

    def at(self, address: str) -> str | None:
        """Return what a model would call the tool ``plugin:tool``, or None if there is none."""
        return self._by_address.get(address)

    @cached_property
    def _by_work(self) -> Mapping[Work, Iterable[Origin]]:
        found: dict[Work, list[Origin]] = {}
        for origin in self.all:
            found.setdefault(_work(origin.tool), []).append(origin)
        return found

    @cached_property
    def _by_name(self) -> Mapping[str, Iterable[Origin]]:
        found: dict[str, list[Origin]] = {}
        for origin in self.all:
            found.setdefault(origin.name, []).append(origin)
        return found

    @cached_property
    def _by_address(self) -> Mapping[str, str]:
        return {origin.address: origin.name for origin in self.all if origin.address is not None}


def _work(tool: Tool) -> Work:
    """Return what tells a tool's function from others; a method is made anew each time it is looked up."""
    function = tool.function
    if isinstance(function, MethodType):
        return id(function.__func__), id(function.__self__)
    return id(function), 0
