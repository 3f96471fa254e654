"""A credential travels as a value that cannot show itself by accident."""

from __future__ import annotations

import hmac
from typing import Any, Final, NoReturn, final

from nr_llm.errors import InvalidValueError

MASK: Final = "[redacted]"
"""What is shown in place of a secret, everywhere: visible, so that nobody takes a gap for the data."""


@final
class Secret:
    """
    Text that is masked in `repr`, `str` and every format, and that no serializer takes.

    Two secrets compare in constant time.  A secret is neither a `str` nor an attrs class, so JSON encoders,
    `attrs.asdict` and pickle refuse or keep it closed; the one way out is `reveal`.

    Args:
        value: The credential; not empty (an empty credential is a missing one).

    Raises:
        InvalidValueError: The value is no text or empty.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        given: object = value
        if not isinstance(given, str) or not given:
            kind = "an empty one" if given == "" else type(given).__name__
            raise InvalidValueError(f"a secret is a non-empty str, not {kind}; leave it unset instead")
        object.__setattr__(self, "_value", value)

    def reveal(self) -> str:
        """Return the credential itself; call it where the credential is used and nowhere else."""
        value: str = object.__getattribute__(self, "_value")
        return value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Secret does not change: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Secret does not change: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_bytes(self), _bytes(other))

    def __hash__(self) -> int:
        return hash((Secret, self.reveal()))

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return MASK

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret is not pickled: pass the name of the credential and read it there")


def _bytes(secret: Secret) -> bytes:
    # Lone surrogates come in through `os.environ` and must not make a comparison raise.
    return secret.reveal().encode("utf-8", "surrogatepass")
