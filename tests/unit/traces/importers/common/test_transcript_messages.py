"""What messages state beside their contents and calls."""

from traces.core.json_types import JSONObject
from traces.importers.common.transcript_messages import call_fields, extra_fields


def test_zero_and_false_are_statements() -> None:
    call: JSONObject = {
        "id": "c1",
        "function": {"name": "find", "arguments": "{}", "strict": False},
        "priority": 0,
        "note": "",
    }
    assert call_fields({"tool_calls": [call]}) == {"c1": {"strict": False, "priority": 0}}
    assert extra_fields({"content": [{"type": "text", "text": "x", "rank": 0}]}) == {"parts": [{"part": 0, "rank": 0}]}
