"""The program: its commands, and what becomes of whatever they raise."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import click

from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, globals_of

PROGRAM: Final = "nr-llm"
COMPLETE: Final = "_NR_LLM_COMPLETE"
"""The variable through which a shell asks for completions, as click names it."""

_HERE: Final = "nr_llm_cli.commands"

COMMANDS: Final = {
    "run": Place(f"{_HERE}.run:run", "Ask a model, which may call tools."),
    "chat": Place(f"{_HERE}.chat:chat", "Talk with a model, which may call tools."),
    "runs": Place(
        f"{_HERE}.runs:runs",
        "List, show and export the runs that are kept, decide on those that wait, end or forget them.",
    ),
    "usage": Place(f"{_HERE}.usage:usage", "Say what the kept runs used, those that were forgotten since included."),
    "tools": Place(f"{_HERE}.tools:tools", "List, show and call tools."),
    "policy": Place(f"{_HERE}.policy:policy", "Say which tools a run might use, and why not."),
    "plugins": Place(f"{_HERE}.plugins:plugins", "List and check installed plugins."),
    "providers": Place(f"{_HERE}.providers:providers", "List who offers models."),
    "models": Place(f"{_HERE}.models:models", "List and fetch models."),
    "config": Place(f"{_HERE}.config:config", "Show, check and trust configuration."),
    "keys": Place(f"{_HERE}.keys:keys", "Keep keys in the system's keyring."),
    "completion": Place(f"{_HERE}.completion:completion", "Print a script that completes commands in a shell."),
}
"""The program's commands."""


class Program(LazyGroup):
    """The root of all commands."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - click's signature
        windows_expand_args: bool = True,  # noqa: ARG002, FBT001, FBT002 - click's signature
        **extra: Any,
    ) -> Any:
        """Run the command line; exit with its code, or return it if not `standalone_mode`."""
        arguments = list(sys.argv[1:] if args is None else args)
        if instruction := os.environ.get(complete_var or COMPLETE):
            from click.shell_completion import shell_complete

            code: int = shell_complete(self, extra, prog_name or PROGRAM, complete_var or COMPLETE, instruction)
        else:
            code = self.perform(arguments, **extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def perform(self, arguments: Sequence[str], **extra: Any) -> int:
        """Run the command line and return the exit code; whatever is raised becomes one line on stderr."""
        _open_streams()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a terminal that knows no UTF-8 is no error
        context = None
        try:
            context = self.make_context(PROGRAM, list(arguments), **extra)
            with context:
                code = self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as done:
            return done.exit_code
        except BrokenPipeError:
            return _nobody_reads()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the end of the line
            with context.scope(cleanup=False) if context else contextlib.nullcontext():
                return _report(error, arguments, debug=globals_of(context).debug if context else False)
        return code if type(code) is int else 0  # a plugin's command may return anything


def _open_streams() -> None:
    """Give a process that was started without one of the three standard streams one that leads nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - it stays open


def _nobody_reads() -> int:
    """Keep the interpreter from complaining, at its end, that the reader of stdout has left."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _report(error: BaseException, arguments: Sequence[str], *, debug: bool) -> int:
    from nr_llm_cli.failures import failure_of

    failure = failure_of(error)
    if debug:
        traceback.print_exception(error)
    with contextlib.suppress(OSError):
        click.echo(failure.line, err=True)
        if _for_program(arguments):
            click.echo(failure.envelope, err=True)
    return int(failure.exit)


def _for_program(arguments: Sequence[str]) -> bool:
    """Say whether output was asked for as JSON; in `tools call` that is a format, and ``--json`` has the arguments."""
    pairs = list(pairwise(arguments))
    if ("tools", "call") in pairs:
        return ("--format", "json") in pairs or "--format=json" in arguments
    return bool({"--json", "--ndjson"} & set(arguments))


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    if value:
        from importlib.metadata import PackageNotFoundError, version

        try:
            known = version("nr-llm")
        except PackageNotFoundError:
            known = "(not installed)"  # a checkout on PYTHONPATH
        click.echo(f"nr-llm {known}, Python {sys.version.split()[0]}")
        context.exit()


program = Program(
    name=PROGRAM,
    places=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Tool-calling conversations with language models.",
    epilog="Installed plugins may add commands; `nr-llm plugins list --load` shows them.",
)
global_options(hidden=False)(program)
click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Say which version this is."
)(program)
