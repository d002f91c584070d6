"""Reports with evidence of proofs: precedence and rendering."""

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
    ProbeOutcome,
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
    fields: dict[str, object] = {
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
    return AtomEvidence.model_validate(fields | more)


def evidence(report: DiffReport, **more: object) -> Evidence:
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
        outcome=ProbeOutcome.CANDIDATE,
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
    fields: dict[str, object] = {
        "id": new_id(),
        "diff": report.id,
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
    return Evidence.model_validate(fields | more)


def test_proof_replaces_observation() -> None:
    before = report()
    after = with_evidence(before, [evidence(before)])
    assert (after.attribution.confidence, after.attribution.verdict) == ("high", "cause")
    assert after.summary == after.attribution.sentence == "Changing a made the difference."
    assert after.observed == before.attribution
    assert any("Ruled out: changing b <b>" in line for line in after.attribution.evidence)


def test_confirmed_cause_states_its_scope() -> None:
    before = report()
    assert before.attribution.primary is not None
    cause = atom("a", title=before.attribution.primary.title)
    with_repeats = evidence(before, atoms=[cause])
    free = with_repeats.noise.model_copy(update={"status": "not_needed", "p": None})
    alone = with_repeats.model_copy(update={"noise": free})
    assert " Replays show it both ways: with this change alone" in with_evidence(before, [with_repeats]).summary
    assert " Replays of these two recordings show it both ways" in with_evidence(before, [alone]).summary


def test_cause_keeps_its_headline_if_its_override_is_proven() -> None:
    before = report()
    observed = before.attribution
    assert observed.primary is not None
    assert observed.headline is not None
    tool = observed.primary.model_copy(update={"category": "tool"})
    before = before.model_copy(update={"attribution": observed.model_copy(update={"primary": tool})})
    override = {"category": "tool", "title": "Giving step 2 the answer {…}"}
    place = {"base": tool.base, "candidate": tool.candidate}
    proven = with_evidence(before, [evidence(before, atoms=[atom("a", **override, **place)])])
    assert proven.attribution.headline == observed.headline
    for others in ([atom("b", **place)], []):
        atoms = [atom("a", **override, **(place if others else {})), *others]
        named = with_evidence(before, [evidence(before, atoms=atoms)]).attribution.headline
        assert named is not None
        assert named.cause.startswith("Giving step 2")


def test_other_models_precede_the_cause() -> None:
    before = report()
    assert before.attribution.primary is not None
    cause = atom("a", title=before.attribution.primary.title)
    conclusion = f"{OTHER_MODELS}m2 in place of m1. {cause.title} made the difference."
    after = with_evidence(before, [evidence(before, atoms=[cause], conclusion=conclusion)])
    assert after.summary == after.attribution.sentence == conclusion
    assert as_markdown(after).index("m2 in place of m1") < as_markdown(after).index("made the difference")


def test_low_evidence_does_not_replace_observation() -> None:
    before = report()
    after = with_evidence(before, [evidence(before, confidence="low")])
    assert (after.attribution, after.observed) == (before.attribution, None)
    assert len(after.evidence) == 1


def test_newest_and_strongest_evidence_counts() -> None:
    before = report()
    older = evidence(before, conclusion="Old.")
    newer = evidence(before, confidence="medium", conclusion="New.", created_at=NOW + timedelta(hours=1))
    exact = evidence(before, question=ANSWER.model_copy(update={"kind": "answer_exact"}), conclusion="Exact.")
    after = with_evidence(before, [older, exact, newer])
    assert {item.conclusion for item in after.evidence} == {"New.", "Exact."}
    assert after.attribution.sentence == "Exact."


def test_only_answer_questions_decide() -> None:
    before = report()
    noise = evidence(before, verdict="noise", confidence="noise", primary=[], conclusion="Chance.")
    assert with_evidence(before, [noise]).attribution.verdict == "noise"
    calls = EvidenceQuestion(kind="tool_calls", text="the calls")
    assert with_evidence(before, [evidence(before, question=calls)]).observed is None
    check = EvidenceQuestion(kind="check", text="c", checks=[{"kind": "contains", "text": "x"}])
    assert question_key(check) != question_key(check.model_copy(update={"checks": []}))
    assert not decides(question_key(check), "high")


def test_evidence_is_escaped_in_both_formats() -> None:
    before = report()
    after = with_evidence(before, [evidence(before)])
    markdown, page = as_markdown(after), as_html(after)
    for text in (markdown, page):
        assert "Proved by replaying" in text
        assert "<b>" not in text.split("Proved by replaying")[1].split("Steps that differ")[0]
        assert "5 of 6 times" in text
        assert "high confidence" in text.lower()
    assert "| Changing a &lt;b&gt; | yes | yes | 100% |" in markdown
    assert "Done \\| now" in markdown
    assert "Changing a &lt;b&gt;" in page
    assert "Proved by replaying" not in as_markdown(before) + as_html(before)


def test_titles_claim_only_what_replays_showed() -> None:
    before = report()
    low = as_markdown(with_evidence(before, [evidence(before, confidence="low")]))
    assert "## Tested by replaying: one change is the cause, as far as tested" in low
    untested_atom = atom("a", sufficient=None, necessary=None, shapley=None)
    noise = evidence(before, verdict="noise", confidence="noise", primary=[], atoms=[untested_atom], interactions=[])
    text = as_markdown(with_evidence(before, [noise]))
    assert "## Tested by replaying: no cause found: within chance" in text
    assert "- No cause named: " in text
    assert "| not tested | not tested |  |" in text
    unmade = noise.model_copy(update={"replays_cached": 0, "probes": []})
    assert "## Nothing was replayed: no cause found" in as_markdown(with_evidence(before, [unmade]))


def test_repeats_list_all_outcomes() -> None:
    before = report()
    [probe] = evidence(before).probes
    repeats = probe.model_copy(
        update={"purpose": "repeat", "applied": [], "repeats": 5, "said": "3 as in the base, 2 other"}
    )
    unmade = probe.model_copy(update={"outcome": ProbeOutcome.NEEDS_LIVE, "missing": "no live call is left"})
    text = as_markdown(with_evidence(before, [evidence(before, probes=[repeats, unmade])]))
    assert "| 5 times the base again, unchanged | 3 as in the base, 2 other |  |" in text
    assert "| did not run | no live call is left |" in text
