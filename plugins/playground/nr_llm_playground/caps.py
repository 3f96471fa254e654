"""How much of the server anybody may use: what is beyond is refused by name, and nothing grows without a bound."""

from __future__ import annotations

from typing import Any, Final

import attrs
from nr_llm.options import between, whole

MIB: Final = 1024 * 1024
_SECONDS: Any = between(0.001, 86_400)


@attrs.frozen(kw_only=True)
class Caps:
    """
    Bounds of a playground; the figures are ours, chosen for a handful of people at one server.

    Args:
        runs: Runs under way at the same time.
        runs_each: Those of them that one actor may have begun, so that nobody takes the place of all others.
        streams: Feeds read at the same time.
        requests: Requests of one actor in a minute.
        body_bytes: UTF-8 bytes of a request's body.
        upload_bytes: Bytes of the body that begins a run, its attachments in base64 included.
        held_bytes: Bytes of all bodies that are being read.
        body_seconds: Time in which a body has to come.
        rounds: Most rounds that a run may ask for (the reference system's figure).
        line_bytes: Bytes of one line of a feed; in a longer one texts are cut, and it says so.
        tail_bytes: Bytes of the last lines of a segment that are kept for readers who come late or again.
        kept_bytes: Bytes of the lines of all segments that have ended; beyond it the oldest are forgotten.
        kept_seconds: How long the lines of a segment are kept after its end.
        heartbeat_seconds: After so long without a line a reader is told that the server is there.
        stalled_seconds: A reader that takes nothing for so long is left.
        settle_seconds: What runs get to end by themselves when the server stops.

    Raises:
        InvalidValueError: A figure is out of its range.
    """

    runs: int = attrs.field(default=16, validator=whole(1))
    runs_each: int = attrs.field(default=8, validator=whole(1))
    streams: int = attrs.field(default=64, validator=whole(1))
    requests: int = attrs.field(default=600, validator=whole(1))
    body_bytes: int = attrs.field(default=MIB, validator=whole(1))
    upload_bytes: int = attrs.field(default=16 * MIB, validator=whole(1))
    held_bytes: int = attrs.field(default=64 * MIB, validator=whole(1))
    body_seconds: float = attrs.field(default=30.0, validator=_SECONDS)
    rounds: int = attrs.field(default=20, validator=whole(1))
    line_bytes: int = attrs.field(default=MIB, validator=whole(1024))
    tail_bytes: int = attrs.field(default=4 * MIB, validator=whole(1024))
    kept_bytes: int = attrs.field(default=64 * MIB, validator=whole(0))
    kept_seconds: float = attrs.field(default=600.0, validator=_SECONDS)
    heartbeat_seconds: float = attrs.field(default=10.0, validator=_SECONDS)
    stalled_seconds: float = attrs.field(default=60.0, validator=_SECONDS)
    settle_seconds: float = attrs.field(default=5.0, validator=_SECONDS)
