"""The words that name what a changed result is about."""

import pytest

from diffing.sequences.subjects import subject
from traces.core.json_types import JSONObject, JSONValue


def test_arguments_of_a_call_name_its_result() -> None:
    call: JSONObject = {"payer": "Lang", "lot": "R-7b"}
    assert subject((call, call), ({"due": 62}, {"due": 90})) == {"lang", "7b"}


def test_arguments_of_one_run_only_name_nothing() -> None:
    assert subject(({"payer": "Lang"}, {"payer": "Roth"}), ({"due": 62}, {"due": 90})) == frozenset()


def test_texts_beside_a_changed_value_name_it() -> None:
    results: list[JSONValue] = [
        {"rules": [{"field": "purpose", "then": "review"}, {"field": "ratio", "limit": limit, "then": "refuse"}]}
        for limit in (40, 50)
    ]
    assert subject(({}, {}), (results[0], results[1])) == {"ratio", "refuse"}


@pytest.mark.parametrize(("repetitions", "words"), [(1, {"ana", "blum"}), (40, set())])
def test_equal_words_of_a_short_text_that_changed_name_it(repetitions: int, words: set[str]) -> None:
    base, candidate = ("Ana Blum, " * repetitions + town for town in ("Basel", "Olten"))
    assert subject(({}, {}), ({"notes": [base]}, {"notes": [candidate]})) == words


@pytest.mark.parametrize(
    ("sheet", "words"), [("Lang, Ana", {"ana", "lang"}), ("Box 4, Yew 2, Fir 3", set()), ("box\n yew\n fir", set())]
)
def test_list_beside_a_changed_value_names_nothing(sheet: str, words: set[str]) -> None:
    assert subject(({}, {}), ({"clerk": "Ida", "sheet": sheet}, {"clerk": "Per", "sheet": sheet})) == words
