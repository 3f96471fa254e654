"""What the host decides about its store: where it is, how it is encrypted, how long it keeps what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

import attrs
from nr_llm.errors import InvalidValueError
from nr_llm.secrets import Secret
from nr_llm.settings import setting

RETENTION_DAYS: Final = 30
"""Days that ended runs are kept unless told otherwise (the reference system's figure)."""

USAGE_DAYS: Final = 400
"""Days that the usage of deleted runs is kept unless told otherwise: a year can be compared with the last."""

LONGEST_SECONDS: Final = 3_600.0
"""The longest time-out; a longer one is none."""


def _seconds(_: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 < value <= LONGEST_SECONDS:
        raise InvalidValueError(f"must be above 0 and at most {LONGEST_SECONDS:,}, not {value!r}", path=attribute.name)


def _days(default: int) -> int:
    # A window of no length would destroy everything at once: nobody means that.
    return attrs.field(default=default, converter=lambda value: value if value >= 1 else default)


@attrs.frozen(kw_only=True)
class StoreSettings:
    """
    Settings of the plugin, read from ``[plugins.store]`` or ``NR_LLM_STORE_*``.

    Args:
        url: Address of the database, such as ``postgresql://user:password@host/name``; also ``NR_LLM_DATABASE_URL``.
        path: The SQLite file, where no address is given; unless set it is ``runs.db`` in the user's data folder.
        keys: Base64 of 32 bytes each, parted by blanks or commas: the first encrypts the live state of runs, all
            decrypt.  None: it is stored as it is.
        wait_seconds: How long a write waits for another process's, and a connection is waited for.
        statement_seconds: How long one statement may take on PostgreSQL.
        synchronous: ``normal`` survives a killed process; ``full`` a power failure too, at the price of a disk flush
            for each write (SQLite).
        retention_days: How long ended runs are kept by a purge; below 1 the default.
        log: A file to append the steps of runs to, if the plugin is to watch: ``observe = ["store"]``.
        usage_days: How long a purge keeps what deleted runs used; below 1 the default.
    """

    url: Secret | None = setting(env=("NR_LLM_DATABASE_URL",), default=None)
    path: Path | None = None
    keys: Secret | None = None
    wait_seconds: float = attrs.field(default=5.0, validator=_seconds)
    statement_seconds: float = attrs.field(default=30.0, validator=_seconds)
    synchronous: Literal["normal", "full"] = "normal"
    retention_days: int = _days(RETENTION_DAYS)
    usage_days: int = _days(USAGE_DAYS)
    log: Path | None = None


def default_path() -> Path:
    """Return where the SQLite file is unless set: ``NR_LLM_HOME/data/runs.db``, else in the user's data folder."""
    import platformdirs

    home = os.environ.get("NR_LLM_HOME")
    folder = Path(home).expanduser().absolute() / "data" if home else Path(platformdirs.user_data_dir("nr-llm"))
    return folder / "runs.db"
