"""One decision says which tools are open: when they are offered, when they are called, when a run goes on."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm import (
    Actor,
    ConfigurationError,
    DataClass,
    Endpoint,
    InvalidValueError,
    MemoryStore,
    PluginHost,
    Policy,
    PolicyDecision,
    PolicyError,
    PolicyReason,
    RunStep,
    Runtime,
    StepRecorded,
    Suspended,
    Tool,
    ToolCall,
    TrustZone,
    invoke,
    tool,
)
from nr_llm.config import read_config
from nr_llm.errors import UnknownNameError
from nr_llm.policy import Gate, permits
from nr_llm.testing import ScriptedProvider, calling
from nr_llm.zones import CEILINGS, furthest

from tests.core.colours import COLOURS
from tests.core.plugin_parts import Plugin
from tests.distributions import Site, site

__all__ = ["site"]

both = pytest.mark.parametrize("colour", COLOURS)

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    """Begin with nothing having run."""
    RAN.clear()


def reading(name: str, **settings: Any) -> Tool:
    """Return a tool that notes that it ran."""

    def function() -> str:
        RAN.append(name)
        return f"{name} ran"

    return Tool.from_function(function, name=name, description=name, **settings)


open_ = reading("open_", data_class="public")
papers = reading("papers", group="desk", data_class="content")
logs = reading("logs", data_class="diagnostics")
keys = reading("keys", group="desk", data_class="secret")
away = reading("away", data_class="diagnostics", remote=True)
plain = reading("plain")
boss = reading("boss", admin_only=True, data_class="public")
put = reading("put", effect="write", approval=False, data_class="public")
TOOLS = [open_, papers, logs, keys, away, plain, boss, put]


def far(*replies: Any, name: str = "far") -> ScriptedProvider:
    """Return a provider that is not on this machine."""
    provider = ScriptedProvider(*(replies or ("done",)), name=name)
    provider.endpoint = Endpoint("far.example")
    return provider


def runtime(*replies: Any, policy: Any = None, host: Any = None, **settings: Any) -> Runtime:
    """Return a Runtime with a provider that is far and one that is near."""
    near = ScriptedProvider(*(replies or ("done",)), name="near")
    given: dict[str, Any] = {"tools": TOOLS, "model": "far:m", **settings}
    return Runtime(host, providers=[far(*replies), near], policy=policy, **given)


def decided(own: Runtime, **settings: Any) -> dict[str, PolicyDecision]:
    """Return what the policy says of each tool."""
    return {one.tool: one for one in own.explain(**settings)}


def closed(own: Runtime, **settings: Any) -> dict[str, str]:
    """Return why each closed tool is."""
    return {name: str(one.reason) for name, one in decided(own, **settings).items() if not one.allowed}


def steps(own: Runtime, **settings: Any) -> list[RunStep]:
    """Run, and return the steps."""
    with own.stream("hi", **settings) as stream:
        return [event.step for event in stream if isinstance(event, StepRecorded)]


def told(found: list[RunStep]) -> list[Mapping[str, Any]]:
    """Return what steps say of the policy."""
    return [one for step in found for one in step.policy or ()]


def written(folder: Path, text: str, name: str = "user", *, trusted: bool = True) -> Any:
    """Return what a file says."""
    path = folder / f"{name}.toml"
    path.write_text(text, "utf-8")
    return read_config(path, trusted=trusted)


class TestDecision:
    def test_c69_an_unknown_name_has_the_strictest_class(self):
        """What nobody has is not registered, and may return anything."""
        [one] = runtime().explain("nosuch")

        assert (one.allowed, one.reason, one.data_class) == (False, PolicyReason.NOT_REGISTERED, DataClass.SECRET)
        assert one.text == "There is no tool named 'nosuch'."

    def test_c69_the_cheaper_reason_is_told(self):
        """A tool that is off and above the ceiling is off; nothing is said of zones."""
        [one] = runtime(policy=Policy(tools={"keys": False})).explain("keys")

        assert one.reason is PolicyReason.TOOL_DISABLED
        assert one.text == "Tool 'keys' is switched off."

    @pytest.mark.parametrize(
        ("actor", "reason"),
        [
            (None, PolicyReason.REQUIRES_ADMIN),
            (Actor("ann"), PolicyReason.REQUIRES_ADMIN),
            (Actor.anonymous(), PolicyReason.REQUIRES_ADMIN),
            (Actor.service("cron"), PolicyReason.REQUIRES_ADMIN),
            (Actor("root", admin=True), PolicyReason.NONE),
        ],
    )
    def test_c70_administrators(self, actor: Actor | None, reason: PolicyReason):
        """Nobody in particular is no administrator."""
        assert runtime().explain("boss", actor=actor)[0].reason is reason

    @pytest.mark.parametrize("word", ["observe", "OBSERVE ", " Observe"])
    def test_c71_observing(self, word: str):
        """The one word lets a tool above the ceiling through, and it is told."""
        [one] = runtime(policy=Policy(data_classes=word)).explain("logs")

        assert (one.allowed, one.observed, one.reason) == (True, True, PolicyReason.NONE)
        assert one.text.endswith("zone external_global may be told content at most; it is let through.")

    @pytest.mark.parametrize("word", ["", "off", "observ", "observed", None, 1, True, ["observe"], object()])
    def test_c71_anything_else_enforces(self, word: Any):
        """What is misspelt, missing or unreadable enforces."""
        [one] = runtime(policy=Policy(data_classes=word)).explain("logs")

        assert (one.allowed, one.observed, one.reason) == (False, False, PolicyReason.TRUST_ZONE)

    def test_c72_remote_tools_are_always_held(self):
        """A tool that works elsewhere is not let through."""
        [one] = runtime(policy=Policy(data_classes="observe")).explain("away")

        assert (one.allowed, one.reason) == (False, PolicyReason.TRUST_ZONE)

    def test_c73_a_group_that_is_off(self):
        """A tool's own switch does not open what its group closes; a group closes what comes later too."""
        own = runtime(policy=Policy(groups={"desk": False, "later": False}, tools={"papers": True}))

        assert closed(own, model="near:m") == {
            "papers": "tool_disabled",
            "keys": "tool_disabled",
            "boss": "requires_admin",
        }

    @pytest.mark.parametrize(
        ("grants", "actor", "permitted"),
        [
            (["user:ann"], Actor("ann"), True),
            (["user:ann"], Actor("bob"), False),
            (["group:desk"], Actor("bob", groups=("desk",)), True),
            (["service:cron"], Actor.service("cron"), True),
            (["user:cron"], Actor.service("cron"), False),
            (["admin"], Actor("ann"), False),
            (["admin"], Actor("root", admin=True), True),
            ([], Actor("root", admin=True), True),
            (["user:" + "x"], None, False),
            (["user:ann"], attrs.evolve(Actor.anonymous(), id="ann"), False),
        ],
    )
    def test_restricted(self, grants: list[str], actor: Actor | None, permitted: bool):
        """A tool is open to whom the operator names, and to administrators."""
        own = runtime(policy=Policy(restrict={"open_": grants}))

        assert permits(grants, actor) is permitted
        assert own.explain("open_", actor=actor)[0].allowed is permitted

    def test_a_group_is_restricted(self):
        """A restriction of a group and one of a tool both count."""
        own = runtime(policy=Policy(restrict={"@desk": ["user:ann", "user:bob"], "papers": ["user:bob"]}))

        assert own.explain("papers", actor=Actor("ann"))[0].reason is PolicyReason.ACTOR_NOT_PERMITTED
        assert own.explain("papers", actor=Actor("bob"))[0].allowed

    @pytest.mark.parametrize("zone", TrustZone)
    def test_each_zone_is_told_up_to_its_ceiling(self, zone: TrustZone):
        """The ladder of classes meets the ladder of zones at the ceiling."""
        own = runtime(policy=Policy(zones={"far": zone}))
        open_to = {DataClass(one.data_class) for one in own.explain() if one.allowed}
        ladder = tuple(DataClass)

        assert max(open_to, key=ladder.index).within(CEILINGS[zone])
        assert {str(one.ceiling) for one in own.explain()} == {str(zone.ceiling)}
        assert open_to == {each.data_class or DataClass.CONTENT for each in TOOLS} & set(
            ladder[: ladder.index(zone.ceiling) + 1]
        )

    def test_ladders(self):
        """What is unknown is the strictest, and of several zones the furthest counts."""
        assert DataClass.of("public") is DataClass.PUBLIC
        assert DataClass.of("wat") is DataClass.of(None) is DataClass.SECRET
        assert furthest([TrustZone.LOCAL, TrustZone.EXTERNAL, TrustZone.PRIVATE]) is TrustZone.EXTERNAL
        assert furthest([]) is TrustZone.EXTERNAL_GLOBAL

    def test_every_reason_has_its_words(self):
        """Each decision is a sentence made of what the policy says alone."""
        for reason in PolicyReason:
            text = PolicyDecision(tool="x", reason=reason).text
            assert "'x'" in text
            assert text.endswith(".")

    def test_as_a_record_keeps_it(self):
        """A decision leaves the zone out where no provider reads."""
        [one] = runtime().explain("logs")
        facts = {"tool": "logs", "allowed": False, "reason": "trust_zone", "data_class": "diagnostics"}

        assert one.to_dict() == {**facts, "observed": False, "zone": "external_global", "ceiling": "content"}
        assert "zone" not in attrs.evolve(one, zone=None, ceiling=None).to_dict()


class TestClasses:
    def test_of_the_programs_own(self):
        """What the program hands over without a class counts as content."""
        assert runtime().explain("plain")[0].data_class is DataClass.CONTENT

    def test_of_a_package(self, site: Site):
        """What a package brings without a class may return anything, until its author or the operator says more."""
        site.plugin(
            "a",
            """
            @hookimpl
            def nr_llm_tools():
                return [named("good")]
            """,
        )
        host = PluginHost.discover(site.names)
        own = runtime(host=host, tools=[])

        assert own.explain("good")[0].reason is PolicyReason.TRUST_ZONE
        assert own.explain("a:good")[0].tool == "good"
        assert own.explain("good", model="near:m")[0].allowed
        assert runtime(host=host, tools=[], policy=Policy(zones={"far": "local"})).explain("good")[0].allowed
        assert "good" not in steps(own)[1].tool_specs

    def test_of_a_plugin_the_program_passes(self):
        """A plugin that is passed in code is the program's own."""
        own = runtime(host=PluginHost({"p": Plugin(tools=[plain])}), tools=[])

        assert own.explain("p:plain")[0].data_class is DataClass.CONTENT

    def test_a_wrong_class_is_refused(self):
        """A class that is none is found when the tool is made."""
        with pytest.raises(InvalidValueError, match=r"data_class.*'wat'.*public"):
            reading("x", data_class="wat")


class TestOffering:
    @both
    def test_closed_tools_are_not_offered(self, colour: Any):
        """What is closed is not offered although it is named, and the record says why, before the model is asked."""
        own = runtime(policy=Policy(tools={"open_": False}))
        seen: list[RunStep] = []
        colour.stream(
            own,
            watch=lambda event: seen.append(event.step) if isinstance(event, StepRecorded) else None,
            tools=["open_", "papers", "logs", "boss"],
        )

        assert [str(step.kind) for step in seen] == ["policy", "request", "llm"]
        assert seen[1].tool_specs == ("papers",)
        assert [(one["tool"], one["reason"]) for one in told(seen)] == [
            ("open_", "tool_disabled"),
            ("logs", "trust_zone"),
            ("boss", "requires_admin"),
        ]

    def test_what_is_open_is_not_told(self):
        """A run that nothing is closed to has no such step."""
        assert [str(step.kind) for step in steps(runtime(), tools=["open_"])] == ["request", "llm"]

    def test_observed_tools_are_offered_and_told(self):
        """What is let through is on record."""
        found = steps(runtime(policy=Policy(data_classes="observe")), tools=["logs"])

        assert found[1].tool_specs == ("logs",)
        assert [(one["tool"], one["allowed"], one["observed"]) for one in told(found)] == [("logs", True, True)]

    def test_a_switch_that_is_on(self):
        """A read that is off by itself is offered to all once it is switched on; a write still has to be named."""
        quiet = reading("quiet", enabled=False, data_class="public")
        own = runtime(tools=[quiet, put], policy=Policy(tools={"quiet": True, "put": True}))

        assert steps(own)[0].tool_specs == ("quiet",)
        assert steps(own, tools=["put"])[0].tool_specs == ("put",)
        assert [(one.tool, one.usual) for one in own.explain()] == [("quiet", True), ("put", False)]

    def test_a_dry_run_tells_it_too(self):
        """What a run would be denied is seen without asking anybody."""
        found = steps(runtime(), tools=["open_", "logs"], dry_run=True)

        assert [str(step.kind) for step in found] == ["policy", "assembled"]

    def test_no_tools_ask_no_policy(self):
        """A run without tools needs no policy that can be read."""
        own = runtime(policy=_unreadable)

        assert own.run("hi", tools=[]).content == "done"

    def test_a_single_completion(self):
        """A model that is asked once is offered what is open."""
        provider = far()
        with Runtime(tools=TOOLS, providers=[provider], model="far:m") as own:
            own.complete("hi", tools=["open_", "logs"])

        assert [spec.name for spec in provider.requests[0].tools] == ["open_"]

    def test_a_single_call(self):
        """A tool that is called alone is judged without a zone: nobody is told."""
        own = runtime(policy=Policy(tools={"open_": False}))

        assert own.call("keys").content == "keys ran"
        with pytest.raises(PolicyError, match=r"'open_' is switched off.*policy") as caught:
            own.call("open_")
        assert caught.value.decision.reason is PolicyReason.TOOL_DISABLED
        assert RAN == ["keys"]

    def test_the_seam_for_hand_written_loops(self):
        """A tool for administrators is one for hand-written loops too."""
        call = ToolCall("c", "boss", {})

        assert "not permitted" in invoke(call, [boss]).content
        assert invoke(call, [boss], actor=Actor("root", admin=True)).content == "boss ran"


def _unreadable() -> Policy:
    raise OSError("the database is away")


class Switch:
    """A policy that somebody changes while runs go on."""

    def __init__(self, **said: Any) -> None:
        self.policy: Any = Policy(**said)

    def __call__(self) -> Any:
        if isinstance(self.policy, Exception):
            raise self.policy
        return self.policy


class TestCalling:
    @pytest.mark.lesson(40)
    @both
    def test_a_tool_that_was_not_offered(self, colour: Any):
        """A model that calls a closed tool is told that it is not permitted, no more, and the record says why."""
        own = runtime(calling(("keys", {}), ("open_", {})), "done")
        seen: list[RunStep] = []
        stream = colour.stream(
            own,
            watch=lambda event: seen.append(event.step) if isinstance(event, StepRecorded) else None,
            tools=["open_"],
        )
        results = [call.content for call in stream.outcome.invocations]

        assert RAN == ["open_"]
        assert results == ["Tool 'keys' is not permitted in this run; it was not called.", "open_ ran"]
        assert [str(step.kind) for step in seen] == ["request", "llm", "policy", "tool", "tool", "request", "llm"]
        assert [(one["tool"], one["reason"]) for one in told(seen)] == [("keys", "trust_zone")]

    def test_an_open_tool_that_the_run_was_not_given(self):
        """A tool that would be open and was not chosen is not among those of the run."""
        found = steps(runtime(calling(("papers", {})), "done"), tools=["open_"])

        assert [one["reason"] for one in told(found)] == ["not_granted"]
        assert RAN == []

    def test_an_unknown_tool_is_nobodys_decision(self):
        """What a model invents is no denial."""
        assert told(steps(runtime(calling(("nosuch", {})), "done"), tools=["open_"])) == []

    @both
    def test_switched_off_meanwhile(self, colour: Any):
        """An operator's switch counts for a run that is under way: the call is refused when it is about to run."""
        switch = Switch()

        @tool(data_class="public")
        def turn_off() -> str:
            """Turn the other one off."""
            switch.policy = Policy(tools={"open_": False})
            return "off"

        own = runtime(calling(("open_", {})), calling(("turn_off", {})), calling(("open_", {})), "done", policy=switch)
        result = colour.run(own, tools=[open_, turn_off])

        assert [call.is_error for call in result.invocations] == [False, False, True]
        assert RAN == ["open_"]

    @pytest.mark.parametrize("said", [OSError("away"), "observe", None])
    def test_c71_unreadable_meanwhile(self, said: Any, caplog: pytest.LogCaptureFixture):
        """A policy that can no longer be read closes every tool, and the log says so without its text."""
        switch = Switch()

        @tool(data_class="public")
        def pull() -> str:
            """Take the policy away."""
            switch.policy = said
            return "away"

        own = runtime(calling(("pull", {})), calling(("open_", {})), "done", policy=switch)
        with caplog.at_level(logging.ERROR, "nr_llm"):
            found = steps(own, tools=[open_, pull])

        assert RAN == []
        assert [one["reason"] for one in told(found)] == ["policy_unreadable"]
        assert ("cannot be read (OSError)" in caplog.text) is isinstance(said, OSError)

    @pytest.mark.parametrize("policy", [_unreadable, lambda: "open", lambda: None], ids=["raises", "a text", "none"])
    def test_no_run_begins_without_one(self, policy: Any):
        """A policy that cannot be read begins no run with tools."""
        with pytest.raises(ConfigurationError, match=r"The policy (cannot be read: OSError|is a )"):
            runtime(policy=policy).run("hi", tools=["open_"])

    def test_a_policy_that_is_none(self):
        """What is no policy is refused when the Runtime is made."""
        with pytest.raises(InvalidValueError, match="policy: must be a Policy, not a dict"):
            runtime(policy={"tools": {}})

    def test_a_policy_that_says_what_is_wrong(self):
        """A configuration error of the operator's own goes on as it is."""

        def wrong() -> Policy:
            raise ConfigurationError("the switches are wrong")

        with pytest.raises(ConfigurationError, match="the switches are wrong"):
            runtime(policy=wrong).run("hi", tools=["open_"])


@attrs.define
class Held:
    """A run that waits for somebody."""

    own: Runtime
    store: MemoryStore
    switch: Switch


@tool(effect="write", group="desk", data_class="public")
def change() -> str:
    """Change something."""
    RAN.append("change")
    return "changed"


class TestGoingOn:
    @pytest.fixture
    def held(self) -> Held:
        """Return a run that waits with one call of `change`."""
        switch, store = Switch(), MemoryStore()
        own = runtime(calling(("change", {})), "done", policy=switch, store=store, tools=[change])
        assert isinstance(own.run("hi", tools=["change"], actor=Actor("ann"), run_id="r"), Suspended)
        return Held(own, store, switch)

    def approve(self, held: Held, by: Actor) -> Any:
        """Approve the call."""
        from nr_llm import HOST, RunHistory

        return held.own.decide("r", [RunHistory(held.store, HOST).waiting("r").decision(0, approve=True)], by=by)

    def test_c79_a32_switched_off_while_it_waits(self, held: Held):
        """A call that was approved is refused all the same if its tool was switched off."""
        held.switch.policy = Policy(tools={"change": False})
        result = self.approve(held, Actor("bob", approver=True))

        assert RAN == []
        assert [call.is_error for call in result.invocations] == [True]
        assert [one.step.payload["policy"][0]["reason"] for one in held.store.steps("r") if one.step.kind == "policy"]

    def test_an_approver_has_to_be_one_the_tool_is_open_to(self, held: Held):
        """Somebody whom the operator keeps from a tool does not approve its calls either; the run waits on."""
        from nr_llm import NotPermittedError

        held.switch.policy = Policy(restrict={"@desk": ["user:ann", "user:eve"]})
        with pytest.raises(NotPermittedError, match=r"'change' in run r.*is not open to whoever"):
            self.approve(held, Actor("bob", approver=True))
        assert RAN == []
        assert self.approve(held, Actor("eve", approver=True)).content == "done"
        assert RAN == ["change"]

    def test_the_zone_is_that_of_now(self, held: Held):
        """What a provider may be told is judged anew when a run goes on."""
        held.switch.policy = Policy(zones={"far": "local"})
        assert self.approve(held, Actor("bob", approver=True)).content == "done"


class TestZones:
    ROW = "[configurations.night]\n"

    def of(self, folder: Path, text: str, **settings: Any) -> TrustZone | None:
        """Return the zone of a run under a configuration."""
        fallback = [ScriptedProvider("x", name="near2"), far(name="far2")]
        host = PluginHost({"more": Plugin(providers=fallback)}, config=written(folder, text), environ={})
        own = runtime(host=host, **settings.pop("runtime", {}))
        [one] = own.explain("open_", configuration="night", **settings)
        return one.zone

    @pytest.mark.parametrize(
        ("row", "model", "zone"),
        [
            ("", None, "external_global"),
            ("", "near:m", "local"),
            ('model = "far:m"\nzone = "private"', None, "private"),
            ('model = "far:m"\nzone = "private"', "far:other", "private"),
            ('model = "near:m"\nzone = "private"', None, "private"),
            ('model = "near:m"\nzone = "local"', "far:m", "external_global"),
            ('zone = "private"', "near:m", "private"),
            ('zone = "private"', "far:m", "external_global"),
            ('model = "near:m"\nfallbacks = ["near2:m"]', None, "local"),
            ('model = "near:m"\nfallbacks = ["near2:m", "far2:m"]', None, "external_global"),
            ('model = "near:m"\nfallbacks = ["nosuch:m"]', None, "external_global"),
        ],
    )
    def test_of_a_configuration(self, tmp_path: Path, row: str, model: str | None, zone: str):
        """A declaration is about the configuration's own provider; of several who may answer the furthest counts."""
        assert self.of(tmp_path, self.ROW + row, model=model) == zone

    def test_an_operator_declares_it(self, tmp_path: Path):
        """What the operator says of a provider goes before where it is."""
        text = self.ROW + 'model = "near:m"\n[policy.zones]\nnear = "external"\n'

        assert self.of(tmp_path, text) == "external"

    def test_without_any_model(self):
        """Where no model is named nothing is told to a provider."""
        own = Runtime(tools=TOOLS)

        assert {one.zone for one in own.explain()} == {None}
        assert closed(own) == {"boss": "requires_admin"}

    def test_c74_what_a_configuration_grants(self, tmp_path: Path):
        """A tool outside of the configuration is not granted; one inside is."""
        text = self.ROW + 'model = "near:m"\ntools = ["@desk"]\n'
        host = PluginHost({"p": Plugin(tools=TOOLS)}, config=written(tmp_path, text), environ={})
        own = runtime(host=host, tools=[])

        assert closed(own, configuration="night") == {
            **dict.fromkeys(("open_", "logs", "away", "plain", "put"), "not_granted"),
            "boss": "requires_admin",
        }
        assert steps(own, configuration="night", tools=["papers"])[0].tool_specs == ("papers",)

    def test_what_explains_is_what_holds(self, tmp_path: Path):
        """For every tool, actor, model and policy a run offers just what was said to be open."""
        text = self.ROW + 'tools = ["@desk", "boss", "logs"]\n'
        host = PluginHost({"p": Plugin(tools=TOOLS)}, config=written(tmp_path, text), environ={})
        policies = [
            Policy(),
            Policy(data_classes="observe", tools={"papers": False}),
            Policy(zones={"far": "private"}, restrict={"@desk": ["user:ann"]}),
        ]
        for policy in policies:
            own = runtime(host=host, tools=[], policy=policy)
            for actor in (None, Actor("ann"), Actor("root", admin=True)):
                for model in ("far:m", "near:m"):
                    settings = {"actor": actor, "model": model, "configuration": "night"}
                    said = {one.tool for one in own.explain(**settings) if one.allowed}
                    found = steps(own, tools=None, **settings)
                    assert set(found[-2].tool_specs or ()) == said


class TestFiles:
    def policy(self, *read: Any) -> Policy:
        """Return what files say together."""
        config = read[0]
        for other in read[1:]:
            config = config.over(other)
        return PluginHost(config=config, environ={}).policy

    def test_read(self, tmp_path: Path):
        """All of it can be said in a file."""
        said = self.policy(
            written(
                tmp_path,
                '[policy]\ndata_classes = "observe"\n[policy.tools]\n"p:x" = false\n[policy.groups]\ndesk = true\n'
                '[policy.restrict]\n"@desk" = ["user:ann"]\n[policy.zones]\nfar = "private"\n'
                '[audit]\nwrite_arguments = "redacted"\nplain_state = "refuse"\n',
            )
        )

        assert said == Policy(
            tools={"p:x": False},
            groups={"desk": True},
            restrict={"@desk": ["user:ann"]},
            zones={"far": "private"},
            data_classes="observe",
            write_arguments="redacted",
            plain_state="refuse",
        )
        assert said.observes

    def test_nobody_says_anything(self):
        """Without a file there is the usual policy."""
        assert PluginHost(environ={}).policy == Policy()

    def test_a_switch_by_address(self):
        """A tool is switched by ``plugin:tool`` too."""
        host = PluginHost({"p": Plugin(tools=[plain])})

        assert not runtime(host=host, tools=[], policy=Policy(tools={"p:plain": False})).explain("plain")[0].allowed

    def test_the_nearer_file_counts(self, tmp_path: Path):
        """Of two files of one's own the nearer one counts, switch by switch."""
        near = written(tmp_path, "[policy.tools]\na = true\n", "near")
        behind = written(tmp_path, "[policy.tools]\na = false\nb = false\n", "behind")

        assert self.policy(near, behind).tools == {"a": True, "b": False}

    def test_a_project_only_closes(self, tmp_path: Path):
        """What a project that is not trusted switches off stays off, whoever is nearer."""
        project = written(tmp_path, "[policy.tools]\na = false\n[policy.groups]\ng = false\n", "p", trusted=False)
        mine = written(tmp_path, "[policy.tools]\na = true\nb = true\n")

        assert self.policy(project, mine).tools == self.policy(mine, project).tools == {"a": False, "b": True}
        assert self.policy(project, mine).groups == {"g": False}

    @pytest.mark.parametrize(
        "text",
        [
            "[policy.tools]\na = true\n",
            "[policy.groups]\na = true\n",
            '[policy.zones]\nfar = "local"\n',
            '[policy.restrict]\na = ["user:eve"]\n',
            '[policy]\ndata_classes = "observe"\n',
            '[policy]\ntools = "all"\n',
            '[audit]\nwrite_arguments = "full"\n',
            '[audit]\nplain_state = "tell"\n',
        ],
    )
    def test_a_project_opens_nothing(self, tmp_path: Path, text: str):
        """What would open more is refused, with the file and the way out."""
        with pytest.raises(ConfigurationError, match=r"p\.toml is not trusted and sets (policy|audit)\..*config trust"):
            self.policy(written(tmp_path, text, "p", trusted=False))

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[policy.tools]\na = 1\n", "policy.tools.a: must be true or false, not 1"),
            ('[policy]\ntools = ["a"]\n', "policy.tools: must be a mapping of names, not a list"),
            ('[policy.zones]\nfar = "near"\n', "policy.zones.far: .*'near'"),
            ('[policy.restrict]\na = "ann"\n', "policy.restrict.a: must be a list, not a str"),
            ('[policy.restrict]\na = ["ann"]\n', "policy.restrict.a: 'ann' is none of admin, user:ID"),
            ("[policy.restrict]\na = [7]\n", "policy.restrict.a: 7 is none of"),
            ('[policy.restrict]\na = ["user:"]\n', "'user:' is none of"),
            ("[policy]\ntool = {}\n", "no setting 'tool'. Did you mean tools?"),
            ("[policy]\nqqq = {}\n", "no setting 'qqq'. There are: tools, groups"),
            ('[audit]\nwrite_arguments = "some"\n', "audit.write_arguments: .*'some'"),
            ('[audit]\nplain_state = "keep"\n', "audit.plain_state: must be one of tell, refuse, not 'keep'"),
        ],
    )
    def test_what_is_wrong(self, tmp_path: Path, text: str, words: str):
        """A fault names file and setting, and no run with tools begins."""
        config = written(tmp_path, text)
        with pytest.raises(ConfigurationError, match=rf"user\.toml: .*{words}"):
            self.policy(config)
        with pytest.raises(ConfigurationError):
            runtime(host=PluginHost(config=config, environ={})).run("hi", tools=["open_"])
        found = PluginHost(config=config, environ={}).config_findings()
        assert [one.what for one in found] == ["The policy cannot be used: no run with tools begins."]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("policy = 1\n", "policy is no table"),
            ("audit = 1\n", "audit is no table"),
            ("[audit]\nwrite = 1\n", "There are: write_arguments, plain_state"),
        ],
    )
    def test_what_is_no_table(self, tmp_path: Path, text: str, words: str):
        """A file whose form is wrong is refused when it is read."""
        with pytest.raises(ConfigurationError, match=words):
            written(tmp_path, text)

    def test_a_misspelt_word_is_told(self, tmp_path: Path, caplog: pytest.LogCaptureFixture):
        """A word that is neither enforces, and the log says so."""
        assert not self.policy(written(tmp_path, '[policy]\ndata_classes = "observ"\n')).observes
        assert "neither enforce nor observe" in caplog.text

    def test_names_that_are_nobodys(self, tmp_path: Path):
        """A misspelt switch closes nothing, so the doctor says so."""
        text = (
            '[policy.tools]\npaper = false\n[policy.groups]\ndesks = false\n[policy.restrict]\n"@desks" = ["admin"]\n'
            '"@desk" = ["admin"]\n[policy.zones]\nqqq = "local"\n'
        )
        host = PluginHost({"p": Plugin(tools=TOOLS)}, config=written(tmp_path, text), environ={})

        later = "Else nothing, if it is meant for one to come."
        assert [(one.what, one.fix) for one in host.config_findings()] == [
            ("policy.tools names 'paper', which there is not.", f"Did you mean papers? {later}"),
            ("policy.groups names 'desks', which there is not.", f"Did you mean desk? {later}"),
            ("policy.restrict names '@desks', which there is not.", f"Did you mean @desk? {later}"),
            (
                "policy.zones names 'qqq', which there is not.",
                "Nothing, if it is meant for one to come; else remove it.",
            ),
        ]

    def test_shown(self, tmp_path: Path):
        """Every value is shown with its source."""
        config = written(tmp_path, '[policy.tools]\na = false\n[audit]\nplain_state = "refuse"\n')
        shown = {one.name: (one.value, one.source) for one in PluginHost(config=config, environ={}).effective()}

        assert shown["policy.tools.a"] == (False, str(tmp_path / "user.toml"))
        assert shown["audit.plain_state"] == ("refuse", str(tmp_path / "user.toml"))

    def test_a_replay_repeats_no_decision(self):
        """What the policy said then is no matter of the loop: a replay finds no difference."""
        from nr_llm import HOST, RunHistory, replay

        store = MemoryStore()
        own = runtime(calling(("keys", {})), "done", store=store, privacy="full")
        own.run("hi", tools=["open_", "logs"], run_id="r")

        assert [one.step.kind for one in store.steps("r")].count("policy") == 2
        assert replay(RunHistory(store, HOST), "r").differences == ()

    def test_what_somebody_may_look_at(self):
        """Whoever looks sees what is open to them; no provider is told, so there is no zone."""
        own = runtime(policy=Policy(tools={"open_": False}))

        assert own.toolbox().offered == ("papers", "logs", "keys", "away", "plain", "put")
        assert "boss" in own.toolbox(actor=Actor("root", admin=True)).offered

    def test_a_gate_by_itself(self):
        """A gate that knows of nothing is open to what needs nothing."""
        assert Gate().decide("open_", open_).allowed
        assert not Gate(policy=_unreadable).usual("open_", open_)
        with pytest.raises(UnknownNameError):
            runtime().run("hi", tools=["nosuch"])
