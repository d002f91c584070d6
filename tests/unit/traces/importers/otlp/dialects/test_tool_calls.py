import json
from typing import Any

import pytest

from traces.importers.otlp.dialects.tool_calls import tool_arguments, tool_result, tool_settings

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


MESSAGE: Any = {"content": "sunny", "type": "tool", "name": "find", "id": None, "tool_call_id": "c1", "status": "error"}
SERIALIZED: Any = {"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"], "kwargs": MESSAGE}


@pytest.mark.parametrize(
    "value",
    [
        json.dumps({"type": "tool", "data": MESSAGE}),
        json.dumps({"output": SERIALIZED, "kwargs": {"tags": []}}),
        SERIALIZED,
    ],
)
def test_message_of_langchain_is_unwrapped(value: Any) -> None:
    result = tool_result(value)
    assert (result.value, result.call_id, result.other) == ("sunny", "c1", {"name": "find", "status": "error"})


@pytest.mark.parametrize("value", ["sunny", {"data": {"content": "x"}}, {"output": "x"}, ["sunny"], None])
def test_other_results_stay_as_they_are(value: Any) -> None:
    assert (tool_result(value).value, tool_result(value).call_id) == (value, "")
    assert tool_result({"output": "sunny", "kwargs": {}}).value == "sunny"


def test_call_of_langchain_is_unwrapped() -> None:
    call: Any = {"input_str": "{'city': 'Lima'}", "tags": ["a"], "kwargs": {"tool_call_id": "c1"}}
    unwrapped = tool_arguments({**call, "inputs": {"city": "Lima"}}, {})
    assert (unwrapped.value, unwrapped.call_id, unwrapped.other) == ({"city": "Lima"}, "c1", call)
    assert tool_arguments(call, {}).value == "{'city': 'Lima'}"


def test_settings_of_grouped_tools() -> None:
    schema = {"type": "object"}
    tool: Any = {"name": "find", "parameters_json_schema": schema, "response_json_schema": schema}
    assert tool_settings([{"function_declarations": [tool]}]) == {"find": {"response_json_schema": schema}}
