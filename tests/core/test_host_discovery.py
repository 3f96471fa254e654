"""Installed plugins are found by their metadata; which may load is settled before any of their code runs."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import types

import pytest
from nr_llm._host import PluginHost
from nr_llm.config import Config
from nr_llm.errors import NameClashError, PluginLoadError, UnknownNameError
from nr_llm.plugins import FIRST_PARTY, PluginState

from tests.core.plugin_parts import GOOD, Plugin, found, named
from tests.distributions import Site, site
from tests.support import ROOT

__all__ = ["site"]


class TestDiscovery:
    def test_metadata_only(self, site: Site):
        """Listing runs no plugin code and knows name, package, version, origin, value and range."""
        site.plugin("bad", "    raise AssertionError('imported')", version="2.0", requires=["nr-llm>=0.1"])
        record = found(PluginHost.discover(site.names), site)["bad"]

        assert (record.distribution, record.version, record.origin) == ("acme-bad", "2.0", "index")
        assert (record.value, record.requires, record.state) == ("plugin_bad", ">=0.1", PluginState.DISCOVERED)
        assert (record.seconds, record.tools, record.label) == (None, None, "acme-bad 2.0")
        assert "plugin_bad" not in sys.modules

    def test_object(self, site: Site):
        """An entry point may name a tool, which is then a plugin by itself."""
        site.add("acme-one", entry_points={"one": "plugin_one:only"}, modules={"plugin_one": 'only = named("only")'})
        registered = PluginHost.discover(site.names).tool("one:only")

        assert (registered.plugin, registered.distribution, registered.version) == ("one", "acme-one", "1.0")

    @pytest.mark.lesson(30, 149, 157)
    @pytest.mark.parametrize(
        ("requires", "state", "why"),
        [
            ("nr-llm>=2", "incompatible", "it needs nr-llm >=2, and this is 0.1.0"),
            ("nr-llm~=0.2.0", "incompatible", "it needs nr-llm ~=0.2.0, and this is 0.1.0"),
            ("nr-llm>=0.1,<0.2", "active", ""),
            ("nr-llm (whatever)", "incompatible", "cannot be judged"),
        ],
    )
    def test_range(self, site: Site, requires: str, state: str, why: str):
        """A plugin for another host is not imported; one for this host is."""
        site.add("nr-llm", "0.1.0")
        site.plugin("a", GOOD, requires=[requires])
        host = PluginHost.discover(["acme-a"])
        host.load()

        assert found(host, site)["a"].state == state
        assert why in found(host, site)["a"].reason
        assert ("plugin_a" in sys.modules) is (state == "active")

    def test_name(self, site: Site):
        """A name that variables and wire names could not hold is refused without an import."""
        site.add("acme-odd", entry_points={"o:dd": "plugin_odd"})

        assert "letters, digits" in found(PluginHost.discover(site.names), site)["o:dd"].reason

    def test_two_packages_one_name(self, site: Site):
        """Of two strangers with one name neither loads, and each names both."""
        site.plugin("a", GOOD)
        site.add("acme-b", "2.0", entry_points={"A": "plugin_b"})
        host = PluginHost.discover(site.names)
        host.load()

        for record in found(host, site).values():
            assert record.state is PluginState.CLASH
            assert "acme-a 1.0" in record.reason
            assert "acme-b 2.0" in record.reason
        assert "plugin_a" not in sys.modules

    def test_first_party_name(self, site: Site):
        """A stranger with the name of one of this project's plugins stays out, and the other loads."""
        site.add("acme-evil", entry_points={"sql": "plugin_evil"})
        site.add("nr-llm-sql", entry_points={"sql": "plugin_sql"}, modules={"plugin_sql": GOOD})
        host = PluginHost.discover(site.names)
        host.load()
        records = found(host, site)

        assert records["nr-llm-sql"].state is PluginState.ACTIVE
        assert records["nr-llm-sql"].first_party
        assert records["acme-evil"].state is PluginState.CLASH
        assert "nr-llm-sql 1.0 has the name 'sql' and is this project's own" in records["acme-evil"].reason

    def test_two_names_in_one_first_party_package(self, site: Site):
        """Not even this project may have a name twice."""
        for name in ("nr-llm-sql", "nr-llm-tools"):
            site.add(name, entry_points={"sql": "plugin_x"})

        assert {r.state for r in found(PluginHost.discover(site.names), site).values()} == {PluginState.CLASH}

    def test_own_name(self, site: Site):
        """A plugin the program names itself keeps an installed one of that name out; one it does not name gives way."""
        site.plugin("mine", GOOD)
        module = types.ModuleType("mine")
        module.a = named("a")

        given = PluginHost.discover(site.names, plugins={"mine": module})
        unnamed = PluginHost.discover(site.names, plugins=[module])

        assert found(given, site)["mine"].reason == "the program passed a plugin named 'mine' itself"
        names = [record.name for record in unnamed.records() if record.name.startswith("mine")]
        assert names == ["mine-2", "mine"]
        assert {registered.address for registered in unnamed.tools()} == {"mine-2:a", "mine:good"}

    def test_unreadable_package(self, site: Site):
        """A package that cannot be read is a finding and costs nobody else."""
        (site.add("acme-torn", entry_points={"torn": "m"}) / "METADATA").unlink()
        site.plugin("good", GOOD)
        host = PluginHost.discover([*site.names, "acme-torn"])

        assert host.tool("good")
        assert any("metadata of acme-torn cannot be read" in finding.what for finding in host.doctor())


class TestSelection:
    @pytest.mark.lesson(146, 147, 154, 160)
    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({}, None),
            ({"allow": ["Acme_A"]}, None),
            ({"allow": []}, "not allowed by the program"),
            ({"deny": ["acme.a"]}, "denied by the program"),
            ({"allow": ["acme-a"], "deny": ["acme-a"]}, "denied by the program"),
            ({"environ": {"NR_LLM_PLUGINS": "acme-b, acme-a"}}, None),
            ({"environ": {"NR_LLM_PLUGINS": "acme-b"}}, "not allowed by NR_LLM_PLUGINS"),
            ({"environ": {"NR_LLM_PLUGINS": ""}}, "not allowed by NR_LLM_PLUGINS"),
            ({"environ": {"NR_LLM_PLUGINS": ""}, "allow": ["acme-a"]}, None),
            ({"environ": {"NR_LLM_PLUGINS_DENY": "acme-b acme-a"}}, "denied by NR_LLM_PLUGINS_DENY"),
            ({"environ": {"NR_LLM_PLUGINS_DENY": ""}}, None),
            ({"environ": {"NR_LLM_DISABLE_PLUGIN_AUTOLOAD": "1"}}, "not allowed by NR_LLM_DISABLE_PLUGIN_AUTOLOAD"),
            ({"environ": {"NR_LLM_DISABLE_PLUGIN_AUTOLOAD": "0"}}, None),
            ({"environ": {"NR_LLM_DISABLE_PLUGIN_AUTOLOAD": "1", "NR_LLM_PLUGINS": "acme-a"}}, None),
            ({"config": Config(allow=("acme-b",))}, "not allowed by the configuration"),
            ({"config": Config(allow=("acme-b",)), "environ": {"NR_LLM_PLUGINS": "acme-a"}}, None),
            ({"config": Config(deny=("acme-a",)), "allow": ["acme-a"]}, "denied by the configuration"),
        ],
        ids=repr,
    )
    def test_order(self, site: Site, options: dict[str, object], reason: str | None):
        """Deny-lists add up; of the allow-lists the first of program, variable and configuration counts."""
        site.plugin("a", GOOD)
        host = PluginHost.discover(**{"environ": {}, **options})
        record = found(host, site)["a"]
        host.load("a")

        assert record.state is (PluginState.DISCOVERED if reason is None else PluginState.DENIED)
        assert record.reason == (reason or "")
        assert ("plugin_a" in sys.modules) is (reason is None)

    def test_the_process_environment(self, site: Site, monkeypatch: pytest.MonkeyPatch):
        """Without an environment of its own a host takes the process's."""
        site.plugin("a", GOOD)
        monkeypatch.setenv("NR_LLM_PLUGINS", "")

        assert found(PluginHost.discover(), site)["a"].state is PluginState.DENIED


class TestRequire:
    def test_good(self):
        """A plugin that works is returned, loaded."""
        assert PluginHost({"p": Plugin(tools=[named("a")])}).require("p").tools == ("a",)

    @pytest.mark.lesson(155)
    def test_unknown(self):
        """A name nobody has names those alike."""
        with pytest.raises(UnknownNameError, match=r"'sqll'.*'sql'"):
            PluginHost({"sql": Plugin()}).require("sqll")

    def test_cause(self):
        """What the plugin raised is the cause."""
        error = RuntimeError("no")

        with pytest.raises(PluginLoadError) as caught:
            PluginHost({"p": Plugin(tools=error)}).require("p")

        assert caught.value.__cause__ is error
        assert caught.value.plugin == "p"

    @pytest.mark.lesson(155)
    def test_states(self, site: Site):
        """What keeps a plugin out is the error."""
        site.plugin("a", GOOD)
        site.plugin("b", GOOD)
        site.add("acme-bb", entry_points={"b": "m"})
        host = PluginHost.discover([*site.names], ["acme-a"])

        with pytest.raises(PluginLoadError, match="denied: denied by the program") as caught:
            host.require("a")
        with pytest.raises(NameClashError, match="clash: acme-b"):
            host.require("b")
        assert caught.value.distribution == "acme-a 1.0"

    def test_usable_one_of_a_name(self, site: Site):
        """Of several plugins of a name the one that works is meant."""
        site.add("acme-evil", entry_points={"sql": "plugin_evil"})
        site.add("nr-llm-sql", entry_points={"sql": "plugin_sql"}, modules={"plugin_sql": GOOD})

        assert PluginHost.discover(site.names).require("sql").distribution == "nr-llm-sql"


HEAVY = ("pluggy", "importlib_metadata", "httpx", "rich", "click", "cattrs", "jsonschema_rs", "docstring_parser")


def modules_after(code: str, site: Site) -> set[str]:
    """Run code in a fresh interpreter and return the names of the top-level modules it imported."""
    listing = "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    lines = ["import json, sys", f"sys.path.insert(0, {str(site.folder)!r})", textwrap.dedent(code), listing]
    script = "\n".join(lines)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8")
    return set(json.loads(done.stdout))


class TestImports:
    def test_package(self, site: Site):
        """Importing nr_llm and its host imports no plugin machinery, client or validator."""
        assert not modules_after("import nr_llm\nfrom nr_llm._host import PluginHost", site) & set(HEAVY)

    def test_given(self, site: Site):
        """A host that is handed its plugins reads no metadata."""
        code = """
            from nr_llm._host import PluginHost
            import types
            plugin = types.ModuleType("p")
            assert PluginHost([plugin]).load()[0].state == "failed"
        """
        assert "importlib_metadata" not in modules_after(code, site)

    def test_listing(self, site: Site):
        """Finding plugins reads metadata and imports neither plugins nor what they need."""
        site.plugin("a", GOOD)
        code = """
            from nr_llm._host import PluginHost
            assert "a" in [record.name for record in PluginHost.discover(["acme-a"]).records()]
        """
        loaded = modules_after(code, site)

        assert not loaded & {"plugin_a", "pluggy", "httpx", "rich", "click", "cattrs", "jsonschema_rs"}

    def test_first_party(self):
        """The list of this project's packages is the project's."""
        members = {f"nr-llm-{project.parent.name}" for project in (ROOT / "plugins").glob("*/pyproject.toml")}

        assert {"nr-llm", *members} == FIRST_PARTY

    def test_a_plugin_kept_out_keeps_no_name(self, site: Site):
        """What the program passes gets its own name, whatever is installed and not allowed under it."""
        site.plugin("mine", GOOD)
        module = types.ModuleType("mine")
        module.a = named("a")
        host = PluginHost.discover([], plugins=[module])

        assert [registered.address for registered in host.tools()] == ["mine:a"]
