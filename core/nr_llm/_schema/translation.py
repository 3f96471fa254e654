"""Python types become forms here; what has no lossless JSON form is refused with the fix."""

from __future__ import annotations

import inspect
import types
import typing
from collections import abc
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin

import attrs

from nr_llm._json import JSON
from nr_llm._schema import containers
from nr_llm._schema.constraints import constrained, limits_of
from nr_llm._schema.defaults import shown_default
from nr_llm._schema.fields import REQUIRED, UNSTATED, Field, fields_of, is_record
from nr_llm._schema.forms import Form
from nr_llm._schema.objects import Member, object_form
from nr_llm._schema.scalars import ANYTHING, BOOLEAN, INTEGER, NULL, NUMBER, TEXT, choice_form, is_choice
from nr_llm._schema.sites import Site
from nr_llm._schema.texts import TEXT_FORMS
from nr_llm._schema.unions import union_form
from nr_llm.errors import InvalidValueError

_SIMPLE: Mapping[object, Form] = {
    str: TEXT,
    int: INTEGER,
    float: NUMBER,
    bool: BOOLEAN,
    type(None): NULL,
    Any: ANYTHING,
    object: ANYTHING,
    **TEXT_FORMS,
}

_LISTS = (list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable)
_SETS = (set, abc.Set, abc.MutableSet)
_MAPS = (dict, abc.Mapping, abc.MutableMapping)
_BARE = (tuple, frozenset, *_LISTS, *_SETS, *_MAPS)

_SUPPORTED = (
    "use str, int, float, bool, None, Literal, Enum, list, tuple, set, dict[str, ...], datetime, date, time, "
    "timedelta, Path, UUID, Decimal, an attrs class, a dataclass, a TypedDict, a union of these, or Any"
)


def member_of(field: Field, site: Site) -> Member:
    """
    Return the member a field becomes, its description and default in the schema.

    Raises:
        InvalidSchemaError: Its type has no form.
    """
    form = form_of(field.hint, site)
    schema = dict(form.schema)
    if field.description:
        schema.setdefault("description", field.description)
    if field.default is not REQUIRED and field.default is not UNSTATED:
        schema |= shown_default(field.default, form)
    return Member(field.key, attrs.evolve(form, schema=schema), field.default is REQUIRED)


def form_of(hint: Any, site: Site) -> Form:
    """
    Return the form of a type.

    Raises:
        InvalidSchemaError: It has none; the text names the place and the fix.
    """
    if hint is inspect.Parameter.empty:
        raise site.error("has no type", fix="annotate it, for example as str")
    if isinstance(hint, (str, ForwardRef)):
        meant = site.resolved(hint)
        return form_of(meant, site.entering(("name", meant), _name(meant)))
    if isinstance(hint, type):
        return _SIMPLE.get(hint) or _class_form(hint, site)
    if hint is None:
        return NULL
    return ANYTHING if hint is Any or hint == JSON else _special_form(hint, site)


def _special_form(hint: Any, site: Site) -> Form:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated_form(args[0], args[1:], site)
    if origin is Literal:
        return _choices(_literal_choices(args), site)
    if origin is Union or origin is types.UnionType:
        return union_form([form_of(arg, site) for arg in args])
    if origin is not None:
        return _container_form(origin, args, site)
    if isinstance(hint, typing.NewType):
        return form_of(hint.__supertype__, site)
    if hasattr(hint, "__value__"):  # `type X = ...`
        return form_of(hint.__value__, site.entering(hint, _name(hint)))
    raise _unsupported(hint, site)


def _annotated_form(hint: Any, marks: tuple[Any, ...], site: Site) -> Form:
    """Read the marks of ``Annotated``: the first text describes, limits constrain, the rest is somebody else's."""
    form = form_of(hint, site)
    try:
        for limits in filter(None, (limits_of(m) for m in marks if not isinstance(m, str))):
            form = constrained(form, limits)
    except InvalidValueError as error:
        raise site.error(str(error), fix="put the Constraint on the type it limits") from None
    text = next((mark for mark in marks if isinstance(mark, str)), None)
    return form if text is None else attrs.evolve(form, schema={**form.schema, "description": text})


def _literal_choices(args: tuple[Any, ...]) -> dict[tuple[type, Any], object]:
    values = [(arg.value if isinstance(arg, Enum) else arg, arg) for arg in args]
    return {(type(value), value): arg for value, arg in values}


def _choices(choices: Mapping[tuple[type, Any], object], site: Site) -> Form:
    strange = [value for _, value in choices if not is_choice(value)]
    if strange:
        raise site.error(f"{strange[0]!r} has no JSON form", fix="give it a str, int, float, bool or None value")
    if not choices:
        raise site.error("is an Enum without members", fix="give it some")
    return choice_form(choices)


def _container_form(origin: Any, args: tuple[Any, ...], site: Site) -> Form:
    if not args:
        raise _bare(origin, site)
    if origin is tuple:
        return _tuple_form(args, site)
    if origin in _MAPS:
        return _map_form(args, site)
    if origin in _LISTS:
        return containers.list_form(form_of(args[0], site.inside("[]")))
    if origin in _SETS or origin is frozenset:
        return _set_form(origin, form_of(args[0], site.inside("[]")), site)
    raise _unsupported(origin, site)


def _tuple_form(args: tuple[Any, ...], site: Site) -> Form:
    if args[1:] == (...,):
        return containers.variadic_tuple_form(form_of(args[0], site.inside("[]")))
    return containers.tuple_form([form_of(a, site.inside(f"[{i}]")) for i, a in enumerate(args)])


def _map_form(args: tuple[Any, ...], site: Site) -> Form:
    key, value = args
    if form_of(key, site.inside("{}")).schema != TEXT.schema:
        raise site.error("has keys that are no text", fix="use dict[str, ...], JSON knows no other keys")
    return containers.map_form(form_of(value, site.inside("{}")))


def _set_form(origin: Any, item: Form, site: Site) -> Form:
    if not item.hashable:
        raise site.error("is a set of values that cannot be hashed", fix="use list")
    return containers.set_form(item, frozenset if origin is frozenset else set)


def _class_form(owner: type, site: Site) -> Form:
    if issubclass(owner, Enum):
        return _choices({(type(member.value), member.value): member for member in owner}, site)
    if is_record(owner):
        return _record_form(owner, site)
    if owner in _BARE:
        raise _bare(owner, site)
    raise _unsupported(owner, site)


def _record_form(owner: Any, site: Site) -> Form:
    inner = site.entering(owner, owner.__name__)
    members = [member_of(f, inner.at(f.key, f.scope)) for f in fields_of(owner, inner)]
    make: Callable[..., Any] = owner
    return object_form(members, make, name=owner.__name__, hashable=owner.__hash__ is not None)


def _bare(owner: type, site: Site) -> Exception:
    key = "str, " if owner in _MAPS else ""
    word = f"{owner.__name__}[{key}str]"
    return site.error(f"{owner.__name__} does not say of what", fix=f"write {word}, or Any for anything")


def _unsupported(hint: Any, site: Site) -> Exception:
    return site.error(f"type {_name(hint)} has no JSON form", fix=_SUPPORTED)


def _name(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else str(hint)
