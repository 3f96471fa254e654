"""Which project files a person trusts: kept in the person's own folder, each with a digest of what it said."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final, Literal, TypeAlias

from nr_llm._json import decode, encode
from nr_llm.config import PYPROJECT
from nr_llm.errors import ConfigurationError

from nr_llm_cli.places import folder

NAME: Final = "trusted.json"

State: TypeAlias = Literal["trusted", "changed", "not trusted"]
"""Whether a project file is trusted, was until it changed, or is not."""


def digest(path: Path, data: bytes) -> str:
    """Return the digest of what a file says to us; of a ``pyproject.toml`` that is its table ``[tool.nr-llm]``."""
    if path.name == PYPROJECT:
        import tomllib

        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):  # else the whole file counts
            data = repr(tomllib.loads(data.decode())["tool"]["nr-llm"]).encode()
    return hashlib.sha256(data).hexdigest()


def state_of(path: Path, data: bytes) -> State:
    """
    Say whether a file is trusted as it is now.

    Raises:
        ConfigurationError: The list cannot be read.
    """
    known = _read().get(_key(path))
    if known is None:
        return "not trusted"
    return "trusted" if known == digest(path, data) else "changed"


def trust(path: Path) -> None:
    """
    Trust a file as it is now.

    Raises:
        ConfigurationError: It cannot be read, or the list not be written.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.", remedy="Name a file.") from error
    _write({**_read(), _key(path): digest(path, data)})


def untrust(path: Path) -> bool:
    """
    Trust a file no longer; return whether it was.

    Raises:
        ConfigurationError: The list cannot be read or written.
    """
    known = _read()
    found = known.pop(_key(path), None)
    if found is not None:
        _write(known)
    return found is not None


def _key(path: Path) -> str:
    """Return what a file is listed by: a link to a trusted file is another file, and lies beside others."""
    return str(path.parent.resolve() / path.name)


def _read() -> dict[str, str]:
    place = folder("config") / NAME
    try:
        found = decode(place.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{place} cannot be read: {error}.", remedy="Correct or remove it.") from error
    if not isinstance(found, dict):
        raise ConfigurationError(f"{place} is no list of trusted files.", remedy="Remove it and trust them anew.")
    return {path: str(known) for path, known in found.items()}


def _write(known: dict[str, str]) -> None:
    write_own(folder("config") / NAME, encode(dict(sorted(known.items()))))


def write_own(place: Path, text: str) -> None:
    """
    Write a file that only the user reads, whole or not at all.

    Raises:
        ConfigurationError: It cannot be written.
    """
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        Path(name).replace(place)
    except OSError as error:
        raise ConfigurationError(
            f"{place} cannot be written: {error.strerror}.", remedy="Name another folder in NR_LLM_HOME."
        ) from error
