"""A plugin's hooks are handed its settings, as one typed object."""

from __future__ import annotations

import attrs
import pytest
from nr_llm._host import PluginHost
from nr_llm.config import Config, Table
from nr_llm.errors import ConfigurationError
from nr_llm.hookspecs import hookimpl
from nr_llm.plugins import PluginState
from nr_llm.secrets import MASK, Secret

from tests.core.plugin_parts import Options, Plugin, WithSettings, named


class TestSettings:
    def test_handed_over(self):
        """All hooks of a plugin get one object, made of environment, files and program."""
        plugin = WithSettings()
        config = Config(tables={"p": (Table({"rows": 7}, "x.toml"),)})
        host = PluginHost({"p": plugin}, environ={"ACME_KEY": "tiger-7"}, config=config)
        loaded = host.settings("p")

        assert plugin.seen == [Options(7, Secret("tiger-7"))] * 2
        assert plugin.seen[0] is plugin.seen[1] is loaded.settings
        assert loaded.sources == {"rows": "x.toml", "key": "ACME_KEY"}
        assert host.redactor.redact("tiger-7") == MASK

    def test_from_the_program(self):
        """The program may pass values, or the object itself, whose secrets are learned."""
        plugin, given = WithSettings(), Options(9, Secret("tiger-7"))
        values = PluginHost({"p": plugin}, settings={"p": {"rows": 8}}, environ={})
        whole = PluginHost({"p": plugin}, settings={"p": given}, environ={})

        assert values.settings("p").settings == Options(8)
        assert whole.settings("p").settings is given
        assert whole.settings("p").sources == {"rows": "the program", "key": "the program"}
        assert whole.redactor.redact("tiger-7") == MASK

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"settings": {"p": 5}}, "takes settings of Options and was passed int"),
            ({"settings": {"p": {"rwos": 5}}}, "'rwos'.*'rows'"),
            ({"environ": {"NR_LLM_P_ROWS": "x"}}, "'rows' from NR_LLM_P_ROWS cannot be used"),
        ],
    )
    def test_wrong(self, options: dict[str, object], why: str):
        """Wrong settings fail the plugin with a reason that says what to set, and are the error of whoever needs it."""
        host = PluginHost({"p": WithSettings(), "q": named("q")}, **{"environ": {}, **options})

        with pytest.raises(ConfigurationError, match=why):
            host.require("p")
        assert host.records()[0].state is PluginState.FAILED
        assert host.records()[0].reason.startswith("Plugin 'p'")
        assert host.tool("q")

    def test_none(self):
        """A plugin without settings has none."""
        assert PluginHost({"p": Plugin()}).settings("p") is None

    def test_two_classes(self):
        """The hooks of one plugin take one class."""

        @attrs.frozen
        class Others:
            pass

        class Torn(WithSettings):
            @hookimpl
            def nr_llm_providers(self, settings: Others):
                raise NotImplementedError

        Torn.nr_llm_providers.__annotations__["settings"] = Others
        host = PluginHost({"p": Torn()}, environ={})
        host.load()

        assert "settings of Options and of Others: use one class" in host.records()[0].reason
