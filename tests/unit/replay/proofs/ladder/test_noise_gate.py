"""Chance: exact tests, intervals, and the error rate of the gate over every possible course."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffing.report.evidence import skipped_replays
from diffing.schemas.evidence import EvidenceQuestion, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from replay.proofs.ladder import noise_gate, statistics

OUTCOMES = st.lists(st.sampled_from(["base", "candidate", "other"]), max_size=8)


def sides(hits: tuple[int, int], n: tuple[int, int]) -> tuple[list[str], list[str]]:
    """Two lists of outcomes with the given numbers of hits."""
    first, second = (["candidate"] * k + ["base"] * (size - k) for k, size in zip(hits, n, strict=True))
    return first, second


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
def test_exact_test_matches_known_tables(hits: tuple[int, int], n: tuple[int, int], p: float) -> None:
    assert statistics.exact_p(*sides(hits, n)) == pytest.approx(p, abs=5e-5)


@given(OUTCOMES, OUTCOMES)
def test_p_value_is_symmetric(first: list[str], second: list[str]) -> None:
    p = statistics.exact_p(first, second)
    assert 0 < p <= 1
    assert p == pytest.approx(statistics.exact_p(second[::-1], first))
    assert statistics.exact_p(first, first) == pytest.approx(1.0)


@pytest.mark.parametrize("most", [4, 5, 6, 8, 10, 20])
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3, 0.5])
def test_false_rejections_stay_below_alpha(most: int, rate: float) -> None:
    assert _rejection_probability(rate, rate, most) < statistics.ALPHA


def test_gate_detects_a_clear_effect() -> None:
    assert _rejection_probability(0.03, 0.97, 6) > 0.9
    assert _rejection_probability(0.03, 0.97, 10) > 0.98


def _rejection_probability(base: float, candidate: float, most: int) -> float:
    """The probability that the gate rejects chance, over every course of both sides."""
    states = {(0, 0): 1.0}
    probability = 0.0
    for n in range(1, most + 1):
        states = _next_states(states, base, candidate)
        for state, weight in list(states.items()):
            decision = statistics.decide(*sides(state, (n, n)), most=most)
            probability += weight if decision is statistics.Decision.REJECT else 0.0
            if decision is not statistics.Decision.CONTINUE:
                del states[state]
    return probability


def _next_states(states: dict[tuple[int, int], float], base: float, candidate: float) -> dict[tuple[int, int], float]:
    next_states: dict[tuple[int, int], float] = {}
    for (first, second), weight in states.items():
        for left, p in ((1, base), (0, 1 - base)):
            for right, q in ((1, candidate), (0, 1 - candidate)):
                key = (first + left, second + right)
                next_states[key] = next_states.get(key, 0.0) + weight * p * q
    return next_states


def test_gate_needs_four_repeats_and_stops_early() -> None:
    assert statistics.decide(*sides((0, 3), (3, 3)), most=10) is statistics.Decision.CONTINUE
    assert statistics.decide(*sides((0, 5), (5, 5)), most=10) is statistics.Decision.REJECT
    assert statistics.decide(*sides((3, 3), (6, 6)), most=10) is statistics.Decision.RETAIN
    assert statistics.decide(*sides((2, 2), (4, 4)), most=4) is statistics.Decision.RETAIN


def test_holm_keeps_the_given_order() -> None:
    assert statistics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.integers(0, 20), st.integers(1, 20))
def test_intervals_contain_the_rate(hits: int, n: int) -> None:
    hits = min(hits, n)
    low, high = statistics.clopper_pearson(hits, n)
    assert 0 <= low <= hits / n <= high <= 1
    for rate in (low, high):
        if 0 < rate < 1:
            tail = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
            assert min(sum(tail[hits:]), sum(tail[: hits + 1])) == pytest.approx(0.025, abs=1e-6)


_OUTCOMES = {"b": ProbeOutcome.BASE, "c": ProbeOutcome.CANDIDATE, "o": ProbeOutcome.OTHER}


class Drawing:
    """A prober whose answers are all drawn: each side from its own list in turn; a single change is the cause."""

    def __init__(self, base: str, candidate: str, problem: int = 99) -> None:
        self.lists = {"base": base, "candidate": candidate}
        self.problem = problem
        self.requests: list[ProbeSpec] = []

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        if spec.repeat >= self.problem:
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing="tool 'pay' is not reviewed")
        if not spec.repeat:
            return ProbeResult(outcome=ProbeOutcome.CANDIDATE if spec.atoms else ProbeOutcome.BASE)
        side = "candidate" if spec.atoms else "base"
        letter = self.lists[side][(spec.repeat - 1) % len(self.lists[side])]
        return ProbeResult(outcome=_OUTCOMES[letter], live_calls=1)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def case() -> Case:
    question = EvidenceQuestion(kind="answer", text="the answer")
    first = Atom(id="a", category="prompt", title="Change a")
    return Case(question=question, atoms=[first], one_space=True, is_sampled=True)


def test_distinct_repeats_rule_out_chance() -> None:
    lab = Drawing("b", "c")
    proof = prove(case(), lab, Budget(live_calls=None))
    assert (proof.verdict, proof.confidence, proof.noise.base_n) == ("single", "high", 5)
    assert proof.noise.status == "rejected"
    assert (proof.scope, proof.repeats) == ("over repeats", 5)


def test_mixed_repeats_are_noise() -> None:
    proof = prove(case(), Drawing("bc", "cb"), Budget(live_calls=None))
    assert (proof.verdict, proof.confidence, proof.primary) == ("noise", "noise", [])
    assert proof.noise.base_flips > 0
    assert not [probe for probe in proof.probes if probe.purpose != "repeat"]
    assert [(atom.sufficient, atom.necessary, atom.shapley) for atom in proof.atoms] == [(None, None, None)]
    assert proof.conclusion.endswith(
        ": 3 of 6 unchanged repeats of the base and 3 of 6 of the candidate came out as recorded."
    )
    assert "3 as in the base, 3 as in the candidate" in {probe.said for probe in proof.probes}


def test_likely_effect_has_medium_confidence() -> None:
    proof = prove(case(), Drawing("bbbb", "cccc"), Budget(live_calls=None, repeats=4))
    assert (proof.verdict, proof.confidence) == ("single", "medium")
    assert "p = 0.0286" in proof.rule


def test_runs_without_repeats_stay_low() -> None:
    proof = prove(case(), Drawing("b", "c", problem=1), Budget(live_calls=None))
    assert (proof.confidence, proof.noise.status) == ("low", "not_run")
    assert "not reviewed" in proof.rule
    assert (proof.replays_live, proof.replays_cached) == (0, 2)
    assert skipped_replays(proof) == sum(probe.repeats for probe in proof.probes) - 2 > 0
    assert proof.cheapest_experiment is not None
    assert proof.conclusion.startswith("Change a may have made the difference: applying only this change gives")
    assert "chance alone may also explain it" in proof.conclusion


def test_cause_of_an_unusual_recording_stays_low() -> None:
    """The base's own repeats never have its recorded outcome: that the sides differ does not explain the recordings."""
    proof = prove(case(), Drawing("o", "c"), Budget(live_calls=None))
    assert (proof.confidence, proof.noise.status, proof.noise.base_flips) == ("low", "not_run", proof.noise.base_n)
    assert "the outcome recorded for one side is not the most frequent one" in proof.rule


def test_recorded_answers_need_no_repeats() -> None:
    lab = Drawing("b", "c")
    question = case().question
    proof = prove(Case(question=question, atoms=case().atoms, one_space=True), lab, Budget())
    assert proof.noise == noise_gate.NOT_NEEDED
    assert proof.confidence == "high"
    assert "This holds for these two recorded runs, because every answer that was needed is recorded" in proof.rule
    assert not any(spec.repeat for spec in lab.requests)
