"""Times as people read them, on their own clock, and as programs do, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

import click

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(r"(\d{1,6})([mhdw])")


def local(seconds: float | None) -> str:
    """Return a time, in seconds since 1970, on the clock of this machine; empty for None."""
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M:%S}"


def utc(seconds: float | None) -> str | None:
    """Return a time, in seconds since 1970, such as ``2026-05-03T09:12:05.120Z``; None for None."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def since(text: str, *, now: float) -> float:
    """
    Return when a span such as ``7d`` or ``12h`` began, or a day such as ``2026-05-03``, in seconds since 1970.

    Args:
        text: The span before `now` (``m``, ``h``, ``d`` or ``w``), or a day or time on the clock of this machine.
        now: Seconds since 1970.

    Raises:
        BadParameter: It is neither.
    """
    span = _SPAN.fullmatch(text.strip())
    if span:
        return now - int(span[1]) * _UNITS[span[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"{text!r} is no span such as 12h, 7d or 4w, and no day such as 2026-05-03."
        ) from error
