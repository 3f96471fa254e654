"""Each trouble with plugins is told with its reason and a fix."""

from __future__ import annotations

import pytest
from nr_llm._host import PluginHost
from nr_llm.plugins import Finding

from tests.core.plugin_parts import GOOD, Plugin, WithSettings, named
from tests.distributions import Site, site

__all__ = ["site"]

WITH_ROWS = """
    import attrs

    @attrs.frozen
    class Settings:
        rows: int = 1

    @hookimpl
    def nr_llm_tools(settings: Settings):
        return [named("set")]
"""


class TestDoctor:
    def of(self, host: PluginHost, site: Site) -> list[Finding]:
        """Return the findings that concern the packages a test wrote."""
        return [finding for finding in host.doctor() if "acme" in finding.what + finding.why + finding.fix]

    def test_well(self, site: Site):
        """Where all is well there is nothing to say."""
        site.plugin("a", GOOD)

        assert self.of(PluginHost.discover(["acme-a"]), site) == []

    @pytest.mark.lesson(153)
    def test_each_state(self, site: Site):
        """Each state that is not well has what, why and a fix, the serious first."""
        site.add("nr-llm", "0.1.0")
        site.plugin("failed", "    1 / 0")
        site.plugin("newer", GOOD, requires=["nr-llm>=2"])
        site.plugin("denied", GOOD)
        site.plugin("twin", GOOD)
        site.add("acme-rival", entry_points={"twin": "m"})
        host = PluginHost.discover(site.names, ["acme-denied"])
        findings = {finding.distribution: finding for finding in self.of(host, site)}

        assert list(findings) == ["acme-failed", "acme-newer", "acme-rival", "acme-twin", "acme-denied"]
        assert findings["acme-failed"].what == "Plugin 'failed' (acme-failed 1.0) failed."
        assert "ZeroDivisionError" in findings["acme-failed"].why
        assert "pip install --upgrade acme-failed" in findings["acme-failed"].fix
        assert "update nr-llm" in findings["acme-newer"].fix
        assert "NR_LLM_PLUGINS_DENY=acme-twin" in findings["acme-twin"].fix
        assert [finding.serious for finding in findings.values()] == [True, True, True, True, False]

    def test_slow(self, site: Site):
        """A slow plugin is a remark."""
        site.plugin("slow", GOOD)
        ticks = iter(range(0, 1000, 5))
        (finding,) = self.of(PluginHost.discover(["acme-slow"], clock=lambda: float(next(ticks))), site)

        assert not finding.serious
        assert "took 5.0 s" in finding.why

    def test_a_wrong_setting(self, site: Site):
        """Where a setting is the reason, another release of the package would change nothing."""
        site.plugin("set", WITH_ROWS)
        host = PluginHost.discover(["acme-set"], settings={"set": {"row": 2}}, environ={})
        (finding,) = self.of(host, site)

        assert "no setting named 'row'" in finding.why
        assert finding.fix == "Correct the setting; nr-llm config show lists those of 'set'."

    def test_own(self):
        """A broken object of the program's own is named as such."""
        (finding,) = PluginHost({"p": 5}).doctor()

        assert finding.what == "Plugin 'p' (passed in code) failed."
        assert finding.fix == "Correct the object that is passed to PluginHost."

    def test_disputed_tool(self):
        """A tool's name that nobody has is a finding with the addresses."""
        (finding,) = PluginHost({"p": named("x"), "q": Plugin(tools=[named("x")])}).doctor()

        assert "tool named 'x'" in finding.what
        assert "'p' (passed in code), 'q' (passed in code)" in finding.why
        assert "p:x or q:x" in finding.fix

    def test_lists(self, site: Site):
        """Listed packages that are not installed are remarks, with the one that was meant."""
        site.plugin("mine", GOOD)
        findings = self.of(PluginHost.discover(["acme-mine", "acme-mien"], ["acme-nowhere"]), site)

        assert [(f.what, f.serious) for f in findings] == [
            ("acme-mien is allowed to load plugins.", False),
            ("acme-nowhere is denied.", False),
        ]
        assert findings[0].fix == "Did you mean acme-mine?"

    def test_settings(self):
        """Settings that nobody reads are remarks."""
        settings = {"sqll": {"rows": 1}, "p": {"x": 1}, "far-away-from-all": {}, "sql": {"rows": 1}}
        findings = PluginHost({"sql": WithSettings(), "p": Plugin()}, settings=settings, environ={}).doctor()

        assert [finding.what for finding in findings] == [
            "There are settings for a plugin 'sqll'.",
            "Plugin 'p' has settings that it never reads.",
            "There are settings for a plugin 'far-away-from-all'.",
        ]
        assert findings[0].fix == "Did you mean sql?"
        assert findings[2].fix == "Install it, or take it off."
