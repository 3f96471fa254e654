"""`nr-llm run`: one question, answered by a model that may call tools."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from nr_llm_cli.asking import asked_of, conversation, conversation_options
from nr_llm_cli.options import global_options, globals_of, redactor_of
from nr_llm_cli.turn import Reporter, perform


@click.command()
@click.argument("prompt")
@conversation_options
@click.option(
    "-a",
    "--attach",
    "attached",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A text, image or document to hand over (repeatable).",
)
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and ask nobody.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document in the end.")
@click.option("--ndjson", is_flag=True, help="Print one JSON object per event, as it happens.")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer alone.")
@click.option("-v", "--verbose", is_flag=True, help="Print requests, thinking and progress too.")
@global_options()
@click.pass_context
def run(context: click.Context, /, prompt: str, **options: Any) -> int:
    """
    Ask a model, which may call tools.

    PROMPT is the question; - reads it from standard input.  The answer goes to stdout, what happens on the way to
    stderr.
    """
    from nr_llm_cli.attach import attach
    from nr_llm_cli.failures import Stop

    asked, rest = asked_of(options)
    if rest["as_json"] and rest["ndjson"]:
        raise click.UsageError("--json and --ndjson exclude each other.")
    question, settings = question_of(prompt), asked.settings()
    attached = attach(rest["attached"])
    reporter = reporter_of(context, stream=not asked.whole, **{k: v for k, v in rest.items() if k in _REPORTING})
    with conversation(context, asked) as runtime:
        turn = perform(
            runtime,
            question + attached.text,
            reporter,
            **settings,
            system=asked.system,
            attachments=attached.attachments,
            dry_run=rest["dry_run"],
        )
    if turn.failure is not None:
        raise Stop(turn.failure)
    return 0


_REPORTING = frozenset({"as_json", "ndjson", "quiet", "verbose"})


def question_of(prompt: str) -> str:
    """
    Return the question, read from stdin if it is ``-``.

    Raises:
        UsageError: It is empty.
    """
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if prompt == "-" else prompt
    if not text.strip():
        raise click.UsageError("The prompt is empty.")
    return text.removesuffix("\n")


def reporter_of(
    context: click.Context, *, stream: bool, as_json: bool, ndjson: bool, quiet: bool, verbose: bool
) -> Reporter:
    """Return who tells of the run, and how."""
    if as_json or ndjson:
        from nr_llm_cli.report import Document, Lines

        write = partial(click.echo, file=sys.stdout, color=False)  # what plugins print goes elsewhere
        return Document(write) if as_json else Lines(write, redactor_of(context))
    from nr_llm_cli.console import Console
    from nr_llm_cli.narrate import Narrator

    return Narrator(Console(quiet=quiet, verbose=verbose, colour=globals_of(context).colour), stream=stream)
