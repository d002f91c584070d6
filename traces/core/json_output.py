"""JSON for other systems: whatever was stored can be sent. Pure."""

import json

import orjson

from traces.core.json_types import JSONValue


def as_json(value: JSONValue) -> bytes:
    """One line of JSON; what the fast encoder refuses, as integers of more than 64 bits, takes the long way."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()
