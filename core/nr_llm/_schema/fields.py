"""A field is a named, typed part of something that is read by keyword: a parameter, or a member of a class."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ForwardRef, NotRequired, Required, TypeGuard, get_args, get_origin

import attrs

from nr_llm._schema.docstrings import docs_of
from nr_llm._schema.scopes import Scope, scope_of_class
from nr_llm._schema.sites import Site

REQUIRED = object()
"""Stands for the default of a field that has none."""

UNSTATED = object()
"""Stands for a default that exists but is not known before the class makes it."""


@attrs.frozen(eq=False, kw_only=True)
class Field:
    """
    A named, typed part.

    Args:
        key: Its name, in JSON and as keyword.
        hint: Its annotation, maybe still text.
        scope: Where the annotation was written.
        default: Its default, `REQUIRED` or `UNSTATED`.
        description: What the docstring says about it; an ``Annotated`` text goes first.
    """

    key: str
    hint: object
    scope: Scope
    default: object = REQUIRED
    description: str = ""


def is_typed_dict(owner: type) -> bool:
    """Return whether a class is a TypedDict, of `typing` or of `typing_extensions`."""
    return issubclass(owner, dict) and hasattr(owner, "__required_keys__")


def is_record(owner: type) -> TypeGuard[Any]:
    """Return whether the fields of a class can be read: attrs, dataclass or TypedDict."""
    return attrs.has(owner) or dataclasses.is_dataclass(owner) or is_typed_dict(owner)


def fields_of(owner: Any, site: Site) -> list[Field]:
    """
    Return the fields of a record class, under the names its constructor takes.

    Raises:
        InvalidSchemaError: The constructor takes something else than the fields.
    """
    described = {**_inherited_docs(owner), **docs_of(owner).parameters}
    listed = _typed_dict if is_typed_dict(owner) else _attrs if attrs.has(owner) else _dataclass
    fields = [attrs.evolve(f, description=described.get(f.key, "")) for f in listed(owner, site)]
    if not is_typed_dict(owner):
        _check_constructor(owner, {field.key for field in fields}, site)
    return fields


def _inherited_docs(owner: type) -> Mapping[str, str]:
    bases = reversed([base for base in owner.__mro__[1:] if is_record(base)])
    return {key: text for base in bases for key, text in docs_of(base).parameters.items()}


def _attrs(owner: Any, _: Site) -> Iterator[Field]:
    for field in attrs.fields(owner):
        if field.init:
            default = REQUIRED if field.default is attrs.NOTHING else field.default
            if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
                default = UNSTATED
            hint = inspect.Parameter.empty if field.type is None else field.type
            scope = _scope_of_field(owner, field.name)
            yield Field(key=field.alias or field.name, hint=hint, scope=scope, default=default)


def _dataclass(owner: Any, _: Site) -> Iterator[Field]:
    for field in dataclasses.fields(owner):
        if field.init:
            default = REQUIRED if field.default is dataclasses.MISSING else field.default
            if field.default_factory is not dataclasses.MISSING:
                default = UNSTATED
            scope = _scope_of_field(owner, field.name)
            yield Field(key=field.name, hint=field.type, scope=scope, default=default)


def _typed_dict(owner: Any, site: Site) -> Iterator[Field]:
    for key, hint in owner.__annotations__.items():
        scope = scope_of_class(owner, module=getattr(hint, "__forward_module__", None))
        bare, required = _without_marks(hint, scope, site.at(key, scope))
        if required is None:
            required = key in owner.__required_keys__
        yield Field(key=key, hint=bare, scope=scope, default=REQUIRED if required else UNSTATED)


def _without_marks(hint: object, scope: Scope, site: Site) -> tuple[object, bool | None]:
    """Take ``Required`` and ``NotRequired`` off a hint and return what they said; postponed ones hide in text."""
    if isinstance(hint, (str, ForwardRef)):
        hint = site.resolved(hint)
    origin = get_origin(hint)
    if origin in (Required, NotRequired):
        bare, _ = _without_marks(get_args(hint)[0], scope, site)
        return bare, origin is Required
    if origin is Annotated:
        inner, *marks = get_args(hint)
        bare, required = _without_marks(inner, scope, site)
        return Annotated[(bare, *marks)], required
    return hint, None


def _scope_of_field(owner: type, name: str) -> Scope:
    """Return the scope of the class that declared a field: a base may live in another module."""
    declaring = (base for base in owner.__mro__ if name in vars(base).get("__annotations__", ()))
    return scope_of_class(next(declaring, owner))


def _check_constructor(owner: type, keys: set[str], site: Site) -> None:
    taken = inspect.signature(owner).parameters
    needed = {name for name, p in taken.items() if p.default is p.empty and p.kind in _NAMED}
    if not needed <= keys <= taken.keys():
        raise site.error(
            f"the constructor of {owner.__name__} takes other arguments than its fields",
            fix="leave __init__ to attrs or dataclasses, without InitVar",
        )


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
