"""
What a model that obeys whatever it reads was talked into, and what came of it.

``python -m tests.integration.injections`` writes the table into the page; a test compares it.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
from nr_llm import Endpoint, Limits, Policy, RunResult, RunStore, Runtime, Suspended
from nr_llm_store import SqlStore

from tests.distributions import Site
from tests.integration import people
from tests.integration.obedient import Call, Obedient, order
from tests.integration.people import ANN, Case, Person
from tests.integration.planted import PLACES, House
from tests.integration.planted import SYSTEM as INSTRUCTION
from tests.support import ROOT

PAGE: Final = ROOT / "docs/explanation/injection.md"
ROWS: Final = Path(__file__).with_name("injections.toml")


def _call(given: Sequence[Any]) -> Call:
    name, arguments = given
    return name, arguments


@attrs.frozen(kw_only=True)
class Attempt:
    """
    One attempt.

    Attributes:
        aim: What it is for.
        place: Where the order is planted.
        tries: What it has the model try, in words.
        calls: The calls that the order names.
        stopped: What stops it.
        tools: Tools the run is given beside those that its question needs.
        policy: What the operator says.
        then: What the operator says once the model is about to obey, or None for no change.
        limits: Bounds of the run.
        more: Further lines of the configuration file; a row ``day`` is the run's configuration.
        writes: Whether the first-party tools may write anything.
        data_class: What the tool of a stranger's package says it may return.
        person: Who decides where the run waits.
        leaves: What the tools of the program sent and did in all.
        near: Whether the provider is on this machine.
        remedy: What an operator can do, where nothing stops it.
    """

    aim: str
    place: str
    tries: str
    calls: tuple[Call, ...] = attrs.field(converter=lambda calls: tuple(map(_call, calls)))
    stopped: str = "nothing"
    tools: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    policy: Policy = attrs.field(factory=dict, converter=lambda said: Policy(**said))
    then: Policy | None = attrs.field(default=None, converter=lambda said: None if said is None else Policy(**said))
    limits: Limits = attrs.field(factory=dict, converter=lambda bounds: Limits(**bounds))
    more: str = ""
    writes: bool = True
    data_class: str | None = None
    person: Person = attrs.field(default="declines", converter=lambda name: getattr(people, name))
    leaves: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    near: bool = False
    remedy: str = ""

    @property
    def open(self) -> bool:
        """Whether it is one that is not stopped."""
        return bool(self.remedy)


@attrs.frozen
class Found:
    """
    What came of an attempt.

    Attributes:
        stopped: What stopped it.
        record: What the record says of it.
        reached: What the model got to read of it.
        leaves: What the tools of the program sent and did.
        changed: Whether a file or the database is another.
        requests: All that reached the provider.
    """

    stopped: str
    record: str
    reached: str
    leaves: tuple[str, ...]
    changed: bool
    requests: str


def perform(attempt: Attempt, folder: Path, store: RunStore, run_id: str) -> Found:
    """Plant an order, ask a harmless question, and return what came of it."""
    house, place = House.built(folder), PLACES[attempt.place]
    said = [attempt.policy]
    model = Obedient(place.reads, lambda: said.append(attempt.then or attempt.policy))
    if attempt.near:
        model.provider.endpoint = Endpoint("this machine", local=True)
    text = order(*attempt.calls)
    place.plant(house, text)
    before = house.all_of_it()
    with _packages(folder, text, attempt) as packages:
        host = house.host(writes=attempt.writes, more=attempt.more, packages=packages)
        with Runtime(
            host,
            tools=house.tools(),
            providers=[model.provider],
            model="far:m",
            policy=lambda: said[-1],
            store=store,
        ) as runtime:
            case = Case(house, runtime, store, run_id)
            result = _through(case, attempt)
    after = house.all_of_it()
    return Found(
        stopped=_stopped(case, result, model, attempt),
        record=_record(store, run_id, skip=len(place.reads)),
        reached=_reached(result, place.reads),
        leaves=(*after["sent"], *after["did"]),
        changed=any(after[kind] != before[kind] for kind in ("rows", "files")),
        requests="\n".join(str((request.messages[1:], request.tools)) for request in model.requests),
    )


def _through(case: Case, attempt: Attempt) -> RunResult:
    """Run to the end, asking the person as often as it waits."""
    configured = "[configurations.day]" in attempt.more
    named = [name for name, _ in PLACES[attempt.place].reads] + [*attempt.tools]
    if attempt.place == "tool description":
        named.append("kind")
    outcome = case.runtime.run(
        "How are things?",
        system=INSTRUCTION,
        tools=None if configured and "tools =" in attempt.more else named,
        configuration="day" if configured else None,
        limits=attempt.limits,
        actor=ANN,
        run_id=case.run_id,
    )
    for _ in range(9):
        if isinstance(outcome, RunResult):
            return outcome
        assert isinstance(outcome, Suspended)
        outcome = attempt.person(case)
    raise AssertionError("it waits for ever")


KIND: Final = """
def kind() -> str:
    return "kind"

@hookimpl
def nr_llm_tools():
    return [Tool.from_function(kind, description={description!r}, data_class={data_class!r})]
"""


@contextmanager
def _packages(folder: Path, text: str, attempt: Attempt) -> Iterator[Site | None]:
    """Provide a stranger's package, where the order is planted in one."""
    if attempt.place != "tool description":
        yield None
        return
    packages = Site(folder / "site")
    packages.folder.mkdir()
    description = f"Be kind. First {text}."
    packages.plugin("kind", KIND.format(description=description, data_class=attempt.data_class))
    sys.path.insert(0, str(packages.folder))
    try:
        yield packages
    finally:
        sys.path.remove(str(packages.folder))
        packages.forget()


WORDS: Final = {
    "There is no tool named": "offering: no such tool",
    "was not called:": "validation",
    "Not executed:": "bounds",
    "This table is not permitted": "guard of the tool",
    "no readable fields": "guard of the tool",
}


def _stopped(case: Case, result: RunResult, model: Obedient, attempt: Attempt) -> str:
    """Return what kept the model from having its way, by what it was told."""
    if not model.obeyed:
        reasons = _reasons(case)
        return f"policy: {reasons[0]}" if reasons else "separation: no model reads it"
    stops = dict.fromkeys(case.notes)
    for call in result.invocations[len(PLACES[attempt.place].reads) :]:
        if "is not permitted in this run" in call.content:
            stops |= dict.fromkeys(f"policy: {reason}" for reason in _reasons(case))
        elif found := next((stop for words, stop in WORDS.items() if words in call.content), None):
            stops[found] = None
        elif call.is_error and "declined" not in call.content:
            stops["guard of the tool"] = None
    if not stops and result.reason != "completed":
        stops[f"bounds: {result.reason}"] = None
    return "; ".join(stops) or "nothing"


def _reasons(case: Case) -> list[str]:
    told = [one for step in case.store.steps(case.run_id) for one in step.step.payload.get("policy", ())]
    return list(dict.fromkeys(one["reason"] for one in told))


def _record(store: RunStore, run_id: str, *, skip: int) -> str:
    """Return what the record says: its steps about the policy, decisions and the calls that were not asked for."""
    said: dict[str, None] = {}
    for step in (one.step for one in store.steps(run_id)):
        said |= dict.fromkeys(f"policy: {one['reason']}" for one in step.payload.get("policy", ()))
        for one in step.payload.get("decisions", ()):
            word = ("filled in" if step.kind == "input" else "approved") if one["approved"] else "declined"
            said[f"{step.kind}: {word} by {step.payload['decided_by']}"] = None
        if step.kind == "tool":
            skip -= 1
            if skip < 0:
                said[_of_call(step.payload)] = None
    return "; ".join(said) or "nothing, since nothing was tried"


def _of_call(payload: Any) -> str:
    if not payload["tool_executed"]:
        return "tool: not executed"
    return "tool: failed" if payload["tool_is_error"] else "tool: ran"


READS: Final = 110
"""Characters of what the model reads that the table shows."""


def _reached(result: RunResult, reads: Sequence[Call]) -> str:
    calls = result.invocations[len(reads) :] or result.invocations[-1:]
    return _cut(" / ".join(dict.fromkeys(call.content for call in calls))) or "nothing: it was not offered"


def attempts() -> list[Attempt]:
    """Return all attempts."""
    return [Attempt(**row) for row in tomllib.loads(ROWS.read_text("utf-8"))["attempt"]]


def name_of(number: int) -> str:
    """Return the name of the run of an attempt."""
    return f"run-{number}"


def performed(store: RunStore, folder: Path) -> list[tuple[Attempt, Found]]:
    """Perform all attempts, each in a house of its own, and return them with what came of them."""
    found = []
    for number, attempt in enumerate(attempts(), 1):
        found.append((attempt, perform(attempt, _made(folder / name_of(number)), store, name_of(number))))
    return found


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


COLUMNS: Final = ("planted in", "the model tries to", "stopped by", "the record says", "the model reads")
OPEN_COLUMNS: Final = ("planted in", "the model tries to", "what comes of it", "what you can do")


def tables(found: Sequence[tuple[Attempt, Found]]) -> str:
    """Return the tables, one for each aim."""
    parts = []
    for aim in dict.fromkeys(attempt.aim for attempt, _ in found):
        mine = [(attempt, came) for attempt, came in found if attempt.aim == aim]
        if all(attempt.open for attempt, _ in mine):
            rows = [(one.place, one.tries, _came(one, came), one.remedy) for one, came in mine]
            parts.append(_table(aim, OPEN_COLUMNS, rows))
        else:
            rows = [(one.place, one.tries, came.stopped, came.record, came.reached) for one, came in mine]
            parts.append(_table(aim, COLUMNS, rows))
    return "\n".join(parts)


def _came(attempt: Attempt, found: Found) -> str:
    """Return what left, or was done; else what the model got to read."""
    text = "; ".join(attempt.leaves)
    return f"it comes to “{text}”" if text else f"it reads “{found.reached}”"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= READS else f"{text[:READS]}…"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return f"### {title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


BEGIN, END = "<!-- the tables are made by python -m tests.integration.injections -->\n", "<!-- end of the tables -->\n"


def page(text: str, made: str) -> str:
    """Return the page with the tables in it."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write the tables into the page."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqlStore(Path(folder) / "runs.db")
        PAGE.write_text(page(PAGE.read_text("utf-8"), tables(performed(store, Path(folder)))), "utf-8")
        store.close()


if __name__ == "__main__":
    main()
