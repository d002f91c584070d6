"""Reads JSON of any shape, so that every answer and every tool result can be processed."""

import json
import re

from traces.core.json_types import JSONObject, JSONValue


def fields(value: JSONValue) -> JSONObject:
    """Return an object, or an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def items(value: JSONValue) -> list[JSONObject]:
    """Return the objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def real(value: JSONValue, default: float = 0.0) -> float:
    """Return a number, also from a text that contains nothing else."""
    if isinstance(value, int | float):
        return float(value)
    text = str(value).strip()
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else default


def json_in(text: str) -> JSONObject:
    """Return the JSON object within a text, or an empty object."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return fields(json.loads(text[start : end + 1]))
    except json.JSONDecodeError:
        return {}


def tool(name: str, description: str, *parameters: str) -> JSONObject:
    """Return the schema of a tool with text parameters."""
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {parameter: {"type": "string"} for parameter in parameters},
            "required": list(parameters),
        },
    }
