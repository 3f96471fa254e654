"""One plugin at run time: its code runs only here, alone, timed, and behind a guard."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from nr_llm._contributions import COMMANDS, MAKER, PROVIDERS, TOOLS, Given, bare_tools, checked, stands_alone
from nr_llm.errors import ConfigurationError, NameClashError, NrLlmError, PluginLoadError
from nr_llm.plugins import MisbuiltError, PluginRecord, PluginState
from nr_llm.redaction import Redactor

REASON: Final = 500
"""Characters of a reason at most."""

_LISTED: Final = {TOOLS: "tools", PROVIDERS: "providers", COMMANDS: "commands"}
_NOT_THE_PLUGIN: Final = frozenset({"nr_llm", "importlib", "importlib_metadata"})

Calls = tuple[Callable[[], object], ...]
Value = TypeVar("Value")


@attrs.frozen(eq=False)
class Surroundings:
    """
    What the plugins of a host share.

    Attributes:
        settings: Returns the settings of the plugin of a name, as the class it asks for.
        claim: Notes that a plugin brought an object, and returns the plugin that had brought it before, if any.
        clock: Seconds, for measuring.
        slow_after: Seconds of a plugin's code from which on it counts as slow.
        redactor: Masks reasons.
    """

    settings: Callable[[str, type], object]
    claim: Callable[[object, Plugin], Plugin | None]
    clock: Callable[[], float]
    slow_after: float
    redactor: Redactor


@attrs.frozen(eq=False)
class Maker:
    """
    A plugin's way to make further providers of its kind.

    Attributes:
        function: The plugin's hook; called with `name` and `settings`.
        settings: The class of the settings.
    """

    function: Callable[..., object]
    settings: type


class Plugin:
    """
    A plugin and what it has given so far; thread-safe.

    Args:
        record: What is known of it.
        source: Imports its object and returns it.
        around: What the plugins of its host share.
    """

    def __init__(self, record: PluginRecord, source: Callable[[], object], *, around: Surroundings) -> None:
        self.record = record
        self.twin: Plugin | None = None
        self.error: BaseException | None = None
        self._source = source
        self._around = around
        self._lock = threading.RLock()
        self._hooks: dict[str, Calls] = {}
        self._given: dict[str, tuple[Given, ...]] = {}
        self._maker: Maker | None = None

    def load(self) -> None:
        """Import the plugin and look at its hooks, unless that was done or is not allowed; never raises."""
        with self._lock:
            if self.record.state is PluginState.DISCOVERED:
                self._note(state=PluginState.ACTIVE)
                self._hooks = self._guarded("importing it", self._prepare) or {}

    def give(self, hook: str) -> tuple[Given, ...]:
        """Return what the plugin gives under a hook; asked once, nothing if it failed at it, never raises."""
        with self._lock:
            self.load()
            if hook not in self._given:
                self._given[hook] = ()  # a hook that asks its own host finds nothing
                calls = self._hooks.get(hook, ())
                if calls:
                    self._given[hook] = self._guarded(hook, partial(checked, hook, calls)) or ()
                if hook in _LISTED and (calls or self.record.usable):
                    self._note(**{_LISTED[hook]: tuple(given.name for given in self._given[hook])})
            return self._given[hook]

    def has(self, hook: str) -> bool:
        """Return whether the plugin implements a hook."""
        self.load()
        return hook in self._hooks

    def maker(self) -> Maker | None:
        """Return what makes further providers of the plugin's kind, and the class of their settings, if it can."""
        self.load()
        return self._maker

    def trouble(self) -> NrLlmError:
        """Return what is wrong with a plugin that cannot be used."""
        record, error = self.record, self.error
        if isinstance(error, ConfigurationError):
            return error
        kind = NameClashError if record.state is PluginState.CLASH else PluginLoadError
        return kind(f"{record.state.value}: {record.reason}", plugin=record.name, distribution=record.label)

    def _prepare(self) -> dict[str, Calls]:
        thing = self._source()
        self.twin = self._around.claim(thing, self)
        if self.twin is not None:
            reason = f"it is the same object as plugin {self.twin.record.name!r} and is used as that"
            self._note(state=PluginState.CLASH, reason=reason)
            return {}
        hook = stands_alone(thing)
        if hook is not None:
            return {hook: (lambda: (thing,),)}
        return self._implemented(thing)

    def _implemented(self, thing: object) -> dict[str, Calls]:
        from nr_llm.hookspecs import implementations

        hooks: dict[str, Calls] = {}
        for found in implementations(thing):
            call = found.function
            if found.hook == MAKER and found.settings is not None:
                self._maker = Maker(call, found.settings)
                continue
            if found.settings is not None:
                call = partial(_with_settings, call, partial(self._around.settings, self.record.name, found.settings))
            hooks[found.hook] = (*hooks.get(found.hook, ()), call)
        if not hooks and self._maker is None:
            tools = bare_tools(thing, collect=self.record.distribution is None)
            hooks[TOOLS] = (lambda: tools,)
        return hooks

    def _guarded(self, what: str, call: Callable[[], Value]) -> Value | None:
        value, started = None, self._around.clock()
        try:
            value = call()
        except KeyboardInterrupt:
            self._note(state=PluginState.FAILED, reason=f"{what} was interrupted")
            raise
        except BaseException as error:  # noqa: BLE001 - not even sys.exit in a plugin may end the host
            self.error = error
            self._note(state=PluginState.FAILED, reason=self._around.redactor.redact(because(what, error)))
        seconds = self._around.clock() - started
        self._note(seconds=(self.record.seconds or 0.0) + seconds)
        if seconds > self._around.slow_after and self.record.state is PluginState.ACTIVE:
            self._note(state=PluginState.SLOW, reason=f"{what} took {seconds:.1f} s")
        return value

    def _note(self, **changes: Any) -> None:
        self.record = attrs.evolve(self.record, **changes)


def _with_settings(call: Callable[..., object], settings: Callable[[], object]) -> object:
    return call(settings=settings())


def because(what: str, error: BaseException) -> str:
    """Return why a plugin's code failed, in one bounded line that says where."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - an exception that cannot be shown is a reason all the same
        text = ""
    if isinstance(error, ConfigurationError):
        return text[:REASON]
    if isinstance(error, MisbuiltError):
        return f"{what}: {text}"[:REASON]
    return f"{what} raised {type(error).__name__}{_place(error)}: {text}"[:REASON]


def _place(error: BaseException) -> str:
    """Return where in the plugin it was raised, as folder, file and line."""
    places = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    for path, line in reversed(places):
        if path.is_file() and path.parent.name not in _NOT_THE_PLUGIN:
            return f" at {path.parent.name}/{path.name}:{line}"
    return ""
