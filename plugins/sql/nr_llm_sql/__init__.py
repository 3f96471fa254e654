"""Tools for nr-llm that read a SQLite or PostgreSQL database, and write no more of it than the host permits."""

from __future__ import annotations

from nr_llm.hookspecs import hookimpl
from nr_llm.tools import Tool

from nr_llm_sql._grants import Draft
from nr_llm_sql._tools import sql_tools
from nr_llm_sql.settings import SqlSettings

__all__ = ["Draft", "SqlSettings", "nr_llm_tools", "sql_tools"]


@hookimpl
def nr_llm_tools(settings: SqlSettings) -> tuple[Tool, ...]:
    """Contribute the tools that list, describe, read, search and count, and those that write what is permitted."""
    return sql_tools(settings)
