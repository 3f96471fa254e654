"""Which packages offered what a run used, in which version and with which schema: told to whoever reads its record."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping

from nr_llm._json import JSON, encode_bytes
from nr_llm.plugins import RegisteredProvider, RegisteredTool
from nr_llm.toolbox import Toolbox
from nr_llm.tools import Tool


class Provenance:
    """Says where tools and providers are from; what it has told once it need not work out again."""

    def __init__(self) -> None:
        self._digests: dict[int, tuple[Tool, str]] = {}

    def of(
        self,
        toolbox: Toolbox,
        registered: Iterable[RegisteredTool],
        provider: RegisteredProvider | None,
    ) -> dict[str, JSON]:
        """
        Return what a run's record says of its parts.

        Args:
            toolbox: The tools of the run.
            registered: The tools of the host, with where they are from.
            provider: The provider, or None for one that the program made.
        """
        packages = {tool.wire_name: _package(tool) for tool in registered}
        tools: dict[str, JSON] = {
            name: {"package": packages.get(name), "schema": self._digest(toolbox.registered[name])}
            for name in toolbox.offered
        }
        model = None if provider is None else _package(provider)
        return {"nr_llm": _own_version(), "provider": model, "tools": tools}

    def _digest(self, tool: Tool) -> str:
        known = self._digests.get(id(tool))
        if known is None or known[0] is not tool:
            spec = tool.spec
            told: Mapping[str, JSON] = {
                "name": spec.name,
                "description": spec.description,
                "parameters": dict(spec.parameters),
            }
            known = self._digests[id(tool)] = (tool, hashlib.sha256(encode_bytes(told)).hexdigest())
        return known[1]


def _package(part: RegisteredTool | RegisteredProvider) -> str | None:
    """Return ``distribution==version``, or None for what no package brought."""
    return None if part.distribution is None else f"{part.distribution}=={part.version or '?'}"


@functools.cache
def _own_version() -> str | None:
    from nr_llm._entrypoints import host_version  # reads files, and most runs are not kept

    return host_version()
