"""The outcome rule: which judgement decides whether a run succeeded."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.core.json_types import JSONValue
from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Outcome, Reason, RunStatus, StepStatus
from traces.importers.common.judgements import judgement, termination
from traces.ingest.outcome_rules import (
    DEFAULT_CRITERIA,
    DEFAULT_DECIDERS,
    Conclusion,
    Decider,
    OutcomeCriteria,
    Threshold,
    Verdict,
    adverse,
    conclude,
    validator_kind,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PERSON, IMPORT = JudgementSource.PERSON, JudgementSource.IMPORT
CHECK, VALIDATOR = JudgementSource.CHECK, JudgementSource.VALIDATOR
PASS, FAIL, SCORE = JudgementKind.PASS, JudgementKind.FAIL, JudgementKind.SCORE
NOTE, NOT_RUN = JudgementKind.NOTE, JudgementKind.NOT_RUN


def verdict(source: JudgementSource, kind: JudgementKind, name: str = "verdict", **columns: Any) -> Verdict:
    return Verdict(source=source, kind=kind, name=name, **columns)


def outcome(*verdicts: Verdict, status: RunStatus = RunStatus.COMPLETED, **thresholds: Threshold) -> Outcome:
    return conclude(status, verdicts, OutcomeCriteria(thresholds=thresholds)).outcome


def test_status_alone_never_passes() -> None:
    assert outcome() is Outcome.UNKNOWN
    assert outcome(status=RunStatus.RUNNING) is Outcome.UNKNOWN
    assert outcome(status=RunStatus.FAILED) is Outcome.FAILED


def test_person_outranks_all_others() -> None:
    other_verdicts = (verdict(IMPORT, SCORE, "reward", value=0.0), verdict(VALIDATOR, FAIL), verdict(CHECK, NOT_RUN))
    assert outcome(*other_verdicts, verdict(PERSON, PASS), status=RunStatus.FAILED) is Outcome.PASSED


def test_newest_person_decides() -> None:
    first = verdict(PERSON, FAIL, by="ada", at=NOON)
    second = verdict(PERSON, PASS, by="bob", at=NOON + timedelta(minutes=1))
    assert outcome(second, first) is Outcome.PASSED


def test_note_of_person_decides_nothing() -> None:
    assert outcome(verdict(PERSON, NOTE, text="odd"), verdict(CHECK, FAIL)) is Outcome.FAILED


def test_import_outranks_checks_and_status() -> None:
    good = verdict(IMPORT, SCORE, "reward", value=1.0)
    assert outcome(good, verdict(VALIDATOR, FAIL), status=RunStatus.FAILED) is Outcome.PASSED


@pytest.mark.parametrize(
    ("reward", "expected"), [(1.0, "passed"), (0.9999999, "passed"), (0.5, "failed"), (0, "failed")]
)
def test_reward_passes_at_one(reward: float, expected: str) -> None:
    assert outcome(verdict(IMPORT, SCORE, "reward", value=reward)) == expected


def test_unknown_score_needs_threshold() -> None:
    helpful = verdict(IMPORT, SCORE, "helpful", value=0.8)
    assert outcome(helpful) is Outcome.UNKNOWN
    assert outcome(helpful, helpful=Threshold(at_least=0.7)) is Outcome.PASSED
    assert outcome(helpful, helpful=Threshold(at_most=0.7)) is Outcome.FAILED


def test_app_threshold_replaces_default() -> None:
    assert outcome(verdict(IMPORT, SCORE, "reward", value=0.6), reward=Threshold(at_least=0.5)) is Outcome.PASSED


def test_one_failing_import_fails() -> None:
    assert outcome(verdict(IMPORT, PASS, "a"), verdict(IMPORT, FAIL, "b"), verdict(IMPORT, PASS, "c")) is Outcome.FAILED


def test_newer_import_replaces_older() -> None:
    later = verdict(IMPORT, SCORE, "reward", value=1.0, at=NOON + timedelta(hours=1))
    assert outcome(later, verdict(IMPORT, SCORE, "reward", value=0.0, at=NOON)) is Outcome.PASSED


def test_termination_counts_without_score() -> None:
    cut_off = verdict(IMPORT, FAIL, "termination_reason", text="max_steps")
    assert outcome(cut_off) is Outcome.FAILED
    assert outcome(cut_off, verdict(IMPORT, SCORE, "reward", value=1.0)) is Outcome.PASSED
    assert conclude(RunStatus.COMPLETED, [cut_off], DEFAULT_CRITERIA).reason == "termination_reason: max_steps"


def test_unrun_check_leaves_unverified() -> None:
    assert outcome(verdict(VALIDATOR, NOT_RUN), verdict(CHECK, PASS, "other")) is Outcome.UNVERIFIED
    assert outcome(verdict(VALIDATOR, NOT_RUN), verdict(CHECK, FAIL, "other")) is Outcome.FAILED


def test_passing_validator_cannot_save_failed_run() -> None:
    assert outcome(verdict(VALIDATOR, PASS)) is Outcome.PASSED
    assert outcome(verdict(VALIDATOR, PASS), status=RunStatus.FAILED) is Outcome.FAILED


def test_retried_validator_counts_once() -> None:
    verdicts = (verdict(VALIDATOR, FAIL, "schema", step_no=3), verdict(VALIDATOR, PASS, "schema", step_no=7))
    assert outcome(*verdicts) is Outcome.PASSED
    assert outcome(*verdicts, verdict(VALIDATOR, FAIL, "length", step_no=8)) is Outcome.FAILED


def test_conclusion_names_its_basis() -> None:
    reward = verdict(IMPORT, SCORE, "reward", value=0.0)
    expected = Conclusion(outcome=Outcome.FAILED, basis=IMPORT, reason="reward 0", name="reward")
    assert conclude(RunStatus.COMPLETED, [reward], DEFAULT_CRITERIA) == expected


@pytest.mark.parametrize(
    ("output", "status", "label", "expected"),
    [
        ({"decision": "pass", "reasons": []}, "ok", "live", PASS),
        ({"decision": "fail"}, "error", "live", FAIL),
        ({"decision": "fail"}, "ok", "exact", FAIL),
        (True, "ok", "cached", PASS),
        ({"valid": False}, "ok", "live", FAIL),
        ("Passed", "ok", "live", PASS),
        (None, "error", "live", FAIL),
        ({"parsed": 1}, "ok", "live", None),
        (None, "ok", "live", None),
        (None, "timeout", "live", NOT_RUN),
        ({"decision": "pass"}, "ok", "simulated", NOT_RUN),
    ],
)
def test_validator_verdicts(output: JSONValue, status: str, label: str, expected: JudgementKind | None) -> None:
    assert validator_kind(StepStatus(status), Label(label), output) is expected


def test_validator_that_the_agent_ran_decides() -> None:
    passed: JSONValue = {"decision": "pass"}
    assert validator_kind(StepStatus.OK, Label.SIMULATED, passed, Reason.AGENT_RAN) is PASS
    assert validator_kind(StepStatus.OK, Label.SIMULATED, passed, Reason.POLICY_FALLBACK) is NOT_RUN


@pytest.mark.parametrize(
    ("name", "value", "kind", "number", "text"),
    [
        ("reward", 1, SCORE, 1.0, ""),
        ("success", False, FAIL, None, ""),
        ("is_toxic", True, SCORE, 1.0, ""),
        ("tone", "friendly", NOTE, None, "friendly"),
        ("huge", 10**400, NOTE, None, str(10**400)),
        ("empty", None, NOTE, None, ""),
    ],
)
def test_imported_values(name: str, value: JSONValue, kind: JudgementKind, number: float | None, text: str) -> None:
    read = judgement(name, value)
    assert (read.kind, read.value, read.text) == (kind, number, text)


def test_termination_reasons() -> None:
    assert termination("max_steps").kind is FAIL
    assert termination("user_stop").kind is NOTE


def test_tag_decides_like_an_import() -> None:
    criteria = OutcomeCriteria(tags={"outcome:failed": False, "outcome:passed": True})
    verdicts = criteria.tag_verdicts(["eu", "outcome:failed"])
    expected = Conclusion(
        outcome=Outcome.FAILED, basis=JudgementSource.TAG, reason="tag outcome:failed", name="outcome:failed"
    )
    assert conclude(RunStatus.COMPLETED, [*verdicts, verdict(VALIDATOR, PASS)], criteria) == expected
    assert conclude(RunStatus.COMPLETED, [*verdicts, verdict(PERSON, PASS)], criteria).outcome is Outcome.PASSED


def test_app_orders_its_deciders() -> None:
    verdicts = [verdict(PERSON, PASS), verdict(VALIDATOR, FAIL, "schema"), verdict(IMPORT, PASS, "graded")]
    assert _outcome_by(verdicts, Decider(source="check"), Decider(source="person")) is Outcome.FAILED
    assert _outcome_by(verdicts, Decider(source="import", name="graded")) is Outcome.PASSED
    assert _outcome_by(verdicts, Decider(source="import", name="elsewhere")) is Outcome.UNKNOWN
    assert _outcome_by(verdicts, Decider(source="check", name="schema"), status=RunStatus.FAILED) is Outcome.FAILED


def _outcome_by(verdicts: list[Verdict], *deciders: Decider, status: RunStatus = RunStatus.COMPLETED) -> Outcome:
    return conclude(status, verdicts, OutcomeCriteria(deciders=deciders)).outcome


VERDICTS = st.builds(
    Verdict,
    name=st.sampled_from(["reward", "schema", "tone"]),
    kind=st.sampled_from(JudgementKind),
    source=st.sampled_from(JudgementSource),
    value=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    at=st.none() | st.just(NOON),
    step_no=st.none() | st.integers(1, 9),
)


@given(st.sampled_from(RunStatus), st.lists(VERDICTS, max_size=6))
def test_passing_needs_a_passing_judgement(status: RunStatus, verdicts: list[Verdict]) -> None:
    conclusion = conclude(status, verdicts, DEFAULT_CRITERIA)
    if conclusion.outcome is Outcome.PASSED:
        assert any(each.kind is PASS or (each.value or 0) > 0.9 for each in verdicts)
    if conclusion.outcome is Outcome.UNVERIFIED:
        assert any(each.kind is NOT_RUN for each in verdicts)


DECIDERS = st.builds(
    Decider, source=st.sampled_from(["person", "import", "check"]), name=st.sampled_from(["", "reward", "schema"])
)
CRITERIA = st.builds(
    OutcomeCriteria,
    thresholds=st.dictionaries(st.sampled_from(["reward", "tone"]), st.just(Threshold(at_least=0.5))),
    deciders=st.lists(DECIDERS, max_size=4).map(tuple) | st.just(DEFAULT_DECIDERS),
)


@given(st.sampled_from(RunStatus), st.lists(VERDICTS, max_size=6), CRITERIA)
def test_only_covered_judgements_decide(status: RunStatus, verdicts: list[Verdict], criteria: OutcomeCriteria) -> None:
    covered = [each for each in verdicts if any(decider.covers(each) for decider in criteria.deciders)]
    conclusion = conclude(status, verdicts, criteria)
    assert conclusion == conclude(status, covered, criteria)
    if conclusion.basis is None:
        assert conclusion.outcome in (Outcome.FAILED, Outcome.UNKNOWN)
        assert (conclusion.outcome is Outcome.FAILED) is (status is RunStatus.FAILED)


@given(st.lists(VERDICTS, max_size=6), CRITERIA)
def test_persons_veto_fails_by_default(verdicts: list[Verdict], criteria: OutcomeCriteria) -> None:
    veto = verdict(PERSON, FAIL, at=NOON + timedelta(hours=1))
    by_default = OutcomeCriteria(thresholds=criteria.thresholds)
    assert conclude(RunStatus.COMPLETED, [*verdicts, veto], by_default).outcome is Outcome.FAILED


def _adverse_names(*verdicts: Verdict, **thresholds: Threshold) -> list[str]:
    return [verdict.name for verdict in adverse(verdicts, OutcomeCriteria(thresholds=thresholds))]


def test_whatever_fails_is_adverse() -> None:
    names = _adverse_names(
        verdict(IMPORT, SCORE, "reward", value=0.0),
        verdict(VALIDATOR, FAIL, "schema", step_no=3),
        verdict(CHECK, NOT_RUN, "unit tests"),
        verdict(PERSON, PASS, "person"),
        verdict(IMPORT, NOTE, "comment"),
        verdict(IMPORT, SCORE, "resolved", value=1.0),
    )
    assert sorted(names) == ["reward", "schema", "unit tests"]


def test_app_thresholds_select_adverse_scores() -> None:
    scores = (verdict(IMPORT, SCORE, "helpful", value=0.4), verdict(IMPORT, SCORE, "toxicity", value=0.4))
    assert _adverse_names(*scores) == []
    bounds = {"helpful": Threshold(at_least=0.7), "toxicity": Threshold(at_most=0.5)}
    assert _adverse_names(*scores, **bounds) == ["helpful"]
    assert _adverse_names(verdict(IMPORT, SCORE, "reward", value=0.4), reward=Threshold(at_least=0.3)) == []


def test_later_step_judgement_replaces_earlier() -> None:
    first = verdict(PERSON, FAIL, step_no=2, at=NOON)
    assert _adverse_names(first, verdict(PERSON, PASS, step_no=2, at=NOON + timedelta(minutes=1))) == []
    assert len(_adverse_names(first, verdict(PERSON, FAIL, step_no=4, at=NOON + timedelta(minutes=1)))) == 2
