"""What a tool logs leaves without the secrets of its run."""

from __future__ import annotations

import logging

import pytest
from nr_llm import Redactor, Runtime, ToolContext, ToolResult, tool
from nr_llm._logs import MaskedLogger

SECRET = "hunter22-and-more"
PARENT = logging.getLogger("nr_llm.test_logs")


def masked() -> MaskedLogger:
    """Return a logger that knows the secret."""
    return MaskedLogger(PARENT, Redactor([SECRET]))


def test_arguments_of_a_message_are_masked(caplog: pytest.LogCaptureFixture) -> None:
    """The message is put together first, so that a secret in an argument is found."""
    masked().warning("signed in with %s", SECRET)

    assert [("nr_llm.test_logs", logging.WARNING, "signed in with [redacted]")] == caplog.record_tuples


def test_a_traceback_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    """What an exception says is masked in its traceback, and the exception itself goes no further."""
    try:
        raise ValueError(SECRET)
    except ValueError:
        masked().exception("no luck")

    assert "ValueError: [redacted]" in caplog.text
    assert [None] == [record.exc_info for record in caplog.records]


def test_a_message_that_cannot_be_written_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A line a tool got wrong is told as such; the tool goes on."""
    masked().warning("%d calls", "x")
    masked().warning(ToolResult.text(SECRET))

    assert ["a message that cannot be written (TypeError)"] * 2 == [r.getMessage() for r in caplog.records]


def test_levels_are_the_parents(caplog: pytest.LogCaptureFixture) -> None:
    """The host decides what is logged, as for any logger."""
    with caplog.at_level(logging.ERROR, PARENT.name):
        masked().warning("quiet")
    with caplog.at_level(logging.DEBUG, PARENT.name):
        masked().debug("loud")

    assert ["loud"] == [record.getMessage() for record in caplog.records]


def test_a_tool_in_a_run_gets_it(caplog: pytest.LogCaptureFixture) -> None:
    """`context.log` masks what `context.secret` gave."""

    @tool
    def careless(context: ToolContext) -> str:
        """Log a secret."""
        context.log.warning("with %s", context.secret("key"))
        return ""

    with Runtime(secrets={"key": SECRET}) as runtime:
        runtime.call(careless)

    assert [("nr_llm.tools", logging.WARNING, "with [redacted]")] == caplog.record_tuples
