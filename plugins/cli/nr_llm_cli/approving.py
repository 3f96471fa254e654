"""Asks a person, call by call, what is to become of calls that wait: shown whole, decided one by one, never guessed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
import click
from nr_llm._json import decode, encode
from nr_llm.errors import InvalidValueError, MalformedJsonError

from nr_llm_cli.screen import exact

if TYPE_CHECKING:
    from nr_llm.approvals import Decision, WaitingCall, WaitingRun

    from nr_llm_cli.console import Console
    from nr_llm_cli.held import Sight

Read = Callable[[str], str]
"""Shows a text and returns the line that a person types; EOFError and KeyboardInterrupt when they leave."""

CHOICES: Final = "[y]es, [n]o, [e]dit, [d]etails, [q]uit and leave it waiting: "


class Left(Exception):  # noqa: N818 - a person's choice
    """A person leaves the turn waiting."""


def typed(prompt: str) -> str:
    """Ask on stderr, since stdout is for data, and return the line that is typed."""
    click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


def attended() -> bool:
    """Return whether a person is there: who reads what is shown, and whose answers are read."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def forget_typed() -> None:
    """Drop what was typed so far: it is no answer to what is shown only now."""
    try:
        import termios
    except ImportError:  # Windows
        return
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


@attrs.frozen(kw_only=True, eq=False)
class Asker:
    """
    Asks a person about a held turn.

    Attributes:
        console: Where it is shown.
        sight: What they may see of the calls.
        edits: Whether they may change arguments.
        read: Asks for a line.
    """

    console: Console
    sight: Sight
    edits: bool = True
    read: Read = typed

    def decisions(self, waiting: WaitingRun) -> tuple[Decision, ...] | None:
        """Return what a person says to all calls they are asked about, or None if they leave the turn waiting."""
        try:
            return tuple(self._decision(waiting, call) for call in waiting.asked)
        except (Left, EOFError, KeyboardInterrupt):
            self.left()
            return None

    def show(
        self, waiting: WaitingRun, call: WaitingCall, *, arguments: Mapping[str, Any] | None = None, whole: bool = False
    ) -> None:
        """Show a call, to those who want quiet too."""
        for line, style in self.sight.lines(waiting, call, arguments=arguments, whole=whole):
            self.console.warn(line, **style)
        forget_typed()

    def left(self) -> None:
        """Say what it means to leave."""
        self.console.warn("")
        self.console.warn("Left waiting: nothing was decided.")

    def _decision(self, waiting: WaitingRun, call: WaitingCall) -> Decision:
        arguments: Mapping[str, Any] | None = None
        self.show(waiting, call)
        while True:
            match self.read(f"Approve call {call.index}? {CHOICES}").strip().lower():
                case "y" | "yes":
                    return waiting.decision(call.index, approve=True, arguments=arguments)
                case "n" | "no":
                    return waiting.decision(call.index, approve=False)
                case "e" | "edit" if self.edits:
                    arguments = self._edited(call, call.call.arguments if arguments is None else arguments)
                    self.show(waiting, call, arguments=arguments)
                case "e" | "edit":
                    self.console.warn("Arguments can be changed only where the run is kept; deny it and say why.")
                case "d" | "details":
                    self.show(waiting, call, arguments=arguments, whole=True)
                case "q" | "quit":
                    raise Left
                case _:
                    self.console.warn("Type y, n, e, d or q: nothing counts as a yes but y.")

    def _edited(self, call: WaitingCall, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return arguments as a person has changed them, checked against the tool's schema; None for the model's."""
        text = _pretty(arguments)
        while True:
            given = self._rewritten(text)
            if not given.strip():
                return None if arguments == call.call.arguments else arguments
            fault, value = self._checked(call.call.name, given)
            if fault is None:
                return None if value == call.call.arguments else value
            for line in ("That cannot be used:", *(f"  {exact(one)}" for one in fault.splitlines())):
                self.console.warn(line, fg="red")
            text = given
            if self.read("Change it again? [y]es, [n]o: ").strip().lower() not in {"y", "yes"}:
                return None if arguments == call.call.arguments else arguments

    def _rewritten(self, text: str) -> str:
        if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
            return click.edit(text, extension=".json", require_save=False) or ""
        return self.read("Arguments as one JSON object (empty: leave them): ")

    def _checked(self, name: str, text: str) -> tuple[str | None, Any]:
        """Return what is wrong with arguments, or None, and the arguments."""
        from nr_llm.inputs import faults_of

        try:
            value = decode(text)
            if not isinstance(value, dict):
                return "It is no JSON object.", None
            given = self.sight.tools.get(name)
            if given is not None:
                given.tool.structure(value)
        except MalformedJsonError as error:
            return str(error), None
        except InvalidValueError as error:
            return faults_of(error), None
        return None, value


def _pretty(arguments: Mapping[str, Any]) -> str:
    """Return arguments as JSON to be edited, a line for each, in which nothing is invisible."""
    lines = (exact(f"  {encode(name)}: {encode(value)}") for name, value in arguments.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
