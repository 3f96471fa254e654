"""Every name goes to one owner: the program, then this project's plugins, and no stranger in dispute."""

from __future__ import annotations

import sys

import pytest
from nr_llm._host import PluginHost
from nr_llm.errors import NameClashError, PluginLoadError, UnknownNameError
from nr_llm.plugins import PluginState

from tests.core.plugin_parts import GOOD, Command, Model, Plugin, named
from tests.distributions import Site, site

__all__ = ["site"]


class TestTools:
    def test_provenance(self, site: Site):
        """A tool knows its plugin, package and version."""
        site.plugin("a", GOOD, version="3.1")
        registered = PluginHost.discover(site.names).tool("good")

        assert (registered.plugin, registered.distribution, registered.version) == ("a", "acme-a", "3.1")
        assert (registered.name, registered.wire_name, registered.address) == ("good", "good", "a:good")

    def test_ways_to_name_it(self):
        """A tool is found by its name, its address and its wire name."""
        host = PluginHost({"p": Plugin(tools=[named("a")])})

        assert host.tool("a") is host.tool("p:a") is host.tool("p__a")

    @pytest.mark.lesson(41, 54, 126)
    def test_strangers_clash(self, site: Site):
        """Among strangers nobody gets a name, both are named, and each is found by its address."""
        site.plugin("a", GOOD)
        site.plugin("b", GOOD, version="2.0")
        host = PluginHost.discover(site.names)

        with pytest.raises(NameClashError, match=r"acme-a 1\.0.*acme-b 2\.0.*a:good or b:good") as caught:
            host.tool("good")

        assert (caught.value.plugin, caught.value.distribution) == ("a", "acme-a 1.0")
        assert [registered.wire_name for registered in host.tools()] == ["a__good", "b__good"]
        assert host.tool("b:good").tool() == "plugin_b: "
        assert host.tool("b:good").tool.spec.name == "b__good"
        assert host.tool("b:good").name == "good"

    def test_first_party_goes_first(self, site: Site):
        """A name that this project and a stranger have is this project's; the stranger's is found by its address."""
        site.plugin("a", GOOD)
        site.add("nr-llm-tools", entry_points={"tools": "plugin_t"}, modules={"plugin_t": GOOD})
        host = PluginHost.discover(site.names)

        assert host.tool("good").distribution == "nr-llm-tools"
        assert host.tool("a:good").wire_name == "a__good"

    def test_own_goes_first(self, site: Site):
        """The program's own tools go before all."""
        site.add("nr-llm-tools", entry_points={"tools": "plugin_t"}, modules={"plugin_t": GOOD})
        host = PluginHost.discover(site.names, plugins=[named("good")])

        assert host.tool("good").distribution is None
        assert host.tool("tools__good").distribution == "nr-llm-tools"

    @pytest.mark.lesson(42)
    def test_wire_names_are_unique(self):
        """A wire name that is too long, unfit or by chance another tool's is told apart by a digest."""
        long = "x" * 60
        plugins = {
            "p": Plugin(tools=[named("a"), named(long)]),
            "q.r": Plugin(tools=[named("a"), named(long)]),
            "9": Plugin(tools=[named("a")]),
            "s": Plugin(tools=[named("p__a")]),
        }
        host = PluginHost(plugins)
        names = [registered.wire_name for registered in host.tools()]

        assert len(set(names)) == len(names) == 6
        assert names[2] == "q_r__a"
        assert names[5] == "p__a"
        assert all(len(name) <= 64 for name in names)
        assert [host.tool(registered.address) for registered in host.tools()] == list(host.tools())
        assert names == [registered.wire_name for registered in PluginHost(plugins).tools()]

    @pytest.mark.lesson(18)
    def test_unknown(self):
        """An unknown tool names those alike, and plugins that failed."""
        host = PluginHost({"p": Plugin(tools=[named("read_file")]), "q": Plugin(tools=RuntimeError("no"))})

        with pytest.raises(UnknownNameError, match=r"'read_flie'.*'read_file'") as caught:
            host.tool("read_flie")

        assert "Plugin 'q' failed: nr_llm_tools raised RuntimeError" in caught.value.remedy

    @pytest.mark.lesson(18)
    def test_address_of_a_broken_plugin(self):
        """An address whose plugin is broken or missing raises that."""
        host = PluginHost({"p": Plugin(tools=RuntimeError("no"))})

        with pytest.raises(PluginLoadError, match="raised RuntimeError"):
            host.tool("p:a")
        with pytest.raises(UnknownNameError, match="plugin named 'pp'"):
            host.tool("pp:a")

    def test_address_without_tool(self):
        """An address whose plugin has no such tool says that."""
        with pytest.raises(UnknownNameError, match="tool named 'p:b'"):
            PluginHost({"p": Plugin(tools=[named("a")])}).tool("p:b")


PROVIDING = """
    from nr_llm.providers import Endpoint

    class Model:
        endpoint = Endpoint("nowhere", local=True)
        def __init__(self, name): self.name = name
        def describe(self, model): ...
        def complete(self, request, cancelled): ...

    @hookimpl
    def nr_llm_providers():
        return [Model({names})]
"""


class TestProviders:
    @pytest.mark.lesson(92)
    def test_loads_one(self, site: Site):
        """A provider loads the plugin of its name and no other."""
        site.plugin("one", PROVIDING.format(names="'one'"))
        site.plugin("two", PROVIDING.format(names="'two'"))
        host = PluginHost.discover(site.names)
        registered = host.provider("one")

        assert (registered.name, registered.plugin, registered.distribution) == ("one", "one", "acme-one")
        assert registered.version == "1.0"
        assert "plugin_one" in sys.modules
        assert "plugin_two" not in sys.modules

    def test_other_name(self, site: Site):
        """A provider that is not named like its plugin is found too."""
        site.plugin("one", PROVIDING.format(names="'uno'"))

        assert PluginHost.discover(site.names).provider("uno").plugin == "one"

    def test_nobody_takes_a_plugins_name(self, site: Site):
        """A provider named like another plugin does not get in its place, whether that works or not."""
        site.plugin("a", PROVIDING.format(names="'one'"))
        site.plugin("one", PROVIDING.format(names="'one'"))
        site.plugin("b", PROVIDING.format(names="'two'"))
        site.plugin("two", "    1 / 0")
        host = PluginHost.discover(site.names)

        assert host.provider("one").plugin == "one"
        with pytest.raises(PluginLoadError, match="ZeroDivisionError"):
            host.provider("two")
        assert [registered.plugin for registered in host.providers() if registered.name == "one"] == ["one"]

    def test_strangers_clash(self, site: Site):
        """Among strangers nobody gets a provider's name."""
        site.plugin("a", PROVIDING.format(names="'x'"))
        site.plugin("b", PROVIDING.format(names="'x'"))
        host = PluginHost.discover(site.names)

        assert [registered for registered in host.providers() if registered.name == "x"] == []
        with pytest.raises(NameClashError, match=r"provider 'x' is offered by 'a'.*deny one of the packages"):
            host.provider("x")

    @pytest.mark.lesson(11)
    def test_own_goes_first(self, site: Site):
        """The program's own provider goes before an installed one, which is not even loaded."""
        site.plugin("one", PROVIDING.format(names="'one'"))
        mine = Model("one")

        assert PluginHost.discover(site.names, plugins={"mine": mine}).provider("one").provider is mine
        assert "plugin_one" not in sys.modules

    def test_plugin_without_provider(self):
        """A plugin of that name without a provider is no provider."""
        with pytest.raises(UnknownNameError, match="provider named 'p'"):
            PluginHost({"p": Plugin()}).provider("p")

    def test_one_module_under_two_names(self, site: Site):
        """One module may be the entry point of several providers, whichever is asked for first."""
        code = PROVIDING.format(names="'one'), Model('two'")
        site.add("acme-x", entry_points={"one": "plugin_x", "two": "plugin_x"}, modules={"plugin_x": code})

        assert PluginHost.discover(site.names).provider("two").name == "two"
        host = PluginHost.discover(site.names)
        assert [host.provider(name).name for name in ("one", "two")] == ["one", "two"]
        assert host.require("two").state is PluginState.CLASH


class TestCommands:
    def test_owner(self):
        """A command that one plugin has is given with its provenance; one that two have is given to nobody."""
        host = PluginHost({"p": Plugin(commands=[Command("x"), Command("y")]), "q": Plugin(commands=[Command("y")])})

        assert [(given.name, given.plugin, given.command.name) for given in host.commands()] == [("x", "p", "x")]
