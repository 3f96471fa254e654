"""Has the tools of a held turn say what its calls would do, beside whoever waits: they may read, block and fail."""

from __future__ import annotations

import contextvars
import inspect
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from nr_llm._calls import discard
from nr_llm._desk import Desk
from nr_llm._seam import Admitted, admit
from nr_llm.previews import WITHHELD, CallPreview, bound_preview, failed_preview, no_preview
from nr_llm.state import PendingCall

PREVIEW_SECONDS = 10.0
"""Seconds all previews of a turn may take together: a person waits for them, and can decide without."""

Post: TypeAlias = Callable[[CallPreview | None], None]


class Previewing:
    """
    The previews of one held turn under way; `post` hands one to whoever waits, from any thread.

    Args:
        desk: The run's bookkeeping.
        calls: The calls, whose tools all have a preview.
        post: Takes a preview, or None when the run was cancelled.
    """

    def __init__(self, desk: Desk, calls: Sequence[PendingCall], post: Post) -> None:
        self._desk, self._calls, self._post = desk, calls, post
        self._deadline = time.monotonic() + PREVIEW_SECONDS
        self._context = contextvars.copy_context()
        self._cancelled = desk.cancelled.child()
        self._unsubscribe = desk.cancelled.on_cancel(lambda: post(None))
        self._made: dict[int, CallPreview] = {}

    def work(self) -> None:
        """Make the previews, one after another; never raises."""
        for pending in self._calls:
            if self._cancelled.cancelled:
                return
            try:
                made = self._context.run(self._preview, pending)
            except BaseException as error:  # noqa: BLE001  # its waiter must hear of it, or would wait for ever
                self._desk.log_failure(f"preview of {pending.call.name}", error)
                made = failed_preview(pending.index, pending.call.name, error)
            self._post(made)

    def _preview(self, pending: PendingCall) -> CallPreview:
        if self._desk.toolbox.denial(pending.call.name) is not None:  # closed since it was offered
            return no_preview(pending.index, pending.call.name, WITHHELD)
        admitted = admit(pending.call, self._desk.toolbox, limits=self._desk.limits)
        assert isinstance(admitted, Admitted), "a call that is refused is not held"
        assert admitted.tool.previewer is not None
        context = self._desk.context(
            pending, admitted, deadline=self._deadline, cancelled=self._cancelled, report=_unreported
        )
        given = admitted.tool.previewer(admitted.arguments, context)
        if inspect.isawaitable(given):
            discard(given)
        return bound_preview(pending.index, pending.call.name, given, mask=self._desk.redactor.mask_known)

    @property
    def done(self) -> bool:
        """Whether every call has its preview."""
        return len(self._made) == len(self._calls)

    def wait_seconds(self) -> float:
        """Return how long to wait for the next one."""
        return max(0.0, self._deadline - time.monotonic())

    def take(self, made: CallPreview | None) -> None:
        """
        Take a preview in, or None when time has passed.

        Raises:
            RunCancelledError: The run was cancelled.
        """
        self._desk.go_on()
        if made is not None:
            self._made[made.index] = made
        elif not self.wait_seconds():
            why = f"The preview took more than {PREVIEW_SECONDS:g} seconds."
            for pending in self._calls:
                self._made.setdefault(pending.index, no_preview(pending.index, pending.call.name, why))

    def previews(self) -> tuple[CallPreview, ...]:
        """Return the previews in the order of the calls."""
        return tuple(self._made[pending.index] for pending in self._calls)

    def leave(self) -> None:
        """Let go of those that are not made; nobody waits for them any more."""
        self._unsubscribe()
        self._cancelled.cancel("nobody waits for the preview")
        self._cancelled.leave()


def _unreported(_: str) -> None:
    """Nobody watches a preview."""
