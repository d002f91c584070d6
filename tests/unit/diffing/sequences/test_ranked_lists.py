"""Ranked lists of documents."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from diffing.sequences.ranked_lists import compare, kendall_tau, rank_biased_overlap, rank_documents
from traces.core.json_types import JSONValue

LISTS = st.lists(st.integers(0, 12).map(str), unique=True, max_size=10)


def documents(*ids: str) -> JSONValue:
    return [{"id": key, "content": f"text of {key}", "score": 1.0} for key in ids]


def test_moves_additions_and_removals_are_distinguished() -> None:
    comparison = compare(rank_documents(documents("A", "C", "D")), rank_documents(documents("B", "D", "A")))
    assert {(c.document, c.op, c.base_rank, c.candidate_rank) for c in comparison.changes} == {
        ("A", "moved", 1, 3),
        ("D", "moved", 3, 2),
        ("B", "added", None, 1),
        ("C", "removed", 2, None),
    }


def test_other_score_at_same_rank_is_a_change() -> None:
    base: JSONValue = [{"id": "A", "score": 0.9}]
    candidate: JSONValue = [{"id": "A", "score": 0.4}]
    assert compare(rank_documents(base), rank_documents(candidate)).changes[0].op == "rescored"


def test_documents_without_ids_match_by_content() -> None:
    base: JSONValue = [{"content": "one"}, {"content": "two"}]
    candidate: JSONValue = [{"content": "two"}, {"content": "one"}]
    assert compare(rank_documents(base), rank_documents(candidate)).kendall_tau == -1.0


def test_repeated_document_counts_by_occurrence() -> None:
    assert [item.key for item in rank_documents(documents("A", "A"))] == ["A", "A (2)"]


def test_tau_needs_two_common_documents() -> None:
    assert kendall_tau({"a": 1, "b": 2}, {"a": 1, "c": 2}) is None


def test_top_ranks_weigh_more() -> None:
    base = [str(n) for n in range(10)]
    top, bottom = ["1", "0", *base[2:]], [*base[:8], "9", "8"]
    assert rank_biased_overlap(base, top) < rank_biased_overlap(base, bottom) < 1.0


def test_rbo_of_worked_example() -> None:
    # Agreement 1 at depths 1 and 2, 2/3 at depth 3, p = 0.9: 0.1/0.9 * (0.9 + 0.81 + 0.486) + 2/3 * 0.729
    assert rank_biased_overlap(["a", "b", "c"], ["a", "b", "d"]) == pytest.approx(0.73)


@given(LISTS, LISTS)
def test_rbo_is_symmetric_and_bounded(base: list[str], candidate: list[str]) -> None:
    overlap = rank_biased_overlap(base, candidate)
    assert 0.0 <= overlap <= 1.0
    assert overlap == pytest.approx(rank_biased_overlap(candidate, base))
    assert rank_biased_overlap(base, base) == pytest.approx(1.0)


@given(st.lists(st.integers(0, 99), min_size=2, max_size=9, unique=True), st.randoms(use_true_random=False))
def test_kendall_tau_agrees_with_scipy(ranks: list[int], random: Random) -> None:
    order = random.sample(ranks, len(ranks))
    expected = stats.kendalltau(ranks, order).statistic
    names = [str(place) for place in range(len(ranks))]
    assert kendall_tau(dict(zip(names, ranks, strict=True)), dict(zip(names, order, strict=True))) == pytest.approx(
        expected, abs=1e-4
    )
