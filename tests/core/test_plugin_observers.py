"""Observers of plugins watch where the user wants it, and see what the run's privacy level leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm import (
    HOST,
    ConfigurationError,
    MemoryStore,
    NrLlmError,
    RunHistory,
    RunState,
    Runtime,
    TerminationReason,
    hookimpl,
    read_config,
    tool,
)
from nr_llm._host import PluginHost
from nr_llm.config import Config
from nr_llm.testing import ScriptedProvider, calling

from tests.core.colours import COLOURS
from tests.core.run_cases import look

MARKER = "plain-marker-3309"


class Watching:
    """A plugin whose observer notes all it is told."""

    def __init__(self, *, bad: bool = False) -> None:
        self.seen: list[Any] = []
        self.bad = bad

    @hookimpl
    def nr_llm_observers(self) -> Any:
        """Offer one observer of each run."""
        return [self.observer]

    def observer(self, info: Any) -> Any:
        """Return the observer of one run."""
        plugin = self

        class Observer:
            def step(self, step: Any) -> None:
                if plugin.bad:
                    raise RuntimeError("no")
                plugin.seen.append(step)

            def delta(self, delta: Any) -> None:
                plugin.seen.append(delta)

            def close(self, end: Any) -> None:
                plugin.seen.append(end)

        self.seen.append(info)
        return Observer()


@tool(effect="write")
def put(what: str = "") -> str:
    """Write, with a person's consent."""
    return f"put {what}"


def runtime(
    plugins: dict[str, Any], *, observe: tuple[str, ...] = ("watch",), own_tools: Any = (look,), **settings: Any
) -> Runtime:
    """Return a Runtime whose configuration has plugins watch."""
    provider = ScriptedProvider()
    provider.script(calling(("look", {"what": MARKER})), MARKER)
    host = PluginHost(plugins, config=Config(observe=observe))
    return Runtime(host, tools=own_tools, providers=[provider], model="scripted:", **settings)


@pytest.mark.parametrize("colour", COLOURS)
class TestWatching:
    @pytest.mark.parametrize("level", ["metadata", "redacted", "full"])
    def test_what_is_seen(self, colour: Any, level: str) -> None:
        """Steps as the level leaves them, pieces in full alone, and how the run ended."""
        plugin = Watching()
        colour.stream(runtime({"watch": plugin}, privacy=level), MARKER, tools=["look"], run_id="r")
        info, *steps, end = plugin.seen
        kinds = [step.kind for step in steps if hasattr(step, "kind")]
        pieces = [piece for piece in steps if not hasattr(piece, "kind")]

        assert info.run_id == end.run_id == "r"
        assert kinds == ["request", "llm", "tool", "request", "llm"]
        assert (MARKER in repr(steps)) is (level != "metadata")
        assert bool(pieces) is (level == "full")
        assert (end.reason, end.totals.rounds, MARKER in repr(end)) == (TerminationReason.COMPLETED, 2, False)

    def test_a_run_that_goes_on_is_seen_as_it_began(self, colour: Any) -> None:
        """What was to be kept of it when it began counts to its end, also where the host keeps its state as JSON."""
        plugin = Watching()
        with runtime({"watch": plugin}, privacy="full", own_tools=[put]) as made:
            provider: Any = made.provider("scripted")
            provider.script(calling(("put", {"what": MARKER})), MARKER)
            held = colour.run(made, MARKER, tools=["put"], privacy="metadata")
            colour.resume(made, RunState.from_json(held.state.to_json()), True)

        assert [step.kind for step in plugin.seen if hasattr(step, "kind")][-1] == "llm"
        assert MARKER not in repr(plugin.seen)

    @pytest.mark.parametrize("level", ["none", "metadata", "redacted", "full"])
    def test_a_run_that_goes_on_is_seen_no_less(self, colour: Any, level: str) -> None:
        """Nothing is withheld from whoever watches that the level leaves, though the state came from JSON."""
        plugin = Watching()
        with runtime({"watch": plugin}, privacy=level, own_tools=[put]) as made:
            provider: Any = made.provider("scripted")
            provider.script(calling(("put", {"what": MARKER})), MARKER)
            held = colour.run(made, "hi", tools=["put"])
            del plugin.seen[:]
            colour.resume(made, RunState.from_json(held.state.to_json()), True)

        payloads = [step.payload for step in plugin.seen if hasattr(step, "payload")]
        assert [payload.get("withheld") for payload in payloads] == [None] * len(payloads)
        assert (MARKER in repr(payloads)) is (level in {"redacted", "full"})

    def test_a_decided_run_is_seen_as_it_is_kept(self, colour: Any) -> None:
        """A record of another level than this Runtime's is not seen beyond it."""
        plugin, store = Watching(), MemoryStore()
        for level in (None, "full"):
            with runtime({"watch": plugin}, privacy=level, own_tools=[put], store=store) as made:
                provider: Any = made.provider("scripted")
                if level is None:
                    provider.script(calling(("put", {"what": MARKER})))
                    colour.run(made, MARKER, tools=["put"], run_id="r")
                else:
                    provider.script(MARKER)
                    waiting = RunHistory(store, HOST).waiting("r")
                    assert waiting is not None
                    made.decide("r", [waiting.decision(0, approve=True)], by=HOST)

        assert [step.kind for step in plugin.seen if hasattr(step, "kind")][-1] == "llm"
        assert MARKER not in repr(plugin.seen)

    def test_who_is_not_named_does_not_watch(self, colour: Any) -> None:
        """A plugin sees nothing of a run merely because it is installed."""
        plugin = Watching()
        colour.run(runtime({"watch": plugin}, observe=()), tools=[])

        assert plugin.seen == []

    def test_nobody_stops_a_run(self, colour: Any, caplog: pytest.LogCaptureFixture) -> None:
        """Not one that raises, nor one that is not there."""
        own = runtime({"watch": Watching(bad=True)}, observe=("watch", "nobody", "watch"))
        result = colour.run(own, tools=["look"])

        assert result.content == MARKER
        assert "switched off" in caplog.text
        assert "plugin 'nobody' is to watch the runs and cannot" in caplog.text

    def test_an_observer_of_few_methods(self, colour: Any) -> None:
        """It is told what it wants to hear."""
        ends: list[Any] = []

        @attrs.frozen
        class Ends:
            def close(self, end: Any) -> None:
                ends.append(end.reason)

        class Plugin:
            @hookimpl
            def nr_llm_observers(self) -> Any:
                return [lambda info: Ends()]

        colour.stream(runtime({"watch": Plugin()}), tools=["look"])

        assert ends == [TerminationReason.COMPLETED]


def test_what_is_no_observer(caplog: pytest.LogCaptureFixture) -> None:
    """A hook that gives something else is at fault, and the run goes on."""

    class Plugin:
        @hookimpl
        def nr_llm_observers(self) -> Any:
            return [7]

    own = runtime({"watch": Plugin()})

    assert own.run("hi", tools=[]).content == ""  # type: ignore[union-attr]
    assert any("gives a int where a function" in finding.why for finding in own._assembly.host.doctor())  # type: ignore[union-attr]


def test_from_a_file(tmp_path: Path) -> None:
    """The user's own file says who watches; that of a cloned project may not."""
    path = tmp_path / "nr-llm.toml"
    path.write_text('[plugins]\nobserve = ["watch"]\n')

    assert read_config(path, trusted=True).observe == ("watch",)
    assert Config(observe=("a",)).over(Config(observe=("b",))).observe == ("a", "b")
    with pytest.raises(ConfigurationError, match=r"not trusted and sets plugins\.observe"):
        read_config(path, trusted=False)
    assert issubclass(ConfigurationError, NrLlmError)
