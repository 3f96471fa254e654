"""Keys in the system's keyring, which asks the person who is logged in; the library for it is optional."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from nr_llm.errors import ConfigurationError

SERVICE: Final = "nr-llm"
"""The service under which our own commands keep keys."""


def stored(service: str, name: str) -> str | None:
    """
    Return a key, or None if the keyring has none of that name.

    Raises:
        ConfigurationError: There is no keyring, or it refuses.
    """
    found: object = _asked("get_password", service, name)
    return found if isinstance(found, str) and found else None


def store(service: str, name: str, key: str) -> None:
    """
    Keep a key.

    Raises:
        ConfigurationError: There is no keyring, or it refuses.
    """
    _asked("set_password", service, name, key)


def remove(service: str, name: str) -> None:
    """
    Forget a key; one that is not there is forgotten already.

    Raises:
        ConfigurationError: There is no keyring, or it refuses.
    """
    if stored(service, name) is not None:
        _asked("delete_password", service, name)


def _asked(function: str, *arguments: str) -> Any:
    try:
        keyring, errors = import_module("keyring"), import_module("keyring.errors")
    except ImportError as error:
        raise ConfigurationError(
            "There is no keyring: the package is not installed.", remedy="pip install 'nr-llm[keyring]'"
        ) from error
    try:
        return getattr(keyring, function)(*arguments)
    except errors.NoKeyringError as error:
        raise ConfigurationError(
            "There is no keyring on this system that could keep a key.",
            remedy="Start one, such as a Secret Service; or name the key's variable in api_key_env, or its file in "
            "api_key_file.",
        ) from error
    except Exception as error:  # noqa: BLE001 - a backend may raise anything, with what it was given in its text
        raise ConfigurationError(
            f"The keyring refused: {type(error).__name__}.", remedy="Unlock it, or name a variable in api_key_env."
        ) from None
