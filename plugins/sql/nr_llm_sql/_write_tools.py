"""The tools that write: what a model asks, checked against what may be written, answered with the record as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import attrs
from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError
from nr_llm.results import ToolResult
from nr_llm.tools import Tool, tool

from nr_llm_sql import _answers as answers
from nr_llm_sql._conditions import Scalar
from nr_llm_sql._stops import Refused
from nr_llm_sql.settings import SqlSettings

if TYPE_CHECKING:  # whoever merely lists the tools waits for no SQLAlchemy
    from nr_llm_sql._plans import Plan
    from nr_llm_sql._targets import Desk, Target

WRITE_GROUP = "sql_writing"
"""The group the writing tools are chosen by: ``@sql_writing``; who chooses ``@sql`` does not get them."""

_LISTED_CHARACTERS = 4_000
"""Characters of what a description says may be written; a model that reads on is told by the tool's errors."""

_Granted = TypeVar("_Granted")
_Values: TypeAlias = Mapping[str, Scalar]


def writing_tools(settings: SqlSettings, options: Mapping[str, Any]) -> tuple[Tool, ...]:
    """
    Return the tools that write; none unless the settings name what may be written.

    Args:
        settings: The host's settings.
        options: What all tools of the plugin have in common.
    """
    shared = {**options, "group": WRITE_GROUP}
    updating = (_updating_tool(settings, shared),) if settings.write else ()
    creating = (_creating_tool(settings, shared),) if settings.drafts else ()
    return (*updating, *creating)


@attrs.frozen(kw_only=True)
class _Change:
    """What a call of `update_record_fields` asks for."""

    settings: SqlSettings
    table: str
    key: _Values
    values: _Values
    expected: _Values

    def plan(self, desk: Desk, *, within: Plan | None = None) -> Plan:
        """Return the plan, once it is found to be permitted; of no more fields than `within` has."""
        from nr_llm_sql._plans import changing_plan

        target = _target(desk, self.table, within)
        allowed = _granted(self.settings.write, target)
        return changing_plan(target, self.key, self.values, expected=self.expected, allowed=allowed)


@attrs.frozen(kw_only=True)
class _Creation:
    """What a call of `create_record_draft` asks for."""

    settings: SqlSettings
    table: str
    values: _Values

    def plan(self, desk: Desk, *, within: Plan | None = None) -> Plan:
        """Return the plan, once it is found to be permitted; of no more fields than `within` has."""
        from nr_llm_sql._plans import creating_plan

        target = _target(desk, self.table, within)
        draft = _granted(self.settings.drafts, target)
        return creating_plan(target, self.values, allowed=draft.fields, marks=draft.set)


def _updating_tool(settings: SqlSettings, options: dict[str, Any]) -> Tool:
    def preview(
        context: ToolContext, table: str, key: _Values, values: _Values, *, expected: _Values | None = None
    ) -> list[str]:
        from nr_llm_sql._writes import preview_update

        change = _Change(settings=settings, table=table, key=key, values=values, expected=expected or {})

        def look(desk: Desk) -> list[str]:
            plan = change.plan(desk)
            return preview_update(plan, plan.target.opened.reader, redact=context.redactor.redact)

        return _previewed(settings, context, look)

    example = {"table": "orders", "key": {"id": 4}, "values": {"status": "sent"}, "expected": {"status": "open"}}

    @tool(**options, effect="idempotent_write", preview=preview, examples=[example])
    def update_record_fields(
        context: ToolContext,
        table: str,
        key: dict[str, str | int | float],
        values: dict[str, str | int | float | bool | None],
        *,
        expected: dict[str, str | int | float | bool | None] | None = None,
    ) -> ToolResult:
        """
        Change fields of one record of the database. A person has to agree first.

        Read the record before, and give what you read as `expected`.

        Args:
            context: The run.
            table: Name of a table, as list_tables gives it.
            key: The record's primary key: each of its fields and the value.
            values: At most 15 fields and their new values; null empties a field.
            expected: Fields and the values they have now; if there is another by then, nothing is changed.
        """
        from nr_llm_sql._writes import sight, update
        from nr_llm_sql._writing import writing

        change = _Change(settings=settings, table=table, key=key, values=values, expected=expected or {})
        with _one_answer(context):
            with _read_first(settings, context) as database:
                seen = change.plan(database)
                sight(seen, seen.target.opened.reader, keep=False)
            with writing(settings, context) as ink:
                return update(ink, change.plan(ink, within=seen), redact=context.redactor.redact)

    return _described(update_record_fields, settings.write)


def _creating_tool(settings: SqlSettings, options: dict[str, Any]) -> Tool:
    def preview(context: ToolContext, table: str, values: _Values) -> list[str]:
        from nr_llm_sql._writes import preview_create

        creation = _Creation(settings=settings, table=table, values=values)
        redact = context.redactor.redact
        return _previewed(settings, context, lambda desk: preview_create(creation.plan(desk), redact=redact))

    @tool(**options, effect="write", preview=preview, examples=[{"table": "orders", "values": {"note": "Call back"}}])
    def create_record_draft(
        context: ToolContext, table: str, values: dict[str, str | int | float | bool | None]
    ) -> ToolResult:
        """
        Create one record of the database, marked as a draft. A person has to agree first.

        Args:
            context: The run.
            table: Name of a table, as list_tables gives it.
            values: At most 15 fields and their values; the database makes the key.
        """
        from nr_llm_sql._writes import create
        from nr_llm_sql._writing import writing

        creation = _Creation(settings=settings, table=table, values=values)
        with _one_answer(context):
            with _read_first(settings, context) as database:
                seen = creation.plan(database)
            with writing(settings, context) as ink:
                return create(ink, creation.plan(ink, within=seen), redact=context.redactor.redact)

    return _described(create_record_draft, {table: draft.fields for table, draft in settings.drafts.items()})


def _target(desk: Desk, table: str, within: Plan | None) -> Target:
    """Return the table; if `within` is what a reader saw of it, no more of it than that."""
    target = desk.target(table)
    return target if within is None else target.within({field.name for field in within.target.opened.visible.fields})


def _granted(grants: Mapping[str, _Granted], target: Target) -> _Granted:
    """
    Return what the settings grant of a table.

    Raises:
        Refused: Nothing.
    """
    for name, granted in grants.items():
        if target.fold(name) in target.names:
            return granted
    raise Refused("the table is not open to writing")


def _previewed(settings: SqlSettings, context: ToolContext, look: Callable[[Desk], list[str]]) -> list[str]:
    """Return what a call would do, looked up by the connection that can only read."""
    from nr_llm_sql._session import session

    try:
        with _one_answer(context), session(settings, context) as database:
            return look(database)
    except ToolError as error:
        return [f"It would fail: {error}"]


@contextmanager
def _read_first(settings: SqlSettings, context: ToolContext) -> Iterator[Desk]:
    """
    Look at a table by the connection that reads: whoever writes may be permitted to see more, and a model is not.

    Raises:
        ToolError: It cannot be read; nothing was changed.
    """
    from nr_llm_sql._plans import NOTHING
    from nr_llm_sql._session import session

    try:
        with session(settings, context) as database:
            yield database
    except ToolError as error:
        said = str(error)
        raise ToolError(said if said.endswith(NOTHING) else f"{said} {NOTHING}") from error


@contextmanager
def _one_answer(context: ToolContext) -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        context.log.info("refused: %s", refused)
        raise ToolError(answers.NOT_WRITABLE) from None


def _described(tool: Tool, tables: Mapping[str, tuple[str, ...]]) -> Tool:
    """Return the tool with what it may write in its description: a model has no other way to know."""
    open_to = "; ".join(f"{table} ({', '.join(fields)})" for table, fields in tables.items())
    listed = open_to if len(open_to) <= _LISTED_CHARACTERS else open_to[:_LISTED_CHARACTERS] + "…"
    return attrs.evolve(tool, description=f"{tool.description}\n\nOpen to writing: {listed}.")
