"""`nr-llm run`: one question, answered by a model that may call tools."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from nr_llm_cli.asking import asked_of, conversation, conversation_options
from nr_llm_cli.options import LEVELS, global_options, globals_of, output_options, redactor_of
from nr_llm_cli.stored import kept_of, settle
from nr_llm_cli.turn import Reporter, perform

if TYPE_CHECKING:
    from nr_llm import ChatMessage
    from nr_llm.conversation import Prompt
    from nr_llm.records import StoredRun

    from nr_llm_cli.console import Console
    from nr_llm_cli.stored import Kept

MODES: Final = ("ask", "deny", "reads")
"""What may become of calls that need a person."""


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
@click.option("-c", "last", is_flag=True, help="Go on with the conversation of the last run.")
@click.option("--continue", "run_id", metavar="RUN", help="Go on with the conversation of this run.")
@click.option(
    "--privacy",
    type=click.Choice(LEVELS, case_sensitive=False),
    envvar="NR_LLM_PRIVACY",
    help="How much of the run is kept (metadata).",
)
@click.option("--no-store", is_flag=True, help="Keep nothing of the run.")
@click.option(
    "--approve",
    type=click.Choice(MODES, case_sensitive=False),
    help="What becomes of calls that need a person: ask (on a terminal), deny them, or approve reads alone.",
)
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
    from nr_llm_cli.attach import attach
    from nr_llm_cli.console import Console
    from nr_llm_cli.failures import Stop
    from nr_llm_cli.going_on import Relay, approver_of, asks
    from nr_llm_cli.whoami import me

    asked, rest = asked_of(options)
    if rest["as_json"] and rest["ndjson"]:
        raise click.UsageError("--json and --ndjson exclude each other.")
    keep, going_on = not (rest["no_store"] or rest["dry_run"]), rest["last"] or rest["run_id"] is not None
    if going_on and asked.system is not None:
        raise click.UsageError("-s belongs to the first question of a conversation; leave it out when you go on.")
    settings = asked.settings() | {"system": asked.system, "privacy": rest["privacy"], "actor": me()}
    attached = attach(rest["attached"])
    question = question_of(prompt) + attached.text
    told = {name: value for name, value in rest.items() if name in REPORTING}
    console = Console(quiet=rest["quiet"], verbose=rest["verbose"], colour=globals_of(context).colour)
    reporter, relay = reporter_of(context, console, stream=not asked.whole, **told), Relay()
    with conversation(context, asked, keep=keep, live=[relay]) as (host, runtime):
        kept = kept_of(host) if keep or going_on else None
        if keep:
            _prepare(context, kept)
        spoken: Prompt = question
        if going_on:
            spoken, before = gone_on_with(kept, rest["run_id"], question)
            settings["configuration"] = asked.configured or before.head.configuration
            settings["model"] = asked.model or (None if asked.configuration else before.head.model)
            settings["privacy"] = rest["privacy"] or before.head.privacy
            settings["continues"] = before.run_id
        stored, mode = kept is not None and keep, rest["approve"] or asks(**told)
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


def _prepare(context: click.Context, kept: Kept | None) -> None:
    """Settle what was abandoned; say to whoever chose a level for the record that there will be none."""
    if kept is not None:
        settle(kept.history)
    elif context.get_parameter_source("privacy") is ParameterSource.COMMANDLINE:
        click.echo("No store is installed: nothing of the run is kept, at whatever level.", err=True)


def gone_on_with(kept: Kept | None, name: str | None, question: str) -> tuple[list[ChatMessage], StoredRun]:
    """
    Return the conversation of a stored run with a question behind it, and the run.

    Args:
        kept: Where it is.
        name: The run; None for the last one.
        question: The question.

    Raises:
        ConfigurationError: There is no such conversation; the text says why.
    """
    from nr_llm.messages import ChatMessage

    from nr_llm_cli.stored import continued, no_store

    if kept is None:
        raise no_store()
    run, messages = continued(kept.history, name)
    return [*messages, ChatMessage.user(question)], run


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
