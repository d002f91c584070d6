"""Members of files that are in no run: what the report of an import names."""

import io
from typing import Any

import orjson
import pytest

from traces.reading import file_reader
from traces.reading.progress import MembersUnread, NamedFile


def unread(*chats: dict[str, Any], format: str = "chat") -> tuple[tuple[str, int], ...]:
    """Import chats as lines; return the members that are in no run."""
    file = NamedFile(name="chats.jsonl", file=io.BytesIO(b"\n".join(map(orjson.dumps, chats))))
    (event,) = [event for event in file_reader.read_files([file], format) if isinstance(event, MembersUnread)]
    return event.members


def chat(**members: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Is Dune in stock?"}, {"role": "assistant", "content": "Yes.", **members}]
    return {"messages": messages}


def test_values_in_no_run_are_counted_by_member() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"}, "shelf": "shelf 7"}
    assert unread(chat(tool_calls=[call]), chat(tool_calls=[call]), chat()) == (("/messages/tool_calls/shelf", 2),)


@pytest.mark.parametrize(
    "members",
    [
        {"content": [{"type": "text", "text": "Yes, three."}]},
        {"tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": '{"price": 54.04}'}}]},
        {"usage": {"prompt_tokens": 1234, "completion_tokens": 5}, "cost": 0.123456789},
        {"ts": 1772359200.5, "finish_reason": "tool_use"},
    ],
    ids=["blocks", "arguments", "counts", "times"],
)
def test_translated_values_are_read(members: dict[str, Any]) -> None:
    assert unread(chat(**members)) == ()


def test_ids_that_link_records_are_read() -> None:
    events = [
        {"type": "user", "sessionId": "s-1", "uuid": "u-0001", "message": {"role": "user", "content": "Hello?"}},
        {
            "type": "assistant",
            "sessionId": "s-1",
            "uuid": "u-0002",
            "parentUuid": "u-0001",
            "message": {"role": "assistant", "content": "Yes."},
        },
    ]
    assert unread(*events, format="claude-code") == ()
