"""What the writing tools do to one record, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm import Runtime
from nr_llm.artifacts import ArtifactType
from nr_llm.diffs import unified
from nr_llm.results import ToolResult
from nr_llm.secrets import MASK
from nr_llm_sql import _answers as answers

from tests.plugins.sql.books import CREATE, DRAFTS, ORDERS, UPDATE, WRITE, Book
from tests.plugins.sql.conftest import MakeBook

KEY = "sk-" + "Ab1" * 12


def table(result: ToolResult) -> dict[str, str]:
    """Return the one record of a result's table."""
    [found] = [each for each in result.artifacts if each.type is ArtifactType.TABLE]
    [row] = found.data["rows"]
    return dict(zip(found.data["columns"], row, strict=True))


def diff(result: ToolResult) -> str:
    """Return a result's diff."""
    [found] = [each for each in result.artifacts if each.type is ArtifactType.DIFF]
    return unified(found.data)


class TestUpdate:
    def test_it_changes_one_record_and_returns_it(self, book: Book) -> None:
        """The record is read back, in text and table from the same cells; nobody else's record changes."""
        result = book.update({"status": "sent", "note": "by post"})

        assert book.orders("id, status, note") == [(4, "sent", "by post"), (9, "open", "")]
        assert result.content.splitlines()[0] == "Changed orders:4: status (was open), note (was null)."
        assert (table(result)["id"], table(result)["status"]) == ("4", "sent")
        drawn = [f"  {name}: {cell}" for name, cell in table(result).items() if name != "id"]
        assert result.content.splitlines()[1:] == ["orders:4", *drawn]

    def test_people_see_what_changed(self, book: Book) -> None:
        """The diff has one line a field on each side, and null is no text."""
        changed = diff(book.update({"status": "sent", "note": "null"}))

        assert changed == ('--- orders:4\n+++ orders:4\n-status: "open"\n+status: "sent"\n-note: null\n+note: "null"\n')

    def test_the_same_again_is_no_write(self, book: Book) -> None:
        """The second attempt at a write whose answer was lost succeeds, whatever it expected to find."""
        book.update({"status": "sent"}, expected={"status": "open"})
        again = book.update({"status": "sent"}, expected={"status": "open"})

        assert again.content.startswith("orders:4 says this already.")
        assert [each.type for each in again.artifacts] == [ArtifactType.TABLE]

    def test_null_is_not_empty(self, book: Book) -> None:
        """A field can be emptied and can be made an empty text; each is a change of the other."""
        book.update({"note": ""}, expected={"note": None})
        assert book.orders("note") == [("",), ("",)]

        book.update({"note": None}, expected={"note": ""})
        assert book.orders("note") == [(None,), ("",)]

    def test_no_record_no_write(self, book: Book) -> None:
        """A key that no record has is told."""
        assert "There is no such record in orders" in book.not_updated({"status": "sent"}, key=5)

    @pytest.mark.parametrize(
        "key", [{}, {"id": 4, "status": "open"}, {"status": "open"}, {"nothing": 4}, {"ID": 4, "id": 4}]
    )
    def test_the_primary_key_alone_names_a_record(self, key: dict[str, Any], book: Book) -> None:
        """Nothing else does, nor does the key with something beside."""
        assert "`key` must give the primary key of orders alone: id" in book.not_updated({"status": "x"}, key=key)

    @pytest.mark.parametrize("key", [None, True])
    def test_a_key_is_text_or_a_number(self, key: object, book: Book) -> None:
        """Neither null nor true names a record."""
        assert "`key` must give texts or numbers" in book.not_updated({"status": "x"}, key={"id": key})

    def test_a_key_of_two_fields(self, make_book: MakeBook) -> None:
        """Both fields together name the record."""
        book = make_book(
            "CREATE TABLE t (a int, b varchar(9), v text, PRIMARY KEY (b, a));"
            "INSERT INTO t VALUES (1, 'x', 'one'), (1, 'y', 'two'), (2, 'x', 'three')",
            write={"t": ["v"]},
        )
        result = book.update({"v": "new"}, key={"a": 1, "b": "y"}, table="t")

        assert book.run("SELECT v FROM t ORDER BY b, a") == [("one",), ("three",), ("new",)]
        assert result.content.splitlines()[0] == "Changed t:y,1: v (was two)."

    @pytest.mark.parametrize(
        "values",
        [{"id": 5}, {"nothing": 1}, {"status": "x", "nothing": 1}, {"STATUS": "x", "status": "y"}, {}],
        ids=["key", "unknown", "one-of-two", "twice", "none"],
    )
    def test_one_field_too_many_and_nothing_is_written(self, values: dict[str, Any], book: Book) -> None:
        """The whole call is refused, and says what may be written."""
        said = book.not_updated(values)

        assert "These fields of orders may be written: customer, status, total, note, number, paid." in said
        assert book.orders() == [("open",), ("open",)]

    def test_more_fields_than_a_person_sees(self, make_book: MakeBook) -> None:
        """A call writes no more fields than a preview shows."""
        names = [f"c{i}" for i in range(16)]
        book = make_book(
            f"CREATE TABLE t (id int PRIMARY KEY, {', '.join(f'{name} text' for name in names)});"
            "INSERT INTO t (id) VALUES (1)",
            write={"t": names},
        )

        assert "15 fields at most" in book.not_updated(dict.fromkeys(names, "x"), key=1, table="t")
        arguments = {"table": "t", "key": {"id": 1}, "values": dict.fromkeys(names[:15], "x")}
        assert book.preview(UPDATE, **arguments)[-15:] == [f'{name}: null → "x"' for name in names[:15]]

    def test_a_field_beside_the_grant(self, make_book: MakeBook) -> None:
        """Being readable is not being open to writing."""
        book = make_book(ORDERS, write={"orders": ["note"]})

        assert "may be written: note." in book.not_updated({"status": "sent"})

    @pytest.mark.parametrize("name", ["customers", "nothing", "sqlite_master", "pg_catalog.pg_class", "pg_class", ""])
    def test_no_other_table(self, name: str, book: Book) -> None:
        """Not there, not permitted and not open to writing are one answer."""
        assert book.not_updated({"name": "x"}, table=name, key=1) == answers.NOT_WRITABLE

    def test_a_trigger_s_change_is_shown(self, make_book: MakeBook) -> None:
        """What the database changes in the record by itself stands in the answer."""
        book = make_book(ORDERS, write=WRITE)
        if book.postgres:
            book.run(
                "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN NEW.number := 'B1'; RETURN NEW; END $$;"
                "CREATE TRIGGER touched BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch()"
            )
        else:
            book.run(
                "CREATE TRIGGER touched AFTER UPDATE OF status ON orders BEGIN"
                " UPDATE orders SET number = 'B1' WHERE id = new.id; END;"
            )
        shown = book.preview(UPDATE, table="orders", key={"id": 4}, values={"status": "sent"})
        result = book.update({"status": "sent"})

        assert "Triggers of the table, which may run too: touched" in shown
        assert table(result)["number"] == "B1"
        assert '-number: "A1"\n+number: "B1"\n' in diff(result)

    def test_a_trigger_that_makes_something_else_of_it(self, make_book: MakeBook) -> None:
        """A person approved these values: if the database would store others, nothing is stored."""
        book = make_book(ORDERS, write=WRITE)
        if book.postgres:
            book.run(
                "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN NEW.status := upper(NEW.status); RETURN NEW; END $$;"
                "CREATE TRIGGER shouting BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION shout()"
            )
        else:
            book.run(
                "CREATE TRIGGER shouting AFTER UPDATE OF status ON orders BEGIN"
                " UPDATE orders SET status = upper(new.status) WHERE id = new.id; END;"
            )

        assert "would store something else: status as SENT" in book.not_updated({"status": "sent"})
        assert book.orders() == [("open",), ("open",)]

    @pytest.mark.parametrize("key", [2**63, -(2**70), 1e300, float("inf"), "99999999999999999999"])
    def test_a_key_that_no_column_holds(self, key: Any, book: Book) -> None:
        """It is no record's."""
        book.not_updated({"status": "x"}, key=key)

        assert book.orders() == [("open",), ("open",)]


class TestExpected:
    def test_what_is_as_expected_is_changed(self, book: Book) -> None:
        """Any field that can be read can be expected to be something."""
        book.update({"status": "sent"}, expected={"status": "open", "paid": False, "total": 9.5, "note": None})

        assert book.orders() == [("sent",), ("open",)]

    @pytest.mark.parametrize(
        ("expected", "now"),
        [
            ({"status": "Open"}, "status is now open"),
            ({"note": ""}, "note is now null"),
            ({"total": "9.51"}, "total is now 9.5"),
            ({"status": "open", "number": "A2"}, "number is now A1"),
        ],
    )
    def test_what_is_not_is_left(self, expected: dict[str, Any], now: str, book: Book) -> None:
        """Somebody else's change is not lost: the model reads what is there now."""
        said = book.not_updated({"status": "sent"}, expected=expected)

        assert f"orders:4 is not as expected: {now}" in said
        assert book.orders() == [("open",), ("open",)]

    def test_more_than_one_call_asks(self, book: Book) -> None:
        """There is a bound on what is expected, too."""
        said = book.not_updated({"status": "sent"}, expected={f"c{i}": 1 for i in range(16)})

        assert "15 fields at most" in said

    @pytest.mark.parametrize("expected", [{"nothing": 1}, {"status": "open", "STATUS": "open"}])
    def test_a_name_that_cannot_be_read(self, expected: dict[str, Any], book: Book) -> None:
        """What is not there is as what is hidden."""
        said = book.not_updated({"status": "sent"}, expected=expected)

        assert said.startswith("`expected` names fields that cannot be read, or one twice.")

    def test_a_hidden_field_cannot_be_guessed(self, make_book: MakeBook) -> None:
        """A credential is no field that could be expected to be something."""
        book = make_book(ORDERS, write={"customers": ["name"]})
        said = {
            book.not_updated({"name": "x"}, table="customers", key=1, expected={name: "f00"})
            for name in ("password_hash", "nothing")
        }

        assert len(said) == 1


class TestCreate:
    def test_it_creates_a_draft_and_returns_its_key(self, book: Book) -> None:
        """The database makes the key, the settings mark the record."""
        result = book.create({"customer": 2, "note": "call back", "total": "12.34"})

        assert result.content.splitlines()[0] == "Created orders:10 as a draft."
        assert book.orders("id, customer, status, note")[2:] == [(10, 2, "draft", "call back")]
        assert (table(result)["id"], table(result)["status"], table(result)["total"]) == ("10", "draft", "12.34")
        assert diff(result).startswith("--- /dev/null\n+++ orders:10\n+customer: ")

    def test_twice_is_two(self, book: Book) -> None:
        """A second call creates a second record: nobody repeats it unasked."""
        book.create({"note": "x"})
        book.create({"note": "x"})

        assert len(book.orders()) == 4

    @pytest.mark.parametrize("name", ["status", "STATUS", "id", "paid", "nothing"])
    def test_nothing_but_the_fields(self, name: str, book: Book) -> None:
        """Neither the mark nor the key is the model's to choose."""
        said = book.not_created({"note": "x", name: "1"})

        assert "may be written: customer, total, note, number." in said
        assert len(book.orders()) == 2

    def test_what_marks_it_has_to_be_there(self, make_book: MakeBook) -> None:
        """Where the field is gone that says so, nothing is created that could pass for finished."""
        book = make_book(ORDERS, drafts={"orders": {"fields": ["note"], "set": {"draft": True}}})

        assert "there is no such field, or it is not open to writing" in book.not_created({"note": "x"})

    def test_a_table_that_makes_no_key(self, make_book: MakeBook) -> None:
        """Keys are never written, so a record that would need one is not created."""
        book = make_book(
            "CREATE TABLE t (code varchar(9) NOT NULL PRIMARY KEY, v text, draft int)",
            drafts={"t": {"fields": ["v"], "set": {"draft": 1}}},
        )

        assert "must have a value" in book.not_created({"v": "x"}, table="t")
        assert "may be written: v." in book.not_created({"code": "x"}, table="t")

    def test_a_value_that_is_missing(self, make_book: MakeBook) -> None:
        """A field that must have a value is not named: it may be one that nobody sees."""
        book = make_book(
            "CREATE TABLE t (id integer PRIMARY KEY {counted}, v text, api_key text NOT NULL, draft int)",
            drafts={"t": {"fields": ["v"], "set": {"draft": 1}}},
        )
        said = book.not_created({"v": "x"}, table="t")

        assert "must have a value" in said
        assert "api_key" not in said


def test_the_largest_answer_passes_every_bound(make_book: MakeBook) -> None:
    """A wide record whose written fields are long arrives with its table and its diff."""
    names = [f"c{i}" for i in range(100)]
    book = make_book(
        f"CREATE TABLE t (id integer PRIMARY KEY, {', '.join(f'{name} text' for name in names)});"
        f"INSERT INTO t SELECT 1, {', '.join(['x.v'] * 100)} FROM (SELECT '{chr(0x1F989) * 1_000}' AS v) AS x",
        write={"t": names},
    )
    values = {name: '"\\\x7f' + chr(0x8868) * 1_000 for name in names[:15]}
    with Runtime(tools=book.tools.values()) as runtime:
        result = runtime.call(UPDATE, {"table": "t", "key": {"id": 1}, "values": values})

    assert [each.type for each in result.artifacts] == [ArtifactType.TABLE, ArtifactType.DIFF]
    assert len(result.artifacts[1].data["lines"]) == 30
    assert "further fields left out for size" in result.content.splitlines()[-1]


class TestPreview:
    def test_it_says_what_would_change(self, book: Book) -> None:
        """One line a field, as it is and as it would be; what is not expected is said to be replaced."""
        lines = book.preview(
            UPDATE,
            table="orders",
            key={"id": 9},
            values={"status": "sent", "note": "two  blanks\n"},
            expected={"status": "open", "number": "A2"},
        )

        assert lines == [
            "Changes orders:9:",
            "Whatever is there by then is replaced: note",
            'Only if still as expected: status, number ("A2")',
            'status: "open" → "sent"',
            'note: "" → "two··blanks\\n"',
        ]
        assert book.orders() == [("open",), ("open",)]

    def test_it_says_what_stays(self, book: Book) -> None:
        """A field that has its value already is no change."""
        arguments = {"table": "orders", "key": {"id": 4}, "values": {"status": "open", "note": "x"}}

        assert book.preview(UPDATE, **arguments)[2:] == ['status: "open", as it is', 'note: null → "x"']
        arguments["values"] = {"status": "open"}
        assert book.preview(UPDATE, **arguments) == ["orders:4 says this already; nothing would be changed."]

    def test_it_says_what_would_be_created(self, book: Book) -> None:
        """What the settings add is told apart from what the model asks for."""
        lines = book.preview(CREATE, table="orders", values={"note": "x"})

        assert lines == ["Creates a draft in orders:", 'note: "x"', 'status: "draft" (every draft has this)']
        assert len(book.orders()) == 2

    @pytest.mark.parametrize(
        ("name", "arguments", "why"),
        [
            (UPDATE, {"key": {"id": 5}, "values": {"note": "x"}}, "no such record"),
            (UPDATE, {"key": {"id": 4}, "values": {"id": 5}}, "may be written"),
            (UPDATE, {"key": {"id": 4}, "values": {"note": "x"}, "expected": {"note": "y"}}, "not as expected"),
            (UPDATE, {"key": {"id": 4}, "values": {"total": "much"}}, "wants a number"),
            (UPDATE, {"table": "customers", "key": {"id": 1}, "values": {"name": "x"}}, "not open to writing"),
            (CREATE, {"values": {"status": "sent"}}, "may be written"),
        ],
    )
    def test_it_says_that_it_would_fail(self, name: str, arguments: dict[str, Any], why: str, book: Book) -> None:
        """Whoever decides sees what the model would be told."""
        [line] = book.preview(name, **{"table": "orders", **arguments})

        assert line.startswith("It would fail: ")
        assert why in line


class TestSecrets:
    def test_a_masked_credential_is_not_destroyed(self, book: Book) -> None:
        """What a model gives back of what it was shown is not what stood there."""
        book.run(f"UPDATE orders SET note = 'use {KEY} there' WHERE id = 4")

        said = book.not_updated({"note": f"use {MASK} here"})
        assert said.startswith(f"note holds credentials, which you are shown as {MASK}")
        assert book.orders("note")[0] == (f"use {KEY} there",)

    def test_the_shown_part_is_not_the_whole(self, book: Book) -> None:
        """A long text is not replaced by its beginning and an ellipsis."""
        book.run(f"UPDATE orders SET note = '{'long ' * 200}' WHERE id = 4")
        shown = table(book.update({"status": "sent"}))["note"]

        assert shown.endswith("…")
        assert "the rest would be lost" in book.not_updated({"note": shown})

    def test_nobody_is_shown_a_credential(self, book: Book) -> None:
        """Old and new secrets are masked in text, table, diff, preview and refusals."""
        book.run(f"UPDATE orders SET note = 'old {KEY}x' WHERE id = 4")
        arguments = {"table": "orders", "key": {"id": 4}, "values": {"note": f"new {KEY}"}}
        said = book.not_updated({"status": "x"}, expected={"note": "none"})
        lines = book.preview(UPDATE, **arguments)
        result = book.call(UPDATE, **arguments)

        everything = repr((said, lines, result.content, [each.to_dict() for each in result.artifacts]))
        assert KEY not in everything
        assert everything.count(MASK) >= 6
        assert book.orders("note")[0] == (f"new {KEY}",)


class TestOffer:
    def test_drafts_and_updates_are_granted_apart(self, make_book: MakeBook) -> None:
        """Who may change records may not create any, and the other way round."""
        changing = make_book(ORDERS, write=WRITE)

        assert {UPDATE, CREATE} & changing.tools.keys() == {UPDATE}
        assert "Open to writing: orders (customer, status," in changing.tools[UPDATE].description

    def test_only_drafts(self, make_book: MakeBook) -> None:
        """A grant to create drafts is none to change them."""
        creating = make_book(ORDERS, drafts=DRAFTS)

        assert {UPDATE, CREATE} & creating.tools.keys() == {CREATE}
