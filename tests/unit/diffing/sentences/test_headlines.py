"""Headlines: short, no more certain than the verdict, and the same for a proof that confirms them."""

import pytest

from diffing.report.evidence import with_evidence
from diffing.schemas.report import DiffReport, Headline
from diffing.sentences import headlines
from diffing.sentences.notes import plain_text
from tests.support.comparing import diff_of, failing_refund, fixed_refund
from tests.unit.diffing.report.test_evidence import atom, evidence
from tests.unit.diffing.sentences.headline_examples import headline_lines

CAUSE = "Adding “Amounts of issue_refund are in euros.” to the system prompt"
EFFECT = "changed issue_refund's amount from 4200 to 42, so it succeeded"
# Two lines of the verdict card.
TWO_LINES = 165


def refund(*, derived: bool) -> DiffReport:
    return diff_of(failing_refund(), fixed_refund(), derived=derived)


@pytest.mark.parametrize("line", sorted(set(headline_lines())))
def test_headlines_fit_on_two_lines(line: str) -> None:
    assert len(line) <= TWO_LINES
    assert line.count("“") == line.count("”")


def test_replay_names_cause_and_effect() -> None:
    assert refund(derived=True).attribution.headline == Headline(cause=CAUSE, effect=EFFECT)


def test_two_recordings_only_suggest_a_cause() -> None:
    headline = refund(derived=False).attribution.headline
    assert headline is not None
    assert headline.effect == f"may have {EFFECT}"


def test_proof_of_the_observed_cause_keeps_its_headline() -> None:
    report = refund(derived=False)
    assert report.attribution.primary is not None
    proof = evidence(report, atoms=[atom("a", title=report.attribution.primary.title)], primary=[["a"]])
    assert with_evidence(report, [proof]).attribution.headline == Headline(cause=CAUSE, effect=EFFECT)


def test_proof_of_another_cause_names_it() -> None:
    report = refund(derived=True)
    proof = evidence(report, atoms=[atom("a", title="Offering the tool pay")], primary=[["a"]])
    headline = with_evidence(report, [proof]).attribution.headline
    assert headline is not None
    assert headlines.text(headline) == "Offering the tool pay changed the final answer."


def test_reports_of_version_1_are_readable() -> None:
    report = refund(derived=True)
    body = report.model_dump(mode="json", exclude={"answers"}) | {"schema_version": "1"}
    del body["attribution"]["headline"]
    for link in body["attribution"]["path"]:
        link["text"] = "".join(span["text"] for span in link.pop("note"))
    stored = DiffReport.model_validate(body)
    proof = evidence(stored, atoms=[atom("a")], primary=[["a"]])
    assert with_evidence(stored, [proof]).attribution.headline is None
    assert stored.answers is None
    assert plain_text(stored.attribution.path[0].note) == plain_text(report.attribution.path[0].note)
