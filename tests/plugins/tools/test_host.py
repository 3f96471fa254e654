"""The plugin inside a host: where its settings come from and what an untrusted file may not change."""

from __future__ import annotations

from pathlib import Path

import nr_llm_tools
import pytest
from nr_llm import ConfigurationError, ToolCall, invoke
from nr_llm._host import PluginHost
from nr_llm.config import read_config

from tests.plugins.tools.conftest import Desk


def host(environ: dict[str, str] | None = None, config: Path | None = None, *, trusted: bool = True) -> PluginHost:
    """Return a host with this plugin alone."""
    read = read_config(config, trusted=trusted) if config else None
    return PluginHost({"tools": nr_llm_tools}, environ=environ or {}, config=read)


def reading(plugins: PluginHost, path: str) -> str:
    """Return what a model reads of a file."""
    return invoke(ToolCall("1", "read_file", {"path": path}), [plugins.tool("read_file").tool]).content


def test_a_variable_names_the_root(desk: Desk) -> None:
    """Like every setting of every plugin."""
    desk.write("a.txt", "hello")

    assert "1: hello" in reading(host({"NR_LLM_TOOLS_ROOT": str(desk.root)}), "a.txt")


def test_a_file_names_the_root_relative_to_itself(desk: Desk) -> None:
    """And the caps and further names to refuse."""
    desk.write("a.txt", "hello")
    desk.write("b.log", "hello")
    config = desk.base / "nr-llm.toml"
    config.write_text('[plugins.tools]\nroot = "root"\ndeny = ["*.log"]\nfile_bytes = 5\n')

    plugins = host(config=config)

    assert "1: hello" in reading(plugins, "a.txt")
    assert "no readable" in reading(plugins, "b.log")


@pytest.mark.parametrize("line", ['root = ".."', 'root = "/"', "deny = []", "file_bytes = 9", "seconds = 9.0"])
def test_a_file_that_is_not_trusted_widens_nothing(desk: Desk, line: str) -> None:
    """A cloned project must not open what its reader keeps closed."""
    config = desk.root / "nr-llm.toml"
    config.write_text(f"[plugins.tools]\n{line}\n")

    with pytest.raises(ConfigurationError):
        host(config=config, trusted=False).require("tools")


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"NR_LLM_TOOLS_SECONDS": "0"}, "seconds"),
        ({"NR_LLM_TOOLS_FILE_BYTES": "many"}, "file_bytes|FILE_BYTES"),
    ],
)
def test_a_wrong_setting_is_said_with_its_name(environ: dict[str, str], reason: str) -> None:
    """The host goes on without the plugin, and says why when it is needed."""
    plugins = host(environ)

    assert plugins.tools() == ()
    with pytest.raises(ConfigurationError, match=reason):
        plugins.require("tools")


def test_explore_project_reads_files_and_nothing_else() -> None:
    """The configuration offers the four file tools, each of which only reads."""
    plugins = host()
    configuration = plugins.configuration("explore-project")
    tools = {tool.wire_name: tool.tool for tool in plugins.tools()}

    assert configuration.source == "plugin 'tools'"
    assert plugins.config_findings() == ()
    assert [tools[name].group for name in configuration.tools or ()] == ["files"] * 4
    assert not any(tools[name].writes for name in configuration.tools or ())
