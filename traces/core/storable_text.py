"""Text that every database can store. Pure."""

from traces.core.json_types import JSONValue


def storable(value: JSONValue) -> JSONValue:
    """Replace the NUL characters in `value`, which PostgreSQL's JSON cannot store."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {str(storable(key)): storable(item) for key, item in value.items()}
    return value
