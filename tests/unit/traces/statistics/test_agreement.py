"""Agreement of automatic judgements with people's."""

import pytest

from traces.core.vocabulary import JudgementKind, JudgementSource
from traces.ingest.outcome_rules import OutcomeCriteria, Threshold, Verdict
from traces.statistics.agreement import agreement, agreements


def _verdict(source: JudgementSource, passes: bool, name: str = "verdict") -> Verdict:
    return Verdict(name=name, kind=JudgementKind.PASS if passes else JudgementKind.FAIL, source=source)


def test_kappa_of_a_textbook_table() -> None:
    # Cohen's table as it is often quoted: 20 and 15 agreements, 5 and 10 disagreements.
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    result = agreement(pairs)
    assert (result.runs, result.equal_verdicts, result.kappa) == (50, 35, 0.4)
    assert result.low is not None
    assert result.high is not None
    assert result.low < 0.4 < result.high


def test_full_agreement_on_few_runs_is_uncertain() -> None:
    result = agreement([(True, True), (False, False), (True, True)])
    assert result.kappa == 1.0
    assert result.low is not None
    assert result.low < 0.1


def test_bounds_lie_within_those_of_kappa() -> None:
    result = agreement([(True, True), (True, False), (False, True)])
    assert (result.kappa, result.low) == (-0.5, -1.0)


def test_same_verdict_everywhere_has_no_kappa() -> None:
    assert agreement([(True, True)] * 9).kappa is None


def test_judges_are_compared_with_the_newest_person() -> None:
    person, model = JudgementSource.PERSON, JudgementSource.MODEL
    score = Verdict(name="helpful", kind=JudgementKind.SCORE, source=JudgementSource.IMPORT, value=0.8)
    runs = [
        [_verdict(person, False), _verdict(person, True), _verdict(model, True, "judge"), score],
        [_verdict(person, False), _verdict(model, False, "judge")],
        [_verdict(model, True, "judge")],
    ]
    criteria = OutcomeCriteria(thresholds={"helpful": Threshold(at_least=0.9)})
    result = agreements(runs, criteria)
    assert {judge: (entry.runs, entry.equal_verdicts) for judge, entry in result.items()} == {
        (model, "judge"): (2, 2),
        (JudgementSource.IMPORT, "helpful"): (1, 0),
    }


@pytest.mark.parametrize("verdicts", [(True, False), (False, True)])
def test_one_failing_validator_of_a_name_fails(verdicts: tuple[bool, bool]) -> None:
    models = [
        Verdict(name="judge", kind=_verdict(JudgementSource.MODEL, passes).kind, source=JudgementSource.MODEL, by=by)
        for passes, by in zip(verdicts, ("m1", "m2"), strict=True)
    ]
    result = agreements([[_verdict(JudgementSource.PERSON, False), *models]], OutcomeCriteria())
    assert result[JudgementSource.MODEL, "judge"].equal_verdicts == 1
