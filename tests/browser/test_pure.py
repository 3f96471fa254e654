"""What the page computes without a screen: folding, sorting, escaping, copying, and forms out of schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from nr_llm.feed import Feed, lines

from tests.browser.fake import World, serving
from tests.browser.shop import ANN, make_shop
from tests.browser.steps import module

pytest.importorskip("playwright", reason="install playwright, or run the session `browser`")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """One shop for all: nothing here changes it."""
    runtime, store = make_shop()
    with runtime:
        yield World(runtime, store)


@pytest.fixture(scope="module")
def page(browser: Any, world: World) -> Iterator[Any]:
    """One page for all: its modules are asked, and it stays as it is."""
    with serving(world) as address:
        page = browser.new_page()
        page.goto(address)
        yield page
        page.close()


HIDDEN = {
    "\u202e": "U+202E",
    "\u200b": "U+200B",
    "\u200d": "U+200D",
    "\ufeff": "U+FEFF",
    "\x1b": "U+001B",
    "\x00": "U+0000",
    "\u2066": "U+2066",
    "\u00ad": "U+00AD",
    "\U000e0041": "U+E0041",
    "\u2028": "U+2028",
}


@pytest.mark.parametrize("character", HIDDEN, ids=list(HIDDEN.values()))
def test_what_cannot_be_seen_is_escaped(page: Any, character: str) -> None:
    """Controls, bidi controls, and characters without width show as their code."""
    assert module(page, "text", "m.visible(a)", f"a{character}b") == f"a{HIDDEN[character]}b"


def test_plain_text_is_left_alone(page: Any) -> None:
    """Letters of any script, emoji, tabs and newlines stay as they are."""
    text = "Zażółć\tgęślą\njaźń 漢字 עברית 🛋"

    assert module(page, "text", "m.visible(a)", text) == text


def test_what_is_approved_hides_no_blank(page: Any) -> None:
    """In exact texts a blank that is no space, and a tab, are escaped too."""
    found = module(page, "text", "m.pieces(a, {exact: true}).map(p => p.code ?? p).join('')", "a\u00a0b\tc\ufe0f d")

    assert found == "aU+00A0bU+0009cU+FE0F d"


@pytest.mark.parametrize("text", ['{"id":12345678901234567890}', '[9007199254740993,-9007199254740993,1.5,"1e999"]'])
def test_no_number_is_rounded(page: Any, text: str) -> None:
    """A whole number longer than a double holds is read and written as it was."""
    assert module(page, "text", "m.stringify(m.parse(a))", text) == text


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (["10", "9", "100", None, ""], ["9", "10", "100", "", None]),
        ([10, 9, -1, None], [-1, 9, 10, None]),
        (["2026-03-01", "2025-12-31", "2026-01-02T10:00:00Z"], ["2025-12-31", "2026-01-02T10:00:00Z", "2026-03-01"]),
        (["item 10", "item 9", "Item 1"], ["Item 1", "item 9", "item 10"]),
        ([True, False, None], [False, True, None]),
        (["b", "", None, "a"], ["", "a", "b", None]),
        (["-", "10", "9"], ["-", "9", "10"]),
    ],
)
def test_columns_sort_by_what_they_hold(page: Any, column: list[Any], wanted: list[Any]) -> None:
    """Numbers, dates and words each in their own order, and null last."""
    rows = [[cell] for cell in column]

    assert module(page, "table", "m.order(a, 0, 'ascending').map(i => a[i][0])", rows) == wanted


def test_sorting_is_stable_both_ways(page: Any) -> None:
    """Equal cells keep the order they had, and null stays last when the order is turned."""
    rows = [[1, "a"], [0, "b"], [1, "c"], [None, "d"], [0, "e"]]

    up = module(page, "table", "m.order(a, 0, 'ascending').map(i => a[i][1])", rows)
    down = module(page, "table", "m.order(a, 0, 'descending').map(i => a[i][1])", rows)

    assert (up, down) == (list("beacd"), list("acbed"))


def test_copies_guard_formulas_and_quote(page: Any) -> None:
    """Texts that a spreadsheet would run get an apostrophe; numbers do not; separators are quoted."""
    rows = [["=1+1", "+a", "-b", "@c", "\td", -5, 'say "x", twice', "two\nlines", None]]
    columns = list("abcdefghi")

    csv = module(page, "table", "m.toCSV(a[0], a[1])", [columns, rows])
    tsv = module(page, "table", "m.toTSV(a[0], a[1])", [columns, rows])
    plain = module(page, "table", "m.toJSON(a[0], a[1])", [columns, rows])

    assert csv.split("\r\n")[1] == '\'=1+1,\'+a,\'-b,\'@c,\'\td,-5,"say ""x"", twice","two\nlines",'
    assert tsv.split("\n", 1)[1] == '\'=1+1\t\'+a\t\'-b\t\'@c\t"\'\td"\t-5\t"say ""x"", twice"\t"two\nlines"\t'
    assert json.loads(plain) == {"columns": columns, "rows": rows}


@pytest.mark.parametrize(
    "data",
    [None, {}, {"columns": ["a"], "rows": [[1, 2]]}, {"columns": [1], "rows": []}, {"columns": ["a"], "rows": [[{}]]}],
)
def test_what_is_no_table_is_not_drawn_as_one(page: Any, data: Any) -> None:
    """A store may hold anything: ragged rows, cells that are no scalars, no columns."""
    assert module(page, "table", "m.shape(a)", data) is None


def told(world: World, prompt: str, tools: list[str]) -> list[dict[str, Any]]:
    """Return the lines of a run of the shop."""
    stream = world.runtime.stream(prompt, tools=tools, actor=ANN)
    return [json.loads(line) for line in lines(stream, Feed())]


FOLDED = "a.reduce((run, line) => m.fold(run, line), m.begin())"


def test_a_run_is_folded(page: Any, world: World) -> None:
    """Rows in the order of events, with totals, prompt and end."""
    found = told(world, "List the orders", ["orders"])

    rows = module(page, "fold", f"{FOLDED}.items.map(i => [i.key, i.state])", found)
    facts = module(page, "fold", f"(r => [r.status, r.prompt, r.totals.rounds, r.totals.total])({FOLDED})", found)

    assert rows == [
        ["r1-request-1", "ok"],
        ["r1-llm-1", "ok"],
        ["r1-tool-1", "ok"],
        ["r2-request-1", "ok"],
        ["r2-llm-1", "ok"],
        ["r2-end-1", "ok"],
    ]
    assert facts == ["done", "List the orders", 2, 1629]


def test_lines_told_twice_change_nothing(page: Any, world: World) -> None:
    """A resumed stream may begin before the place where the other broke off."""
    found = told(world, "List the orders", ["orders"])
    twice = [*found[:6], *found[2:]]

    keys = f"{FOLDED}.items.map(i => [i.key, i.v])"

    assert module(page, "fold", keys, twice) == module(page, "fold", keys, found)


def test_missing_lines_leave_a_gap(page: Any, world: World) -> None:
    """Numbers that are not there are said, whatever came after them."""
    found = told(world, "List the orders", ["orders"])
    gaps = module(page, "fold", f"{FOLDED}.items.filter(i => i.kind === 'gap').map(i => i.gap)", found[:3] + found[5:])

    assert gaps == [{"from": 3, "to": 4}]


def test_steps_and_events_of_unknown_kinds_are_rows(page: Any) -> None:
    """A kind that a later version tells of is shown, not dropped."""
    found = [
        {"event": "context", "seq": 0, "run_id": "r"},
        {"event": "step", "seq": 1, "step": {"kind": "dropped", "round": 1}},
        {"event": "weather", "seq": 2},
        {"event": "step", "seq": 3, "withheld": "what happened is no JSON"},
    ]

    assert module(page, "fold", f"{FOLDED}.items.map(i => i.kind)", found) == ["other"] * 3


def test_repeated_ids_find_their_calls(page: Any) -> None:
    """Calls of one turn may have the same id: each result lands at its own call."""
    calls = [{"id": "c", "name": "a", "arguments": {}}, {"id": "c", "name": "b", "arguments": {}}]
    tools = [{"kind": "tool", "round": 1, "tool_name": name, "tool_call_id": "c", "tool_result": name} for name in "ab"]
    steps = [{"kind": "llm", "round": 1, "requested_tool_calls": calls}, *tools]
    found = [{"event": "step", "seq": seq, "step": step} for seq, step in enumerate(steps)]

    rows = module(page, "fold", f"{FOLDED}.items.slice(1).map(i => [i.call.name, i.step.tool_result])", found)

    assert rows == [["a", "a"], ["b", "b"]]


SCHEMA = {
    "type": "object",
    "required": ["name", "when", "note"],
    "properties": {
        "name": {"type": "string", "description": "As printed."},
        "age": {"type": "integer", "minimum": 0},
        "size": {"$ref": "#/$defs/Size"},
        "when": {"type": "string", "format": "date"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object"},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
    "$defs": {"Size": {"enum": ["small", "large"]}},
}


def test_a_schema_makes_fields(page: Any) -> None:
    """Each property becomes a field of its kind; what cannot be drawn is asked for as JSON."""
    found = module(page, "forms", "m.fieldsOf(a).map(f => [f.name, f.kind, f.required, f.nullable])", SCHEMA)

    assert found == [
        ["name", "string", True, False],
        ["age", "integer", False, False],
        ["size", "choice", False, False],
        ["when", "string", True, False],
        ["note", "string", True, True],
        ["tags", "lines", False, False],
        ["more", "json", False, False],
        ["either", "json", False, False],
    ]


@pytest.mark.parametrize(
    ("kind", "typed", "wanted"),
    [
        ("integer", "12", "12"),
        ("integer", "12345678901234567890", "12345678901234567890"),
        ("number", "-1.5", "-1.5"),
        ("boolean", "false", "false"),
        ("lines", "a\n\nb", '["a","b"]'),
        ("json", '{"a":[1]}', '{"a":[1]}'),
        ("string", "", None),
        ("integer", "1.5", "SyntaxError"),
        ("number", "much", "SyntaxError"),
        ("json", "{", "SyntaxError"),
    ],
)
def test_what_was_typed_is_read_as_its_kind(page: Any, kind: str, typed: str, wanted: str | None) -> None:
    """Values have the schema's type, an empty field is left out, and nonsense is refused."""
    read = "(() => { try { return t.stringify(m.valueOf({kind: a[0]}, a[1])) ?? null } catch (e) { return e.name } })()"
    code = read.replace("t.stringify", "((v) => typeof v === 'bigint' ? String(v) : JSON.stringify(v))")

    assert module(page, "forms", code, [kind, typed]) == wanted


def test_boxes_of_a_group_have_three_states(page: Any) -> None:
    """All, none, or some of them."""
    assert module(page, "ask", "[m.tri(0, 3), m.tri(2, 3), m.tri(3, 3)]") == ["none", "some", "all"]


def test_the_address_is_read_as_it_is_written(page: Any) -> None:
    """Whatever stands in it, and nothing that is not known."""
    route = {"run": "a b&c=#d", "tab": "event", "pos": "3"}

    assert module(page, "route", "m.read(m.write({...a, bad: 1}))", route) == route


STEPS: list[dict[str, Any]] = [
    {"kind": "request", "messages_sent": [{"role": "user", "content": "hi"}], "tool_specs": ["t"]},
    {"kind": "llm", "content": "a", "reasoning": "b", "requested_tool_calls": [{"id": "c", "name": "t"}]}
    | {"requested_tool_names": ["t"], "finish_reason": "stop", "finish_detail": "x", "raw": {}, "cost": "1"},
    {"kind": "tool", "tool_name": "t", "tool_call_id": "c", "tool_arguments": {}, "tool_result": "r"}
    | {"tool_artifacts": [{"type": "table", "label": "l", "data": {"columns": ["a"], "rows": [[1]]}}]}
    | {"tool_is_error": True, "tool_executed": True, "tool_artifacts_types": ["table"], "tool_artifacts_count": 1},
    {"kind": "approval", "requested_tool_calls": [{"id": "c", "name": "t"}], "previews": [{"tool": "t", "lines": []}]},
    {"kind": "approval", "decided_by": "ann", "decisions": [{"index": 0, "tool": "t"}], "edited_arguments": [{}]},
    {"kind": "context", "context_budget": {"budget": 1, "remaining": -1}},
]
CALL = {"index": 0, "name": "t", "waits": True, "arguments": {}, "digest": "d", "malformed": "{", "form": {}}
ENDS: list[dict[str, Any]] = [
    {"event": "awaiting_approval", "pending": [{**CALL, "form": None, "preview": {"lines": ["+a"]}}]},
    {"event": "awaiting_input", "pending": [CALL]},
    {"event": "done", "reason": "completed", "content": "x", "usage": {"input_tokens": 1}, "cost": "1"},
    {"event": "error", "reason": "error", "error": {"class": "E", "message": "m"}, "guardrail": "g", "truncated": True},
]
OTHERS: list[dict[str, Any]] = [
    {"event": "text", "text": "a"},
    {"event": "tool_call", "name": "t", "arguments": "{"},
    {"event": "progress", "call_id": "c", "tool": "t", "message": "m"},
    {"event": "tool_finished", "call_id": "c", "tool": "t", "seconds": 1},
    {"event": "gap", "from": 1, "to": 2},
]
ODD: list[Any] = [None, 7, "x", [None], ["x"], [{}], {}]
DRAWN = """async ([lines, last]) => {
  const load = (name) => import(new URL(`assets/${name}.js`, document.baseURI));
  const names = ["fold", "timeline", "detail", "decide", "table"];
  const [{ begin, fold }, { timeline, endView }, { detail }, { decideView }] = await Promise.all(names.map(load));
  const div = () => document.createElement("div");
  const run = begin("r");
  for (const line of lines) fold(run, line);
  const rows = timeline(div(), () => {});
  while (rows.draw({ run, selected: null, filter: "" }));
  const root = div();
  const one = detail(root, () => {});
  for (const item of run.items) {
    one.draw(item, null, run);
    const tabs = [...root.querySelectorAll("[role=tab]")].map((tab) => tab.dataset.tab);
    for (const tab of tabs) one.draw(item, tab, run);
  }
  decideView(run.pending, new Map(), () => {});
  endView(run);
  return [run.status, run.items.length > 0];
}"""


def mutated() -> Iterator[tuple[str, list[dict[str, Any]], str]]:
    """Yield runs in which one field has another shape than anybody writes, each with its last event."""
    context = {"event": "context", "run_id": "r", "model": "m"}
    made = [{"event": "step", "step": {"round": 1, "duration_ms": 1, **step}} for step in STEPS]
    for one in [*made, *OTHERS, *ENDS]:
        inner = one.get("step", one)
        for name in inner.keys() - {"event", "kind"}:
            for odd in ODD:
                wrong = {"event": "step", "step": {**inner, name: odd}} if "step" in one else {**inner, name: odd}
                last = wrong if one in ENDS else ENDS[2]
                yield (
                    f"{inner.get('kind', one['event'])}.{name}={odd!r}",
                    [context, *made[:2], wrong, last],
                    last["event"],
                )


def test_no_shape_stops_the_page(page: Any) -> None:
    """Whatever a field of a line holds, the run is folded to its end and each of its steps can be drawn in each tab."""
    runs = list(mutated())
    code = f"async runs => Promise.all(runs.map(one => ({DRAWN})(one).catch(error => error.stack.slice(0, 300))))"
    found = page.evaluate(code, [[told, last] for _, told, last in runs])

    wrong = [(name, seen) for (name, _, last), seen in zip(runs, found, strict=True) if seen != [last, True]]
    assert wrong == []
