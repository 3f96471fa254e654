"""Starts one real PostgreSQL server for a test session, so that no test of databases runs against a stand-in."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

_BINARIES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
_SERVER_ACCOUNTS = ("postgres", "nobody")
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}

# The server lives as long as the shell's standard input is open: however the tests end, it ends and leaves nothing.
_KEEPER = r"""
exec 3>&1 >"$1/log" 2>&1
{
    initdb --pgdata "$1/data" --username postgres --auth trust --encoding UTF8 --no-locale --no-sync \
        && pg_ctl start --wait --timeout 300 --pgdata "$1/data" --options "$2" --log "$1/log"
} 3>&- && echo ready >&3
exec 3>&-
cat
pg_ctl stop --mode immediate --pgdata "$1/data"
rm -rf "$1"
"""


@attrs.frozen
class PostgresServer:
    """
    A running server that trusts every role and is reached through a Unix socket alone.

    Args:
        folder: The folder of its socket.
        binaries: The folder of its programs.
        superuser: The role that may do everything.
    """

    folder: Path
    binaries: Path
    superuser: str = "postgres"

    def dsn(self, database: str = "postgres", *, role: str | None = None) -> str:
        """Return the address of a database as libpq and psycopg take it."""
        return f"postgresql://{role or self.superuser}@/{database}?host={self.folder}"

    def url(self, database: str = "postgres", *, role: str | None = None) -> str:
        """Return the address of a database as SQLAlchemy takes it."""
        return self.dsn(database, role=role).replace("postgresql:", "postgresql+psycopg:", 1)

    def create_database(self, name: str) -> str:
        """Make an empty database and return its address as SQLAlchemy takes it."""
        self._ran("createdb", "--template", "template0", name)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database if it is there, and end the connections to it."""
        self._ran("dropdb", "--force", "--if-exists", name)

    def psql(self, statements: str, *, database: str = "postgres") -> str:
        """Run statements as the superuser, outside every driver, and return the cells they print."""
        options = ("--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1")
        return self._ran("psql", *options, "--dbname", database, "--file", "-", text=statements).strip()

    def _ran(self, program: str, *arguments: str, text: str = "") -> str:
        reached = ("--host", str(self.folder), "--username", self.superuser)
        command = (str(self.binaries / program), *reached, *arguments)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{program}: {done.stderr}"
        return done.stdout


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Provide the session's PostgreSQL server; without its programs the test is skipped."""
    with started(_programs()) as server:
        yield server


@contextmanager
def started(binaries: Path) -> Iterator[PostgresServer]:
    """
    Run a server of its own while the block runs.

    Args:
        binaries: The folder of `initdb` and `pg_ctl`.
    """
    account = _account()
    # A socket's path may have some hundred bytes, and a system's own temporary folder can take most of them.
    folder = Path(tempfile.mkdtemp(prefix="nr-llm-pg-", dir="/tmp"))
    if account:
        os.chown(folder, account["user"], account["group"])
    settings = " ".join(f"-c {name}='{value}'" for name, value in _SETTINGS.items())
    command = ["/bin/sh", "-c", _KEEPER, "keeper", str(folder), f"{settings} -c unix_socket_directories='{folder}'"]
    environment = {"PATH": f"{binaries}{os.pathsep}/usr/bin{os.pathsep}/bin", "LC_ALL": "C", "HOME": str(folder)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    keeper = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes, **account)
    with keeper:  # closes its standard input, then waits for it
        if keeper.stdout.readline() != b"ready\n":
            pytest.fail(f"PostgreSQL did not start:\n{(folder / 'log').read_text(errors='replace')}")
        yield PostgresServer(folder, binaries)


def _programs() -> Path:
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = [folder for pattern in _BINARIES for folder in Path("/").glob(pattern[1:]) if (folder / "initdb").is_file()]
    if not found:
        pytest.skip("no PostgreSQL here: neither on PATH nor where systems install it is an initdb")
    return max(found, key=lambda folder: [int(part) for part in folder.parent.name.split("-")[-1:] if part.isdigit()])


def _account() -> dict[str, Any]:
    """Return whom to run the server as: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd  # there is none on Windows

    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in filter(known.__contains__, _SERVER_ACCOUNTS):
        return {"user": known[name].pw_uid, "group": known[name].pw_gid, "extra_groups": []}
    pytest.skip(f"PostgreSQL refuses to run as root, and there is no account {' or '.join(_SERVER_ACCOUNTS)}")
