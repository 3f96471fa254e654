"""`nr-llm tools`: which tools there are, what each wants, and what it returns when a person calls it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.exits import Exit
from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, globals_of, json_option, plugin_option

if TYPE_CHECKING:
    from nr_llm import PluginHost
    from nr_llm.plugins import RegisteredTool
    from nr_llm.results import ToolResult
    from nr_llm.runtime import Runtime

COLUMNS: Final = ("name", "effect", "group", "package", "summary")

tools = LazyGroup(
    name="tools",
    path="tools",
    places={
        "list": Place(f"{__name__}:list_tools", "List the tools that plugins offer."),
        "show": Place(f"{__name__}:show_tool", "Show what a tool does and which arguments it takes."),
        "call": Place(f"{__name__}:call_tool", "Call a tool as a run would, without a model."),
    },
    help="List, show and call tools.",
)


@click.command("list")
@plugin_option
@json_option
@global_options()
@click.pass_context
def list_tools(context: click.Context, *, files: tuple[Path, ...], as_json: bool) -> int:
    """List the tools that plugins offer."""
    from nr_llm_cli.listing import show
    from nr_llm_cli.session import opened

    with opened(context, files) as (host, _):
        rows = [row_of(given) for given in host.tools()]
    show(rows, columns=COLUMNS, as_json=as_json, empty="No tool is installed; try pip install 'nr-llm[tools]'.")
    return 0


@click.command("show")
@click.argument("name")
@plugin_option
@json_option
@global_options()
@click.pass_context
def show_tool(context: click.Context, name: str, *, files: tuple[Path, ...], as_json: bool) -> int:
    """Show what a tool does and which arguments it takes."""
    from nr_llm_cli.screen import document, visible
    from nr_llm_cli.session import opened

    with opened(context, files) as (host, _):
        row = row_of(host.tool(name))
    click.echo(document(row) if as_json else visible("\n".join(lines_of(row))), color=False)
    return 0


@click.command("call")
@click.argument("name")
@click.option("--arg", "pairs", multiple=True, metavar="NAME=VALUE", help="An argument (repeatable).")
@click.option("--json", "text", metavar="OBJECT|@FILE|-", help="All arguments as a JSON object, in a file, on stdin.")
@click.option("--artifacts", is_flag=True, help="Print tables and texts for people too, on stderr.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How the result is printed."
)
@plugin_option
@global_options()
@click.pass_context
def call_tool(context: click.Context, /, name: str, *, files: tuple[Path, ...], **options: Any) -> int:
    """
    Call a tool as a run would, without a model.

    Arguments are checked and the result is bounded.  NAME is a tool's name or PLUGIN:TOOL.  The exit code is 5 if the
    result is an error.
    """
    from nr_llm_cli.session import opened

    with opened(context, files) as (host, runtime):
        result = _call(host, runtime, name, options)
    if options["form"] == "json":
        _print_document(name, result, artifacts=options["artifacts"])
    else:
        _print_text(context, result, artifacts=options["artifacts"])
    if result.is_error:
        from nr_llm_cli.failures import Failure, Stop

        raise Stop(Failure(Exit.TOOL, f"Tool {name!r} returned an error.", f"See nr-llm tools show {name}."))
    return 0


def _call(host: PluginHost, runtime: Runtime, name: str, options: Mapping[str, Any]) -> ToolResult:
    from nr_llm_cli.parameters import from_json, from_pairs

    found = host.tool(name)
    arguments = from_json(options["text"]) if options["text"] is not None else {}
    arguments |= from_pairs(options["pairs"], found.tool.parameters)
    return runtime.call(found.tool, arguments)


def _print_text(context: click.Context, result: ToolResult, *, artifacts: bool) -> None:
    from nr_llm_cli.console import Console
    from nr_llm_cli.narrate import show_artifact

    console = Console(colour=globals_of(context).colour)
    if result.is_error:
        console.warn(result.content)
        return
    console.data(result.content)
    for artifact in result.artifacts if artifacts else ():
        show_artifact(console, artifact)


def _print_document(name: str, result: ToolResult, *, artifacts: bool) -> None:
    from nr_llm_cli.screen import document

    fields = {"tool": name, "content": result.content, "is_error": result.is_error}
    shown = {"artifacts": [artifact.to_dict() for artifact in result.artifacts]} if artifacts else {}
    click.echo(document({**fields, **shown}), color=False)


def row_of(given: RegisteredTool) -> dict[str, Any]:
    """Return what is known of a tool, as a JSON object."""
    tool = given.tool
    return {
        "name": given.wire_name,
        "address": given.address,
        "package": f"{given.distribution} {given.version}" if given.distribution else "a file",
        "summary": tool.description.partition("\n")[0],
        "description": tool.description,
        "effect": str(tool.effect),
        "group": tool.group,
        "enabled": tool.enabled,
        "needs_approval": tool.needs_approval,
        "admin_only": tool.admin_only,
        "data_class": None if tool.data_class is None else str(tool.data_class),
        "exclusive": tool.exclusive,
        "remote": tool.remote,
        "timeout": tool.timeout,
        "concurrency": tool.concurrency,
        "result_bytes": tool.result_bytes,
        "parameters": dict(tool.parameters),
    }


def lines_of(row: Mapping[str, Any]) -> list[str]:
    """Return what is known of a tool as lines for people."""
    facts = {name: value for name, value in row.items() if name not in {"name", "summary", "description", "parameters"}}
    width = max(map(len, facts))
    told = [f"{name:<{width}}  {_word(value)}" for name, value in facts.items() if value not in (None, "")]
    return [row["name"], "", row["description"], "", *told, "", "arguments:", *parameter_lines(row["parameters"])]


def parameter_lines(schema: Mapping[str, Any]) -> list[str]:
    """Return a schema's parameters as lines: name, schema, and whether it is required."""
    from nr_llm_cli.screen import document

    required = schema.get("required", ())
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return ["  none"]
    return [f"  {name}{' (required)' if name in required else ''}: {document(properties[name])}" for name in properties]


def _word(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
