"""Duplicate keys are found with their pointer, without false positives."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.core import duplicate_keys
from traces.core.json_types import JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, parse_embedded

TEXTS = st.sampled_from(["a", "b", '":', '\\":', "\\", '"', " :", ":", '\\\\":{', "é", '{"a":1,"a":2}', ""])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 9) | TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), (",\n", "\n:\t")])


@given(VALUES, SEPARATORS, st.booleans())
def test_values_without_duplicates_pass(value: JSONValue, separators: tuple[str, str], ascii: bool) -> None:
    data = json.dumps(value, separators=separators, ensure_ascii=ascii).encode()
    assert duplicate_keys.find(data, orjson.loads(data)) is None


@given(VALUES, TEXTS, st.lists(st.sampled_from(["list", "object"]), max_size=4), SEPARATORS)
def test_duplicates_are_found_at_any_depth(
    value: JSONValue, key: str, around: list[str], separators: tuple[str, str]
) -> None:
    comma, colon = separators
    inner = json.dumps(value, separators=separators)
    text = f"{{{json.dumps(key)}{colon}1{comma}{json.dumps(key)}{colon}{inner}}}"
    where = ""
    for kind in around:
        text = f"[0{comma}{text}]" if kind == "list" else f'{{"in"{colon}{text}}}'
        where = ("/1" if kind == "list" else "/in") + where
    twice = duplicate_keys.find(text.encode(), orjson.loads(text))
    assert twice == duplicate_keys.DuplicateKey(key=key, pointer=where)
    assert not duplicate_keys.are_unique(text.encode(), orjson.loads(text))


def test_text_that_begins_with_an_escaped_colon_hides_no_duplicate_key() -> None:
    # Written again, the text has a quote before a colon, as the lost key had.
    with pytest.raises(BadFile, match="occurs twice"):
        json_value(b'{"a": 1, "a": "\\u003a"}')


def test_file_with_duplicate_key_is_rejected() -> None:
    with pytest.raises(BadFile, match=r"the key “role” occurs twice in one object \(/messages/0\)"):
        json_value(b'{"messages": [{"role": "user", "role": "system"}]}')
    with pytest.raises(BadFile, match="twice"):
        json_value('{"a": "é", "a": 2}'.encode("cp1252"))


def test_duplicate_key_inside_text_is_ignored() -> None:
    assert parse_embedded('{"a": 1, "a": 2}') == '{"a": 1, "a": 2}'


def test_value_that_is_too_deep_to_be_written_is_read() -> None:
    text = b"[" * 400 + b'{"a": 1}' + b"]" * 400
    assert duplicate_keys.find(text, orjson.loads(text)) is None
