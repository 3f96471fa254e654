"""Opens what a command works with: the plugins, the files given with ``--plugin``, a Runtime over both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.aside import aside, asked
from nr_llm_cli.layers import config_of
from nr_llm_cli.options import globals_of, redactor_of

if TYPE_CHECKING:
    from nr_llm import PluginHost
    from nr_llm.runtime import Runtime

_HOST: Final = "nr_llm_cli.host"


def host_of(context: click.Context) -> PluginHost:
    """Return the installed plugins, as the global options choose them; the same for the whole invocation."""
    meta = context.find_root().meta
    if _HOST not in meta:
        meta[_HOST] = open_host(context)
        context.find_root().call_on_close(lambda: asked(meta[_HOST].close))
    host: PluginHost = meta[_HOST]
    return host


def open_host(context: click.Context, files: Sequence[Path] = ()) -> PluginHost:
    """
    Return a host of its own, with the plugins in `files` beside the installed ones.

    Raises:
        PluginError: A file cannot be used; an installed plugin that cannot is left out instead.
    """
    from nr_llm import PluginHost

    said = globals_of(context)
    modules = [module_of(path) for path in files]
    shared: dict[str, Any] = {"config": config_of(said), "redactor": redactor_of(context)}
    if said.plugins:
        host = PluginHost.discover(said.allow or None, plugins=modules, **shared)
    else:
        host = PluginHost(modules, **shared)
    for record in host.records():
        if record.distribution is None:
            host.require(record.name)
    return host


def module_of(path: Path) -> ModuleType:
    """
    Import a file of tools or hooks.

    Raises:
        PluginLoadError: It cannot be imported; the text says where.
    """
    import importlib.util
    import sys

    from nr_llm.errors import PluginLoadError

    name = f"nr_llm_file.{path.stem}"  # a namespace of its own: `tools.py` is not the plugin `tools`
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginLoadError("a plugin file is Python source and ends in .py", plugin=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and postponed annotations look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        text = f"importing it raised {type(error).__name__}{_line(error, path)}: {error}"
        raise PluginLoadError(text.rstrip(": "), plugin=str(path)) from error
    return module


def _line(error: BaseException, path: Path) -> str:
    import traceback

    if isinstance(error, SyntaxError):
        return ""  # its text has the line
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
    return f" at line {lines[-1]}" if lines else ""


@contextmanager
def opened(
    context: click.Context,
    files: Sequence[Path] = (),
    *,
    fallback: str | None = None,
    keep: bool = False,
    **settings: Any,
) -> Iterator[tuple[PluginHost, Runtime]]:
    """
    Open a Runtime and close it in the end; meanwhile what is printed goes to stderr.

    Args:
        context: The command's.
        files: Plugins given as files.
        fallback: The model of runs that name none, where the configuration has no default.
        keep: Whether its runs are kept, where a store is installed.
        **settings: Further arguments of `Runtime`.
    """
    from nr_llm import Runtime

    from nr_llm_cli.logs import logging_to_stderr

    logged = logging_to_stderr(debug=globals_of(context).debug)
    with aside(), logged:
        host = open_host(context, files) if files else host_of(context)
        store = host.store() if keep else None
        closed = nullcontext() if store is None else closing(store)
        with closed, Runtime(host, model=host.default_model or fallback, store=store, **settings) as runtime:
            yield host, runtime
