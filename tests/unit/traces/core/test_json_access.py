"""Accessors for JSON of unknown shape."""

import pytest

from traces.core.json_access import (
    as_list,
    as_number,
    as_object,
    as_objects,
    as_string,
    as_text,
    first_member,
    has_list,
    has_object,
    has_string,
    list_or_single,
    member,
)
from traces.core.json_types import JSONValue

SCALARS: list[JSONValue] = [None, True, 1, 1.5, "text"]


@pytest.mark.parametrize("value", SCALARS)
def test_scalars_have_no_members(value: JSONValue) -> None:
    assert as_object(value) == {}
    assert as_list(value) == []
    assert as_objects(value) == []
    assert member(value, "name") is None
    assert not has_list(value, "name")
    assert not has_object(value, "name")
    assert not has_string(value, "name")


def test_lists_keep_only_objects() -> None:
    assert as_objects([{"id": 1}, "text", None, [{}], {}]) == [{"id": 1}, {}]
    assert as_objects({"id": 1}) == []


def test_single_value_counts_as_list() -> None:
    assert list_or_single([1, 2]) == [1, 2]
    assert list_or_single([]) == []
    assert list_or_single({"id": 1}) == [{"id": 1}]
    assert list_or_single(None) == [None]


def test_member_follows_path() -> None:
    answer: JSONValue = {"usage": {"input_tokens": 7}, "message": "text"}
    assert member(answer, "usage", "input_tokens") == 7
    assert member(answer, "message", "content") is None
    assert member(answer, "usage", "output_tokens") is None


def test_first_member_skips_empty_fields() -> None:
    assert first_member({"a": None, "b": "", "c": 0, "d": 1}, "a", "b", "c", "d") == 0
    assert first_member({"a": ""}, "a", "missing") is None


def test_member_has_expected_type() -> None:
    value: JSONValue = {"list": [], "object": {}, "text": ""}
    assert [has_list(value, name) for name in ("list", "object", "text", "none")] == [True, False, False, False]
    assert [has_object(value, name) for name in ("list", "object", "text", "none")] == [False, True, False, False]
    assert [has_string(value, name) for name in ("list", "object", "text", "none")] == [False, False, True, False]


def test_text_includes_numbers_and_booleans() -> None:
    texts = {True: "true", 1.5: "1.5", "text": "text", None: ""}
    assert {value: as_text(value) for value in texts} == texts
    assert as_text(7) == "7"
    assert as_text([]) == ""
    assert as_text({}) == ""
    assert as_string("text") == "text"
    assert as_string(1) == ""


def test_booleans_are_no_numbers() -> None:
    assert as_number(1.5) == 1.5
    assert as_number(0) == 0
    assert as_number(True) is None
    assert as_number("1") is None
