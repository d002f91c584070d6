"""The last messages of stored requests, read without their history."""

from collections.abc import Iterable, Mapping

import orjson
from hypothesis import given
from hypothesis import strategies as st

from traces.core.json_types import JSONValue
from traces.payloads.splitter import Splitter
from traces.transcripts.request_tails import Tail, message_digests


class Store:
    """Stored values by digest, and what was read of them."""

    def __init__(self, splitter: Splitter) -> None:
        self.values = {digest: orjson.loads(data) for digest, data in splitter.parts.items()}
        self.reads: set[str] = set()

    def load(self, digests: Iterable[str]) -> Mapping[str, JSONValue]:
        self.reads |= set(digests)
        return {digest: self.values[digest] for digest in digests if digest in self.values}


def messages(count: int) -> list[JSONValue]:
    return [{"role": "user", "content": f"message {index}"} for index in range(count)]


@given(st.integers(0, 700), st.integers(0, 700))
def test_digests_from_an_index_on(count: int, start: int) -> None:
    splitter = Splitter()
    request = splitter.split({"messages": messages(count)})
    expected = list(splitter.part_digests(messages(count)))[start:]
    assert message_digests({1: Tail(request, start)}, Store(splitter).load) == {1: expected}


def test_history_is_not_read() -> None:
    splitter = Splitter()
    store_of = {splitter.split({"messages": messages(count)}): count for count in (5_000, 5_001)}
    store = Store(splitter)
    digests = message_digests({count: Tail(ref, count - 2) for ref, count in store_of.items()}, store.load)
    assert {count: len(items) for count, items in digests.items()} == {5_000: 2, 5_001: 2}
    assert len(store.reads) < 20


def test_lost_block_ends_the_messages() -> None:
    splitter = Splitter()
    request = splitter.split({"messages": messages(40)})
    store = Store(splitter)
    whole = message_digests({1: Tail(request, 0)}, store.load)[1]
    (first_block, *_), *_ = store.values[request]["messages"]["$blocks"]
    del store.values[first_block["$part"]]
    assert message_digests({1: Tail(request, 0)}, store.load)[1] == []
    assert message_digests({1: Tail(request, 32)}, store.load)[1] == whole[32:]
    assert message_digests({1: Tail("0" * 64, 0)}, store.load) == {}
