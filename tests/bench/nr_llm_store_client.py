"""The benchmark's adapter for nr-llm with its store on: every run is kept in a new SQLite file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nr_llm_client
from nr_llm_store import SqlStore


class Client(nr_llm_client.Client):
    """Runs the scenarios as the plain adapter does, and keeps each run."""

    def __init__(self, base_url: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        super().__init__(base_url, store=SqlStore(f"sqlite:///{Path(self._folder.name) / 'runs.db'}"))
