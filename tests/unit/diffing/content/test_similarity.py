"""Which method judges two texts, and what it says."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import pytest

from diffing.content import embeddings
from diffing.content.similarity import EmbeddingMeasure, Lexical, measure, reading


@pytest.mark.parametrize(
    ("base", "candidate", "score"),
    [
        ("Hello World", "hello world", 0.8182),
        ("brown fox", "red fox", 0.625),
        ("apple", "orange", 0.3636),
        ("The quick brown fox", "The quick red fox", 0.8333),
        ("Hi there!", "Hello world!", 0.381),
    ],
)
def test_short_texts_are_judged_by_difflib(base: str, candidate: str, score: float) -> None:
    found = Lexical().compare([(base, candidate)])[0]
    assert (round(found.score, 4), found.method) == (score, "difflib")


def test_identical_and_empty_texts_need_no_method() -> None:
    same, both_empty, one_empty = Lexical().compare([("Paris ", "Paris"), ("", ""), ("", "Paris")])
    assert (same.score, same.method) == (1.0, "identical")
    assert (both_empty.score, both_empty.method) == (1.0, "identical")
    assert (one_empty.score, one_empty.method) == (0.0, "empty")


def test_common_letters_of_long_texts_are_not_thrown_away() -> None:
    base = "We explained that refunds are accepted within thirty days of delivery. " * 6
    candidate = base.replace(" ", ", ")
    found = Lexical().compare([(base, candidate)])[0]
    assert found.score > 0.85  # difflib's own shortcut for long texts gives less than half of that


def test_the_same_words_in_another_order_are_judged_by_their_overlap() -> None:
    base = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma"
    found = Lexical().compare([(base, " ".join(reversed(base.split())))])[0]
    assert (found.score, found.method) == (1.0, "jaccard")


def test_a_text_too_long_for_difflib_is_judged_by_its_words() -> None:
    base = " ".join(f"word{n}" for n in range(5_000))
    found = Lexical().compare([(base, base.replace("word17 ", ""))])[0]
    assert found.method == "jaccard"
    assert found.score == pytest.approx(4999 / 5000)


def test_difflib_is_used_up_after_its_budget() -> None:
    methods = [found.method for found in Lexical(budget=100).compare([("0123456789", "012345678x")] * 3)]
    assert methods == ["difflib", "jaccard", "jaccard"]


def test_the_ratio_is_that_of_difflib() -> None:
    base, candidate = "where is my order?", "where are my two orders?"
    expected = SequenceMatcher(None, base, candidate, autojunk=False).ratio()
    assert Lexical().compare([(base, candidate)])[0].score == expected


@pytest.mark.parametrize(
    ("score", "words"),
    [(0.91, "nearly identical"), (0.85, "similar"), (0.6, "related but divergent"), (0.2, "significantly different")],
)
def test_similarities_are_read_as_documented(score: float, words: str) -> None:
    assert reading(score) == words


class Remembered(dict[str, float]):
    """A memory for the length of one test."""

    def load(self, keys: Sequence[str]) -> Mapping[str, float]:
        return {key: self[key] for key in keys if key in self}

    def save(self, cosines: Mapping[str, float]) -> None:
        self.update(cosines)


def test_without_the_extra_the_measure_is_lexical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "is_installed", lambda: False)
    assert measure(lexical=False, memory=Remembered()).name == "difflib"


def test_with_the_extra_it_can_be_declined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "is_installed", lambda: True)
    assert measure(lexical=True, memory=Remembered()).name == "difflib"
    assert measure(lexical=False, memory=Remembered()).name == "embeddings"


def test_each_distinct_text_is_encoded_once_and_long_ones_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Vectors(list[list[float]]):
        def tolist(self) -> list[list[float]]:
            return list(self)

    class Counting:
        def encode(self, sentences: list[str], *, batch_size: int, show_progress_bar: bool) -> Vectors:
            seen.extend(sentences)
            return Vectors([float("refund" in text), 1.0] for text in sentences)

    monkeypatch.setattr(embeddings, "_model", Counting)
    long = "word " * 400
    found = EmbeddingMeasure(Remembered()).compare([("a", "b"), ("a", "b refund"), ("a", "a"), (long, "b")])
    assert [one.method for one in found] == ["embeddings", "embeddings", "identical", "embeddings"]
    assert found[0].score == pytest.approx(1.0)
    assert found[1].score == pytest.approx(0.5**0.5)
    assert len(seen) == len(set(seen))
    assert max(map(len, seen)) < len(long)


def test_a_pair_is_embedded_once_whichever_text_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []

    def encode(texts: Sequence[str]) -> dict[str, list[float]]:
        encoded.extend(texts)
        return {text: [1.0, len(text)] for text in texts}

    monkeypatch.setattr(embeddings, "encode", encode)
    memory = Remembered()
    first = EmbeddingMeasure(memory).compare([("a refund", "the money back")])
    again = EmbeddingMeasure(memory).compare([("the money back", "a refund"), ("a refund", "a voucher")])
    assert again[0] == first[0]
    assert encoded == ["a refund", "the money back", "a refund", "a voucher"]


@pytest.mark.semantic
def test_the_packaged_model_sees_a_paraphrase() -> None:
    paraphrase, other = EmbeddingMeasure(Remembered()).compare(
        [
            ("Paris is the capital of France.", "The capital of France is Paris."),
            ("Paris is the capital of France.", "The kettle boils in the kitchen."),
        ]
    )
    assert paraphrase.method == "embeddings"
    assert paraphrase.score > 0.9
    assert other.score < 0.3


@pytest.mark.semantic
def test_texts_that_differ_after_the_models_window_are_not_the_same() -> None:
    shared = "The order was shipped on time and arrived in good condition. " * 40
    found = EmbeddingMeasure(Remembered()).compare(
        [(shared, shared + "The customer was furious and asked for all of the money back. " * 8)]
    )
    assert found[0].score < 0.999
