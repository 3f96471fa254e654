"""A tool writes to the host's log without the secrets of its run, however careless it is."""

from __future__ import annotations

import logging
import traceback

from nr_llm.redaction import Redactor


class MaskedLogger(logging.Logger):
    """
    A logger that masks secrets in messages and tracebacks, then hands its records on.

    Args:
        parent: Gets the records, and decides about levels.
        redactor: Knows the secrets, those included that are learned later.
    """

    def __init__(self, parent: logging.Logger, redactor: Redactor) -> None:
        super().__init__(parent.name)
        self.parent = parent
        self._redactor = redactor

    def handle(self, record: logging.LogRecord) -> None:
        """Mask a record and hand it on."""
        try:
            text = record.getMessage()
        except Exception as error:  # noqa: BLE001  # as everywhere in logging: a bad line raises nothing
            text = f"a message that cannot be written ({type(error).__name__})"
        record.msg, record.args = self._redactor.redact(text), ()
        if record.exc_info:
            record.exc_text = self._redactor.redact("".join(traceback.format_exception(*record.exc_info)).rstrip())
            record.exc_info = None
        super().handle(record)
