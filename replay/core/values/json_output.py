"""JSON output: encode any stored value. Pure."""

import json

import orjson

from traces.core.json_types import JSONValue


def as_json(value: JSONValue) -> bytes:
    """Encode a value as one line of JSON, including integers of more than 64 bits, which orjson rejects."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()
