"""What the form is told: models and where they are, tools and where they are from, bounds, plugins, the store."""

from __future__ import annotations

import asyncio
from typing import Any

from nr_llm import Actor, Limits, MemoryStore, Model, PluginHost, Price, Runtime, hookimpl
from nr_llm.config import Config, Table
from nr_llm.testing import ScriptedProvider
from nr_llm_playground import Caps, create_app
from nr_llm_playground.context import context_of, place_of

from tests.plugins.playground.shop import ANN, ROOT, opened, remove, runtime_of, stock

CAPS = Caps()


class Shop:
    """A plugin with tools and models."""

    @hookimpl
    def nr_llm_tools(self) -> list[Any]:
        """Offer two tools."""
        return [stock, remove]

    @hookimpl
    def nr_llm_providers(self) -> list[Any]:
        """Offer models: a list of them, one that cannot be listed, one whose weights are elsewhere."""
        return [Listed(name="listed"), Broken(name="broken"), Absent(name="absent")]


class Listed(ScriptedProvider):
    """Says which models it has."""

    def models(self) -> list[Model]:
        return [self.describe("small"), self.describe("large")]


class Broken(ScriptedProvider):
    """Cannot say."""

    def models(self) -> list[Model]:
        raise RuntimeError("no")


class Absent(ScriptedProvider):
    """Has a model that has to be fetched."""

    def describe(self, model: str) -> Model:
        fetch = {"state": "fetch it: nr-llm models pull tiny", "size": "1 GB"}
        return Model(provider=self.name, name=model or "tiny", notice="Its quality is limited.", details=fetch)


def shop(**settings: Any) -> Runtime:
    """Return a Runtime over the plugin and a configuration."""
    rows: dict[str, Any] = {
        "models": {"mine": (Table({"provider": "listed", "id": "small"}),)},
        "configurations": {
            "careful": (Table({"model": "mine", "four_eyes": True, "privacy": "none", "limits": {"rounds": 2}}),)
        },
    }
    config = Config(default_configuration="careful", **rows)
    return Runtime(PluginHost({"shop": Shop()}, config=config), **settings)


def told(runtime: Runtime, actor: Actor = ROOT) -> Any:
    """Return the context."""
    with runtime:
        return context_of(runtime, actor, CAPS)


class TestModels:
    """The models."""

    def test_each_with_where_it_is(self) -> None:
        """The default one, aliases, and what providers list without being asked; one that fails hides no other."""
        context = told(shop(model="listed:large"))
        rows = {row["name"]: row for row in context["models"]}

        assert context["default_model"] == "listed:small", "the configuration's goes first"
        assert set(rows) == {"listed:small", "mine", "listed:large"}
        assert rows["mine"]["model"] == "listed:small"
        assert (rows["mine"]["local"], rows["mine"]["host"]) == (True, "this process")
        assert rows["mine"]["leaves_machine"] is False

    def test_one_that_is_passed_on(self) -> None:
        """A model that its provider has elsewhere leaves the machine, whatever the provider's address."""
        provider = ScriptedProvider()

        assert place_of(provider, Model(provider="scripted", name="m"))["local"] is True
        assert place_of(provider, Model(provider="scripted", name="m", elsewhere=True))["local"] is False

    def test_weights_that_are_not_here(self) -> None:
        """The command that fetches them is told."""
        runtime = Runtime(PluginHost({"shop": Shop()}), model="absent:")
        context = told(runtime)
        [advice] = [one for one in context["advice"] if one["code"] == "no_weights"]
        [model] = [one for one in context["models"] if one["name"] == "absent:tiny"]

        assert advice["command"] == "nr-llm models pull tiny"
        assert (model["notice"], model["details"]["size"]) == ("Its quality is limited.", "1 GB")

    def test_without_any(self) -> None:
        """It is said, with what to do."""
        context = told(Runtime())

        assert (context["default_model"], context["models"], context["tool_groups"]) == (None, [], [])
        assert [one["code"] for one in context["advice"]] == ["no_model", "no_plugins", "no_store"]


class TestTools:
    """The tools."""

    def test_each_with_where_it_is_from(self) -> None:
        """By group, with what it changes and whether a person is asked first."""
        [group] = told(shop(model="listed:"))["tool_groups"]
        read, write = sorted(group["tools"], key=lambda tool: tool["effect"])

        assert group["name"] == "shop"
        assert (read["name"], read["effect"], read["asks_first"], read["enabled"]) == ("stock", "read", False, True)
        assert (write["name"], write["asks_first"], write["enabled"]) == ("remove", True, False)
        assert (read["plugin"], read["distribution"], read["version"]) == ("shop", None, None)
        assert read["parameters"]["properties"] == {"article": {"type": "string"}}

    def test_tools_of_the_program(self) -> None:
        """They are of no plugin."""
        groups = told(runtime_of("hello"))["tool_groups"]

        assert [group["name"] for group in groups] == ["other"]
        assert {tool["name"] for tool in groups[0]["tools"]} == {"stock", "remove", "send", "close_shop"}
        assert [tool["form"] for tool in groups[0]["tools"] if tool["name"] == "send"] == [True]


class TestTheRest:
    """Bounds, plugins, configurations, the store."""

    def test_configurations(self) -> None:
        """What each bounds, and which one is the default."""
        context = told(shop(model="listed:"))
        [row] = context["configurations"]

        assert context["default_configuration"] == "careful"
        assert (row["name"], row["model"], row["four_eyes"], row["privacy"]) == ("careful", "mine", True, "none")
        assert (row["limits"], row["tools"], row["zone"]) == ({"rounds": 2}, None, None)

    def test_bounds(self) -> None:
        """Those that a run has unless it asks for others, and those of the server; amounts are texts."""
        limits = told(runtime_of("hello", limits=Limits(rounds=3, cost="0.5")))["limits"]

        assert (limits["defaults"]["rounds"], limits["defaults"]["cost"]) == (3, "0.5")
        assert limits["caps"] == {"rounds": 20}
        assert (limits["body_bytes"], limits["upload_bytes"]) == (CAPS.body_bytes, CAPS.upload_bytes)
        assert "given" not in limits["defaults"]

    def test_plugins(self) -> None:
        """Their states are for administrators, since a reason may tell of the machine."""
        assert [row["name"] for row in told(shop(model="listed:"))["plugins"]] == ["shop"]
        assert told(shop(model="listed:"), ANN)["plugins"] == []

    def test_the_store(self) -> None:
        """Whether runs are kept, at which level, and whether what waits is encrypted."""

        class Sealed(MemoryStore):
            encrypts = True

        def row(**settings: Any) -> Any:
            return told(runtime_of("hello", **settings))["store"]

        assert row(store=None) == {"kept": False, "memory": False, "level": None, "encrypted": False}
        assert row() == {"kept": True, "memory": True, "level": "metadata", "encrypted": False}
        assert row(store=Sealed(), privacy="full")["encrypted"] is True
        assert row(privacy="full")["level"] == "full"

    def test_prices(self) -> None:
        """Whether a run's cost will be known."""
        provider = ScriptedProvider("hello", price=Price(input=1, output=2))
        with Runtime(providers=[provider], model="scripted:x") as runtime:
            [row] = context_of(runtime, ROOT, CAPS)["models"]  # type: ignore[misc]

        assert row["priced"] is True  # type: ignore[index,call-overload]

    def test_served(self) -> None:
        """It is told to whoever asks, and to nobody twice as another."""

        async def main() -> None:
            async with opened("hello", user="ann") as (client, _, runtime):
                context = (await client.get("/api/context")).json()
                assert context["actor"] == {"id": "ann", "admin": False}
                assert create_app(runtime, actor=lambda _: ANN).token is None

        asyncio.run(main())
