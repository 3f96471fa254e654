"""
Runs the weights in this process, one request at a time, and gives what the model writes as it writes it.

The engine is llama.cpp as the package `xllamacpp` brings it.  It insists on a socket of its own; it gets one in a
private folder that is removed at once, so that nobody can use it.
"""

from __future__ import annotations

import atexit
import os
import queue
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
from nr_llm._json import JSON
from nr_llm.cancellation import Cancellation
from nr_llm.errors import ContextLengthError, RunCancelledError, ServiceError
from nr_llm.responses import Usage

from nr_llm_local._errors import LocalModelError

CONTEXT = 6144
"""Tokens of the window: what a processor can read in bearable time."""

THREADS = 4
"""Threads at most; more compete for memory."""

BATCH = 256
"""Tokens read at once: between two batches it can be stopped, and small ones cost no speed on a processor."""

LEAVING = 30.0
"""Seconds the end of the process waits for a batch to be read; it takes one or two."""

_POLL = 0.1


@attrs.frozen
class End:
    """The last thing an engine gives."""

    usage: Usage
    length: bool


class Engine:
    """
    One model in memory.

    Args:
        path: The weights.
    """

    def __init__(self, path: Path) -> None:
        os.environ.setdefault("GOMP_SPINCOUNT", "0")  # idle threads sleep instead of burning the processor
        import xllamacpp

        threads = max(1, min(THREADS, os.cpu_count() or 1))
        settings = xllamacpp.CommonParams()
        settings.model.path = str(path)
        settings.n_ctx = CONTEXT
        settings.n_parallel = 1
        settings.n_batch = settings.n_ubatch = BATCH
        settings.cpuparams.n_threads = threads
        settings.cpuparams_batch.n_threads = threads
        settings.no_extra_bufts = True  # a third less memory for a tenth of the speed
        settings.cache_ram_mib = 0
        settings.warmup = False
        settings.verbosity = 0
        settings.use_jinja = True
        settings.ui = False
        settings.endpoint_slots = False
        settings.n_threads_http = 1
        with tempfile.TemporaryDirectory(prefix="nr-llm-", ignore_cleanup_errors=True) as folder:
            settings.hostnames = [str(Path(folder) / "s.sock")]  # by this ending it is a socket
            try:
                self._server = xllamacpp.Server(settings)
            except RuntimeError as error:
                text = f"The weights {path} could not be loaded: damaged, of another kind, or too large for the memory."
                raise LocalModelError(text, remedy="Fetch them again, or choose the small model.") from error
        # The folder is gone again, and with it every way to the socket.
        self._free = threading.Lock()
        self._stop = Cancellation()
        self._process = os.getpid()

    def write(
        self,
        prompt: str,
        *,
        schema: Mapping[str, JSON] | None,
        most: int,
        cancelled: Cancellation,
        settings: Mapping[str, Any],
    ) -> Iterator[str | End]:
        """
        Yield what the model writes after `prompt`, then the end.

        Args:
            prompt: What it reads.
            schema: What it is held to, or None.
            most: Tokens it may write.
            cancelled: Thrown to stop it; leaving the iterator stops it too.
            settings: Further settings, by the engine's names.

        Raises:
            ContextLengthError: The prompt does not fit.
            RunCancelledError: It was stopped.
            ServiceError: The engine failed.
        """
        task: dict[str, Any] = {
            "prompt": prompt,
            "n_predict": most,
            "cache_prompt": True,
            "stop": ["<|im_end|>"],
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # a call back per batch: the only way to stop it while it reads
            **settings,
        }
        if schema is not None:
            task["json_schema"] = dict(schema)
        while not self._free.acquire(timeout=_POLL):
            if cancelled.cancelled:
                raise RunCancelledError(cancelled.reason)
        pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
        left = cancelled.child()
        self._stop = left
        threading.Thread(target=self._work, args=(task, pieces, left), name="nr-llm-engine", daemon=True).start()
        try:
            while (piece := pieces.get()) is not None:
                yield from _read(piece)
        finally:
            left.cancel("nobody reads any more")
            left.leave()
        if cancelled.cancelled:
            raise RunCancelledError(cancelled.reason)

    def _work(self, task: dict[str, Any], pieces: queue.SimpleQueue[Any], left: Cancellation) -> None:
        def told(piece: Any) -> bool:
            pieces.put(piece)
            return left.cancelled

        try:
            answer = self._server.handle_completions(task, told)
            if answer is not None:
                pieces.put(answer)
        except Exception as error:  # noqa: BLE001 - its reader must hear of it, or would wait for ever
            pieces.put(error)
        finally:
            pieces.put(None)
            self._free.release()

    def close(self) -> None:
        """Stop what is being written and wait for it: a thread of the engine must not outlive the interpreter."""
        self._stop.cancel("the process ends")
        if self._process == os.getpid() and self._free.acquire(timeout=LEAVING):
            self._free.release()


def _read(piece: Any) -> Iterator[str | End]:
    if isinstance(piece, Exception):
        raise ServiceError(f"the engine failed with {type(piece).__name__}", provider="local") from piece
    if "error" in piece:
        raise _refusal(piece["error"])
    choice = piece["choices"][0]
    if choice["text"]:
        yield str(choice["text"])
    if choice["finish_reason"]:
        usage = piece.get("usage") or {}
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        counted = Usage(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached_tokens=cached)
        yield End(counted, choice["finish_reason"] == "length")


def _refusal(error: Mapping[str, Any]) -> Exception:
    if error.get("type") == "exceed_context_size_error":
        text = (
            f"the conversation has {error.get('n_prompt_tokens', 0):,} tokens with its tools, and the window of the "
            f"embedded model holds {error.get('n_ctx', CONTEXT):,}; ask for less, or offer fewer tools"
        )
        return ContextLengthError(text, provider="local")
    return ServiceError(f"the engine refused: {error.get('message', 'without a reason')}", provider="local")


_engines: dict[tuple[int, Path], Engine] = {}
_making = threading.Lock()


def engine_for(path: Path) -> Engine:
    """Return the engine for a file; a process holds each model once, and a forked one cannot use its parent's."""
    key = (os.getpid(), path)
    with _making:
        if key not in _engines:
            _engines[key] = engine = Engine(path)
            atexit.register(engine.close)
        return _engines[key]
