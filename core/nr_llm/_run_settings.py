"""What may be said of one run by keyword, a new one and one that goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from nr_llm._choice import ToolChoice
from nr_llm._json import JSON
from nr_llm.actors import Actor
from nr_llm.cancellation import Cancellation
from nr_llm.limits import Limits
from nr_llm.messages import Attachment
from nr_llm.options import Options
from nr_llm.privacy import PrivacyLevel


class ResumeSettings(TypedDict, total=False):
    """
    What a resumed run may be given.

    Keys:
        tools: Names, ``@group``, ``plugin:tool``, `Tool` objects, typed functions, or one of them; None for the
            default set of enabled reads, ``[]`` for none.
        actor: On whose behalf the run acts.
        deps: What tools find as ``context.deps``.
        cancel: Thrown to stop the run.
        output: The form of the answer: an attrs class, a dataclass, a TypedDict, any other type that a tool's
            parameter may have, or a JSON Schema of an object; `RunResult.output` is the answer as that value.  A
            resumed run keeps its form; pass the class again to get its value rather than a dict.
        inputs: What a person filled in for calls that wait for it, by index in the turn; None declines one.
    """

    tools: ToolChoice | Iterable[ToolChoice] | None
    actor: Actor | None
    deps: Any
    cancel: Cancellation | None
    output: Any
    inputs: Mapping[int, Mapping[str, JSON] | None]


class RunSettings(ResumeSettings, total=False):
    """
    What a new run may be given, beside what `ResumeSettings` lists.

    Keys:
        model: ``provider:model``, or an alias of the configuration, whose limits and defaults then stand behind
            those given here.
        system: An instruction to put in front of the conversation.
        attachments: Images and documents for the last user message.
        options: Settings of model calls.
        limits: Bounds of the run.
        run_id: A name for the run; made up unless given.
        privacy: How much of the run is kept; where the Runtime or a configuration names a level too, the strictest
            counts.
        continues: The run whose conversation this one goes on with, for the record.
        dry_run: Record what the first request would hold, and ask nobody.
        configuration: Name of a configuration: what the run begins with where nothing else is given here, and what
            bounds its limits and tools.
    """

    model: str | None
    system: str | None
    attachments: Iterable[Attachment]
    options: Options | None
    limits: Limits | None
    run_id: str | None
    privacy: PrivacyLevel | str | None
    continues: str | None
    dry_run: bool
    configuration: str | None
