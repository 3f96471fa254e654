"""An alias names a model, what is known of it, and what its runs begin with; whoever asks may say otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm import ConfigurationError, Limits, Options, Runtime, UnknownNameError
from nr_llm._host import PluginHost
from nr_llm.config import Config, Table, read_config
from nr_llm.testing import ScriptedProvider, calling

from tests.core.plugin_parts import Form

ROW = '[models.fast]\nprovider = "vllm"\nid = "qwen"\n'


def config(folder: Path, text: str, *, trusted: bool = True) -> Config:
    """Return what a file says."""
    path = folder / f"{'user' if trusted else 'project'}.toml"
    path.write_text(text, "utf-8")
    return read_config(path, trusted=trusted)


def runtime(read: Config, *replies: Any, **settings: Any) -> Runtime:
    """Return a Runtime whose provider `vllm` answers from a list."""
    provider = ScriptedProvider(*(replies or ("hi",)), name="vllm", context=1000, max_tools=9)
    own = Runtime(PluginHost({"vllm": provider, "form": Form()}, config=read, environ={}), **settings)
    own.scripted = provider  # type: ignore[attr-defined]
    return own


def refusal(read: Config, name: str = "fast") -> ConfigurationError:
    """Return why an alias cannot be used."""
    with pytest.raises(ConfigurationError) as caught:
        runtime(read).describe(name)
    return caught.value


class TestNamesOfProviders:
    """The name of a provider means its default model; a cloned project may not have it mean another provider."""

    @pytest.mark.parametrize("named", ["vllm", "own"])
    def test_a_project_gives_one_away(self, tmp_path: Path, named: str):
        """It is refused, whoever names the model: the user, or the user's configuration."""
        project = config(tmp_path, '[models.vllm]\nprovider = "form"\n', trusted=False)
        read = project.over(config(tmp_path, '[configurations.own]\nmodel = "vllm"\n'))
        asked = {"model": named} if named == "vllm" else {"configuration": named}
        with pytest.raises(ConfigurationError, match=r"project\.toml is not trusted and gives the name of a provider"):
            runtime(read).run("hi", **asked)  # type: ignore[arg-type]

    def test_what_is_no_providers_name(self, tmp_path: Path):
        """It is the project's to give, and so is a provider's own name for itself."""
        rows = '[models.quick]\nprovider = "vllm"\n[models.vllm]\nprovider = "vllm"\ncontext = 7\n'
        own = runtime(config(tmp_path, rows, trusted=False))

        assert (own.describe("quick")[0].name, own.describe("vllm")[1].context) == ("vllm", 7)

    def test_the_user_may(self, tmp_path: Path):
        """A file of their own may say so."""
        read = config(tmp_path, '[models.form]\nprovider = "vllm"\n')

        assert runtime(read).describe("form")[0].name == "vllm"


class TestFacts:
    def test_over_the_providers(self, tmp_path: Path):
        """What the row says of the model goes before what the provider knows."""
        facts = 'context = 32768\nmax_output = 4096\nresult_bytes = 20000\nattachments = ["image/*", "text/plain"]\n'
        provider, known = runtime(config(tmp_path, ROW + facts)).describe("fast")

        assert (provider.name, known.name, known.context, known.max_output) == ("vllm", "qwen", 32768, 4096)
        assert (known.max_tools, known.result_bytes) == (9, 20000)
        assert known.attachments == ("image/", "text/plain")

    def test_by_the_models_own_name(self, tmp_path: Path):
        """They hold for ``provider:model`` too, as far as all rows agree: a resumed run is the same run."""
        other = ROW.replace("fast", "small") + "context = 500\nmax_output = 10\n"
        own = runtime(config(tmp_path, ROW + "context = 700\nmax_output = 10\n" + other))

        assert own.describe("fast")[1].context == 700
        assert (own.describe("vllm:qwen")[1].context, own.describe("vllm:qwen")[1].max_output) == (1000, 10)
        assert own.describe("vllm:other")[1].max_output is None

    def test_without_an_id(self, tmp_path: Path):
        """A row without an id is the provider's default model."""
        known = runtime(config(tmp_path, '[models.fast]\nprovider = "vllm"\ncontext = 7\n')).describe("fast")[1]

        assert known.context == 7

    def test_in_a_run(self, tmp_path: Path):
        """A run by an alias asks the model by its own name, and its results are bounded to the row's."""
        own = runtime(config(tmp_path, ROW + "result_bytes = 300\nmax_tools = 1\n"))
        result = own.run("hi", model="fast")

        assert result.content == "hi"
        assert own.scripted.requests[0].model == "qwen"  # type: ignore[attr-defined]


class TestDefaults:
    ROW = (
        ROW + "limits = {rounds = 8, tokens = 1000}\n"
        "defaults = {temperature = 0.2, seed = 1, provider_options = {a = {x = 1, y = 1}, b = {z = 1}}}\n"
    )

    def test_under_the_callers(self, tmp_path: Path):
        """What the caller sets goes first field by field, options of providers name by name."""
        own = runtime(config(tmp_path, self.ROW))
        options = Options(temperature=0.5, max_tokens=9, provider_options={"a": {"y": 2}, "c": {"w": 2}})
        own.run("hi", model="fast", options=options)
        asked = own.scripted.requests[0].options  # type: ignore[attr-defined]

        assert (asked.temperature, asked.max_tokens, asked.seed) == (0.5, 9, 1)
        assert asked.provider_options == {"a": {"x": 1, "y": 2}, "b": {"z": 1}, "c": {"w": 2}}

    def test_of_one_call(self, tmp_path: Path):
        """A single completion has them too, and a model that is named by itself has none."""
        own = runtime(config(tmp_path, self.ROW), "a", "b", options=Options(seed=3))
        own.complete("hi", model="fast")
        own.complete("hi", model="vllm:qwen")
        first, second = (request.options for request in own.scripted.requests)  # type: ignore[attr-defined]

        assert (first.temperature, first.seed) == (0.2, 3)
        assert (second.temperature, second.seed) == (None, 3)

    def test_limits(self, tmp_path: Path):
        """The row's limits hold where the caller gave none."""
        own = runtime(config(tmp_path, self.ROW))
        with own.stream("hi", model="fast", limits=Limits(rounds=2, calls=7)) as stream:
            limits = stream.state.limits

        assert limits == Limits(rounds=2, calls=7, tokens=1000)

    def test_a_usual_limit_can_be_asked_for(self, tmp_path: Path):
        """A caller who names the usual value means it."""
        own = runtime(config(tmp_path, self.ROW))
        with own.stream("hi", model="fast", limits=Limits(rounds=5, tokens=None)) as stream:
            limits = stream.state.limits

        assert (limits.rounds, limits.tokens) == (5, None)

    def test_kept_by_a_resumed_run(self, tmp_path: Path):
        """A run that waited for a person goes on with the limits and options it began with."""
        from nr_llm import tool

        @tool(effect="write", approval=True)
        def write() -> str:
            """Write."""
            return "written"

        own = runtime(config(tmp_path, self.ROW), calling(("write", {})), "done", tools=[write])
        suspended = own.run("hi", model="fast", tools=["write"])
        own.resume(suspended, True)

        assert [request.options.seed for request in own.scripted.requests] == [1, 1]  # type: ignore[attr-defined]
        assert suspended.state.limits.tokens == 1000


class TestDefaultModel:
    def test_when_none_is_named(self, tmp_path: Path):
        """The configuration's default counts after the caller's and the Runtime's."""
        read = config(tmp_path, 'default_model = "fast"\n' + ROW)

        assert runtime(read).describe()[1].name == "qwen"
        assert runtime(read, model="vllm:other").describe()[1].name == "other"
        assert runtime(read, model="vllm:other").describe("fast")[1].name == "qwen"

    def test_none_at_all(self):
        """Without any, nothing is asked merely because a provider is there."""
        with pytest.raises(ConfigurationError, match=r"default_model in nr-llm\.toml"):
            runtime(Config()).run("hi")
        with pytest.raises(ConfigurationError, match="No model is named"):
            Runtime().describe()

    @pytest.mark.parametrize("line", ["default_model = 5", 'default_model = ""', "default_model = ['a']"])
    def test_wrong(self, tmp_path: Path, line: str):
        """What names no model is refused with the file."""
        with pytest.raises(ConfigurationError, match=r"user\.toml: default_model names no model"):
            config(tmp_path, line)

    def test_project_over_user(self, tmp_path: Path):
        """The front file's default counts, else the one behind."""
        user = config(tmp_path, 'default_model = "a"')
        project = config(tmp_path, 'default_model = "b"', trusted=False)

        assert (project.over(user).default_model, Config().over(user).default_model) == ("b", "a")
        assert project.over(user).default_source.endswith("project.toml")


class TestNames:
    def test_neither(self, tmp_path: Path):
        """A name that is neither is compared with both, and the ways to name a model are said."""
        read = config(tmp_path, ROW)

        with pytest.raises(UnknownNameError, match=r"Did you mean 'fast'\?.*PROVIDER:MODEL.*alias"):
            runtime(read).describe("fasst")
        with pytest.raises(UnknownNameError, match="Did you mean 'vllm'"):
            runtime(read).describe("vlm")
        with pytest.raises(UnknownNameError, match="Did you mean 'vllm'"):
            runtime(read).describe("vlm:qwen")

    def test_an_alias_without_its_provider(self, tmp_path: Path):
        """The error names file and row."""
        error = refusal(config(tmp_path, ROW.replace("vllm", "vlm")))

        assert "user.toml" in str(error)
        assert "Did you mean 'vllm'" in str(error)
        assert error.remedy == "Correct provider in [models.fast]."

    def test_no_text(self, tmp_path: Path):
        """What is no text is no model."""
        with pytest.raises(ConfigurationError, match="5 names no model"):
            runtime(config(tmp_path, ROW)).describe(5)  # type: ignore[arg-type]

    def test_listed(self, tmp_path: Path):
        """The host lists the rows that can be used."""
        own = PluginHost(config=config(tmp_path, ROW + "[models.odd]\n"), environ={})

        assert {name: alias.reference for name, alias in own.models().items()} == {"fast": "vllm:qwen"}
        assert own.model("nobody") is None


class TestWrong:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("[models.fast]\n", "'provider' is not set. Set provider in [models.fast]"),
            (ROW + "contxt = 5", "'contxt'. Did you mean 'context'"),
            (ROW + "context = 'x'", "it is no whole number"),
            (ROW + "context = 0", "user.toml"),
            (ROW + "attachments = 'image/'", "it is no list"),
            (ROW + "limits = {ronds = 5}", "limits: There is no setting named 'ronds'. Did you mean 'rounds'"),
            (ROW + "limits = {rounds = -1}", "user.toml: limits.rounds: -1"),
            (ROW + "limits = 5", "'limits' from"),
            (ROW + "defaults = {temprature = 1}", "Did you mean 'temperature'"),
            (ROW + "defaults = {temperature = 9}", "user.toml: defaults.temperature: 9"),
        ],
    )
    def test_row(self, tmp_path: Path, text: str, why: str):
        """A fault names row and setting."""
        error = refusal(config(tmp_path, text))

        assert why in str(error)
        assert "fast" in str(error)

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("models = 5", "models is no table"),
            ("providers = []", "providers is no table"),
            ("[models]\nfast = 'vllm:qwen'", "models.fast is no table"),
            ("[models.'a:b']\n", "has a name that no model could be reached by"),
        ],
    )
    def test_shape(self, tmp_path: Path, text: str, why: str):
        """A file of another shape is refused as a whole."""
        with pytest.raises(ConfigurationError, match=rf"user\.toml.*{why}"):
            config(tmp_path, text)

    def test_behind(self, tmp_path: Path):
        """A fault in the file behind is found too."""
        front = Config(models={"fast": (Table({"limits": {"rounds": 1}}, "front"),)})
        error = refusal(front.over(config(tmp_path, ROW + "limits = 5")))

        assert "user.toml: limits is no table" in str(error)


class TestTrust:
    """A cloned project names models of known providers and bounds them; it widens nothing."""

    def of(self, folder: Path, project: str, user: str = "") -> Config:
        return config(folder, project, trusted=False).over(config(folder, user))

    def test_may(self, tmp_path: Path):
        """It may name a model, say what is known of it, tighten its limits and set plain defaults."""
        text = ROW + "context = 5\nlimits = {rounds = 2, tokens = 9}\ndefaults = {temperature = 0.1}\n"
        own = runtime(self.of(tmp_path, 'default_model = "fast"\n' + text))

        assert own.describe()[1].context == 5

    @pytest.mark.parametrize(
        ("project", "user", "name"),
        [
            (ROW + "limits = {rounds = 6}", "", "limits.rounds"),
            (ROW + "limits = {tokens = 2000}", ROW + "limits = {tokens = 1000}", "limits.tokens"),
            (ROW + "defaults = {provider_options = {a = {}}}", "", "defaults.provider_options"),
            (ROW.replace("vllm", "openai"), ROW, "provider"),
        ],
    )
    def test_may_not(self, tmp_path: Path, project: str, user: str, name: str):
        """It may not raise a bound, name raw fields of a service, or send a user's own alias elsewhere."""
        error = refusal(self.of(tmp_path, project, user))

        assert f"project.toml is not trusted and sets '{name}'" in str(error)
        assert "trust this project" in error.remedy

    def test_over_the_users(self, tmp_path: Path):
        """A user's own bounds stay under what a project tightens."""
        read = self.of(tmp_path, "[models.fast]\nlimits = {rounds = 2}", ROW + "limits = {rounds = 9, tokens = 7}")
        alias = PluginHost(config=read, environ={}).models()["fast"]

        assert alias.limits == {"rounds": 2, "tokens": 7}
        assert attrs.evolve(alias, limits={}).bounding(Limits()) == Limits()

    def test_a_provider_that_is_not_known(self, tmp_path: Path):
        """An alias of a provider nobody has is no way to define one."""
        assert "provider named 'evil'" in str(refusal(self.of(tmp_path, ROW.replace("vllm", "evil"))))


def test_a_program_may_pass_a_provider(tmp_path: Path) -> None:
    """Aliases may name providers that the program passes to the Runtime."""
    own = Runtime(PluginHost(config=config(tmp_path, ROW), environ={}), providers=[ScriptedProvider("hi", name="vllm")])

    assert own.run("hi", model="fast").content == "hi"
