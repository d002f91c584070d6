"""The differences of two texts as short phrases."""

import pytest

from replay.overrides.text_changes import text_changes

PROMPT = "You are the order desk. Answer in the customer's language. Refunds need the order's number."


@pytest.mark.parametrize(
    "sentence", [" Order totals are in cents.", "\n\nOrder totals are in cents.", "\nOrder totals are in cents.\n"]
)
def test_added_sentence_however_typed(sentence: str) -> None:
    assert text_changes(PROMPT, PROMPT + sentence, str) == ["+ “Order totals are in cents.”"]


def test_sentence_added_at_start() -> None:
    assert text_changes(PROMPT, f"Be short. {PROMPT}", str) == ["+ “Be short.”"]


def test_removed_and_replaced_words() -> None:
    assert text_changes(PROMPT, PROMPT.replace(" Refunds need the order's number.", ""), str) == [
        "− “Refunds need the order's number.”"
    ]
    assert text_changes(PROMPT, PROMPT.replace("customer's", "agent's"), str) == ["“customer” → “agent”"]


def test_separate_edits_are_separate_changes() -> None:
    edited = f"Be short. {PROMPT} Order totals are in cents."
    assert text_changes(PROMPT, edited, str) == ["+ “Be short.”", "+ “Order totals are in cents”"]


def test_rewritten_text_is_one_change() -> None:
    assert text_changes(PROMPT, "Never talk about money, and close every ticket at once.", str) == [
        "rewritten: “Never talk about money, and close every ticket at once.”"
    ]


def test_new_removed_and_equal_texts() -> None:
    assert text_changes("", "Be short.", str) == ["+ “Be short.”"]
    assert text_changes("Be short.", "", str) == ["removed"]
    assert text_changes("Be short. ", "Be  short.", str) == []


def test_long_texts_are_cut_after_a_word() -> None:
    [change] = text_changes(PROMPT, f"{PROMPT} {'word ' * 100}", str)
    assert change.endswith("word…”")
    assert len(change) < 100


def test_secrets_are_redacted_before_the_cut() -> None:
    [change] = text_changes(PROMPT, f"{PROMPT} The key is SECRET.", lambda text: text.replace("SECRET", "[key]"))
    assert change == "+ “The key is [key].”"
