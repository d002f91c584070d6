"""Payloads of which parts are lost: the rest stays readable."""

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
    said: list[JSONValue] = [{"role": "user", "content": f"message {number}"} for number in range(length)]
    return {"messages": said, "tools": [{"name": "get_order"}], "note": LONG}


def _without(value: JSONValue, lost: set[str]) -> tuple[str, dict[str, JSONValue]]:
    payload = split(value)
    stored = {name: orjson.loads(data) for name, data in payload.parts.items() if name not in lost}
    return payload.digest, stored


def _read(value: JSONValue, *lost: str) -> JSONValue:
    digest, stored = _without(value, {*lost})

    def load(digests: Iterable[str]) -> dict[str, JSONValue]:
        return {one: stored[one] for one in digests if one in stored}

    found = readable([digest], load)
    assert found.lacks(digest) is bool(lost)
    assert found.lost_digests == {*lost}
    return found.values.get(digest)


def _part(value: JSONValue) -> str:
    """The digest of a message, as it is a part of its own."""
    (part,) = json.loads(split({"messages": [value]}).parts[split({"messages": [value]}).digest])["messages"]
    return str(part["$part"])


@pytest.mark.parametrize("length", [3, 40, 700])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_lost_message_leaves_the_others(length: int, place: int) -> None:
    value = _conversation(length)
    messages = value["messages"]
    assert isinstance(messages, list)
    lost = _part(messages[place])
    shown = _read(value, lost)
    assert isinstance(shown, dict)
    read = shown["messages"]
    assert isinstance(read, list)
    mark = read[place]
    assert isinstance(mark, dict)
    assert (mark[UNAVAILABLE], mark["role"]) == (lost, "unavailable")
    assert [one for one in read if one is not mark] == [one for one in messages if one is not messages[place]]
    assert (shown["tools"], shown["note"]) == (value["tools"], LONG)


@given(st.data())
def test_any_lost_part_keeps_the_shape(data: st.DataObject) -> None:
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


def test_lost_text_tool_and_answer_are_marked_as_what_they_are() -> None:
    value: JSONValue = {
        "tools": [{"name": "get_order"}],
        "message": {"role": "assistant", "content": "Hello"},
        "t": LONG,
    }
    names = [name for name in split(value).parts if name != split(value).digest]
    shown = _read(value, *names)
    assert isinstance(shown, dict)
    assert isinstance(shown["tools"], list)
    tool = shown["tools"][0]
    assert isinstance(tool, dict)
    assert isinstance(shown["message"], dict)
    assert (tool["name"], shown["message"]["role"]) == ("unavailable", "unavailable")
    assert str(shown["t"]).startswith("[unavailable: artifact ")


def test_lost_root_is_absent() -> None:
    value = _conversation(2)
    assert _read(value, split(value).digest) is None


def test_lost_parts_are_no_differences() -> None:
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
