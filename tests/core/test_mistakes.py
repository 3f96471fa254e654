"""What a newcomer gets wrong is answered by an error that names the mistake and the fix."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from typing import Any

import httpx
import pytest
from nr_llm import (
    ConfigurationError,
    InvalidValueError,
    Model,
    Options,
    PluginHost,
    Retry,
    RunState,
    Runtime,
    Suspended,
    TransportError,
    read_config,
    tool,
)
from nr_llm.testing import ScriptedProvider, calling


@tool
def echo(text: str) -> str:
    """Return the text."""
    return text


@tool(effect="write")
def remove(name: str) -> str:
    """Remove something."""
    return f"removed {name}"


class Watch:
    """An observer, where a function that makes one is wanted."""


class Nameless(ScriptedProvider):
    """Offers no model of its own accord, as a server may."""

    def describe(self, model: str) -> Model:
        return Model(provider=self.name, name=model)


def held() -> Suspended:
    script = ScriptedProvider(calling(("remove", {"name": "x"}), ("remove", {"name": "y"})), "Done.")
    outcome = Runtime(tools=[remove], providers=[script], model="scripted:").run("Clean up.", tools=[remove])
    assert isinstance(outcome, Suspended)
    return outcome


class TestRuntime:
    @pytest.mark.parametrize(
        ("given", "text"),
        [
            ({"host": [echo]}, r"host: must be a PluginHost, not a list; .*tools=\[\.\.\.\]"),
            ({"host": PluginHost}, "host: must be a PluginHost, not the class PluginHost"),
            ({"options": {"temperature": 1}}, "options: must be Options, not dict"),
            ({"limits": 3}, "limits: must be Limits, not int"),
            ({"actor": "me"}, "actor: must be Actor, not str"),
            ({"secrets": ["key"]}, "secrets: must be Mapping, not list"),
            ({"live": [Watch()]}, r"functions that make an observer of a run, not a Watch; .*\[lambda run: observer\]"),
            ({"live": lambda run: None}, r"live: must be a list, not a function; write live=\[\.\.\.\]"),
            ({"middleware": Retry()}, "middleware: must be a list, not a Retry"),
            ({"middleware": [Retry]}, r"must be layers, such as Retry\(\), not the class Retry"),
            ({"middleware": [3]}, r"must be layers, such as Retry\(\), not a int"),
            ({"http": httpx.AsyncClient()}, "http: is an asynchronous client; pass it as async_http"),
            ({"async_http": httpx.Client()}, "async_http: is a client that blocks; pass it as http"),
            ({"tools": echo}, r"tools: must be a list, not a Tool; write tools=\[\.\.\.\]"),
            ({"tools": "echo"}, "tools: must be a list, not a str"),
            (
                {"providers": ScriptedProvider("x")},
                r"must be a list, not a ScriptedProvider; write providers=\[\.\.\.\]",
            ),
            ({"providers": ["openai"]}, r"providers: must be providers, such as OpenAI\(\.\.\.\), not a str"),
            ({"providers": [ScriptedProvider]}, "must be providers, .*not the class ScriptedProvider"),
            ({"providers": [ScriptedProvider("x"), ScriptedProvider("y")]}, "two providers are named 'scripted'"),
        ],
    )
    def test_what_it_is_given_is_looked_at(self, given: dict[str, Any], text: str) -> None:
        """A wrong argument is refused where it is passed, not where it would first be used."""
        with pytest.raises(InvalidValueError, match=text):
            Runtime(**given)

    def test_it_shows_what_it_was_given(self) -> None:
        """A REPL shows the model, the providers and the tools."""
        script = ScriptedProvider("x")

        assert repr(Runtime()) == "<Runtime without tools and providers>"
        shown = repr(Runtime(PluginHost(), tools=[echo], providers=[script], model="scripted:"))
        assert shown == "<Runtime plugins, model='scripted:', providers=['scripted'], tools=['echo']>"

    def test_a_stream_shows_its_run(self) -> None:
        """And whether it has ended."""
        with Runtime(providers=[ScriptedProvider("x")], model="scripted:").stream("hi", run_id="r-1") as stream:
            assert repr(stream) == "<RunStream of run r-1, not ended>"
            list(stream)
            assert repr(stream) == "<RunStream of run r-1, ended>"


class TestSettings:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("temperature", r"one of Options: pass options=Options\(temperature=\.\.\.\)"),
            ("rounds", r"one of Limits: pass limits=Limits\(rounds=\.\.\.\)"),
            ("modl", "Did you mean 'model'"),
        ],
    )
    def test_one_that_belongs_elsewhere_says_where(self, name: str, text: str) -> None:
        """Options and limits are not settings of a run, but people write them there."""
        settings: dict[str, Any] = {name: 1}
        with pytest.raises(TypeError, match=text):
            Runtime(providers=[ScriptedProvider("x")], model="scripted:").run("hi", **settings)

    def test_options_of_a_provider_stand_under_its_name(self) -> None:
        """One level is what people write first."""
        with pytest.raises(InvalidValueError, match=r"'top_k' holds no settings but 3; .*\{'openai': \{'top_k': 3\}\}"):
            Options(provider_options={"top_k": 3})


class TestModels:
    @pytest.mark.parametrize("reference", ["scripted", "scripted:"])
    def test_a_provider_without_a_default_model_wants_a_name(self, reference: str) -> None:
        """No request without a model leaves."""
        script = Nameless("x")
        with pytest.raises(ConfigurationError, match=r"'scripted' has no default model\. Name one.*'scripted:MODEL'"):
            Runtime(providers=[script]).run("hi", model=reference)
        assert script.requests == []

    def test_a_row_without_one_does_too(self, tmp_path: Any) -> None:
        """The text names the table."""
        path = tmp_path / "nr-llm.toml"
        path.write_text('[models.fast]\nprovider = "scripted"\n', encoding="utf-8")
        host = PluginHost(config=read_config(path, trusted=True))
        with pytest.raises(ConfigurationError, match=r'Add id = "MODEL" to \[models\.fast\]'):
            Runtime(host, providers=[Nameless("x")]).run("hi", model="fast")


class TestFailures:
    def test_an_error_on_the_way_names_the_provider(self) -> None:
        """A transport knows an address alone; with two providers, people ask whose it was."""
        runtime = Runtime(providers=[ScriptedProvider(TransportError("down"))], model="scripted:")
        with pytest.raises(TransportError) as caught:
            runtime.run("hi")
        with pytest.raises(TransportError) as awaited:
            asyncio.run(runtime.arun("hi"))

        assert (caught.value.provider, awaited.value.provider) == ("scripted", "scripted")


class TestSuspended:
    def test_what_only_a_result_has_says_that_the_run_waits(self) -> None:
        """Who forgets that a run may be suspended learns which calls wait and how to go on."""
        outcome: Any = held()
        with pytest.raises(AttributeError, match=r"no content yet, it waits for a person.*\(remove\).*Runtime\.resume"):
            _ = outcome.content
        with pytest.raises(AttributeError, match="'Suspended' object has no attribute 'nonsense'"):
            _ = outcome.nonsense
        assert not hasattr(outcome, "output")

    def test_it_says_which_calls_need_a_person(self) -> None:
        """A read of the same turn is pending and does not."""
        script = ScriptedProvider(calling(("echo", {"text": "x"}), ("remove", {"name": "y"})), "Done.")
        outcome = Runtime(tools=[echo, remove], providers=[script], model="scripted:").run("x", tools=[echo, remove])

        assert isinstance(outcome, Suspended)
        assert [call.call.name for call in outcome.pending] == ["echo", "remove"]
        assert outcome.waiting == outcome.pending[1:]

    def test_it_is_copied_and_pickled(self) -> None:
        """Whatever is asked of a half made one."""
        outcome = held()
        assert copy.deepcopy(outcome) == outcome
        assert pickle.loads(pickle.dumps(outcome)) == outcome

    def test_indices_that_came_as_json_are_explained(self) -> None:
        """JSON has texts as keys."""
        verdicts: Any = json.loads('{"0": true}')
        with pytest.raises(InvalidValueError, match=r"those are \[0, 1\]; an index is a number, and JSON makes texts"):
            Runtime(tools=[remove], providers=[ScriptedProvider("x")]).resume(held(), verdicts)

    def test_a_state_as_text_is_explained(self) -> None:
        """`to_json` gives an object, which whoever stores it makes a text of."""
        stored: Any = json.dumps(held().state.to_json())
        with pytest.raises(InvalidValueError, match=r"the object that to_json gave, not a str; .*json\.loads"):
            RunState.from_json(stored)
