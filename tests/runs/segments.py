"""What a process does of a run: begins it, decides on it or settles it, and is killed or paused on the way."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import threading
from types import FrameType
from typing import Any

from nr_llm import HOST, CompletionResponse, RunChange, RunHead, RunHistory, ToolContext, Usage, tool
from nr_llm.records import WAITING
from nr_llm.testing import Harness, calling
from nr_llm_store import SqlStore
from nr_llm_store._engines import Bounds

LEASE_SECONDS = 0.05

# -- what tools leave behind ------------------------------------------------------------------------------------

JOURNAL: list[int] = []
"""The file that everything is noted in, as a descriptor; no store undoes a line of it."""


def note(what: str, **facts: Any) -> None:
    """Add a line to the journal, whole."""
    os.write(JOURNAL[0], f"{json.dumps({'what': what, 'pid': os.getpid(), **facts})}\n".encode())


def write(context: ToolContext, text: str) -> str:
    """Begin, and change the world."""
    note("began", key=context.idempotency_key)
    note("wrote", key=context.idempotency_key, text=text)
    return f"wrote {text}"


@tool
def look(context: ToolContext, text: str = "") -> str:
    """Look."""
    note("looked", key=context.idempotency_key)
    return f"saw {text}"


@tool(effect="write", approval=False)
def put(context: ToolContext, text: str = "") -> str:
    """Write at once."""
    return write(context, text)


@tool(effect="idempotent_write", approval=False)
async def mark(context: ToolContext, text: str = "") -> str:
    """Write at once, in an event loop, what may be written twice."""
    return write(context, text)


@tool(effect="write")
def change(context: ToolContext, text: str = "") -> str:
    """Write, with a person's consent."""
    return write(context, text)


TOOLS = [look, put, mark, change]
NAMES = [one.name for one in TOOLS]
BODIES = {one.function.__code__ for one in TOOLS}  # type: ignore[attr-defined]


class Telling(SqlStore):
    """Says which runs it has kept, once they are."""

    def create(self, head: RunHead, change: RunChange) -> None:
        """Keep a run, and say so."""
        super().create(head, change)
        note("kept", key=head.run_id)


# -- where it ends ----------------------------------------------------------------------------------------------


def kind_of(change: RunChange) -> str:
    """Name what a change is for."""
    if change.status is not None:
        return "claim" if change.expect == WAITING else "wait" if change.status.waiting else "end"
    state = {} if change.checkpoint is None else change.checkpoint.state
    if any(pending.get("started") for pending in state.get("pending", ())):
        return "fence"
    return "step" if change.steps else "begin" if change.claim else "renewal"


def place_of(frame: FrameType | None) -> str | None:
    """Name where a thread is; None if nowhere in particular."""
    found = None
    while frame is not None:
        code = frame.f_code
        if code in BODIES:
            return "in a tool"
        match code.co_qualname:
            case "SqlStore.write" | "SqlStore.create":
                found = found or f"{kind_of(frame.f_locals['change'])} kept"
            case "Job.call" | "Job.make_sure":
                return found or "at a tool's door"
            case "_awaited" | "_settled" if code.co_filename.endswith(("_aperform.py", "_loop_thread.py")):
                return found or "at a tool's door"
            case "ScriptedProvider.complete":
                found = found or "in the model"
            case "Keeper._take_up" | "as_decided":
                found = found or "in a decision"
            case "settle_abandoned":
                found = found or "settling"
        frame = frame.f_back
    return found


PLACES = ["at a tool's door", "in a tool", "fence kept", "renewal kept", "begin kept", "claim kept", "wait kept"]
PLACES += ["end kept", "step kept", "settling", "in a decision", "in the model"]
"""Those that matter most first, if several threads are somewhere."""


def place() -> str:
    """Name where this process is, in whichever thread."""
    frames = sys._current_frames()
    found = {place_of(frame) for frame in frames.values()}
    module = str(frames[threading.get_ident()].f_back.f_back.f_globals["__name__"])  # type: ignore[union-attr]
    package = module.partition(".")[0]
    ours = f"in {module}" if package.startswith("nr_llm") else "in a library"
    return next((name for name in PLACES if name in found), ours)


_KEEPS = ("SqlStore.write", "SqlStore.create")
WHEN = {"": (_KEEPS, "return"), "begins": (_KEEPS, "call"), "under way": (("SqlStore._add",), "call")}
"""When a change is made: it has been, it is about to be, or its transaction holds what others would have to change."""


class Fuse:
    """
    Kills or pauses this process, so many function calls after it has come to a point for the n-th time.

    Args:
        do: What the process does.
        sign: The signal, by name.
        point: The point: the name of a change and when (`WHEN`), ``tool``, ``door``, or ``start``.
        times: For which time.
        calls: How many function calls later.
    """

    def __init__(self, do: str, sign: str, point: str, times: int, calls: int) -> None:
        self.do = do
        self.signal = signal.Signals[sign]
        self.point = point
        self.times = times
        self.calls = calls
        self.lit = point == "start"
        self.lock = threading.Lock()

    def light(self) -> None:
        """Look at every function call from now on, in each thread."""
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.lit:
            with self.lock:  # of two threads one is the last
                self.calls -= 1
                if self.calls == -1:
                    note("signal", signal=self.signal.name, do=self.do, place=place())
                    # To this thread, which holds the interpreter: another might take it while this one goes on.
                    signal.pthread_kill(threading.get_ident(), self.signal)
        elif self._is_there(frame, event):
            self.times -= 1
            self.lit = self.times <= 0

    def _is_there(self, frame: FrameType, event: str) -> bool:
        code = frame.f_code
        if self.point == "tool":
            return event == "call" and code in BODIES
        if self.point == "door":
            return event == "return" and code.co_qualname == "Keeper.hold"
        wanted, _, when = self.point.partition(" ")
        functions, which = WHEN[when]
        return code.co_qualname in functions and event == which and kind_of(frame.f_locals["change"]) == wanted


# -- what is done -----------------------------------------------------------------------------------------------


def replies(chance: random.Random, rounds: int) -> list[Any]:
    """Return what the model says in one segment."""
    found: list[Any] = []
    for _ in range(rounds):
        names = chance.choices([*NAMES, "nope"], [2, 3, 2, 2, 0.3], k=chance.randrange(1, 4))
        found.append(calling(*((name, {"text": f"{chance.random():.3f}"}) for name in names)))
    return [*found, CompletionResponse(content="done", usage=Usage(10, 2))]


def decide(harness: Harness, task: dict[str, Any], chance: random.Random, *, awaiting: bool) -> Any:
    """Say to each call that waits yes, no, or yes to something else."""
    waiting = RunHistory(harness.runtime._assembly.store, HOST).waiting(task["run_id"])  # type: ignore[arg-type]
    if waiting is None or waiting.state is None:
        return None
    runtime, decisions = harness.runtime, []
    if chance.random() < 0.3 and "say" not in task:  # as a host that keeps the state; the record is told nothing
        verdicts = {asked.index: chance.random() < 0.6 for asked in waiting.asked}
        for index, yes in verdicts.items():
            note("said", key=f"{task['run_id']}:{waiting.state.rounds}:{index}", yes=yes)
        if awaiting:
            return asyncio.run(runtime.aresume(waiting.state, verdicts))
        return runtime.resume(waiting.state, verdicts)
    for asked in waiting.asked:
        said = task.get("say", chance.choice(["yes", "yes", "no", "edited"]))
        arguments = {"text": f"edited {chance.random():.3f}"} if said == "edited" else None
        decisions.append(waiting.decision(asked.index, approve=said != "no", arguments=arguments))
    if awaiting:
        return asyncio.run(runtime.adecide(task["run_id"], decisions, by=HOST))
    return runtime.decide(task["run_id"], decisions, by=HOST)


def carry_out(task: dict[str, Any]) -> None:
    """Do one segment, and note what came of it."""
    JOURNAL[:] = [os.open(task["journal"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)]
    chance = random.Random(task["seed"])
    awaiting = task.get("awaiting", chance.random() < 0.5)
    store = Telling(task["url"], bounds=Bounds(wait=task["wait"]))
    settings: Any = {"store": store, "privacy": "full", "lease_seconds": LEASE_SECONDS}
    harness = Harness(tools=TOOLS, **settings)
    script = replies(chance, task["rounds"])
    if "calls" in task:
        script = [calling(*((name, {"text": name}) for name in task["calls"])), "done"]
    if task["fuse"] is not None:
        Fuse(task["do"], *task["fuse"]).light()
    try:
        if task["do"] == "settle":
            outcome: Any = RunHistory(store, HOST).settle_abandoned()
        elif task["do"] == "decide":
            harness.provider.script(*script)
            outcome = decide(harness, task, chance, awaiting=awaiting)
        else:
            run: Any = {"replies": script, "tools": NAMES, "run_id": task["run_id"]}
            outcome = asyncio.run(harness.arun(**run)) if awaiting else harness.run(**run)
    except Exception as error:  # whatever it is, the test judges it
        outcome = error
    sys.setprofile(None)
    note("over", outcome=type(outcome).__name__, text=repr(outcome) if isinstance(outcome, Exception) else "")
