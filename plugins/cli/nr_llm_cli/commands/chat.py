"""`nr-llm chat`: a conversation, one question after the other."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from nr_llm_cli.asking import asked_of, conversation, conversation_options, left_out
from nr_llm_cli.keeping import keeping_of, keeping_options, taken_up
from nr_llm_cli.options import DEFAULT_MODEL, global_options, globals_of

if TYPE_CHECKING:
    from nr_llm import ChatMessage, Runtime

    from nr_llm_cli.asking import Asked
    from nr_llm_cli.console import Console
    from nr_llm_cli.turn import Approver

COMMANDS: Final = {
    "/exit": "leave (so does Ctrl-D)",
    "/tools": "list the tools on offer",
    "/new": "begin a new conversation",
    "/help": "list these commands",
}


@click.command()
@conversation_options
@keeping_options
@click.option("-q", "--quiet", is_flag=True, help="Print the answers alone.")
@click.option("-v", "--verbose", is_flag=True, help="Print requests, thinking and progress too.")
@global_options()
@click.pass_context
def chat(context: click.Context, /, **options: Any) -> int:
    """
    Talk with a model, which may call tools.

    Each line of standard input is a question.  Ctrl-C stops an answer, Ctrl-D or /exit leaves.  Where a store is
    installed each answer is a run that is kept: see nr-llm runs.
    """
    from nr_llm import Runtime

    from nr_llm_cli.console import Console
    from nr_llm_cli.going_on import Relay, approver_of, asks
    from nr_llm_cli.whoami import me

    asked, rest = asked_of(options)
    keeping, rest = keeping_of(rest, asked)
    console, relay = Console(quiet=rest["quiet"], verbose=rest["verbose"], colour=globals_of(context).colour), Relay()
    settings = asked.settings() | {"privacy": keeping.privacy, "actor": me()}
    keep = not keeping.no_store
    with conversation(context, asked, keep=keep, goes_on=keeping.goes_on, live=[relay]) as (host, runtime):
        console.say_all(left_out(host))
        before, as_before, stored = taken_up(context, host, keeping, asked=asked, keep=keep)
        settings |= as_before
        runtime.describe(settings["model"], configuration=settings["configuration"])  # says at once if there is none
        mode = keeping.approve or asks()
        with Runtime(host, model=host.default_model or DEFAULT_MODEL) as unkept:
            Conversation(
                runtime=runtime,
                unkept=unkept,
                console=console,
                asked=asked,
                settings=settings,
                stored=stored,
                approver=approver_of(mode, host, runtime, console=console, relay=relay, kept=stored),
                messages=before,
            ).hold(lines(console))
    return 0


def lines(console: Console) -> Iterator[str]:
    """Yield the lines a person types, or those of a pipe; Ctrl-C at the prompt only drops the line."""
    if not sys.stdin.isatty():
        for data in sys.stdin.buffer:
            yield data.decode("utf-8", "replace")
        return
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - importing it is what makes `input` edit lines
    console.say("Each line is a question; /help lists what else there is, /exit or Ctrl-D leaves.", dim=True)
    while True:
        console.settle()
        try:
            yield _typed(console)
        except KeyboardInterrupt:
            console.say("\n/exit or Ctrl-D leaves.", dim=True)
        except EOFError:
            console.say()
            return


def _typed(console: Console) -> str:
    if console.live:
        with contextlib.redirect_stdout(console.out):  # on a terminal of its own `input` edits lines
            return input("> ")
    click.echo("> ", nl=False, err=True)  # stdout goes elsewhere and is for answers
    return input()


@attrs.define(kw_only=True, eq=False)
class Conversation:
    """
    A conversation with a model.

    Attributes:
        runtime: What runs it.
        unkept: Says what is on offer, and leaves no record of that.
        console: Where it is shown.
        asked: What the command line says of it.
        settings: Settings of each run.
        stored: Whether its runs are kept.
        approver: Decides when a run waits for a person; None leaves it waiting.
        messages: What was said so far.
    """

    runtime: Runtime
    unkept: Runtime
    console: Console
    asked: Asked
    settings: dict[str, Any]
    stored: bool
    approver: Approver | None
    messages: Sequence[ChatMessage]
    _told: set[str] = attrs.field(factory=set, init=False)

    def hold(self, questions: Iterator[str]) -> None:
        """
        Answer question after question.

        Raises:
            Stop: A question could not be answered, and nobody is there to ask another.
            NrLlmError: Likewise.
        """
        for line in questions:
            question = line.strip()
            if question == "/exit":
                return
            if question.startswith("/"):
                self._command(question)
            elif question:
                self._answer(question)

    def _command(self, name: str) -> None:
        if name == "/new":
            self.messages, self.settings["continues"] = (), None
            self.console.say("What was said before is left behind.", dim=True)
        elif name == "/tools":
            self._tools()
        else:
            if name != "/help":
                self.console.warn(f"There is no command {name!r}; there are:")
            self.console.say_all(f"{command:<8} {does}" for command, does in COMMANDS.items())

    def _tools(self) -> None:
        from nr_llm import StepRecorded

        with self.unkept.stream("?", **self.settings, dry_run=True) as stream:
            steps = [event.step for event in stream if isinstance(event, StepRecorded)]
        self.console.say_all([name for step in steps for name in step.tool_specs or ()] or ["none"])

    def _answer(self, question: str) -> None:
        from nr_llm import ChatMessage, NrLlmError

        from nr_llm_cli.exits import Exit
        from nr_llm_cli.failures import Stop, failure_of
        from nr_llm_cli.narrate import Narrator
        from nr_llm_cli.turn import perform

        messages = [*self.messages, ChatMessage.user(question)]
        system = None if self.messages else self.asked.system
        narrator = Narrator(self.console, stream=not self.asked.whole, told=self._told)
        try:
            turn = perform(
                self.runtime,
                messages,
                narrator,
                **self.settings,
                system=system,
                kept=self.stored,
                files=self.asked.files,
                approver=self.approver,
            )
            if turn.messages is not None:
                self.messages, self.settings["continues"] = turn.messages, turn.run_id
            if turn.failure is not None:
                raise Stop(turn.failure)
        except (NrLlmError, Stop) as error:
            if not sys.stdin.isatty():
                raise
            failure = failure_of(error)
            waits = failure.exit is Exit.SUSPENDED  # as the person wanted, so it is no error
            self.console.warn(failure.line.removeprefix("Error: ") if waits else failure.line)
