"""Members of files that are in no run: what the report of an import names."""

import io
import sqlite3
import time
from typing import Any

import orjson
import pytest

from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.reading import file_reader
from traces.reading.progress import MembersUnread, NamedFile
from traces.reading.text_hashes import MOST_HASHES, TextHashes
from traces.reading.unread_members import RunContents

EVENTS = [
    {"type": "user", "sessionId": "s-1", "uuid": "u-0001", "message": {"role": "user", "content": "Hello?"}},
    {
        "type": "assistant",
        "sessionId": "s-1",
        "uuid": "u-0002",
        "parentUuid": "u-0001",
        "message": {"role": "assistant", "content": "Yes."},
    },
]


def members_unread(data: bytes, format: str) -> tuple[tuple[str, int], ...]:
    """Import a file; return the members that are in no run."""
    file = NamedFile(name="file", file=io.BytesIO(data))
    (event,) = [event for event in file_reader.read_files([file], format) if isinstance(event, MembersUnread)]
    return event.members


def unread(*chats: dict[str, Any], format: str = "chat") -> tuple[tuple[str, int], ...]:
    return members_unread(b"\n".join(map(orjson.dumps, chats)), format)


def chat(**members: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Is Dune in stock?"}, {"role": "assistant", "content": "Yes.", **members}]
    return {"messages": messages}


def test_values_in_no_run_are_counted_by_member() -> None:
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "3", "shelf": "shelf 7"}
    assert unread(chat(content=[result]), chat(content=[result]), chat()) == (("/messages/content/shelf", 2),)


def test_members_of_calls_and_texts_are_attributes_of_steps() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"}, "shelf": "shelf 7"}
    text = {"type": "text", "text": "Yes.", "shelf": "shelf 8"}
    assert unread(chat(tool_calls=[call], content=[text])) == ()


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
    assert unread(*EVENTS, format="claude-code") == ()


def test_columns_of_databases_are_compared() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        """
        CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, created_at TEXT, shelf TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, cover BLOB);
        INSERT INTO sessions VALUES ('20260301_1', 'Stock of Dune', '2026-03-01 10:00:00', 'shelf 7');
        INSERT INTO messages VALUES (1, '20260301_1', 'user', '[{"type": "text", "text": "Any copies?"}]', x'fffe00');
        INSERT INTO messages VALUES (2, '20260301_1', 'assistant', '[{"type": "text", "text": "Yes."}]', NULL);
        """
    )
    assert members_unread(connection.serialize(), "goose") == (("/sessions/shelf", 1),)


def test_good_rows_beside_bad_ones_are_compared() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "find", "input": {}}
    text = {"type": "text", "text": "found", "shelf": [{"place": "shelf 7"}]}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [text]}
    request, answer = EVENTS
    lines = [
        orjson.dumps(request),
        b'{"type": "user", "note": "shelf 8',
        orjson.dumps({**answer, "message": {"role": "assistant", "content": [call]}}),
        orjson.dumps(
            {**request, "uuid": "u3", "parentUuid": "u-0002", "message": {"role": "user", "content": [result]}}
        ),
    ]
    assert members_unread(b"\n".join(lines), "claude-code") == (("/message/content/content/shelf/place", 1),)


@pytest.mark.parametrize(("member", "count"), [("city", 1), ("state", 0), ("description", 1)])
def test_single_word_counts_if_its_member_names_no_kind(member: str, count: int) -> None:
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "3", member: "Arrakeen"}
    assert len(unread(chat(content=[result]))) == count


def test_many_texts_take_bounded_memory() -> None:
    hashes = TextHashes()
    hashes.update(range(MOST_HASHES + 1))
    assert all(number in hashes for number in range(0, MOST_HASHES, 997))
    assert sum(number in hashes for number in range(10**9, 10**9 + 10_000)) < 100


def test_what_steps_share_is_read_once() -> None:
    shared: JSONObject = {f"k{number}": "v" for number in range(20_000)}
    steps = tuple(
        RecordedStep(key=f"{number}", type=StepType.MODEL, name="m", attributes={"config": shared})
        for number in range(1_000)
    )
    contents, start = RunContents(), time.thread_time()
    contents.add(RecordedRun(external_id="r", name="r", app="a", format="f", steps=steps))
    assert contents.contains("k19999")
    assert time.thread_time() - start < 1


def test_texts_of_python_objects_are_compared_by_their_members() -> None:
    step = (
        "ActionStep(step_number=1, model_output='I count.', observations='three copies', shelf='shelf seven',"
        " tool_calls=[ToolCall(name='python_interpreter', arguments='count()', id='c1')],"
        " model_input_messages=[ChatMessage(role=<MessageRole.USER: 'user'>, content='Count the copies.')])"
    )
    row = {"question": "Count.", "intermediate_steps": [step]}
    assert unread(row, format="smolagents") == (("/intermediate_steps/shelf", 1),)
