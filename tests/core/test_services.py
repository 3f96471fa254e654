"""A table of the configuration file is a provider, made by the plugin whose form it names, with no stranger's key."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from nr_llm._host import PluginHost
from nr_llm.codecs.access import Key, ServiceSettings, access
from nr_llm.config import Config, Table, read_config
from nr_llm.errors import (
    ConfigurationError,
    MissingCredentialError,
    NameClashError,
    NrLlmError,
    PluginLoadError,
    UnknownNameError,
)
from nr_llm.hookspecs import hookimpl
from nr_llm.providers import HttpRequest

from tests.core.plugin_parts import Form, FormSettings, Model, Plugin, Service, Tables
from tests.distributions import Site, site

__all__ = ["site"]


@attrs.frozen
class Rows:
    """Settings without a key."""

    rows: int = 5


VLLM = '[providers.vllm]\nplugin = "form"\nbase_url = "http://gpu:8000/v1"\n'


def written(folder: Path, text: str, *, trusted: bool = True) -> Config:
    """Return what a file says."""
    path = folder / "nr-llm.toml"
    path.write_text(text, "utf-8")
    return read_config(path, trusted=trusted)


def host(folder: Path, text: str = VLLM, *, plugins: Any = None, **environ: str) -> PluginHost:
    """Return a host with a plugin that makes providers and a file."""
    config = written(folder, text)
    return PluginHost({"form": Form(), **(plugins or {})}, config=config, environ=environ)


def service(folder: Path, text: str = VLLM, name: str = "vllm", **environ: str) -> Service:
    """Return the provider a file describes."""
    found = host(folder, text, **environ).provider(name).provider
    assert isinstance(found, Service)
    return found


def refusal(folder: Path, text: str, name: str = "vllm", **environ: str) -> ConfigurationError:
    """Return why a file's provider cannot be had; the text names file and table."""
    with pytest.raises(ConfigurationError) as caught:
        host(folder, text, **environ).provider(name)
    assert str(folder / "nr-llm.toml") in str(caught.value)
    return caught.value


class TestMade:
    def test_the_file_is_enough(self, tmp_path: Path):
        """A further service has the settings of its table and says where it is from."""
        registered = host(tmp_path).provider("vllm")

        assert registered.provider.name == "vllm"
        assert registered.provider.settings.base_url == "http://gpu:8000/v1"
        assert (registered.plugin, registered.source) == ("form", str(tmp_path / "nr-llm.toml"))

    def test_made_once(self, tmp_path: Path):
        """It is one object, however it is asked for."""
        own = host(tmp_path)

        assert own.provider("vllm").provider is own.provider("vllm").provider
        assert [given.provider for given in own.providers()] == [own.provider("vllm").provider]

    def test_variables(self, tmp_path: Path):
        """Its own variables go before the file."""
        made = service(tmp_path, VLLM + "rows = 3\n", NR_LLM_VLLM_ROWS="7", NR_LLM_VLLM_BASE_URL="http://b/v1")

        assert (made.settings.rows, made.settings.base_url) == (7, "http://b/v1")

    def test_two_of_a_kind(self, tmp_path: Path):
        """Two services of one form have settings of their own."""
        own = host(tmp_path, VLLM + '[providers.other]\nplugin = "form"\nrows = 9\n')

        assert [own.provider(name).provider.settings.rows for name in ("vllm", "other")] == [5, 9]

    def test_project_over_user(self, tmp_path: Path):
        """Where two files describe one service, each setting is the front one's."""
        front = Config(providers={"vllm": (Table({"rows": 1}, "front"),)})
        own = PluginHost({"form": Form()}, config=front.over(written(tmp_path, VLLM + "rows = 2\n")), environ={})
        made = own.provider("vllm").provider

        assert (made.settings.rows, made.settings.base_url) == (1, "http://gpu:8000/v1")

    def test_the_programs_own_goes_first(self, tmp_path: Path):
        """An object passed in code keeps its name."""
        mine = Model("vllm")
        own = host(tmp_path, plugins={"mine": mine})

        assert own.provider("vllm").provider is mine
        assert [given.provider for given in own.providers()] == [mine]
        assert [(f.what, f.serious) for f in own.doctor()] == [("[providers.vllm] is not used.", False)]


class TestKeys:
    def test_variable(self, tmp_path: Path):
        """The file names the variable that holds the key, and the redactor knows it."""
        own = host(tmp_path, VLLM + 'api_key_env = "MY_KEY"\n', MY_KEY=" tiger-in-a-hat ")

        assert own.provider("vllm").provider.key == "tiger-in-a-hat"
        assert "tiger" not in own.redactor.redact("it is tiger-in-a-hat")

    def test_file(self, tmp_path: Path):
        """A file holds the key; its path is relative to the configuration's folder."""
        (tmp_path / "key").write_text("tiger-in-a-hat\n", "utf-8")

        assert service(tmp_path, VLLM + 'api_key_file = "key"\n').key == "tiger-in-a-hat"

    def test_own_variable(self, tmp_path: Path):
        """``NR_LLM_<NAME>_API_KEY`` goes before what the file names, and needs no word in it."""
        text = VLLM + 'api_key_env = "MY_KEY"\n'

        assert service(tmp_path, text, MY_KEY="file", NR_LLM_VLLM_API_KEY="own").key == "own"
        assert service(tmp_path, NR_LLM_VLLM_API_KEY="own").key == "own"

    def test_never_another_vendors(self, tmp_path: Path):
        """Variables of the plugin and of the vendor of the form are nobody else's."""
        made = service(tmp_path, VENDOR_KEY="vendor", VENDOR_URL="http://vendor", NR_LLM_FORM_API_KEY="plugin")

        assert made.key is None
        assert made.settings.base_url == "http://gpu:8000/v1"

    def test_the_dialects_own(self, tmp_path: Path):
        """The vendor that the settings choose has its own variable, unless the table names another."""
        text = '[providers.groq]\nplugin = "form"\ndialect = "groq"\n'

        assert service(tmp_path, text, "groq", VENDOR_KEY="no", GROQ_KEY_2="yes").key == "yes"
        assert service(tmp_path, text, "groq", GROQ_KEY="yes", NR_LLM_GROQ_API_KEY="mine").key == "mine"
        with pytest.raises(MissingCredentialError):
            service(tmp_path, text + 'api_key_env = "MINE"\n', "groq", GROQ_KEY="yes")

    def test_missing(self, tmp_path: Path):
        """A key that is announced and missing is said before anything is sent; the provider is listed."""
        own = host(tmp_path, VLLM + 'api_key_env = "MY_KEY"\n', MY_KEY="  ")

        with pytest.raises(MissingCredentialError, match="Set NR_LLM_VLLM_API_KEY or MY_KEY"):
            own.provider("vllm")
        assert [given.name for given in own.providers()] == ["vllm"]

    @pytest.mark.parametrize("line", ['api_key = "sk-tiger-7"', 'headers = {X-Gateway-Token = "sk-tiger-7"}'])
    def test_literal(self, tmp_path: Path, line: str):
        """A key in the file is refused with what to write instead, and is not shown."""
        error = refusal(tmp_path, VLLM + line)

        assert "holds a key" in str(error)
        assert "env = " in error.remedy.replace("_env", " env")
        assert "tiger" not in str(error)

    @pytest.mark.parametrize("setting", ["base_url", "proxy"])
    def test_a_password_in_an_address(self, tmp_path: Path, setting: str):
        """Nor does an address in the file hold a password; a variable may."""
        text = f'[providers.vllm]\nplugin = "form"\n{setting} = "http://me:tiger@gpu:8000"\n'
        error = refusal(tmp_path, text)

        assert f"{setting} holds a password" in str(error)
        assert f"NR_LLM_VLLM_{setting.upper()}" in error.remedy
        assert "tiger" not in str(error)
        assert service(tmp_path, text.replace("me:tiger@gpu:8000", "[oops")).name == "vllm"

    def test_a_key_in_the_query_of_an_address(self, tmp_path: Path):
        """It is a key all the same; other queries are fine."""
        text = '[providers.vllm]\nplugin = "form"\nbase_url = "http://gpu:8000/v1?Api-Key=tiger"\n'
        error = refusal(tmp_path, text)

        assert "base_url holds a key" in str(error)
        assert "tiger" not in str(error)
        assert service(tmp_path, text.replace("Api-Key=tiger", "version=2")).name == "vllm"

    @pytest.mark.parametrize("name", ["sk-tiger-7", "tiger_seven", "AKIAIOSFODNN7EXAMPLE", ""])
    def test_a_key_in_place_of_a_variable(self, tmp_path: Path, name: str):
        """A key where a variable's name belongs is not shown either."""
        error = refusal(tmp_path, VLLM + f'api_key_env = "{name}"')

        assert "names no environment variable" in str(error)
        assert not name or name not in str(error)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("api_key_env = 5", "api_key_env names no environment variable"),
            ("api_key_file = 5", "api_key_file names no file"),
            ('api_key_file = ""', "api_key_file names no file"),
            ('api_key_file = "empty"', "the file empty is empty"),
            ('api_key_file = "nowhere"', "nowhere cannot be read"),
        ],
    )
    def test_wrong_sources(self, tmp_path: Path, line: str, why: str):
        """A source that cannot be used is named."""
        (tmp_path / "empty").touch()

        assert why in str(refusal(tmp_path, VLLM + line))

    def test_a_plugin_without_a_key(self, tmp_path: Path):
        """A key for a plugin that takes none is an unknown setting."""

        class Keyless:
            @hookimpl
            def nr_llm_make_provider(self, name: str, settings: Rows):
                return Model(name)

        text = '[providers.x]\nplugin = "keyless"\n'
        assert host(tmp_path, text, plugins={"keyless": Keyless()}).provider("x").name == "x"
        with pytest.raises(ConfigurationError, match="no setting named 'api_key'"):
            host(tmp_path, text + 'api_key_env = "K"', plugins={"keyless": Keyless()}, K="k").provider("x")


class TestHeaders:
    def test_elsewhere(self, tmp_path: Path):
        """A header's value may stand in a variable or a file; the redactor learns it, others are literal."""
        (tmp_path / "token").write_text("lion-on-a-roof", "utf-8")
        line = 'headers = {X-Team = "a", X-Api-Key = {env = "GATE"}, X-Token = {file = "token"}}\n'
        own = host(tmp_path, VLLM + line, GATE="tiger-in-a-hat")
        headers = own.provider("vllm").provider.settings.headers

        assert headers == {"X-Team": "a", "X-Api-Key": "tiger-in-a-hat", "X-Token": "lion-on-a-roof"}
        assert own.redactor.redact("tiger-in-a-hat lion-on-a-roof") == "[redacted] [redacted]"

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("headers = {X-Team = 5}", "headers.X-Team is no text"),
            ("headers = {X-Team = {enw = 'A'}}", "headers.X-Team is no text"),
            ("headers = {X-Team = {env = 'A', file = 'b'}}", "headers.X-Team is no text"),
            ("headers = {X-Team = {env = 'UNSET'}}", "headers.X-Team is in UNSET, which is not set"),
            ("headers = 5", "'headers' from"),
        ],
    )
    def test_wrong(self, tmp_path: Path, line: str, why: str):
        """What is no header is named."""
        assert why in str(refusal(tmp_path, VLLM + line))


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "why", "remedy"),
        [
            ('[providers.vllm]\nbase_url = "http://a"', "does not say whose form", 'plugin = "openai"'),
            ("[providers.vllm]\nplugin = 5", "plugin is no text", 'plugin = "openai"'),
            ('[providers.vllm]\nplugin = "from"', "no plugin named 'from'. Did you mean 'form'", "Correct plugin in"),
            ('[providers.vllm]\nplugin = "zzz"', "no plugin named 'zzz'", "nr-llm[zzz]"),
            ('[providers.vllm]\nplugin = "tools"', "plugin 'tools' makes no further providers", "openai"),
            (VLLM + "rwos = 3", "'rwos'. Did you mean 'rows'", "api_key_env"),
            (VLLM + "rows = 'x'", "'rows' from", "int"),
        ],
    )
    def test_wrong(self, tmp_path: Path, text: str, why: str, remedy: str):
        """Each fault names file, table and setting, and what to do."""
        with pytest.raises(ConfigurationError) as caught:
            host(tmp_path, text, plugins={"tools": Plugin()}).provider("vllm")

        assert why in str(caught.value)
        assert remedy in caught.value.remedy
        assert "vllm" in str(caught.value)
        assert str(tmp_path) in str(caught.value)

    def test_a_broken_plugin(self, tmp_path: Path):
        """A plugin that cannot be used is said as such."""
        with pytest.raises(PluginLoadError, match="failed"):
            host(tmp_path, '[providers.x]\nplugin = "broken"', plugins={"broken": 5}).provider("x")

    @pytest.mark.parametrize(
        ("given", "why"),
        [
            (RuntimeError("tiger-7"), r"nr_llm_make_provider raised RuntimeError.*tiger-7"),
            (None, "gives a NoneType where a provider belongs"),
            (Model("other"), "a provider named 'other' where one named 'x' was asked for"),
        ],
    )
    def test_a_plugin_that_fails_at_it(self, tmp_path: Path, given: object, why: str):
        """What a plugin raises or gives amiss concerns that provider alone."""

        class Failing:
            @hookimpl
            def nr_llm_make_provider(self, name: str, settings: FormSettings):
                if isinstance(given, Exception):
                    raise given
                return given

        text = VLLM + '[providers.x]\nplugin = "failing"\n'
        own = host(tmp_path, text, plugins={"failing": Failing()})

        with pytest.raises(PluginLoadError, match=why):
            own.provider("x")
        assert [provider.name for provider in own.providers()] == ["vllm"]

    def test_a_configuration_error_of_the_plugin_says_which_table(self, tmp_path: Path):
        """The plugin knows what is wrong and not where it was written."""

        class Picky:
            @hookimpl
            def nr_llm_make_provider(self, name: str, settings: FormSettings):
                raise ConfigurationError("No such address.", remedy="Write another.")

        with pytest.raises(ConfigurationError, match=r"nr-llm.toml: \[providers.x\]: No such address\.") as caught:
            host(tmp_path, '[providers.x]\nplugin = "picky"', plugins={"picky": Picky()}).provider("x")
        assert caught.value.remedy == "Write another."

    def test_another_error_of_ours_is_told_as_it_is(self, tmp_path: Path):
        """It is raised unchanged."""

        class Broken:
            @hookimpl
            def nr_llm_make_provider(self, name: str, settings: FormSettings):
                raise PluginLoadError("no such library", plugin="broken")

        with pytest.raises(PluginLoadError, match=r"^Plugin 'broken': no such library$"):
            host(tmp_path, '[providers.x]\nplugin = "broken"', plugins={"broken": Broken()}).provider("x")

    def test_a_name_that_is_a_plugins(self, site: Site, tmp_path: Path):
        """A service that would share a plugin's variables is refused, however the name is spelt."""
        site.plugin("acme", "")
        for name in ("acme", "AC-ME", "ACME"):
            config = written(tmp_path, f'[providers.{name}]\nplugin = "form"\n')
            own = PluginHost.discover(site.names, plugins={"form": Form()}, config=config)
            if name == "AC-ME":
                assert own.provider(name).name == name
            else:
                with pytest.raises(ConfigurationError, match=r"name of the plugin 'acme'.*\[plugins.acme\]"):
                    own.provider(name)

    def test_two_names_with_the_same_variables(self, tmp_path: Path):
        """Services that would share variables are refused."""
        text = '[providers.my-gpu]\nplugin = "form"\n[providers.my_gpu]\nplugin = "form"\n'

        assert "NR_LLM_MY_GPU_" in str(refusal(tmp_path, text, "my_gpu"))

    def test_unknown(self, tmp_path: Path):
        """A name that nobody has is compared with those of the file too."""
        with pytest.raises(UnknownNameError, match="Did you mean 'vllm'"):
            host(tmp_path).provider("vlm")


class TestTrust:
    @pytest.mark.parametrize("line", ['plugin = "form"', 'base_url = "http://evil"', "", 'api_key_env = "K"'])
    def test_no_providers(self, tmp_path: Path, line: str):
        """A cloned project defines and redirects no provider, whatever its table says."""
        with pytest.raises(ConfigurationError, match=r"not trusted and sets providers\.vllm") as caught:
            written(tmp_path, f"[providers.vllm]\n{line}\n", trusted=False)

        assert "trust this project" in caught.value.remedy

    @pytest.mark.parametrize("name", ["dialect", "base_url", "headers", "proxy", "ca_file", "client_certificate"])
    def test_no_redirection_of_a_plugin(self, tmp_path: Path, name: str):
        """Nor does it say where a plugin's own provider is, or whom to trust."""

        class Own:
            @hookimpl
            def nr_llm_providers(self, settings: FormSettings):
                return [Service("own", settings)]

        value = "{a = 'b'}" if name == "headers" else "'x'"
        config = written(tmp_path, f"[plugins.own]\n{name} = {value}\n", trusted=False)
        with pytest.raises(ConfigurationError, match=f"not trusted and sets '{name}'"):
            PluginHost({"own": Own()}, config=config, environ={}).provider("own")


class TestContributed:
    ACME: ClassVar = {"plugin": "form", "base_url": "http://acme", "api_key_env": "ACME_KEY"}

    def test_data(self, tmp_path: Path):
        """A plugin contributes services as data, with the variable of their key."""
        own = host(tmp_path, "", plugins={"more": Tables(acme=self.ACME)}, ACME_KEY="k")
        registered = own.provider("acme")

        assert registered.provider.settings.base_url == "http://acme"
        assert registered.provider.key == "k"
        assert (registered.plugin, registered.source) == ("more", "plugin 'more'")
        assert [given.name for given in own.providers()] == ["acme"]

    def test_laid_over(self, tmp_path: Path):
        """A table without a plugin is laid over the contributed one; one with a plugin replaces it."""
        plugins = {"more": Tables(acme=self.ACME)}
        over = host(tmp_path, "[providers.acme]\nrows = 2\n", plugins=plugins, ACME_KEY="k").provider("acme").provider
        own = host(tmp_path, VLLM.replace("vllm", "acme"), plugins=plugins).provider("acme").provider

        assert (over.settings.rows, over.settings.base_url) == (2, "http://acme")
        assert own.settings.base_url == "http://gpu:8000/v1"

    def test_installed(self, site: Site, tmp_path: Path):
        """A plugin may contribute the service it is named after; the file's own then goes by another name."""
        hook = "@hookimpl\ndef nr_llm_provider_tables():\n    return {NAME: {'plugin': 'form', 'rows': 3}}\n"
        site.plugin("acme", "\n".join(f"    {line}" for line in hook.replace("NAME", "'acme'").splitlines()))
        own = PluginHost.discover(site.names, plugins={"form": Form()}, config=written(tmp_path, VLLM), environ={})

        assert own.provider("acme").provider.settings.rows == 3
        assert [given.name for given in own.providers()] == ["acme", "vllm"]

    def test_a_clash_is_told(self, tmp_path: Path):
        """Where two plugins contribute one name, none has it."""
        own = host(tmp_path, "", plugins={"a": Tables(acme=self.ACME), "b": Tables(acme=dict(self.ACME))})

        with pytest.raises(NameClashError, match=r"provider 'acme' is offered by 'a'.* and 'b'"):
            own.provider("acme")
        (finding,) = [finding for finding in own.doctor() if "provider named 'acme'" in finding.what]
        assert "[providers.acme]" in finding.fix

    @pytest.mark.parametrize(
        ("tables", "why"),
        [
            ({"x": {"plugin": "form", "api_key": "tiger"}}, "its table 'x' holds api_key"),
            ({"x": {"plugin": "form", "api_key_file": "tiger"}}, "its table 'x' holds api_key_file"),
            ({"x": 5}, "a mapping of names to tables"),
            ({"x:y": {}}, "a mapping of names to tables"),
            ({5: {}}, "a mapping of names to tables"),
        ],
    )
    def test_refused(self, tables: Any, why: str):
        """Keys and what is no table fail the plugin, without showing a key."""
        more = Tables()
        more.tables = tables
        own = PluginHost({"more": more})

        assert own.providers() == ()
        assert why in own.records()[0].reason
        assert "tiger" not in own.records()[0].reason

    def test_no_tables(self):
        """What yields no pairs is refused too."""
        more = Tables()
        more.tables = ["x"]  # type: ignore[assignment]
        own = PluginHost({"more": more})

        assert own.providers() == ()
        assert "a str where a mapping" in own.records()[0].reason

    def test_faulty(self, tmp_path: Path):
        """A faulty table is no provider and stops no other."""
        own = host(tmp_path, plugins={"more": Tables(x={"plugin": "nobody"})})

        assert [given.name for given in own.providers()] == ["vllm"]
        with pytest.raises(NrLlmError, match=r"plugin 'more': \[providers.x\]"):
            own.provider("x")


class TestDoctor:
    def test_well(self, tmp_path: Path):
        """A sound file is no finding."""
        assert host(tmp_path).doctor() == ()

    def test_faults(self, tmp_path: Path):
        """Each fault of a file is found with its reason and what to do."""
        text = (
            'default_model = "fats"\ndefautl_model = "x"\nother = 5\n' + VLLM + 'api_key_env = "UNSET"\n'
            '[providers.bad]\nplugin = "form"\nrwos = 5\n[models.fast]\nprovider = "vlm"\n[models.odd]\nid = "x"\n'
        )
        own = host(tmp_path, text, plugins={"more": Tables(acme=TestContributed.ACME)})
        found = {finding.what: finding for finding in own.doctor()}

        assert "UNSET" in found["Provider 'vllm' cannot be used."].fix
        assert "'rwos'" in found["Provider 'bad' cannot be used."].why
        assert "Did you mean 'vllm'" in found["The model 'fast' cannot be used."].why
        assert "'provider' is not set" in found["The model 'odd' cannot be used."].why
        assert "Did you mean 'fast'" in found["The default model cannot be used."].why
        assert not found["Provider 'acme' cannot be used."].serious
        (remark,) = [finding for what, finding in found.items() if "defautl_model" in what]
        assert (remark.fix, remark.serious) == ("Did you mean default_model?", False)
        assert len(found) == 7
        assert all(finding.fix for finding in found.values())

    def test_a_failing_plugin(self, tmp_path: Path):
        """An error without a remedy is found too."""
        text = '[providers.x]\nplugin = "broken"\n'
        found = host(tmp_path, text, plugins={"broken": 5}).doctor()

        assert ["Correct the object that is passed to PluginHost.", "Correct what the reason names."] == [
            finding.fix for finding in found
        ]

    @pytest.mark.parametrize("name", ["fast", "vllm:", "vllm:qwen", "vllm"])
    def test_a_sound_default(self, tmp_path: Path, name: str):
        """A default model may be an alias or a provider's."""
        text = f'default_model = "{name}"\n{VLLM}[models.fast]\nprovider = "vllm"\n'

        assert host(tmp_path, text).doctor() == ()


@pytest.mark.parametrize(
    ("name", "variables"), [("acme", ("NR_LLM_ACME_API_KEY", "ACME_KEY")), ("mine", ("NR_LLM_MINE_API_KEY",))]
)
def test_an_error_names_variables_that_are_read(name: str, variables: tuple[str, ...]) -> None:
    """A provider under another name is told its own variable, not those of the plugin it is made by."""
    form = Key(variables=("NR_LLM_ACME_API_KEY", "ACME_KEY"), needed_at="acme.test")
    way = access(name, ServiceSettings(), address="https://acme.test/v1", form=form)

    with pytest.raises(MissingCredentialError) as caught:
        way.transport.auth(HttpRequest("POST", "https://acme.test/v1"))
    assert caught.value.variables == variables
