"""What starts quickly imports little: held by the set of modules, not by a clock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugins.cli.installed import install
from tests.plugins.cli.shell import environment

HEAVY = {
    "h11",
    "httptools",
    "httpx",
    "httpcore",
    "sqlalchemy",
    "alembic",
    "rich",
    "cattrs",
    "jsonschema_rs",
    "docstring_parser",
    "platformdirs",
    "readline",
    "asyncio",
}
PROBE = """
import contextlib, io, sys
from nr_llm_cli.root import program
with contextlib.redirect_stdout(io.StringIO()):
    code = program.main(sys.argv[1:], standalone_mode=False)
print(code, *sorted(sys.modules))
"""


def modules(*arguments: str, site: Path) -> set[str]:
    """Return the modules that a command imports, beside packages whose plugins would raise."""
    install(site, "nr_llm_probe_bomb", "raise RuntimeError('imported')")
    variables = environment({"NR_LLM_PLUGINS": "nr-llm-probe-bomb", "XDG_CONFIG_HOME": str(site)})
    del variables["NR_LLM_HOME"]  # so that the user's folders are looked for
    variables["PYTHONPATH"] = f"{site}:{variables.get('PYTHONPATH', '')}"
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], env=variables, capture_output=True, check=True, encoding="utf-8"
    )
    code, *found = done.stdout.split()
    assert code == "0", done.stderr
    return set(found)


@pytest.mark.lesson(1, 2, 3, 5, 6)
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("plugins", "list"),
        ("run", "--help"),
        ("runs", "list", "--help"),
        ("plugins", "-h"),
    ],
)
def test_no_plugin_no_client_no_rich(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Help, version and the list of plugins import no plugin, no HTTP client, nothing that draws."""
    found = modules(*arguments, site=tmp_path)
    plugins = {name.split(".")[0] for name in found if name.startswith("nr_llm_")}

    assert plugins == {"nr_llm_cli"}
    looked_for = {"platformdirs"} if arguments[0] == "plugins" else set()  # a file says which plugins may load
    assert {name.split(".")[0] for name in found} & HEAVY == looked_for


@pytest.mark.lesson(4, 159)
def test_the_program_s_help_imports_no_command(tmp_path: Path) -> None:
    """The list of commands is known without them, and metadata is left alone."""
    found = modules("--help", site=tmp_path)

    assert {name for name in found if name.startswith("nr_llm_cli.commands")} == set()
    assert "importlib_metadata" not in found
    assert "nr_llm._host" not in found


@pytest.mark.lesson(4)
def test_a_command_imports_itself_alone(tmp_path: Path) -> None:
    """`run` does not pay for `chat`."""
    found = modules("run", "--help", site=tmp_path)

    assert {name for name in found if name.startswith("nr_llm_cli.commands.")} == {"nr_llm_cli.commands.run"}
