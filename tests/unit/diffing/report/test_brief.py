"""The first lines of a report, for a reader without other documentation."""

from dataclasses import replace
from typing import Any

import pytest

from diffing.report.brief import brief
from diffing.report.evidence import with_evidence
from diffing.schemas.evidence import CheapestExperiment, NoiseGate, ProbeOutcome
from diffing.schemas.report import DiffReport
from tests.support.comparing import (
    CONFIRMATION,
    FIX,
    PROMPT,
    Spec,
    agent,
    diff_of,
    failing_refund,
    fixed_refund,
    model,
    output,
    refund_run,
    reply,
    tool,
    user,
)
from tests.unit.diffing.report.test_evidence import evidence
from traces.core.ids import new_id
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType


def refund(*, derived: bool = True) -> DiffReport:
    return diff_of(failing_refund(), fixed_refund(), derived=derived)


def test_brief_answers_all_five_questions() -> None:
    report = refund()
    lines = brief(report)
    assert report.brief == lines
    assert lines.compared == "Base: a recorded run of app (completed). Candidate: a replay of it (completed)."
    assert lines.changed.startswith("Adding “Amounts of issue_refund are in euros.” to the system prompt.")
    assert lines.changed.endswith("5 of 6 paired steps differ.")
    assert lines.confidence == "medium"
    assert lines.why.startswith("It is the only change that can have reached the answer")
    assert "2 replays, about 3 live model calls each" in lines.next


def test_two_recordings_give_only_a_suspicion() -> None:
    lines = brief(refund(derived=False))
    assert "recorded separately" in lines.compared
    assert (lines.confidence, lines.why.split(".")[0]) == ("low", "Two recordings also differ by chance")


def test_fork_names_its_step() -> None:
    report = refund()
    candidate = report.candidate.model_copy(update={"fork_sequence_no": 4, "status": "failed"})
    lines = brief(report.model_copy(update={"candidate": candidate}))
    assert "a replay of it from step 4 (failed)" in lines.compared


def test_two_replays_name_their_common_run() -> None:
    report, source = refund(), new_id()
    refs = {name: getattr(report, name).model_copy(update={"source_run": source}) for name in ("base", "candidate")}
    assert brief(report.model_copy(update=refs)).compared.startswith("Two replays of one run of app.")


def test_run_compared_with_itself() -> None:
    report = diff_of(failing_refund(), failing_refund())
    lines = brief(report.model_copy(update={"candidate": report.base}))
    assert lines.compared == "A run of app compared with itself."
    assert lines.changed.startswith("Nothing")
    assert (lines.confidence, lines.why) == ("nothing to explain", "There is no difference to explain.")


def test_no_effect_names_changes_without_next_step() -> None:
    base = refund_run(prompt=PROMPT, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION)
    lines = brief(diff_of(base, fixed_refund(), derived=True))
    assert lines.changed.startswith("Adding “Amounts of issue_refund are in euros.”")
    assert lines.confidence == "nothing to explain"
    assert lines.next == "Nothing, unless you expected another answer."


def test_placeholders_are_a_caution() -> None:
    candidate = fixed_refund()
    candidate[4] = replace(candidate[4], reason=Reason.SIDE_EFFECT_BLOCKED)
    lines = brief(diff_of(failing_refund(), candidate, derived=True))
    assert "step 5 (tool issue_refund) did not run, because it has a side effect" in lines.why


def test_several_changes_are_counted() -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    lines = brief(diff_of(failing_refund(), candidate, derived=True))
    assert "; switching the model from m1 to m2." in lines.changed
    assert lines.why.startswith("Another change is also a possible cause, and none was tested alone.")


def test_unrecorded_prompts_are_a_caution() -> None:
    def run(question: str, answer: str) -> list[Spec]:
        return [agent(), model([user(question)], reply(answer)), output(answer)]

    lines = brief(diff_of(run("Refund A-1", "Done: A-1."), run("Refund A-2", "Done: A-2.")))
    assert "The system prompts were not recorded" in lines.why


def test_unrecorded_model_names_are_a_caution() -> None:
    def run(question: str, answer: str) -> list[Spec]:
        instructions: JSONObject = {"role": "system", "content": "Be brief."}
        return [agent(), model([instructions, user(question)], reply(answer), model=""), output(answer)]

    lines = brief(diff_of(run("Refund A-1", "Done: A-1."), run("Refund A-2", "Done: A-2.")))
    assert "The model names were not recorded, so differences in them are not visible here." in lines.why


@pytest.mark.parametrize(
    ("findings", "reason", "next_step"),
    [
        (
            {},
            "with this change alone, the base has the candidate's outcome; without it, the candidate does not",
            "Nothing left to test. The replays are listed below.",
        ),
        ({"verdict": "joint", "confidence": "medium"}, "once each: these changes together", "once each"),
        (
            {"verdict": "over_determined", "confidence": "medium"},
            "each of these causes is sufficient alone",
            "once each",
        ),
        (
            {"verdict": "noise", "confidence": "noise", "primary": []},
            "differ from each other as much as the two runs do",
            "These two runs have no cause to find. An experiment",
        ),
    ],
)
def test_replays_are_the_reason(findings: dict[str, Any], reason: str, next_step: str) -> None:
    report = refund()
    lines = brief(with_evidence(report, [evidence(report, **findings)]))
    assert reason in lines.why
    # The conclusion of a proof does not quote the answer.
    assert f"The answer is “{CONFIRMATION}” instead of" in lines.changed
    assert "4 replays (0 live), 9 steps re-executed" in lines.why
    assert next_step in lines.next


def test_proof_without_live_calls_covers_two_recordings() -> None:
    report = refund()
    gate = NoiseGate(
        status="not_needed",
        reason="no repeats were needed",
        base_flips=0,
        base_n=0,
        base_interval=None,
        candidate_flips=0,
        candidate_n=0,
        candidate_interval=None,
        p=None,
    )
    reason = brief(with_evidence(report, [evidence(report, noise=gate)])).why
    assert "This holds for these two recorded runs" in reason
    assert "ruled out" not in reason


def test_chance_is_stated_with_repeat_rates() -> None:
    report = refund()
    reason = brief(with_evidence(report, [evidence(report)])).why
    assert "Chance is ruled out: 5 of 6 unchanged repeats of the base" in reason
    noise = evidence(report, verdict="noise", confidence="noise", primary=[])
    no_match = noise.model_copy(update={"noise": noise.noise.model_copy(update={"base_flips": 6, "p": 1.0})})
    lines = brief(with_evidence(report, [no_match]))
    assert "0 of 6 unchanged repeats of the base and 6 of 6 of the candidate came out as recorded (p = 1)" in lines.why
    assert "use a typical run as the base" in lines.next
    assert with_evidence(report, [no_match]).attribution.path == []


def test_skipped_replays_are_counted_apart() -> None:
    report = refund()
    proof = evidence(report)
    skipped_probe = proof.probes[0].model_copy(
        update={"outcome": ProbeOutcome.NEEDS_LIVE, "missing": "no live call is left"}
    )
    two_probes = proof.model_copy(update={"probes": [*proof.probes, skipped_probe], "replays_cached": 1})
    lines = brief(with_evidence(report, [two_probes]))
    assert "It took 1 replay (0 live), 9 steps re-executed; 1 more could not run." in lines.why
    assert lines.next.endswith("listed below; those that could not run are not needed.")


def test_next_experiment_names_a_button_only_for_replays() -> None:
    report = refund()
    repeat = CheapestExperiment(text="Repeat both.", replays=10, live_calls=30, cost_usd=None)
    low = evidence(report, confidence="low", cheapest_experiment=repeat)
    assert brief(with_evidence(report, [low])).next == "Repeat both. Prove it runs this test."
    no_experiment = with_evidence(report, [low.model_copy(update={"cheapest_experiment": None})])
    bare = no_experiment.attribution.model_copy(update={"cheapest_experiment": ""})
    assert brief(no_experiment.model_copy(update={"attribution": bare})).next == "No replay can show more."
    manual = evidence(
        report, confidence="medium", cheapest_experiment=repeat.model_copy(update={"text": "Run it.", "replays": 0})
    )
    assert brief(with_evidence(report, [manual])).next == "Run it."


def test_quoted_answers_are_not_repeated() -> None:
    assert "The answer is" not in brief(refund()).changed


def test_inconclusive_proof_gives_its_rule() -> None:
    report = refund()
    proof = evidence(report, verdict="inconclusive", confidence="low", rule="The budget ran out.", primary=[])
    assert brief(with_evidence(report, [proof])).why.endswith("The replays were inconclusive: the budget ran out.")


def test_check_that_did_not_run_has_not_passed() -> None:
    def with_check(steps: list[Spec], **check: str) -> list[Spec]:
        return [*steps, Spec(type=StepType.VALIDATOR, name="limits", parent=1, input={}, output="no", **check)]  # type: ignore[arg-type]  # texts only

    base = with_check(failing_refund(), status="error")
    candidate = with_check(fixed_refund(), reason=Reason.POLICY_FALLBACK)
    report = diff_of(base, candidate, derived=True)
    assert brief(report).compared.endswith(
        "Candidate: a replay of it (ran to its end). Step 8 (validator limits) failed in the base and was not run in "
        "the candidate, so whether it would pass there is unknown."
    )
    assert "was not run in the base" in brief(diff_of(candidate, base)).compared
    [item] = [item for item in report.sections.run.items if item.kind == "status"]
    assert "not run in the candidate" in item.title


def test_recorded_task_verdicts_are_shown() -> None:
    report = refund(derived=False)
    scores = {"base": {"success": False, "reward": 0.0}, "candidate": {"success": True, "reward": 1.0}}
    lines = brief(report.model_copy(update={"scores": report.scores.model_copy(update={"imported": scores})}))
    assert "(completed, task recorded as failed, reward 0). Candidate" in lines.compared
    assert "(completed, task recorded as done, reward 1). The runs" in lines.compared


def test_later_cause_is_not_called_first() -> None:
    def run(query: str, name: str, answer: str) -> list[Spec]:
        lookup = tool("search", "c1", {"input": query}, "Here it is, all of it.")
        return [agent(), lookup, model([user("Go on")], reply(answer), model=name), output(answer)]

    report = diff_of(run("Bern", "m1", "It rains over there."), run("bern", "m2", "Noon, and cloudless."))
    assert report.attribution.primary is not None
    assert report.attribution.primary.title == "Switching the model from m1 to m2"
    assert "and step 2 differs before it" in brief(report).why
    assert "which is the first recorded difference" in brief(refund(derived=False)).why


def test_manual_answer_leaves_nothing_to_explain() -> None:
    candidate = failing_refund()
    candidate[5] = replace(candidate[5], output={"message": reply(CONFIRMATION)}, reason=Reason.OPERATOR_OVERRIDE)
    candidate[6] = output(CONFIRMATION)
    lines = brief(diff_of(failing_refund(), candidate, derived=True))
    assert lines.why.startswith("The answer was set by hand")
    assert lines.next == "Nothing left to test."
