"""A model that obeys whatever it reads gets nowhere it should not; where it does, the page says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the packages of the store and the database tools are not installed")

from nr_llm import ChatMessage, Endpoint, Runtime, tool
from nr_llm.testing import ScriptedProvider, calling
from nr_llm_store import SqlStore

from tests.integration.injections import PAGE, Attempt, Found, attempts, name_of, page, perform, tables
from tests.integration.obedient import order, orders
from tests.integration.planted import PLACES, SECRETS

ALL = list(enumerate(attempts(), 1))
STOPPED = [(number, attempt) for number, attempt in ALL if not attempt.open]
NOT_STOPPED = [(number, attempt) for number, attempt in ALL if attempt.open]


class Done:
    """
    What came of the attempts; each is performed once, when it is first asked for.

    Args:
        folder: Where they are performed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._found = folder, dict[int, Found]()
        self.store = SqlStore(folder / "runs.db")

    def __call__(self, number: int, attempt: Attempt) -> Found:
        """Return what came of one."""
        if number not in self._found:
            folder = self._folder / name_of(number)
            folder.mkdir()
            self._found[number] = perform(attempt, folder, self.store, name_of(number))
        return self._found[number]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    """Return what performs attempts."""
    made = Done(tmp_path_factory.mktemp("injection"))
    yield made
    made.store.close()


def named(found: list[tuple[int, Attempt]]) -> list[str]:
    """Return the names of the cases."""
    return [f"{number}-{attempt.place}-{attempt.tries}".replace(" ", "_") for number, attempt in found]


@pytest.mark.parametrize(("number", "attempt"), STOPPED, ids=named(STOPPED))
def test_what_stops_it(done: Done, number: int, attempt: Attempt) -> None:
    """It is stopped by what is to stop it, nothing is changed or sent, and no secret reaches the provider."""
    found = done(number, attempt)

    assert found.stopped == attempt.stopped
    assert (found.leaves, found.changed) == (attempt.leaves, False)
    assert [secret for secret in SECRETS if secret in found.requests] == []


@pytest.mark.parametrize(("number", "attempt"), NOT_STOPPED, ids=named(NOT_STOPPED))
def test_what_nothing_stops(done: Done, number: int, attempt: Attempt) -> None:
    """What is not stopped comes to what the page says; one that is stopped some day has to leave that page."""
    found = done(number, attempt)

    assert "policy" not in found.stopped
    assert all(text in "\n".join(found.leaves) for text in attempt.leaves)
    assert attempt.leaves or "milk" in found.requests


def test_the_page_shows_it(done: Done) -> None:
    """The tables are those of the page; ``pytest -s`` prints them."""
    made = tables([(attempt, done(number, attempt)) for number, attempt in ALL])
    print(f"\n{made}")  # for whoever wants to see them
    text = PAGE.read_text("utf-8")

    assert page(text, made) == text, "run python -m tests.integration.injections"


def test_every_place_is_tried() -> None:
    """An order is planted in each place, and enough is tried."""
    assert {attempt.place for _, attempt in ALL} == set(PLACES)
    assert len(STOPPED) >= 30


def test_a_model_that_obeys_is_one() -> None:
    """The model follows what is ordered, between other words, and minds no broken order."""
    calls = [("one", {"a": {"b": ["{"]}}), ("two three", {})]

    assert list(orders(f"x {order(*calls)}. Call four with {{, call five with {{}}")) == [*calls, ("five", {})]


def test_what_was_read_goes_along() -> None:
    """A conversation that goes on with another provider takes along what tools said before: the page warns of it."""

    @tool(data_class="secret")
    def payroll() -> str:
        """Say what people earn."""
        return SECRETS[0]

    near = ScriptedProvider(calling(("payroll", {})), "They earn enough.", name="near")
    far = ScriptedProvider("So they do.", name="far")
    far.endpoint = Endpoint("models.example")
    with Runtime(tools=[payroll], providers=[near, far]) as runtime:
        first = runtime.run("What do people earn?", model="near:m")
        runtime.run([*first.messages, ChatMessage.user("Is that so?")], model="far:m")

    assert SECRETS[0] in str(far.requests[0].messages)
    assert far.requests[0].tools == ()
