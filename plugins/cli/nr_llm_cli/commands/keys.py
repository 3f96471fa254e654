"""`nr-llm keys`: keys in the system's keyring, which a provider's table names by `api_key_keyring`."""

from __future__ import annotations

import sys
from typing import Final

import click

from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, json_option

NAMES: Final = "keys.json"

keys = LazyGroup(
    name="keys",
    path="keys",
    places={
        "set": Place(f"{__name__}:set_key", "Keep a key, read from stdin or asked for."),
        "list": Place(f"{__name__}:list_keys", "List the names of the keys that were kept."),
        "remove": Place(f"{__name__}:remove_key", "Forget a key."),
    },
    help="Keep keys in the system's keyring.",
)


@click.command("set")
@click.argument("name")
@global_options()
def set_key(name: str) -> int:
    """
    Keep a key, read from stdin or asked for.

    It is never an argument: those are seen by others and kept by shells.
    """
    from nr_llm import _keyring

    key = _typed(name).strip()
    if not key:
        raise click.UsageError("The key is empty.")
    _keyring.store(_keyring.SERVICE, name, key)
    _note({*_noted(), name})
    click.echo(f'Kept. Name it in [providers.NAME]: api_key_keyring = "{_keyring.SERVICE}/{name}"', err=True)
    return 0


@click.command("list")
@json_option
@global_options()
def list_keys(*, as_json: bool) -> int:
    """List the names of the keys that were kept."""
    from nr_llm import _keyring

    from nr_llm_cli.listing import show

    rows = [{"name": name, "reference": f"{_keyring.SERVICE}/{name}"} for name in sorted(_noted())]
    show(rows, columns=("name", "reference"), as_json=as_json, empty="No key is kept; see nr-llm keys set.")
    return 0


@click.command("remove")
@click.argument("name")
@global_options()
def remove_key(name: str) -> int:
    """Forget a key."""
    from nr_llm import _keyring
    from nr_llm.errors import UnknownNameError

    known = _noted()
    if name not in known:
        raise UnknownNameError("key", name, known=known, remedy="See nr-llm keys list.")
    _keyring.remove(_keyring.SERVICE, name)
    _note(known - {name})
    click.echo("Forgotten.", err=True)
    return 0


def _typed(name: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    typed: str = click.prompt(f"Key {name}", hide_input=True, default="", show_default=False, err=True)
    return typed


def _noted() -> set[str]:
    """Return the names that were kept: a keyring cannot list them."""
    from nr_llm._json import decode
    from nr_llm.errors import ConfigurationError

    from nr_llm_cli.places import folder

    place = folder("config") / NAMES
    try:
        found = decode(place.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{place} cannot be read: {error}.", remedy="Correct or remove it.") from error
    return set(map(str, found)) if isinstance(found, list) else set()


def _note(names: set[str]) -> None:
    from nr_llm._json import encode

    from nr_llm_cli.places import folder
    from nr_llm_cli.trust import write_own

    write_own(folder("config") / NAMES, encode(sorted(names)))
