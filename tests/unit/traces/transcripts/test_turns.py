"""Turns of messages and outputs, whatever their shape."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.core.json_types import JSONObject, JSONValue
from traces.transcripts.turns import answer_text, cut_to, input_turns, message_turn, output_turn

NAMES = ("messages", "message", "documents", "content", "role", "tool_calls", "id", "text", "type", "metadata", "name")
any_json: st.SearchStrategy[JSONValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=20,
)
CUT = cut_to(10)


@given(any_json)
def test_any_json_becomes_a_turn(value: JSONValue) -> None:
    turns = [message_turn(value, CUT), output_turn(value, CUT), *input_turns(value, CUT)]
    assert all(len(turn.text.text) <= 10 <= max(10, turn.text.length) for turn in turns)
    assert isinstance(answer_text(value), str)


def test_blocks_of_a_message_are_told_apart() -> None:
    message: JSONObject = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Look first.", "signature": "s"},
            {"type": "text", "text": "One"},
            {"type": "text", "text": "moment."},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        ],
        "tool_calls": [{"id": "c1", "name": "get_order", "arguments": {"order_id": "A-1"}}],
    }
    turn = message_turn(message, cut_to(100))
    assert (turn.role, turn.text.text, turn.thinking.text) == ("assistant", "One\n\nmoment.", "Look first.")
    assert [(call.id, call.name, call.arguments.text) for call in turn.calls] == [
        ("c1", "get_order", '{"order_id": "A-1"}')
    ]
    assert turn.blocks == ["image_url"]


def test_a_cut_text_states_its_length() -> None:
    turn = message_turn({"role": "user", "content": "x" * 5_000}, cut_to(3))
    assert (turn.text.text, turn.text.length) == ("xxx", 5_000)


@pytest.mark.parametrize(
    ("output", "text", "is_json"),
    [
        ("done", "done", False),
        ({"text": "done"}, "done", False),
        ({"status": "refused", "code": 7}, '{"status": "refused", "code": 7}', True),
        ([1, 2], "[1, 2]", True),
        ({"message": {"role": "assistant", "content": "done"}}, "done", False),
    ],
)
def test_output_of_a_step(output: Any, text: str, is_json: bool) -> None:
    turn = output_turn(output, cut_to(100))
    assert (turn.text.text, turn.is_json) == (text, is_json)


def test_documents_have_titles() -> None:
    output: JSONValue = {
        "documents": [{"id": "d1", "content": "Refunds", "metadata": {"title": "Policy"}}, {"id": "d2"}]
    }
    turn = output_turn(output, CUT)
    assert [(document.title, document.text.text) for document in turn.documents] == [("Policy", "Refunds"), ("d2", "")]


def test_task_of_an_agent_is_a_turn_of_its_user() -> None:
    (turn,) = input_turns({"task": "Count the books."}, cut_to(100))
    assert (turn.role, turn.text.text) == ("user", "Count the books.")
    assert input_turns(None, CUT) == []
