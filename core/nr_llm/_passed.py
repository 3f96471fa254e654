"""Objects a program passes as plugins: each gets a name, and one that was passed twice counts once."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterable
from types import ModuleType

from nr_llm._plugin import Plugin


class Claims:
    """Which plugin brought which object, by identity: plugins may compare equal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims: list[tuple[object, Plugin]] = []

    def __call__(self, thing: object, plugin: Plugin) -> Plugin | None:
        """Note that a plugin brought an object, and return the plugin that had brought it before, if any."""
        with self._lock:
            for claimed, first in self._claims:
                if claimed is thing:
                    return first
            self._claims.append((thing, plugin))
            return None


def named(plugins: Iterable[object], avoid: Iterable[str]) -> dict[str, object]:
    """Name objects after themselves, each once, with a number where a name is taken."""
    taken, found = set(avoid), dict[str, object]()
    for thing in plugins:
        if not any(thing is known for known in found.values()):
            stem = _own_name(thing)
            numbered = (f"{stem}-{number}" for number in itertools.count(2))
            name = next(name for name in itertools.chain([stem], numbered) if name not in taken)
            taken.add(name)
            found[name] = thing
    return found


def _own_name(thing: object) -> str:
    name = thing.__name__.rpartition(".")[2] if isinstance(thing, ModuleType) else getattr(thing, "name", None)
    if not isinstance(name, str):
        name = type(thing).__name__.lower()
    return re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "", name.removeprefix("nr_llm_")) or "plugin"
