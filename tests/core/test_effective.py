"""Every setting that counts is shown with where it is from, and no secret with it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import pytest
from nr_llm._host import PluginHost
from nr_llm.config import Config, read_config
from nr_llm.effective import DEFAULT, Value, shown
from nr_llm.redaction import Redactor
from nr_llm.secrets import MASK, Secret

from tests.core.plugin_parts import Form, Model, Plugin, WithSettings
from tests.core.test_configurations import Contributed
from tests.distributions import Site, site

__all__ = ["site"]

USER = """
default_model = "fast"

[plugins.acme]
rows = 7

[providers.vllm]
plugin = "form"
base_url = "http://gpu:8000/v1"
api_key_env = "VLLM_KEY"
headers = { X-Gateway-Key = { env = "GATE" }, X-Team = "a" }

[models.fast]
provider = "vllm"
id = "qwen"
limits = { rounds = 8, tokens = 10 }

[configurations.help]
tools = ["look", "count"]
privacy = "redacted"
limits = { rounds = 9 }
system = "Be kind."

[configurations.plain]
"""

PROJECT = """
[models.fast]
limits = { rounds = 3 }

[configurations.help]
tools = ["look"]
privacy = "none"
"""


def written(folder: Path, text: str, name: str = "user", *, trusted: bool = True) -> Config:
    """Return what a file says."""
    path = folder / f"{name}.toml"
    path.write_text(text, "utf-8")
    return read_config(path, trusted=trusted)


@pytest.fixture
def values(tmp_path: Path) -> dict[str, Value]:
    """Return what counts of two files, variables and a package, by name."""
    read = written(tmp_path, PROJECT, "project", trusted=False).over(written(tmp_path, USER))
    environ = {
        "VLLM_KEY": "tiger-in-a-hat",
        "GATE": "tiger-at-a-gate",
        "NR_LLM_VLLM_ROWS": "3",
        "ACME_KEY": "tiger-3",
    }
    plugins = {"form": Form(), "acme": WithSettings(), "extra": Contributed(odd={"zone": "moon"}, audit={"tools": []})}
    host = PluginHost({**plugins, "near": Plugin(providers=[Model("near")])}, config=read, environ=environ)
    return {value.name: value for value in host.effective()}


class TestSources:
    def test_files(self, values: dict[str, Value], tmp_path: Path):
        """The front file counts for what it says, the one behind for the rest."""
        project, user = str(tmp_path / "project.toml"), str(tmp_path / "user.toml")

        assert values["default_model"] == Value("default_model", "fast", user)
        assert values["models.fast.limits.rounds"] == Value("models.fast.limits.rounds", 3, project)
        assert values["models.fast.limits.tokens"] == Value("models.fast.limits.tokens", 10, user)
        assert values["providers.vllm.base_url"].source == user
        assert values["plugins.acme.rows"] == Value("plugins.acme.rows", 7, user)

    def test_variables_and_defaults(self, values: dict[str, Value]):
        """A variable is named, and so is what nobody set."""
        assert values["providers.vllm.rows"] == Value("providers.vllm.rows", 3, "NR_LLM_VLLM_ROWS")
        assert values["default_configuration"] == Value("default_configuration", None, DEFAULT)
        assert values["providers.vllm.dialect"].source == DEFAULT

    def test_configurations(self, values: dict[str, Value], tmp_path: Path):
        """The strictest privacy counts, and what narrows the tools stands beside them."""
        project, user = str(tmp_path / "project.toml"), str(tmp_path / "user.toml")
        place = "configurations.help"

        assert (values[f"{place}.privacy"].value, values[f"{place}.privacy"].source) == ("none", project)
        assert (values[f"{place}.tools"].value, values[f"{place}.tools"].source) == (["look", "count"], user)
        assert values[f"{place}.tools, narrowed to"] == Value(f"{place}.tools, narrowed to", ["look"], project)
        assert values[f"{place}.system"].value == "Be kind."
        assert values[f"{place}.limits.rounds"].value == 9
        assert values["configurations.audit.tools"] == Value("configurations.audit.tools", [], "plugin 'extra'")
        assert not [name for name in values if name.startswith(("configurations.odd", "configurations.plain"))]


class TestSecrets:
    def test_masked(self, values: dict[str, Value]):
        """Keys and headers with one are masked, wherever they are from."""
        assert values["providers.vllm.api_key"] == Value("providers.vllm.api_key", MASK, "VLLM_KEY")
        assert values["providers.vllm.headers"].value == {"X-Gateway-Key": MASK, "X-Team": "a"}
        assert values["plugins.acme.key"] == Value("plugins.acme.key", MASK, "ACME_KEY")
        assert "tiger" not in repr(values)

    def test_of_the_vendor(self, tmp_path: Path):
        """The vendor's own variable is named as the source."""
        text = '[providers.groq]\nplugin = "form"\ndialect = "groq"\n'
        host = PluginHost({"form": Form()}, config=written(tmp_path, text), environ={"GROQ_KEY": "tiger-7"})
        (found,) = (value for value in host.effective() if value.name == "providers.groq.api_key")

        assert found == Value("providers.groq.api_key", MASK, "GROQ_KEY")

    def test_by_name(self):
        """A text under a name that says it is a secret is masked, also deep inside."""
        given = {"raw": [{"access_token": "tiger", "size": 3}], "max_tokens": 5, "open": True, "none": None}

        assert shown("x", given, Redactor()) == {
            "raw": [{"access_token": MASK, "size": 3}],
            "max_tokens": 5,
            "open": True,
            "none": None,
        }
        assert shown("key", Secret("tiger"), Redactor()) == MASK

    def test_other_kinds(self):
        """Paths, choices and addresses are texts; a password in an address is masked."""
        choice = Enum("Choice", {"ONE": "one"})

        assert shown("root", Path("/a"), Redactor()) == "/a"
        assert shown("choice", choice.ONE, Redactor()) == "one"
        assert shown("proxy", "http://user:tiger-in@proxy:1", Redactor()) == "http://user:[redacted]@proxy:1"


class TestSelection:
    def of(self, config: Config, **environ: str) -> list[Value]:
        host = PluginHost.discover(config=config, environ={"NR_LLM_PLUGINS": "", **environ})
        return [value for value in host.effective() if value.name.startswith("plugins.")]

    def test_files(self, site: Site, tmp_path: Path):
        """Lists of plugins name their file."""
        config = written(tmp_path, '[plugins]\nallow = []\ndeny = ["Acme_B"]\nobserve = ["acme"]\n')
        behind = written(tmp_path, '[plugins]\ndeny = ["acme-c"]\n', "behind")
        host = PluginHost.discover(config=config.over(behind), environ={})
        found = [value for value in host.effective() if value.name.startswith("plugins.")]

        assert found == [
            Value("plugins.allow", [], str(tmp_path / "user.toml")),
            Value("plugins.deny", "acme-b", str(tmp_path / "user.toml")),
            Value("plugins.deny", "acme-c", str(tmp_path / "behind.toml")),
            Value("plugins.observe", "acme", str(tmp_path / "user.toml")),
        ]

    def test_variables(self, site: Site):
        """So do variables."""
        assert self.of(Config(), NR_LLM_PLUGINS_DENY="acme-a") == [
            Value("plugins.allow", [], "NR_LLM_PLUGINS"),
            Value("plugins.deny", "acme-a", "NR_LLM_PLUGINS_DENY"),
        ]

    def test_nobody(self, site: Site):
        """Without a list all may load."""
        host = PluginHost.discover(deny=[], config=Config(), environ={})

        assert host.effective()[2] == Value("plugins.allow", None, DEFAULT)
