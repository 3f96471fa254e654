"""The server that tests of databases use: it answers, it is reached by its socket alone, it leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.core.waiting import until
from tests.postgres import PostgresServer
from tests.support import ROOT

OWNER = """
import sys
from pathlib import Path
from tests.postgres import started

with started(Path(sys.argv[1])) as server:
    print(server.folder, flush=True)
    sys.stdin.read()
"""


def test_database_is_made_and_dropped(postgres_server: PostgresServer) -> None:
    """A new database is empty and of its own; once dropped it is gone, though somebody is connected."""
    url = postgres_server.create_database("made")
    tables = postgres_server.psql("CREATE TABLE t (a int); SELECT count(*) FROM t;", database="made")
    postgres_server.drop_database("made")
    left = postgres_server.psql("SELECT datname FROM pg_database WHERE datname = 'made'")
    assert ("0", "", "postgresql+psycopg://postgres@/made") == (tables, left, url.partition("?")[0])


def test_server_listens_on_no_port(postgres_server: PostgresServer) -> None:
    """Only the socket leads to the server: nobody else on the network meets a server that trusts everybody."""
    assert postgres_server.psql("SHOW listen_addresses") == ""


def test_killed_tests_leave_no_server(postgres_server: PostgresServer) -> None:
    """A test process that is killed leaves neither a server nor its folder."""
    command = (sys.executable, "-c", OWNER, str(postgres_server.binaries))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, **pipes) as owner:
        folder = Path(owner.stdout.readline().decode().strip())
        assert (folder / "data" / "PG_VERSION").is_file()
        owner.kill()
    until(lambda: not folder.exists())
