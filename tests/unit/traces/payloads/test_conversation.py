"""Long conversations: the cost per message does not grow with the conversation."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.redactions import redaction
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.names import run_name
from traces.importers.files.source import Source
from traces.importers.formats.chats import chat
from traces.ingest.prepare import prepare
from traces.payloads.conversation import Conversation, MessageCursor
from traces.payloads.conversation_state import begins_with
from traces.payloads.splitter import Splitter
from traces.payloads.step_summaries import search_text
from traces.provenance.edges import Provenance


@given(st.lists(st.integers(0, 30), max_size=600), st.integers(0, 600))
def test_prefixes_are_cut_like_lists(numbers: list[int], length: int) -> None:
    conversation, prefixes = Conversation(), []
    for number in numbers:
        conversation.append({"role": "user", "content": f"message {number}"})
        prefixes.append(conversation.snapshot)
    messages = prefixes[length % len(prefixes)] if prefixes else conversation.snapshot
    growing, plain = Splitter(), Splitter()
    assert growing.split({"messages": messages, "n": 1}) == plain.split({"messages": list(messages), "n": 1})  # type: ignore[dict-item]
    assert growing.parts.items() >= plain.parts.items()
    assert list(growing.part_digests(messages)) == list(plain.part_digests(list(messages)))


def test_prefixes_equal_lists() -> None:
    conversation = Conversation([1, 2])
    before = conversation.snapshot
    conversation.append(3)
    assert before == [1, 2]
    assert conversation.snapshot[-1] == 3
    assert (before[0:2], list(before), len(before)) == ([1, 2], [1, 2], 2)
    with pytest.raises(IndexError):
        before[2]
    splitter = Splitter()
    assert begins_with(splitter.part_digests(conversation.snapshot), splitter.part_digests(before))
    assert not begins_with(splitter.part_digests(before), splitter.part_digests(conversation.snapshot))
    assert begins_with(splitter.part_digests(conversation.snapshot), splitter.part_digests([1, 2]))


def peak_memory(count: int) -> tuple[int, Provenance]:
    """Peak memory of reading and preparing a chat of so many messages, and its provenance."""
    roles = ("user", "assistant")
    chat_file = [{"role": roles[at % 2], "content": f"message {at} says so"} for at in range(count)]
    data = json.dumps(chat_file).encode()
    tracemalloc.start()
    try:
        [run] = chat.parse(Source(name="long.json", data=data))
        prepared_provenance = prepare(run, redaction()).provenance()
        return tracemalloc.get_traced_memory()[1], prepared_provenance.provenance
    finally:
        tracemalloc.stop()


def test_parts_need_little_extra_memory() -> None:
    tracemalloc.start()
    try:
        splitter = Splitter()
        splitter.split({"messages": [{"content": f"message {number}"} for number in range(1_000)]})
        assert tracemalloc.get_traced_memory()[0] < 1_500 * len(splitter.parts)
    finally:
        tracemalloc.stop()


def test_memory_is_linear_in_messages() -> None:
    (short, _), (long, provenance) = peak_memory(300), peak_memory(2_400)
    assert long < 11 * short  # with a list for each call it would be 64 times
    assert len(provenance.edges) == 1_200


def test_histories_compare_up_to_divergence() -> None:
    looks: list[int] = []

    class CountingDigests(list[str]):
        def __iter__(self) -> Iterator[str]:
            for at in range(len(self)):
                looks.append(at)
                yield self[at]

    assert not begins_with(CountingDigests(["a", "b", "c", "d"]), ["a", "x", "c"])
    assert looks == [0, 1]


def test_cursor_returns_messages_once() -> None:
    conversation, other = Conversation(["one"]), Conversation(["one"])
    cursor = MessageCursor()
    assert list(cursor.unread(conversation.snapshot)) == ["one"]
    conversation.append("two")
    assert list(cursor.unread(other.snapshot)) == ["one"]
    assert list(cursor.unread(conversation.snapshot)) == ["two"]
    assert list(cursor.unread(conversation.snapshot)) == []


def test_cursor_rereads_lists_that_are_not_continued() -> None:
    system: JSONValue = {"role": "system"}
    first: JSONValue = {"role": "user"}
    second: JSONValue = {"role": "user"}
    cursor = MessageCursor()
    cursor.unread([system, first])
    assert cursor.unread([system, first, second]) == [second]
    # A summary replaced the first message.
    assert cursor.unread([system, second, first, first]) == [system, second, first, first]
    assert cursor.unread([]) == []


class _CountedMessage(dict[str, JSONValue]):
    """A message that counts how often its role is read."""

    reads = 0

    def get(self, key: str, default: Any = None) -> Any:
        _CountedMessage.reads += key == "role"
        return super().get(key, default)


def _agents_without_user(answers: int) -> RecordedRun:
    """Two agents in turn, with a conversation each, that only they speak in."""
    conversations = (Conversation(), Conversation())
    steps = []
    for number in range(answers):
        conversation = conversations[number % 2]
        input: JSONObject = {"messages": cast(JSONValue, conversation.snapshot)}
        steps.append(RecordedStep(key=f"msg-{number}", type=StepType.MODEL, name="model", input=input))
        conversation.append(_CountedMessage(role="assistant", content=f"answer {number}"))
    return RecordedRun(external_id="team-1", name="team", app="desk", format="test", steps=tuple(steps))


@pytest.mark.parametrize("read", [search_text, lambda run: run_name(run.steps, "unnamed")], ids=["search", "name"])
def test_search_for_a_user_reads_each_message_once(read: Callable[[RecordedRun], str]) -> None:
    run = _agents_without_user(400)
    _CountedMessage.reads = 0
    read(run)
    assert _CountedMessage.reads <= 400
