"""What a tool takes: JSON Schemas from signatures, and calls checked against them before anything runs."""

from nr_llm._schema.constraints import Constraint
from nr_llm._schema.faults import ArgumentsError, Fault
from nr_llm._schema.nulls import drop_strict_nulls
from nr_llm._schema.raw import compile_schema
from nr_llm._schema.signatures import Signature, signature_of
from nr_llm._schema.strict import strict_schema
from nr_llm._schema.values import ValueType, value_type

__all__ = [
    "ArgumentsError",
    "Constraint",
    "Fault",
    "Signature",
    "ValueType",
    "compile_schema",
    "drop_strict_nulls",
    "signature_of",
    "strict_schema",
    "value_type",
]
