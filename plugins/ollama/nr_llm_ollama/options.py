"""What Ollama can be told beyond the common options."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
from nr_llm.errors import InvalidValueError
from nr_llm.options import ProviderOptions, between, whole


def _think(_: object, field: attrs.Attribute[Any], value: Any) -> None:
    if value is not None and not isinstance(value, (bool, str)):
        raise InvalidValueError(f"must be a bool or a word such as 'low', not {value!r}", path=field.name)


def _duration(_: object, field: attrs.Attribute[Any], value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, str))):
        raise InvalidValueError(f"must be seconds or a text such as '10m', not {value!r}", path=field.name)


@attrs.frozen(kw_only=True)
class OllamaOptions(ProviderOptions):
    """
    Settings of models served by Ollama.

    Attributes:
        think: Whether the model thinks first; some models take ``low``, ``medium`` or ``high``.
        keep_alive: How long the model stays loaded: seconds, or a text such as ``10m``; 0 unloads it at once.
        num_ctx: Tokens of the window the server makes; its own default is small.
        top_k: Tokens to choose among.
        min_p: Least probability of a token, relative to the likeliest one, 0 to 1.
        repeat_penalty: How much repetition costs.
        raw: Fields of the request body by the service's own names; ``options`` among them are joined to ours.
    """

    namespace: ClassVar[str] = "ollama"

    think: bool | str | None = attrs.field(default=None, validator=_think)
    keep_alive: int | str | None = attrs.field(default=None, validator=_duration)
    num_ctx: int | None = attrs.field(default=None, validator=whole(1))
    top_k: int | None = attrs.field(default=None, validator=whole(1))
    min_p: float | None = attrs.field(default=None, validator=between(0, 1))
    repeat_penalty: float | None = attrs.field(default=None, validator=between(0, 10))
