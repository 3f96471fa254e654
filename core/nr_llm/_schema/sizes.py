"""A schema is sent with every request and compiled once, so its size is bounded at registration."""

from __future__ import annotations

from nr_llm._json import JSON, copy_object, encode_bytes
from nr_llm.errors import InvalidSchemaError, InvalidValueError

SCHEMA_BYTES = 65_536
"""UTF-8 bytes of one tool's schema: four times the reference system's limit, room for generated ones."""


def check_size(schema: object, path: str) -> dict[str, JSON]:
    """
    Return a deep copy of a schema.

    Raises:
        InvalidSchemaError: It is no JSON object, nests deeper than 64 levels, or is larger than 65,536 bytes.
    """
    try:
        copied = copy_object(schema)
    except InvalidValueError as error:
        raise InvalidSchemaError(f"the schema is no usable JSON ({error})", path=path) from None
    size = len(encode_bytes(copied))
    if size > SCHEMA_BYTES:
        raise InvalidSchemaError(
            f"the schema has {size:,} bytes, more than {SCHEMA_BYTES:,}; shorten enums and descriptions",
            path=path,
        )
    return copied
