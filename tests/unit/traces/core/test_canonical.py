"""Canonical JSON: the examples of RFC 8785, agreement with an independent implementation, and errors."""

import math

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from traces.core.canonical import MAX_DEPTH, NotCanonical, canonical_bytes, digest
from traces.core.json_types import JSONValue

_SAFE = 2**53 - 1
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-_SAFE, _SAFE)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(json_values)
def test_agrees_with_reference_implementation(value: JSONValue) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("number", "text"),
    [(1e21, b"1e+21"), (1e-7, b"1e-7"), (0.00001, b"0.00001"), (4.50, b"4.5"), (2.0, b"2"), (-0.0, b"0")],
)
def test_numbers_match_ecmascript(number: float, text: bytes) -> None:
    assert canonical_bytes(number) == text


def test_keys_sort_by_utf16_unit() -> None:
    assert canonical_bytes({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()


def test_equal_values_have_equal_digests() -> None:
    assert digest({"b": 1.0, "a": [1]}) == digest({"a": [1.0], "b": 1})


def test_64_bit_integers_keep_their_digits() -> None:
    assert canonical_bytes({"é": 12345678901234567890}) == '{"é":12345678901234567890}'.encode()


@pytest.mark.parametrize(
    ("value", "problem", "where"),
    [
        ({"a": [1, {"b/c": math.nan}]}, "nan is not a JSON number", "/a/1/b~1c"),
        ([2**64], "an integer beyond 64 bits", "/0"),
        ({"x": "\ud800"}, "a lone surrogate", "/x"),
        ({"x": {1: 2}}, "an object key that is not text", "/x/1"),
        ({"x": {1, 2}}, "set is not a JSON value", "/x"),
    ],
)
def test_rejects_non_json_with_pointer(value: JSONValue, problem: str, where: str) -> None:
    with pytest.raises(NotCanonical) as error:
        canonical_bytes(value)
    assert (error.value.problem, error.value.pointer) == (problem, where)


def test_rejects_deep_nesting() -> None:
    value: JSONValue = 0
    for _ in range(MAX_DEPTH + 2):
        value = [value]
    with pytest.raises(NotCanonical, match="nested deeper"):
        canonical_bytes(value)
