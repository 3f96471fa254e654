"""Assembles what needs no loop: one model call, one tool call, and what the policy says of tools."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from nr_llm._assembly import Assembly
from nr_llm._choice import ToolChoice
from nr_llm._desk import Desk
from nr_llm._pricing import priced
from nr_llm._shelf import Wanted
from nr_llm.actors import Actor
from nr_llm.conversation import Prompt, as_messages
from nr_llm.effects import Flow
from nr_llm.limits import Limits
from nr_llm.messages import ToolCall
from nr_llm.middleware import within
from nr_llm.options import Options
from nr_llm.policy import PolicyDecision, PolicyError
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.state import RunState
from nr_llm.toolbox import Toolbox


def single_completion(
    assembly: Assembly,
    prompt: Prompt,
    *,
    model: str | None,
    tools: ToolChoice | Iterable[ToolChoice] | None,
    options: Options | None,
) -> tuple[Flow[CompletionResponse], Desk]:
    """Return one model call."""
    named = assembly.model(model)
    provider, known, messages = named.provider, named.known, as_messages(prompt)
    named.check(messages)
    toolbox = assembly.shelf.toolbox(Wanted(tools=tools, actor=assembly.actor, reader=named))
    state = RunState(run_id=uuid.uuid4().hex, model=known.name, price=priced(known, provider, Limits()))
    request = CompletionRequest(
        model=known.name,
        messages=messages,
        tools=toolbox.specs,
        options=named.options(options or assembly.options),
        run_id=state.run_id,
    )
    asking = within(provider, assembly.completer)(request)
    return asking, assembly.desk(state, toolbox, provider=provider, actor=assembly.actor, watched=False)


def single_call(
    assembly: Assembly, tool: ToolChoice, arguments: Mapping[str, Any] | None, *, actor: Actor | None, deps: Any
) -> tuple[Desk, ToolCall]:
    """Return one tool call."""
    actor = actor or assembly.actor
    toolbox = assembly.shelf.toolbox(Wanted(tools=[tool], actor=actor))
    if not toolbox.offered:
        raise PolicyError(toolbox.judged[0])
    state = RunState(run_id=uuid.uuid4().hex, model="", limits=assembly.limits)
    desk = assembly.desk(state, toolbox, actor=actor, deps=deps, watched=False)
    return desk, ToolCall("call_1", toolbox.offered[0], arguments or {})


def open_to(assembly: Assembly, actor: Actor | None) -> Toolbox:
    """Return the tools that are open to somebody who looks at them."""
    return assembly.shelf.toolbox(Wanted(tools=tuple(assembly.tools()), actor=actor or assembly.actor))


def explained(
    assembly: Assembly,
    names: Iterable[str] | None,
    *,
    model: str | None,
    configuration: str | None,
    actor: Actor | None,
) -> tuple[PolicyDecision, ...]:
    """Return what the policy says of tools, for a run that might be."""
    row = assembly.configuration(configuration)
    usual = None if assembly.host is None else assembly.host.default_model
    named = model or (None if row is None else row.model) or assembly.model_name or usual
    reader = None if named is None else assembly.model(named, row)
    request = Wanted(actor=actor or assembly.actor, reader=reader, configuration=row)
    return assembly.shelf.explain(request, names)
