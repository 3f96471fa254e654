"""An error as people and programs read it: what happened, where, what to do, in one line."""

from __future__ import annotations

from typing import Any

import attrs
import click
from nr_llm.errors import ConfigurationError, NrLlmError

from nr_llm_cli.advice import advice
from nr_llm_cli.exits import Exit, exit_of
from nr_llm_cli.options import redactor_of
from nr_llm_cli.screen import document, one_line


@attrs.frozen
class Failure:
    """
    Why the command failed.

    Attributes:
        exit: The exit code.
        message: What happened, and where.
        hint: What to do; may be empty.
        run_id: The run it ended, or None.
    """

    exit: Exit
    message: str
    hint: str = ""
    run_id: str | None = None

    @property
    def line(self) -> str:
        """The line for people."""
        stop = "" if not self.hint or self.message.endswith((".", "!", "?", ":")) else "."
        return one_line(f"Error: {self.message}{stop} {self.hint}".rstrip())

    @property
    def envelope(self) -> str:
        """The line for programs."""
        return document({"error": self.to_dict()})

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"code", "message", "hint", "run_id"}``."""
        return {"code": self.exit.code, "message": self.message, "hint": self.hint, "run_id": self.run_id}


class Stop(Exception):  # noqa: N818 - the command stops here; its failure may be somebody's choice
    """Ends the command with a failure that no other error stands for."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: BaseException) -> Failure:
    """Return an error as a failure; its text is masked, and that of an unexpected one comes with its type."""
    if isinstance(error, Stop):
        return error.failure
    if isinstance(error, click.UsageError):
        return Failure(Exit.USAGE, _masked(error.format_message()), _usage_hint(error))
    if isinstance(error, click.ClickException):
        return Failure(Exit.UNEXPECTED, _masked(error.format_message()))
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Failure(Exit.INTERRUPTED, "Interrupted.")
    if not isinstance(error, NrLlmError):
        message = f"{type(error).__name__}: {error}".rstrip(": ")
        return Failure(Exit.UNEXPECTED, _masked(message), "Run it again with --debug to see where.")
    message = str(error).removesuffix(error.remedy).rstrip() if isinstance(error, ConfigurationError) else str(error)
    run_id = error.state.run_id if error.state is not None else None
    return Failure(exit_of(error), _masked(message), advice(error), run_id)


def _usage_hint(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx is not None else "nr-llm"
    return f"See {path} --help."


def _masked(text: str) -> str:
    return redactor_of(click.get_current_context(silent=True)).redact(text)
