"""Chance: exact tests, intervals, and how often the gate errs, by counting every course that it can take."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffing.report.evidence import skipped_replays
from diffing.schemas.evidence import EvidenceQuestion
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from replay.proofs.ladder import noise_gate, statistics

OUTCOMES = st.lists(st.sampled_from(["base", "candidate", "other"]), max_size=8)


def sides(hits: tuple[int, int], n: tuple[int, int]) -> tuple[list[str], list[str]]:
    """Two lists of outcomes with so many hits each."""
    one, other = (["candidate"] * k + ["base"] * (size - k) for k, size in zip(hits, n, strict=True))
    return one, other


@pytest.mark.parametrize(
    ("hits", "n", "p"),
    [
        ((0, 3), (3, 3), 0.1),
        ((0, 4), (4, 4), 0.02857),
        ((0, 5), (5, 5), 0.00794),
        ((1, 9), (10, 10), 0.00109),
        ((3, 3), (6, 6), 1.0),
        ((1, 5), (8, 7), 0.04056),
    ],
)
def test_fishers_exact_test_on_tables_with_known_values(hits: tuple[int, int], n: tuple[int, int], p: float) -> None:
    assert statistics.exact_p(*sides(hits, n)) == pytest.approx(p, abs=5e-5)


@given(OUTCOMES, OUTCOMES)
def test_a_p_is_a_probability_and_does_not_depend_on_the_order(one: list[str], other: list[str]) -> None:
    p = statistics.exact_p(one, other)
    assert 0 < p <= 1
    assert p == pytest.approx(statistics.exact_p(other[::-1], one))
    assert statistics.exact_p(one, one) == pytest.approx(1.0)


@pytest.mark.parametrize("most", [4, 5, 6, 8, 10, 20])
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3, 0.5])
def test_the_gate_blames_chance_alone_for_a_difference_in_less_than_one_case_of_twenty(most: int, rate: float) -> None:
    assert _rejected(rate, rate, most) < statistics.ALPHA


def test_a_clear_effect_is_told_from_chance() -> None:
    assert _rejected(0.03, 0.97, 6) > 0.9
    assert _rejected(0.03, 0.97, 10) > 0.98


def _rejected(base: float, candidate: float, most: int) -> float:
    """The probability that the gate rejects, over every course of both sides."""
    states = {(0, 0): 1.0}
    rejected = 0.0
    for n in range(1, most + 1):
        states = _drawn(states, base, candidate)
        for state, weight in list(states.items()):
            decision = statistics.decide(*sides(state, (n, n)), most=most)
            rejected += weight if decision is statistics.Decision.REJECT else 0.0
            if decision is not statistics.Decision.CONTINUE:
                del states[state]
    return rejected


def _drawn(states: dict[tuple[int, int], float], base: float, candidate: float) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = {}
    for (one, other), weight in states.items():
        for left, p in ((1, base), (0, 1 - base)):
            for right, q in ((1, candidate), (0, 1 - candidate)):
                key = (one + left, other + right)
                found[key] = found.get(key, 0.0) + weight * p * q
    return found


def test_it_decides_nothing_on_three_and_ends_when_no_repeat_can_help() -> None:
    assert statistics.decide(*sides((0, 3), (3, 3)), most=10) is statistics.Decision.CONTINUE
    assert statistics.decide(*sides((0, 5), (5, 5)), most=10) is statistics.Decision.REJECT
    assert statistics.decide(*sides((3, 3), (6, 6)), most=10) is statistics.Decision.RETAIN
    assert statistics.decide(*sides((2, 2), (4, 4)), most=4) is statistics.Decision.RETAIN


def test_holm_adjusts_the_smallest_most_and_keeps_the_order() -> None:
    assert statistics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.integers(0, 20), st.integers(1, 20))
def test_intervals_hold_the_rate_and_the_exact_one_covers(hits: int, n: int) -> None:
    hits = min(hits, n)
    for low, high in (statistics.wilson(hits, n), statistics.clopper_pearson(hits, n)):
        assert 0 <= low <= hits / n <= high <= 1
    low, high = statistics.clopper_pearson(hits, n)
    for rate in (low, high):
        if 0 < rate < 1:
            tail = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
            assert min(sum(tail[hits:]), sum(tail[: hits + 1])) == pytest.approx(0.025, abs=1e-6)


class Drawing:
    """A lab in which everything is drawn: each side from its own list, in turn; a single change does it all."""

    def __init__(self, base: str, candidate: str, problem: int = 99) -> None:
        self.lists = {"base": base, "candidate": candidate}
        self.problem = problem
        self.asked: list[ProbeSpec] = []

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.asked.append(ask)
        if ask.repeat >= self.problem:
            return ProbeResult(outcome="needs_live", missing="tool 'pay' is not reviewed")
        if not ask.repeat:
            return ProbeResult(outcome="candidate" if ask.atoms else "base")
        side = "candidate" if ask.atoms else "base"
        drawn = self.lists[side][(ask.repeat - 1) % len(self.lists[side])]
        return ProbeResult(outcome={"b": "base", "c": "candidate", "o": "other"}[drawn], live_calls=1)  # type: ignore[arg-type]  # one of the outcomes

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def case() -> Case:
    question = EvidenceQuestion(kind="answer", text="the answer")
    one = Atom(id="a", category="prompt", title="Change a")
    return Case(question=question, atoms=[one], one_space=True, is_sampled=True)


def test_repeats_that_never_cross_rule_out_chance() -> None:
    lab = Drawing("b", "c")
    found = prove(case(), lab, Budget(live_calls=None))
    assert (found.verdict, found.confidence, found.noise.base_n) == ("single", "high", 5)
    assert found.noise.status == "rejected"
    assert (found.scope, found.repeats) == ("over repeats", 5)


def test_repeats_that_mix_are_noise_whatever_the_probes_say() -> None:
    found = prove(case(), Drawing("bc", "cb"), Budget(live_calls=None))
    assert (found.verdict, found.confidence, found.primary) == ("noise", "noise", [])
    assert found.noise.base_flips > 0
    assert not [probe for probe in found.probes if probe.purpose != "repeat"]
    assert [(atom.sufficient, atom.necessary, atom.shapley) for atom in found.atoms] == [(None, None, None)]
    assert found.conclusion.endswith(
        ": 3 of 6 unchanged repeats of the base and 3 of 6 of the candidate came out as recorded."
    )
    assert "3 as in the base, 3 as in the candidate" in {probe.said for probe in found.probes}


def test_an_effect_that_is_likely_but_not_sure_is_medium() -> None:
    found = prove(case(), Drawing("bbbb", "cccc"), Budget(live_calls=None, repeats=4))
    assert (found.verdict, found.confidence) == ("single", "medium")
    assert "p = 0.0286" in found.rule


def test_runs_that_cannot_be_repeated_stay_low() -> None:
    found = prove(case(), Drawing("b", "c", problem=1), Budget(live_calls=None))
    assert (found.confidence, found.noise.status) == ("low", "not_run")
    assert "not reviewed" in found.rule
    assert (found.replays_live, found.replays_cached) == (0, 2)
    assert skipped_replays(found) == sum(probe.repeats for probe in found.probes) - 2 > 0
    assert found.cheapest_experiment is not None
    assert found.conclusion.startswith("Change a may have made the difference: made alone, it gives")
    assert "whether chance alone did it was not tested" in found.conclusion


def test_without_sampled_answers_nothing_is_repeated() -> None:
    lab = Drawing("b", "c")
    question = case().question
    found = prove(Case(question=question, atoms=case().atoms, one_space=True), lab, Budget())
    assert found.noise == noise_gate.NOT_NEEDED
    assert found.confidence == "high"
    assert "This holds for these two recorded runs, because every answer that was needed is recorded" in found.rule
    assert not any(ask.repeat for ask in lab.asked)
