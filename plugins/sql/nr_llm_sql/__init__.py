"""Tools for nr-llm that read a SQLite database, and no more of it than the host permits."""

from __future__ import annotations

from nr_llm.hookspecs import hookimpl
from nr_llm.tools import Tool

from nr_llm_sql._tools import sql_tools
from nr_llm_sql.settings import SqlSettings

__all__ = ["SqlSettings", "nr_llm_tools", "sql_tools"]


@hookimpl
def nr_llm_tools(settings: SqlSettings) -> tuple[Tool, ...]:
    """Contribute ``list_tables``, ``table_schema`` and ``read_records``; off until a database is configured."""
    return sql_tools(settings)
