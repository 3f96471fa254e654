"""`nr-llm completion`: the script that makes a shell complete commands."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from nr_llm_cli.options import global_options


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@global_options()
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """
    Print a script that completes commands in a shell.

    For bash, add this line to ~/.bashrc: eval "$(nr-llm completion bash)"
    """
    from nr_llm_cli.root import COMPLETE, PROGRAM

    kind = get_completion_class(shell)
    assert kind is not None
    # The base class's `source`: bash's own starts a bash to ask for its version.
    click.echo(ShellComplete.source(kind(context.find_root().command, {}, PROGRAM, COMPLETE)))
    return 0
