"""Assembles runs: from what a caller names to a state, a plan and a desk; neither colour yet."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import attrs

from nr_llm._answering import Answering, answering_of
from nr_llm._begun import setting_of
from nr_llm._checks import Verdicts, check_settings, resumable, said, secrets_of
from nr_llm._choice import Source
from nr_llm._configured import bounded_again, configured, configured_again, instructed
from nr_llm._desk import Desk
from nr_llm._gates import Known, PolicySource, read
from nr_llm._json import JSON
from nr_llm._keeping import Keeper, OnFailure, OnPlainState, Taking
from nr_llm._leases import Leases
from nr_llm._loop import Plan, dry_run, tool_loop
from nr_llm._models import Chosen, chosen
from nr_llm._observers import FilteredFactory, ObserverFactory, Observers, RunInfo
from nr_llm._pricing import priced
from nr_llm._provenance import Provenance
from nr_llm._purse import Purses
from nr_llm._run_settings import ResumeSettings, RunSettings
from nr_llm._shelf import Shelf, Wanted
from nr_llm._slots import Slots
from nr_llm._threads import DaemonThreads
from nr_llm.actors import Actor
from nr_llm.aliases import facts_of
from nr_llm.audit import AuditedFilter
from nr_llm.cancellation import Cancellation
from nr_llm.configurations import Configuration
from nr_llm.conversation import Prompt, as_messages
from nr_llm.effects import Completer, Flow
from nr_llm.errors import ConfigurationError, UnknownNameError
from nr_llm.inputs import filled
from nr_llm.limits import Limits
from nr_llm.middleware import within
from nr_llm.options import Options
from nr_llm.plugins import RegisteredTool
from nr_llm.policy import nothing_said
from nr_llm.privacy import PrivacyLevel, StepFilter, strictest, strictest_named
from nr_llm.providers import Model, Provider
from nr_llm.records import RunHead
from nr_llm.redaction import Redactor
from nr_llm.runs import Outcome, Suspended, decide
from nr_llm.secrets import Secret
from nr_llm.state import RunState
from nr_llm.stores import RunStore
from nr_llm.toolbox import Toolbox
from nr_llm.tools import Tool
from nr_llm.window import Window


@attrs.frozen(eq=False)
class Setting:
    """A run ready to be performed."""

    flow: Flow[Outcome]
    desk: Desk


@attrs.frozen(kw_only=True, eq=False)
class Assembly:
    """What a Runtime was given, and how runs are made of it."""

    host: Source | None
    own_tools: Mapping[str, Tool]
    own_providers: Mapping[str, Provider]
    model_name: str | None
    options: Options
    limits: Limits
    actor: Actor | None
    live: Sequence[ObserverFactory]
    store: RunStore | None
    privacy: PrivacyLevel | None
    on_store_failure: OnFailure
    on_plain_state: OnPlainState
    leases: Leases
    secrets: Mapping[str, Secret] = attrs.field(converter=secrets_of)
    completer: Completer
    redactor: Redactor
    configuration_name: str | None = None
    policy: PolicySource = nothing_said
    purses: Purses = attrs.field(factory=Purses)
    threads: DaemonThreads = attrs.field(factory=DaemonThreads)
    slots: Slots = attrs.field(factory=Slots)
    log: logging.Logger = attrs.field(factory=lambda: logging.getLogger("nr_llm"))
    provenance: Provenance = attrs.field(factory=Provenance)
    origins: Known = attrs.field(factory=Known)

    def __attrs_post_init__(self) -> None:
        for secret in self.secrets.values():
            self.redactor.learn(secret)

    def tools(self) -> Mapping[str, Tool]:
        """Return every tool there is, by the name a model would use."""
        return self.shelf.tools()

    def provider(self, name: str) -> Provider:
        """Return a provider by name."""
        if name in self.own_providers:
            return self.own_providers[name]
        if self.host is None:
            raise UnknownNameError("provider", name, known=self.own_providers)
        return self.host.provider(name).provider

    def configuration(self, name: str | None) -> Configuration | None:
        """Return the configuration of a run that names one, or none."""
        return configured(name, self.configuration_name, self.host)

    def model(self, name: str | None, configuration: Configuration | None = None) -> Chosen:
        """Return who answers for ``provider:model`` or an alias, and what is known of the model."""
        named = name or (None if configuration is None else configuration.model) or self.model_name
        reference = named or (None if self.host is None else self.host.default_model)
        if not reference:
            raise ConfigurationError(
                "No model is named.",
                remedy="Pass model='provider:model' to the run or the Runtime, or set default_model in nr-llm.toml.",
            )
        return attrs.evolve(chosen(reference, self.host, self.provider), configuration=configuration)

    def known(self, models: Iterable[Model]) -> tuple[Model, ...]:
        """Return models with what the configuration adds to them."""
        aliases = {} if self.host is None else self.host.models()
        return tuple(facts_of(model, aliases.values()) for model in models)

    def new(self, prompt: Prompt, *, streamed: bool, **settings: Unpack[RunSettings]) -> Setting:
        """Return a new run."""
        check_settings(settings, RunSettings)
        configuration, system = self.configuration(settings.get("configuration")), settings.get("system")
        messages = as_messages(prompt, system=system, attachments=settings.get("attachments") or ())
        messages = instructed(messages, system, configuration)
        model = self.model(settings.get("model"), configuration)
        model.check(messages)
        provider, known = model.provider, model.known
        tools, actor = settings.get("tools"), settings.get("actor") or self.actor
        toolbox = self.shelf.toolbox(Wanted(tools=tools, actor=actor, reader=model, configuration=configuration))
        answering = answering_of(settings.get("output"), known, toolbox)
        limits = model.limits(settings.get("limits") or self.limits)
        level = strictest_named(
            self.privacy, settings.get("privacy"), None if configuration is None else configuration.privacy
        )
        state = RunState(
            run_id=settings.get("run_id") or uuid.uuid4().hex,
            model=f"{provider.name}:{known.name}",
            messages=messages,
            start=len(messages),
            allowed=toolbox.offered if tools is not None or (configuration and configuration.chooses) else None,
            options=model.options(settings.get("options") or self.options),
            limits=limits,
            price=priced(known, provider, limits),
            output=None if answering is None else answering.output.schema,
            configuration=None if configuration is None else configuration.name,
            privacy=level,
        )
        begins = not settings.get("dry_run")
        desk = self.desk(state, toolbox, provider=provider, actor=actor, begins=begins, **_extras(settings))
        plan = self._plan(state, known, toolbox, answering, provider=provider, streamed=streamed)
        self._watch(
            desk,
            state,
            setting=partial(setting_of, state, plan, context=known.context, max_output=known.max_output),
            privacy=strictest(level),
            continues=settings.get("continues"),
            streamed=streamed,
        )
        flow = dry_run if settings.get("dry_run") else tool_loop
        return Setting(flow(state, plan, desk.invocations), desk)

    def again(
        self,
        suspended: Suspended | RunState,
        verdicts: Verdicts,
        *,
        streamed: bool,
        **settings: Unpack[ResumeSettings],
    ) -> Setting:
        """Return a suspended run with what a person said, its tools checked anew."""
        check_settings(settings, ResumeSettings)
        state = resumable(suspended)
        state = filled(decide(state, said(state, verdicts)), settings.get("inputs") or {})
        return self.resumed(state, settings, actor=settings.get("actor") or self.actor, streamed=streamed)

    def resumed(
        self,
        state: RunState,
        settings: ResumeSettings,
        *,
        actor: Actor | None,
        streamed: bool,
        taking: Taking | None = None,
    ) -> Setting:
        """Return a run that goes on, with everything around it as it is now."""
        configuration = configured_again(state, self.host)
        state = bounded_again(state, configuration)
        model = self.model(state.model)
        model.check(state.messages)
        provider, known = model.provider, model.known
        try:
            wanted, strict = settings.get("tools", state.allowed), "tools" in settings
            request = Wanted(tools=wanted, actor=actor, reader=model, configuration=configuration, strict=strict)
            toolbox = self.shelf.toolbox(request).within(state.allowed)
        except UnknownNameError as error:
            if "tools" in settings:
                raise
            remedy = "Pass tools=[...] when you resume, as you did when the run began."
            raise UnknownNameError("tool", error.name, known=self.tools(), remedy=remedy) from error
        desk = self.desk(state, toolbox, provider=provider, actor=actor, **_extras(settings))
        answering = answering_of(settings.get("output") or state.output, known, toolbox)
        plan = self._plan(state, known, toolbox, answering, provider=provider, streamed=streamed)
        bound = None if configuration is None else configuration.privacy
        begun = None if taking is None else taking.run.head.privacy
        level = strictest(self.privacy, bound, state.privacy, begun)
        self._watch(desk, state, privacy=level, taking=taking, streamed=streamed)
        return Setting(tool_loop(state, plan, desk.invocations), desk)

    @property
    def shelf(self) -> Shelf:
        """The tools there are."""
        return Shelf(host=self.host, own=self.own_tools, policy=self.policy, model=self.model, known=self.origins)

    def _plan(
        self,
        state: RunState,
        known: Model,
        toolbox: Toolbox,
        answering: Answering | None,
        *,
        provider: Provider,
        streamed: bool,
    ) -> Plan:
        window = None
        if known.context is not None:
            window = Window.of(known.context, max_tokens=state.options.max_tokens, max_output=known.max_output)
        return Plan(
            toolbox=toolbox,
            completer=within(provider, self.completer),
            window=window,
            model=known.name,
            stream=streamed,
            answering=answering,
        )

    def desk(
        self,
        state: RunState,
        toolbox: Toolbox,
        *,
        provider: Provider | None = None,
        actor: Actor | None = None,
        deps: Any = None,
        cancel: Cancellation | None = None,
        watched: bool = True,
        begins: bool = False,
    ) -> Desk:
        """Return the desk of a run."""
        info = RunInfo(run_id=state.run_id, model=state.model, actor=actor)
        return Desk(
            run_id=state.run_id,
            provider=provider,
            toolbox=toolbox,
            limits=state.limits,
            purse=None if provider is None else self.purses.purse(actor, state, begins=begins),
            threads=self.threads,
            slots=self.slots,
            observers=Observers(self.live if watched else (), info, self.log),
            last=state,
            cancelled=cancel or Cancellation(),
            redactor=self.redactor,
            log=self.log,
            actor=actor,
            deps=deps,
            secret_of=self._secret,
        )

    def _watch(
        self,
        desk: Desk,
        state: RunState,
        *,
        privacy: PrivacyLevel,
        setting: Callable[[], dict[str, JSON]] | None = None,
        continues: str | None = None,
        taking: Taking | None = None,
        streamed: bool = False,
    ) -> None:
        """Have a run watched by the plugins that are to, and kept, if there is a store."""
        seen = StepFilter(privacy, self.redactor)
        if self.host is not None:
            desk.observers.join(FilteredFactory(factory, seen) for factory in self.host.observers())
        if self.store is None:
            return
        toolbox = desk.toolbox

        def writes(name: str) -> bool:
            return (tool := toolbox.get(name)) is not None and tool.writes

        head = RunHead(
            run_id=state.run_id,
            model=state.model,
            configuration=state.configuration,
            actor=desk.actor,
            privacy=privacy,
            began=time.time(),
            continues=continues,
            provenance=self._provenance(desk.toolbox, desk.provider_name),
            setting=setting() if setting is not None and privacy is PrivacyLevel.FULL else None,
        )
        policy = read(toolbox.gate.policy)
        desk.keeper = Keeper(
            store=self.store,
            head=head,
            filter=AuditedFilter(
                privacy, self.redactor, audit=policy.write_arguments, writes=writes, run_id=state.run_id
            ),
            writes=writes,
            cancelled=desk.cancelled,
            on_failure=self.on_store_failure,
            on_plain_state="refuse" if policy.plain_state == "refuse" else self.on_plain_state,
            leases=self.leases,
            taking=taking,
            at_once=streamed or getattr(self.store, "at_once", False),
            log=self.log,
        )

    def _provenance(self, toolbox: Toolbox, provider: str) -> dict[str, JSON]:
        if self.host is None or not toolbox.offered:
            tools: Sequence[RegisteredTool] = ()
        else:
            tools = self.host.tools()
        offered = None if self.host is None or provider in self.own_providers else self.host.provider(provider)
        return self.provenance.of(toolbox, tools, offered)

    def _secret(self, alias: str) -> str:
        if alias not in self.secrets:
            raise UnknownNameError(
                "secret", alias, known=self.secrets, remedy="Pass it to the Runtime as secrets={...}."
            )
        return self.secrets[alias].reveal()


def _extras(settings: ResumeSettings) -> dict[str, Any]:
    return {"deps": settings.get("deps"), "cancel": settings.get("cancel")}
