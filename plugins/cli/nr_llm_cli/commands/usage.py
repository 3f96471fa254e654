"""`nr-llm usage`: what the kept runs used, by actor, configuration and model."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.options import global_options, json_option

if TYPE_CHECKING:
    from nr_llm.stores import UsageRow

KINDS: Final = ("actor", "configuration", "model")

COUNTS: Final = ("runs", "input_tokens", "output_tokens", "cost")


@click.command()
@click.option("--since", "began", metavar="SPAN", help="Runs that began in this span (12h, 7d) or since a day.")
@click.option("--by", "kind", type=click.Choice(KINDS), help="Add up by one of them alone.")
@json_option
@global_options()
@click.pass_context
def usage(context: click.Context, *, began: str | None, kind: str | None, as_json: bool) -> int:
    """
    Say what the kept runs used, those that were forgotten since included.

    A cost is what is known of it; a + behind it says that a part is not.  For example: nr-llm usage --since 7d --by
    model
    """
    from nr_llm_cli.listing import show
    from nr_llm_cli.stored import kept
    from nr_llm_cli.times import since

    start = 0.0 if began is None else since(began, now=time.time())
    with kept(context) as store:
        rows = summed(store.history.usage(since=start), kind)
    shown = rows if as_json else [{**row, "cost": _cost(row)} for row in rows]
    columns = [*(KINDS if kind is None else (kind,)), *COUNTS]
    show(shown, columns=columns, as_json=as_json, empty="No run was kept in that time.")
    return 0


def summed(rows: Iterable[UsageRow], kind: str | None) -> list[dict[str, Any]]:
    """
    Return what runs used as JSON objects, the most tokens first.

    Args:
        rows: By actor, configuration and model.
        kind: The one of them to add up by; None keeps all three.
    """
    import attrs

    found: dict[tuple[str | None, ...], UsageRow] = {}
    for row in rows:
        names = {"actor": row.actor_id, "configuration": row.configuration, "model": row.model}
        key = tuple(names.values()) if kind is None else (names[kind],)
        known = found.get(key)
        found[key] = (
            row
            if known is None
            else attrs.evolve(
                known,
                runs=known.runs + row.runs,
                usage=known.usage + row.usage,
                cost=known.cost + row.cost,
                unpriced=known.unpriced or row.unpriced,
            )
        )
    ordered = sorted(found.values(), key=lambda row: row.usage.total_tokens or 0, reverse=True)
    return [_told(row, kind) for row in ordered]


def _told(row: UsageRow, kind: str | None) -> dict[str, Any]:
    names = {"actor": row.actor_id, "configuration": row.configuration, "model": row.model}
    chosen = names if kind is None else {kind: names[kind]}
    counts = {"runs": row.runs, **row.usage.to_dict()}
    return {**chosen, **counts, "cost": str(row.cost), "cost_complete": not row.unpriced}


def _cost(row: dict[str, Any]) -> str:
    if row["cost_complete"]:
        return str(row["cost"])
    return f"{row['cost']}+" if float(row["cost"]) else "unknown"
