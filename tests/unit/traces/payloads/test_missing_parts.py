"""Payloads with lost parts: the rest stays readable."""

import json
from collections.abc import Iterable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.missing_parts import UNAVAILABLE, comparable, placeholder_digests, readable
from traces.payloads.splitter import split

LONG = "word " * 1000


def _conversation(length: int) -> JSONObject:
    texts: list[JSONValue] = [{"role": "user", "content": f"message {number}"} for number in range(length)]
    return {"messages": texts, "tools": [{"name": "get_order"}], "note": LONG}


def _store_without(value: JSONValue, lost_digests: set[str]) -> tuple[str, dict[str, JSONValue]]:
    payload = split(value)
    parts = {name: orjson.loads(data) for name, data in payload.parts.items() if name not in lost_digests}
    return payload.digest, parts


def _read(value: JSONValue, *lost_digests: str) -> JSONValue:
    digest, stored = _store_without(value, {*lost_digests})

    def load(digests: Iterable[str]) -> dict[str, JSONValue]:
        return {one: stored[one] for one in digests if one in stored}

    readable_value = readable([digest], load)
    assert readable_value.lacks(digest) is bool(lost_digests)
    assert readable_value.lost_digests == {*lost_digests}
    return readable_value.values.get(digest)


def _part(value: JSONValue) -> str:
    """The digest of a message as a part."""
    (part,) = json.loads(split({"messages": [value]}).parts[split({"messages": [value]}).digest])["messages"]
    return str(part["$part"])


@pytest.mark.parametrize("length", [3, 40, 700])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_lost_message_keeps_the_others(length: int, place: int) -> None:
    value = _conversation(length)
    messages = value["messages"]
    assert isinstance(messages, list)
    digest = _part(messages[place])
    readable_value = _read(value, digest)
    assert isinstance(readable_value, dict)
    read = readable_value["messages"]
    assert isinstance(read, list)
    mark = read[place]
    assert isinstance(mark, dict)
    assert (mark[UNAVAILABLE], mark["role"]) == (digest, "unavailable")
    assert [one for one in read if one is not mark] == [one for one in messages if one is not messages[place]]
    assert (readable_value["tools"], readable_value["note"]) == (value["tools"], LONG)


@given(st.data())
def test_lost_part_keeps_the_shape(data: st.DataObject) -> None:
    value = _conversation(data.draw(st.sampled_from([2, 17, 90, 600])))
    payload = split(value)
    lost = data.draw(st.sampled_from(sorted(payload.parts.keys() - {payload.digest})))
    shown = _read(value, lost)
    assert isinstance(shown, dict)
    assert {*placeholder_digests(shown)} == {lost}
    messages, read = value["messages"], shown["messages"]
    assert isinstance(messages, list)
    assert isinstance(read, list)
    assert len(read) == len(messages)
    assert all(one == other or any(placeholder_digests(other)) for one, other in zip(messages, read, strict=True))


def test_placeholder_has_the_parts_shape() -> None:
    value: JSONValue = {
        "tools": [{"name": "get_order"}],
        "message": {"role": "assistant", "content": "Hello"},
        "t": LONG,
    }
    names = [name for name in split(value).parts if name != split(value).digest]
    readable_value = _read(value, *names)
    assert isinstance(readable_value, dict)
    assert isinstance(readable_value["tools"], list)
    tool = readable_value["tools"][0]
    assert isinstance(tool, dict)
    assert isinstance(readable_value["message"], dict)
    assert (tool["name"], readable_value["message"]["role"]) == ("unavailable", "unavailable")
    assert str(readable_value["t"]).startswith("[unavailable: artifact ")


def test_lost_root_is_absent() -> None:
    value = _conversation(2)
    assert _read(value, split(value).digest) is None


def test_lost_parts_are_not_differences() -> None:
    base, candidate = _conversation(3), _conversation(3)
    other: JSONValue = {"role": "user", "content": "something else"}
    messages = candidate["messages"]
    assert isinstance(messages, list)
    messages[1], messages[2] = other, {"role": "user", "content": "new"}
    lost: set[str] = set()
    left, right = comparable(base, _read(candidate, _part(other)), lost)
    assert lost == {_part(other)}
    assert isinstance(left, dict)
    assert isinstance(right, dict)
    pairs = zip(*(side["messages"] for side in (left, right)), strict=True)
    assert [one == two for one, two in pairs] == [True, True, False]


def test_complete_values_are_compared_without_a_copy() -> None:
    base, candidate = _conversation(2), _conversation(3)
    lost_digests: set[str] = set()
    assert comparable(base, candidate, lost_digests) == (base, candidate)
    assert comparable(base, candidate, lost_digests)[0] is base
    assert not lost_digests
