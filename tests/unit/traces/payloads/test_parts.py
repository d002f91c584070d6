"""Payloads in parts: lossless, deterministic, and cheap for a growing conversation."""

import copy
from collections.abc import Iterable, Mapping

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.core.canonical import MAX_DEPTH, NotCanonical, canonical_bytes, digest_bytes
from traces.core.json_types import JSONValue
from traces.payloads.digest_packing import pack, part_digests, unpack
from traces.payloads.parts import (
    BLOCK,
    LONG_TEXT,
    Joiner,
    MissingPart,
    entries,
    fetch_closure,
    join,
    join_many,
    references,
)
from traces.payloads.splitter import Splitter, split

_KEYS = st.sampled_from(
    ["messages", "tools", "documents", "message", "content", "$part", "$blocks", "$literal", "é", ""]
)
# Beyond 2^53 a float is written with the shortest digits that round to it, and read as the integer of those digits.
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(-(2.0**53), 2.0**53),
    st.text(max_size=8),
    st.just("long " * LONG_TEXT),
)
VALUES: st.SearchStrategy[JSONValue] = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=40) | st.dictionaries(_KEYS, inner, max_size=5), max_leaves=60
)


def _join(digest: str, parts: Mapping[str, bytes]) -> JSONValue:
    return join(digest, _loader(parts))


def _loader(parts: Mapping[str, bytes]):  # type: ignore[no-untyped-def]  # a closure for tests
    def load(digests: Iterable[str]) -> dict[str, JSONValue]:
        return {digest: orjson.loads(parts[digest]) for digest in digests if digest in parts}

    return load


@given(VALUES)
def test_value_round_trips_through_parts(value: JSONValue) -> None:
    payload = split(value)
    assert _join(payload.digest, payload.parts) == value
    assert all(digest_bytes(data) == name for name, data in payload.parts.items())


@given(VALUES | st.dictionaries(st.just("messages"), VALUES), st.integers(0, 50))
def test_tail_equals_the_end_of_the_whole_list(value: JSONValue, start: int) -> None:
    payload = split(value)
    joiner = Joiner(_loader(payload.parts))
    joiner.fetch([payload.digest])
    messages = value.get("messages") if isinstance(value, dict) else None
    assert joiner.tail(payload.digest, "messages", start) == (messages if isinstance(messages, list) else [])[start:]


@pytest.mark.parametrize("start", [0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 575, 599, 600, 601])
def test_tail_of_a_long_list_is_joined_alone(start: int) -> None:
    messages: list[JSONValue] = [{"role": "user", "content": f"message {number}"} for number in range(600)]
    payload = split({"messages": messages})
    joiner = Joiner(_loader(payload.parts))
    joiner.fetch([payload.digest])
    assert joiner.tail(payload.digest, "messages", start) == messages[start:]


@given(VALUES)
def test_packed_parts_round_trip(value: JSONValue) -> None:
    assert all(unpack(pack(data))[0] == data for data in split(value).parts.values())


@given(VALUES)
def test_part_digests_are_the_references_of_the_value(value: JSONValue) -> None:
    for data in split(value).parts.values():
        assert part_digests(data) == references(orjson.loads(data))


@given(st.lists(VALUES))
def test_parts_are_packed_together(values: list[JSONValue]) -> None:
    parts = [data for value in values for data in split(value).parts.values()]
    content = b"\n".join(parts)
    text, digests = unpack(pack(content))
    assert text == content
    assert {digest.hex() for digest in digests} >= {digest for data in parts for digest in part_digests(data)}


def test_only_real_references_are_packed() -> None:
    name = "0a" * 32
    message = canonical_bytes({"role": "user", "content": f'{{"$part":"{name}"}} \x00'})
    refers = canonical_bytes({"messages": [{"$part": name}, {"$part": name}]})
    assert pack(message) == unpack(message)[0] == message
    assert len(pack(refers)) == len(refers) - 2 * (len(f'{{"$part":"{name}"}}') - 33)
    assert unpack(pack(refers))[0] == refers


@given(VALUES)
def test_digest_is_independent_of_history(value: JSONValue) -> None:
    splitter = Splitter()
    first = splitter.split(value)
    assert splitter.split(copy.deepcopy(value)) == splitter.split(value) == first == split(value).digest
    assert splitter.digest(value) == first


@given(st.lists(VALUES, max_size=12))
def test_joining_many_equals_joining_each(values: list[JSONValue]) -> None:
    splitter = Splitter()
    digests = [splitter.split(value) for value in values]
    whole_values = join_many(digests, _loader(splitter.parts))
    assert [whole_values[digest] for digest in digests] == values


@given(st.lists(st.text(max_size=3), max_size=300))
def test_entries_match_list_items(texts: list[str]) -> None:
    splitter = Splitter()
    items: list[JSONValue] = [{"role": "user", "content": text} for text in texts]
    store = fetch_closure([splitter.split({"messages": items})], _loader(splitter.parts))
    root = next(value for value in store.values() if isinstance(value, dict) and "messages" in value)
    assert isinstance(root, dict)
    assert entries(root["messages"], store) == [{"$part": digest} for digest in splitter.part_digests(items)]


def test_reference_lookalikes_are_preserved() -> None:
    value: JSONValue = {"$part": "0" * 64, "messages": [{"$blocks": [1]}]}
    payload = split(value)
    assert _join(payload.digest, payload.parts) == value


def test_true_and_one_differ() -> None:
    splitter = Splitter()
    digests = [splitter.part_digest({"content": value}) for value in (True, 1, "1", None)]
    assert len(set(digests)) == 4


def test_nan_is_rejected_after_null() -> None:
    splitter = Splitter()
    splitter.split({"messages": [{"content": None}]})
    with pytest.raises(NotCanonical):
        splitter.split({"messages": [{"content": float("nan")}]})


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"messages": [{"content": "a"}, {"content": [1.5, float("nan")]}]}, "/messages/1/content/1"),
        ({"message": {"content": "\ud800"}}, "/message/content"),
        ({"a": {"b": [2**70]}}, "/a/b/0"),
    ],
)
def test_non_json_is_located(value: JSONValue, where: str) -> None:
    with pytest.raises(NotCanonical) as error:
        split(value)
    assert error.value.pointer == where


def test_deep_nesting_is_rejected() -> None:
    value: JSONValue = "x"
    for _ in range(MAX_DEPTH + 50):
        value = [value]
    with pytest.raises(NotCanonical, match="nested deeper"):
        split(value)


def test_missing_part_is_named() -> None:
    payload = split({"messages": [{"content": "hello"}]})
    digest = references(orjson.loads(payload.parts[payload.digest]))[0]
    parts = {name: data for name, data in payload.parts.items() if name != digest}
    with pytest.raises(MissingPart, match=digest):
        _join(payload.digest, parts)


def test_new_message_adds_few_references() -> None:
    history: list[JSONValue] = [{"role": "user", "content": f"message {number}"} for number in range(5_000)]
    splitter = Splitter()
    splitter.split({"messages": list(history)})
    before = set(splitter.parts)
    history.append({"role": "user", "content": "one more"})
    splitter.split({"messages": list(history)})
    added = [splitter.parts[name] for name in set(splitter.parts) - before]
    assert len(added) <= 2 + 5  # the message, the payload, and at most a block on every level
    assert sum(map(len, added)) < 5 * BLOCK * 80 + 2_000
