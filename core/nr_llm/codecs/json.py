"""JSON as codecs read and write it: the core's one encoder and decoder."""

from __future__ import annotations

from nr_llm._json import JSON, copy_json, copy_object, decode, encode, encode_bytes, valid_text

__all__ = ["JSON", "copy_json", "copy_object", "decode", "encode", "encode_bytes", "valid_text"]
