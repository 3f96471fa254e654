"""A configuration is begun with by name: it says what a caller leaves open, and bounds what a caller asks for."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import (
    Actor,
    ChatMessage,
    ConfigurationError,
    InvalidValueError,
    Limits,
    MemoryStore,
    Options,
    RunState,
    Runtime,
    StepRecorded,
    Suspended,
    Tool,
    UnknownNameError,
    tool,
)
from nr_llm._host import PluginHost
from nr_llm.config import Config, Table, read_config
from nr_llm.configurations import SYSTEM_BYTES, Configuration, TrustZone
from nr_llm.errors import NameClashError
from nr_llm.hookspecs import hookimpl
from nr_llm.privacy import PrivacyLevel
from nr_llm.testing import ScriptedProvider, calling

from tests.core.plugin_parts import Plugin

ROW = "[configurations.help]\n"

BOUNDS = st.dictionaries(st.sampled_from(["rounds", "calls", "tokens", "seconds"]), st.integers(0, 99), max_size=4)


@tool(group="shelf")
def look(name: str = "") -> str:
    """Look."""
    return "seen"


@tool(group="shelf")
def count() -> str:
    """Count."""
    return "3"


@tool(group="shelf", effect="write", approval=True)
def erase(name: str = "") -> str:
    """Erase."""
    return "erased"


@tool(admin_only=True)
def audit() -> str:
    """Audit."""
    return "audited"


class Contributed:
    """A plugin that contributes configurations as data."""

    def __init__(self, **tables: object) -> None:
        self.tables = tables

    @hookimpl
    def nr_llm_configurations(self):
        return self.tables


def config(folder: Path, text: str, *, trusted: bool = True) -> Config:
    """Return what a file says."""
    path = folder / f"{'user' if trusted else 'project'}.toml"
    path.write_text(text, "utf-8")
    return read_config(path, trusted=trusted)


def host(read: Config, **plugins: object) -> PluginHost:
    """Return a host with tools, a provider `near` and some more plugins."""
    given = {"tools": Plugin([look, count, erase, audit]), "near": ScriptedProvider("hi", name="near"), **plugins}
    return PluginHost(given, config=read, environ={})


def runtime(read: Config, *replies: Any, **settings: Any) -> Runtime:
    """Return a Runtime whose provider `vllm` answers from a list."""
    provider = ScriptedProvider(*(replies or ("hi", "hi", "hi")), name="vllm")
    own = Runtime(host(read), **{"providers": [provider], "model": "vllm:m", **settings})
    own.scripted = provider  # type: ignore[attr-defined]
    return own


def begun(own: Runtime, **settings: Any) -> RunState:
    """Return the state a run begins with."""
    with own.stream("hi", **{"configuration": "help", **settings}, dry_run=True) as stream:
        return stream.state


def offered(own: Runtime, **settings: Any) -> tuple[str, ...]:
    """Return the tools a run offers."""
    with own.stream("hi", **{"configuration": "help", **settings}, dry_run=True) as stream:
        steps = [event.step for event in stream if isinstance(event, StepRecorded)]
    return tuple(name for step in steps for name in step.tool_specs or ())


def row(read: Config, name: str = "help") -> Configuration:
    """Return a configuration."""
    return host(read).configuration(name)


def refusal(read: Config) -> ConfigurationError:
    """Return why a configuration cannot be used."""
    with pytest.raises(ConfigurationError) as caught:
        row(read)
    return caught.value


class TestRow:
    TEXT = (
        ROW + 'model = "near:big"\nsystem = "Be brief."\noptions = {temperature = 0.2}\ntools = ["@shelf", "audit"]\n'
        'limits = {rounds = 12}\nprivacy = "redacted"\nzone = "private"\nfallbacks = ["near:small"]\n'
    )

    def test_read(self, tmp_path: Path):
        """Every setting is read, with its source."""
        found = row(config(tmp_path, self.TEXT))

        assert (found.model, found.system, found.tools) == ("near:big", "Be brief.", ("@shelf", "audit"))
        assert (found.options, found.limits) == (Options(temperature=0.2), {"rounds": 12})
        assert (found.privacy, found.zone) == (PrivacyLevel.REDACTED, TrustZone.PRIVATE)
        assert found.fallbacks == ("near:small",)
        assert found.source == str(tmp_path / "user.toml")
        assert found.sources["limits"] == str(tmp_path / "user.toml")
        assert "Be brief" not in repr(found)

    def test_empty(self, tmp_path: Path):
        """A row may say nothing."""
        found = row(config(tmp_path, ROW))

        assert (found.model, found.system, found.tools, found.privacy, found.zone) == (None, None, None, None, None)
        assert found.sources["system"] == "default"
        assert "system=None" in repr(found)

    def test_a_file_of_instructions(self, tmp_path: Path):
        """A `system_file` stands beside the configuration file."""
        (tmp_path / "prompt.md").write_text("Be brief, ä.", "utf-8")
        found = row(config(tmp_path, ROW + 'system_file = "prompt.md"'))

        assert found.system == "Be brief, ä."
        assert found.sources["system"] == str(tmp_path / "prompt.md")

    def test_several_files(self, tmp_path: Path):
        """For each setting the front file counts; limits and options are joined, the strictest privacy counts."""
        front = Table(
            {"model": "a:b", "limits": {"rounds": 2}, "options": {"seed": 1}, "privacy": "full", "system": "Front."},
            "front",
        )
        read = Config(configurations={"help": (front,)}).over(config(tmp_path, self.TEXT))
        found = row(read)

        assert (found.model, found.system, found.source) == ("a:b", "Front.", "front")
        assert (found.limits, found.options) == ({"rounds": 2}, Options(temperature=0.2, seed=1))
        assert found.privacy is PrivacyLevel.REDACTED

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("modle = 'a:b'", "Did you mean 'model'"),
            ("model = 5", "'model' from"),
            ("model = ''", "model holds an empty name"),
            ("tools = 'look'", "it is no list"),
            ("tools = ['look', '']", "tools holds an empty name"),
            ("fallbacks = ['']", "fallbacks holds an empty name"),
            ("limits = {ronds = 5}", "Did you mean 'rounds'"),
            ("limits = {rounds = -1}", "limits.rounds: -1"),
            ("options = {temperature = 9}", "options.temperature: 9"),
            ("options = 5", "'options' from"),
            ("privacy = 'open'", "it is none of none, metadata, redacted, full"),
            ("zone = 'moon'", "it is none of local, private, external, external_global"),
            ("system = 'a'\nsystem_file = 'b'", "exclude each other"),
            ("system_file = 'none.md'", "none.md cannot be read: No such file"),
        ],
    )
    def test_wrong(self, tmp_path: Path, text: str, why: str):
        """A fault names file, row, setting and remedy."""
        error = refusal(config(tmp_path, ROW + text))

        assert why in str(error)
        assert "Configuration 'help'" in str(error)
        assert "user.toml" in str(error)
        assert error.remedy

    def test_wrong_behind(self, tmp_path: Path):
        """A fault is found also where another file's setting counts."""
        front = Config(configurations={"help": (Table({"zone": "local"}, "front"),)})

        assert "it is none of" in str(refusal(front.over(config(tmp_path, ROW + "zone = 'moon'"))))

    @pytest.mark.parametrize(("data", "why"), [(b"\xff", "no UTF-8 text"), (b"x" * (SYSTEM_BYTES + 1), "262,144")])
    def test_a_file_that_is_no_text(self, tmp_path: Path, data: bytes, why: str):
        """A file of instructions is a text of bounded size."""
        (tmp_path / "prompt.md").write_bytes(data)

        assert why in str(refusal(config(tmp_path, ROW + "system_file = 'prompt.md'")))


class TestRun:
    def test_the_instruction(self, tmp_path: Path):
        """It stands in front; a caller's replaces it, and so does one that the conversation begins with."""
        own = runtime(config(tmp_path, ROW + 'system = "Be brief."'))
        again = [ChatMessage.system("Be long."), ChatMessage.user("hi")]

        assert [m.content for m in begun(own).messages] == ["Be brief.", "hi"]
        assert [m.content for m in begun(own, system="Be kind.").messages] == ["Be kind.", "hi"]
        with own.stream(again, configuration="help", dry_run=True) as stream:
            assert [m.content for m in stream.state.messages] == ["Be long.", "hi"]

    def test_the_model(self, tmp_path: Path):
        """It goes before the Runtime's and after the caller's."""
        own = runtime(config(tmp_path, ROW + 'model = "near:big"'))

        assert own.describe(configuration="help")[1].name == "big"
        assert begun(own).model == "near:big"
        assert begun(own, model="vllm:other").model == "vllm:other"
        assert own.describe()[0].name == "vllm"

    def test_options(self, tmp_path: Path):
        """A caller's go first, then the configuration's, then those of the model's row."""
        rows = '[models.fast]\nprovider = "vllm"\nid = "q"\ndefaults = {temperature = 0.9, seed = 1, top_p = 0.5}\n'
        own = runtime(config(tmp_path, rows + ROW + "options = {temperature = 0.2, seed = 2}"))
        options = begun(own, model="fast", options=Options(seed=3)).options

        assert (options.temperature, options.seed, options.top_p) == (0.2, 3, 0.5)

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            (None, Limits(rounds=12, tokens=100)),
            (Limits(rounds=3), Limits(rounds=3, tokens=100)),
            (Limits(rounds=50, tokens=900), Limits(rounds=12, tokens=100)),
            (Limits(tokens=None), Limits(rounds=12, tokens=100)),
            (Limits(calls=7), Limits(rounds=12, tokens=100, calls=7)),
        ],
    )
    def test_limits(self, tmp_path: Path, asked: Limits | None, expected: Limits):
        """A caller's higher limit is clamped, a lower one holds."""
        own = runtime(config(tmp_path, ROW + "limits = {rounds = 12, tokens = 100}"))

        assert begun(own, limits=asked).limits == expected

    @given(asked=BOUNDS, row=BOUNDS, behind=BOUNDS)
    def test_no_limit_is_above_either(self, asked: dict[str, int], row: dict[str, int], behind: dict[str, int]):
        """Whatever is asked for and written: a run's limits are within the configuration's and the caller's."""
        found = Configuration(name="help", limits=row).begins(Limits(**asked), behind)

        assert all(getattr(found, name) <= most for name, most in row.items())
        assert all(getattr(found, name) == min(most, row.get(name, most)) for name, most in asked.items())

    @pytest.mark.parametrize("written", ["0.5", '"0.5"', '"5e-1"'])
    def test_a_cost_in_any_writing(self, tmp_path: Path, written: str):
        """Figures count, however a file writes them, beside a caller's and the model's."""
        read = config(tmp_path, ROW + f"limits = {{cost = {written}}}")
        found = PluginHost(config=read, environ={}).configuration("help")

        assert found.begins(Limits(), {"cost": Decimal(1)}).cost == Decimal("0.5")
        assert found.begins(Limits(cost="0.2"), {}).cost == Decimal("0.2")
        assert found.begins(Limits(cost=7), {}).cost == Decimal("0.5")

    def test_limits_of_the_model_too(self, tmp_path: Path):
        """Of what a caller leaves open the lower one counts, of the configuration's and the model's row."""
        rows = '[models.fast]\nprovider = "vllm"\nid = "q"\nlimits = {rounds = 8, tokens = 500, calls = 4}\n'
        own = runtime(config(tmp_path, rows + ROW + "limits = {rounds = 12, tokens = 100}"))

        assert begun(own, model="fast").limits == Limits(rounds=8, tokens=100, calls=4)

    def test_of_the_runtime(self, tmp_path: Path):
        """A Runtime's own counts where a run names none, the file's default where neither does."""
        read = config(tmp_path, 'default_configuration = "other"\n[configurations.other]\n' + ROW)

        assert begun(runtime(read, configuration="help"), configuration=None).configuration == "help"
        assert begun(runtime(read, configuration="help"), configuration="other").configuration == "other"
        assert begun(runtime(read), configuration=None).configuration == "other"
        assert begun(runtime(Config()), configuration=None).configuration is None

    def test_a_name_that_is_nobodys(self, tmp_path: Path):
        """It is compared with those there are, before anything is asked."""
        own = runtime(config(tmp_path, ROW))

        with pytest.raises(UnknownNameError, match=r"no configuration named 'hlep'\. Did you mean 'help'\?"):
            own.run("hi", configuration="hlep")
        with pytest.raises(UnknownNameError, match="no configuration named 'help'"):
            Runtime(providers=[ScriptedProvider("hi")]).run("hi", configuration="help")
        with pytest.raises(InvalidValueError, match="configuration: must be a name, not a int"):
            own.run("hi", configuration=5)  # type: ignore[arg-type]
        assert own.scripted.requests == []  # type: ignore[attr-defined]

    async def _all(self, own: Runtime) -> tuple[Any, Any]:
        async with own.astream("hi", configuration="help") as stream:
            async for _ in stream:
                pass
        return await own.arun("hi", configuration="help"), stream.state

    def test_every_way(self, tmp_path: Path):
        """Blocking, awaited and streamed runs take it alike."""
        import asyncio

        own = runtime(config(tmp_path, ROW + 'system = "Be brief."'))
        own.run("hi", configuration="help")
        _, state = asyncio.run(self._all(own))

        assert state.configuration == "help"
        assert [request.messages[0].content for request in own.scripted.requests] == ["Be brief."] * 3  # type: ignore[attr-defined]

    def test_listed(self, tmp_path: Path):
        """A Runtime lists those that can be used."""
        own = runtime(config(tmp_path, ROW + "[configurations.odd]\nzone = 'moon'\n"))

        assert list(own.configurations()) == ["help"]
        assert Runtime().configurations() == {}


class TestTools:
    def of(self, folder: Path, tools: str, *, project: str = "", user: str = "") -> Runtime:
        read = config(folder, ROW + (f"tools = {tools}\n" if tools else "") + user)
        return runtime(config(folder, ROW + project, trusted=False).over(read) if project else read)

    def test_absent_is_the_default_set(self, tmp_path: Path):
        """A configuration that says nothing of tools leaves them to the caller."""
        own = self.of(tmp_path, "")

        assert offered(own) == ("look", "count")
        assert offered(own, tools=["erase"]) == ("erase",)

    def test_none(self, tmp_path: Path):
        """An empty list is none, also where the caller wants some of a group."""
        own = self.of(tmp_path, "[]")

        assert offered(own) == ()
        assert offered(own, tools=["@shelf"]) == ()
        with pytest.raises(ConfigurationError, match="It grants no tools"):
            own.run("hi", configuration="help", tools=["look"])

    def test_names(self, tmp_path: Path):
        """Names, groups and addresses are granted, in their order."""
        assert offered(self.of(tmp_path, '["tools:erase", "count"]')) == ("erase", "count")
        assert offered(self.of(tmp_path, '["@shelf"]')) == ("look", "count", "erase")

    def test_a_caller_narrows(self, tmp_path: Path):
        """Of a group the caller gets what is granted; what is named and not granted is refused."""
        own = self.of(tmp_path, '["look", "count"]')

        assert offered(own, tools=["@shelf"]) == ("look", "count")
        assert offered(own, tools="count") == ("count",)
        assert offered(own, tools=[]) == ()
        with pytest.raises(ConfigurationError, match="does not grant erase") as caught:
            own.run("hi", configuration="help", tools=["@shelf", "erase"])
        assert "It grants look, count" in caught.value.remedy

    def test_objects(self, tmp_path: Path):
        """A granted tool may be passed as it is; another of its name does not stand in for it."""
        own = self.of(tmp_path, '["look", "erase"]')
        harmless = Tool.from_function(erase.function, name="erase", description="Erase.")

        assert offered(own, tools=[look]) == ("look",)
        assert isinstance(runtime_of(own, tools=[harmless]), Suspended)
        with pytest.raises(ConfigurationError, match="does not grant look"):
            own.run("hi", configuration="help", tools=[Tool.from_function(lambda: "x", name="look", description="d")])

    def test_of_the_actor(self, tmp_path: Path):
        """What is open to administrators stays so."""
        own = self.of(tmp_path, '["audit", "look"]')

        assert offered(own) == ("look",)
        assert offered(own, actor=Actor("root", admin=True)) == ("audit", "look")

    def test_as_many_as_the_model_copes_with(self, tmp_path: Path):
        """A list that is too long for the model is an error, since somebody chose it."""
        rows = '[models.small]\nprovider = "near"\nmax_tools = 1\n'
        own = runtime(config(tmp_path, rows + ROW + 'tools = ["look", "count"]'))

        assert offered(own, model="small", tools=["look"]) == ("look",)
        with pytest.raises(InvalidValueError, match="the model copes with 1"):
            own.run("hi", configuration="help", model="small")

    def test_a_tool_that_is_nobodys(self, tmp_path: Path):
        """The error names file and configuration."""
        with pytest.raises(ConfigurationError, match=r"'help', .*user\.toml: tools: .*Did you mean 'look'"):
            offered(self.of(tmp_path, '["lok"]'))
        with pytest.raises(ConfigurationError, match=r"tool group named 'shlef'"):
            offered(self.of(tmp_path, '["@shlef"]'))

    def test_a_project_narrows(self, tmp_path: Path):
        """A file that is not trusted leaves some of the user's tools, and adds none."""
        own = self.of(tmp_path, '["look", "erase"]', project='tools = ["@shelf"]')
        less = self.of(tmp_path, '["look", "erase"]', project='tools = ["look"]')
        more = self.of(tmp_path, '["look", "erase"]', project='tools = ["look", "count"]')

        assert offered(own) == ("look", "erase")
        assert offered(less) == ("look",)
        with pytest.raises(ConfigurationError, match=r"project\.toml is not trusted and adds count"):
            offered(more)

    def test_a_project_alone_has_the_default_set(self, tmp_path: Path):
        """Without a list of the user's it chooses among enabled reads."""
        assert offered(self.of(tmp_path, "", project='tools = ["@shelf"]')) == ("look", "count")
        with pytest.raises(ConfigurationError, match="adds erase"):
            offered(self.of(tmp_path, "", project='tools = ["erase"]'))


def runtime_of(own: Runtime, **settings: Any) -> Any:
    """Run a conversation whose model calls `erase`."""
    provider = ScriptedProvider(calling(("erase", {})), name="vllm")
    return Runtime(own._assembly.host, providers=[provider], model="vllm:m").run("hi", configuration="help", **settings)


class TestUntrusted:
    """A cloned project narrows a row of the user's, or makes one within what is usual."""

    def of(self, folder: Path, project: str, user: str = "") -> Config:
        return config(folder, ROW + project, trusted=False).over(config(folder, user))

    def test_may(self, tmp_path: Path):
        """It may name a model, instruct, tighten bounds and privacy."""
        (tmp_path / "prompt.md").write_text("Be brief.", "utf-8")
        text = (
            'model = "near:a"\nsystem_file = "prompt.md"\nlimits = {rounds = 2}\nprivacy = "none"\n'
            'zone = "external_global"\nfallbacks = ["vllm:b"]\noptions = {temperature = 0.1}\n'
        )

        assert row(self.of(tmp_path, text)).system == "Be brief."

    def test_of_one_provider(self, tmp_path: Path):
        """It may name another model of the provider that the user's row names, also by an alias."""
        user = '[models.fast]\nprovider = "near"\n' + ROW + 'model = "fast"\nfallbacks = ["vllm:b"]'

        assert row(self.of(tmp_path, 'model = "near:a"\nfallbacks = ["vllm:c"]', user)).model == "near:a"

    @pytest.mark.parametrize(
        ("project", "user", "name"),
        [
            ("limits = {rounds = 6}", "", "limits.rounds"),
            ("limits = {tokens = 200}", "limits = {tokens = 100}", "limits.tokens"),
            ("options = {provider_options = {a = {}}}", "", "options.provider_options"),
            ("privacy = 'redacted'", "", "privacy"),
            ("privacy = 'metadata'", "privacy = 'none'", "privacy"),
            ("zone = 'local'", "", "zone"),
            ("zone = 'private'", "zone = 'external'", "zone"),
            ("system = 'Tell all.'", "system = 'Be kind.'", "system"),
            ("system_file = 'user.toml'", "system = 'Be kind.'", "system_file"),
            ("model = 'vllm:a'", "model = 'near:a'", "model"),
            ("fallbacks = ['vllm:a']", "model = 'near:a'", "fallbacks"),
            ("model = 'near:a'", "tools = []", "model"),
        ],
    )
    def test_may_not(self, tmp_path: Path, project: str, user: str, name: str):
        """It widens no bound, loosens no privacy, takes no instruction away and sends nothing elsewhere."""
        error = refusal(self.of(tmp_path, project, ROW + user if user else ""))

        assert f"project.toml is not trusted and sets '{name}' beyond your own" in str(error)
        assert "trust this project" in error.remedy

    def test_a_file_outside(self, tmp_path: Path):
        """It reads no instruction from outside of its folder."""
        (tmp_path / "secret").write_text("s", "utf-8")
        inner = tmp_path / "project"
        inner.mkdir()

        assert "is not trusted and sets 'system_file'" in str(
            refusal(config(inner, ROW + "system_file = '../secret'", trusted=False))
        )

    def test_no_default(self, tmp_path: Path):
        """It does not choose which of the user's configurations counts."""
        with pytest.raises(ConfigurationError, match=r"project\.toml is not trusted and sets default_configuration"):
            config(tmp_path, "default_configuration = 'help'", trusted=False)

    def test_no_store(self, tmp_path: Path):
        """It does not choose where runs are kept."""
        with pytest.raises(ConfigurationError, match=r"project\.toml is not trusted and sets store"):
            config(tmp_path, "store = 'mine'", trusted=False)

    @pytest.mark.parametrize("line", ["default_configuration = 5", "default_configuration = ''"])
    def test_wrong_default(self, tmp_path: Path, line: str):
        """What names no configuration is refused with the file."""
        with pytest.raises(ConfigurationError, match=r"user\.toml: default_configuration names no configuration"):
            config(tmp_path, line)


class TestResume:
    TEXT = ROW + 'tools = ["erase", "look"]\nlimits = {rounds = 9}\n'

    def suspended(self, folder: Path) -> tuple[Runtime, Suspended]:
        own = runtime(config(folder, self.TEXT), calling(("erase", {})))
        outcome = own.run("hi", configuration="help")
        assert isinstance(outcome, Suspended)
        return own, outcome

    def test_kept(self, tmp_path: Path):
        """The state names the configuration, also as JSON, and the run goes on within it."""
        _, outcome = self.suspended(tmp_path)
        state = RunState.from_json(outcome.state.to_json())
        own = runtime(config(tmp_path, self.TEXT), "done")

        assert (state.configuration, state.allowed) == ("help", ("erase", "look"))
        assert own.resume(state, True).content == "done"

    def test_narrowed_meanwhile(self, tmp_path: Path):
        """What the configuration no longer grants is not run, and a lower bound holds."""
        _, outcome = self.suspended(tmp_path)
        own = runtime(config(tmp_path, ROW + 'tools = ["look"]\nlimits = {rounds = 2}'), "done")
        result = own.resume(outcome, True)

        assert [(call.name, call.is_error) for call in result.invocations] == [("erase", True)]
        assert "erased" not in result.invocations[0].content
        assert [spec.name for spec in own.scripted.requests[0].tools] == ["look"]  # type: ignore[attr-defined]

    def test_bounded_meanwhile(self, tmp_path: Path):
        """A bound that was lowered holds for what is left of the run, one that was raised does not."""
        _, outcome = self.suspended(tmp_path)
        lower = runtime(config(tmp_path, self.TEXT.replace("rounds = 9", "rounds = 1")), "done")
        higher = runtime(config(tmp_path, self.TEXT.replace("rounds = 9", "rounds = 99")), "done")

        assert [str(own.resume(outcome, True).reason) for own in (lower, higher)] == ["max_rounds", "completed"]
        assert outcome.state.limits.rounds == 9

    def test_a_caller_only_narrows(self, tmp_path: Path):
        """Tools named when resuming are held against it too."""
        own, outcome = self.suspended(tmp_path)

        with pytest.raises(ConfigurationError, match="does not grant count"):
            own.resume(outcome, True, tools=["erase", "count"])

    def test_gone(self, tmp_path: Path):
        """Without its configuration a run does not go on, and nothing has happened."""
        _, outcome = self.suspended(tmp_path)
        own = runtime(Config(), "done")

        with pytest.raises(ConfigurationError, match=r"began with the configuration 'help', which is gone"):
            own.resume(outcome, True)
        assert own.scripted.requests == []  # type: ignore[attr-defined]


class TestPrivacy:
    TEXT = ROW + 'tools = ["erase"]\nprivacy = "none"\n'

    @pytest.mark.parametrize(
        ("configured", "of_the_runtime", "of_the_run", "kept"),
        [("none", "full", "full", "none"), ("full", None, None, "full"), ("full", "redacted", None, "redacted")],
    )
    def test_the_strictest_counts(
        self, tmp_path: Path, configured: str, of_the_runtime: str | None, of_the_run: str | None, kept: str
    ):
        """Nobody loosens what another says."""
        store = MemoryStore()
        own = runtime(config(tmp_path, ROW + f"privacy = {configured!r}"), store=store, privacy=of_the_runtime)
        result = own.run("hi", configuration="help", privacy=of_the_run)
        found = store.run(result.run_id)

        assert found is not None
        assert (found.head.privacy, found.head.configuration) == (PrivacyLevel(kept), "help")

    def test_of_a_run_that_goes_on(self, tmp_path: Path):
        """Also where another store takes it up."""
        read, store = config(tmp_path, self.TEXT), MemoryStore()
        suspended = runtime(read, calling(("erase", {}))).run("hi", configuration="help")
        result = runtime(read, "done", store=store, privacy="full").resume(suspended, True)
        found = store.run(result.run_id)

        assert found is not None
        assert found.head.privacy is PrivacyLevel.NONE


class TestContributed:
    def test_listed_with_its_source(self):
        """A package's configuration is found by name."""
        found = host(Config(), acme=Contributed(reading={"tools": ["look"], "system": "Look."})).configurations()

        assert (found["reading"].tools, found["reading"].source) == (("look",), "plugin 'acme'")

    def test_under_the_files(self, tmp_path: Path):
        """A user's row lies over it, setting by setting, and a package raises no limit of the user's."""
        read = config(tmp_path, "[configurations.reading]\nlimits = {rounds = 3}\n")
        acme = Contributed(reading={"tools": ["look"], "limits": {"rounds": 9, "calls": 4}})
        found = host(read, acme=acme).configuration("reading")

        assert (found.tools, found.limits) == (("look",), {"rounds": 3, "calls": 4})
        assert found.source == str(tmp_path / "user.toml")

    def test_a_project_narrows_it(self, tmp_path: Path):
        """A file that is not trusted adds no tool to a package's."""
        read = config(tmp_path, "[configurations.reading]\ntools = ['count']\n", trusted=False)
        own = Runtime(host(read, acme=Contributed(reading={"tools": ["look"]})), model="near:m")

        with pytest.raises(ConfigurationError, match="adds count"):
            own.run("hi", configuration="reading")

    def test_in_dispute(self, tmp_path: Path):
        """A name that two packages offer is nobody's, unless a file has it."""
        rivals = {"a": Contributed(x={"tools": []}), "b": Contributed(x={"tools": []}), "c": Contributed(y={})}
        own = host(Config(), **rivals)

        with pytest.raises(NameClashError, match="the configuration 'x' is offered by"):
            own.configuration("x")
        assert list(own.configurations()) == ["y"]
        assert host(config(tmp_path, "[configurations.x]\nsystem = 'Mine.'"), **rivals).configuration("x").tools is None

    @pytest.mark.parametrize(
        ("table", "why"),
        [
            ({"system_file": "/etc/passwd"}, "give the text as system"),
            ({"options": {"provider_options": {"openai": {}}}}, "leave them to the user's own file"),
            (5, "where a mapping of names to tables belongs"),
        ],
    )
    def test_refused(self, table: object, why: str):
        """Data names no file and no field that a server could be put into."""
        own = host(Config(), acme=Contributed(reading=table))
        own.configurations()

        (record,) = [record for record in own.records() if record.name == "acme"]
        assert why in record.reason

    @pytest.mark.parametrize("setting", ["api_key", "base_url"])
    def test_no_key_and_no_address(self, setting: str):
        """There is no such setting."""
        own = host(Config(), acme=Contributed(reading={setting: "x"}))

        with pytest.raises(ConfigurationError, match=f"plugin 'acme': There is no setting named '{setting}'"):
            own.configuration("reading")


class TestFindings:
    def of(self, read: Config) -> list[str]:
        return [f"{one.what} {one.why} {one.fix}" for one in host(read).config_findings()]

    def test_well(self, tmp_path: Path):
        """Where all is well there is nothing to say."""
        text = 'default_configuration = "help"\n' + ROW + 'model = "near:a"\ntools = ["look", "@shelf"]\n'

        assert self.of(config(tmp_path, text)) == []

    def test_each(self, tmp_path: Path):
        """A fault, models, tools and a default that nobody has are told with what to do."""
        text = (
            'default_configuration = "hlep"\n'
            + ROW
            + 'model = "naer:a"\nfallbacks = ["ner"]\ntools = ["lok", "@shlef"]\n'
            + "[configurations.odd]\nzone = 'moon'\n"
        )
        project = config(tmp_path, ROW + "tools = ['cuont']", trusted=False)
        told = self.of(project.over(config(tmp_path, text)))

        assert [line.split(".")[0] for line in told] == [
            *["The configuration 'help' cannot be used"] * 5,
            "The configuration 'odd' cannot be used",
            "The default configuration cannot be used",
        ]
        assert "Did you mean 'near'?" in told[0]
        assert "Correct fallbacks in [configurations.help]" in told[1]
        assert "Did you mean 'look'?" in told[2]
        assert "Did you mean '@shelf'?" in told[3]
        assert "Did you mean 'count'?" in told[4]
        assert "Did you mean 'help'?" in told[6]
