"""Plans and progress in words; sizes in the units that disks and connections are sold in."""

from __future__ import annotations

from collections.abc import Iterator

from nr_llm_local._progress import Progress
from nr_llm_local._pull import Plan


def plan(plan: Plan) -> Iterator[str]:
    """Yield the lines that say what fetching a model would do."""
    weights = plan.weights
    if plan.own:
        yield f"Your own file is used: {plan.path}"
        return
    yield f"{weights.title}: {size(weights.size)}, licence {weights.licence} ({weights.licence_url})"
    yield f"{weights.attribution}"
    if plan.here:
        yield f"It is here: {plan.path}"
        return
    yield f"To {plan.path}; takes up to {size(plan.needed)} of disk while it is fetched, {size(plan.free)} are free."
    if plan.resumed:
        yield f"{size(plan.resumed)} of it are here from an earlier attempt."


def progress(progress: Progress) -> str:
    """Return how far a transfer is, in a line."""
    percent = 100 * progress.done // progress.total
    done, total = size(progress.done), size(progress.total)
    left = "" if progress.seconds_left is None else f", {duration(progress.seconds_left)} left"
    return f"{percent:3d} %  {done} of {total}{left}"


def size(count: int) -> str:
    """Return a number of bytes as people read it, such as ``1.12 GB``."""
    if count < 1_000_000:
        return f"{count:,} bytes"
    return f"{count / 1e6:.0f} MB" if count < 1_000_000_000 else f"{count / 1e9:.2f} GB"


def duration(seconds: float) -> str:
    """Return a time as people read it, such as ``2 min 05 s``."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
