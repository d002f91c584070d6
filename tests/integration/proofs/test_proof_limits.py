"""What a proof does not claim: chance, unanswered probes, budgets; and that it goes on where it was left."""

from itertools import count, cycle
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import Settings

from diffing.models import Evidence
from replay.execution import runner
from replay.models import Proof, ProofProbe, ReplaySession
from replay.proofs import driver, services
from replay.proofs.core.types import ProbeResult, Stray
from replay.proofs.probes import stored_probes
from replay.proofs.probes.recorded_replays import RecordedReplays
from tests.support import proofs
from tests.support.proofs import (
    HELPFUL,
    MODELS,
    Ruled,
    answered,
    candidate_of,
    desk_run,
    forked,
    live,
    post,
    prove,
    setting,
    system,
    work_off,
)

pytestmark = pytest.mark.django_db(transaction=True)
local_model, no_queue, ruled = proofs.local_model, proofs.no_queue, proofs.ruled


def test_what_chance_does_is_noise(ruled: Ruled) -> None:
    """A reworded prompt changes every call after it, and the model answers as it likes."""
    answers, calls = cycle(["Yes.", "Yes.", "No.", "No.", "Yes.", "No.", "Yes."]), count()

    def draw(asked: Any) -> str:
        next(calls)
        return next(answers)

    ruled.rule.append(draw)
    diff = ruled.diff(system("You are the order desk. Answer in whole sentences."))
    before = next(calls)
    found = ruled.prove(diff, **live())
    assert found["live_calls"] == next(calls) - before - 1  # repeats begun ahead and not needed are paid for as well
    assert (found["verdict"], found["confidence"], found["primary"]) == ("noise", "noise", [])
    assert found["noise"]["status"] == "not_rejected"
    assert "within chance" in found["conclusion"]
    assert ruled.client.get(f"/api/v1/diffs/{diff}").json()["attribution"]["verdict"] == "noise"


def test_what_an_earlier_fork_has_drawn_is_still_a_draw(ruled: Ruled) -> None:
    """The second fork keeps the answer that the first one asked for, and chance has a say in it as before."""
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    first = candidate_of(ruled.client, ruled.diff(system(HELPFUL)))
    kept = {"match": {"step": 3}, "model": {"unset": ["seed"]}}  # nothing is set there: the answer stays
    second = candidate_of(ruled.client, forked(ruled.client, ruled.queued, first, 3, kept))
    diff = post(ruled.client, "/diffs", {"base": str(ruled.run), "candidate": str(second)}).json()["id"]
    plan = post(ruled.client, f"/diffs/{diff}/prove/preview").json()
    assert (plan["sampled"], plan["differs"]) == (True, True)


def test_without_live_calls_chance_is_not_ruled_out_and_the_price_is_told(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "Yes.")
    diff = ruled.diff(system("Be brief."))
    found = ruled.prove(diff)
    assert (found["confidence"], found["live_calls"], found["noise"]["status"]) == ("low", 0, "not_run")
    assert found["cheapest_experiment"]["live_calls"] > 0
    report = ruled.client.get(f"/api/v1/diffs/{diff}").json()
    assert report["observed"] is None  # observation does not win over observation
    assert len(report["evidence"]) == 1


def test_a_tool_that_nobody_reviewed_is_never_run_and_is_named(
    client: Client, local_model: None, no_queue: list[tuple[str, str]]
) -> None:
    run, fork, prompt = desk_run()
    work_off(no_queue)
    told = f"{prompt}\n\nNever refund an order yourself. Open a ticket instead."
    diff = forked(client, no_queue, run.id, fork, {"match": MODELS, "prompt": {"system": told}})
    found = prove(client, no_queue, diff)
    refused = post(client, f"/diffs/{diff}/prove", {"question": "status"})
    assert (refused.status_code, refused.json()["where"]) == (422, "/question")
    assert found["confidence"] == "low"
    assert "create_ticket" in " ".join([*(probe["missing"] for probe in found["probes"]), found["conclusion"]])
    made_up = [atom for atom in found["atoms"] if not atom["testable"]]
    assert made_up
    assert "recorded" in made_up[0]["why_not"]


def test_a_proof_goes_on_where_it_was_left(ruled: Ruled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes it up makes no probe again."""
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    diff = ruled.diff(system(HELPFUL))
    proof = post(ruled.client, f"/diffs/{diff}/prove", live(parts=False)).json()["id"]
    walked: list[str] = []
    walk = RecordedReplays._replay

    def dying(self: RecordedReplays, setup: Any) -> Any:
        walked.append(setup.overrides.digest + setup.side)
        if len(walked) == 2:
            raise SystemExit
        return walk(self, setup)

    monkeypatch.setattr(RecordedReplays, "_replay", dying)
    with pytest.raises(SystemExit):
        work_off(ruled.queued)
    before = answered(proof)
    drawn = set(ReplaySession.objects.values_list("id", flat=True))
    ruled.queued.clear()
    assert services.requeue_unfinished() == 0  # somebody may still be at work
    Proof.objects.update(worked_at="2020-01-01T00:00:00Z")
    assert [services.requeue_unfinished() for _ in range(2)] == [1, 0]
    work_off(ruled.queued)
    found = ruled.client.get(f"/api/v1/proofs/{proof}").json()
    assert (found["status"], found["findings"]["confidence"]) == ("completed", "high")
    assert len(before) >= 10
    assert before.items() <= answered(proof).items()
    # One session for each probe that has one: none was begun again.
    probes = ProofProbe.objects.filter(proof=proof).exclude(session=None).values_list("session_id", flat=True)
    assert len(probes) == len(set(probes))
    assert drawn - {*probes} == set(ReplaySession.objects.filter(proof_probes=None).values_list("id", flat=True))
    assert Evidence.objects.count() == 1


def test_a_cancelled_proof_keeps_what_it_knows(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    diff = ruled.diff(system(HELPFUL))
    proof = post(ruled.client, f"/diffs/{diff}/prove", live()).json()["id"]
    begun = driver.advance(UUID(proof))
    assert len(begun) == 8  # four of each side, side by side
    for session in begun[:2]:
        runner.execute(session)
    assert driver.advance(UUID(proof))
    stopped = post(ruled.client, f"/proofs/{proof}/cancel").json()
    assert (stopped["status"], stopped["findings"]["stopped"]) == ("cancelled", "cancelled")
    assert (stopped["findings"]["live_calls"], stopped["findings"]["confidence"]) == (2, "low")
    work_off(ruled.queued)
    assert ruled.client.get(f"/api/v1/proofs/{proof}").json()["status"] == "cancelled"
    assert not ReplaySession.objects.filter(status__in=("pending", "running")).exists()


def test_recorded_answers_are_no_repeats(ruled: Ruled, settings: Settings) -> None:
    """Where nothing can ask the model again, chance stays open, whatever the recordings say."""
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    diff = ruled.diff(system(HELPFUL))
    settings.PROVIDERS = {}
    plan = post(ruled.client, f"/diffs/{diff}/prove/preview").json()
    assert plan["missing"] == ["no provider is configured for m1"]
    found = ruled.prove(diff, **live())
    assert (found["confidence"], found["noise"]["status"], found["live_calls"]) == ("low", "not_run", 0)
    assert "nothing configured can make that of step 3 (model m1)" in found["rule"]


def test_an_answer_that_another_run_drew_is_no_proof_against_chance(ruled: Ruled) -> None:
    """The second fork takes the first one's answer from the recordings: that is one draw, not a certainty."""
    ruled.rule.append(lambda asked: "Have a refund." if "refund" in asked.system else "It is lost.")
    ruled.diff(system(HELPFUL))
    found = ruled.prove(ruled.diff(system(HELPFUL)), budget={"live_calls": 0})
    assert (found["confidence"], found["noise"]["status"]) == ("low", "not_run")


def test_the_budget_of_live_calls_holds_for_the_whole(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "Refund!" if "refund" in asked.system and asked.model == "m2" else "It is lost.")
    diff = ruled.diff(system(HELPFUL), setting(model="m2"))
    found = ruled.prove(diff, **live(calls=12))
    assert found["live_calls"] == 12
    assert found["confidence"] in {"low", "medium"}
    assert any("no live call is left" in probe["missing"] for probe in found["probes"])


def test_outputs_of_a_probe_that_strayed_are_stored() -> None:
    seen = ProbeResult(outcome="needs_live", strays=[Stray(step=2, text="65", base="20", candidate="60")])
    assert stored_probes.load_result(stored_probes.dump_result(seen)) == seen
