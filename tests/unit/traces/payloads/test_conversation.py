"""Long conversations: the cost per message does not grow with the conversation."""

import json
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.redactions import redaction
from traces.importers.files.source import Source
from traces.importers.formats.chats import chat
from traces.ingest.prepare import prepare
from traces.payloads.conversation import Conversation
from traces.payloads.conversation_state import begins_with
from traces.payloads.splitter import Splitter
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
