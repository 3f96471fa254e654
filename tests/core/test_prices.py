"""What tokens cost: exact, from a named place, and unknown where it is not known."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import attrs
import pytest
from nr_llm import (
    CompletionResponse,
    ConfigurationError,
    Endpoint,
    InvalidValueError,
    Limits,
    Model,
    PluginHost,
    Price,
    RunResult,
    RunState,
    Runtime,
    TerminationReason,
    Usage,
    read_config,
    tool,
)
from nr_llm._pricing import listed_price, price_of
from nr_llm.aliases import facts_of
from nr_llm.testing import ScriptedProvider, calling

from tests.core.flows import loop, text

CHEAP = Price(input="0.25", output="2", cached="0.025", cache_write="0.3")


@tool
def look() -> str:
    """Look."""
    return "seen"


class TestPrice:
    """Figures for a million tokens."""

    def test_numbers_are_taken_as_written(self) -> None:
        """A tenth is a tenth, also from a float or a text."""
        price = Price(input=0.1, output="2.50", cached=1)

        assert (price.input, price.output, price.cached) == (Decimal("0.1"), Decimal("2.5"), Decimal(1))

    @pytest.mark.parametrize("wrong", [-1, "many", True, float("nan"), float("inf"), None, [1]])
    def test_what_is_no_amount(self, wrong: Any) -> None:
        """A figure that is no amount is refused by name."""
        with pytest.raises(InvalidValueError, match=r"output: .* is no amount"):
            Price(input=1, output=wrong)

    def test_the_price_of_long_calls_is_one(self) -> None:
        """What stands for the price of long calls has to be a price."""
        with pytest.raises(InvalidValueError, match="long: must be a Price, not int"):
            Price(input=1, output=1, long=2)  # type: ignore[arg-type]

    def test_where_it_is_from_makes_no_difference(self) -> None:
        """Two prices with the same figures are equal, wherever they are from."""
        assert Price(input=1, output=2, source="a") == Price(input=1, output=2, source="b")


class TestCost:
    """What the tokens of a call cost."""

    def test_each_kind_at_its_price(self) -> None:
        """Cached input and what is written to the cache are parts of the input, each at a price of its own."""
        usage = Usage(1_000_000, 500_000, cached_tokens=400_000, cache_write_tokens=100_000)

        assert usage.cost(CHEAP) == Decimal("0.125") + Decimal("0.01") + Decimal("0.03") + Decimal(1)

    def test_reasoning_is_output(self) -> None:
        """Reasoning is part of the output and not paid twice."""
        assert Usage(0, 1_000_000, reasoning_tokens=900_000).cost(CHEAP) == 2

    @pytest.mark.parametrize("usage", [Usage(), Usage(1, None), Usage(None, 1)])
    def test_tokens_that_are_not_reported(self, usage: Usage) -> None:
        """What was not counted cost nobody knows what, not nothing."""
        assert usage.cost(CHEAP) is None

    def test_no_price(self) -> None:
        """Without a price the cost is not known."""
        assert Usage(1, 1).cost(None) is None

    def test_cached_input_without_a_price(self) -> None:
        """Cached input costs at most what other input does."""
        assert Usage(1_000_000, 0, cached_tokens=1_000_000).cost(Price(input=3, output=1)) == 3

    def test_cache_writing_without_a_price(self) -> None:
        """Writing to a cache may be dearer than reading, so without its price the cost is not known."""
        price = Price(input=3, output=1)

        assert Usage(10, 0, cache_write_tokens=5).cost(price) is None
        assert Usage(1_000_000, 0, cache_write_tokens=0).cost(price) == 3

    def test_more_parts_than_the_whole(self) -> None:
        """A service that counts more cached tokens than read ones makes no negative cost."""
        assert Usage(1, 0, cached_tokens=1_000_000).cost(CHEAP) == Decimal("0.025")

    def test_long_calls(self) -> None:
        """A call beyond a length is paid at the price of long calls as a whole."""
        price = Price(input=1, output=1, long=Price(input=2, output=3), long_from=1_000_000)

        assert Usage(1_000_000, 0).cost(price) == 1
        assert Usage(2_000_000, 1_000_000).cost(price) == 7
        assert Usage(None, 1).cost(price) is None


def priced(*replies: CompletionResponse, **settings: Any) -> Any:
    """Return a run of a model with a price."""
    return loop(replies, look, state={"price": CHEAP}, **settings)


class TestRuns:
    """What a run cost."""

    ASKS = attrs.evolve(calling(("look", {})), usage=Usage(1_000_000, 0))

    def test_calls_add_up(self) -> None:
        """Each call's cost is in its step, their sum in state and result."""
        run = priced(self.ASKS, text("x", usage=Usage(0, 1_000_000)))

        assert [step.cost for step in run.steps if step.kind == "llm"] == [Decimal("0.25"), Decimal(2)]
        assert run.checkpoints[-1].cost == run.outcome.cost == Decimal("2.25")
        assert run.outcome.price is CHEAP

    def test_attempts_count(self) -> None:
        """Tokens of attempts that failed are paid too."""
        run = priced(text("x", usage=Usage(1, 1), spent=Usage(1_000_000, 1_000_000)))

        assert run.outcome.cost == Decimal("2.25")

    def test_a_part_that_is_not_known(self) -> None:
        """A cost of which a part is not known is not known; the known part stays visible in the state."""
        run = priced(self.ASKS, text("x"))
        state = run.checkpoints[-1]

        assert run.outcome.cost is None
        assert (state.cost, state.unpriced) == (Decimal("0.25"), True)

    def test_without_a_price(self) -> None:
        """A run whose model's price nobody knows cost nobody knows what."""
        run = loop([text("x", usage=Usage(1, 1))])

        assert (run.outcome.cost, run.outcome.price, run.steps[-1].cost) == (None, None, None)

    def test_the_state_survives_as_json(self) -> None:
        """Amounts are kept as text, exactly."""
        state = priced(self.ASKS, text("x", usage=Usage(0, 1))).checkpoints[-1]
        stored = state.to_json()

        assert stored["cost"] == "0.250002"
        assert RunState.from_json(stored) == state

    @pytest.mark.parametrize("wrong", [0.25, "much", None])
    def test_an_amount_that_is_no_text(self, wrong: Any) -> None:
        """A stored amount that is no decimal number as text is refused."""
        stored = {**loop([text("x")]).checkpoints[-1].to_json(), "cost": wrong}

        with pytest.raises(InvalidValueError, match="Decimal"):
            RunState.from_json(stored)

    def test_a_step_is_json(self) -> None:
        """A step shows its cost as text."""
        run = priced(text("x", usage=Usage(0, 1_000_000)))

        assert run.steps[-1].to_dict()["cost"] == str(run.outcome.cost)


class TestLimit:
    """The bound of a run's cost."""

    def test_it_ends_the_run(self) -> None:
        """A run that has cost what it may ends before the next call."""
        run = priced(TestRuns.ASKS, limits=Limits(cost=0.25))

        assert run.outcome.reason is TerminationReason.COST_EXHAUSTED
        assert (run.outcome.cost, len(run.requests)) == (Decimal("0.25"), 1)

    def test_below_it_the_run_goes_on(self) -> None:
        """A run that has cost less goes on."""
        assert priced(TestRuns.ASKS, text("x"), limits=Limits(cost="0.26")).outcome.reason == "completed"

    def test_a_cost_that_is_not_known_ends_it(self) -> None:
        """A call of unknown cost cannot be bounded any more."""
        run = priced(calling(("look", {})), limits=Limits(cost=100))

        assert run.outcome.reason is TerminationReason.COST_EXHAUSTED

    def test_a_price_that_is_not_known_is_refused(self) -> None:
        """A bound that could hold nobody is an error before anything is sent."""
        with pytest.raises(ConfigurationError, match="price of scripted:m is not known") as caught:
            Runtime(providers=[ScriptedProvider("x")], model="scripted:m").run("hi", limits=Limits(cost=1))

        assert "nr-llm[prices]" in caught.value.remedy

    def test_what_is_no_amount(self) -> None:
        """A bound of cost is an amount."""
        with pytest.raises(InvalidValueError, match="cost"):
            Limits(cost=-1)

    def test_it_survives_as_json(self) -> None:
        """A bound of cost is exact in a stored run."""
        state = RunState(run_id="r", model="m", limits=Limits(cost="0.1"))

        assert RunState.from_json(state.to_json()).limits.cost == Decimal("0.1")


ROW = '[models.fast]\nprovider = "scripted"\nid = "m"\n'


def host(folder: Path, text: str, *, trusted: bool = True) -> PluginHost:
    """Return a host with a configuration file."""
    (folder / "nr-llm.toml").write_text(text)
    return PluginHost(config=read_config(folder / "nr-llm.toml", trusted=trusted), environ={})


class TestConfigured:
    """A price in ``[models.NAME]``."""

    def test_it_is_the_models(self, tmp_path: Path) -> None:
        """A row's price is what its runs are figured with, and says where it is from."""
        found = host(tmp_path, ROW + "price = { input = 0.25, output = 2, cached = 0.025 }")
        reply = text("x", usage=Usage(1_000_000, 0))
        result = Runtime(found, providers=[ScriptedProvider(reply)]).run("hi", model="fast")

        assert isinstance(result, RunResult)
        assert result.cost == Decimal("0.25")
        assert result.price == Price(input="0.25", output=2, cached="0.025")
        assert result.price.source.endswith("nr-llm.toml")

    def test_the_model_by_its_own_name_has_it(self, tmp_path: Path) -> None:
        """A price holds for the model, whatever it is called."""
        rows = host(tmp_path, ROW + "price = { input = 1, output = 2 }").models().values()

        assert facts_of(Model(provider="scripted", name="m"), rows).price == Price(input=1, output=2)

    def test_a_source_of_ones_own(self, tmp_path: Path) -> None:
        """Whoever writes a price down may say where it is from."""
        rows = host(
            tmp_path, ROW + 'price = { input = 1, output = 2, currency = "EUR", source = "contract 7" }'
        ).models()
        price = rows["fast"].facts["price"]

        assert (price.currency, price.source) == ("EUR", "contract 7")

    @pytest.mark.parametrize(
        ("written", "message"),
        [
            ("price = { output = 2 }", "price has no input"),
            ("price = {}", "price has no input and no output"),
            ("price = { input = 1, output = 2, reading = 3 }", "reading"),
            ("price = { input = -1, output = 2 }", r"price.input: .* is no amount"),
            ("price = 3", "price"),
        ],
    )
    def test_a_wrong_one(self, tmp_path: Path, written: str, message: str) -> None:
        """A price that cannot be used is refused with its place."""
        with pytest.raises(ConfigurationError, match=message):
            host(tmp_path, ROW + written).model("fast")

    def test_a_file_that_is_not_trusted(self, tmp_path: Path) -> None:
        """A cloned project cannot make a model cost nothing and void a bound."""
        with pytest.raises(ConfigurationError, match="is not trusted and sets 'price'"):
            host(tmp_path, ROW + "price = { input = 0, output = 0 }", trusted=False).model("fast")

    def test_a_limit_of_cost(self, tmp_path: Path) -> None:
        """A row may bound the cost of its runs, in the figures it is written with."""
        written = ROW + "price = { input = 1, output = 2 }\nlimits = { cost = 0.1 }"
        runtime = Runtime(host(tmp_path, written), providers=[ScriptedProvider("x")])
        with runtime.stream("hi", model="fast") as stream:
            assert stream.state.limits.cost == Decimal("0.1")


def theirs(input_: Any, output: Any, cached: Any = None, written: Any = None) -> ModuleType:
    """Return a stand-in for genai-prices that has one model."""
    price = SimpleNamespace(input_mtok=input_, output_mtok=output, cache_read_mtok=cached, cache_write_mtok=written)

    def calc_price(usage: Any, model: str, *, provider_id: str) -> Any:
        if (provider_id, model) != ("google", "m"):
            raise LookupError(model)
        return SimpleNamespace(model_price=price)

    module = ModuleType("genai_prices")
    vars(module).update(calc_price=calc_price, Usage=SimpleNamespace, __version__="9.9")
    return module


def tiered(base: str, *tiers: tuple[int, str]) -> Any:
    """Return a figure of theirs that has steps."""
    steps = [SimpleNamespace(start=start, price=Decimal(price)) for start, price in tiers]
    return SimpleNamespace(base=Decimal(base), tiers=steps)


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test have its own genai-prices, or none."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)  # type: ignore[arg-type]  # as if not installed
    listed_price.cache_clear()


class TestListed:
    """Prices of the optional package."""

    @pytest.fixture
    def known(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Install a stand-in for genai-prices."""
        return lambda *figures: monkeypatch.setitem(sys.modules, "genai_prices", theirs(*figures))

    def test_not_installed(self) -> None:
        """Without the package no list price is known."""
        assert listed_price("gemini", "m") is None

    def test_a_model_it_knows(self, known: Any) -> None:
        """A price of theirs says which release of the list it is from; their names of providers are translated."""
        known(Decimal("0.3"), Decimal("2.5"), Decimal("0.03"))
        price = listed_price("gemini", "m")

        assert price == Price(input="0.3", output="2.5", cached="0.03", cache_write="0.3")
        assert price.source == "genai-prices 9.9"

    def test_a_model_it_does_not_know(self, known: Any) -> None:
        """A model that is not on the list has no price."""
        known(Decimal(1), Decimal(1))

        assert listed_price("gemini", "other") is listed_price("openai", "m") is None

    def test_a_price_of_long_calls(self, known: Any) -> None:
        """A list price with one step is taken with it."""
        known(tiered("1", (200_000, "2")), tiered("10", (200_000, "15")), Decimal("0.1"))
        price = listed_price("gemini", "m")
        long = Price(input=2, output=15, cached="0.1", cache_write=2)

        assert price == Price(input=1, output=10, cached="0.1", cache_write=1, long=long, long_from=200_000)

    @pytest.mark.parametrize(
        "figures",
        [
            (None, Decimal(1)),
            (Decimal(1), None),
            (tiered("1", (5, "2"), (9, "3")), Decimal(1)),
            (tiered("1", (5, "2")), tiered("1", (6, "2"))),
        ],
    )
    def test_a_price_of_another_kind(self, known: Any, figures: Any) -> None:
        """What a price here cannot say is not known, rather than wrong."""
        known(*figures)

        assert listed_price("gemini", "m") is None

    def test_another_release(self, known: Any, caplog: pytest.LogCaptureFixture) -> None:
        """A release that has changed leaves the price unknown and says so in the log."""
        known(object(), object())

        assert listed_price("gemini", "m") is None
        assert "genai-prices cannot be read: InvalidValueError" in caplog.text

    @pytest.mark.parametrize("local", [True, False])
    def test_a_model_of_ones_own(self, known: Any, local: bool) -> None:
        """A model on this machine has no list price, and a price that is set goes first."""
        known(Decimal(1), Decimal(1))
        provider: Any = SimpleNamespace(endpoint=Endpoint("there", local=local))
        model = Model(provider="gemini", name="m")

        assert price_of(model, provider) == (None if local else Price(input=1, output=1, cache_write=1))
        assert price_of(attrs.evolve(model, price=CHEAP), provider) is CHEAP
