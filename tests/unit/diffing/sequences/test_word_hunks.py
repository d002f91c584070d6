"""Word hunks as passages: replacing them one after another turns one text into the other."""

from hypothesis import given
from hypothesis import strategies as st

from diffing.sequences.word_hunks import hunks, passage, split_words, with_hunks

WORDS = st.lists(st.sampled_from(["rent", "due", "late", "fee", "12", "40", "paid"]), min_size=2, max_size=12)


@given(WORDS, WORDS)
def test_all_differences_together_give_the_other_text(base: list[str], candidate: list[str]) -> None:
    left, right = " ".join(base), " ".join(candidate)
    assert split_words(with_hunks(left, hunks(left, right), right)) == candidate


@given(WORDS, WORDS)
def test_a_passage_occurs_once_and_its_replacement_makes_that_difference(base: list[str], candidate: list[str]) -> None:
    left, right = " ".join(base), " ".join(candidate)
    differences = hunks(left, right)
    for at, difference in enumerate(differences):
        if (pair := passage(left, right, differences, at)) is not None:
            assert left.count(pair[0]) == 1
            replaced = left.replace(*pair)
            assert split_words(replaced) == split_words(with_hunks(left, [difference], right))


def test_an_added_sentence_keeps_the_punctuation_around_it() -> None:
    base, candidate = "Be kind. The limit is 5.", "Be kind. Never shout. The limit is 7."
    [sentence, _] = hunks(base, candidate)
    assert with_hunks(base, [sentence], candidate) == "Be kind. Never shout. The limit is 5."
    assert passage(base, candidate, hunks(base, candidate), 0) == ("kind. The", "kind. Never shout. The")
