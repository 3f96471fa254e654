"""
Plants markers where data must stay, runs, and looks for them wherever data may leave.

Artifacts are for people and secrets for tools.  Neither may reach a provider, a stored state, a log, an exception or
a `repr`; artifacts do reach the host's live steps, and a check that found them nowhere would prove nothing.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

import attrs

from nr_llm._json import encode
from nr_llm.artifacts import ToolArtifact
from nr_llm.errors import ServiceError
from nr_llm.providers import Codec
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.results import ToolResult
from nr_llm.runs import Outcome, Suspended
from nr_llm.testing.harness import Harness
from nr_llm.testing.scripted import calling
from nr_llm.tools import Tool, ToolContext

Sink: TypeAlias = tuple[str, str]
"""Where text was found, and the text."""

ALIAS = "canary"
"""The secret that the canary's own tools ask for."""


def _marker(kind: str) -> str:
    return f"canary{kind}{uuid.uuid4().hex[:16]}"


@attrs.frozen(kw_only=True)
class Canary:
    """
    Markers that occur nowhere else, and tools that plant them.

    Attributes:
        data: Stands in the cells, columns and texts of artifacts.
        label: Stands in the labels of artifacts.
        secret: Is what a tool gets as ``context.secret("canary")``.
    """

    data: str = attrs.field(factory=lambda: _marker("data"))
    label: str = attrs.field(factory=lambda: _marker("label"))
    secret: str = attrs.field(factory=lambda: _marker("secret"))

    @property
    def artifacts(self) -> tuple[ToolArtifact, ...]:
        """One artifact of each type, markers all over it."""
        table = ToolArtifact.table(self.label, [self.data, "n"], [[self.data, 1], ["x", None]])
        return table, ToolArtifact.text(self.label, self.data)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """A tool that plants every marker and answers, and one that fails with the secret in its exception."""

        def canary_plant(context: ToolContext) -> ToolResult:
            """Plant the markers."""
            context.log.warning("signed in with %s", context.secret(ALIAS))
            return ToolResult.text("planted", *self.artifacts)

        def canary_stumble(context: ToolContext) -> str:
            """Fail."""
            raise ValueError(f"the service refused {context.secret(ALIAS)}")

        return Tool.from_function(canary_plant), Tool.from_function(canary_stumble)

    def leaks(self, sinks: Iterable[Sink]) -> list[str]:
        """Return each marker that was found, and where."""
        found = dict.fromkeys(
            f"the {kind} marker is in {where}"
            for where, text in sinks
            for kind, marker in attrs.asdict(self).items()
            if marker in text
        )
        return list(found)


def assert_no_leak(
    tool: Tool | None = None,
    arguments: Mapping[str, Any] | None = None,
    *,
    secrets: Iterable[str] = (),
    codec: Codec | None = None,
    **settings: Any,
) -> None:
    """
    Run tools that carry markers, and check that none leaves where it must not.

    Without `tool` the canary's own tools run, in both colours and into a failure: a check of a codec, of middleware
    and of the core itself.  With `tool` that tool runs once, and the markers are its secrets.

    Args:
        tool: A tool that uses secrets.
        arguments: Its arguments.
        secrets: Aliases of the secrets it asks for.
        codec: Encodes each request; the bytes are searched too.
        **settings: Further arguments of `Runtime`, such as `middleware`.

    Raises:
        AssertionError: A marker was found, or artifacts did not reach the live steps; the text says where.
    """
    canary = Canary()
    tools = canary.tools if tool is None else (tool,)
    known = dict.fromkeys((*secrets, ALIAS), canary.secret)
    script = [calling(*((each.name, dict(arguments or {})) for each in tools)), "done"]
    with _logged() as log, Harness(secrets=known, **settings) as harness:
        runs = list(_runs(harness, tools, script, again=tool is None))
    sinks = [*_requests(runs, codec), *_states(harness), *log, *_shown(harness, runs)]
    live = encode([step.to_dict() for step in harness.steps])
    faults = canary.leaks(sinks) + canary.leaks([("the live steps", live.replace(canary.data, "").replace(canary.label, ""))])
    ...
