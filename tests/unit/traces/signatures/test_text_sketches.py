"""Sketches agree about as much as their texts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from traces.signatures.text_sketches import PLACES, decode, encode, sketch

words = st.lists(st.integers(0, 5000).map(lambda number: f"word{number}"), min_size=300, max_size=500, unique=True)


def agreeing(first: str, second: str) -> int:
    return sum(left == right for left, right in zip(sketch(first), sketch(second), strict=True))


@settings(max_examples=40, deadline=None)
@given(words, st.data())
def test_similar_texts_agree_in_many_places(given: list[str], data: st.DataObject) -> None:
    changed = list(given)
    for at in data.draw(st.lists(st.integers(0, len(given) - 1), max_size=len(given) // 20)):
        changed[at] = "another"
    assert agreeing(" ".join(given), " ".join(changed)) >= PLACES // 2


def test_sketch_is_deterministic() -> None:
    assert len(sketch("")) == len(sketch("one")) == len(sketch("many words " * 500)) == PLACES
    assert sketch("the same words again") == sketch("the  same words\nagain")


def test_unrelated_texts_hardly_agree() -> None:
    first, second = (" ".join(f"{letter}{number}" for number in range(600)) for letter in "ab")
    assert agreeing(first, second) <= 2


@given(st.integers(0, 100_000_000))
def test_numbers_round_trip(number: int) -> None:
    assert decode(encode(number)) == number
