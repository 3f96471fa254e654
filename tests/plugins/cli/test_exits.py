"""Exit codes are a promise to scripts: one table, and every error has its place in it."""

from __future__ import annotations

import click
import pytest
from nr_llm import errors
from nr_llm.errors import NrLlmError, UnknownNameError
from nr_llm.state import RunState, TerminationReason
from nr_llm_cli.exits import REASONS, Exit, exit_of
from nr_llm_cli.failures import Failure, Stop, failure_of

UNREAD = "Names of your own are in nr-llm.toml: nr-llm config path says where it is looked for."

CODES = {
    "NrLlmError": 1,
    "InvalidValueError": 2,
    "InvalidSchemaError": 8,
    "MalformedJsonError": 2,
    "ConfigurationError": 3,
    "UnknownNameError": 3,
    "MissingCredentialError": 3,
    "PluginError": 8,
    "PluginLoadError": 8,
    "NameClashError": 8,
    "ProviderError": 4,
    "AuthenticationError": 3,
    "RateLimitError": 4,
    "InvalidRequestError": 4,
    "ModelNotFoundError": 4,
    "ToolCallRejectedError": 4,
    "ContextLengthError": 6,
    "ContentFilterError": 4,
    "ServiceError": 4,
    "TransportError": 4,
    "StreamInterruptedError": 4,
    "MalformedReplyError": 4,
    "InvalidOutputError": 4,
    "MissingToolCallError": 4,
    "BudgetExceededError": 6,
    "StoreError": 1,
    "RunExistsError": 1,
    "RunNotFoundError": 1,
    "RunClaimedError": 9,
    "SuspensionError": 1,
    "ToolError": 5,
    "RunCancelledError": 130,
}


def made(kind: type[NrLlmError]) -> NrLlmError:
    """Return an error of a class, whatever its constructor asks for."""
    return kind.__new__(kind, "text")


def kinds() -> dict[str, type[NrLlmError]]:
    found = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    return {name: value for name, value in found.items() if issubclass(value, NrLlmError)}


def test_every_error_has_its_code() -> None:
    """Each error class of the core has the code the table above says; a new class has to be placed."""
    found = {name: int(exit_of(_named(made(kind)))) for name, kind in kinds().items()}

    assert found == CODES


def _named(error: NrLlmError) -> NrLlmError:
    if isinstance(error, UnknownNameError):
        error.kind = "provider"
    return error


@pytest.mark.parametrize(("kind", "code"), [("tool", 5), ("tool group", 5), ("provider", 3), ("plugin", 3)])
def test_an_unknown_tool_is_a_tool_error(kind: str, code: int) -> None:
    """A tool nobody has is told from a provider nobody has."""
    assert exit_of(UnknownNameError(kind, "x")) == code


def test_what_is_no_error_of_ours_is_unexpected() -> None:
    """A bug has code 1, Ctrl-C 130."""
    assert exit_of(ValueError()) is Exit.UNEXPECTED
    assert exit_of(KeyboardInterrupt()) is Exit.INTERRUPTED


def test_codes_are_the_documented_ones() -> None:
    """The codes and their words never change."""
    assert {one.code: int(one) for one in Exit} == {
        "ok": 0, "unexpected": 1, "usage": 2, "configuration": 3, "provider": 4, "tool": 5, "bound": 6,
        "suspended": 7, "plugin": 8, "refused": 9, "interrupted": 130,
    }  # fmt: skip


def test_every_reason_of_a_run_has_its_code() -> None:
    """A run ends for no reason that has no code."""
    assert set(REASONS) == {str(reason) for reason in TerminationReason}


def test_an_error_is_one_line_with_its_remedy() -> None:
    """People get what happened and what to do in one line, programs get the two apart."""
    failure = failure_of(errors.ConfigurationError("No key.\nAt all.", remedy="Set ONE."))

    assert failure.line == "Error: No key.\\nAt all. Set ONE."
    assert failure.to_dict() == {
        "code": "configuration",
        "message": "No key.\nAt all.",
        "hint": "Set ONE.",
        "run_id": None,
    }


def test_an_error_names_its_run() -> None:
    """A failed run can be looked up."""
    error = errors.ServiceError("broke", provider="acme", status=500)
    error.state = RunState(run_id="r1", model="acme:x")

    assert failure_of(error) == Failure(Exit.PROVIDER, "acme: broke (HTTP 500)", "", "r1")


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (UnknownNameError("tool", "x"), "See nr-llm tools list."),
        (UnknownNameError("tool group", "x"), "See nr-llm tools list."),
        (UnknownNameError("secret", "x", remedy="Pass it."), "Pass it."),
        (UnknownNameError("provider", "x"), f"See nr-llm providers list. {UNREAD}"),
        (UnknownNameError("model", "x", remedy="Write it."), f"Write it. {UNREAD}"),
        (errors.ModelNotFoundError("gone", provider="acme"), "See nr-llm models list --provider acme."),
        (
            errors.AuthenticationError("no", provider="my-acme", status=401),
            "Check the key: NR_LLM_MY_ACME_API_KEY, or where the provider's table or page says.",
        ),
        (errors.AuthenticationError("no", status=401), ""),
        (errors.ServiceError("no", provider="acme"), ""),
    ],
)
def test_what_to_do_on_the_command_line_is_said(error: NrLlmError, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library knows no command that lists names, and no option that names a file."""
    monkeypatch.delenv("NR_LLM_CONFIG", raising=False)

    assert failure_of(error).hint == hint


def test_a_file_that_is_read_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file was named, so its absence is not the reason."""
    monkeypatch.setenv("NR_LLM_CONFIG", "nr-llm.toml")

    assert UNREAD not in failure_of(UnknownNameError("provider", "x")).hint


def test_an_unexpected_error_names_its_type_and_the_way_to_more() -> None:
    """A bug is told as one, with its type; `--debug` shows where."""
    failure = failure_of(KeyError("x"))

    assert failure.message == "KeyError: 'x'"
    assert "--debug" in failure.hint
    assert failure_of(RuntimeError()).message == "RuntimeError"


def test_errors_are_masked() -> None:
    """A key that got into an error's text does not leave it."""
    assert "sk-" not in failure_of(RuntimeError("refused key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")).line


def test_errors_of_click_have_their_codes() -> None:
    """Usage errors say where help is; others are unexpected; an abort is an interruption."""
    assert failure_of(click.UsageError("bad")) == Failure(Exit.USAGE, "bad", "See nr-llm --help.")
    assert failure_of(click.ClickException("odd")).exit is Exit.UNEXPECTED
    assert failure_of(click.Abort()).exit is Exit.INTERRUPTED


def test_a_stop_says_what_it_was_made_with() -> None:
    """A command that stops by itself chooses its code."""
    failure = Failure(Exit.BOUND, "enough")

    assert failure_of(Stop(failure)) is failure
