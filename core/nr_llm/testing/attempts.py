"""One call of a tool through the seam, watched from inside: what went in, what came out, what was raised."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import attrs

from nr_llm._invoke import ainvoke, invoke
from nr_llm._seam import timed_out
from nr_llm.actors import Actor
from nr_llm.cancellation import Cancellation
from nr_llm.contexts import ToolContext
from nr_llm.errors import ConfigurationError
from nr_llm.messages import ToolCall
from nr_llm.previews import CallPreview, bound_preview
from nr_llm.results import ToolResult
from nr_llm.tools import Tool


@attrs.define(eq=False)
class Attempt:
    """
    What became of one call.

    Attributes:
        arguments: What the model would have sent.
        result: What it would have got to read.
        entered: Whether the tool's function ran.
        timed_out: Whether the seam gave it up.  What the function notes here then has no meaning: it may end, or even
            begin, at any later moment.
        returned: What it returned.
        raised: What it raised.
    """

    arguments: Mapping[str, Any]
    result: ToolResult = attrs.field(init=False)
    entered: bool = False
    timed_out: bool = False
    returned: object = None
    raised: BaseException | None = None

    def answered(self, tool: Tool, result: ToolResult) -> Attempt:
        """Keep what the seam answered for a tool."""
        self.result = result
        self.timed_out = tool.timeout is not None and result.content == timed_out(tool).content
        return self

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note that the function runs, and what it raises."""
        self.entered = True
        try:
            yield
        except BaseException as error:
            self.raised = error
            raise


@attrs.frozen(kw_only=True)
class Caller:
    """
    Calls one tool.

    Attributes:
        tool: The tool.
        deps: What it finds as ``context.deps``.
        secrets: What it finds as ``context.secret(alias)``.
        actor: On whose behalf.
    """

    tool: Tool
    deps: Any = None
    secrets: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    actor: Actor | None = None

    def call(self, arguments: Mapping[str, Any]) -> Attempt:
        """Call it as a blocking run does."""
        attempt = Attempt(arguments)
        tool = self._watched(attempt, self.tool)
        return attempt.answered(tool, invoke(_call(tool, arguments), [tool], deps=self.deps, actor=self.actor))

    def acall(self, arguments: Mapping[str, Any]) -> Attempt:
        """Call it as an asynchronous run does; in a thread, so that a test may itself be asynchronous."""
        attempt = Attempt(arguments)
        tool = self._watched(attempt, self.tool)
        called = ainvoke(_call(tool, arguments), [tool], deps=self.deps, actor=self.actor)
        with ThreadPoolExecutor(1) as thread:
            return attempt.answered(tool, thread.submit(asyncio.run, called).result())

    def call_cancelled(self, arguments: Mapping[str, Any], *, seconds: float) -> Attempt:
        """Call it with its context's switch thrown, and wait so long for it to end."""
        attempt = Attempt(arguments)
        thrown = Cancellation()
        thrown.cancel("nobody waits for this call")
        tool = self._watched(attempt, attrs.evolve(self.tool, timeout=seconds), switch=thrown)
        return attempt.answered(tool, invoke(_call(tool, arguments), [tool], deps=self.deps, actor=self.actor))

    def preview(self, arguments: Mapping[str, Any]) -> CallPreview:
        """Return what a person would be shown of a call; what the preview raises is raised."""
        assert self.tool.previewer is not None
        context = ToolContext(tool=self.tool.name, actor=self.actor, deps=self.deps, secret_of=self._secret)
        given = self.tool.previewer(self.tool.structure(arguments), context)
        return bound_preview(0, self.tool.name, given, mask=str)

    def _watched(self, attempt: Attempt, tool: Tool, *, switch: Cancellation | None = None) -> Tool:
        function = tool.function

        def given(arguments: dict[str, Any]) -> dict[str, Any]:
            if tool.context is None:
                return arguments
            context: ToolContext = arguments[tool.context]
            given = attrs.evolve(context, secret_of=self._secret, cancelled=switch or context.cancelled)
            return {**arguments, tool.context: given}

        def call(**arguments: Any) -> Any:
            with attempt.watching():
                attempt.returned = function(**given(arguments))
            if inspect.isawaitable(attempt.returned):
                return later(attempt.returned)
            return attempt.returned

        async def later(awaitable: Any) -> Any:
            with attempt.watching():
                attempt.returned = await awaitable
            return attempt.returned

        async def acall(**arguments: Any) -> Any:
            return await later(function(**given(arguments)))

        is_async = inspect.iscoroutinefunction(function)
        return attrs.evolve(tool, function=acall if is_async else call)

    def _secret(self, alias: str) -> str:
        if alias not in self.secrets:
            raise ConfigurationError(f"The contract has no secret {alias!r}.", remedy="Pass secrets={alias: value}.")
        return self.secrets[alias]


def _call(tool: Tool, arguments: Mapping[str, Any]) -> ToolCall:
    return ToolCall("call_1", tool.name, arguments)
