"""When a service wants to be asked again: headers, bodies and sentences all say it, each in its own form."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime

from nr_llm._json import JSON

LONGEST = 86_400.0
"""Seconds a delay counts at most: a day; longer ones are quotas, or mistakes such as a time stamp."""

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)")
_SENTENCE = re.compile(
    r"(?:retry|try again) (?:in|after) ((?:\d+(?:\.\d+)?\s?(?:ms|s|m|h|d)(?:econds?|inutes?|ours?)?\s?)+)"
)


def retry_after(headers: Mapping[str, str], details: Mapping[str, JSON], message: str) -> float | None:
    """
    Return the seconds to wait, or None when nobody says.

    Args:
        headers: Of the failed reply, names in lower case.
        details: The error object of its body.
        message: The error's sentence.

    Returns:
        The longest delay the headers give; else the body's; else the sentence's; at most a day.
    """
    for source in (_in_headers(headers), _in_details(details), _in_message(message)):
        delays = [delay for delay in source if delay is not None]
        if delays:
            return min(max(0.0, *delays), LONGEST)
    return None


def _in_headers(headers: Mapping[str, str]) -> Iterator[float | None]:
    milliseconds = _number(headers.get("retry-after-ms", ""))
    yield None if milliseconds is None else milliseconds / 1000
    given = headers.get("retry-after", "")
    seconds = _number(given)
    yield _until(given, headers.get("date", "")) if seconds is None else seconds


def _number(text: str) -> float | None:
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d+)?)\s*", text)
    return float(found[1]) if found else None  # the number alone: `float` takes fewer spaces than `\s`


def _until(date: str, now: str) -> float | None:
    """Return the seconds from one HTTP date, the service's own where it gives one, to another."""
    moment, start = _moment(date), _moment(now)
    if moment is None:
        return None
    return moment - (time.time() if start is None else start)


def _moment(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _in_details(details: Mapping[str, JSON]) -> Iterator[float | None]:
    """Look into Google's error details, which reach here through compatible addresses."""
    found = details.get("details")
    for detail in found if isinstance(found, list) else ():
        if isinstance(detail, dict):
            yield duration(detail.get("retryDelay"))
            metadata = detail.get("metadata")
            yield duration(metadata.get("quotaResetDelay")) if isinstance(metadata, dict) else None


def _in_message(message: str) -> Iterator[float | None]:
    found = _SENTENCE.search(message.lower())
    yield duration(re.sub(r"econds?|inutes?|ours?|\s", "", found[1])) if found else None


def duration(text: JSON) -> float | None:
    """Return a duration such as ``34.4s``, ``373.8ms`` or ``1m30s`` in seconds, or None for any other value."""
    if not isinstance(text, str) or not re.fullmatch(rf"(?:{_PART.pattern})+", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
