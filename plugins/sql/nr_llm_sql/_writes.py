"""Writes one record and looks at it again before that lasts; or says what would be written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import attrs
from nr_llm.artifacts import ToolArtifact
from nr_llm.errors import ToolError
from nr_llm.results import ToolResult
from nr_llm.secrets import MASK

from nr_llm_sql import _answers as answers
from nr_llm_sql._cells import CELL_CHARACTERS, SCANNED_CHARACTERS, Redact, Value, cell
from nr_llm_sql._database import Reader
from nr_llm_sql._differences import PREVIEW_CHARACTERS, drawing, key_name, preview_line, record_diff
from nr_llm_sql._grid import Grid, fitted
from nr_llm_sql._plans import NOTHING, Plan, described
from nr_llm_sql._statements import Look
from nr_llm_sql._stops import Refused, Unfit
from nr_llm_sql._targets import Ink

_ROOM = 20_000
"""Bytes of the record in either channel; the rest of the 50,000 is for the diff."""

_MOST_SHOWN = 30
"""Fields whose change is drawn: those that were written, and some that the database changed by itself."""


@attrs.frozen(kw_only=True)
class Sight:
    """
    One record as it was found.

    Args:
        row: Its cells by column, in the order in which they are shown.
        held: The columns of the plan's values that hold these already.
        unmet: The columns that do not hold what was expected.
    """

    row: Mapping[str, Value]
    held: frozenset[str]
    unmet: tuple[str, ...] = ()


def update(ink: Ink, plan: Plan, *, redact: Redact) -> ToolResult:
    """
    Change a record, and return it as it is then.

    Raises:
        ToolError: It was not changed; or whether it was is unknown.
    """
    before = sight(plan, ink.reader(plan.target), keep=True)
    if before.held == plan.values.keys():  # also the second attempt at a write whose answer was lost
        return _answer(plan, before, before, heading=f"{_name(plan, before, redact)} says this already.", redact=redact)
    check(plan, before, redact=redact)
    count = ink.update(plan.target, plan.address, plan.values)
    if count != 1:
        raise ToolError(f"{count:,} records would have been changed instead of one. {NOTHING}")
    after = sight(plan, ink.reader(plan.target), keep=True)
    _check_stored(plan, after, redact=redact)
    was = [f"{name} (was {cell(before.row[name], redact)})" for name in plan.values if name not in before.held]
    answer = _answer(
        plan, before, after, heading=f"Changed {_name(plan, after, redact)}: {', '.join(was)}.", redact=redact
    )
    ink.commit()
    return answer


def create(ink: Ink, plan: Plan, *, redact: Redact) -> ToolResult:
    """
    Create a record, and return it with the key it got.

    Raises:
        ToolError: It was not created; or whether it was is unknown.
    """
    address = ink.insert(plan.target, plan.values)
    made = attrs.evolve(plan, address=address)
    after = sight(made, ink.reader(plan.target), keep=True)
    if any(after.row[field.name] is None for field in plan.target.opened.table.key):
        raise ToolError(f"The database gave the record no key. {NOTHING}")
    _check_stored(plan, after, redact=redact)
    answer = _answer(made, None, after, heading=f"Created {_name(made, after, redact)} as a draft.", redact=redact)
    ink.commit()
    return answer


def preview_update(plan: Plan, reader: Reader, *, redact: Redact) -> list[str]:
    """
    Return what `update` would do now.

    Raises:
        ToolError: It would fail.
    """
    before = sight(plan, reader, keep=False)
    if before.held == plan.values.keys():
        return [f"{_name(plan, before, redact)} says this already; nothing would be changed."]
    check(plan, before, redact=redact)
    draw = drawing(redact, PREVIEW_CHARACTERS)
    lines = [f"Changes {_name(plan, before, redact)}:", *_beside(plan)]
    unguarded = [name for name in plan.values if name not in plan.expected and name not in before.held]
    if unguarded:
        lines.append(f"Whatever is there by then is replaced: {', '.join(unguarded)}")
    if plan.expected:
        still = [name if name in plan.values else f"{name} ({draw(before.row[name], None)})" for name in plan.expected]
        lines.append(f"Only if still as expected: {', '.join(still)}")
    for name, value in plan.values.items():
        if name in before.held:
            lines.append(f"{name}: {draw(value, None)}, as it is")
        else:
            lines.append(preview_line(name, before.row[name], value, draw=draw))
    return lines


def preview_create(plan: Plan, *, redact: Redact) -> list[str]:
    """Return what `create` would do."""
    draw = drawing(redact, 2 * PREVIEW_CHARACTERS)
    filled = [
        f"{name}: {draw(value, None)}{' (every draft has this)' if name in plan.marks else ''}"
        for name, value in plan.values.items()
    ]
    return [f"Creates a draft in {plan.table}:", *_beside(plan), *filled]


def sight(plan: Plan, reader: Reader, *, keep: bool) -> Sight:
    """
    Look at the record of a plan.

    Args:
        plan: The plan.
        reader: Reads the table.
        keep: Whether nobody else shall change the record before the transaction ends.

    Raises:
        ToolError: There is no such record, there are several, or a value does not fit.
    """
    asked = [*plan.values.items(), *plan.expected.items()]
    look = Look(target=plan.target, shown=plan.shown, address=plan.address, asked=asked, keep=keep)
    try:
        with closing(reader.rows(look.statement())) as found:
            rows = [look.seen(row) for row in found]
    except Unfit:
        raise unfit(plan) from None
    except Refused:
        raise ToolError(f"The role of the database may not open records of {plan.table} to write. {NOTHING}") from None
    if len(rows) > 1:
        raise ToolError(f"Several records have this key. {NOTHING}")
    if not rows:
        raise ToolError(f"There is no such record in {plan.table}, or it is not open to you. {NOTHING}")
    [(row, answered)] = rows
    width = len(plan.values)
    return Sight(
        row=row,
        held=frozenset(name for name, same in zip(plan.values, answered[:width], strict=True) if same),
        unmet=tuple(name for name, same in zip(plan.expected, answered[width:], strict=True) if not same),
    )


def unfit(plan: Plan) -> ToolError:
    """Return the error of a value that the database cannot take for one of its columns."""
    columns = described(plan.target, dict.fromkeys((*plan.address, *plan.values, *plan.expected)))
    return ToolError(f"A value does not fit its field: {columns}. {NOTHING}")


def check(plan: Plan, before: Sight, *, redact: Redact) -> None:
    """
    Refuse to write over what is not what the model believes it to be.

    Raises:
        ToolError: It is not.
    """
    if before.unmet:
        now = ", ".join(f"{name} is now {cell(before.row[name], redact)}" for name in before.unmet)
        raise ToolError(f"{_name(plan, before, redact)} is not as expected: {now}. {NOTHING}")
    for name, value in plan.values.items():
        old = before.row[name]
        if isinstance(old, str) and isinstance(value, str) and name not in before.held:
            _check_text(name, old, value, redact=redact)


def _check_text(name: str, old: str, new: str, *, redact: Redact) -> None:
    """Refuse a text that gives back what a model is shown, mask or ellipsis, in place of what it stands for."""
    long = len(old) > SCANNED_CHARACTERS
    if new.count(MASK) > old.count(MASK) and (long or redact(old) != old):
        raise ToolError(
            f"{name} holds credentials, which you are shown as {MASK}: the new value would destroy them. "
            f"Leave this field to the user. {NOTHING}"
        )
    if new.endswith("…") and not old.endswith("…") and len(old) > CELL_CHARACTERS:
        raise ToolError(
            f"The new value of {name} ends like a text that you were shown in part; the rest would be lost. {NOTHING}"
        )


def _check_stored(plan: Plan, after: Sight, *, redact: Redact) -> None:
    """Refuse what the database made something else of: a person approved these values and no others."""
    changed = [name for name in plan.values if name not in after.held]
    if changed:
        stored = ", ".join(f"{name} as {cell(after.row[name], redact)}" for name in changed)
        raise ToolError(f"The database would store something else: {stored}. {NOTHING}")


def _beside(plan: Plan) -> list[str]:
    if not plan.target.triggers:
        return []
    return [f"Triggers of the table, which may run too: {', '.join(plan.target.triggers)}"]


def _name(plan: Plan, seen: Sight, redact: Redact) -> str:
    return key_name(plan.table, (seen.row[field.name] for field in plan.target.opened.table.key), redact)


def _answer(plan: Plan, before: Sight | None, after: Sight, *, heading: str, redact: Redact) -> ToolResult:
    """Return the record as it is now, in text and table, and what changed in it for people."""
    old = None if before is None else before.row
    cells = tuple(cell(value, redact) for value in after.row.values())
    single = len(plan.target.opened.table.key) == 1
    draw = answers.record(plan.table, keyed=single, offset=0)
    kept = fitted(Grid(tuple(after.row), (cells,)), draw, room=_ROOM)
    changed = [name for name in after.row if (name in plan.values if old is None else old[name] != after.row[name])]
    diff = record_diff(_name(plan, after, redact), old, after.row, fields=changed[:_MOST_SHOWN], redact=redact)
    table = ToolArtifact.table(f"{plan.table} record", kept.columns, kept.rows)
    text = [heading, draw(kept.columns, kept.rows[0], 0), *answers.fields_left_out(len(cells) - len(kept.columns))]
    return ToolResult.text("\n".join(text), table, *([diff] if changed else []))
