"""`nr-llm run`, in this process: what is asked, what is shown, which code comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.cli.installed import install, on_path
from tests.plugins.cli.shell import ask, invoke, last_error, plugin_file


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A model that calls `add` and answers."""
    return plugin_file(tmp_path)


def test_stdout_has_the_answer_alone(script: Path) -> None:
    """What a pipe gets is the answer; everything else is on stderr."""
    result = ask(script)

    assert result.exit_code == 0
    assert result.stdout == "The sum is 3.\n"


def test_the_way_is_told(script: Path) -> None:
    """First the model, where it is and whether the conversation leaves; then calls, tables, tokens."""
    first, begin, *lines = ask(script).stderr.splitlines()
    lines = [begin, *lines]

    assert first == "Model scripted:script at this process: the conversation stays on this machine."
    assert lines[0] == "round 1: asking …"
    assert lines[1].startswith("round 1: ")
    assert lines[1].endswith(", tokens: 10 in, 5 out, asks for 1 call")
    assert lines[2].startswith('  add {"a":1,"b":2}  ')
    assert lines[2].endswith(" ms, 1 B")
    assert lines[3:6] == ["    Sum", "    a  b", "    1  2"]
    assert lines[6] == "round 2: asking …"
    assert lines[7].endswith("ends: stop")
    assert lines[8] == "total: 2 rounds, 1 call, tokens: 10 in, 5 out, cost: –"


def test_leaving_the_machine_is_said(tmp_path: Path) -> None:
    """A model elsewhere is announced before anything is sent."""
    more = """
from nr_llm.providers import Endpoint

class Far(ScriptedProvider):
    def __init__(self, *replies):
        super().__init__(*replies)
        self.endpoint = Endpoint("api.acme.test")

ScriptedProvider = Far
"""
    path = plugin_file(tmp_path, '"hi"', more=more)

    assert ask(path).stderr.startswith(
        "Model scripted:script at api.acme.test: the conversation leaves this machine.\n"
    )


def test_a_model_that_is_passed_on_leaves_the_machine(tmp_path: Path) -> None:
    """A provider on this machine may have a model elsewhere."""
    path = plugin_file(tmp_path, '"hi"', model="elsewhere=True")

    assert "at this process: the conversation leaves this machine." in ask(path).stderr


def test_quiet_leaves_the_answer(script: Path) -> None:
    """`-q` prints the answer and nothing else."""
    result = ask(script, "-q")

    assert result.output == "The sum is 3.\n"


def test_verbose_tells_requests_thinking_and_progress(tmp_path: Path) -> None:
    """`-v` shows what is sent and what the model thinks."""
    more = '''
@tool
def walk(context: ToolContext) -> str:
    """Walk."""
    context.progress("one step")
    return "there"
'''
    replies = 'CompletionResponse(tool_calls=(ToolCall("c", "walk"),), reasoning="hm\\x1b[2J"), "Done."'
    text = ask(plugin_file(tmp_path, replies, more=more), "-v").stderr

    assert "round 1: sending 1 message; tools: add, walk\n" in text
    assert "  hm\\u001b[2J\n" in text
    assert "  walk: one step\n" in text


def test_a_small_model_is_announced_once_and_its_results_are_shown(tmp_path: Path) -> None:
    """Beside a sentence that may be wrong stands what the tool itself said."""
    path = plugin_file(tmp_path, model='notice="Demo quality."')

    text = ask(path).stderr

    assert text.count("Demo quality.") == 1
    assert "What add returned:\n  3\n" in text


def test_a_table_is_not_repeated_as_text(tmp_path: Path) -> None:
    """Rows that were drawn when the call ended are not shown again beside the answer; a text alone is."""
    more = '''
@tool
def count() -> ToolResult:
    """Count."""
    return ToolResult.text("2 things\\nlamp\\nchair", ToolArtifact.table("Things", ["name"], [["lamp"], ["chair"]]))

@tool
def tell() -> str:
    """Tell."""
    return "first\\nsecond"
'''
    replies = 'calling(("count", {}), ("tell", {})), "Two."'
    text = ask(plugin_file(tmp_path, replies, model='notice="Small."', more=more)).stderr

    assert text.count("lamp") == 1
    assert "What count returned:\n  2 things\n" in text
    assert "What tell returned:\n  first\n  second\n" in text


def test_a_tool_that_raises_names_the_way_to_see_where(tmp_path: Path) -> None:
    """The exception is no business of the model; a person is told how to see it, and sees it then."""
    more = '''
@tool
def boom() -> str:
    """Raise."""
    raise RuntimeError("no luck today")
'''
    path = plugin_file(tmp_path, 'calling(("boom", {})), "No."', more=more)
    short, long = ask(path).stderr, ask(path, "--debug").stderr

    assert "; run it again with --debug to see where\n" in short
    assert "no luck today" not in short
    assert "RuntimeError: no luck today" in long


def test_a_failing_call_shows_its_reason(tmp_path: Path) -> None:
    """A call that failed is marked, with the beginning of what the model read."""
    path = plugin_file(tmp_path, 'calling(("add", {"a": "x", "b": 2}), ("nope", {})), "No."')

    text = ask(path).stderr

    assert '  add {"a":"x","b":2}  not executed\n' in text
    assert '- a: expected an integer, got "x"' in text
    assert "  nope {}  not executed\n" in text


def test_text_beside_calls_is_no_answer(tmp_path: Path) -> None:
    """What a model says before it calls stays off stdout."""
    result = ask(plugin_file(tmp_path, 'calling(("add", {"a": 1, "b": 2}), content="Let me see."), "3"'))

    assert result.stdout == "3\n"
    assert "  Let me see.\n" in result.stderr


def test_artifacts_of_every_type_are_shown(tmp_path: Path) -> None:
    """Texts stand as they are, long tables are cut and say so."""
    more = '''
@tool
def look() -> ToolResult:
    """Look."""
    rows = [[i] for i in range(23)]
    return ToolResult.text("seen", ToolArtifact.text("Note", "one\\ntwo"), ToolArtifact.table("Rows", ["i"], rows))
'''
    text = ask(plugin_file(tmp_path, 'calling(("look", {})), "ok"', more=more)).stderr

    assert "    Note\n    one\n    two\n" in text
    assert "    19\n    … 3 more rows\n" in text


def test_what_models_and_tools_write_cannot_command_the_terminal(tmp_path: Path) -> None:
    """Escapes in answers, results, labels, cells, names and errors are shown, not obeyed."""
    more = '''
@tool
def bad() -> ToolResult:
    """Bad."""
    return ToolResult.text("r\\x1b[2J", ToolArtifact.table("l\\x1b[2J", ["c\\x9b"], [["v\\u202e"]]))
'''
    replies = 'calling(("bad", {}), ("n\\x1b[2J", {"k\\x1b": "\\x1b"})), "a\\x1b[2J\\u202e"'
    result = ask(plugin_file(tmp_path, replies, model='notice="q\\x1b[2J"', more=more))

    assert not set(result.output) & set("\x1b\x9b\u202e")
    assert result.stdout == "a\\u001b[2J\\u202e\n"


def test_one_document(script: Path) -> None:
    """`--json` prints the result, each step with its artifacts, and a conversation to go on with."""
    result = ask(script, "--json")
    found = json.loads(result.stdout)

    assert result.stderr == ""
    assert found["status"] == "done"
    assert found["content"] == "The sum is 3."
    assert found["reason"] == "completed"
    assert found["usage"] == {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    assert found["endpoint"] == {"host": "this process", "local": True}
    assert [step["kind"] for step in found["steps"]] == ["request", "llm", "tool", "request", "llm"]
    assert found["steps"][2]["tool_artifacts"][0]["data"] == {"columns": ["a", "b"], "rows": [[1, 2]]}
    assert [message["role"] for message in found["messages"]] == ["user", "assistant", "tool", "assistant"]


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_one_event_per_line(script: Path) -> None:
    """`--ndjson` begins with the context, tells steps and pieces, and ends with one terminal event."""
    result = ask(script, "--ndjson")
    found = events(result.stdout)

    assert result.stderr == ""
    assert found[0]["event"] == "context"
    assert [event["seq"] for event in found] == list(range(len(found)))
    assert found[0]["run_id"] == found[-1]["run_id"]
    assert [event["event"] for event in found].count("done") == 1
    assert found[-1]["event"] == "done"
    assert "".join(event["text"] for event in found if event["event"] == "text") == "The sum is 3."
    assert {event["event"] for event in found} == {"context", "step", "tool_call", "tool_finished", "text", "done"}


def test_reasoning_and_progress_are_events(tmp_path: Path) -> None:
    """A program sees what the model thinks and what tools say of their progress, and the model's notice."""
    more = '''
@tool
def walk(context: ToolContext) -> str:
    """Walk."""
    context.progress("one step")
    return "there"
'''
    replies = 'CompletionResponse(tool_calls=(ToolCall("c", "walk"),), reasoning="hm"), "Done."'
    found = events(ask(plugin_file(tmp_path, replies, model='notice="Small."', more=more), "--ndjson").stdout)

    assert found[0]["notice"] == "Small."
    told = [{name: value for name, value in event.items() if name != "seq"} for event in found]
    assert {"event": "reasoning", "text": "hm"} in told
    assert {"event": "progress", "call_id": "c", "tool": "walk", "message": "one step"} in told


def test_json_and_ndjson_exclude_each_other(script: Path) -> None:
    """Two forms of output at once are a mistake."""
    assert ask(script, "--json", "--ndjson").exit_code == 2


def test_an_answer_can_be_asked_for_as_a_whole(script: Path) -> None:
    """`--no-stream` sends requests that do not stream; the answer is the same."""
    result = ask(script, "--ndjson", "--no-stream")

    assert {event["event"] for event in events(result.stdout)} == {"context", "step", "tool_finished", "done"}
    assert events(result.stdout)[-1]["content"] == "The sum is 3."


def test_the_question_comes_from_stdin(tmp_path: Path) -> None:
    """`-` reads it, whatever bytes there are."""
    echo = 'lambda request: f"{request.messages[-1].content}!"'
    result = invoke("run", "-", "-m", "scripted:", "--plugin", plugin_file(tmp_path, echo), stdin=b"caf\xc3\xa9 \xff\n")

    assert result.stdout == "café �!\n"


@pytest.mark.parametrize("prompt", ["", "  "])
def test_an_empty_question_is_refused(prompt: str, script: Path) -> None:
    """There is nothing to ask; a pipe that broke upstream costs no model call."""
    result = invoke("run", prompt, "-m", "scripted:", "--plugin", script)

    assert result.exit_code == 2
    assert "The prompt is empty." in result.stderr


def test_system_files_and_options_reach_the_model(tmp_path: Path) -> None:
    """What the command line says is what the provider gets."""
    echo = (
        'lambda r: f"{r.messages[0].content}|{r.messages[1].content}|{len(r.messages[1].attachments)}'
        '|{r.options.temperature}|{r.options.max_tokens}|{r.model}"'
    )
    text, image = tmp_path / "note.txt", tmp_path / "a.png"
    text.write_text("milk", encoding="utf-8")
    image.write_bytes(b"\x89PNG\r\n\x1a\n")
    result = invoke(
        "run", "hi", "-m", "scripted:big", "--plugin", plugin_file(tmp_path, echo), "-s", "Be kind.",
        "-a", text, "-a", image, "--temperature", "0.5", "--max-tokens", "9",
    )  # fmt: skip

    assert result.stdout == "Be kind.|hi\n\nFile note.txt:\nmilk|1|0.5|9|big\n"


def test_a_file_the_model_does_not_read_costs_no_call(tmp_path: Path) -> None:
    """A known limit of a model is refused like a service would refuse it, before anybody is asked."""
    image = tmp_path / "a.png"
    image.write_bytes(b"\x89PNG\r\n\x1a\n")
    result = ask(plugin_file(tmp_path, '"hi"', model="attachments=()"), "-a", image)

    assert result.exit_code == 4
    assert "reads no image/png" in result.stderr


def offered(path: Path, *arguments: str) -> list[str]:
    """Return the tools a run would offer."""
    steps = json.loads(ask(path, "--dry-run", "--json", *arguments).stdout)["steps"]
    return list(steps[0]["tool_specs"])


def test_tools_are_chosen(script: Path) -> None:
    """By default all reads; else those named, by name, group or address, or none."""
    assert offered(script) == ["add"]
    assert offered(script, "-T", "erase", "-T", "add") == ["erase", "add"]
    assert offered(script, "-T", "@sums") == ["add"]
    assert offered(script, "-T", "script:erase") == ["erase"]
    assert offered(script, "-T", "none") == []


def test_none_excludes_other_tools(script: Path) -> None:
    """`-T none -T add` contradicts itself."""
    assert ask(script, "-T", "none", "-T", "add").exit_code == 2


def test_an_unknown_tool_is_named_with_those_that_look_alike(script: Path) -> None:
    """A typing error is found before the model is asked."""
    result = ask(script, "-T", "ad")

    assert result.exit_code == 5
    assert "There is no tool named 'ad'. Did you mean 'add'?" in result.stderr


def test_a_dry_run_shows_the_request_and_asks_nobody(tmp_path: Path) -> None:
    """What would be sent can be read first."""
    result = ask(plugin_file(tmp_path, 'ServiceError("asked")'), "--dry-run", "-s", "Be kind.")

    assert result.exit_code == 0
    assert result.stdout == "[system]\nBe kind.\n[user]\nhi\n[tools]\nadd\n"


@pytest.mark.parametrize(
    ("replies", "arguments", "code", "said"),
    [
        ('TransportError("no way", provider="scripted")', (), 4, "scripted: no way"),
        ('AuthenticationError("bad key", provider="scripted", status=401)', (), 3, "bad key (HTTP 401)"),
        ('ContextLengthError("too long")', (), 6, "too long"),
        ("ZeroDivisionError()", (), 1, "ZeroDivisionError"),
        ('calling(("add", {"a": 1, "b": 2}))', ("--max-rounds", "1"), 6, "Allow more with --max-rounds."),
        ('CompletionResponse(content="cu", finish_reason="length")', (), 6, "Allow more with --max-tokens."),
        ('CompletionResponse(content="", finish_reason="content_filter")', (), 4, "content policy"),
        ('"hi"', ("--temperature", "3"), 2, "temperature: 3.0 is not between 0 and 2"),
    ],
)
def test_codes_say_how_a_run_ended(
    replies: str, arguments: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    """Each way a run can end has its code, and one line says what to do."""
    result = ask(plugin_file(tmp_path, replies), *arguments)

    assert result.exit_code == code, result.stderr
    assert said in result.stderr


def test_a_cut_answer_is_printed_all_the_same(tmp_path: Path) -> None:
    """What there is of an answer is on stdout; the code says that it is not the whole one."""
    result = ask(plugin_file(tmp_path, 'CompletionResponse(content="Once upon", finish_reason="length")'))

    assert result.stdout == "Once upon\n"


def test_a_full_window_ends_legibly(tmp_path: Path) -> None:
    """A conversation that does not fit is not sent."""
    result = ask(plugin_file(tmp_path, model="context=16"))

    assert result.exit_code == 6
    assert "does not fit the model's context window" in result.stderr


def test_a_run_that_needs_a_person_is_suspended(tmp_path: Path) -> None:
    """A write waits: nothing ran, the waiting call is shown, the code is 7."""
    path = plugin_file(tmp_path, 'calling(("add", {"a": 1, "b": 2}), ("erase", {"path": "x"})), "never"')
    result = ask(path, "-T", "add", "-T", "erase")

    assert result.exit_code == 7
    assert result.stdout == ""
    assert '  waits: erase {"path":"x"}\n' in result.stderr
    assert "waits for a person to approve erase; nothing of this turn was executed" in result.stderr


def test_a_suspended_run_is_told_to_programs(tmp_path: Path) -> None:
    """Document and events name the pending calls; stderr's last line has the code."""
    path = plugin_file(tmp_path, 'calling(("erase", {"path": "x"}))')
    pending = {"index": 0, "name": "erase", "arguments": {"path": "x"}, "waits": True}
    document, lines = ask(path, "-T", "erase", "--json"), ask(path, "-T", "erase", "--ndjson")

    assert json.loads(document.stdout)["status"] == "awaiting_approval"
    for found in (json.loads(document.stdout), events(lines.stdout)[-1]):
        assert [{name: call[name] for name in pending} for call in found["pending"]] == [pending]
    assert events(lines.stdout)[-1]["event"] == "awaiting_approval"
    assert last_error(lines.stderr)["code"] == "suspended"
    assert last_error(lines.stderr)["run_id"] == events(lines.stdout)[0]["run_id"]


@pytest.mark.parametrize("form", ["--json", "--ndjson"])
def test_errors_have_an_envelope(form: str, tmp_path: Path) -> None:
    """With a form for programs, stderr's last line is the error as JSON, with the run."""
    result = ask(plugin_file(tmp_path, 'calling(("add", {"a": 1, "b": 2})), ServiceError("broke", provider="p")'), form)
    error = last_error(result.stderr)

    assert result.exit_code == 4
    assert (error["code"], error["message"], error["hint"]) == ("provider", "p: broke", "")
    assert len(error["run_id"]) == 32


def test_a_failed_run_ends_its_events(tmp_path: Path) -> None:
    """The last line of a failed run is an error event; a failed run has no document."""
    path = plugin_file(tmp_path, 'ServiceError("broke")')

    error = events(ask(path, "--ndjson").stdout)[-1]["error"]
    assert (error["class"], error["code"], error["message"]) == ("ServiceError", "provider", "broke")
    assert ask(path, "--json").stdout == ""


def test_a_guardrail_ends_the_events(tmp_path: Path) -> None:
    """By its name and with the code of a bound: asking again changes nothing."""
    more = "from nr_llm.middleware import GuardrailError\n"
    result = ask(plugin_file(tmp_path, 'GuardrailError("not that", guardrail="manners")', more=more), "--ndjson")
    last = events(result.stdout)[-1]

    assert result.exit_code == 6
    assert (last["event"], last["guardrail"], last["error"]["message"]) == ("guardrail_blocked", "manners", "not that")


def test_without_a_model_the_ways_to_one_are_told(script: Path) -> None:
    """Nobody named a model and none is installed: three real ways, and nothing is sent anywhere."""
    result = invoke("run", "hi", "--plugin", script, env={"OPENAI_API_KEY": "sk-proj-0123456789abcdefghij"})

    assert result.exit_code == 3
    assert "nr-llm models pull" in result.stderr
    assert "-m openai:" in result.stderr
    assert "NR_LLM_OPENAI_BASE_URL=" in result.stderr


def test_an_embedded_model_that_cannot_run_tells_the_ways(tmp_path: Path) -> None:
    """What it says is kept, and the other ways follow."""
    path = plugin_file(tmp_path, 'ConfigurationError("No weights here.", remedy="Pull.")', model='name="local"')
    result = invoke("run", "hi", "--plugin", path)

    assert result.exit_code == 3
    assert "Error: No weights here. Take one of three ways: " in result.stderr


def test_an_embedded_model_that_may_not_load_tells_the_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that is kept out, or broken, is no dead end."""
    install(on_path(tmp_path, monkeypatch), "nr_llm_embedded", "raise RuntimeError", name="local")
    denied = invoke("run", "hi", env={"NR_LLM_PLUGINS_DENY": "nr-llm-local"})
    broken = invoke("run", "hi", env={"NR_LLM_PLUGINS": "nr-llm-embedded"})

    assert (denied.exit_code, broken.exit_code) == (3, 3)
    assert "denied" in denied.stderr
    assert "Take one of three ways" in denied.stderr
    assert "RuntimeError" in broken.stderr


def test_a_plugin_that_failed_is_told(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on without its tools, and whoever misses them learns why and where to look."""
    name = install(on_path(tmp_path, monkeypatch), "nr_llm_embedded", "raise RuntimeError('no disk')", name="broken")
    arguments = ("hi", "-m", "scripted:", "--plugin", script)
    told, quiet = (invoke("run", *arguments, *more, env={"NR_LLM_PLUGINS": name}) for more in ((), ("-q",)))

    assert (told.exit_code, quiet.stderr) == (0, "")
    assert "Left out: Plugin 'broken': importing it raised RuntimeError" in told.stderr
    assert "no disk. See nr-llm plugins doctor.\n" in told.stderr


def test_other_mistakes_are_not_taken_for_a_missing_model(tmp_path: Path) -> None:
    """A wrong tool name is told as that, also when nobody named a model."""
    path = plugin_file(tmp_path, '"hi"', model='name="local"')
    result = invoke("run", "hi", "--plugin", path, "-T", "ad")

    assert result.exit_code == 5
    assert "three ways" not in result.stderr


def test_a_named_model_that_is_nobodys_is_told_as_that(script: Path) -> None:
    """Whoever named a model gets no lecture."""
    result = invoke("run", "hi", "-m", "scripte:", "--plugin", script)

    assert result.exit_code == 3
    assert "There is no provider named 'scripte'. Did you mean 'scripted'?" in result.stderr


def test_the_environment_names_the_model(script: Path) -> None:
    """NR_LLM_MODEL counts after -m and before the embedded one."""
    assert invoke("run", "hi", "--plugin", script, env={"NR_LLM_MODEL": "scripted:x"}).exit_code == 0


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError at line 1"),
        ("x =", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("x = 1", "no function with @tool above it"),
        ("def nr_llm_tool(): pass", "did you mean nr_llm_tools"),
    ],
)
def test_a_plugin_file_that_cannot_be_used_is_an_error(source: str, said: str, tmp_path: Path) -> None:
    """A file somebody named is not skipped: the error says file, line and reason, with code 8."""
    path = tmp_path / "broken.py"
    path.write_text(source, encoding="utf-8")
    result = invoke("run", "hi", "-m", "scripted:", "--plugin", path)

    assert result.exit_code == 8
    assert said in result.stderr
    assert "broken" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_plugin_file_is_python_source(tmp_path: Path) -> None:
    """A file of another kind is refused by name."""
    path = tmp_path / "tools.txt"
    path.write_text("", encoding="utf-8")

    assert "ends in .py" in invoke("run", "hi", "--plugin", path).stderr


def test_debug_shows_where(tmp_path: Path) -> None:
    """A traceback comes with --debug, before or after the command, or NR_LLM_DEBUG=1, and else not."""
    path = plugin_file(tmp_path, "ZeroDivisionError()")
    call = ("run", "hi", "-m", "scripted:", "--plugin", path)

    assert "Traceback" not in invoke(*call).stderr
    assert "Traceback" in invoke("--debug", *call).stderr
    assert "Traceback" in invoke(*call, "--debug").stderr
    assert "Traceback" in invoke(*call, env={"NR_LLM_DEBUG": "1"}).stderr


def test_a_remark_of_the_library_is_one_line(tmp_path: Path) -> None:
    """What is worth knowing and no failure is told, its controls visible."""
    more = '''
import logging

@tool
def odd() -> str:
    """Odd."""
    logging.getLogger("nr_llm.odd").warning("watch\\x1b[2J out\\nsecond")
    return "odd"
'''
    text = ask(plugin_file(tmp_path, 'calling(("odd", {})), "done"', more=more)).stderr

    assert "watch\\u001b[2J out\n" in text
    assert "second" not in text


def test_a_tools_exception_is_logged_for_those_who_debug(tmp_path: Path) -> None:
    """Its text reaches neither model nor screen; --debug shows it, controls made visible."""
    more = '''
@tool
def boom() -> str:
    """Boom."""
    raise ValueError("inner\\x1b[2J")
'''
    path = plugin_file(tmp_path, 'calling(("boom", {})), "done"', more=more)

    assert "inner" not in ask(path).stderr
    assert "inner\\u001b[2J" in ask(path, "--debug").stderr
