"""The plugin's page names the services, settings and options that there are, and no other."""

from __future__ import annotations

import re

import attrs
import pytest
from nr_llm_openai import DIALECTS, OpenAIOptions, OpenAISettings

from tests.support import ROOT

PAGE = (ROOT / "plugins/openai/README.md").read_text(encoding="utf-8")


def table(head: str) -> dict[str, list[str]]:
    """Return the rows of the table whose first column has this heading, by the name in it."""
    lines = PAGE[PAGE.index(f"| {head} |") :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: row[1:] for row in cells for name in re.findall(r"`(\w+)`", row[0])}


@pytest.mark.parametrize("name", DIALECTS)
def test_each_service_has_its_row(name: str) -> None:
    """With its address and the variables that may hold its key."""
    row, (address, key, _) = DIALECTS[name], table("dialect")[name]

    assert (address == f"`{row.base_url}`") is (row.base_url is not None)
    assert tuple(re.findall(r"`(\w+)`", key)) == row.key_variables


def test_no_further_service_setting_or_option_is_named() -> None:
    """And none is missing."""
    assert list(table("dialect")) == list(DIALECTS)
    assert table("setting").keys() == {field.name for field in attrs.fields(OpenAISettings)}
    assert table("option").keys() == {field.name for field in attrs.fields(OpenAIOptions)}
