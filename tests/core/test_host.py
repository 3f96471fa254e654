"""The host goes on whatever a plugin does, and says what became of it."""

from __future__ import annotations

import textwrap
import threading
import types

import pytest
from nr_llm._host import PluginHost
from nr_llm.errors import UnknownNameError
from nr_llm.hookspecs import hookimpl
from nr_llm.plugins import PluginState
from nr_llm.secrets import MASK
from nr_llm.tools import tool

from tests.core.plugin_parts import GOOD, Command, Model, Plugin, Shared, found, named
from tests.distributions import Site, site

__all__ = ["site"]


class TestGiven:
    def test_kinds(self):
        """Modules, objects with hooks, tools, toolsets and providers may be passed."""
        module = types.ModuleType("some.nr_llm_weather")
        module.nr_llm_tools = hookimpl(lambda: [named("rain")])
        host = PluginHost([module, Plugin(tools=[named("wind")]), named("snow"), Shared("hail"), Model("sky")])

        assert [registered.wire_name for registered in host.tools()] == ["rain", "wind", "snow", "hail"]
        assert host.provider("sky").name == "sky"
        assert [record.name for record in host.records()] == ["weather", "plugin", "snow", "shared", "sky"]

    @pytest.mark.lesson(116)
    def test_file_of_tools(self):
        """A module handed over in code may be nothing but @tool functions, each once."""
        module = types.ModuleType("mine")
        module.a, module.b = named("a"), named("b")
        module.again = module.a

        assert [registered.address for registered in PluginHost([module]).tools()] == ["mine:a", "mine:b"]

    def test_names(self):
        """A mapping gives names; else objects are named after themselves, with a number where that is taken."""
        assert [r.name for r in PluginHost({"x": named("a"), "y": named("b")}).records()] == ["x", "y"]
        assert [r.name for r in PluginHost([Plugin(), Plugin(), Plugin()]).records()] == [
            "plugin",
            "plugin-2",
            "plugin-3",
        ]
        assert [r.name for r in PluginHost([Model("- ?"), Model("a b"), Model("_x")]).records()] == [
            "plugin",
            "ab",
            "x",
        ]

    def test_twice(self):
        """An object passed twice counts once, by whatever name."""
        a = named("a")
        host = PluginHost([a, a])
        both = PluginHost({"x": a, "y": a})

        assert len(host.records()) == 1
        assert [registered.address for registered in both.tools()] == ["x:a"]
        assert both.records()[1].state is PluginState.CLASH
        assert both.records()[1].reason == "it is the same object as plugin 'x' and is used as that"

    def test_one_tool_from_two_plugins(self):
        """One tool object that two plugins return is no dispute."""
        a = named("a")
        host = PluginHost([Plugin(tools=[a]), Plugin(tools=[a, a])])

        assert [registered.address for registered in host.tools()] == ["plugin:a"]

    def test_equal_objects(self):
        """Objects that are equal are different plugins."""

        class Equal(Plugin):
            __hash__ = None

            def __eq__(self, other: object):
                return True

        host = PluginHost([Equal(tools=[named("a")]), Equal(tools=[named("b")])])

        assert [registered.name for registered in host.tools()] == ["a", "b"]

    def test_nothing(self):
        """No plugins are no trouble."""
        host = PluginHost()

        assert host.records() == host.tools() == host.providers() == host.commands() == host.doctor() == ()
        with pytest.raises(UnknownNameError, match="'x'"):
            host.tool("x")
        with pytest.raises(UnknownNameError, match="'x'"):
            host.provider("x")

    def test_asked_once(self):
        """Each hook is asked once, and only when something of its kind is wanted."""
        plugin = Plugin(tools=[named("a")], providers=[Model("m")], commands=[Command("c")])
        host = PluginHost([plugin])

        host.records()
        before = list(plugin.asked)
        for _ in range(2):
            host.tools()
            host.providers()
            host.commands()

        assert before == []
        assert plugin.asked == ["tools", "providers", "commands"]

    def test_record(self):
        """A loaded plugin's record lists what it gave, and the time it took."""
        ticks = iter([0.0, 0.1, 1.0, 1.2, 2.0, 2.0, 3.0, 3.0])
        plugin = Plugin(tools=[named("a"), named("b")], providers=iter([Model("m")]), commands=(Command("c"),))
        (record,) = PluginHost([plugin], clock=lambda: next(ticks)).load("plugin")

        assert (record.tools, record.providers, record.commands) == (("a", "b"), ("m",), ("c",))
        assert record.seconds == pytest.approx(0.3)
        assert (record.state, record.reason, record.label, record.origin) == (PluginState.ACTIVE, "", None, "code")


class TestIsolation:
    """Each way to be broken: what is written, and what state and reason it ends in."""

    @pytest.mark.lesson(7, 8, 9, 150, 151, 152)
    @pytest.mark.parametrize(
        ("code", "state", "why"),
        [
            (
                "import no_such_module_at_all",
                "failed",
                "importing it raised ModuleNotFoundError at site/plugin_bad.py:",
            ),
            ("def (", "failed", "importing it raised SyntaxError"),
            ("raise SystemExit(3)", "failed", "importing it raised SystemExit"),
            ("raise BaseException('odd')", "failed", "importing it raised BaseException"),
            ("raise RuntimeError('key sk-proj-A1b2C3d4E5f6G7h8I9j0')", "failed", f"key {MASK}"),
            ("class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute", "failed", "raised Mute at"),
            ("x = 1", "failed", "it implements no hook and has no function with @tool"),
            (
                "from nr_llm.tools import tool\ntrap = named('trap')",
                "failed",
                "return its tools (trap) from nr_llm_tools",
            ),
            (
                "@hookimpl\ndef nr_llm_tools(): 1 / 0",
                "failed",
                "nr_llm_tools raised ZeroDivisionError at site/plugin_bad.py:",
            ),
            ("@hookimpl\ndef nr_llm_tools(): exit(1)", "failed", "nr_llm_tools raised SystemExit"),
            ("@hookimpl\ndef nr_llm_tools():\n    yield named('a')\n    1 / 0", "failed", "raised ZeroDivisionError"),
            ("@hookimpl\ndef nr_llm_tools(): return 5", "failed", "nr_llm_tools raised TypeError"),
            ("@hookimpl\ndef nr_llm_tools(): return ['a']", "failed", "it gives a str where a Tool or Toolset belongs"),
            ("@hookimpl\ndef nr_llm_tools(): return [named]", "failed", "put @tool above it"),
            ("@hookimpl\ndef nr_llm_tools(): return [named('a'), named('a')]", "failed", "two values named 'a'"),
            (
                "import itertools\n@hookimpl\ndef nr_llm_tools(): return (named(f'a{i}') for i in itertools.count())",
                "failed",
                "more than 1,000 values",
            ),
            ("@hookimpl\ndef nr_llm_tools():\n    while True: yield t\nt = named('a')", "active", ""),
            (
                "async def tools(): pass\n@hookimpl\ndef nr_llm_tools(): return tools()",
                "failed",
                "returned an awaitable",
            ),
            ("@hookimpl\nasync def nr_llm_tools(): pass", "failed", "importing it: nr_llm_tools is async"),
            ("@hookimpl\ndef nr_llm_tolls(): return []", "failed", "did you mean nr_llm_tools?"),
            ("def nr_llm_tools(): return []", "failed", "nr_llm_tools is not marked"),
            ("@hookimpl\ndef nr_llm_tools(setings): return []", "failed", "'setings'"),
            ("@hookimpl\ndef nr_llm_providers(): return [5]", "failed", "it gives a int where a provider belongs"),
            ("@hookimpl\ndef nr_llm_commands(): return [5]", "failed", "where a click.Command with a name belongs"),
            ("@hookimpl\ndef nr_llm_tools(): return None", "active", ""),
        ],
        ids=lambda value: value if isinstance(value, str) and len(value) < 20 else None,
    )
    def test_broken(self, site: Site, code: str, state: str, why: str):
        """The plugin ends in its state with its reason, and the others work."""
        site.plugin("bad", textwrap.indent(code, " " * 4))
        site.plugin("good", GOOD)
        host = PluginHost.discover(site.names)

        host.load()

        assert found(host, site)["bad"].state == state
        assert why in found(host, site)["bad"].reason
        assert host.tool("good").tool() == "plugin_good: "
        assert found(host, site)["good"].state is PluginState.ACTIVE

    def test_other_hooks_go_on(self):
        """A plugin that fails at one hook keeps what its other hooks give."""
        host = PluginHost({"half": Plugin(tools=RuntimeError("no"), providers=[Model("m")])})
        host.load()

        assert host.tools() == ()
        assert host.provider("m").name == "m"
        assert host.records()[0].state is PluginState.FAILED
        assert host.records()[0].providers == ("m",)

    def test_interrupt(self):
        """Ctrl-C is not the plugin's: it passes through."""
        host = PluginHost({"slow": Plugin(tools=KeyboardInterrupt())})

        with pytest.raises(KeyboardInterrupt):
            host.tools()

        assert host.records()[0].reason == "nr_llm_tools was interrupted"

    def test_slow(self, site: Site):
        """A plugin that keeps the host waiting works, and says so."""
        now = [0.0]
        site.plugin("slow", GOOD)

        def clock() -> float:
            now[0] += 1.5
            return now[0]

        host = PluginHost.discover(site.names, clock=clock, slow_after=1.0)
        host.load()

        assert found(host, site)["slow"].state is PluginState.SLOW
        assert found(host, site)["slow"].reason == "importing it took 1.5 s"
        assert host.tool("good")

    def test_reason_is_bounded(self):
        """A reason stays one line of a few hundred characters."""
        host = PluginHost({"long": Plugin(tools=RuntimeError("x\n" * 10_000))})
        host.load()

        assert len(host.records()[0].reason) <= 500
        assert "\n" not in host.records()[0].reason

    @pytest.mark.parametrize(
        ("thing", "why"),
        [
            (Plugin, "Plugin is a class: name an instance of it"),
            (lambda: None, "is a plain function: put @tool above it"),
            (5, "it implements no hook and has no function with @tool"),
        ],
    )
    def test_no_plugin(self, thing: object, why: str):
        """What can be no plugin says why."""
        host = PluginHost({"odd": thing})
        host.load()

        assert why in host.records()[0].reason

    @pytest.mark.parametrize("provider", [Model, Model(""), Model(5), object()])
    def test_no_provider(self, provider: object):
        """What is no provider, or has no name, is refused."""
        host = PluginHost({"odd": Plugin(providers=[provider])})

        assert host.providers() == ()
        assert "it gives" in host.records()[0].reason

    def test_toolset_with_other_things(self):
        """A toolset that has more than tools is refused."""
        host = PluginHost({"odd": Plugin(tools=[Shared("a", 5)])})

        assert host.tools() == ()
        assert "the toolset Shared has a int among its tools" in host.records()[0].reason

    def test_hook_that_asks_its_host(self):
        """A hook that asks its own host finds nothing of itself, and no end is lost."""
        seen = []

        class Curious:
            @hookimpl
            def nr_llm_tools(self):
                seen.extend(host.load())
                return [named("a")]

        host = PluginHost([Curious()])

        assert [registered.name for registered in host.tools()] == ["a"]
        assert seen[0].state is PluginState.ACTIVE

    def test_threads(self):
        """Asked by many threads at once, a plugin is asked once, and all see the same tools."""
        plugin, start = Plugin(tools=[Shared("a")]), threading.Barrier(8)
        host, seen = PluginHost([plugin]), []

        def ask() -> None:
            start.wait()
            seen.append(host.tools())

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert plugin.asked == ["tools"]
        assert len({id(tools[0]) for tools in seen}) == 1


def test_tool_decorator_in_a_host():
    """What @tool makes is called by the host's users as the function was."""

    @tool
    def greet(name: str) -> str:
        """Greet a person."""
        return f"Hello, {name}!"

    assert PluginHost([greet]).tool("greet").tool("Ada") == "Hello, Ada!"
