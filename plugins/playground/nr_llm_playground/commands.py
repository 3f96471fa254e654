"""`nr-llm playground`: opens the page over the installed plugins; imported only where click is."""

from __future__ import annotations

import socket
import sys
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from nr_llm_cli.options import DEFAULT_MODEL, LEVELS, global_options, json_option, plugin_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nr_llm import Actor, Runtime
    from nr_llm.stores import RunStore
    from starlette.requests import Request

PORT: Final = 8765
"""The port unless another is named: one that is easy to remember, so that the browser knows the address again."""

EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, and bound only when that is allowed
"""Addresses that stand for all of this machine's."""


@click.command("playground")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="0 for any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option("-m", "--model", metavar="MODEL", help="PROVIDER:MODEL or an alias for runs that name none.")
@plugin_option
@click.option(
    "--privacy",
    type=click.Choice(LEVELS, case_sensitive=False),
    envvar="NR_LLM_PRIVACY",
    help="How much of each run is kept (metadata).",
)
@click.option("--no-store", is_flag=True, help="Keep runs in memory alone, as long as the page is served.")
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Listen at an address that other machines reach: whoever has the key runs tools here.",
)
@json_option
@global_options()
@click.pass_context
def playground(
    context: click.Context,
    /,
    *,
    port: int,
    host: str,
    opens: bool,
    model: str | None,
    files: tuple[Path, ...],
    privacy: str | None,
    no_store: bool,
    allow_remote: bool,
    as_json: bool,
) -> int:
    """
    Serve a page to run, watch, approve and replay conversations.

    The address holds the key of this launch and is printed once.  Whoever opens it acts as you and as an administrator,
    with every installed tool.  Ctrl-C stops the server and settles what is under way.
    """
    from nr_llm_playground.guard import is_loopback
    from nr_llm_playground.serve import bound

    if not (is_loopback(host) or allow_remote):
        raise click.UsageError(
            f"{host} is reached from other machines; --allow-remote says that this is meant. Requests are not "
            "encrypted: a tunnel, such as ssh -L, is safer."
        )
    write = partial(click.echo, file=sys.stdout, color=False)  # what plugins print goes elsewhere
    opened = _runtime(context, files, model=model, privacy=privacy, no_store=no_store)
    with closing(bound(host, port)) as listening, opened as runtime:
        _serve(runtime, listening, host, opens=opens, tell=partial(_tell, write, as_json=as_json))
    return 0


@contextmanager
def _runtime(
    context: click.Context, files: tuple[Path, ...], *, model: str | None, privacy: str | None, no_store: bool
) -> Iterator[Runtime]:
    """Open a Runtime whose runs are kept, in memory where there is no store: an approval needs one."""
    from nr_llm import MemoryStore, Runtime
    from nr_llm_cli.aside import aside
    from nr_llm_cli.logs import logging_to_stderr
    from nr_llm_cli.options import globals_of
    from nr_llm_cli.session import host_of, open_host

    with aside(), logging_to_stderr(debug=globals_of(context).debug):
        host = open_host(context, files) if files else host_of(context)
        kept: RunStore | None = None if no_store else host.store()
        store = kept or MemoryStore()
        named = model or host.default_model or DEFAULT_MODEL
        with closing(store), Runtime(host, model=named, store=store, privacy=privacy) as runtime:
            if kept is not None:
                _settle(kept)
            yield runtime


def _settle(store: RunStore) -> None:
    from nr_llm.history import HOST, RunHistory
    from nr_llm_cli.stored import settle

    settle(RunHistory(store, HOST))


def _serve(runtime: Runtime, listening: socket.socket, host: str, *, opens: bool, tell: Callable[..., None]) -> None:
    from nr_llm_playground.app import create_app
    from nr_llm_playground.guard import is_loopback
    from nr_llm_playground.serve import serve
    from nr_llm_playground.tokens import Token

    port, token, actor = listening.getsockname()[1], Token(), _me()

    def who(_: Request) -> Actor:
        return actor

    app = create_app(runtime, actor=who, token=token, hosts=_names(host, port))
    address = f"http://{_called(host)}:{port}/#token={token.secret}"
    tell(address, host=host, port=port)
    if not is_loopback(host):
        click.echo("Requests are not encrypted: whoever is on the way reads them, and the key.", err=True)
    with _opened(address) if opens else nullcontext():
        serve(app, listening)


@contextmanager
def _opened(address: str) -> Iterator[None]:
    """Open a browser; it is told the address by a file, since others may read with what a program was started."""
    import tempfile
    import webbrowser

    with tempfile.NamedTemporaryFile("w", prefix="nr-llm-playground-", suffix=".html", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><title>Playground</title>')
        file.flush()
        webbrowser.open(Path(file.name).as_uri())
        yield


def _me() -> Actor:
    """Return the user of the operating system, with all that is theirs on this machine."""
    import attrs
    from nr_llm_cli.whoami import decider

    return attrs.evolve(decider(), admin=True)


def _names(host: str, port: int) -> list[str]:
    """Return the names under which the page is reached; at an address for all of them, any that the user has."""
    from nr_llm_playground.guard import LOOPBACK, is_host

    names = dict.fromkeys((*LOOPBACK, *_own_names(host)))
    return [f"{name}:{port}" for name in names if is_host(name)]


def _own_names(host: str) -> list[str]:
    if host not in EVERYWHERE:
        return [_shown(host)]
    name = socket.gethostname()
    try:
        found = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(name, None)}
    except OSError:
        found = set()
    return [name, *sorted(map(_shown, found))]


def _called(host: str) -> str:
    """Return what a browser may call the server: an address for all of them is none that can be opened."""
    return socket.gethostname() if host in EVERYWHERE else _shown(host)


def _shown(host: str) -> str:
    """Return a host as an address has it."""
    return f"[{host}]" if ":" in host else host


def _tell(write: Callable[[str], None], address: str, *, host: str, port: int, as_json: bool) -> None:
    """Print the address, once, to where people or programs read it."""
    from nr_llm_cli.screen import document

    if as_json:
        told: dict[str, Any] = {"url": address, "host": host, "port": port}
        write(document(told))
    else:
        write(f"Playground: {address}")
        click.echo(
            "Whoever has this address runs tools as you, and is an administrator here. Ctrl-C stops it.", err=True
        )
