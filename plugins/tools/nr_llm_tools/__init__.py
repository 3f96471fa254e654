"""Tools for nr-llm that need only the standard library: files, packages, arithmetic, time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nr_llm import Tool
from nr_llm.hookspecs import hookimpl

from nr_llm_tools.calculator import calculate
from nr_llm_tools.clock import ClockTools
from nr_llm_tools.exploring import EXPLORE_PROJECT
from nr_llm_tools.files import FileTools
from nr_llm_tools.interpreter import InterpreterTools
from nr_llm_tools.settings import ToolsSettings
from nr_llm_tools.writing import WriteTools

__all__ = [
    "ClockTools",
    "FileTools",
    "InterpreterTools",
    "ToolsSettings",
    "WriteTools",
    "calculate",
    "nr_llm_configurations",
    "nr_llm_tools",
]


@hookimpl
def nr_llm_tools(settings: ToolsSettings) -> Iterable[Tool]:
    """Contribute the tools of this distribution; files are those below ``settings.root``."""
    return (
        *FileTools(settings).tools(),
        *WriteTools(settings).tools(),
        *InterpreterTools().tools(),
        calculate,
        *ClockTools().tools(),
    )


@hookimpl
def nr_llm_configurations() -> Mapping[str, Mapping[str, Any]]:
    """Contribute a way to ask about the project in the root folder."""
    return {"explore-project": EXPLORE_PROJECT}
