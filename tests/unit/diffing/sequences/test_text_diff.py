"""Word-level diffs of texts."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from diffing.sequences.text_diff import deleted_text, edit_spans, inserted_text, normalise, shorten, word_diff

WORDS = st.lists(
    st.sampled_from(["refund", "the", "order", "of", "42", "EUR,", "not", "now.", "Yes\n"]), max_size=40
).map(" ".join)


def test_added_sentence_is_one_insertion() -> None:
    spans = word_diff("Be brief.", "Be brief. Amounts are in euros.")
    assert [(span.op, span.text) for span in spans] == [
        ("equal", "Be brief."),
        ("insert", " Amounts are in euros."),
    ]


def test_short_equal_stretches_join_changes() -> None:
    spans = word_diff("I could not refund it", "You may a refunded card")
    assert [span.op for span in spans] == ["delete", "insert"]


def test_invisible_differences_are_ignored() -> None:
    assert normalise("Caf\u0065\u0301  here \r\nnow \n") == normalise("Caf\u00e9 here\nnow")


def test_indentation_is_preserved() -> None:
    assert normalise("if x:\n    y  z") == "if x:\n    y z"


def test_long_text_is_compared_in_windows() -> None:
    base = " ".join(str(n) for n in range(30_000))
    spans = word_diff(base, base.replace(" 15000 ", " fifteen "))
    assert deleted_text(spans) == "15000"
    assert inserted_text(spans) == "fifteen"


def test_insertions_into_long_text_move_nothing() -> None:
    lines = [f"Order {n} was sent by carrier {n}.\n" for n in range(6_000)]
    claims = [f"Claim {n} was refused by clerk {n}.\n" for n in range(3_000)]
    changed_lines = ["Good day.\n", *lines[:2_500], *claims, *lines[2_500:], "Good bye.\n"]
    spans = word_diff("".join(lines), "".join(changed_lines))
    assert deleted_text(spans) == ""
    assert inserted_text(spans).split(" … ") == ["Good day.", "".join(claims).strip(), "Good bye."]


@given(st.lists(st.integers(0, 5_000)), st.lists(st.integers(0, 5_000)))
def test_spans_of_long_texts_reproduce_them(removed: list[int], moved: list[int]) -> None:
    lines = [f"Parcel {n} of {n % 7} lies at the desk.\n" for n in range(2_000)]
    base = "".join(line for n, line in enumerate(lines) if n not in removed)
    candidate = "".join([*(line for n, line in enumerate(lines) if n not in moved), *(lines[n % 2_000] for n in moved)])
    spans = word_diff(base, candidate)
    assert "".join(span.text for span in spans if span.op != "insert") == base
    assert "".join(span.text for span in spans if span.op != "delete") == candidate
    assert all(one.op != other.op for one, other in pairwise(spans))


def test_insertion_into_long_text_without_punctuation_moves_nothing() -> None:
    words = [f"customer{n} " for n in range(9_000)]
    added = [f"supplier{n} " for n in range(5_000)]
    spans = word_diff("".join(words), "".join(["Today ", *words[:4_000], *added, *words[4_000:], "tomorrow"]))
    assert deleted_text(spans) == ""
    assert inserted_text(spans).split(" … ") == ["Today", "".join(added).strip(), "tomorrow"]


def test_edit_of_long_texts_compares_their_difference() -> None:
    start = "An order was returned. " * 50_000
    base, candidate = start + "refund 42 " * 100_000, start + "refuse 17 " * 100_000
    spans = edit_spans(base, candidate)
    assert spans[0].op == "equal"
    assert (deleted_text(spans)[:9], inserted_text(spans)[:9]) == ("refund 42", "refuse 17")
    assert sum(len(span.text) for span in spans) < 100_000


def test_shorten_cuts_after_a_word() -> None:
    assert shorten("one two three four", 12) == "one two…"


@given(WORDS, WORDS)
def test_spans_reproduce_both_texts(base: str, candidate: str) -> None:
    spans = word_diff(base, candidate)
    assert "".join(span.text for span in spans if span.op != "insert") == base
    assert "".join(span.text for span in spans if span.op != "delete") == candidate


@given(WORDS, WORDS)
def test_swapped_texts_swap_the_spans(base: str, candidate: str) -> None:
    spans, back = word_diff(base, candidate), word_diff(candidate, base)
    assert (inserted_text(spans), deleted_text(spans)) == (deleted_text(back), inserted_text(back))


@given(st.text(max_size=80))
def test_normalisation_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
