"""What a Runtime does without a run: asks a model once, calls one tool, explains what is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from nr_llm._alone import explained, open_to, single_call, single_completion
from nr_llm._assembly import Assembly
from nr_llm._choice import ToolChoice
from nr_llm._desk import Desk
from nr_llm._drive import Ended, drained, performed
from nr_llm._invoke import acall_one, call_one
from nr_llm._perform import Performer
from nr_llm.actors import Actor
from nr_llm.conversation import Prompt
from nr_llm.options import Options
from nr_llm.policy import PolicyDecision
from nr_llm.responses import CompletionResponse
from nr_llm.results import ToolResult
from nr_llm.toolbox import Toolbox

if TYPE_CHECKING:
    from nr_llm._aperform import AsyncPerformer


class SingleSteps:
    """The part of a Runtime that needs no loop."""

    _assembly: Assembly

    if TYPE_CHECKING:

        def _performer(self, desk: Desk) -> Performer: ...

        def _aperformer(self, desk: Desk) -> AsyncPerformer: ...

    def complete(
        self,
        prompt: Prompt,
        *,
        model: str | None = None,
        tools: ToolChoice | Iterable[ToolChoice] | None = (),
        options: Options | None = None,
    ) -> CompletionResponse:
        """
        Ask a model once: tools are offered, nothing is executed.

        Args:
            prompt: A question, a message, or a whole conversation.
            model: ``provider:model``, or an alias.
            tools: As for `stream`, but none unless given.
            options: Settings of the call.

        Raises:
            ProviderError: The call failed.
        """
        flow, desk = single_completion(self._assembly, prompt, model=model, tools=tools, options=options)
        return drained(performed(flow, self._performer(desk)))

    async def acomplete(
        self,
        prompt: Prompt,
        *,
        model: str | None = None,
        tools: ToolChoice | Iterable[ToolChoice] | None = (),
        options: Options | None = None,
    ) -> CompletionResponse:
        """Ask a model once; the asynchronous twin of `complete`."""
        flow, desk = single_completion(self._assembly, prompt, model=model, tools=tools, options=options)
        from nr_llm._adrive import aperformed

        async with aclosing(aperformed(flow, self._aperformer(desk))) as items:
            async for item in items:
                if isinstance(item, Ended):
                    return item.value
        raise AssertionError("a flow ends")  # pragma: no cover

    def call(
        self,
        tool: ToolChoice,
        arguments: Mapping[str, Any] | None = None,
        *,
        actor: Actor | None = None,
        deps: Any = None,
    ) -> ToolResult:
        """Call one tool through the seam every run uses: validated, bounded, timed, without a model."""
        desk, call = single_call(self._assembly, tool, arguments, actor=actor, deps=deps)
        return call_one(self._performer(desk), call)

    async def acall(
        self,
        tool: ToolChoice,
        arguments: Mapping[str, Any] | None = None,
        *,
        actor: Actor | None = None,
        deps: Any = None,
    ) -> ToolResult:
        """Call one tool; the asynchronous twin of `call`."""
        desk, call = single_call(self._assembly, tool, arguments, actor=actor, deps=deps)
        return await acall_one(self._aperformer(desk), call)

    def toolbox(self, *, actor: Actor | None = None) -> Toolbox:
        """
        Return the tools that are open to somebody who looks at them; no provider is told anything.

        Args:
            actor: Who looks; else the Runtime's own.

        Raises:
            ConfigurationError: The policy is wrong.
        """
        return open_to(self._assembly, actor)

    def explain(
        self,
        *tools: str,
        model: str | None = None,
        configuration: str | None = None,
        actor: Actor | None = None,
    ) -> tuple[PolicyDecision, ...]:
        """
        Say which tools a run might use, and why not: by the very decision that runs are held to; nothing is run.

        Args:
            tools: Names, as a model would use them or ``plugin:tool``, whether or not there are such; none for all.
            model: ``provider:model``, or an alias; else the one of the configuration, or the usual one.  If none is
                named anywhere, it is not judged what may be told to a provider.
            configuration: Name of a configuration.
            actor: On whose behalf the run would act.

        Raises:
            UnknownNameError: There is no such provider, alias or configuration.
            ConfigurationError: The policy or the configuration is wrong.
        """
        return explained(self._assembly, tools or None, model=model, configuration=configuration, actor=actor)
