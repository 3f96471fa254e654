"""`nr-llm config`: which files count, what they say together, what is wrong with them, and which are trusted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from nr_llm_cli.aside import aside, asked
from nr_llm_cli.exits import Exit
from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.lines import located
from nr_llm_cli.options import global_options, globals_of, json_option

if TYPE_CHECKING:
    from nr_llm.effective import Value
    from nr_llm.plugins import Finding

    from nr_llm_cli.layers import Layer

FILES: Final = ("counts", "what", "path", "state")
VALUES: Final = ("name", "value", "source")
MOST: Final = 80
"""Characters of a value that people see; --json has all."""

config = LazyGroup(
    name="config",
    path="config",
    places={
        "show": Place(f"{__name__}:show", "Show every setting that counts, and where it is from."),
        "path": Place(f"{__name__}:path", "Show the folders and files that are looked at."),
        "check": Place(f"{__name__}:check", "Say everything that is wrong with the configuration."),
        "trust": Place(f"{__name__}:trust", "Trust a project's file as it is now."),
        "untrust": Place(f"{__name__}:untrust", "Trust a project's file no longer."),
    },
    help="Show, check and trust configuration.",
)

_FILE = click.argument("file", required=False, type=click.Path(path_type=Path))


@click.command()
@json_option
@global_options()
@click.pass_context
def show(context: click.Context, *, as_json: bool) -> int:
    """
    Show every setting that counts, and where it is from.

    All plugins are loaded, since their settings are their own.  Secrets are masked.  What is wrong with a row is said
    on stderr.
    """
    from nr_llm_cli.commands.plugins import lines_of
    from nr_llm_cli.listing import show as listed
    from nr_llm_cli.session import host_of

    host = host_of(context)
    with aside():
        values = [*_chosen(), *host.effective()]
        findings = host.config_findings()
    rows = [attrs.asdict(value) for value in values]
    for row in rows:
        row["source"] = located(row["source"], row["name"])
        row["value"] = row["value"] if as_json else _cell(row["value"])
    listed(rows, columns=VALUES, as_json=as_json)
    for line in (line for finding in findings for line in lines_of(finding)):
        click.echo(line, err=True)
    return 0


def _chosen() -> Iterator[Value]:
    """Yield what variables of the command line say, if they are set."""
    from nr_llm.effective import Value

    for name in ("NR_LLM_MODEL", "NR_LLM_CONFIGURATION"):
        if value := os.environ.get(name):
            yield Value(name.removeprefix("NR_LLM_").lower(), value, name)


def _cell(value: object) -> str:
    from nr_llm_cli.screen import document, one_line

    return one_line(value if isinstance(value, str) else "" if value is None else document(value), MOST)


@click.command()
@json_option
@global_options()
@click.pass_context
def path(context: click.Context, *, as_json: bool) -> int:
    """
    Show the folders and files that are looked at.

    The first file that counts goes before the second, setting by setting.
    """
    from nr_llm_cli.layers import layers
    from nr_llm_cli.listing import show as listed
    from nr_llm_cli.places import KINDS, folder

    rows = [_row(layer) for layer in layers(globals_of(context))]
    rows += [_place(f"{kind} folder", folder(kind)) for kind in KINDS]
    listed(rows, columns=FILES, as_json=as_json)
    return 0


def _place(what: str, place: Path) -> dict[str, Any]:
    return {"counts": None, "what": what, "path": str(place), "state": "there" if place.is_dir() else "missing"}


def _row(layer: Layer) -> dict[str, Any]:
    there = layer.exists
    return {
        "counts": there,
        "what": f"{layer.kind} file" if layer.kind in {"project", "user"} else layer.kind,
        "path": str(layer.path.absolute()),
        "state": layer.trust() if there else "missing",
    }


@click.command()
@json_option
@global_options()
@click.pass_context
def check(context: click.Context, *, as_json: bool) -> int:
    """
    Say everything that is wrong with the configuration.

    All files and plugins are loaded.  Each finding has its reason and what to do.  The exit code is 3 if something is
    wrong.
    """
    from nr_llm_cli.commands.plugins import remarks, tell
    from nr_llm_cli.failures import Failure, Stop

    found = list(_unreadable(context))
    if not found:
        from nr_llm_cli.session import host_of

        found = [finding for finding in asked(host_of(context).doctor) if finding.serious or not finding.distribution]
    tell(tuple(found), as_json=as_json)
    bad = sum(finding.serious for finding in found)
    if bad:
        problems = "1 problem" if bad == 1 else f"{bad} problems"
        raise Stop(Failure(Exit.CONFIGURATION, f"{problems} with the configuration.", "What to do stands with each."))
    if not as_json:
        click.echo(f"The configuration has no problems{remarks(found)}.", err=True)
    return 0


def _unreadable(context: click.Context) -> Iterator[Finding]:
    """Yield what keeps a file from being read: nothing else can be judged before."""
    from nr_llm.errors import ConfigurationError
    from nr_llm.plugins import Finding

    from nr_llm_cli.layers import layers

    for layer in layers(globals_of(context)):
        if layer.named or layer.exists:
            try:
                layer.read()
            except ConfigurationError as error:
                why = str(error).removesuffix(error.remedy).rstrip()
                yield Finding(what=f"{layer.path} cannot be used.", why=why, fix=error.remedy or "Correct the file.")


@click.command()
@_FILE
@global_options()
def trust(file: Path | None) -> int:
    """
    Trust a project's file as it is now.

    Without FILE it is that of the current project.  A trusted file may say all that your own may: providers, sources
    of keys, which plugins load.  When it changes it is not trusted any more.
    """
    from nr_llm_cli import trust as store

    found = _project(file)
    store.trust(found)
    click.echo(f"{found} is trusted as it is now.", err=True)
    return 0


@click.command()
@_FILE
@global_options()
def untrust(file: Path | None) -> int:
    """
    Trust a project's file no longer.

    Without FILE it is that of the current project.
    """
    from nr_llm_cli import trust as store

    found = _project(file)
    was = store.untrust(found)
    click.echo(f"{found} is {'not trusted any more' if was else 'not trusted'}.", err=True)
    return 0


def _project(file: Path | None) -> Path:
    from nr_llm_cli.places import FILE, here, project_file

    if file is not None:
        return file / FILE if file.is_dir() else file
    folder = here()
    found = None if folder is None else project_file(folder)
    if found is None:
        raise click.UsageError("There is no project file here; name one.")
    return found
