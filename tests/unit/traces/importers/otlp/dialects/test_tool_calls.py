from typing import Any

import pytest

from traces.importers.otlp.dialects.tool_calls import tool_arguments

SCHEMA: Any = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}


@pytest.mark.parametrize(
    ("call", "schema", "arguments"),
    [
        ({"args": [], "kwargs": {"city": "Lima"}, "sanitize": True}, {}, {"city": "Lima"}),
        ({"args": ["Lima"], "kwargs": {"unit": "C"}, "sanitize": True}, SCHEMA, {"city": "Lima", "unit": "C"}),
        ({"args": ["Lima"], "kwargs": {}, "sanitize": True}, SCHEMA["properties"], {"city": "Lima"}),
    ],
)
def test_call_of_function_is_unwrapped(call: Any, schema: Any, arguments: Any) -> None:
    unwrapped = tool_arguments(call, schema)
    assert (unwrapped.value, unwrapped.other) == (arguments, {"sanitize": True})


@pytest.mark.parametrize("value", ["Lima", {"args": "-v", "kwargs": {}}, {"args": ["Lima"], "kwargs": {}}, None])
def test_other_arguments_stay_as_they_are(value: Any) -> None:
    unwrapped = tool_arguments(value, {})
    assert (unwrapped.value, unwrapped.other) == (value, {})
