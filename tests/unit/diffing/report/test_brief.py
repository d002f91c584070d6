"""The first lines of a report, for a reader who knows nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from diffing.report.brief import brief
from diffing.report.evidence import with_evidence
from diffing.schemas.evidence import CheapestExperiment, NoiseGate
from diffing.schemas.report import DiffReport
from tests.support.comparing import (
    ACCEPTED,
    FIX,
    PROMPT,
    Given,
    agent,
    diff_of,
    failing_refund,
    fixed_refund,
    model,
    output,
    refund_run,
    said,
    tool,
    user,
)
from tests.unit.diffing.report.test_evidence import evidence
from traces.core.ids import new_id
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType


def refund(*, derived: bool = True) -> DiffReport:
    return diff_of(failing_refund(), fixed_refund(), derived=derived)


def test_it_says_what_is_compared_what_changed_how_sure_why_and_what_next() -> None:
    report = refund()
    found = brief(report)
    assert report.brief == found
    assert found.compared == (
        "Base: a recorded run of app, which completed. Candidate: a replay of it, which completed."
    )
    assert found.changed.startswith("Adding “Amounts of issue_refund are in euros.” to the system prompt.")
    assert found.changed.endswith("Of 6 steps in both runs, 5 differ.")
    assert found.confidence == "medium"
    assert found.why.startswith("It is the only change that can have reached the answer")
    assert "2 replays, about 3 live model calls each" in found.next


def test_two_recordings_are_never_said_to_be_more_than_a_suspicion() -> None:
    found = brief(refund(derived=False))
    assert "recorded separately" in found.compared
    assert (found.confidence, found.why.split(".")[0]) == ("low", "Two recordings also differ by chance")


def test_a_fork_says_from_which_step_on() -> None:
    report = refund()
    candidate = report.candidate.model_copy(update={"fork_sequence_no": 4, "status": "failed"})
    found = brief(report.model_copy(update={"candidate": candidate}))
    assert "a replay of it from step 4 on, which failed" in found.compared


def test_replays_of_one_run_are_told_as_such() -> None:
    report, source = refund(), new_id()
    both = {name: getattr(report, name).model_copy(update={"source_run": source}) for name in ("base", "candidate")}
    assert brief(report.model_copy(update=both)).compared.startswith("Two replays of one run of app.")


def test_a_run_with_itself() -> None:
    report = diff_of(failing_refund(), failing_refund())
    found = brief(report.model_copy(update={"candidate": report.base}))
    assert found.compared == "A run of app with itself."
    assert found.changed.startswith("Nothing")
    assert (found.confidence, found.why) == ("nothing to explain", "There is no difference to explain.")


def test_no_effect_names_the_changes_and_asks_for_nothing() -> None:
    base = refund_run(prompt=PROMPT, amount=42, result={"state": "accepted"}, status="ok", final=ACCEPTED)
    found = brief(diff_of(base, fixed_refund(), derived=True))
    assert found.changed.startswith("Adding “Amounts of issue_refund are in euros.”")
    assert found.confidence == "nothing to explain"
    assert found.next == "Nothing, unless the answer should have been another one."


def test_what_stands_in_for_a_step_is_told_beside_the_confidence() -> None:
    candidate = fixed_refund()
    candidate[4] = replace(candidate[4], reason=Reason.SIDE_EFFECT_BLOCKED)
    found = brief(diff_of(failing_refund(), candidate, derived=True))
    assert "step 5 (tool issue_refund) did not run, because it has a side effect" in found.why


def test_several_changes_are_counted() -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=ACCEPTED, model_name="m2"
    )
    found = brief(diff_of(failing_refund(), candidate, derived=True))
    assert "; switching the model from m1 to m2." in found.changed
    assert found.why.startswith("Another change can have done it as well, and none was tested alone.")


def test_prompts_that_were_not_recorded_are_a_caution() -> None:
    def run(asked: str, answer: str) -> list[Given]:
        return [agent(), model([user(asked)], said(answer)), output(answer)]

    found = brief(diff_of(run("Refund A-1", "Done: A-1."), run("Refund A-2", "Done: A-2.")))
    assert "The system prompts were not recorded" in found.why


def test_models_whose_names_were_not_recorded_are_a_caution() -> None:
    def run(asked: str, answer: str) -> list[Given]:
        instructions: JSONObject = {"role": "system", "content": "Be brief."}
        return [agent(), model([instructions, user(asked)], said(answer), model=""), output(answer)]

    found = brief(diff_of(run("Refund A-1", "Done: A-1."), run("Refund A-2", "Done: A-2.")))
    assert "The names of the models were not recorded: if they differ, nobody can see it here." in found.why


@pytest.mark.parametrize(
    ("told", "says", "then"),
    [
        (
            {},
            "with this change alone the base comes out as the candidate, and without it the candidate does not",
            "Nothing is open: the replays that show it are listed below.",
        ),
        ({"verdict": "joint", "confidence": "medium"}, "once each: these changes together", "once each"),
        (
            {"verdict": "over_determined", "confidence": "medium"},
            "each of these causes is enough by itself",
            "once each",
        ),
        (
            {"verdict": "noise", "confidence": "noise", "primary": []},
            "differ from themselves as much",
            "There is no cause to look for in these two runs. An experiment",
        ),
    ],
)
def test_what_replays_showed_is_the_reason(told: dict[str, Any], says: str, then: str) -> None:
    before = refund()
    found = brief(with_evidence(before, [evidence(before, **told)]))
    assert says in found.why
    assert f"The answer is “{ACCEPTED}” instead of" in found.changed  # what a proof concludes does not quote it
    assert "4 replays (0 live), 9 steps re-executed" in found.why
    assert then in found.next


def test_where_no_live_call_was_made_it_holds_for_these_two_runs_only() -> None:
    before = refund()
    free = NoiseGate(
        status="not_needed",
        reason="nothing was repeated",
        base_flips=0,
        base_n=0,
        base_interval=None,
        candidate_flips=0,
        candidate_n=0,
        candidate_interval=None,
        p=None,
    )
    found = brief(with_evidence(before, [evidence(before, noise=free)])).why
    assert "This holds for these two recorded runs" in found
    assert "ruled out" not in found


def test_chance_is_said_by_how_often_repeats_came_out_as_recorded() -> None:
    before = refund()
    found = brief(with_evidence(before, [evidence(before)])).why
    assert "Chance is ruled out: 5 of 6 unchanged repeats of the base" in found
    noise = evidence(before, verdict="noise", confidence="noise", primary=[])
    never = noise.model_copy(update={"noise": noise.noise.model_copy(update={"base_flips": 6, "p": 1.0})})
    told = brief(with_evidence(before, [never]))
    assert "0 of 6 unchanged repeats of the base and 6 of 6 of the candidate came out as recorded (p = 1)" in told.why
    assert "take a typical run as the base" in told.next
    assert with_evidence(before, [never]).attribution.path == []


def test_replays_that_could_not_run_are_not_counted_as_replays() -> None:
    before = refund()
    made = evidence(before)
    unmade = made.probes[0].model_copy(update={"outcome": "needs_live", "missing": "no live call is left"})
    both = made.model_copy(update={"probes": [*made.probes, unmade], "replays_cached": 1})
    told = brief(with_evidence(before, [both]))
    assert "It took 1 replay (0 live), 9 steps re-executed; 1 more could not run." in told.why
    assert told.next.endswith("listed below, and those that could not run are not needed for it.")


def test_what_a_proof_left_open_is_next_and_no_button_is_said_to_run_the_agent() -> None:
    before = refund()
    again = CheapestExperiment(text="Repeat both.", replays=10, live_calls=30, cost_usd=None)
    low = evidence(before, confidence="low", cheapest_experiment=again)
    assert brief(with_evidence(before, [low])).next == "Repeat both. In Forkpoint, “Prove it” on this diff does that."
    stuck = with_evidence(before, [low.model_copy(update={"cheapest_experiment": None})])
    bare = stuck.attribution.model_copy(update={"cheapest_experiment": ""})
    assert brief(stuck.model_copy(update={"attribution": bare})).next == "No replay can tell more."
    hand = evidence(
        before, confidence="medium", cheapest_experiment=again.model_copy(update={"text": "Run it.", "replays": 0})
    )
    assert brief(with_evidence(before, [hand])).next == "Run it."


def test_answers_that_the_sentence_quotes_are_not_quoted_again() -> None:
    assert "The answer is" not in brief(refund()).changed


def test_a_proof_that_settled_nothing_is_told() -> None:
    before = refund()
    told = evidence(before, verdict="inconclusive", confidence="low", rule="The budget ran out.", primary=[])
    assert brief(with_evidence(before, [told])).why.endswith(
        "Replays were tried and did not settle it: The budget ran out."
    )


def test_a_check_that_the_replay_did_not_run_is_not_said_to_pass() -> None:
    def checked(given: list[Given], **check: str) -> list[Given]:
        return [*given, Given(type=StepType.VALIDATOR, name="limits", parent=1, input={}, output="no", **check)]  # type: ignore[arg-type]  # texts only

    base = checked(failing_refund(), status="error")
    candidate = checked(fixed_refund(), reason=Reason.POLICY_FALLBACK)
    report = diff_of(base, candidate, derived=True)
    assert brief(report).compared.endswith(
        "Candidate: a replay of it, which ran to its end. Step 8 (validator limits), which failed in the base, was not "
        "run in the candidate: whether it would pass there is not known."
    )
    assert "was not run in the base" in brief(diff_of(candidate, base)).compared
    [item] = [item for item in report.sections.run.items if item.kind == "status"]
    assert "not run in the candidate" in item.title


def test_what_was_recorded_of_the_task_is_told() -> None:
    report = refund(derived=False)
    scores = {"base": {"success": False, "reward": 0.0}, "candidate": {"success": True, "reward": 1.0}}
    told = brief(report.model_copy(update={"scores": report.scores.model_copy(update={"imported": scores})}))
    assert "which completed (its task is recorded as failed, reward 0). Candidate" in told.compared
    assert "which completed (its task is recorded as done, reward 1). They" in told.compared


def test_a_later_difference_is_not_called_the_first() -> None:
    def run(found: str, name: str, answer: str) -> list[Given]:
        looked = tool("search", "c1", {"input": found}, "Here it is, all of it.")
        return [agent(), looked, model([user("Go on")], said(answer), model=name), output(answer)]

    report = diff_of(run("Bern", "m1", "It rains over there."), run("bern", "m2", "Noon, and cloudless."))
    assert report.attribution.primary is not None
    assert report.attribution.primary.title == "Switching the model from m1 to m2"
    assert "it is not the first difference: step 2 differs before it" in brief(report).why
    assert "which is the first recorded difference" in brief(refund(derived=False)).why


def test_an_answer_that_was_typed_in_leaves_nothing_to_find_out() -> None:
    candidate = failing_refund()
    candidate[5] = replace(candidate[5], output={"message": said(ACCEPTED)}, reason=Reason.OPERATOR_OVERRIDE)
    candidate[6] = output(ACCEPTED)
    told = brief(diff_of(failing_refund(), candidate, derived=True))
    assert told.why.startswith("Somebody set the answer by hand")
    assert told.next == "Nothing is open."
