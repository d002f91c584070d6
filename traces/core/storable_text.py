"""Text that every database can store. Pure."""

import orjson

from traces.core.json_types import JSONValue


def storable(value: JSONValue) -> JSONValue:
    """Replace the NUL characters in `value`, which PostgreSQL's JSON cannot store."""
    try:
        if b"\\u0000" not in orjson.dumps(value):
            return value
    except TypeError:
        # It is no JSON, or contains characters that UTF-8 lacks.
        pass
    return _replace(value)


def _replace(value: JSONValue) -> JSONValue:
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    if isinstance(value, list):
        return [_replace(item) for item in value]
    if isinstance(value, dict):
        return {str(_replace(key)): _replace(item) for key, item in value.items()}
    return value
