"""Reports with the evidence of experiments: what wins, and how it is written down."""

from datetime import UTC, datetime, timedelta

from diffing.render.html import as_html
from diffing.render.markdown import as_markdown
from diffing.report.evidence import decides, question_key, with_evidence
from diffing.schemas.evidence import (
    AtomEvidence,
    Certificate,
    Evidence,
    EvidenceQuestion,
    Interaction,
    Interval,
    NoiseGate,
    ProbeEvidence,
)
from diffing.schemas.report import DiffReport
from diffing.sentences.proofs import OTHER_MODELS
from tests.support.comparing import diff_of, failing_refund, fixed_refund
from traces.core.ids import new_id

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ANSWER = EvidenceQuestion(kind="answer", text="what the final answer says")


def report() -> DiffReport:
    return diff_of(failing_refund(), fixed_refund(), derived=True)


def atom(name: str, **more: object) -> AtomEvidence:
    given: dict[str, object] = {
        "id": name,
        "parent": None,
        "category": "prompt",
        "title": f"Changing {name} <b>",
        "description": "At step 2.",
        "base": None,
        "candidate": None,
        "testable": True,
        "why_not": "",
        "certificate": None,
        "sufficient": True,
        "necessary": True,
        "shapley": 1.0,
    }
    return AtomEvidence.model_validate(given | more)


def evidence(about: DiffReport, **more: object) -> Evidence:
    noise = NoiseGate(
        status="rejected",
        reason="they differ beyond chance",
        base_flips=1,
        base_n=6,
        base_interval=Interval(low=0.0, high=0.4),
        candidate_flips=0,
        candidate_n=6,
        candidate_interval=None,
        p=0.002,
    )
    probe = ProbeEvidence(
        number=1,
        purpose="apply",
        applied=["a"],
        side="base",
        clamped=None,
        outcome="candidate",
        said="“Done | now”",
        missing="",
        repeats=1,
        executed_steps=3,
        cached_calls=3,
        live_calls=0,
        cost_usd=0.0,
        run=None,
    )
    inert = Certificate(kind="inert", reason="its step answered the same")
    given: dict[str, object] = {
        "id": new_id(),
        "diff": about.id,
        "created_at": NOW,
        "question": ANSWER,
        "verdict": "single",
        "conclusion": "Changing a made the difference.",
        "confidence": "high",
        "rule": "Enough and needed.",
        "primary": [["a"]],
        "atoms": [atom("a"), atom("b", certificate=inert, sufficient=None, necessary=False)],
        "probes": [probe],
        "mediators": [],
        "noise": noise,
        "interactions": [Interaction(one="a", other="b", value=1)],
        "shares": "exact",
        "replays_cached": 4,
        "replays_live": 0,
        "steps_executed": 9,
        "live_calls": 0,
        "cost_usd": 0.0,
        "features": ["the answer"],
        "scope": "over repeats",
        "repeats": 6,
        "assumptions": ["The clock."],
        "stopped": "",
        "cheapest_experiment": None,
    }
    return Evidence.model_validate(given | more)


def test_what_an_experiment_proved_wins_and_what_was_observed_is_kept() -> None:
    before = report()
    shown = with_evidence(before, [evidence(before)])
    assert (shown.attribution.confidence, shown.attribution.verdict) == ("high", "cause")
    assert shown.summary == shown.attribution.sentence == "Changing a made the difference."
    assert shown.observed == before.attribution
    assert any("Ruled out: changing b <b>" in line for line in shown.attribution.evidence)


def test_the_observed_cause_says_whether_these_two_recordings_alone_show_it() -> None:
    before = report()
    assert before.attribution.primary is not None
    seen = atom("a", title=before.attribution.primary.title)
    repeated = evidence(before, atoms=[seen])
    free = repeated.noise.model_copy(update={"status": "not_needed", "p": None})
    alone = repeated.model_copy(update={"noise": free})
    assert " Replays show it both ways: with this change alone" in with_evidence(before, [repeated]).summary
    assert " Replays of these two recordings show it both ways" in with_evidence(before, [alone]).summary


def test_other_models_are_named_before_the_cause() -> None:
    before = report()
    assert before.attribution.primary is not None
    seen = atom("a", title=before.attribution.primary.title)
    said = f"{OTHER_MODELS}m2 in place of m1. {seen.title} made the difference."
    shown = with_evidence(before, [evidence(before, atoms=[seen], conclusion=said)])
    assert shown.summary == shown.attribution.sentence == said
    assert as_markdown(shown).index("m2 in place of m1") < as_markdown(shown).index("made the difference")


def test_observation_does_not_win_over_observation() -> None:
    before = report()
    shown = with_evidence(before, [evidence(before, confidence="low")])
    assert (shown.attribution, shown.observed) == (before.attribution, None)
    assert len(shown.evidence) == 1


def test_the_newest_answer_to_a_question_counts_and_the_strongest_of_the_questions() -> None:
    before = report()
    older = evidence(before, conclusion="Old.")
    newer = evidence(before, confidence="medium", conclusion="New.", created_at=NOW + timedelta(hours=1))
    exact = evidence(before, question=ANSWER.model_copy(update={"kind": "answer_exact"}), conclusion="Exact.")
    shown = with_evidence(before, [older, exact, newer])
    assert {one.conclusion for one in shown.evidence} == {"New.", "Exact."}
    assert shown.attribution.sentence == "Exact."


def test_noise_is_a_verdict_of_its_own_and_other_questions_are_not_about_the_answer() -> None:
    before = report()
    noise = evidence(before, verdict="noise", confidence="noise", primary=[], conclusion="Chance.")
    assert with_evidence(before, [noise]).attribution.verdict == "noise"
    calls = EvidenceQuestion(kind="tool_calls", text="the calls")
    assert with_evidence(before, [evidence(before, question=calls)]).observed is None
    check = EvidenceQuestion(kind="check", text="c", checks=[{"kind": "contains", "text": "x"}])
    assert question_key(check) != question_key(check.model_copy(update={"checks": []}))
    assert not decides(question_key(check), "high")


def test_it_is_written_into_markdown_and_html_with_everything_escaped() -> None:
    before = report()
    shown = with_evidence(before, [evidence(before)])
    markdown, page = as_markdown(shown), as_html(shown)
    for text in (markdown, page):
        assert "Proved by replaying" in text
        assert "<b>" not in text.split("Proved by replaying")[1].split("Steps that differ")[0]
        assert "5 of 6 times" in text
        assert "high confidence" in text.lower()
    assert "| Changing a &lt;b&gt; | yes | yes | 100% |" in markdown
    assert "Done \\| now" in markdown
    assert "Changing a &lt;b&gt;" in page
    assert "Proved by replaying" not in as_markdown(before) + as_html(before)


def test_nothing_is_called_proved_that_no_replay_has_shown() -> None:
    before = report()
    low = as_markdown(with_evidence(before, [evidence(before, confidence="low")]))
    assert "## Tested by replaying: one change is the cause, as far as tested" in low
    untested = atom("a", sufficient=None, necessary=None, shapley=None)
    noise = evidence(before, verdict="noise", confidence="noise", primary=[], atoms=[untested], interactions=[])
    told = as_markdown(with_evidence(before, [noise]))
    assert "## Tested by replaying: no cause found: within chance" in told
    assert "- No cause named: " in told
    assert "| not tested | not tested |  |" in told
    unmade = noise.model_copy(update={"replays_cached": 0, "probes": []})
    assert "## Nothing was replayed: no cause found" in as_markdown(with_evidence(before, [unmade]))


def test_repeats_are_told_by_all_that_they_came_to_and_a_probe_that_did_not_run_as_such() -> None:
    before = report()
    [made] = evidence(before).probes
    mixed = made.model_copy(
        update={"purpose": "repeat", "applied": [], "repeats": 5, "said": "3 as in the base, 2 other"}
    )
    unmade = made.model_copy(update={"outcome": "needs_live", "missing": "no live call is left"})
    told = as_markdown(with_evidence(before, [evidence(before, probes=[mixed, unmade])]))
    assert "| 5 times the base again, unchanged | 3 as in the base, 2 other |  |" in told
    assert "| did not run | no live call is left |" in told
