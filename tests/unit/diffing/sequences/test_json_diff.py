"""Differences of JSON values by pointer."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffing.sequences.json_diff import Change, parse_embedded_json, value_changes
from traces.core.json_types import JSONValue

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "b/c", "d~e"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "c/d"]), inner),
    max_leaves=12,
)


def test_changed_argument_has_a_pointer() -> None:
    assert value_changes({"amount": 4200, "order": {"id": 1}}, {"amount": 42, "order": {"id": 1}}) == [
        Change("/amount", "changed", 4200, 42)
    ]


def test_inserted_item_is_one_difference() -> None:
    assert value_changes([1, 2, 3], [1, 9, 2, 3]) == [Change("/1", "added", None, 9)]


@pytest.mark.parametrize(
    ("base", "candidate", "differs"),
    [(1, 1.0, False), (1, "1", True), (True, 1, True), (None, 0, True), (None, "", True), (0.0, -0.0, False)],
)
def test_types_count_but_number_notation_does_not(base: Any, candidate: Any, differs: bool) -> None:
    assert bool(value_changes({"x": base}, {"x": candidate})) is differs


def test_keys_with_slashes_are_escaped() -> None:
    assert value_changes({"a/b~c": 1}, {"a/b~c": 2})[0].path == "/a~1b~0c"


def test_new_null_is_an_addition() -> None:
    assert value_changes({}, {"x": None}) == [Change("/x", "added", None, None)]


def test_only_json_texts_are_parsed() -> None:
    assert parse_embedded_json('{"a": 1}') == {"a": 1}
    assert parse_embedded_json("[not json") == "[not json"
    assert parse_embedded_json("42") == "42"


def test_number_of_differences_is_limited() -> None:
    assert len(value_changes(list(range(1000)), list(range(1000, 2000)), limit=50)) == 50


@given(VALUES)
def test_value_equals_itself(value: Any) -> None:
    assert value_changes(value, deepcopy(value)) == []


@given(VALUES, VALUES)
def test_swapped_values_swap_additions_and_removals(base: Any, candidate: Any) -> None:
    changes, back = value_changes(base, candidate), value_changes(candidate, base)
    assert sum(c.op == "added" for c in changes) == sum(c.op == "removed" for c in back)
    assert sum(c.op == "changed" for c in changes) == sum(c.op == "changed" for c in back)


def test_sets_have_no_order() -> None:
    base: JSONValue = {"citations": ["returns", "shipping"], "stop": ["END", "STOP"]}
    assert value_changes(base, {"citations": ["shipping", "returns", "returns"], "stop": ["STOP", "END"]}) == []
    assert value_changes(base, {"citations": ["warranty", "returns"], "stop": ["END", "STOP"]}) == [
        Change("/citations/1", "removed", "shipping", None),
        Change("/citations/0", "added", None, "warranty"),
    ]
    assert value_changes({"steps": [1, 2]}, {"steps": [2, 1]}) != []
