"""JSON values and tool calls as Python code."""

import ast
from typing import Any

import pytest

from replay.snippets.core.python_code import literal, tool_call
from traces.core.json_types import JSONValue

HOSTILE = 'it\'s "quoted" \\ $(touch x) `id` ${HOME} !! \r\n\t\x00\f\u2028\U0001f600 {} """ \'\'\''


@pytest.mark.parametrize(
    "value", [{}, [], None, True, -1.5e-7, 10**20, HOSTILE, {HOSTILE: [HOSTILE, [], {"a": [None, False, {"b": 1}]}]}]
)
def test_literal_evaluates_to_its_value(value: JSONValue) -> None:
    assert ast.literal_eval(literal(value)) == value


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("get_order", {"order_id": "A-1", "deep": False}, 'get_order(order_id="A-1", deep=False)\n'),
        ("get_order", {}, "get_order()\n"),
        ("find", "shoes", 'find("shoes")\n'),
        ("shop.find-it", {"q": "a"}, 'tools["shop.find-it"](q="a")\n'),
        ("eval", "1 + 1", 'tools["eval"]("1 + 1")\n'),
        ("\uff45\uff56\uff41\uff4c", {}, 'tools["\uff45\uff56\uff41\uff4c"]()\n'),
        ("find", {"from": 1}, 'find(**{\n    "from": 1,\n})\n'),
        ("save", {"lines": ["a"], "n": 1}, 'save(\n    lines=[\n        "a",\n    ],\n    n=1,\n)\n'),
    ],
)
def test_tool_call(name: str, arguments: JSONValue, code: str) -> None:
    assert tool_call(name, arguments) == code


def test_hostile_tool_call_calls_only_the_tool() -> None:
    calls: list[Any] = []
    name = 'x"](); import os #'
    tools = {name: lambda **arguments: calls.append(arguments)}
    exec(tool_call(name, {"a": HOSTILE, HOSTILE: 1}), {"tools": tools, "__builtins__": {}})
    assert calls == [{"a": HOSTILE, HOSTILE: 1}]
