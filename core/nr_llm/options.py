"""What a caller may set for a model call."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

import attrs

from nr_llm._json import JSON, copy_object, finite
from nr_llm._shown import shown
from nr_llm.errors import InvalidValueError, similar

Member = TypeVar("Member", bound=StrEnum)
Own = TypeVar("Own", bound="ProviderOptions")


def between(low: float, high: float) -> Any:
    """Return a validator: a finite number from `low` to `high`, or None where that is the default."""

    def check(_: object, field: attrs.Attribute[Any], value: Any) -> None:
        if value is None and field.default is None:
            return
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and finite(value)
        if not number or not low <= value <= high:
            span = f"between {low} and {high}" if math.isfinite(high) else f"a finite number of {low} or more"
            raise InvalidValueError(f"{value!r} is not {span}", path=field.name)

    return check


def whole(low: int, high: float = math.inf) -> Any:
    """Return a validator: a whole number from `low` to `high`, or None where that is the default."""

    def check(_: object, field: attrs.Attribute[Any], value: Any) -> None:
        if value is None and field.default is None:
            return
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            span = f"between {low} and {high}" if math.isfinite(high) else f"of {low} or more"
            raise InvalidValueError(f"{value!r} is not a whole number {span}", path=field.name)

    return check


def member(kind: type[Member], value: Member | str, *, path: str) -> Member:
    """
    Return `value` as a member of a closed set of words.

    Raises:
        InvalidValueError: It is none; the text names them all.
    """
    if isinstance(value, kind):
        return value
    try:
        return kind(value)
    except ValueError:
        raise InvalidValueError(f"{value!r} is none of {', '.join(kind)}", path=path) from None


def _is(kind: type) -> Any:
    def check(_: object, field: attrs.Attribute[Any], value: Any) -> None:
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise InvalidValueError(f"must be {kind.__name__}, not {type(value).__name__}", path=field.name)

    return check


def _schema(value: Mapping[str, Any] | None) -> dict[str, JSON] | None:
    return None if value is None else copy_object(value, path="response_schema")


def _raw(value: Mapping[str, Any]) -> dict[str, JSON]:
    return copy_object(value, path="raw")


def _provider_options(value: Any) -> dict[str, Mapping[str, JSON]]:
    if isinstance(value, ProviderOptions):
        value = (value,)
    if isinstance(value, Mapping):
        return {namespace: _namespace(namespace, options) for namespace, options in value.items()}
    if not isinstance(value, Iterable):
        raise InvalidValueError(f"must be options of providers, not {type(value).__name__}", path="provider_options")
    return {options.namespace: _namespace(options.namespace, options) for options in value}


def _namespace(namespace: str, options: ProviderOptions | Mapping[str, Any]) -> dict[str, JSON]:
    given = options.to_dict() if isinstance(options, ProviderOptions) else options
    if not isinstance(given, Mapping):
        raise InvalidValueError(
            f"{namespace!r} holds no settings but {given!r}; name the plugin first, such as "
            f"{{'openai': {{{namespace!r}: {given!r}}}}}",
            path="provider_options",
        )
    return copy_object(given, path=f"provider_options.{namespace}")


@attrs.frozen(kw_only=True)
class ProviderOptions:
    """
    Settings that one kind of provider has beyond the common ones; a provider's package derives its own class.

    Attributes:
        namespace: Name of the plugin whose providers read them; all others leave them alone.
        raw: Fields of the request body by the service's own names, for what has no setting here.
    """

    __hash__ = None  # type: ignore[assignment]  # holds mappings

    namespace: ClassVar[str] = ""
    raw: Mapping[str, JSON] = attrs.field(factory=dict, converter=_raw)

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults, by name."""
        plain = type(self)()
        return {
            field.name: value
            for field in attrs.fields(type(self))
            if (value := getattr(self, field.name)) != getattr(plain, field.name)
        }


def _words(value: str | Iterable[str]) -> tuple[str, ...]:
    given: Any = (value,) if isinstance(value, str) else value
    words = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(word, str) for word in words):
        raise InvalidValueError("must be one string or several", path="stop")
    return words


@attrs.frozen(kw_only=True, repr=False)
class Options:
    """
    Settings of a model call; None leaves a setting to the provider and is not sent.

    Args:
        temperature: 0 to 2.
        max_tokens: Most tokens to write, above 0.
        top_p: 0 to 1.
        stop: Texts at which the model stops.
        seed: For providers that can repeat themselves.
        frequency_penalty: -2 to 2.
        presence_penalty: -2 to 2.
        tool_choice: ``auto``, ``none``, ``required``, or the name of the one tool to call.
        parallel_tool_calls: Whether one turn may hold several calls.
        reasoning_effort: The provider's word, such as ``low``.
        response_schema: JSON Schema the answer has to match.
        provider_options: What single providers have beyond these: one or several `ProviderOptions`, or for each
            plugin's name a mapping with its settings.  A provider reads its own alone, so a conversation may
            change providers.

    Raises:
        InvalidValueError: A setting is out of its range.
    """

    __hash__ = None  # type: ignore[assignment]  # holds mappings
    __repr__ = shown

    temperature: float | None = attrs.field(default=None, validator=between(0, 2))
    max_tokens: int | None = attrs.field(default=None, validator=whole(1))
    top_p: float | None = attrs.field(default=None, validator=between(0, 1))
    stop: tuple[str, ...] = attrs.field(default=(), converter=_words)
    seed: int | None = attrs.field(default=None, validator=_is(int))
    frequency_penalty: float | None = attrs.field(default=None, validator=between(-2, 2))
    presence_penalty: float | None = attrs.field(default=None, validator=between(-2, 2))
    tool_choice: str | None = attrs.field(default=None, validator=_is(str))
    parallel_tool_calls: bool | None = attrs.field(default=None, validator=_is(bool))
    reasoning_effort: str | None = attrs.field(default=None, validator=_is(str))
    response_schema: Mapping[str, JSON] | None = attrs.field(default=None, converter=_schema)
    provider_options: Mapping[str, Mapping[str, JSON]] = attrs.field(factory=dict, converter=_provider_options)

    def of(self, kind: type[Own]) -> Own:
        """
        Return the settings for one kind of provider, its defaults where nothing is set.

        Raises:
            InvalidValueError: One is unknown or out of its range.
        """
        given: Mapping[str, Any] = self.provider_options.get(kind.namespace, {})
        if not given:
            return cast(Own, _defaults(kind))  # type: ignore[arg-type]  # a class has a hash, whatever its values have
        names = [field.name for field in attrs.fields(kind)]
        path = f"provider_options.{kind.namespace}"
        for name in given:
            if name not in names:
                near = similar(name, names)
                hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(names)}"
                raise InvalidValueError(f"has no setting {name!r}; {hint}", path=path)
        try:
            return kind(**given)
        except InvalidValueError as error:
            raise InvalidValueError(error.rule, path=f"{path}.{error.path}") from None


@cache
def _defaults(kind: type[ProviderOptions]) -> ProviderOptions:
    """Return a provider's own defaults, made once: every request of its codec asks for them."""
    return kind()
