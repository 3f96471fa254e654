"""Checks the promises of a suite one after the other and tells all broken ones together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import SkipTest


def check_all(suite: object, whose: str) -> tuple[str, ...]:
    """
    Check every promise of a suite: each of its methods named ``test_…``.

    Args:
        suite: An instance; classes it derives from are checked first.
        whose: Whose promises they are, for the error, such as ``Tool 'add'``.

    Returns:
        What could not be checked, each with its reason.

    Raises:
        AssertionError: Promises are broken; the text lists every one.
    """
    broken, unchecked = list[str](), list[str]()
    for name, check in _promises(suite):
        try:
            check()
        except SkipTest as reason:
            unchecked.append(f"{name}: {reason}")
        except Exception as error:  # noqa: BLE001  # what is broken may raise errors of its own kind
            broken.append(f"- {name}: {error if isinstance(error, AssertionError) else repr(error)}")
    if broken:
        raise AssertionError("\n".join([f"{whose} breaks its contract:", *broken]))
    return tuple(unchecked)


def demand(fine: object, text: str) -> None:
    """
    Check one thing.

    Raises:
        AssertionError: It is not so.
    """
    if not fine:
        raise AssertionError(text)


def configure(suite: object, settings: Mapping[str, Any], known: Mapping[str, Any], *, taker: str) -> None:
    """
    Set attributes of a suite.

    Raises:
        TypeError: One is unknown.
    """
    for name, value in settings.items():
        if name not in known:
            raise TypeError(f"{taker} takes no {name!r}; it takes {', '.join(known)}")
        setattr(suite, name, value)


def _promises(suite: object) -> Iterator[tuple[str, Callable[[], None]]]:
    kinds = reversed(type(suite).__mro__)
    for name in dict.fromkeys(name for kind in kinds for name in vars(kind)):
        if name.startswith("test_"):
            yield name.removeprefix("test_").replace("_", " "), getattr(suite, name)
