"""A type becomes the schema of one value and its reader: what an answer is asked by, and checked against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from nr_llm._json import JSON
from nr_llm._schema.docstrings import docs_of
from nr_llm._schema.faults import Refused, arguments_error
from nr_llm._schema.fields import Field, is_record
from nr_llm._schema.forms import Form, Reader
from nr_llm._schema.objects import object_schema
from nr_llm._schema.scopes import scope_of_class
from nr_llm._schema.sites import Site
from nr_llm._schema.sizes import check_size
from nr_llm._schema.translation import form_of, member_of

WRAPPED = "answer"
"""Name of the one member of the object around a value that is no object: services take objects only."""


@attrs.frozen(eq=False, kw_only=True)
class ValueType:
    """
    How a value of one type is asked for and read.

    Attributes:
        schema: Closed JSON Schema of an object, without references.
        read: Turns a decoded object into the value, or raises `ArgumentsError` with every fault.
        description: What the type's docstring says; may be empty.
    """

    schema: dict[str, JSON]
    read: Callable[[Any], Any]
    description: str = ""


def value_type(hint: Any) -> ValueType:
    """
    Return how values of a type are asked for and read.

    Args:
        hint: An attrs class, a dataclass, a TypedDict, or any other type a tool's parameter may have.

    Raises:
        InvalidSchemaError: The type has no JSON form; the text names the place and the fix.
    """
    owner = hint if isinstance(hint, type) else object
    name = getattr(hint, "__name__", None) or str(hint)
    site = Site(name, scope_of_class(owner))
    if isinstance(hint, type) and is_record(hint):
        form = form_of(hint, site)
        return ValueType(schema=check_size(form.schema, name), read=_reader(form.read), description=docs_of(hint).text)
    member = member_of(Field(key=WRAPPED, hint=hint, scope=site.scope), site)
    schema = check_size(object_schema([member]), name)
    return ValueType(schema=schema, read=_reader(_unwrapping(member.form)))


def _unwrapping(form: Form) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict) or value.keys() != {WRAPPED}:
            raise Refused(f"an object with {WRAPPED!r} alone, {form.expected}", value)
        return form.read(value[WRAPPED])

    return read


def _reader(read: Reader) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        try:
            return read(value)
        except Refused as refused:
            raise arguments_error(refused) from None

    return checked
