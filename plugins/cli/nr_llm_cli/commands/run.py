"""`nr-llm run`: one question, answered by a model that may call tools."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.asking import asked_of, conversation, conversation_options, left_out
from nr_llm_cli.keeping import keeping_of, keeping_options, taken_up
from nr_llm_cli.options import global_options, globals_of, output_options, redactor_of
from nr_llm_cli.turn import Reporter, perform

if TYPE_CHECKING:
    from nr_llm.conversation import Prompt

    from nr_llm_cli.console import Console


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
@keeping_options
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and ask nobody.")
@output_options
@global_options()
@click.pass_context
def run(context: click.Context, /, prompt: str, **options: Any) -> int:
    """
    Ask a model, which may call tools.

    PROMPT is the question; - reads it from standard input.  The answer goes to stdout, what happens on the way to
    stderr.  Where a store is installed the run is kept: see nr-llm runs.
    """
    from nr_llm.messages import ChatMessage

    from nr_llm_cli.attach import attach
    from nr_llm_cli.console import Console
    from nr_llm_cli.failures import Stop
    from nr_llm_cli.going_on import Relay, approver_of, asks
    from nr_llm_cli.whoami import me

    asked, rest = asked_of(options)
    if rest["as_json"] and rest["ndjson"]:
        raise click.UsageError("--json and --ndjson exclude each other.")
    keeping, rest = keeping_of(rest, asked)
    keep = not (keeping.no_store or rest["dry_run"])
    settings = asked.settings() | {"system": asked.system, "privacy": keeping.privacy, "actor": me()}
    attached = attach(rest["attached"])
    question = question_of(prompt) + attached.text
    told = {name: value for name, value in rest.items() if name in REPORTING}
    console = Console(quiet=rest["quiet"], verbose=rest["verbose"], colour=globals_of(context).colour)
    reporter, relay = reporter_of(context, console, stream=not asked.whole, **told), Relay()
    with conversation(context, asked, keep=keep, goes_on=keeping.goes_on, live=[relay]) as (host, runtime):
        console.say_all(left_out(host))
        before, as_before, stored = taken_up(context, host, keeping, asked=asked, keep=keep)
        spoken: Prompt = [*before, ChatMessage.user(question)] if keeping.goes_on else question
        settings |= as_before
        mode = keeping.approve or asks(**told)
        turn = perform(
            runtime,
            spoken,
            reporter,
            **settings,
            attachments=attached.attachments,
            dry_run=rest["dry_run"],
            kept=stored,
            files=asked.files,
            approver=approver_of(mode, host, runtime, console=console, relay=relay, kept=stored),
        )
    if turn.failure is not None:
        raise Stop(turn.failure)
    return 0


REPORTING: Final = frozenset({"as_json", "ndjson", "quiet", "verbose"})
"""Options that say how a run is told."""


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
    context: click.Context,
    console: Console,
    *,
    stream: bool,
    as_json: bool,
    ndjson: bool,
    quiet: bool,  # noqa: ARG001 - the console knows
    verbose: bool,  # noqa: ARG001
) -> Reporter:
    """Return who tells of the run, and how."""
    if as_json or ndjson:
        from nr_llm_cli.report import Document, Lines

        write = partial(click.echo, file=sys.stdout, color=False)  # what plugins print goes elsewhere
        return Document(write) if as_json else Lines(write, redactor_of(context))
    from nr_llm_cli.narrate import Narrator

    return Narrator(console, stream=stream)
