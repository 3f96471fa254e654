"""The clock: a model knows no present."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

import attrs
from nr_llm import Tool, ToolError, ToolResult, tool

from nr_llm_tools._text import visible_name

MAX_ZONE: Final = 64
"""Characters of a zone's name."""

Now = Callable[[], datetime]


def _utc_now() -> datetime:
    return datetime.now(UTC)


@attrs.frozen
class ClockTools:
    """
    The clock tools.

    Args:
        now: Returns the present as an aware time.
        zones: Returns the names of the time zones this machine knows.
    """

    now: Now = _utc_now
    zones: Callable[[], set[str]] = available_timezones

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools, all of them reads."""
        examples = ({"zone": "UTC"}, {"zone": "Asia/Tokyo"})
        return (tool(group="general", data_class="public", timeout=10.0, examples=examples)(self.get_time),)

    def get_time(self, zone: str = "UTC") -> ToolResult:
        """
        Get the present date, time and weekday in a time zone.

        Args:
            zone: Name of a time zone, such as "UTC", "Europe/Berlin" or "Asia/Tokyo".
        """
        name = self._zone(zone.strip()[:MAX_ZONE])
        here = self.now().astimezone(UTC if name == "UTC" else ZoneInfo(name))
        offset = here.strftime("%z")
        return ToolResult.text(
            f"{here:%Y-%m-%d %H:%M:%S}, a {_WEEKDAYS[here.weekday()]}, in {name} (UTC{offset[:3]}:{offset[3:5]})"
        )

    def _zone(self, asked: str) -> str:
        """Return the zone that is meant: its name in any case, or its last part when that is one zone's alone."""
        wanted = asked.replace(" ", "_").casefold()
        if wanted in {"", "utc", "z", "gmt"}:
            return "UTC"
        names = sorted(self.zones())
        found = [name for name in names if name.casefold() == wanted] or [
            name for name in names if name.casefold().endswith(f"/{wanted}")
        ]
        if len(found) == 1:
            return found[0]
        raise ToolError(_unknown(asked, found or _similar(wanted, names), known=bool(names)))


def _similar(wanted: str, names: list[str]) -> list[str]:
    by_end = {name.rpartition("/")[2].casefold(): name for name in names} | {name.casefold(): name for name in names}
    return [by_end[key] for key in difflib.get_close_matches(wanted, by_end, n=3)]


def _unknown(asked: str, candidates: list[str], *, known: bool) -> str:
    if not known:
        return "This machine has no time zone data (the package tzdata provides it); only UTC is known."
    advice = f"Did you mean {' or '.join(candidates)}?" if candidates else "Use a name such as Europe/Berlin."
    return f"There is no time zone '{visible_name(asked)}'. {advice}"


_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""In English whatever the host's locale."""
