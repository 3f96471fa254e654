"""Ways around the policy that somebody tried: by copies, by waiting, by who asks, by files and by what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm import (
    HOST,
    Actor,
    ConfigurationError,
    DataClass,
    Limits,
    MemoryStore,
    Model,
    NotPermittedError,
    PluginHost,
    Policy,
    PolicyReason,
    RunHistory,
    Runtime,
    SelfApprovalError,
    Suspended,
    Tool,
    ToolCall,
    ToolContext,
    TrustZone,
    invoke,
    tool,
)
from nr_llm.config import Config, Table
from nr_llm.errors import RunNotFoundError
from nr_llm.feed import Feed, lines
from nr_llm.hookspecs import hookimpl
from nr_llm.privacy import PrivacyLevel, StepFilter
from nr_llm.redaction import Redactor
from nr_llm.testing import ScriptedProvider, calling

from tests.core.colours import COLOURS
from tests.core.plugin_parts import Plugin
from tests.core.test_policy import Switch, far, reading, runtime, steps, told, written
from tests.distributions import Site, site

__all__ = ["site"]

both = pytest.mark.parametrize("colour", COLOURS)

ANN, BOB = Actor("ann"), Actor("bob", approver=True)

note = reading("note", group="desk", data_class="public")
boss = reading("boss", admin_only=True, data_class="public")


def ran(result: Any) -> list[str]:
    """Return what the calls of a run came to."""
    return [call.content for call in result.invocations]


class Desk:
    """A tool that is a method, which is another object each time it is looked up."""

    def read_desk(self) -> str:
        """Read the desk."""
        return "read"


class TestCopies:
    @pytest.mark.parametrize(
        "policy",
        [
            Policy(tools={"note": False}),
            Policy(groups={"desk": False}),
            Policy(restrict={"note": ["user:ann"]}),
            Policy(restrict={"@desk": ["user:ann"]}),
        ],
        ids=["tool", "group", "restricted", "restricted group"],
    )
    @pytest.mark.parametrize("change", [{"name": "copy"}, {"name": "copy", "group": "other"}])
    def test_a_copy_is_as_closed_as_what_it_was_copied_from(self, policy: Policy, change: dict[str, str]):
        """Another name or group takes nobody around a switch or a restriction."""
        copy = attrs.evolve(note, **change)
        found = steps(runtime(tools=[note], policy=policy), tools=[copy], actor=Actor("eve"))

        assert found[-2].tool_specs == ()
        assert [one["tool"] for one in told(found)] == ["copy"]

    def test_a_method(self):
        """A tool that is made anew of the same method is the same tool."""
        desk = Desk()
        own = runtime(tools=[desk.read_desk], policy=Policy(tools={"read_desk": False}))
        again = Tool.from_function(desk.read_desk, name="other")

        assert steps(own, tools=[again])[-2].tool_specs == ()
        assert steps(own, tools=[Tool.from_function(Desk().read_desk, name="other")])[-2].tool_specs == ("other",)

    def test_by_address(self):
        """A copy of a plugin's tool is closed by its address too, whichever of several it was copied from."""
        host = PluginHost({"p": Plugin(tools=[note])})
        own = runtime(host=host, tools=[], policy=Policy(tools={"p:note": False}))

        assert steps(own, tools=[attrs.evolve(note, name="copy")])[-2].tool_specs == ()

    def test_of_a_package_without_a_class(self, site: Site):
        """A copy, or the tool itself passed by the program, may return anything, as the tool may."""
        site.plugin(
            "a",
            """
            @hookimpl
            def nr_llm_tools():
                return [named("good")]
            """,
        )
        host = PluginHost.discover(site.names)
        good = host.tool("good").tool

        for given in (attrs.evolve(good, name="copy"), good):
            own = runtime(host=host, tools=[given])
            assert own.explain(given.name)[0].data_class is DataClass.SECRET
            assert steps(runtime(host=host, tools=[]), tools=[given])[-2].tool_specs == ()

    def test_tools_that_share_a_function(self):
        """Tools that tell by their name what to do are no copies of each other."""

        def dispatch(context: ToolContext) -> str:
            return context.tool

        one, two = (Tool.from_function(dispatch, name=name, description=name, data_class="public") for name in "ab")
        own = runtime(tools=[one, two], policy=Policy(tools={"a": False}))

        assert steps(own, tools=["a", "b"])[-2].tool_specs == ("b",)
        assert not own.toolbox().gate.decide("c", attrs.evolve(two, name="c")).allowed

    def test_a_copy_for_a_description(self):
        """A copy of an open tool is as open."""
        assert steps(runtime(tools=[note]), tools=[attrs.evolve(note, name="copy")])[-2].tool_specs == ("copy",)


class TestChoosing:
    def test_an_iterator(self):
        """Tools that are given once are offered all the same."""
        assert steps(runtime(tools=[note]), tools=iter(["note"]))[-2].tool_specs == ("note",)

    def test_a_group(self):
        """A member that is off by itself and switched on belongs to its group; one that is switched off is told."""
        quiet = reading("quiet", group="desk", enabled=False, data_class="public")
        hidden = reading("hidden", group="desk", enabled=False, data_class="public")
        own = runtime(tools=[note, quiet, hidden], policy=Policy(tools={"quiet": True, "note": False}))
        found = steps(own, tools=["@desk"])

        assert found[-2].tool_specs == ("quiet",)
        assert [(one["tool"], one["reason"]) for one in told(found)] == [("note", "tool_disabled")]

    def test_many_tools_by_address(self):
        """A question about thousands of tools is no work of thousands squared."""
        host = PluginHost({"p": Plugin(tools=[attrs.evolve(note, name=f"t{i}") for i in range(300)])})
        found = runtime(host=host, tools=[]).explain(*(f"p:t{i}" for i in range(300)), "p:none")

        assert [one.tool for one in found] == [*(f"t{i}" for i in range(300)), "p:none"]
        assert found[-1].reason is PolicyReason.NOT_REGISTERED


class TestWho:
    @pytest.mark.parametrize("kind", ["anonymous", "service"])
    def test_only_users_are_administrators(self, kind: str):
        """Nobody in particular is none, and a service account has its scopes, whatever is said of them."""
        actor = Actor("x", admin=True, kind=kind)  # type: ignore[arg-type]

        assert Actor.from_dict(actor.to_dict()) == actor
        assert runtime(tools=[boss]).explain("boss", actor=actor)[0].reason is PolicyReason.REQUIRES_ADMIN
        assert (
            not runtime(tools=[note], policy=Policy(restrict={"note": ["admin"]}))
            .explain("note", actor=actor)[0]
            .allowed
        )
        with pytest.raises(RunNotFoundError):
            RunHistory(MemoryStore(), actor).purge()

    def test_a_toolbox_of_somebody_else(self):
        """Whoever acts is judged, not the one the tools were looked up for; without a word it is that one."""
        seen: list[Any] = []

        @tool(admin_only=True)
        def who(context: ToolContext) -> str:
            """Say who acts."""
            seen.append(context.actor)
            return "ran"

        root = Actor("root", admin=True)
        tools = runtime(tools=[who]).toolbox(actor=root)

        assert "not permitted" in invoke(ToolCall("c", "who", {}), tools, actor=Actor("eve")).content
        assert invoke(ToolCall("c", "who", {}), tools).content == "ran"
        assert seen == [root]


class TestMeanwhile:
    @both
    def test_a_call_that_waits_for_another(self, colour: Any):
        """Is asked about again when its turn comes, although both were called at once; the record says why."""
        switch = Switch()

        @tool(data_class="public")
        def close() -> str:
            """Close the other."""
            switch.policy = Policy(tools={"note": False})
            return "closed"

        store = MemoryStore()
        own = runtime(
            calling(("close", {}), ("note", {}), ("note", {})), "done", policy=switch, tools=[close, note], store=store
        )
        result = colour.run(own, tools=["close", "note"], limits=Limits(parallel_calls=1), run_id="r")

        assert ran(result) == ["closed", *["Tool 'note' is not permitted in this run; it was not called."] * 2]
        kinds = [one.step.kind for one in store.steps("r")]
        assert kinds == ["request", "llm", "tool", "policy", "tool", "policy", "tool", "request", "llm"]

    @both
    def test_one_that_waits_and_stays_open(self, colour: Any):
        """Runs."""
        own = runtime(calling(("note", {}), ("note", {})), "done", tools=[note])

        assert ran(colour.run(own, limits=Limits(parallel_calls=1))) == ["note ran"] * 2

    @both
    def test_a_preview(self, colour: Any):
        """A tool that was closed since it was offered says nothing of what its call would do."""
        switch, looked = Switch(), list[str]()

        def look() -> str:
            looked.append("looked")
            return "what is there"

        @tool(effect="write", preview=look, data_class="public")
        def change() -> str:
            """Change something."""
            return "changed"

        @tool(data_class="public")
        def close() -> str:
            """Close the other."""
            switch.policy = Policy(tools={"change": False})
            return "closed"

        own = runtime(calling(("close", {})), calling(("change", {})), policy=switch, tools=[change, close])
        held = colour.run(own, tools=["change", "close"])

        assert isinstance(held, Suspended)
        assert [(one.failed, one.lines[0].split(":")[0]) for one in held.state.previews] == [
            (True, "The preview is withheld")
        ]
        assert looked == []

    def test_a_zone(self):
        """A provider that the operator declares to be further away is told less from then on."""
        switch = Switch(zones={"far": "local"})
        keys = reading("keys", data_class="secret")

        @tool(data_class="public")
        def move() -> str:
            """Move the provider."""
            switch.policy = Policy(zones={"far": "private"})
            return "moved"

        own = runtime(calling(("keys", {})), calling(("move", {})), calling(("keys", {})), "done", policy=switch)
        found = steps(own, tools=[keys, move])

        assert [(one["tool"], one["zone"]) for one in told(found)] == [("keys", "private")]


@tool(effect="write", data_class="public")
def change() -> str:
    """Change something."""
    return "changed"


class TestGoingOn:
    @both
    def test_a_run_gets_no_further_tools(self, colour: Any):
        """Tools that are passed as a run goes on stand in for those it began with, and add none."""
        own = runtime(calling(("change", {})), calling(("note", {}), ("copy", {})), "done", tools=[change, note])
        held = colour.run(own, tools=["change"])
        result = colour.resume(own, held, True, tools=[change, note, attrs.evolve(note, name="copy")])

        assert ran(result) == [
            "changed",
            *(f"Tool {name!r} is not permitted in this run; it was not called." for name in ("note", "copy")),
        ]

    def test_what_closes_them_is_told_of_its_own_tools_alone(self):
        """The record of such a run says nothing of tools that are not its business."""
        store = MemoryStore()
        own = runtime(calling(("change", {})), "done", tools=[change, boss], store=store)
        own.run("hi", tools=["change"], actor=ANN, run_id="r")
        waiting = RunHistory(store, HOST).waiting("r")
        assert waiting is not None
        own.decide("r", [waiting.decision(0, approve=True)], by=BOB, tools=["change", "boss"])

        assert "policy" not in [one.step.kind for one in store.steps("r")]


class Passing(ScriptedProvider):
    """A provider on this machine that passes some models' conversations on."""

    def describe(self, model: str) -> Model:
        """Return what is known of a model."""
        return Model(provider=self.name, name=model, elsewhere=model.endswith("-cloud"))


class TestZones:
    ROW = "[configurations.night]\n"

    def zone(self, config: Any, **settings: Any) -> TrustZone | None:
        """Return the zone of a run."""
        host = PluginHost({"p": Plugin(providers=[Passing("x", name="near"), far()])}, config=config, environ={})
        return Runtime(host, tools=[note]).explain("note", **settings)[0].zone

    @pytest.mark.parametrize(
        ("text", "model", "zone"),
        [
            ("", "near:m", "local"),
            ("", "near:m-cloud", "external_global"),
            ('[policy.zones]\nnear = "local"\n', "near:m-cloud", "external_global"),
            ('[policy.zones]\nnear = "external"\n', "near:m-cloud", "external"),
            ('[models.x]\nprovider = "near"\nid = "m-cloud"\n', "x", "external_global"),
        ],
    )
    def test_a_model_that_is_elsewhere(self, tmp_path: Path, text: str, model: str, zone: str):
        """A model that a provider on this machine passes on is not on this machine, whatever is declared."""
        assert self.zone(written(tmp_path, text), model=model) == zone

    @pytest.mark.parametrize(
        ("row", "model", "zone"),
        [
            ('model = "near:m"\nzone = "local"', "near:m-cloud", "external_global"),
            ('model = "near:m"\nfallbacks = ["near:m-cloud"]', None, "external_global"),
            ('model = "near:m-cloud"\nzone = "private"', None, "private"),
        ],
    )
    def test_of_a_configuration(self, tmp_path: Path, row: str, model: str | None, zone: str):
        """A configuration's word is not about such a model either, unless it says how far away it is."""
        assert self.zone(written(tmp_path, self.ROW + row), configuration="night", model=model) == zone

    @pytest.mark.parametrize(
        "mine", ['model = "near:m"\nzone = "local"\nfallbacks = ["far:m"]', 'zone = "local"\nfallbacks = ["far:m"]']
    )
    def test_a_project_moves_no_declared_model(self, tmp_path: Path, mine: str):
        """A project that is not trusted swaps model and fallback of a row: its zone was declared of the other one."""
        user = written(tmp_path, self.ROW + mine)
        project = written(tmp_path, self.ROW + 'model = "far:m"\nfallbacks = []', "p", trusted=False)
        with pytest.raises(ConfigurationError, match=r"p\.toml is not trusted and sets 'model' beyond"):
            self.zone(project.over(user), configuration="night")

    def test_a_project_names_another_model_of_the_provider(self, tmp_path: Path):
        """Which is what the zone was declared of."""
        user = written(tmp_path, self.ROW + 'model = "far:m"\nzone = "private"')
        project = written(tmp_path, self.ROW + 'model = "far:other"', "p", trusted=False)

        assert self.zone(project.over(user), configuration="night") == "private"

    def test_a_package_declares_none(self, site: Site):
        """How far away a provider is is not for a package to say."""
        site.plugin(
            "a",
            """
            @hookimpl
            def nr_llm_configurations():
                return {"night": {"model": "far:m", "zone": "local"}}
            """,
        )
        own = runtime(host=PluginHost.discover(site.names))
        with pytest.raises(ConfigurationError, match=r"plugin 'a' declares a zone.*policy\.zones"):
            own.explain("note", configuration="night")

    def test_a_plugin_of_the_program_may(self):
        """What the program passes is the operator's word."""

        class Mine:
            @hookimpl
            def nr_llm_configurations(self) -> Mapping[str, Any]:
                return {"night": {"model": "far:m", "zone": "private"}}

        own = runtime(host=PluginHost({"mine": Mine()}), tools=[note])
        assert own.explain("note", configuration="night")[0].zone == "private"


FORM = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
INVENTED = "the salary is 90000, and more text"


class TestRecords:
    @pytest.mark.parametrize("level", ["none", "metadata", "redacted", "full"])
    def test_a_decision_on_an_invented_name(self, level: str):
        """What a model calls a tool that there is not is its own text: below `redacted` nothing of it is kept."""

        @tool(effect="write")
        def put() -> str:
            """Put something."""
            return "put"

        store = MemoryStore()
        own = runtime(calling(("put", {}), (INVENTED, {})), "done", tools=[put], store=store, privacy=level)
        own.run("hi", tools=["put"], actor=ANN, run_id="r")
        waiting = RunHistory(store, HOST).waiting("r")
        assert waiting is not None
        own.decide("r", [waiting.decision(0, approve=True), waiting.decision(1, approve=False)], by=BOB)

        [decided] = [one.step.payload for one in store.steps("r") if "decisions" in one.step.payload]
        assert [one["tool"] == "put" for one in decided["decisions"]] == [True, False]
        assert (INVENTED in str([one.step.payload for one in store.steps("r")])) is PrivacyLevel.of(level).keeps_content

    @pytest.mark.parametrize("level", ["none", "metadata"])
    def test_names_of_the_policy_are_those_of_tools(self, level: str):
        """No name that a model invents comes into a step of the policy."""
        store = MemoryStore()
        own = runtime(calling((INVENTED, {}), ("logs", {})), "done", store=store, privacy=level)
        own.run("hi", tools=["open_"], run_id="r")

        kept = [one for step in store.steps("r") for one in step.step.payload.get("policy", ())]
        assert [one["tool"] for one in kept] == ["logs"]
        assert INVENTED not in str([one.step.payload for one in store.steps("r")])

    @pytest.mark.parametrize("level", PrivacyLevel)
    def test_whoever_watches(self, level: PrivacyLevel):
        """Sees what the policy closed at every level, and what a model made up where content may be seen."""
        own = runtime(
            calling((INVENTED, {}), ("note", {})),
            "done",
            tools=[note, boss],
            policy=Policy(tools={"note": False}),
            actor=Actor("root", admin=True),
        )
        seen = "".join(lines(own.stream("hi", tools=["note", "boss"]), Feed(filter=StepFilter(level, Redactor()))))

        assert seen.count('"tool_disabled"') == 2
        assert (INVENTED in seen) is level.keeps_content


class TestForms:
    def held(self, effect: str) -> tuple[Runtime, Any]:
        """Return a run of Ann's that waits for a form, with a configuration that wants four eyes."""
        done: list[str] = []

        @tool(effect=effect, approval=False, form=FORM, data_class="public")
        def send(code: str = "") -> str:
            """Send a code."""
            done.append(code)
            return "sent"

        host = PluginHost([], config=Config(configurations={"careful": (Table({"four_eyes": True}),)}))
        store = MemoryStore()
        own = runtime(calling(("send", {})), "done", host=host, tools=[send], store=store)
        own.run("hi", tools=["send"], actor=ANN, configuration="careful", run_id="r")
        return own, RunHistory(store, HOST).waiting("r")

    def test_four_eyes_on_a_write(self):
        """Whoever began a run lets it write by no form of their own; somebody else may, and declining is open."""
        own, waiting = self.held("write")
        with pytest.raises(SelfApprovalError):
            own.submit("r", [waiting.submission(0, {"code": "7"})], by=ANN)
        assert ran(own.submit("r", [waiting.submission(0, {"code": "7"})], by=BOB)) == ["sent"]

        own, waiting = self.held("write")
        assert "declined" in ran(own.submit("r", [waiting.submission(0, None)], by=ANN))[0]

    def test_four_eyes_on_a_read(self):
        """A form of a read asks whoever began the run what it needs to know."""
        own, waiting = self.held("read")

        assert ran(own.submit("r", [waiting.submission(0, {"code": "7"})], by=ANN)) == ["sent"]
        with pytest.raises(NotPermittedError):
            own, waiting = self.held("read")
            own.submit("r", [waiting.submission(0, {"code": "7"})], by=Actor.service("s", scopes=["runs:approve"]))
