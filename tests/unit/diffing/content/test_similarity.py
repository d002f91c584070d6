"""Similarity of texts: the selected methods and their scores."""

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
def test_short_texts_are_measured_by_difflib(base: str, candidate: str, score: float) -> None:
    likeness = Lexical().compare([(base, candidate)])[0]
    assert (round(likeness.score, 4), likeness.method) == (score, "difflib")


def test_identical_and_empty_texts_need_no_method() -> None:
    same, both_empty, one_empty = Lexical().compare([("Paris ", "Paris"), ("", ""), ("", "Paris")])
    assert (same.score, same.method) == (1.0, "identical")
    assert (both_empty.score, both_empty.method) == (1.0, "identical")
    assert (one_empty.score, one_empty.method) == (0.0, "empty")


def test_frequent_letters_of_long_texts_count() -> None:
    base = "We explained that refunds are accepted within thirty days of delivery. " * 6
    candidate = base.replace(" ", ", ")
    likeness = Lexical().compare([(base, candidate)])[0]
    assert likeness.score > 0.85  # difflib's own shortcut for long texts gives less than half of that


def test_reordered_words_are_measured_by_overlap() -> None:
    base = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma"
    likeness = Lexical().compare([(base, " ".join(reversed(base.split())))])[0]
    assert (likeness.score, likeness.method) == (1.0, "jaccard")


def test_long_texts_are_measured_by_words() -> None:
    base = " ".join(f"word{n}" for n in range(5_000))
    likeness = Lexical().compare([(base, base.replace("word17 ", ""))])[0]
    assert likeness.method == "jaccard"
    assert likeness.score == pytest.approx(4999 / 5000)


def test_difflib_stops_after_its_budget() -> None:
    methods = [likeness.method for likeness in Lexical(budget=100).compare([("0123456789", "012345678x")] * 3)]
    assert methods == ["difflib", "jaccard", "jaccard"]


@pytest.mark.parametrize("words", [5, 100])
def test_texts_that_repeat_themselves_are_measured_by_words(words: int) -> None:
    """Difflib would take 11 s for the longest pair that it may match. `words`: of the words that repeat, how many."""
    pairs = [("a refund " * words, "one order " * words)]
    expected = ("jaccard", 0.0) if words == 100 else ("difflib", 0.3441)
    assert [(likeness.method, round(likeness.score, 4)) for likeness in Lexical().compare(pairs)] == [expected]


def test_many_repeating_pairs_share_one_limit() -> None:
    pairs = [("a refund " * 20 + str(number), "one order " * 20) for number in range(8)]
    # The product of their lengths is within the budget.
    methods = [likeness.method for likeness in Lexical(budget=300_000).compare(pairs)]
    assert methods == sorted(methods)
    assert {*methods} == {"difflib", "jaccard"}


def test_ratio_equals_difflib() -> None:
    base, candidate = "where is my order?", "where are my two orders?"
    expected = SequenceMatcher(None, base, candidate, autojunk=False).ratio()
    assert Lexical().compare([(base, candidate)])[0].score == expected


@pytest.mark.parametrize(
    ("score", "words"),
    [(0.91, "nearly identical"), (0.85, "similar"), (0.6, "related but divergent"), (0.2, "significantly different")],
)
def test_readings_match_the_documentation(score: float, words: str) -> None:
    assert reading(score) == words


class DictMemory(dict[str, float]):
    """A memory in a dictionary."""

    def load(self, keys: Sequence[str]) -> Mapping[str, float]:
        return {key: self[key] for key in keys if key in self}

    def save(self, cosines: Mapping[str, float]) -> None:
        self.update(cosines)


def test_measure_is_lexical_without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "is_installed", lambda: False)
    assert measure(lexical=False, memory=DictMemory()).name == "difflib"


def test_lexical_measure_can_be_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "is_installed", lambda: True)
    assert measure(lexical=True, memory=DictMemory()).name == "difflib"
    assert measure(lexical=False, memory=DictMemory()).name == "embeddings"


def test_texts_are_encoded_once_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded_texts: list[str] = []

    class Vectors(list[list[float]]):
        def tolist(self) -> list[list[float]]:
            return list(self)

    class Counting:
        def encode(self, sentences: list[str], *, batch_size: int, show_progress_bar: bool) -> Vectors:
            encoded_texts.extend(sentences)
            return Vectors([float("refund" in text), 1.0] for text in sentences)

    monkeypatch.setattr(embeddings, "_model", Counting)
    long = "word " * 400
    likeness = EmbeddingMeasure(DictMemory()).compare([("a", "b"), ("a", "b refund"), ("a", "a"), (long, "b")])
    assert [item.method for item in likeness] == ["embeddings", "embeddings", "identical", "embeddings"]
    assert likeness[0].score == pytest.approx(1.0)
    assert likeness[1].score == pytest.approx(0.5**0.5)
    assert len(encoded_texts) == len(set(encoded_texts))
    assert max(map(len, encoded_texts)) < len(long)


def test_mirrored_pair_is_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encodings: list[str] = []

    def encode(texts: Sequence[str]) -> dict[str, list[float]]:
        encodings.extend(texts)
        return {text: [1.0, len(text)] for text in texts}

    monkeypatch.setattr(embeddings, "encode", encode)
    memory = DictMemory()
    first = EmbeddingMeasure(memory).compare([("a refund", "the money back")])
    second = EmbeddingMeasure(memory).compare([("the money back", "a refund"), ("a refund", "a voucher")])
    assert second[0] == first[0]
    assert encodings == ["a refund", "the money back", "a refund", "a voucher"]


@pytest.mark.semantic
def test_packaged_model_recognises_a_paraphrase() -> None:
    paraphrase, unrelated = EmbeddingMeasure(DictMemory()).compare(
        [
            ("Paris is the capital of France.", "The capital of France is Paris."),
            ("Paris is the capital of France.", "The kettle boils in the kitchen."),
        ]
    )
    assert paraphrase.method == "embeddings"
    assert paraphrase.score > 0.9
    assert unrelated.score < 0.3


@pytest.mark.semantic
def test_difference_beyond_model_window_counts() -> None:
    prefix = "The order was shipped on time and arrived in good condition. " * 40
    likeness = EmbeddingMeasure(DictMemory()).compare(
        [(prefix, prefix + "The customer was furious and asked for all of the money back. " * 8)]
    )
    assert likeness[0].score < 0.999
