"""How a Runtime goes on with a run that waits: as its host keeps it, or as somebody decided about a stored one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Unpack

from nr_llm._assembly import Assembly, Setting
from nr_llm._checks import Verdicts
from nr_llm._run_settings import ResumeSettings
from nr_llm._taken_up import as_decided, as_submitted
from nr_llm.actors import Actor
from nr_llm.approvals import Decisions, Submissions
from nr_llm.runs import Outcome, Suspended
from nr_llm.state import RunState
from nr_llm.streams import AsyncRunStream, RunStream


class GoingOn:
    """The part of a Runtime that goes on with a run which was begun before."""

    _assembly: Assembly

    if TYPE_CHECKING:

        def _stream(self, setting: Setting) -> RunStream: ...

        def _astream(self, setting: Setting) -> AsyncRunStream: ...

    # -- as the host keeps it -----------------------------------------------------------------------------------

    def resume(
        self, suspended: Suspended | RunState, verdicts: Verdicts, **settings: Unpack[ResumeSettings]
    ) -> Outcome:
        """
        Go on with a suspended run, or restart one from a checkpoint.

        Args:
            suspended: What the run returned, or its state, from this process or another.
            verdicts: What a person said to the calls, by index in the turn; one answer for all if it is a bool.
            **settings: `tools`, `actor`, `deps`, `cancel` and `output` as for `stream`; tools are checked anew.
        """
        return _drained(self._stream(self._assembly.again(suspended, verdicts, streamed=False, **settings)))

    async def aresume(
        self, suspended: Suspended | RunState, verdicts: Verdicts, **settings: Unpack[ResumeSettings]
    ) -> Outcome:
        """Go on with a suspended run; the asynchronous twin of `resume`."""
        return await adrained(self._astream(self._assembly.again(suspended, verdicts, streamed=False, **settings)))

    def stream_resume(
        self, suspended: Suspended | RunState, verdicts: Verdicts, **settings: Unpack[ResumeSettings]
    ) -> RunStream:
        """
        Go on with a suspended run and watch it; what is wrong with the arguments is raised here.

        Nothing happens before the first event is asked for.

        Args:
            suspended: As for `resume`.
            verdicts: As for `resume`.
            **settings: As for `resume`.
        """
        return self._stream(self._assembly.again(suspended, verdicts, streamed=True, **settings))

    def astream_resume(
        self, suspended: Suspended | RunState, verdicts: Verdicts, **settings: Unpack[ResumeSettings]
    ) -> AsyncRunStream:
        """Go on with a suspended run and watch it; the asynchronous twin of `stream_resume`."""
        return self._astream(self._assembly.again(suspended, verdicts, streamed=True, **settings))

    # -- as somebody decided ------------------------------------------------------------------------------------

    def decide(self, run_id: str, decisions: Decisions, *, by: Actor, **settings: Unpack[ResumeSettings]) -> Outcome:
        """
        Go on with a stored run that waits, as somebody decided about its calls; it acts on behalf of its owner.

        Nothing changes when it is refused.  A call of the turn without a decision waits on.

        Args:
            run_id: The run.
            decisions: What is said to its calls, each naming the digest of the call as it was seen:
                `WaitingRun.decision` makes them.
            by: Who decides.
            **settings: As for `resume`, but for `actor`, which is the run's owner.

        Raises:
            RunNotFoundError: There is no such run, or it is not for `by` to decide on.
            DecisionError: The decision is refused; its kinds say why.
            InvalidInputError: Of these, that changed arguments are not what the tool takes.
            RunClaimedError: Somebody else has decided in between.
            ConfigurationError: There is no store, or what the run began with is gone.
        """
        return _drained(self._stream(as_decided(self._assembly, run_id, decisions, by=by, streamed=False, **settings)))

    async def adecide(
        self, run_id: str, decisions: Decisions, *, by: Actor, **settings: Unpack[ResumeSettings]
    ) -> Outcome:
        """Go on with a stored run that waits; the asynchronous twin of `decide`."""
        decide = partial(as_decided, self._assembly, run_id, decisions, by=by, streamed=False, **settings)
        return await adrained(await self._aside(decide))

    def stream_decide(
        self, run_id: str, decisions: Decisions, *, by: Actor, **settings: Unpack[ResumeSettings]
    ) -> RunStream:
        """
        Go on with a stored run that waits, as somebody decided, and watch it.

        The decision is checked here, and whatever refuses it is raised.  The run is taken up when the stream begins,
        which is when a second decision on the same turn is refused with `RunClaimedError`: call `RunStream.begin` to
        know before the first event.

        Args:
            run_id: As for `decide`.
            decisions: As for `decide`.
            by: As for `decide`.
            **settings: As for `decide`.
        """
        return self._stream(as_decided(self._assembly, run_id, decisions, by=by, streamed=True, **settings))

    async def astream_decide(
        self, run_id: str, decisions: Decisions, *, by: Actor, **settings: Unpack[ResumeSettings]
    ) -> AsyncRunStream:
        """
        Go on with a stored run that waits, and watch it; the asynchronous twin of `stream_decide`.

        It is awaited, unlike `astream`, since the store is asked first: ``stream = await runtime.astream_decide(…)``.
        """
        decide = partial(as_decided, self._assembly, run_id, decisions, by=by, streamed=True, **settings)
        return await self._aside(decide)

    # -- as somebody filled in ----------------------------------------------------------------------------------

    def submit(
        self, run_id: str, submissions: Submissions, *, by: Actor, **settings: Unpack[ResumeSettings]
    ) -> Outcome:
        """
        Go on with a stored run that waits, as somebody filled in its forms; otherwise as `decide`.

        Args:
            run_id: The run.
            submissions: What is filled in, each naming the digest of the call with its form: `WaitingRun.submission`
                makes them.  Several calls of a turn may be answered together.
            by: Who fills in.
            **settings: As for `decide`.

        Raises:
            InvalidInputError: It does not fit the form; the run waits as it did.
        """
        return _drained(
            self._stream(as_submitted(self._assembly, run_id, submissions, by=by, streamed=False, **settings))
        )

    async def asubmit(
        self, run_id: str, submissions: Submissions, *, by: Actor, **settings: Unpack[ResumeSettings]
    ) -> Outcome:
        """Go on with a stored run that waits; the asynchronous twin of `submit`."""
        submit = partial(as_submitted, self._assembly, run_id, submissions, by=by, streamed=False, **settings)
        return await adrained(await self._aside(submit))

    def stream_submit(
        self, run_id: str, submissions: Submissions, *, by: Actor, **settings: Unpack[ResumeSettings]
    ) -> RunStream:
        """
        Go on with a stored run that waits, as somebody filled in its forms, and watch it; as `stream_decide`.

        Args:
            run_id: As for `submit`.
            submissions: As for `submit`.
            by: As for `submit`.
            **settings: As for `decide`.
        """
        return self._stream(as_submitted(self._assembly, run_id, submissions, by=by, streamed=True, **settings))

    async def astream_submit(
        self, run_id: str, submissions: Submissions, *, by: Actor, **settings: Unpack[ResumeSettings]
    ) -> AsyncRunStream:
        """Go on with a stored run that waits, and watch it; the asynchronous twin of `stream_submit`, and awaited."""
        submit = partial(as_submitted, self._assembly, run_id, submissions, by=by, streamed=True, **settings)
        return await self._aside(submit)

    async def _aside(self, prepare: partial[Setting]) -> AsyncRunStream:
        """Return the stream of a run whose preparing asks the store, which may block."""
        from nr_llm._aside import aside

        return self._astream(await aside(self._assembly.threads, prepare))


def _drained(stream: RunStream) -> Outcome:
    with stream:
        for _ in stream:
            pass
    return stream.outcome


async def adrained(stream: AsyncRunStream) -> Outcome:
    """Run a stream to its end and return its outcome."""
    async with stream:
        async for _ in stream:
            pass
    return stream.outcome
