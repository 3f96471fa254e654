"""A setting is read strictly: from a text of the environment or a value of a file to the type that was declared."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

import attrs

from nr_llm._json import copy_json, decode, finite
from nr_llm.secrets import Secret

_FLAGS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
_INTEGER = re.compile(r"[+-]?\d+")


@attrs.frozen
class Given:
    """
    A value as it was given.

    Attributes:
        value: The value.
        text: Whether it comes from a place that knows only text, so that numbers, flags and lists are read
            from it; else ``"5"`` is no number.
        folder: What relative paths are relative to; the current folder if None.
    """

    value: object
    text: bool = False
    folder: Path | None = None


def convert(given: Given, wanted: Any) -> object:
    """
    Return a given value as the declared type.

    Raises:
        ValueError: It cannot be; the text says why and never shows the value.
    """
    wanted = plain(wanted)
    origin = get_origin(wanted) or wanted
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return _choice(given, {member.value: member for member in wanted})
    if origin is Literal:
        return _choice(given, {choice: choice for choice in get_args(wanted)})
    if origin is tuple:
        return _tuple(given, get_args(wanted))
    if origin not in _READERS:
        raise ValueError(f"a setting cannot be of the type {wanted}")
    return _READERS[origin](given)


def plain(wanted: Any) -> Any:
    """Return a declared type without its None: a setting that may be missing is left out, never written as None."""
    if get_origin(wanted) in (Union, types.UnionType):
        options = [option for option in get_args(wanted) if option is not type(None)]
        return options[0] if len(options) == 1 else wanted
    return wanted


def expanded(path: str) -> Path:
    """
    Return a path with ``~`` replaced by the home folder.

    Raises:
        ValueError: There is no such home folder, or the path holds a NUL character.
    """
    if "\0" in path:
        raise ValueError("it is no path")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ValueError("it names a home folder that does not exist") from error


def _bool(given: Given) -> bool:
    value = given.value
    if given.text and isinstance(value, str):
        value = _FLAGS.get(value.strip().lower())
    if isinstance(value, bool):
        return value
    raise ValueError("it is not true or false")


def _int(given: Given) -> int:
    value = given.value
    if given.text and isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("it is no whole number")


def _float(given: Given) -> float:
    value = given.value
    if given.text and isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, int | float) and not isinstance(value, bool) and finite(value):
        return float(value)
    raise ValueError("it is no finite number")


def _str(given: Given) -> str:
    if isinstance(given.value, str):
        return given.value
    raise ValueError("it is no text")


def _secret(given: Given) -> Secret:
    if isinstance(given.value, Secret):
        return given.value
    if isinstance(given.value, str) and given.value.strip():
        return Secret(given.value.strip())
    raise ValueError("it is no text, or an empty one")


def _path(given: Given) -> Path:
    if not isinstance(given.value, str | Path) or not str(given.value):
        raise ValueError("it is no path")
    path = expanded(str(given.value))
    return path if given.folder is None else given.folder / path


def _tuple(given: Given, of: tuple[Any, ...]) -> tuple[object, ...]:
    if len(of) != 2 or of[1] is not ...:
        raise ValueError("a setting with several values is declared as tuple[..., ...], such as tuple[str, ...]")
    value = given.value
    if given.text and isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple):
        raise ValueError("it is no list")
    return tuple(convert(attrs.evolve(given, value=item), of[0]) for item in value)


def _mapping(given: Given) -> object:
    value = given.value
    if given.text and isinstance(value, str):
        try:
            value = decode(value)
        except ValueError:
            value = None
    if not isinstance(value, Mapping):
        raise ValueError("it is no table (in a variable: a JSON object)")
    return copy_json(dict(value))


def _choice(given: Given, choices: Mapping[Any, object]) -> object:
    value = given.value
    for choice, result in choices.items():
        if value is result or (type(value) is type(choice) and value == choice):
            return result
        if given.text and value == str(choice):
            return result
    raise ValueError(f"it is none of {', '.join(map(str, choices))}")


_READERS: Final[dict[Any, Callable[[Given], object]]] = {
    bool: _bool,
    int: _int,
    float: _float,
    str: _str,
    Secret: _secret,
    Path: _path,
    Mapping: _mapping,
    dict: _mapping,
}
