"""The sections of a report, and the limits of what they compare."""

from diffing.content.similarity import Lexical
from diffing.report.sections import Texts


def test_texts_beyond_the_budget_are_excerpts() -> None:
    texts = Texts(Lexical(), [], budget=1_000)
    base, candidate = "a refund " * 100, "one order " * 100
    whole, excerpt = texts.diff(base, candidate), texts.diff(base, candidate)
    assert not whole.truncated
    assert excerpt.truncated
    assert 0 < sum(len(span.text) for span in excerpt.spans) <= 200
