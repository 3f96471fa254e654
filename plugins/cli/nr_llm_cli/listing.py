"""Lists for people and programs: an aligned table, or one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from nr_llm_cli.render import table
from nr_llm_cli.screen import document


def show(rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str], as_json: bool, empty: str = "None.") -> None:
    """
    Write a list to stdout.

    Args:
        rows: What to list, as JSON objects.
        columns: The fields that people see, in their order.
        as_json: Whether to write all fields as one document instead.
        empty: What people read on stderr when there is nothing.
    """
    if as_json:
        click.echo(document(list(rows)), color=False)
    elif rows:
        cells = [[_shown(row.get(name)) for name in columns] for row in rows]
        click.echo("\n".join(table(columns, cells, most=None)), color=False)
    else:
        click.echo(empty, err=True)


def _shown(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
