"""pytest finds the fixtures, and pays nothing for them until one is used."""

from __future__ import annotations

import subprocess
import sys

import nr_llm._entrypoints  # noqa: F401 - pytester restores what importing the metadata backport changes for good
import pytest

pytest_plugins = ["pytester"]

CONFTEST = (
    "from nr_llm.testing.plugin import nr_llm_harness, nr_llm_plugins, nr_llm_provider_contract, nr_llm_tool_contract"
)

TESTS = '''
import types
from nr_llm import tool
from nr_llm.hookspecs import hookimpl
from nr_llm.testing import ScriptedProvider, calling

@tool(data_class="public")
def greet(name: str = "") -> str:
    """Greet."""
    return f"Hello {name}"

def test_harness(nr_llm_harness):
    result = nr_llm_harness.run(replies=[calling(("greet", {"name": "Ada"})), "done"], tools=[greet])
    assert ["Hello Ada"] == [call.content for call in result.invocations]

def test_contract(nr_llm_tool_contract):
    nr_llm_tool_contract(greet, {"name": "Ada"})

def test_provider_contract(nr_llm_provider_contract):
    assert "request: it answers by itself, without HTTP" in nr_llm_provider_contract(ScriptedProvider())

def test_plugins(nr_llm_plugins):
    @hookimpl
    def nr_llm_tools():
        return [greet]

    module = types.SimpleNamespace(nr_llm_tools=nr_llm_tools, name="mine")
    assert ["mine:greet"] == [tool.address for tool in nr_llm_plugins(module).tools()]
    assert () == nr_llm_plugins("nr-llm-nothing").tools()
    assert () == nr_llm_plugins(environ={"NR_LLM_PLUGINS": "x"}).tools()
'''


def test_the_fixtures_work(pytester: pytest.Pytester) -> None:
    """Each fixture does in one line what it promises."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)

    pytester.runpytest_inprocess("-p", "no:nr_llm", "-p", "no:cacheprovider").assert_outcomes(passed=4)


def test_starting_pytest_imports_nothing() -> None:
    """The module that pytest imports in every project brings neither attrs nor any part of the core that needs it."""
    probe = "import pytest, sys; import nr_llm.testing.plugin; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, encoding="utf-8")
    ours = {name for name in done.stdout.split() if name.partition(".")[0] in {"attr", "attrs", "nr_llm", "httpx"}}

    assert {"nr_llm", "nr_llm._lazy", "nr_llm.testing", "nr_llm.testing.plugin"} == ours
