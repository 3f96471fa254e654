"""Public names that are imported when they are first asked for, so that importing a package costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy(
    namespace: dict[str, object], homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """
    Return a package's ``__getattr__`` and ``__dir__``.

    Args:
        namespace: The package's globals; a name is put there once it was asked for.
        homes: Where each public name lives, as a module of the package.
    """
    package = namespace["__name__"]

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        namespace[name] = value
        return value

    return find, lambda: sorted(homes)


def homes(names: Mapping[str, str]) -> dict[str, str]:
    """Return where each name lives, from the names of each module, apart by spaces."""
    return {name: module for module, listed in names.items() for name in listed.split()}
