"""Limits of proofs: chance, unanswered probes, budgets; and resumption after a crash."""

from itertools import count, cycle
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import Settings

from diffing.models import Evidence
from diffing.schemas.evidence import ProbeOutcome
from replay.execution import runner
from replay.models import Proof, ProofProbe, ReplaySession
from replay.proofs import driver, services
from replay.proofs.core.types import ProbeResult, Stray
from replay.proofs.probes import probe_sessions, stored_probes
from replay.proofs.probes.recorded_replays import RecordedReplays
from tests.support import proofs
from tests.support.lost_artifacts import LOSSES, lose
from tests.support.proofs import (
    HELPFUL,
    MODELS,
    RuleDesk,
    answered_probes,
    candidate_of,
    desk_run,
    fork_and_diff,
    live,
    post,
    prove,
    setting,
    system,
    work_off,
)
from traces.models import Step

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
local_model, no_queue, rule_desk = proofs.local_model, proofs.no_queue, proofs.rule_desk


def test_chance_is_reported_as_noise(rule_desk: RuleDesk) -> None:
    """A reworded prompt changes every later call, and the model answers at random."""
    answers, calls = cycle(["Yes.", "Yes.", "No.", "No.", "Yes.", "No.", "Yes."]), count()

    def draw(call: Any) -> str:
        next(calls)
        return next(answers)

    rule_desk.rule.append(draw)
    diff = rule_desk.diff(system("You are the order desk. Answer in whole sentences."))
    before = next(calls)
    findings = rule_desk.prove(diff, **live())
    assert (
        findings["live_calls"] == next(calls) - before - 1
    )  # repeats that were started ahead and not needed count too
    assert (findings["verdict"], findings["confidence"], findings["primary"]) == ("noise", "noise", [])
    assert findings["noise"]["status"] == "not_rejected"
    assert "within chance" in findings["conclusion"]
    assert rule_desk.client.get(f"/api/v1/diffs/{diff}").json()["attribution"]["verdict"] == "noise"


def test_answer_drawn_by_earlier_fork_is_a_draw(rule_desk: RuleDesk) -> None:
    """The second fork reuses the answer that the first one drew, so chance still plays a part."""
    rule_desk.rule.append(lambda call: "Have a refund." if "Offer a refund." in call.system else "It is lost.")
    first = candidate_of(rule_desk.client, rule_desk.diff(system(HELPFUL)))
    unset_seed = {"match": {"step": 3}, "model": {"unset": ["seed"]}}  # nothing is set there: the answer stays
    second = candidate_of(rule_desk.client, fork_and_diff(rule_desk.client, rule_desk.queue, first, 3, unset_seed))
    diff = post(rule_desk.client, "/diffs", {"base": str(rule_desk.run), "candidate": str(second)}).json()["id"]
    plan = post(rule_desk.client, f"/diffs/{diff}/prove/preview").json()
    assert (plan["sampled"], plan["differs"]) == (True, True)


@pytest.mark.parametrize("loss", LOSSES)
def test_unreadable_answer_is_named(rule_desk: RuleDesk, loss: str) -> None:
    """Neither the preview nor a running proof has another source for what a run answered."""
    rule_desk.rule.append(lambda call: "Have a refund." if "Offer a refund." in call.system else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL))
    proof = post(rule_desk.client, f"/diffs/{diff}/prove", live()).json()["id"]
    answer = Step.objects.filter(run=candidate_of(rule_desk.client, diff)).exclude(output_ref="").latest("sequence_no")
    lose(answer.output_ref, loss)
    work_off(rule_desk.queue)
    error = Proof.objects.get(id=proof).error
    assert f"the output of its step {answer.sequence_no} is not readable" in error
    assert "internal error" not in error
    refused_preview = post(rule_desk.client, f"/diffs/{diff}/prove/preview")
    assert (refused_preview.status_code, refused_preview.json()["code"]) == (409, "artifact_missing")


def test_chance_stays_open_without_live_calls(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "Yes.")
    diff = rule_desk.diff(system("Be brief."))
    findings = rule_desk.prove(diff)
    assert (findings["confidence"], findings["live_calls"], findings["noise"]["status"]) == ("low", 0, "not_run")
    assert findings["cheapest_experiment"]["live_calls"] > 0
    report = rule_desk.client.get(f"/api/v1/diffs/{diff}").json()
    assert report["observed"] is None  # observation does not win over observation
    assert len(report["evidence"]) == 1


def test_unreviewed_tool_is_named_and_not_run(
    client: Client, local_model: None, no_queue: list[tuple[str, str]]
) -> None:
    run, fork, prompt = desk_run()
    work_off(no_queue)
    new_prompt = f"{prompt}\n\nNever refund an order yourself. Open a ticket instead."
    diff = fork_and_diff(client, no_queue, run.id, fork, {"match": MODELS, "prompt": {"system": new_prompt}})
    findings = prove(client, no_queue, diff)
    response = post(client, f"/diffs/{diff}/prove", {"question": "status"})
    assert (response.status_code, response.json()["where"]) == (422, "/question")
    assert findings["confidence"] == "low"
    assert "create_ticket" in " ".join([*(probe["missing"] for probe in findings["probes"]), findings["conclusion"]])
    made_up = [atom for atom in findings["atoms"] if not atom["testable"]]
    assert made_up
    assert "recorded" in made_up[0]["why_not"]


def test_proof_resumes_after_a_crash(rule_desk: RuleDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next worker repeats no probe."""
    rule_desk.rule.append(lambda call: "Have a refund." if "Offer a refund." in call.system else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL))
    proof = post(rule_desk.client, f"/diffs/{diff}/prove", live(parts=False)).json()["id"]
    replayed_setups: list[str] = []
    walk = RecordedReplays._replay

    def dying(self: RecordedReplays, setup: Any) -> Any:
        replayed_setups.append(setup.overrides.digest + setup.side)
        if len(replayed_setups) == 2:
            raise SystemExit
        return walk(self, setup)

    monkeypatch.setattr(RecordedReplays, "_replay", dying)
    with pytest.raises(SystemExit):
        work_off(rule_desk.queue)
    before = answered_probes(proof)
    session_ids = set(ReplaySession.objects.values_list("id", flat=True))
    rule_desk.queue.clear()
    assert services.requeue_unfinished() == 0  # a worker may still be active
    Proof.objects.update(worked_at="2020-01-01T00:00:00Z")
    assert [services.requeue_unfinished() for _ in range(2)] == [1, 0]
    work_off(rule_desk.queue)
    view = rule_desk.client.get(f"/api/v1/proofs/{proof}").json()
    assert (view["status"], view["findings"]["confidence"]) == ("completed", "high")
    assert len(before) >= 10
    assert before.items() <= answered_probes(proof).items()
    # Each session belongs to one probe: none was started twice.
    probes = ProofProbe.objects.filter(proof=proof).exclude(session=None).values_list("session_id", flat=True)
    assert len(probes) == len(set(probes))
    assert session_ids - {*probes} == set(ReplaySession.objects.filter(proof_probes=None).values_list("id", flat=True))
    assert Evidence.objects.count() == 1


def test_workers_that_continue_a_proof_at_once_share_its_probes(
    rule_desk: RuleDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second worker draws a sample between the first one's look at the stored probes and at earlier samples."""
    answers = cycle(["Yes.", "No."])
    rule_desk.rule.append(lambda call: next(answers))
    diff = rule_desk.diff(system("You are the order desk. Answer in whole sentences."))
    proof = UUID(post(rule_desk.client, f"/diffs/{diff}/prove", live()).json()["id"])
    find, drawn = stored_probes.earlier_sample, []

    def find_late(*looked_for: Any) -> ProofProbe | None:
        monkeypatch.setattr(probe_sessions, "earlier_sample", find)
        drawn.extend(driver.advance(proof))
        for session in drawn:
            runner.execute(session)
        return find(*looked_for)

    monkeypatch.setattr(probe_sessions, "earlier_sample", find_late)
    work_off(rule_desk.queue)
    view = rule_desk.client.get(f"/api/v1/proofs/{proof}").json()
    assert drawn
    assert (view["status"], view["error"]) == ("completed", "")


def test_cancelled_proof_keeps_its_findings(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "Have a refund." if "Offer a refund." in call.system else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL))
    proof = post(rule_desk.client, f"/diffs/{diff}/prove", live()).json()["id"]
    sessions = driver.advance(UUID(proof))
    assert len(sessions) == 8  # four of each side, side by side
    for session in sessions[:2]:
        runner.execute(session)
    assert driver.advance(UUID(proof))
    cancelled_view = post(rule_desk.client, f"/proofs/{proof}/cancel").json()
    assert (cancelled_view["status"], cancelled_view["findings"]["stopped"]) == ("cancelled", "cancelled")
    assert (cancelled_view["findings"]["live_calls"], cancelled_view["findings"]["confidence"]) == (2, "low")
    work_off(rule_desk.queue)
    assert rule_desk.client.get(f"/api/v1/proofs/{proof}").json()["status"] == "cancelled"
    assert not ReplaySession.objects.filter(status__in=("pending", "running")).exists()


def test_recorded_answers_are_no_repeats(rule_desk: RuleDesk, settings: Settings) -> None:
    """If no provider can answer again, chance stays open, whatever the recordings show."""
    rule_desk.rule.append(lambda call: "Have a refund." if "Offer a refund." in call.system else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL))
    settings.PROVIDERS = {}
    plan = post(rule_desk.client, f"/diffs/{diff}/prove/preview").json()
    assert plan["missing"] == ["no provider is configured for m1"]
    findings = rule_desk.prove(diff, **live())
    assert (findings["confidence"], findings["noise"]["status"], findings["live_calls"]) == ("low", "not_run", 0)
    assert "nothing is configured to execute step 3 (model m1)" in findings["rule"]


def test_cached_answer_does_not_rule_out_chance(rule_desk: RuleDesk) -> None:
    """The second fork takes the first one's answer from the cache: one draw, not a certainty."""
    rule_desk.rule.append(lambda call: "Have a refund." if "refund" in call.system else "It is lost.")
    rule_desk.diff(system(HELPFUL))
    findings = rule_desk.prove(rule_desk.diff(system(HELPFUL)), budget={"live_calls": 0})
    assert (findings["confidence"], findings["noise"]["status"]) == ("low", "not_run")


def test_live_call_budget_limits_the_whole_proof(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "Refund!" if "refund" in call.system and call.model == "m2" else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL), setting(model="m2"))
    findings = rule_desk.prove(diff, **live(calls=12))
    assert findings["live_calls"] == 12
    assert findings["confidence"] in {"low", "medium"}
    assert any("no live call is left" in probe["missing"] for probe in findings["probes"])


def test_strays_of_a_probe_are_stored() -> None:
    result = ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, strays=[Stray(step=2, text="65", base="20", candidate="60")])
    assert stored_probes.load_result(stored_probes.dump_result(result)) == result
