"""Words of payloads and queries."""

import pytest

from traces.core.canonical import canonical_bytes
from traces.core.json_types import JSONValue
from traces.search.tokens import fold, fold_places, query_words, word_pattern, words_of_json


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("Order A-1042 shipped.", {"order", "a", "1042", "a‐1042", "shipped"}),
        ("Bestellung Ä‑1042–2", {"bestellung", "a", "1042", "2", "a‐1042", "1042‐2"}),
        ("on 2026-11.- 20, e-mail -5", {"on", "2026", "11", "2026‐11", "20", "e", "mail", "5"}),
        (f"{'a' * 40}-{'1' * 40}", {"a" * 40, "1" * 40}),
        ("get_order", {"get", "order"}),
        ("C:\\new\nline\ttab", {"c", "new", "line", "tab"}),
        ({"role": "user", "content": "Where is it?"}, {"where", "is", "it"}),
        ({"order_id": 7, "paid": True}, {"order", "id", "7", "paid", "true"}),
        ("Größe “XL” — déjà vu", {"grosse", "xl", "deja", "vu"}),
        ("İstanbul ﬁle cafe\u0301", {"istanbul", "file", "cafe"}),
        ("東京 Tower", {"東", "京", "tower"}),
        ("Rocket 🚀👩‍👧", {"rocket", "🚀", "👩", "👧"}),
        ("ไทย", {"ไ", "ท", "ย"}),
        ({"content": {"$part": "0" * 64}}, set()),
    ],
)
def test_words_of_payloads(value: JSONValue, words: set[str]) -> None:
    assert words_of_json(canonical_bytes(value)) == words


def test_queries_have_the_words_of_payloads() -> None:
    text = "GET_ORDER('A-1042') für Größe 東京"
    words = ["get", "order", "a‐1042", "fur", "grosse", "東", "京"]
    assert query_words(text.split()) == words
    assert set(words) < words_of_json(canonical_bytes(text))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("A-", ["a"]),
        ("A-1", ["a‐1"]),
        ("2026/11/20", ["2026‐11", "11‐20"]),
        ("inv-a-7-x", ["inv", "a‐7", "7‐x"]),
        ("e-mail 1042", ["e", "mail", "1042"]),
    ],
)
def test_query_with_a_reference_asks_for_it(query: str, words: list[str]) -> None:
    assert query_words(query.split()) == words


@pytest.mark.parametrize(
    ("words", "text", "matches"),
    [
        (["order", "ship"], "Order orders shipped, reorder_ship", ["Order", "shipped", "ship"]),
        (["東", "京"], "大東京タワー", ["東", "京"]),
        (["creme"], "Eine Crème brûlée, GROẞE CREMES", ["Crème", "CREMES"]),
        (["x"], "ß x\u030c", ["x\u030c"]),
        (["a‐10"], "a 1042, B-A-1042, ba-10 A_107", ["A-1042", "A_107"]),
        (["grosse", "brule"], "GROẞE brûlée", ["GROẞE", "brûlée"]),
    ],
)
def test_pattern_finds_words_and_one_beginning(words: list[str], text: str, matches: list[str]) -> None:
    places = fold_places(text)
    spans = (match.span() for match in word_pattern(words).finditer(fold(text)))
    assert [text[places[start] : places[end]] for start, end in spans] == matches


def test_composed_and_decomposed_characters_are_equal() -> None:
    assert fold("cafe\u0301 \u304b\u3099") == fold("café が")
    assert fold("한국어") == "한국어"
