"""Marks of long texts agree about as much as the texts do."""

from hypothesis import given, settings
from hypothesis import strategies as st

from traces.signatures.text_sketches import PLACES, decode, encode, sketch

words = st.lists(st.integers(0, 5000).map(lambda number: f"word{number}"), min_size=300, max_size=500, unique=True)


def agreeing(one: str, other: str) -> int:
    return sum(left == right for left, right in zip(sketch(one), sketch(other), strict=True))


@settings(max_examples=40, deadline=None)
@given(words, st.data())
def test_texts_with_few_other_words_agree_in_many_places(given: list[str], data: st.DataObject) -> None:
    changed = list(given)
    for at in data.draw(st.lists(st.integers(0, len(given) - 1), max_size=len(given) // 20)):
        changed[at] = "another"
    assert agreeing(" ".join(given), " ".join(changed)) >= PLACES // 2


def test_a_mark_has_one_letter_for_each_place_and_is_the_same_each_time() -> None:
    assert len(sketch("")) == len(sketch("one")) == len(sketch("many words " * 500)) == PLACES
    assert sketch("the same words again") == sketch("the  same words\nagain")


def test_texts_that_have_no_words_in_common_hardly_agree() -> None:
    one, other = (" ".join(f"{letter}{number}" for number in range(600)) for letter in "ab")
    assert agreeing(one, other) <= 2


@given(st.integers(0, 100_000_000))
def test_a_number_is_read_as_it_was_written(number: int) -> None:
    assert decode(encode(number)) == number
