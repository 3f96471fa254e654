"""Which configuration files count: the one that was named, else the project's over the user's own."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs
import click
from nr_llm.errors import ConfigurationError

from nr_llm_cli import trust
from nr_llm_cli.options import DEFAULT_MODEL, Globals
from nr_llm_cli.places import here, project_file, user_file
from nr_llm_cli.screen import one_line

if TYPE_CHECKING:
    from nr_llm.config import Config


@attrs.frozen
class Layer:
    """
    A configuration file that may count.

    Attributes:
        kind: What makes it one.
        path: The file.
    """

    kind: Literal["--config", "NR_LLM_CONFIG", "project", "user"]
    path: Path

    @property
    def named(self) -> bool:
        """Whether somebody named it, so that its absence is an error."""
        return self.kind in {"--config", "NR_LLM_CONFIG"}

    @property
    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.path.is_file()

    def trust(self) -> str:
        """
        Return whether it is trusted: all but a project's are the user's own.

        Raises:
            ConfigurationError: The list of trusted files cannot be read.
        """
        if self.kind != "project":
            return "own"
        return trust.state_of(self.path, self.path.read_bytes())

    def read(self) -> Config:
        """
        Return what it says.

        Raises:
            ConfigurationError: It cannot be read, or says what it may not.
        """
        from nr_llm.config import read_config

        if self.kind != "project":
            return read_config(self.path, trusted=True)
        known = partial(trust.state_of, self.path)
        try:
            return read_config(self.path, trusted=lambda data: known(data) == "trusted")
        except ConfigurationError as error:
            if known(self.path.read_bytes()) != "changed":
                raise
            message = f"{str(error).removesuffix(error.remedy).rstrip()} It was trusted and has changed since."
            raise ConfigurationError(message, remedy="Look at it, then: nr-llm config trust.") from error


def layers(said: Globals) -> tuple[Layer, ...]:
    """
    Return the files that may count, the one that counts first in front.

    A file that is named stands alone; the project's and the user's are for those who name none.
    """
    if said.config:
        return (Layer("--config", said.config),)
    if path := os.environ.get("NR_LLM_CONFIG"):
        return (Layer("NR_LLM_CONFIG", Path(path)),)
    own, folder = user_file(), here()
    project = None if folder is None else project_file(folder)
    found = [] if project is None or project == own else [Layer("project", project)]
    return (*found, Layer("user", own))


def config_of(said: Globals) -> Config:
    """
    Return what the configuration files say together.

    Raises:
        ConfigurationError: One cannot be read, or says what it may not.
    """
    from nr_llm.config import Config

    found = [(layer, layer.read()) for layer in layers(said) if layer.named or layer.exists]
    config = Config()
    for layer, read in reversed(found):
        state = layer.trust()
        if state == "changed":
            told = f"{layer.path} has changed since it was trusted and counts as any other."
            click.echo(one_line(f"{told} Look at it, then: nr-llm config trust."), err=True)
        if state not in {"own", "trusted"}:
            _refuse_elsewhere(layer, read, behind=config)
        config = read.over(config)
    return config


def _refuse_elsewhere(layer: Layer, read: Config, *, behind: Config) -> None:
    """Refuse a cloned project that sends what the user's own default keeps in one place to another."""
    if read.default_model is None:
        return
    mine = behind.provider_of(behind.default_model or DEFAULT_MODEL)
    theirs = read.over(behind).provider_of(read.default_model)
    if mine != theirs:
        raise ConfigurationError(
            f"{layer.path} is not trusted and sets default_model to a model of {theirs!r}, and yours is of {mine!r}.",
            remedy="Trust this project: nr-llm config trust; or name a file of your own with --config.",
        )
