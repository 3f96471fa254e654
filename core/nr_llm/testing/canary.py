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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import attrs

from nr_llm._json import encode
from nr_llm.artifacts import ToolArtifact
from nr_llm.contexts import ToolContext
from nr_llm.errors import ServiceError
from nr_llm.providers import Codec
from nr_llm.responses import CompletionResponse
from nr_llm.results import ToolResult
from nr_llm.testing.harness import Harness
from nr_llm.testing.scripted import calling
from nr_llm.tools import Tool

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
    canary: Canary | None = None,
    **settings: Any,
) -> None:
    """
    Run tools that carry markers, and check that none leaves where it must not.

    Without `tool` the canary's own tools run, in both colours and into a failure: a check of a codec, of middleware
    and of whatever else a Runtime is given.  With `tool` that tool runs once, and its secrets are the markers.

    Args:
        tool: A tool that uses secrets.
        arguments: Its arguments.
        secrets: Aliases of the secrets it asks for.
        codec: Encodes each request; the bytes are searched too.
        canary: The markers, where a test plants them in further places.
        **settings: Further arguments of `Runtime`, such as `middleware`.

    Raises:
        AssertionError: A marker was found, or one did not reach the live steps; the text says where.
    """
    canary = canary or Canary()
    tools = canary.tools if tool is None else (attrs.evolve(tool, approval=False),)
    calls = calling(*((each.name, dict(arguments or {})) for each in tools))
    known = dict.fromkeys((*secrets, ALIAS), canary.secret)
    with Harness(secrets=known, **settings) as harness:
        sinks = [*_logged(lambda: _left(harness, tools, calls, codec=codec)), *_kept(harness)]
        steps = harness.steps
    live = encode([step.to_dict() for step in steps])
    secret_only = attrs.evolve(canary, data=_marker("data"), label=_marker("label"))
    faults = canary.leaks(sinks) + secret_only.leaks([("a live step", live)])
    if tool is None:
        planted = (canary.data, canary.label)
        faults += [f"{marker} is in no live step, where people look for it" for marker in planted if marker not in live]
    else:
        faults += [f"the tool did not run: {s.tool_result}" for s in steps if s.tool_executed is False]
    if faults:
        raise AssertionError("\n".join(faults))


def _left(harness: Harness, tools: Sequence[Tool], calls: CompletionResponse, *, codec: Codec | None) -> Iterator[Sink]:
    """Run, and yield what left the runs: events, requests, results, exceptions."""
    with harness.stream(replies=[calls, "done"], tools=tools) as stream:
        for event in stream:
            yield "the repr of an event", repr(event)
    yield from _requests(harness, codec)
    if len(tools) == 1:
        return
    with ThreadPoolExecutor(1) as thread:
        run = harness.arun(replies=[calls, "done"], tools=tools)
        yield "the repr of an outcome", repr(thread.submit(asyncio.run, run).result())
    yield from _requests(harness, codec)
    yield from _shown(harness.runtime.call(tools[0]))
    try:
        harness.run(replies=[calls, ServiceError("down")], tools=tools)
    except ServiceError as error:
        yield "an exception", "".join(traceback.format_exception(error))


def _requests(harness: Harness, codec: Codec | None) -> Iterator[Sink]:
    for request in harness.requests:
        yield "a request", repr(request)
        yield "a request", encode([message.to_wire() for message in request.messages])
        yield "a request", encode([tool.to_wire() for tool in request.tools])
        if codec is not None:
            sent = codec.encode(request)
            yield "the bytes of a request", f"{sent.url} {sent.headers} {sent.body.decode(errors='replace')}"


def _shown(result: ToolResult) -> Iterator[Sink]:
    yield "the repr of a result", repr(result)
    for form in (str, format):
        try:
            yield f"{form.__name__}() of a result", form(result)
        except TypeError:
            continue


def _kept(harness: Harness) -> Iterator[Sink]:
    """Yield what stays behind: checkpoints, ends, and the steps as a log might print them."""
    for state in (*harness.checkpoints.states, *harness.recorder.ends):
        yield "a stored state", encode(state.to_json())
        yield "the repr of a state", repr(state)
    for step in harness.steps:
        yield "the repr of a step", repr(step)


def _logged(run: Callable[[], Iterable[Sink]]) -> list[Sink]:
    """Return the sinks of `run`, and what was logged meanwhile at any level."""
    found: list[Sink] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(("the log", self.format(record)))

    root, handler = logging.getLogger(), Handler()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        return [*run(), *found]
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
