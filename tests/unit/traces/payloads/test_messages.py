"""Payload views accept any JSON."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from traces.core.json_types import JSONValue
from traces.payloads.conversation import Conversation
from traces.payloads.messages import Documents, Message, ModelAnswer, ModelRequest

NAMES = ("messages", "message", "documents", "content", "role", "tool_calls", "id", "text")
any_json: st.SearchStrategy[JSONValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=20,
)
CALL: JSONValue = {"id": "c1", "name": "get_order", "arguments": {"id": "A-1"}}


@given(any_json)
def test_any_json_can_be_viewed(value: JSONValue) -> None:
    request, answer, message, documents = ModelRequest(value), ModelAnswer(value), Message(value), Documents(value)
    assert all(view.value is value for view in (request, answer, message, documents))
    assert all(isinstance(text, str) for text in (message.role, message.text, message.plain_text, answer.text))
    assert len(message.call_ids) == len(message.calls)
    assert isinstance(request.messages, list)
    assert all(isinstance(text, str) for text in documents.texts)
    assert all(text.strip() == text and path.startswith("/message/content") for text, path in message.text_places())


@given(any_json)
def test_answer_reads_its_message(value: JSONValue) -> None:
    answer = ModelAnswer({"message": value})
    assert answer.message == (value if isinstance(value, dict) else {})
    assert (answer.calls, answer.text) == (Message(value).calls, Message(value).text)


@given(st.lists(any_json, max_size=3))
def test_request_reads_its_messages(messages: list[JSONValue]) -> None:
    assert ModelRequest({"messages": messages}).messages is messages
    snapshot: Any = Conversation(messages).snapshot
    assert list(ModelRequest({"messages": snapshot}).messages) == messages


def test_message_reads_one_text() -> None:
    message = Message({"role": "assistant", "content": " Yes. ", "tool_calls": [CALL, "broken", {}]})
    assert (message.role, message.text, message.plain_text) == ("assistant", "Yes.", "Yes.")
    assert (message.calls, message.call_ids) == ([CALL, {}], ["c1", ""])
    assert list(message.text_places()) == [("Yes.", "/message/content")]


def test_message_reads_blocks() -> None:
    blocks: list[JSONValue] = [{"type": "text", "text": "One "}, "broken", {"type": "text", "text": "two."}]
    message = Message({"content": blocks})
    assert (message.text, message.plain_text) == ("One two.", "")
    places = list(message.text_places())
    assert places == [("One", "/message/content/0/text"), ("two.", "/message/content/2/text")]


def test_documents_read_their_texts() -> None:
    assert Documents({"documents": [{"content": "a "}, "broken", {"id": "d2"}]}).texts == ["a", ""]
