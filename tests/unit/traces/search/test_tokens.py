"""Words of payloads and queries."""

import pytest

from traces.core.canonical import canonical_bytes
from traces.core.json_types import JSONValue
from traces.search.tokens import query_words, word_pattern, words_of_json


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("Order A-1042 shipped.", {"order", "a", "1042", "shipped"}),
        ("get_order", {"get", "order"}),
        ("C:\\new\nline\ttab", {"c", "new", "line", "tab"}),
        ({"role": "user", "content": "Where is it?"}, {"where", "is", "it"}),
        ({"order_id": 7, "paid": True}, {"order", "id", "7", "paid", "true"}),
        ("Größe “XL” — déjà vu", {"größe", "xl", "déjà", "vu"}),
        ("東京 Tower", {"東", "京", "tower"}),
        ({"content": {"$part": "0" * 64}}, set()),
    ],
)
def test_words_of_payloads(value: JSONValue, words: set[str]) -> None:
    assert words_of_json(canonical_bytes(value)) == words


def test_queries_have_the_words_of_payloads() -> None:
    text = "GET_ORDER('A-1042') für Größe 東京"
    assert set(query_words(text.split())) == words_of_json(canonical_bytes(text))


def test_pattern_finds_words_and_one_beginning() -> None:
    pattern = word_pattern(["order", "ship"])
    assert pattern.findall("Order orders shipped, reorder_ship") == ["Order", "shipped", "ship"]
