"""What a plugin's object may be and what its hooks may return is decided here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import ModuleType
from typing import Any, Final

import attrs

from nr_llm.config import NAME
from nr_llm.plugins import MisbuiltError
from nr_llm.providers import DirectProvider, HttpProvider, Provider
from nr_llm.tools import Tool, Toolset

MOST: Final = 1_000
"""Values one hook may return: far more than any plugin has, and an endless iterable ends."""

TOOLS: Final = "nr_llm_tools"
PROVIDERS: Final = "nr_llm_providers"
COMMANDS: Final = "nr_llm_commands"
TABLES: Final = "nr_llm_provider_tables"
CONFIGURATIONS: Final = "nr_llm_configurations"
OBSERVERS: Final = "nr_llm_observers"
STORES: Final = "nr_llm_stores"
MAKER: Final = "nr_llm_make_provider"

_PORT: Final = ("close", "create", "delete", "live", "request_stop", "run", "runs", "steps", "transcript", "write")


@attrs.frozen(eq=False)
class Given:
    """
    One value a plugin gives.

    Attributes:
        name: Its name.
        value: A `Tool`, a provider, a command, a store, or the values of a provider's or a configuration's table.
        toolset: The toolset a tool belongs to, or None.
    """

    name: str
    value: Any
    toolset: Toolset | None = None


def stands_alone(thing: object) -> str | None:
    """
    Return the hook under which an object that is no set of hooks counts as a plugin by itself, or None.

    Raises:
        MisbuiltError: It can be no plugin.
    """
    if isinstance(thing, Tool):
        return TOOLS
    if isinstance(thing, type):
        raise MisbuiltError(f"{thing.__qualname__} is a class: name an instance of it")
    if inspect.isroutine(thing):
        raise MisbuiltError(f"{getattr(thing, '__name__', thing)} is a plain function: put @tool above it")
    if isinstance(thing, ModuleType) or any(name.startswith("nr_llm_") for name in dir(thing)):
        return None
    if isinstance(thing, HttpProvider | DirectProvider):
        return PROVIDERS
    return TOOLS if isinstance(thing, Toolset) else None


def bare_tools(thing: object, *, collect: bool) -> tuple[Tool, ...]:
    """
    Return the tools of a module without hooks, such as a file of ``@tool`` functions.

    Args:
        thing: A module or object that implements no hook.
        collect: Whether its tools may be taken as they stand.

    Raises:
        MisbuiltError: It has none, or they may not: an installed module may have imported another package's.
    """
    tools = {id(value): value for value in getattr(thing, "__dict__", {}).values() if isinstance(value, Tool)}
    if tools and collect:
        return tuple(tools.values())
    if tools:
        names = ", ".join(tool.name for tool in tools.values())
        raise MisbuiltError(f"it implements no hook: return its tools ({names}) from nr_llm_tools")
    raise MisbuiltError("it implements no hook and has no function with @tool above it; is it the right module?")


def checked(hook: str, calls: Iterable[Callable[[], object]]) -> tuple[Given, ...]:
    """
    Call the implementations of a hook and return what they give, each value once.

    Raises:
        MisbuiltError: A value is of another kind, or two have one name.
        BaseException: Whatever the plugin raises.
    """
    given: dict[str, Given] = {}
    for value in islice(_drained(calls), MOST + 1):
        for one in _CHECKS[hook](value):
            if given.setdefault(one.name, one).value is not one.value:
                raise MisbuiltError(f"it gives two values named {one.name!r}")
        if len(given) > MOST:
            raise MisbuiltError(f"it gives more than {MOST:,} values")
    return tuple(given.values())


def _drained(calls: Iterable[Callable[[], object]]) -> Iterator[object]:
    for call in calls:
        result: Any = call()
        if inspect.isawaitable(result):
            getattr(result, "close", lambda: None)()  # else Python warns that it was never awaited
            raise MisbuiltError("it returned an awaitable: hooks are synchronous")
        if isinstance(result, Mapping):
            yield from result.items()
        elif result is not None:
            yield from result


def _tools(value: object) -> Iterator[Given]:
    if isinstance(value, Tool):
        yield Given(value.name, value)
    elif isinstance(value, Toolset) and not isinstance(value, type):
        for tool in value.tools():
            if not isinstance(tool, Tool):
                raise MisbuiltError(f"the toolset {type(value).__name__} has a {type(tool).__name__} among its tools")
            yield Given(tool.name, tool, value)
    else:
        hint = ": put @tool above it" if inspect.isroutine(value) else ""
        raise MisbuiltError(f"it gives a {type(value).__name__} where a Tool or Toolset belongs{hint}")


def _providers(value: object) -> Iterator[Given]:
    if isinstance(value, type) or not isinstance(value, HttpProvider | DirectProvider):
        kind = f"the class {value.__qualname__}" if isinstance(value, type) else f"a {type(value).__name__}"
        raise MisbuiltError(
            f"it gives {kind} where a provider belongs (name, endpoint, describe and codec or complete)"
        )
    name: object = value.name
    if not isinstance(name, str) or not name:
        raise MisbuiltError("it gives a provider without a name")
    yield Given(name, value)


def made(value: object, name: str) -> Provider:
    """
    Return what a plugin made as a provider of a name.

    Raises:
        MisbuiltError: It is none, or has another name.
    """
    (given,) = _providers(value)
    if given.name != name:
        raise MisbuiltError(f"it gives a provider named {given.name!r} where one named {name!r} was asked for")
    provider: Provider = given.value
    return provider


def _named_table(value: object) -> tuple[str, Mapping[str, Any]]:
    name, values = value if isinstance(value, tuple) and len(value) == 2 else (None, None)
    if not isinstance(name, str) or not NAME.match(name) or not isinstance(values, Mapping):
        raise MisbuiltError(f"it gives a {type(value).__name__} where a mapping of names to tables belongs")
    return name, values


def _tables(value: object) -> Iterator[Given]:
    name, values = _named_table(value)
    for key in ("api_key", "api_key_file", "api_key_keyring"):
        if key in values:
            raise MisbuiltError(f"its table {name!r} holds {key}: name a variable in api_key_env instead")
    yield Given(name, values)


def _configurations(value: object) -> Iterator[Given]:
    name, values = _named_table(value)
    options = values.get("options")
    if "system_file" in values:
        raise MisbuiltError(f"its configuration {name!r} names a system_file: give the text as system")
    if isinstance(options, Mapping) and "provider_options" in options:  # they may name servers
        raise MisbuiltError(f"its configuration {name!r} holds provider_options: leave them to the user's own file")
    yield Given(name, values)


def _commands(value: object) -> Iterator[Given]:
    name = getattr(value, "name", None)
    if not isinstance(name, str) or not name or not callable(value):
        raise MisbuiltError(f"it gives a {type(value).__name__} where a click.Command with a name belongs")
    yield Given(name, value)


def _stores(value: object) -> Iterator[Given]:
    lacking = [name for name in _PORT if not callable(getattr(value, name, None))]
    if isinstance(value, type) or lacking or not isinstance(getattr(value, "blocking", None), bool):
        kind = f"the class {value.__qualname__}" if isinstance(value, type) else f"a {type(value).__name__}"
        raise MisbuiltError(f"it gives {kind} where a run store belongs: see nr_llm.stores.RunStore")
    yield Given("store", value)  # all of one name: a plugin has one


def _observers(value: object) -> Iterator[Given]:
    if not callable(value):
        raise MisbuiltError(f"it gives a {type(value).__name__} where a function that makes an observer belongs")
    yield Given(f"{getattr(value, '__qualname__', type(value).__qualname__)} at {id(value)}", value)


_CHECKS: Final[dict[str, Callable[[object], Iterator[Given]]]] = {
    TOOLS: _tools,
    PROVIDERS: _providers,
    COMMANDS: _commands,
    TABLES: _tables,
    CONFIGURATIONS: _configurations,
    OBSERVERS: _observers,
    STORES: _stores,
}
