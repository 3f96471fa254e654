"""A host has one store or none, and never one by chance."""

from __future__ import annotations

from pathlib import Path

import pytest
from nr_llm._host import PluginHost
from nr_llm.config import Config, read_config
from nr_llm.effective import DEFAULT, Value
from nr_llm.errors import ConfigurationError, PluginLoadError, UnknownNameError
from nr_llm.hookspecs import hookimpl
from nr_llm.plugins import PluginState
from nr_llm.stores import MemoryStore

from tests.core.plugin_parts import Plugin


class Keeper:
    """A plugin that offers stores, or raises."""

    def __init__(self, *stores: object) -> None:
        self.stores = stores

    @hookimpl
    def nr_llm_stores(self):
        for store in self.stores:
            if isinstance(store, Exception):
                raise store
            yield store


def test_one():
    """The only store is the host's, the same each time."""
    store = MemoryStore()
    host = PluginHost({"keeper": Keeper(store), "other": Plugin()})

    assert host.store() is store
    assert host.store() is store


def test_none():
    """Without one there is none, also where a plugin keeps nothing under its settings."""
    assert PluginHost().store() is None
    assert PluginHost([Keeper()]).store() is None


def test_several():
    """Nobody is chosen by chance; the file chooses."""
    plugins = {"a": Keeper(MemoryStore()), "b": Keeper(MemoryStore())}

    with pytest.raises(ConfigurationError, match="Plugins 'a' and 'b' each offer a store") as caught:
        PluginHost(plugins).store()
    assert caught.value.remedy == 'Choose one: store = "a" in nr-llm.toml.'
    assert PluginHost(plugins, config=Config(store="b", store_source="f")).store() is plugins["b"].stores[0]


def test_named_alone_is_asked():
    """A plugin that is named is the only one that is loaded."""
    host = PluginHost({"a": Keeper(OSError("not asked")), "b": Keeper(MemoryStore())}, config=Config(store="b"))

    assert isinstance(host.store(), MemoryStore)
    assert [record.state for record in host.records()] == [PluginState.DISCOVERED, PluginState.ACTIVE]


def test_named_wrongly():
    """A name that offers no store, or that nobody has, is told."""
    with pytest.raises(ConfigurationError, match=r"Plugin 'a', which `store` in user\.toml names, offers no store"):
        PluginHost({"a": Plugin()}, config=Config(store="a", store_source="user.toml")).store()
    with pytest.raises(UnknownNameError, match="no plugin named 'b'"):
        PluginHost({"a": Plugin()}, config=Config(store="b", store_source="user.toml")).store()


def test_a_failure_is_no_none():
    """Who asks for the store of a plugin that failed gets the reason; another plugin's failure is no matter."""
    failed = PluginHost({"a": Keeper(OSError("no disk"))})
    with pytest.raises(PluginLoadError, match="nr_llm_stores raised OSError"):
        failed.store()
    with pytest.raises(ConfigurationError, match="no key"):
        PluginHost([Keeper(ConfigurationError("There is no key."))]).store()
    assert PluginHost([Plugin(tools=OSError("x"))]).store() is None


@pytest.mark.parametrize(
    ("stores", "reason"),
    [
        ([5], "gives a int where a run store belongs"),
        ([MemoryStore], "gives the class MemoryStore where a run store belongs"),
        ([MemoryStore(), MemoryStore()], "gives two values named 'store'"),
    ],
)
def test_what_is_no_store(stores: list[object], reason: str):
    """A plugin that offers something else, or two, is not built as a plugin is."""
    host = PluginHost([Keeper(*stores)])

    with pytest.raises(PluginLoadError, match=reason):
        host.store()


def test_it_waits_or_not():
    """A store says whether it waits: without that an async run would not know how to call it."""

    class Half(MemoryStore):
        blocking = None

    with pytest.raises(PluginLoadError, match="gives a Half where a run store belongs"):
        PluginHost([Keeper(Half())]).store()


class TestFile:
    """The file's choice is read, shown and stacked."""

    def test_read(self, tmp_path: Path):
        """It is a name; the front file counts."""
        own, other = tmp_path / "own.toml", tmp_path / "other.toml"
        own.write_text("store = 'mine'", "utf-8")
        other.write_text("store = 'theirs'", "utf-8")
        mine, theirs = (read_config(path, trusted=True) for path in (own, other))

        assert (mine.store, mine.store_source) == ("mine", str(own))
        assert mine.over(theirs).store == "mine"
        assert Config().over(theirs).store_source == str(other)
        values = {value.name: value for value in PluginHost(config=mine).effective()}
        assert values["store"] == Value("store", "mine", str(own))
        assert {value.name: value for value in PluginHost().effective()}["store"] == Value("store", None, DEFAULT)

    def test_wrong(self, tmp_path: Path):
        """What names no store is refused with the file."""
        path = tmp_path / "own.toml"
        path.write_text("store = 5", "utf-8")

        with pytest.raises(ConfigurationError, match=r"own\.toml: store names no store\. Write the NAME"):
            read_config(path, trusted=True)
