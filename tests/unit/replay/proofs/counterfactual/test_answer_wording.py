"""The wording of model answers, learned from answers to the same requests."""

from replay.proofs.counterfactual.answer_wording import AnswerWording, content

OPENINGS = ("Sure.", "Well, here you are:", "Of course.", "Let me see.", "Yes.")


def wording_of(*answers: tuple[str, str]) -> AnswerWording:
    wording = AnswerWording()
    for signature, text in answers:
        wording.add(signature, text)
    return wording


def test_varying_words_are_wording() -> None:
    words = wording_of(*(("s", f"{opening} Look at the shaft.") for opening in OPENINGS)).words([])
    assert content("Of course. Look at the gearbox.", words) == content("Look at the gearbox.", words)
    assert content("Look at the gearbox.", words) != content("Look at the shaft.", words)


def test_few_answers_show_no_wording() -> None:
    assert wording_of(("s", "Sure. A."), ("s", "A."), ("s", "Well. A.")).words([]) == frozenset()


def test_equal_answers_count_once() -> None:
    """A model that repeats itself has no wording, however often it is asked."""
    answers = [*(("s", "Sure. It is so.") for _ in range(9)), ("s", "It is so."), ("s", "Well. It is so.")]
    assert wording_of(*answers).words([]) == frozenset()


def test_decision_that_flips_is_not_wording() -> None:
    """Most answers say good: an answer without it is another decision."""
    verdicts = zip(OPENINGS, ("good", "good", "good", "good", "bad"), strict=True)
    words = wording_of(*(("s", f"{opening} It is {verdict}.") for opening, verdict in verdicts)).words([])
    assert content("It is bad.", words) != content("It is good.", words)


def test_words_of_one_run_only_are_not_wording() -> None:
    """In the base, an apology is rare; in the candidate, every answer contains it."""
    base = (("b", f"{opening} The answer is no.") for opening in OPENINGS[:4])
    candidate = (("c", f"{opening} The answer is no. Sorry.") for opening in OPENINGS[:4])
    other = (
        ("d", f"{opening} It is so.{extra}") for opening, extra in zip(OPENINGS, (" Sorry.", *[""] * 4), strict=True)
    )
    wording = wording_of(*base, *candidate, *other)
    words = wording.words([("b", "c")])
    assert content("The answer is no. Sorry.", words) != content("The answer is no.", words)


def test_numbers_are_never_wording() -> None:
    words = wording_of(
        *(("s", f"{opening} It costs {price}.") for opening, price in zip(OPENINGS, "12345", strict=True))
    )
    assert content("It costs 7.", words.words([])) != content("It costs 1.", words.words([]))


def test_word_of_the_decision_may_repeat_in_the_wording() -> None:
    """`is` also occurs in `That is all.`; only its second occurrence is wording."""
    endings = ("", " That is all.", " Good luck.", " Goodbye.")
    words = wording_of(*(("s", f"The rent is 1610.{ending}") for ending in endings)).words([])
    assert content("The rent is 1750. That is all.", words) == content("The rent is 1750.", words)
