"""What messages state beside their contents and calls."""

import pytest

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.transcript_messages import call_fields, extra_fields, result_fields


def test_zero_and_false_are_statements() -> None:
    call: JSONObject = {
        "id": "c1",
        "function": {"name": "find", "arguments": "{}", "strict": False},
        "priority": 0,
        "note": "",
    }
    assert call_fields({"tool_calls": [call]}) == {"c1": {"strict": False, "priority": 0}}
    assert extra_fields({"content": [{"type": "text", "text": "x", "rank": 0}]}) == {"parts": [{"part": 0, "rank": 0}]}


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("content", [{"type": "tool_result", "tool_use_id": "c1", "content": "3", "is_error": False, "rank": 0}]),
        ("content", [{"toolResult": {"toolUseId": "c1", "status": "success", "content": [], "rank": 0}}]),
        ("parts", [{"functionResponse": {"id": "c1", "name": "find", "response": {"output": "3"}, "rank": 0}}]),
    ],
)
def test_result_has_the_other_members_of_its_block(name: str, blocks: list[JSONValue]) -> None:
    other: JSONObject = {"type": "tool_result", "tool_use_id": "c2", "content": "4", "rank": 1}
    message: JSONObject = {name: [other, *blocks]}
    assert result_fields(message, "c1") == {"rank": 0}
