"""The clock: the right time in a zone that exists, and near names for one that does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from nr_llm import ToolError
from nr_llm_tools import ClockTools

ZONES = {"UTC", "Europe/Berlin", "Asia/Tokyo", "America/New_York", "America/Louisville", "America/Kentucky/Louisville"}


def clock(zones: set[str] = ZONES) -> ClockTools:
    """Return a clock that stands at one moment and knows few zones."""
    return ClockTools(now=lambda: datetime(2030, 7, 1, 22, 30, tzinfo=UTC), zones=lambda: zones)


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "2030-07-01 22:30:00, a Monday, in UTC (UTC+00:00)"),
        ("", "2030-07-01 22:30:00, a Monday, in UTC (UTC+00:00)"),
        (" gmt ", "2030-07-01 22:30:00, a Monday, in UTC (UTC+00:00)"),
        ("Europe/Berlin", "2030-07-02 00:30:00, a Tuesday, in Europe/Berlin (UTC+02:00)"),
        ("europe/berlin", "2030-07-02 00:30:00, a Tuesday, in Europe/Berlin (UTC+02:00)"),
        ("Tokyo", "2030-07-02 07:30:00, a Tuesday, in Asia/Tokyo (UTC+09:00)"),
        ("new york", "2030-07-01 18:30:00, a Monday, in America/New_York (UTC-04:00)"),
    ],
)
def test_the_time_in_a_zone(zone: str, text: str) -> None:
    """By its name in any case, or by its city when only one zone has it."""
    assert text == clock().get_time(zone).content


@pytest.mark.parametrize(
    ("zone", "advice"),
    [
        ("Europe/Berln", "Did you mean Europe/Berlin?"),
        ("Tokio", "Did you mean Asia/Tokyo?"),
        ("Louisville", "Did you mean America/Kentucky/Louisville or America/Louisville?"),
        ("qqqq", "Use a name such as Europe/Berlin."),
        ("../etc/passwd", "Use a name such as Europe/Berlin."),
        ("/etc/localtime", "Use a name such as Europe/Berlin."),
        ("a\nb\0c", "Use a name such as Europe/Berlin."),
        ("x" * 10_000, "Use a name such as Europe/Berlin."),
    ],
)
def test_an_unknown_zone_lists_near_ones(zone: str, advice: str) -> None:
    """A name never becomes a path, and is shown shortened on one line."""
    with pytest.raises(ToolError, match="There is no time zone") as caught:
        clock().get_time(zone)
    assert str(caught.value).endswith(advice)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


def test_a_machine_without_zone_data_says_so() -> None:
    """UTC works there, and the remedy is named."""
    assert "in UTC" in clock(set()).get_time("UTC").content
    with pytest.raises(ToolError, match="tzdata"):
        clock(set()).get_time("Europe/Berlin")


def test_the_real_clock_is_right() -> None:
    """Without anything passed in."""
    text = ClockTools().get_time("UTC").content

    shown = datetime.fromisoformat(text.partition(",")[0]).replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - shown) < timedelta(minutes=5)
