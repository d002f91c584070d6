"""Whether a run passes: by its recorded judgements, and by what a replay evaluates."""

from hypothesis import given
from hypothesis import strategies as st

from replay.checks.pass_rules import PassRule, problem, stand_ins
from replay.checks.schemas import CheckResult
from traces.core.vocabulary import JudgementKind, JudgementSource, Outcome, RunStatus
from traces.ingest.outcome_rules import DEFAULT_CRITERIA, Decider, OutcomeCriteria, Threshold, Verdict

PASS, FAIL = JudgementKind.PASS, JudgementKind.FAIL
PERSON, IMPORT, VALIDATOR = JudgementSource.PERSON, JudgementSource.IMPORT, JudgementSource.VALIDATOR
DONE = RunStatus.COMPLETED


def _check(name: str, *, passed: bool) -> CheckResult:
    return CheckResult(name=name, passed=passed, detail="")


def _verdict(source: JudgementSource, kind: JudgementKind, name: str) -> Verdict:
    return Verdict(source=source, kind=kind, name=name)


def test_check_stands_in_for_a_persons_judgement() -> None:
    recorded = [_verdict(PERSON, FAIL, "review")]
    only_people = OutcomeCriteria(deciders=(Decider(source="person"),))
    rule = PassRule(criteria=only_people, stand_ins=stand_ins(recorded))
    assert rule.conclude_recording(DONE, recorded).outcome is Outcome.FAILED
    assert rule.conclude_replay(False, [_check("review", passed=True)], ()).outcome is Outcome.PASSED
    assert rule.conclude_replay(False, [_check("another", passed=True)], ()).outcome is Outcome.UNKNOWN


def test_named_judgement_ignores_all_others() -> None:
    rule = PassRule(criteria=DEFAULT_CRITERIA, judgement="schema")
    checks = [_check("tone", passed=False), _check("schema", passed=True)]
    assert rule.conclude_replay(True, checks, ()).outcome is Outcome.PASSED
    assert rule.conclude_replay(False, checks[:1], ()).outcome is Outcome.UNKNOWN


def test_unrun_validator_decides_nothing() -> None:
    rule = PassRule(criteria=DEFAULT_CRITERIA)
    conclusion = rule.conclude_replay(False, [], [_verdict(VALIDATOR, JudgementKind.NOT_RUN, "schema")])
    assert conclusion.outcome is Outcome.UNVERIFIED
    recorded = rule.conclude_recording(DONE, [_verdict(VALIDATOR, FAIL, "schema")])
    text = problem(rule, "base", recorded, conclusion)
    assert "failed by the validator “schema”, which a replay cannot produce (schema did not run)" in text


def test_unknown_failure_matters_only_if_it_decides() -> None:
    rule = PassRule(criteria=DEFAULT_CRITERIA)
    assert rule.conclude_replay(None, [_check("schema", passed=False)], ()).outcome is Outcome.FAILED
    assert rule.conclude_replay(None, [_check("schema", passed=True)], ()).outcome is Outcome.UNKNOWN


def test_threshold_decides_a_recorded_score() -> None:
    score = Verdict(source=IMPORT, kind=JudgementKind.SCORE, name="helpful", value=0.4)
    criteria = OutcomeCriteria(thresholds={"helpful": Threshold(at_least=0.5)})
    assert PassRule(criteria=criteria, judgement="helpful").conclude_recording(DONE, [score]).outcome is Outcome.FAILED
    assert (
        PassRule(criteria=DEFAULT_CRITERIA, judgement="helpful").conclude_recording(DONE, [score]).outcome
        is Outcome.UNKNOWN
    )


NAMES = st.sampled_from(["reward", "review", "schema"])
VERDICTS = st.builds(_verdict, st.sampled_from(JudgementSource), st.sampled_from([PASS, FAIL]), NAMES)


@given(st.lists(VERDICTS, max_size=5), st.lists(st.builds(_check, NAMES, passed=st.booleans()), max_size=3))
def test_accepted_replays_agree_with_the_recording(verdicts: list[Verdict], checks: list[CheckResult]) -> None:
    rule = PassRule(criteria=DEFAULT_CRITERIA, stand_ins=stand_ins(verdicts))
    recorded, replayed = rule.conclude_recording(DONE, verdicts), rule.conclude_replay(False, checks, ())
    if not problem(rule, "base", recorded, replayed):
        assert recorded.outcome is replayed.outcome
        assert checks, "nothing was evaluated"
