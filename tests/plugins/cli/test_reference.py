"""The reference page says of the command what the command says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from nr_llm_cli.exits import Exit
from nr_llm_cli.groups import LazyGroup
from nr_llm_cli.root import program

from tests.support import ROOT

PAGE = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?P<first>`-[^|]*(?:\\\|[^|]*)*) \|", re.MULTILINE)


def sections() -> dict[str, str]:
    """Return the text below each heading that names a command."""
    parts = re.split(r"^##+ (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(path: str) -> set[str]:
    """Return the options that the page has for a command."""
    return {
        option for row in ROW.finditer(sections()[path]) for option in re.findall(r"(?<![\w-])--?[\w-]+", row["first"])
    }


def tree(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, LazyGroup):
        for name, place in command.places.items():
            yield from tree(place.load(), f"{path} {name}")


COMMANDS = dict(tree(program, "nr-llm"))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_is_described(path: str) -> None:
    """Each command has its section, with all its options and no others."""
    options = {
        name
        for parameter in COMMANDS[path].params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in parameter.opts
    }

    assert described(path) == options


def test_every_described_command_exists() -> None:
    """The page has no section for a command that is gone."""
    assert {name for name in sections() if name.startswith("nr-llm")} == set(COMMANDS)


def test_exit_codes_are_described() -> None:
    """The table of exit codes is the command's own."""
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", sections()["Exit codes"], flags=re.MULTILINE)

    assert [(int(number), word) for number, word in rows] == [(int(code), code.code) for code in Exit]
