"""A function's signature becomes a closed JSON Schema and the reader that turns arguments into keywords."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import Annotated, Any, ForwardRef, TypeAlias, Union, get_args, get_origin

import attrs

from nr_llm._json import JSON
from nr_llm._schema.docstrings import Docs, docs_of
from nr_llm._schema.faults import Refused, arguments_error
from nr_llm._schema.fields import REQUIRED, Field
from nr_llm._schema.objects import Member, members_reader, object_schema
from nr_llm._schema.scopes import scope_of_function
from nr_llm._schema.sites import Site
from nr_llm._schema.sizes import check_size
from nr_llm._schema.translation import member_of
from nr_llm.contexts import ToolContext
from nr_llm.errors import InvalidSchemaError

Structure: TypeAlias = Callable[[Mapping[str, JSON]], dict[str, Any]]


@attrs.frozen(eq=False, kw_only=True)
class Signature:
    """
    What a typed function says about itself.

    Args:
        parameters: Closed JSON Schema of its parameters, without references.
        description: Summary and long description of its docstring; may be empty.
        structure: Turns decoded arguments into keyword arguments of the declared types, or raises
            `ArgumentsError` with every fault.
        context: The parameter annotated `ToolContext`, which is not in the schema, or None.
    """

    parameters: dict[str, JSON]
    description: str
    structure: Structure
    context: str | None


def signature_of(function: Callable[..., Any]) -> Signature:
    """
    Read the signature of a function, bound method, partial or callable object.

    Arguments that a `functools.partial` has bound are the host's business and not in the schema.

    Args:
        function: What will be called, with keyword arguments.

    Raises:
        InvalidSchemaError: A parameter is untyped, positional-only, variadic, or of a type without JSON form,
            or the function is annotated to return neither `str` nor `ToolResult`. The text names the fix.
    """
    target = _target(function)
    site = _site(target)
    parameters, returns = _inspected(function, site)
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise site.error("is a generator", fix="return the whole result; ToolContext.progress reports on the way")
    _check_return(returns, site)
    docs = docs_of(target)
    fields = list(_fields(parameters, docs, site))
    contexts = [field.key for field in fields if _says_context(field.hint, _at(site, field.key))]
    if len(contexts) > 1:
        raise _at(site, contexts[1]).error("is a second ToolContext", fix="take one")
    members = [member_of(f, _at(site, f.key)) for f in fields if f.key not in contexts]
    return Signature(
        parameters=check_size(object_schema(members), site.path),
        description=docs.text,
        structure=_structure(members),
        context=contexts[0] if contexts else None,
    )


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """
    Return the parameters of a function, bound method, partial or callable object that are not bound yet.

    Raises:
        InvalidSchemaError: It is no Python function.
    """
    return _inspected(function, _site(_target(function)))[0]


def context_of(function: Callable[..., Any]) -> str | None:
    """
    Return the parameter of a function that is annotated `ToolContext`, or None.

    Raises:
        InvalidSchemaError: It is no Python function, or an annotation cannot be resolved.
    """
    site = _site(_target(function))
    hints = ((p.name, p.annotation) for p in parameters_of(function))
    return next((name for name, hint in hints if _says_context(hint, _at(site, name))), None)


def _site(target: types.FunctionType) -> Site:
    name = getattr(target, "__qualname__", "").rpartition("<locals>.")[2]
    return Site(name, scope_of_function(target))


def _at(site: Site, parameter: str) -> Site:
    return attrs.evolve(site, path=f"{site.path}({parameter})")


def _target(function: Any) -> types.FunctionType:
    """
    Return the plain function behind partials, methods, decorators and callable objects.

    Raises:
        InvalidSchemaError: There is none.
    """
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, type) and not inspect.isroutine(function):
        function = getattr(function, "__call__", function)  # noqa: B004 - its function is wanted
    target = inspect.unwrap(getattr(function, "__func__", function))
    if not isinstance(target, types.FunctionType):
        raise InvalidSchemaError(f"{function!r} is no Python function; wrap it in a typed one")
    return target


def _inspected(function: Any, site: Site) -> tuple[list[inspect.Parameter], object]:
    """Return the parameters that are left to a model, and the return annotation."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as error:  # a partial that does not fit its function
        raise site.error(f"has no signature ({error})", fix="wrap it in a typed function") from error
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= function.keywords.keys()
        function = function.func
    return [p for p in signature.parameters.values() if p.name not in bound], signature.return_annotation


def _fields(parameters: list[inspect.Parameter], docs: Docs, site: Site) -> Iterator[Field]:
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise _at(site, parameter.name).error(
                f"is {parameter.kind.description}",
                fix="a model gives arguments by name, so name each parameter (decorators: functools.wraps)",
            )
        yield Field(
            key=parameter.name,
            hint=parameter.annotation,
            scope=site.scope,
            default=REQUIRED if parameter.default is parameter.empty else parameter.default,
            description=docs.parameters.get(parameter.name, ""),
        )


def _says_context(hint: object, site: Site) -> bool:
    return any(part is ToolContext for part in _parts(hint, site))


def _parts(hint: object, site: Site) -> list[object]:
    """Return the members of a union, or the hint itself, with names resolved."""
    if isinstance(hint, (str, ForwardRef)):
        return _parts(site.resolved(hint), site)
    if get_origin(hint) is Annotated:
        return _parts(get_args(hint)[0], site)
    if get_origin(hint) in (Union, types.UnionType):
        return [part for arg in get_args(hint) for part in _parts(arg, site)]
    return [hint]


def _check_return(hint: object, site: Site) -> None:
    from nr_llm.results import ToolResult

    if hint is inspect.Signature.empty:
        return
    hint = site.resolved(hint) if isinstance(hint, str) else hint
    if get_origin(hint) in (Awaitable, Coroutine):
        hint = get_args(hint)[-1]
    if not all(part is ToolResult or part is str for part in _parts(hint, site)):
        raise attrs.evolve(site, path=f"{site.path} -> {_name(hint)}").error(
            "a tool returns str or ToolResult",
            fix="annotate '-> str', or return ToolResult.text(...) and annotate '-> ToolResult'",
        )


def _name(hint: object) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _structure(members: list[Member]) -> Structure:
    read = members_reader(members, lossless=True)

    def structure(arguments: Mapping[str, JSON]) -> dict[str, Any]:
        try:
            if not isinstance(arguments, Mapping):
                raise Refused("an object", arguments)
            return read(arguments)
        except Refused as refused:
            raise arguments_error(refused) from None

    return structure
