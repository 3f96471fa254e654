"""Whoever lists the tools does not wait for the libraries that run them."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys
import nr_llm_sql
from nr_llm_sql import SqlSettings
tools = nr_llm_sql.nr_llm_tools(SqlSettings(database="/nowhere.db"))
print(*[tool.name for tool in tools if tool.spec], *sorted(sys.modules))
"""


def test_tools_are_made_without_sqlalchemy() -> None:
    """SQLAlchemy and the driver of PostgreSQL are imported by the first call, not by the list of tools."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, check=True, encoding="utf-8")
    found = set(done.stdout.split())

    assert {"list_tables", "count_by", "nr_llm_sql.settings"} <= found
    assert {name.split(".")[0] for name in found} & {"sqlalchemy", "psycopg"} == set()
