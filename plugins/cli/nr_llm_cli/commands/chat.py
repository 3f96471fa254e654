"""`nr-llm chat`: a conversation, one question after the other."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.asking import asked_of, conversation, conversation_options
from nr_llm_cli.options import global_options, globals_of

if TYPE_CHECKING:
    from nr_llm import ChatMessage, Runtime

    from nr_llm_cli.asking import Asked
    from nr_llm_cli.console import Console

COMMANDS: Final = {
    "/exit": "leave (so does Ctrl-D)",
    "/tools": "list the tools on offer",
    "/new": "begin a new conversation",
    "/help": "list these commands",
}


@click.command()
@conversation_options
@click.option("-q", "--quiet", is_flag=True, help="Print the answers alone.")
@click.option("-v", "--verbose", is_flag=True, help="Print requests, thinking and progress too.")
@global_options()
@click.pass_context
def chat(context: click.Context, /, **options: Any) -> int:
    """
    Talk with a model, which may call tools.

    Each line of standard input is a question.  Ctrl-C stops an answer, Ctrl-D or /exit leaves.
    """
    from nr_llm_cli.console import Console

    asked, rest = asked_of(options)
    console = Console(quiet=rest["quiet"], verbose=rest["verbose"], colour=globals_of(context).colour)
    settings = asked.settings()
    with conversation(context, asked) as (_, runtime):
        runtime.describe(asked.named, configuration=asked.configured)  # says at once when there is no such model
        Conversation(runtime, console, asked=asked, settings=settings).hold(lines(console))
    return 0


def lines(console: Console) -> Iterator[str]:
    """Yield the lines a person types, or those of a pipe; Ctrl-C at the prompt only drops the line."""
    if not sys.stdin.isatty():
        for data in sys.stdin.buffer:
            yield data.decode("utf-8", "replace")
        return
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - importing it is what makes `input` edit lines
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


class Conversation:
    """
    A conversation with a model.

    Args:
        runtime: What runs it.
        console: Where it is shown.
        asked: What the command line says of it.
        settings: Settings of each run.
    """

    def __init__(self, runtime: Runtime, console: Console, *, asked: Asked, settings: dict[str, Any]) -> None:
        self.messages: Sequence[ChatMessage] = ()
        self._runtime = runtime
        self._console = console
        self._asked = asked
        self._settings = settings
        self._told = set[str]()

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
            self.messages = ()
        elif name == "/tools":
            self._tools()
        else:
            if name != "/help":
                self._console.warn(f"There is no command {name!r}; there are:")
            self._console.say_all(f"{command:<8} {does}" for command, does in COMMANDS.items())

    def _tools(self) -> None:
        from nr_llm import StepRecorded

        with self._runtime.stream("?", **self._settings, dry_run=True) as stream:
            steps = [event.step for event in stream if isinstance(event, StepRecorded)]
        self._console.say_all([name for step in steps for name in step.tool_specs or ()] or ["none"])

    def _answer(self, question: str) -> None:
        from nr_llm import ChatMessage, NrLlmError

        from nr_llm_cli.failures import Stop, failure_of
        from nr_llm_cli.narrate import Narrator
        from nr_llm_cli.turn import perform

        messages = [*self.messages, ChatMessage.user(question)]
        system = None if self.messages else self._asked.system
        narrator = Narrator(self._console, stream=not self._asked.whole, told=self._told)
        try:
            turn = perform(self._runtime, messages, narrator, **self._settings, system=system)
            self.messages = self.messages if turn.messages is None else turn.messages
            if turn.failure is not None:
                raise Stop(turn.failure)
        except (NrLlmError, Stop) as error:
            if not sys.stdin.isatty():
                raise
            self._console.warn(failure_of(error).line)
