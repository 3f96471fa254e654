"""A function's signature is read whole: names, types, defaults, words, context, and what it may not be."""

from __future__ import annotations

import functools
import subprocess
import sys
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import attrs
import pytest
from nr_llm._json import encode
from nr_llm._schema import ArgumentsError, signature_of
from nr_llm.contexts import ToolContext
from nr_llm.errors import InvalidSchemaError, InvalidValueError
from nr_llm.results import ToolResult

if TYPE_CHECKING:
    from nowhere import Unseen


def search(words: str, *, limit: int = 10, exact: bool = False) -> str:  # noqa: D417 - one is undescribed
    """
    Search the notes.

    Finds every note that holds all the words.

    Args:
        words: What to look for,
            separated by spaces.
        limit: How many notes at most.

    Returns:
        The notes.
    """
    return f"{words} {limit} {exact}"


class Notes:
    def __init__(self, root: str) -> None:
        self.root = root

    def find(self, word: str) -> str:
        """Find a note."""
        return self.root + word

    @classmethod
    def count(cls, word: str) -> str:
        return word

    @staticmethod
    def upper(word: str) -> str:
        return word.upper()

    def __call__(self, word: str) -> str:
        return word


def refusal(function: Any) -> str:
    with pytest.raises(InvalidSchemaError) as caught:
        signature_of(function)
    return str(caught.value)


class TestSignature:
    def test_parameters_are_closed_and_described(self) -> None:
        """The schema lists what is required, forbids the rest, and carries descriptions and defaults."""
        assert signature_of(search).parameters == {
            "type": "object",
            "properties": {
                "words": {"type": "string", "description": "What to look for, separated by spaces."},
                "limit": {"type": "integer", "description": "How many notes at most.", "default": 10},
                "exact": {"type": "boolean", "default": False},
            },
            "additionalProperties": False,
            "required": ["words"],
        }

    def test_the_description_is_what_precedes_the_sections(self) -> None:
        """Summary and long description; the sections go to the parameters or nowhere."""
        assert signature_of(search).description == "Search the notes.\n\nFinds every note that holds all the words."

    def test_words_are_valid_unicode(self) -> None:
        """A lone surrogate in a docstring would break every encoder behind."""

        def f(a: Annotated[int, "a \ud800"]) -> str:
            return str(a)

        assert encode(signature_of(f).parameters).encode()

    def test_no_docstring_is_no_description(self) -> None:
        """Nothing is made up."""
        assert signature_of(Notes.count).description == ""

    def test_a_docstring_that_cannot_be_parsed_is_the_description(self) -> None:
        """A broken section costs the structure, not the words."""

        def odd(a: int) -> str:
            return str(a)

        odd.__doc__ = "Do it.\n\n: :\n\n\n:rtype:"  # the parser raises IndexError on this

        assert signature_of(odd).description == odd.__doc__

    def test_annotated_words_go_before_the_docstring(self) -> None:
        """The text beside the type is nearer."""

        def f(a: Annotated[int, "near"], b: int) -> str:
            """
            F.

            Args:
                a: far
                b: only
            """
            return f"{a}{b}"

        properties: Any = signature_of(f).parameters["properties"]
        assert [properties[name]["description"] for name in "ab"] == ["near", "only"]

    def test_no_parameters_are_an_empty_object(self) -> None:
        """Empty ``properties`` stay an object; providers refuse a list."""

        def ping() -> str:
            return "pong"

        parameters = signature_of(ping).parameters
        assert encode(parameters) == '{"type":"object","properties":{},"additionalProperties":false}'

    def test_structure_gives_keywords_of_the_declared_types(self) -> None:
        """The function can be called with what `structure` returns."""
        assert search(**signature_of(search).structure({"words": "a", "limit": "5"})) == "a 5 False"

    def test_a_parameter_may_have_any_name(self) -> None:
        """Names that some library reserves are the author's to use."""

        def f(cl: int, converter: int, self: int, value: int) -> str:
            return f"{cl}{converter}{self}{value}"

        arguments: Any = {"cl": 1, "converter": 2, "self": 3, "value": 4}
        assert signature_of(f).structure(arguments) == arguments


class TestCallables:
    @pytest.mark.lesson(107)
    def test_a_bound_method_leaves_self_out(self) -> None:
        """An object's method is a tool of that object."""
        notes = Notes("a/")

        assert notes.find(**signature_of(notes.find).structure({"word": "b"})) == "a/b"
        assert signature_of(notes.find).description == "Find a note."

    @pytest.mark.lesson(107)
    @pytest.mark.parametrize("function", [Notes.count, Notes.upper, Notes("")])
    def test_other_callables_are_read_alike(self, function: Callable[..., str]) -> None:
        """Class methods, static methods and objects with ``__call__`` have a signature too."""
        assert signature_of(function).structure({"word": "a"}) == {"word": "a"}

    @pytest.mark.lesson(79)
    def test_what_a_partial_binds_is_not_the_models(self) -> None:
        """Arguments the host has fixed are neither offered nor overridden, whatever their type."""

        def query(connection: object, table: str, limit: bytes, rows: int = 5) -> str:
            return f"{connection}{table}{limit!r}{rows}"

        bound = functools.partial(functools.partial(query, "db"), limit=b"7")
        signature = signature_of(bound)

        assert list(signature.parameters["properties"]) == ["table", "rows"]  # type: ignore[arg-type]
        assert bound(**signature.structure({"table": "t"})) == "dbtb'7'5"
        with pytest.raises(ArgumentsError):
            signature.structure({"table": "t", "limit": "8"})

    def test_a_partial_that_does_not_fit_is_an_error(self) -> None:
        """A signature that Python itself cannot bind is told at registration."""
        assert "has no signature" in refusal(functools.partial(search, nothing=1))

    @pytest.mark.lesson(109)
    def test_a_decorated_function_is_read_through(self) -> None:
        """`functools.wraps` keeps the signature of what is wrapped."""

        @functools.wraps(search)
        def wrapper(*args: Any, **kwargs: Any) -> str:
            return search(*args, **kwargs)

        assert signature_of(wrapper).parameters == signature_of(search).parameters

    @pytest.mark.lesson(17)
    @pytest.mark.parametrize("function", [Notes, len, 5, functools.partial(len)])
    def test_what_is_no_python_function_is_an_error(self, function: Any) -> None:
        """Classes, builtins and values have no signature to go by."""
        assert "is no Python function; wrap it in a typed one" in refusal(function)


class TestContext:
    @pytest.mark.lesson(78)
    def test_the_context_is_found_by_its_annotation(self) -> None:
        """It has any name, any place, and is not the model's to give."""

        def f(a: int, here: ToolContext) -> str:
            return f"{a}{here}"

        signature = signature_of(f)

        assert signature.context == "here"
        assert list(signature.parameters["properties"]) == ["a"]  # type: ignore[arg-type]
        with pytest.raises(ArgumentsError):
            signature.structure({"a": 1, "here": {}})

    def test_the_context_may_be_optional(self) -> None:
        """So that the function can be called by hand."""

        def f(context: Annotated[ToolContext, "mine"] | None = None) -> str:
            return str(context)

        assert signature_of(f).context == "context"
        f.__annotations__["context"] = Optional["ToolContext"]
        assert signature_of(f).context == "context"

    def test_two_contexts_are_an_error(self) -> None:
        """One of them would be a mistake."""

        def f(a: ToolContext, b: ToolContext) -> str:
            return f"{a}{b}"

        assert "f(b): is a second ToolContext; take one" in refusal(f)

    def test_without_a_context_there_is_none(self) -> None:
        """Most tools need none."""
        assert signature_of(search).context is None


class TestReturns:
    @pytest.mark.parametrize(
        "hint",
        [
            str,
            ToolResult,
            str | ToolResult,
            "ToolResult",
            Awaitable["ToolResult"],
            Annotated[str, "text"],
            Awaitable[str],
            Coroutine[Any, Any, ToolResult],
        ],
        ids=str,
    )
    def test_text_and_results_may_be_returned(self, hint: Any) -> None:
        """Directly, or by way of an awaitable."""

        def f() -> Any:
            return None

        f.__annotations__["return"] = hint
        assert signature_of(f).parameters["properties"] == {}

    def test_an_async_function_is_read_alike(self) -> None:
        """Its annotation is what awaiting it gives."""

        async def f(a: int) -> ToolResult:
            return ToolResult.text(str(a))

        assert signature_of(f).structure({"a": 1}) == {"a": 1}

    def test_a_missing_annotation_is_allowed(self) -> None:
        """What is returned is checked at the call anyway."""

        def f(a: int):  # type: ignore[no-untyped-def]
            return str(a)

        assert signature_of(f).structure({"a": 1}) == {"a": 1}

    @pytest.mark.parametrize(
        "hint", [int, None, dict[str, int], Any, str | None, Awaitable[int], Iterator[str]], ids=str
    )
    def test_anything_else_is_an_error_with_the_fix(self, hint: Any) -> None:
        """The text says what to write instead."""

        def f() -> Any:
            return None

        f.__annotations__["return"] = hint
        text = refusal(f)
        assert text.startswith("f -> ")
        assert "annotate '-> ToolResult'" in text

    def test_generators_are_errors(self) -> None:
        """A tool has one result."""

        def f():  # type: ignore[no-untyped-def]
            yield "a"

        async def g() -> AsyncIterator[str]:
            yield "a"

        assert "is a generator" in refusal(f)
        assert "is a generator" in refusal(g)


class TestRefusedParameters:
    def test_an_untyped_parameter_is_an_error(self) -> None:
        """Guessing text is how peers compute "1" + "2" = "12"."""

        def add(a, b: int) -> str:  # type: ignore[no-untyped-def]
            return str(a + b)

        assert refusal(add) == "add(a): has no type; annotate it, for example as str"

    @pytest.mark.parametrize(
        "source",
        ["def f(a: int, /) -> str: ...", "def f(*a: int) -> str: ...", "def f(**a: int) -> str: ..."],
    )
    def test_a_parameter_without_name_is_an_error(self, source: str) -> None:
        """Arguments come by name."""
        names: dict[str, Any] = {}
        exec(source, names)

        text = refusal(names["f"])

        assert text.startswith("f(a): is ")
        assert "name each parameter" in text

    def test_an_error_is_a_value_error_with_a_path(self) -> None:
        """It can be caught as what it is, and says where in an attribute."""

        def f(a: bytes) -> str:
            return str(a)

        with pytest.raises(InvalidValueError) as caught:
            signature_of(f)
        assert caught.value.path == "f(a)"

    def test_a_schema_without_measure_is_an_error(self) -> None:
        """What is sent with every request is bounded."""

        def f(a: int) -> str:
            return str(a)

        f.__annotations__["a"] = Literal[tuple(f"choice {i}" for i in range(6_000))]

        assert "more than 65,536" in refusal(f)

    def test_a_schema_too_deep_is_an_error(self) -> None:
        """Sinks nest it further, so it ends early."""

        def f(a: int) -> str:
            return str(a)

        hint: Any = int
        for _ in range(70):
            hint = list[hint]
        f.__annotations__["a"] = hint

        assert "nested deeper than 64 levels" in refusal(f)


class TestNames:
    def test_names_local_to_a_function_are_found(self) -> None:
        """A tool and its types may be defined inside a function, with postponed annotations."""

        @attrs.frozen
        class Inner:
            n: int

        @attrs.frozen
        class Outer:
            inner: Inner

        def f(a: Outer) -> ToolResult:
            return ToolResult.text(str(a))

        assert signature_of(f).structure({"a": {"inner": {"n": 1}}}) == {"a": Outer(Inner(1))}

    def test_names_of_outer_functions_are_found(self) -> None:
        """However many functions are around it, and the nearest name counts."""
        Number = int

        def middle() -> dict[str, Any]:
            Text = str
            Near = bool

            def inner() -> Any:
                Near = float

                def f(a: Number, b: Text, c: Near) -> str:  # type: ignore[valid-type]
                    return f"{a}{b}{c}{Near}"

                return signature_of(f)

            assert Near is bool
            return inner().parameters["properties"]  # type: ignore[no-any-return]

        assert middle() == {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "number"}}

    def test_names_of_the_closure_are_found_when_the_function_is_gone(self) -> None:
        """What the function itself uses stays known after the outer one has returned."""

        def make() -> Any:
            Number = int

            def f(a: Number) -> str:  # type: ignore[valid-type]
                return f"{a}{Number}"

            return f

        assert signature_of(make()).structure({"a": 1}) == {"a": 1}

    def test_a_closure_over_what_is_not_there_yet_does_no_harm(self) -> None:
        """A function that uses a name assigned later has an empty cell when it is read."""

        def f(a: int) -> str:
            return f"{a}{later}"

        signature = signature_of(f)
        later = 1

        assert signature.structure({"a": later}) == {"a": 1}

    def test_names_of_a_class_body_are_found(self) -> None:
        """A method may be made a tool while its class is still being defined."""

        class Tools:
            Number = int

            def f(self, a: Number) -> str:
                return str(a)

            found = signature_of(functools.partial(f, None))

        assert Tools.found.structure({"a": 1}) == {"a": 1}

    @pytest.mark.lesson(78)
    def test_our_own_names_need_no_import_at_run_time(self) -> None:
        """Linters move ToolContext below ``if TYPE_CHECKING``; that must not hide it."""
        module = types.ModuleType("elsewhere")
        source = "from __future__ import annotations\ndef f(a: int, c: ToolContext) -> ToolResult: ..."
        exec(source, vars(module))

        assert signature_of(module.f).context == "c"

    def test_a_name_that_exists_only_for_checkers_is_an_error_with_the_fix(self) -> None:
        """The text says what hides the name."""

        def f(a: Unseen) -> str:
            return str(a)

        assert "not under TYPE_CHECKING" in refusal(f)

    def test_a_name_that_is_gone_is_an_error(self) -> None:
        """A local class of a function that has returned cannot be found any more."""

        def make() -> Any:
            class Gone:
                pass

            def f(a: Gone) -> str:
                return str(a)

            return f

        assert "'Gone'" in refusal(make())

    def test_a_base_class_of_another_module_keeps_its_names(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Annotations mean what they meant where they were written."""
        (tmp_path / "base_of_elsewhere.py").write_text(
            "from __future__ import annotations\nimport attrs\nfrom typing import TypedDict\n"
            "Number = int\n@attrs.frozen\nclass Base:\n    n: Number\n"
            "class Entry(TypedDict):\n    n: Number\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        from base_of_elsewhere import Base, Entry  # type: ignore[import-not-found]

        @attrs.frozen
        class Derived(Base):  # type: ignore[misc]
            m: int

        class Further(Entry):  # type: ignore[misc]
            m: int

        def f(a: Derived, b: Further) -> str:
            return f"{a}{b}"

        given: Any = {"n": 1, "m": 2}
        assert signature_of(f).structure({"a": given, "b": given}) == {"a": Derived(n=1, m=2), "b": given}

    def test_a_class_of_no_module_is_read_as_far_as_it_goes(self) -> None:
        """A class made by hand may name a module that does not exist."""
        made = attrs.make_class("Made", {"n": attrs.field(type=int)})
        made.__module__ = "nowhere.at.all"

        def f(a: made) -> str:  # type: ignore[valid-type]
            return str(a)

        assert signature_of(f).structure({"a": {"n": 1}}) == {"a": made(1)}


def test_reading_a_signature_imports_no_validator() -> None:
    """Only a raw schema needs the 15 MB validator, only a docstring its parser; nothing needs cattrs."""
    code = (
        "import sys, nr_llm, nr_llm._schema as s\n"
        "def f(a: int, b: str = 'x') -> str: ...\n"
        "s.signature_of(f).structure({'a': 1})\n"
        "print(sorted({'cattrs', 'jsonschema_rs', 'docstring_parser'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
