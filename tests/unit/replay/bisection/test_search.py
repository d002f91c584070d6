"""The search of a bisection: which forks it tries, that it ends, and its conclusion."""

import random
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from replay.bisection.core.conclusion import Evidence, conclude
from replay.bisection.core.schemas import BisectResult, ForkStep
from replay.bisection.core.search import (
    Findings,
    SampleRequest,
    Settings,
    Tally,
    by_chance,
    effort,
    next_samples,
    spread,
    turn,
)
from traces.core.vocabulary import StepType

Passes = Callable[[int], bool]
DEFAULT = Settings(reproduce=3, samples=3, confirm=5, scan=4, changed=False)


def added(tally: Tally, *, passes: bool) -> Tally:
    return Tally(passes=tally.passes + passes, failures=tally.failures + (not passes))


def run_search(count: int, passes: Passes, settings: Settings = DEFAULT, most: int = 10_000) -> tuple[Findings, int]:
    """The findings when every request is fulfilled sample by sample, and the number of samples."""
    tallies: dict[int, Tally] = {}
    repeats = Tally()
    for sample_count in range(most):
        findings = Findings(count=count, repeats=repeats, places=dict(tallies))
        want = next_samples(findings, settings)
        if want is None:
            return findings, sample_count
        if want.place is None:
            repeats = added(repeats, passes=False)
        else:
            tallies[want.place] = added(tallies.get(want.place, Tally()), passes=passes(want.place))
    raise AssertionError(f"it did not end after {most} samples")


def result_of(count: int, findings: Findings, settings: Settings = DEFAULT) -> BisectResult:
    forks = [ForkStep(sequence_no=10 * place + 2, type=StepType.MODEL, name="desk") for place in range(count)]
    return conclude(Evidence(forks=forks, findings=findings, settings=settings))


@given(st.integers(1, 400), st.data())
def test_single_turning_point_is_bisected(count: int, data: st.DataObject) -> None:
    last = data.draw(st.integers(-1, count - 1))
    findings, sample_count = run_search(count, lambda place: place <= last)
    at = turn(findings, DEFAULT)
    if last < 0:
        assert at is None
        return
    assert at is not None
    assert (at.last, at.after, at.first, at.monotone, at.is_settled) == (last, last + 1, 0, True, True)
    halvings = count.bit_length()
    assert sample_count <= 3 * (halvings + 4) + 2 * 5


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_several_turning_points_are_reported(answers: list[bool]) -> None:
    findings, _ = run_search(len(answers), lambda place: answers[place], Settings(**{**vars(DEFAULT), "scan": 100}))
    at = turn(findings, DEFAULT)
    if not any(answers):
        assert at is None
        return
    assert at is not None
    assert answers[at.last]
    assert at.after == len(answers) or not answers[at.after]
    if at.monotone:  # then nothing that was tried speaks against it
        assert all(not tally.failures for place, tally in findings.places.items() if place < at.last)
    else:  # everything was scanned, and the last step that helps is the last one
        assert at.last == max(place for place, passes in enumerate(answers) if passes)


@given(st.integers(1, 30), st.integers(0, 2**32), st.booleans(), st.integers(1, 6), st.integers(1, 8))
def test_search_always_ends(count: int, seed: int, changed: bool, samples: int, confirm: int) -> None:
    chance = random.Random(seed)
    rates = [chance.random() ** 2 for _ in range(count)]
    settings = Settings(reproduce=2, samples=samples, confirm=confirm, scan=5, changed=changed)
    findings, _ = run_search(count, lambda place: chance.random() < rates[place], settings)
    result = result_of(count, findings, settings)
    assert result.sentence
    assert (result.commit is not None) == (result.rescue == "rescued")


@given(st.integers(1, 60), st.integers(-1, 59), st.booleans())
def test_effort_matches_the_search(count: int, last: int, changed: bool) -> None:
    settings = Settings(**{**vars(DEFAULT), "changed": changed})
    _, sample_count = run_search(count, lambda place: place <= last, settings)
    estimate = effort(count, settings, min(last, count - 1), [1.0] * count)
    assert estimate.probes == sample_count
    assert estimate.cost == estimate.calls


@given(st.integers(1, 200))
def test_spread_yields_every_place_once(count: int) -> None:
    order = list(spread(count))
    assert sorted(order) == list(range(count))
    assert set(order[:2]) == {0, count - 1}


def test_unclear_step_is_skipped() -> None:
    places = {0: Tally(passes=3), 2: Tally(unclear=6), 1: Tally(passes=5), 3: Tally(failures=5), 4: Tally(failures=3)}
    findings = Findings(count=6, places={**places, 5: Tally(failures=3)})
    assert next_samples(findings, DEFAULT) is None
    result = result_of(6, findings)
    assert result.commit is not None
    assert (result.commit.step.sequence_no, result.commit.settled) == (12, True)
    assert any("step 22" in remark and "has no result" in remark for remark in result.remarks)


def test_unclear_repeats_end_the_search() -> None:
    assert next_samples(Findings(count=9, places={0: Tally(unclear=6)}), DEFAULT) is None


@pytest.mark.parametrize(
    ("before", "after", "grade"),
    [
        (Tally(passes=5), Tally(failures=5), "high"),
        (Tally(passes=4, failures=1), Tally(failures=5), "medium"),
        (Tally(passes=2, failures=3), Tally(failures=5), "low"),
        (Tally(passes=5, placeholder_passes=5), Tally(failures=5), "medium"),
        (Tally(passes=5, placeholder_passes=4), Tally(failures=5), "high"),
        (Tally(passes=5), Tally(failures=5, placeholder_failures=5), "medium"),
    ],
)
def test_confidence_follows_the_samples(before: Tally, after: Tally, grade: str) -> None:
    result = result_of(2, Findings(count=2, places={0: before, 1: after}))
    assert result.commit is not None
    assert result.commit.confidence == grade, result.commit.why


def test_recording_is_the_side_after_the_last_step() -> None:
    result = result_of(1, Findings(count=1, places={0: Tally(passes=5)}))
    assert result.commit is not None
    assert (result.commit.kept, result.commit.confidence) == (None, "high")
    assert "with its recorded answer the run fails" in result.sentence


def test_sentence_names_step_and_counts() -> None:
    result = result_of(3, Findings(count=3, places={0: Tally(passes=3), 1: Tally(passes=5), 2: Tally(failures=5)}))
    assert result.sentence == (
        "Point of no return: step 12. Re-run from step 12 (model desk) on, the run still passes (5 of 5); "
        "with the recorded answer of step 12 kept, it no longer does: 0 of 5 pass from step 22 (model desk) on. "
        "The failure did not come back: 3 of 3 replays from the start passed."
    )
    assert result.headline == "Point of no return: step 12"
    assert result.remarks == ["The earliest step from which a re-run passed is step 2 (model desk)."]


def test_flaky_failure_states_its_counts() -> None:
    result = result_of(2, Findings(count=2, places={0: Tally(passes=1, failures=4), 1: Tally(failures=5)}))
    assert result.reproduction == "flaky"
    assert "4 failed and 1 passed" in result.sentence


def test_useless_regeneration_lists_the_tried_steps() -> None:
    findings, _ = run_search(9, lambda place: False)
    result = result_of(9, findings)
    assert (result.reproduction, result.rescue, result.commit) == ("reproduces", "not_rescued", None)
    assert "did not help" in result.sentence
    assert result.headline == "Re-running did not help"
    assert len(result.forks) == 1 + DEFAULT.scan


def test_by_chance_matches_known_tables() -> None:
    assert by_chance(Tally(passes=5), Tally(failures=5)) == pytest.approx(1 / 252)
    assert by_chance(Tally(passes=3), Tally(failures=3)) == pytest.approx(1 / 20)
    assert by_chance(Tally(passes=1, failures=2), Tally(failures=3)) == pytest.approx(0.5)
    assert by_chance(Tally(), Tally()) == 1.0


def test_repeats_come_first() -> None:
    assert next_samples(Findings(count=4), DEFAULT) == SampleRequest(place=0, samples=3, any_pass=False)
    changed = Settings(**{**vars(DEFAULT), "changed": True})
    assert next_samples(Findings(count=4), changed) == SampleRequest(place=None, samples=3, any_pass=False)


def test_chance_agrees_with_scipy() -> None:
    for a, b, c, d in product(range(7), repeat=4):
        expected = stats.fisher_exact([[a, b], [c, d]], alternative="greater").pvalue
        assert by_chance(Tally(passes=a, failures=b), Tally(passes=c, failures=d)) == pytest.approx(expected, abs=1e-9)
