"""A tool as a value: a function, what a model is told about it, and how it may be run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, overload, runtime_checkable

import attrs

from nr_llm._json import JSON, copy_json, copy_object, finite
from nr_llm._shown import shown
from nr_llm.bounds import bound_text
from nr_llm.contexts import Previewer
from nr_llm.errors import InvalidSchemaError, InvalidValueError
from nr_llm.limits import CONTENT_BYTES, DESCRIPTION_BYTES, LEAST_RESULT_BYTES
from nr_llm.options import member, whole
from nr_llm.specs import ToolSpec, check_tool_name
from nr_llm.zones import DataClass

DEFAULT_TIMEOUT = 60.0
"""Seconds a tool may take unless it says otherwise: longer than any read should, shorter than a person waits."""

Structure: TypeAlias = Callable[[Mapping[str, JSON]], dict[str, Any]]
"""Checks decoded arguments and returns the keyword arguments of the function, or raises `ArgumentsError`."""


class ToolEffect(StrEnum):
    """What running a tool changes."""

    READ = "read"
    IDEMPOTENT_WRITE = "idempotent_write"
    WRITE = "write"


def _effect(value: ToolEffect | str) -> ToolEffect:
    return member(ToolEffect, value, path="effect")


def _data_class(value: DataClass | str | None) -> DataClass | None:
    return None if value is None else member(DataClass, value, path="data_class")


def _description(value: str) -> str:
    given: Any = value
    if not isinstance(given, str):
        raise InvalidValueError(f"must be a string, not a {type(given).__name__}", path="description")
    return bound_text(given, limit=DESCRIPTION_BYTES, noun="description")


def _function(_: object, __: object, value: Any) -> None:
    if not callable(value):
        raise InvalidValueError(f"must be a function, not a {type(value).__name__}", path="function")


def _examples(value: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(copy_object(example, path=f"examples[{i}]") for i, example in enumerate(value))


def _positive(_: object, field: attrs.Attribute[Any], value: Any) -> None:
    if value is None:
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not finite(value) or value <= 0:
        raise InvalidValueError(f"{value!r} is no number above 0; use None for no bound", path=field.name)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Tool:
    """
    A tool; make one with `tool` from a function or with `Tool.from_schema` from a JSON Schema.

    Attributes:
        name: What the model calls it.
        description: What the model is told; cut to 8,192 bytes.
        parameters: JSON Schema of the arguments.
        function: What runs, with keyword arguments.
        structure: Turns decoded arguments into those keyword arguments, or refuses them.
        context: The parameter that receives the `ToolContext`, or None.
        effect: What running it changes; a write is run alone and, unless told otherwise, needs an approval.
        timeout: Seconds it may take, or None.
        concurrency: How many calls may run at once in this process, or None.
        exclusive: Whether it runs alone in its turn although it is a read.
        approval: Whether a person has to approve each call; None means: if it writes.
        group: Name of the group ``@group`` it is chosen by; may be empty.
        enabled: Whether it is offered without being named.
        admin_only: Whether it is open to administrators only.
        data_class: What it may return, at most; None counts as `DataClass.CONTENT` where the program hands the tool
            over itself, and as `DataClass.SECRET` where a package brings it.
        remote: Whether it works elsewhere; such calls have a budget of their own.
        result_bytes: Bytes of its content, if fewer than the run's bound.
        examples: Arguments that show its use, for small models.
        strict: Whether providers shall enforce the schema.
        form: JSON Schema of what a person fills in before a call runs, or None; given as a class too.  The person's
            values take the place of the model's.  A tool with a form needs no approval beside.
        preview: Says what a call would do when it waits for a person; or None.  It takes whichever of the parameters
            it names, and the `ToolContext` if it has a parameter annotated so; it blocks if it likes, changes nothing,
            and returns a text or lines, of which a person sees 20 of 500 characters.
    """

    __repr__ = shown

    name: str = attrs.field(converter=check_tool_name)
    description: str = attrs.field(converter=_description)
    parameters: Mapping[str, JSON] = attrs.field(repr=False)
    function: Callable[..., Any] = attrs.field(validator=_function)
    structure: Structure = attrs.field(repr=False)
    context: str | None = None
    effect: ToolEffect = attrs.field(default=ToolEffect.READ, converter=_effect)
    timeout: float | None = attrs.field(default=DEFAULT_TIMEOUT, validator=_positive)
    concurrency: int | None = attrs.field(default=None, validator=whole(1))
    exclusive: bool = False
    approval: bool | None = None
    group: str = ""
    enabled: bool = True
    admin_only: bool = False
    data_class: DataClass | None = attrs.field(default=None, converter=_data_class)
    remote: bool = False
    result_bytes: int | None = attrs.field(default=None, validator=whole(LEAST_RESULT_BYTES, CONTENT_BYTES))
    examples: tuple[Mapping[str, JSON], ...] = attrs.field(default=(), converter=_examples)
    strict: bool | None = None
    form: Any = attrs.field(default=None, repr=False)
    preview: Callable[..., str | Sequence[str]] | None = attrs.field(default=None, repr=False)
    previewer: Previewer | None = attrs.field(init=False, repr=False)
    spec: ToolSpec = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        parameters = dict(self.parameters)
        if self.examples:
            parameters["examples"] = copy_json(self.examples)
        spec = ToolSpec(self.name, self.description, parameters, strict=self.strict, writes=self.writes)
        object.__setattr__(self, "spec", spec)
        object.__setattr__(self, "previewer", self._previewer())
        if self.form is not None:
            self._check_form()

    def _check_form(self) -> None:
        from nr_llm.outputs import form_of

        object.__setattr__(self, "form", form_of(self.name, self.form))
        if self.needs_approval:
            raise InvalidValueError(
                f"tool {self.name!r} has a form and needs an approval: a person who fills in the form has decided; "
                "say approval=False, or leave the form out",
                path="form",
            )

    def _previewer(self) -> Previewer | None:
        if self.preview is None:
            return None
        from nr_llm._schema.previewers import previewer_of

        return previewer_of(self.preview, self.function, self.parameters)

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        function: Callable[..., Any],
        *,
        context: str | None = None,
        **settings: Any,
    ) -> Tool:
        """
        Return a tool whose arguments are described by a JSON Schema instead of a signature.

        Arguments are validated against the schema and passed as keywords, as decoded.

        Args:
            name: What the model calls it.
            description: What the model is told.
            parameters: JSON Schema of an object; remote references are refused.
            function: Takes the arguments as keywords.
            context: The parameter of `function` that receives the `ToolContext`, if any.
            **settings: Further attributes of `Tool`.

        Raises:
            InvalidSchemaError: The schema cannot be used.
        """
        from nr_llm._schema import compile_schema

        given: Any = parameters
        if not isinstance(given, Mapping):
            raise InvalidSchemaError(f"must be a mapping, not a {type(given).__name__}", path="parameters")
        parameters = {"type": "object", "properties": {}, **parameters}
        structure = compile_schema(parameters)
        return cls(
            name=name,
            description=description,
            parameters=parameters,
            function=function,
            structure=structure,
            context=context,
            **settings,
        )

    @classmethod
    def from_function(
        cls, function: Callable[..., Any], *, name: str | None = None, description: str | None = None, **settings: Any
    ) -> Tool:
        """
        Return a tool for a function with a typed signature; what the decorator `tool` does.

        Raises:
            InvalidSchemaError: A parameter is untyped or of a type no schema can say; the text names the fix.
        """
        from nr_llm._schema import signature_of

        signature = signature_of(function)
        return cls(
            name=name or _function_name(function),
            description=signature.description if description is None else description,
            parameters=signature.parameters,
            function=function,
            structure=signature.structure,
            context=signature.context,
            **settings,
        )

    @property
    def writes(self) -> bool:
        """Whether running it changes something."""
        return self.effect is not ToolEffect.READ

    @property
    def alone(self) -> bool:
        """Whether it is run by itself in its turn."""
        return self.exclusive or self.writes

    @property
    def needs_approval(self) -> bool:
        """Whether a person has to approve each call."""
        return self.writes if self.approval is None else self.approval

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself: nothing is checked, bounded or recorded."""
        return self.function(*args, **kwargs)


def _function_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", "")
    if not name or name == "<lambda>":
        raise InvalidSchemaError("the function has no name; pass name='...'", path="name")
    return str(name)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: ToolEffect | str = ToolEffect.READ,
    timeout: float | None = DEFAULT_TIMEOUT,
    concurrency: int | None = None,
    exclusive: bool = False,
    approval: bool | None = None,
    group: str = "",
    enabled: bool = True,
    admin_only: bool = False,
    data_class: DataClass | str | None = None,
    remote: bool = False,
    result_bytes: int | None = None,
    examples: Sequence[Mapping[str, Any]] = (),
    strict: bool | None = None,
    form: Any = None,
    preview: Callable[..., str | Sequence[str]] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """
    Make a tool of a function: ``@tool`` or ``@tool(timeout=5, effect="write")``.

    Name, description and JSON Schema come from the function's name, docstring and type hints; the settings are
    those of `Tool`.  The function returns `str` or `ToolResult`, directly or from ``async def``.

    Raises:
        InvalidSchemaError: The signature cannot be offered to a model; the text names the fix.
    """
    if function is not None:
        return Tool.from_function(function)
    return lambda function: Tool.from_function(function, **settings)


@runtime_checkable
class Toolset(Protocol):
    """Tools that share something to open and close, such as a connection."""

    def tools(self) -> Iterable[Tool]:
        """Return the tools; called once, before `open`."""

    def open(self) -> None:
        """Called before the first call of one of the tools."""

    def close(self) -> None:
        """Called when the Runtime closes, if `open` was."""
