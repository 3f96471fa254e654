"""The face of nr-llm: runs conversations, in either colour, with the models and tools a host has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from nr_llm._assembly import Assembly, Setting
from nr_llm._checks import check_host, check_kinds, check_parts, providers_of, tools_of
from nr_llm._choice import Source
from nr_llm._desk import Desk
from nr_llm._drive import drained, events
from nr_llm._gates import policy_of
from nr_llm._going_on import GoingOn, adrained
from nr_llm._keeping import OnFailure, OnPlainState
from nr_llm._leases import LEASE_SECONDS, Leases
from nr_llm._listing import asking
from nr_llm._observers import ObserverFactory
from nr_llm._perform import Performer
from nr_llm._purse import Purses
from nr_llm._run_settings import RunSettings
from nr_llm._single import SingleSteps
from nr_llm._transports import Transports
from nr_llm.actors import Actor
from nr_llm.budgets import Budgets, Spending
from nr_llm.configurations import Configuration
from nr_llm.conversation import Prompt
from nr_llm.limits import Limits
from nr_llm.middleware import Middleware, Retry, wrapped
from nr_llm.options import Options
from nr_llm.policy import Policy
from nr_llm.privacy import PrivacyLevel
from nr_llm.providers import Model, Provider
from nr_llm.redaction import Redactor
from nr_llm.runs import Outcome
from nr_llm.secrets import Secret
from nr_llm.stores import RunStore
from nr_llm.streams import AsyncRunStream, RunStream
from nr_llm.toolbox import Toolbox
from nr_llm.tools import Tool

if TYPE_CHECKING:
    from nr_llm._aperform import AsyncPerformer
    from nr_llm._calls import Job
    from nr_llm._loop_thread import LoopThread


class Runtime(GoingOn, SingleSteps):
    """
    Runs conversations; one for the whole process, safe to use from many threads and tasks.

    There are no globals: two Runtimes know nothing of each other.  Use it in a ``with`` statement, or call `close`.

    Args:
        host: Where plugins are found, such as ``PluginHost.discover()``; None for no plugins.
        tools: Further tools, or typed functions, beside the plugins'.
        providers: Further providers.
        model: ``provider:model``, or an alias of the configuration, for runs that name none; else the configuration's
            `default_model`.
        options: Settings of model calls for runs that give none.
        limits: Bounds of runs that give none.
        configuration: Name of the configuration of runs that name none; else the configuration file's
            `default_configuration`.
        actor: On whose behalf runs act that name nobody.
        policy: What the operator says about tools and providers, or a function that returns it now; else the
            configuration file's ``[policy]``.
        budgets: What each actor may spend in an hour, a day, a month, by `Actor.id` or as a function of the actor.
        spending: Knows what they spent; else the store where it does, else the memory of this process.
        live: Factories of observers, who see each step whole and first.
        store: Keeps the runs.
        privacy: How much of each run is kept at most; ``metadata`` where nobody names a level.
        on_store_failure: ``stop`` ends a run whose store fails; ``continue`` lets one that only reads go on without
            a record of it.  Writes, and runs that wait for a person, always need the store.
        on_plain_state: ``refuse`` suspends no run whose state the store would keep unencrypted although its record
            keeps less than everything; ``tell`` logs that once.
        lease_seconds: How long a run counts as held by a process that is paused, or gone from another machine.
        secrets: Values tools may ask for by alias; masked wherever they appear.
        middleware: Layers around each model call, the first one outermost.
        redactor: Masks secrets in logs; the host's unless given.
        http: An `httpx.Client`, or one shaped like it, to send with.
        async_http: The same for async runs.
    """

    def __init__(
        self,
        host: Source | None = None,
        *,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        providers: Iterable[Provider] = (),
        model: str | None = None,
        options: Options | None = None,
        limits: Limits | None = None,
        configuration: str | None = None,
        actor: Actor | None = None,
        policy: Policy | Callable[[], Policy] | None = None,
        budgets: Budgets | None = None,
        spending: Spending | None = None,
        live: Sequence[ObserverFactory] = (),
        store: RunStore | None = None,
        privacy: PrivacyLevel | str | None = None,
        on_store_failure: OnFailure = "stop",
        on_plain_state: OnPlainState = "tell",
        lease_seconds: float = LEASE_SECONDS,
        secrets: Mapping[str, Secret | str] | None = None,
        middleware: Sequence[Middleware] = (Retry(),),
        redactor: Redactor | None = None,
        http: Any = None,
        async_http: Any = None,
    ) -> None:
        check_host(host)
        check_kinds(options=options, limits=limits, actor=actor, secrets=secrets)
        check_parts(live=live, middleware=middleware, http=http, async_http=async_http)
        self._assembly = Assembly(
            host=host,
            own_tools=Toolbox.of(tools_of(tools)).registered,
            own_providers=providers_of(providers),
            model_name=model,
            options=options or Options(),
            limits=limits or Limits(),
            configuration_name=configuration,
            policy=policy_of(policy, host),
            purses=Purses.of(budgets, spending, store),
            actor=actor,
            live=tuple(live),
            store=store,
            privacy=None if privacy is None else PrivacyLevel.of(privacy),
            on_store_failure=on_store_failure,
            on_plain_state=on_plain_state,
            leases=Leases(lease_seconds),
            secrets=dict(secrets or {}),
            completer=wrapped(middleware),
            redactor=redactor or (Redactor() if host is None else host.redactor),
        )
        self._transports = Transports(http, async_http)
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None

    def __repr__(self) -> str:
        own = self._assembly
        known = {"model": own.model_name, "providers": sorted(own.own_providers), "tools": sorted(own.own_tools)}
        parts = ["plugins"] * (own.host is not None) + [f"{name}={value!r}" for name, value in known.items() if value]
        return f"<Runtime {', '.join(parts) or 'without tools and providers'}>"

    # -- runs ---------------------------------------------------------------------------------------------------

    def run(self, prompt: Prompt, **settings: Unpack[RunSettings]) -> Outcome:
        """
        Run a conversation to its end.

        Args:
            prompt: A question, a message, or a whole conversation.
            **settings: As for `stream`.

        Returns:
            The result, or `Suspended` when a person has to decide.

        Raises:
            NrLlmError: The run failed; `state` holds the run so far.
        """
        setting = self._assembly.new(prompt, streamed=False, **settings)
        return drained(events(setting.flow, self._performer(setting.desk)))

    async def arun(self, prompt: Prompt, **settings: Unpack[RunSettings]) -> Outcome:
        """Run a conversation to its end; the asynchronous twin of `run`."""
        setting = self._assembly.new(prompt, streamed=False, **settings)
        return await adrained(self._astream(setting))

    def stream(self, prompt: Prompt, **settings: Unpack[RunSettings]) -> RunStream:
        """
        Run a conversation and watch it: ``with runtime.stream("…") as stream: for event in stream: …``.

        Nothing happens before the first event is asked for.

        Args:
            prompt: A question, a message, or a whole conversation.
            **settings: Those of `RunSettings`.
        """
        setting = self._assembly.new(prompt, streamed=True, **settings)
        return self._stream(setting)

    def astream(self, prompt: Prompt, **settings: Unpack[RunSettings]) -> AsyncRunStream:
        """Run a conversation and watch it; the asynchronous twin of `stream`."""
        setting = self._assembly.new(prompt, streamed=True, **settings)
        return self._astream(setting)

    # -- what there is ------------------------------------------------------------------------------------------

    @property
    def host(self) -> Source | None:
        """Where plugins are found, or None."""
        return self._assembly.host

    @property
    def store(self) -> RunStore | None:
        """Where runs are kept, or None; `RunHistory` shows them to somebody."""
        return self._assembly.store

    @property
    def redactor(self) -> Redactor:
        """Masks the secrets this Runtime and its plugins know; share it with whatever shows or writes."""
        return self._assembly.redactor

    @property
    def limits(self) -> Limits:
        """Bounds of runs that give none."""
        return self._assembly.limits

    @property
    def privacy(self) -> PrivacyLevel | None:
        """How much of each run is kept at most, or None where nobody named a level."""
        return self._assembly.privacy

    def tools(self) -> Mapping[str, Tool]:
        """Return every tool there is, by the name a model would use."""
        return self._assembly.tools()

    def provider(self, name: str) -> Provider:
        """
        Return a provider by name.

        Raises:
            UnknownNameError: There is none.
        """
        return self._assembly.provider(name)

    def configurations(self) -> Mapping[str, Configuration]:
        """Return what runs may be given under one name, by that name; loads all plugins."""
        return {} if self._assembly.host is None else self._assembly.host.configurations()

    def describe(self, model: str | None = None, *, configuration: str | None = None) -> tuple[Provider, Model]:
        """
        Return who answers for ``provider:model`` or an alias, and what is known of the model.

        Raises:
            ConfigurationError: No model is named, here, as the Runtime's own or in the configuration.
            UnknownNameError: There is no such provider, alias or configuration.
        """
        chosen = self._assembly.model(model, self._assembly.configuration(configuration))
        return chosen.provider, chosen.known

    def models(self, provider: str) -> tuple[Model, ...]:
        """
        Ask a provider's service which models it offers; one without such a list says what it knows by itself.

        Args:
            provider: Its name.

        Returns:
            The models, with what the configuration adds to them.

        Raises:
            UnknownNameError: There is no such provider.
            ConfigurationError: It has no list.
            ProviderError: The service refuses.
        """
        found = self.provider(provider)
        asked, transport = asking(found), self._transports.of(found, is_async=False)
        reply = None
        with closing(asked):
            while True:
                try:
                    request = asked.send(reply)  # type: ignore[arg-type]  # a generator begins with None
                except StopIteration as stop:
                    return self._assembly.known(stop.value)
                reply = transport.send(request)

    async def amodels(self, provider: str) -> tuple[Model, ...]:
        """Ask a provider's service which models it offers; the asynchronous twin of `models`."""
        found = self.provider(provider)
        asked, transport = asking(found), self._transports.of(found, is_async=True)
        reply = None
        with closing(asked):
            while True:
                try:
                    request = asked.send(reply)  # type: ignore[arg-type]  # a generator begins with None
                except StopIteration as stop:
                    return self._assembly.known(stop.value)
                reply = await transport.send(request)

    # -- the end ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close connections, toolsets and threads; runs under way are not waited for."""
        self._transports.close()
        if self._loop is not None:
            self._loop.close()
        if self._assembly.host is not None:
            self._assembly.host.close()

    async def aclose(self) -> None:
        """Close connections, toolsets and threads, those of this event loop included."""
        await self._transports.aclose()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # -- the two colours ----------------------------------------------------------------------------------------

    def _performer(self, desk: Desk) -> Performer:
        return Performer(
            desk, transport=self._transports.of(desk.provider, is_async=False), await_in_loop=self._await_in_loop
        )

    def _await_in_loop(self, awaitable: Any, job: Job) -> Any:
        """Await what an async tool of a blocking run returned; asyncio is imported when that first happens."""
        with self._lock:
            if self._loop is None:
                from nr_llm._loop_thread import LoopThread

                self._loop = LoopThread()
            loop = self._loop
        return loop.wait(awaitable, job)

    def _stream(self, setting: Setting) -> RunStream:
        return RunStream(events(setting.flow, self._performer(setting.desk)), setting.desk)

    def _astream(self, setting: Setting) -> AsyncRunStream:
        from nr_llm._adrive import aevents

        return AsyncRunStream(aevents(setting.flow, self._aperformer(setting.desk)), setting.desk)

    def _aperformer(self, desk: Desk) -> AsyncPerformer:
        from nr_llm._aperform import AsyncPerformer

        return AsyncPerformer(desk, transport=self._transports.of(desk.provider, is_async=True))
