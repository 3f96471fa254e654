"""A Runtime whose model is a script and whose runs leave everything behind that a test may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Any, Self, Unpack

from nr_llm._checks import Verdicts
from nr_llm._choice import Source
from nr_llm._observers import ObserverFactory
from nr_llm._run_settings import ResumeSettings, RunSettings
from nr_llm.conversation import Prompt
from nr_llm.requests import CompletionRequest
from nr_llm.runs import Outcome, Suspended
from nr_llm.runtime import Runtime
from nr_llm.state import RunState
from nr_llm.steps import RunStep
from nr_llm.streams import AsyncRunStream, RunStream
from nr_llm.testing.recorder import Checkpoints, Recorder
from nr_llm.testing.scripted import Reply, ScriptedProvider
from nr_llm.tools import Tool


class Harness:
    """
    Runs conversations whose model says what the test wrote: ``harness.run("hi", replies=[...], tools=[...])``.

    Runs are named ``run-1``, ``run-2``, …; nothing is asked anywhere, waited for or stored outside memory.

    Args:
        host: Where plugins are found, if any.
        tools: Tools of the Runtime, beside those a run is given.
        model: What the scripted model says of itself, such as ``{"context": 4096}``.
        live: Further observers.
        **settings: Further arguments of `Runtime`.

    Attributes:
        provider: The scripted provider; its `requests` are those of the last run.
        recorder: Steps, deltas and ends of all runs.
        checkpoints: The store of all runs, unless one was given.
        runtime: The Runtime.
    """

    def __init__(
        self,
        host: Source | None = None,
        *,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        model: Mapping[str, Any] | None = None,
        live: Sequence[ObserverFactory] = (),
        **settings: Any,
    ) -> None:
        self.provider = ScriptedProvider(**(model or {}))
        self.recorder = Recorder()
        self.checkpoints = Checkpoints()
        own: dict[str, Any] = {"providers": [self.provider], "model": "scripted:", "store": self.checkpoints}
        self.runtime = Runtime(host, tools=tools, live=(self.recorder, *live), **(own | settings))
        self._numbers = count(1)

    def run(self, prompt: Prompt = "Go.", *, replies: Sequence[Reply] = (), **settings: Unpack[RunSettings]) -> Outcome:
        """
        Run a conversation to its end.

        Args:
            prompt: A question, a message, or a whole conversation.
            replies: What the model answers, in order; the last one as often as it is asked for.
            **settings: As for `Runtime.run`.
        """
        return self.runtime.run(prompt, **self._scripted(replies, settings))

    async def arun(
        self, prompt: Prompt = "Go.", *, replies: Sequence[Reply] = (), **settings: Unpack[RunSettings]
    ) -> Outcome:
        """Run a conversation to its end; the asynchronous twin of `run`."""
        return await self.runtime.arun(prompt, **self._scripted(replies, settings))

    def stream(
        self, prompt: Prompt = "Go.", *, replies: Sequence[Reply] = (), **settings: Unpack[RunSettings]
    ) -> RunStream:
        """Run a conversation and watch it: ``with harness.stream(...) as stream: for event in stream: …``."""
        return self.runtime.stream(prompt, **self._scripted(replies, settings))

    def astream(
        self, prompt: Prompt = "Go.", *, replies: Sequence[Reply] = (), **settings: Unpack[RunSettings]
    ) -> AsyncRunStream:
        """Run a conversation and watch it; the asynchronous twin of `stream`."""
        return self.runtime.astream(prompt, **self._scripted(replies, settings))

    def resume(
        self,
        suspended: Suspended | RunState,
        verdicts: Verdicts = True,  # noqa: FBT002  # as `Runtime.resume` takes it
        *,
        replies: Sequence[Reply] = (),
        **settings: Unpack[ResumeSettings],
    ) -> Outcome:
        """Go on with a suspended run or a checkpoint; every call is approved unless told otherwise."""
        self.provider.script(*replies)
        return self.runtime.resume(suspended, verdicts, **settings)

    async def aresume(
        self,
        suspended: Suspended | RunState,
        verdicts: Verdicts = True,  # noqa: FBT002  # as `Runtime.aresume` takes it
        *,
        replies: Sequence[Reply] = (),
        **settings: Unpack[ResumeSettings],
    ) -> Outcome:
        """Go on with a suspended run or a checkpoint; the asynchronous twin of `resume`."""
        self.provider.script(*replies)
        return await self.runtime.aresume(suspended, verdicts, **settings)

    @property
    def requests(self) -> list[CompletionRequest]:
        """What the model was asked in the last run."""
        return self.provider.requests

    @property
    def steps(self) -> list[RunStep]:
        """The steps of all runs."""
        return self.recorder.steps

    def _scripted(self, replies: Sequence[Reply], settings: RunSettings) -> RunSettings:
        self.provider.script(*replies)
        named: RunSettings = {"run_id": f"run-{next(self._numbers)}"}
        return {**named, **settings}

    def close(self) -> None:
        """Close the Runtime."""
        self.runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
