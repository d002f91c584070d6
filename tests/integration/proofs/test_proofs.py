"""Proving causes over REST: counterfactual replays of stored runs that ask a real model server where they have to."""

from itertools import cycle
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from cockpit.demo.agent import loading
from diffing.models import Evidence
from replay.models import Proof, ReplaySession
from tests.support import proofs
from tests.support.patience import wait_until
from tests.support.proofs import (
    HELPFUL,
    MODELS,
    Asked,
    Ruled,
    candidate_of,
    forked,
    live,
    post,
    setting,
    system,
    work_off,
)
from tests.support.replay_runs import SYSTEM, Asks, Says, order_desk
from traces.call_index import ignore_lists
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.runs.services import record
from traces.signatures.ignore_rules import IgnoreRule

pytestmark = pytest.mark.django_db(transaction=True)
LIMIT_S = 90
local_model, no_queue, ruled = proofs.local_model, proofs.no_queue, proofs.ruled


def test_the_mended_prompt_of_the_demo_is_proved_by_a_worker(
    client: Client, local_model: None, request: pytest.FixtureRequest
) -> None:
    """Price first; then one cause, high, with the steps through which it worked; the report says so everywhere."""
    request.getfixturevalue("worker")
    session = loading.put_in_store()

    def is_compared() -> bool:
        session.refresh_from_db()
        return session.diff_id is not None

    wait_until(is_compared, LIMIT_S)
    plan = post(client, f"/diffs/{session.diff_id}/prove/preview").json()
    assert (plan["sampled"], plan["repeats"], plan["refusals"], plan["missing"]) == (True, 20, [], [])
    assert plan["live_calls"] == 60
    started = post(client, f"/diffs/{session.diff_id}/prove", live(), **{"Idempotency-Key": "once"}).json()
    again = post(client, f"/diffs/{session.diff_id}/prove", live(), **{"Idempotency-Key": "once"}).json()
    assert again["id"] == started["id"]

    def look() -> Any:
        view = client.get(f"/api/v1/proofs/{started['id']}").json()
        return None if view["status"] in {"pending", "running"} else view

    proof = wait_until(look, LIMIT_S)
    found = proof["findings"]
    assert (found["verdict"], found["confidence"], found["scope"]) == ("single", "high", "over repeats")
    assert found["noise"]["p"] < 0.01
    assert [step["role"] for step in found["mediators"]] == ["entry", "commitment"]
    assert {step["evidence"] for step in found["mediators"]} == {"tested"}
    report = client.get(f"/api/v1/diffs/{session.diff_id}").json()
    assert report["attribution"]["confidence"] == "high"
    said = report["attribution"]["sentence"]
    assert said == report["summary"]
    assert said.startswith(report["observed"]["sentence"])
    assert "Replays show it both ways" in said
    assert report["observed"]["confidence"] == "medium"
    assert [one["id"] for one in report["evidence"]] == [proof["evidence"]]
    listed = client.get("/api/v1/diffs").json()["diffs"]
    assert (listed[0]["confidence"], listed[0]["sentence"]) == ("high", found["conclusion"])
    for form in ("md", "html"):
        text = client.get(f"/api/v1/diffs/{session.diff_id}", {"format": form}).content.decode()
        assert "Proved by replaying" in text
    token = post(client, f"/diffs/{session.diff_id}/shares").json()["url"].rpartition("/share/")[2]
    assert client.get(f"/api/v1/share/{token}").json()["evidence"] == report["evidence"]
    assert ReplaySession.objects.filter(proof_probes__isnull=False, compared_at=None).count() == 0


def test_one_change_among_idle_ones_is_the_cause_and_its_sentence_is_found(ruled: Ruled) -> None:
    """Asked anew for every probe, a change is proved by repeats of what decides."""
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    told = HELPFUL.replace("full sentences", "whole sentences")
    found = ruled.prove(ruled.diff(system(told), setting(temperature=0.7)), **live())
    assert (found["verdict"], found["confidence"]) == ("single", "high")
    assert "Repeated replays show" in found["rule"]
    repeated = [probe for probe in found["probes"] if probe["purpose"] == "repeat"]
    assert len(repeated) == 4  # both runs unchanged, one with only the cause, the other without it
    assert all(probe["repeats"] >= 4 for probe in repeated)
    atoms = {atom["title"]: (atom["sufficient"], atom["necessary"]) for atom in found["atoms"]}
    assert atoms["Setting temperature of model steps to 0.7"] == (False, False)
    assert atoms["Adding “Offer a refund.”"] == (True, True)
    assert atoms["Changing “full” to “whole” in the text"] == (False, False)
    assert found["live_calls"] == sum(probe["live_calls"] for probe in found["probes"])


def test_models_that_answer_in_place_of_the_recorded_are_named_first(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "Have a refund." if "refund" in asked.system else "It is lost.")
    diff = ruled.diff(system(HELPFUL))
    ruled.served.append("m1-mini")
    found = ruled.prove(diff, **live(parts=False))
    first = "m1-mini of desk in place of m1 of desk. "
    assert first in found["conclusion"].partition(" made the difference")[0]
    report = ruled.client.get(f"/api/v1/diffs/{diff}").json()
    assert first in report["summary"].partition(" made the difference")[0]


def test_stored_answers_of_other_models_are_named_again(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "Have a refund." if "refund" in asked.system else "It is lost.")
    diff = ruled.diff(system(HELPFUL), setting(temperature=0.7))
    ruled.served.append("m1-mini")
    ruled.prove(diff, budget={"live_calls": 8, "repeats": 0}, parts=False, mediators=False)
    again = ruled.prove(diff, budget={"live_calls": 0, "repeats": 0}, parts=False, mediators=False)
    assert again["live_calls"] == 0
    assert "m1-mini of desk in place of m1 of desk. " in again["conclusion"]


def test_two_changes_that_need_each_other_are_one_joint_cause(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "Refund!" if "refund" in asked.system and asked.model == "m2" else "It is lost.")
    diff = ruled.diff(system(HELPFUL), setting(model="m2"), {"match": MODELS, "model": {"temperature": 1.0}})
    found = ruled.prove(diff, **live(parts=False))
    assert (found["verdict"], found["confidence"]) == ("joint", "medium")
    assert [len(one) for one in found["primary"]] == [2]
    members = [atom for atom in found["atoms"] if atom["id"] in found["primary"][0]]
    assert {(atom["category"], atom["sufficient"], atom["necessary"]) for atom in members} == {
        ("prompt", False, True),
        ("model", False, True),
    }
    # The repeats are stored: the next question about the same runs draws none of them again.
    exact = ruled.prove(diff, question="answer_exact", **live(parts=False))
    assert exact["noise"]["status"] == "rejected"
    assert all(probe["live_calls"] == 0 for probe in exact["probes"] if probe["purpose"] == "repeat")
    assert Evidence.objects.count() == 2


def test_either_of_two_changes_is_enough(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "Refund!" if "refund" in asked.system or asked.model == "m2" else "It is lost.")
    found = ruled.prove(ruled.diff(system(HELPFUL), setting(model="m2")), **live(parts=False))
    assert (found["verdict"], found["confidence"]) == ("over_determined", "medium")
    assert sorted(len(one) for one in found["primary"]) == [1, 1]
    assert found["conclusion"].startswith("The difference has several causes")


def test_a_fork_of_a_fork_is_held_against_the_run_that_both_derive_from(ruled: Ruled) -> None:
    """What either generation changed is a change of its own, and both sides are replays of one run."""
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    first = candidate_of(ruled.client, ruled.diff(system(HELPFUL)))
    second = candidate_of(ruled.client, forked(ruled.client, ruled.queued, first, 3, setting(temperature=0.7)))
    diff = post(ruled.client, "/diffs", {"base": str(ruled.run), "candidate": str(second)}).json()["id"]
    work_off(ruled.queued)
    assert ruled.client.get(f"/api/v1/diffs/{diff}").json()["attribution"]["confidence"] is not None
    found = ruled.prove(diff, budget={"live_calls": 8, "repeats": 0}, parts=False, mediators=False)
    assert (found["verdict"], found["confidence"]) == ("single", "low")  # chance was not asked about
    enough = {atom["title"]: atom["sufficient"] for atom in found["atoms"]}
    assert len(enough) == 2
    assert enough.pop("Setting temperature of model steps to 0.7") is False
    assert [*enough.values()] == [True]
    assert not any("recorded separately" in each for each in found["assumptions"])
    assert all(atom["base"] and atom["candidate"] for atom in found["atoms"])


def test_the_tools_that_a_model_is_offered_are_a_cause(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "I mailed you." if "send_email" in asked.tools else "I cannot mail.")
    kept = [{"name": "get_order"}, {"name": "search_policy"}]
    found = ruled.prove(ruled.diff(setting(tools=kept, parameters={"tool_choice": "auto"})), **live(parts=False))
    assert (found["verdict"], found["confidence"]) == ("single", "high")
    [[name]] = found["primary"]
    titles = {atom["id"]: atom["title"] for atom in found["atoms"]}
    assert titles[name] == "Offering the tools get_order, search_policy"
    assert any(atom["title"] == "Setting tool_choice of model steps to “auto”" for atom in found["atoms"])


def test_a_parameter_that_the_provider_has_no_place_for_is_not_proved_by_its_answers(ruled: Ruled) -> None:
    """They would be the same with it and without it, which says nothing."""
    answers = cycle(["Yes.", "No."])
    ruled.rule.append(lambda asked: next(answers))
    diff = ruled.diff(setting(parameters={"wisdom": "high"}))
    found = ruled.prove(diff, **live())
    assert (found["confidence"], found["noise"]["status"]) == ("low", "not_run")
    assert "desk does not accept wisdom" in found["noise"]["reason"]


def looked_up(name: str, order: str, state: str) -> UUID:
    """Code looks an order up, and tells the model what it found."""
    told = f"The order desk found this about it: {state}."
    messages: list[JSONValue] = [SYSTEM, {"role": "user", "content": told}]
    answer: JSONObject = {"message": {"role": "assistant", "content": f"It is {state}."}, "finish_reason": "stop"}
    steps = (
        RecordedStep(key="agent", type=StepType.AGENT, name="desk", input={"task": "help"}),
        RecordedStep(
            key="look",
            type=StepType.TOOL,
            name="look_up",
            tool_name="look_up",
            parent="agent",
            input={"order": order},
            output=told,
        ),
        RecordedStep(
            key="ask",
            type=StepType.MODEL,
            name="desk",
            parent="agent",
            provider="desk",
            model="m1",
            input={"messages": messages},
            output=answer,
        ),
        RecordedStep(
            key="said", type=StepType.OUTPUT, name="answer", parent="agent", output={"text": f"It is {state}."}
        ),
    )
    run = RecordedRun(external_id=name, name="desk", app="desk", format="test", steps=steps)
    return UUID(str(record(run).run_id))


def test_a_tool_that_code_called_with_other_arguments_is_a_cause(ruled: Ruled) -> None:
    """Only the other run recorded what it answers then, with whatever else was different there: that proves one way."""
    ruled.rule.append(lambda asked: "It is " + asked.user.rpartition(": ")[2])
    base = looked_up("one", "A-1", "lost by northern parcels")
    other = looked_up("two", "A-2", "delivered on monday morning")
    diff = post(ruled.client, "/diffs", {"base": str(base), "candidate": str(other)}).json()["id"]
    work_off(ruled.queued)
    found = ruled.prove(diff, parts=False, mediators=False)
    [atom] = found["atoms"]
    assert (atom["sufficient"], atom["necessary"], atom["category"]) == (None, True, "tool")
    # Nobody was asked whether it was chance.
    assert (found["verdict"], found["confidence"], found["live_calls"]) == ("single", "low", 0)
    assert any("only one run made would get the same answer" in each for each in found["assumptions"])


FAULTS = {("all", "m1"): 45, ("heavy", "m1"): 17, ("all", "m2"): 30, ("heavy", "m2"): 12}


def counted(name: str, weight: str, served: str) -> UUID:
    """A counter whose figure code puts into the judge's request."""
    faults = FAULTS[weight, served]
    verdict = "Alarm." if faults > 20 else "Fine."
    asked = {
        "counter": (f"Count {weight} faults.", "Report of Bern", f"Bern had {faults} of them.", served),
        "judge": ("Judge.", f"Is it bad?\nBern: {faults}", verdict, "m1"),
    }
    steps = [
        RecordedStep(
            key=step,
            type=StepType.MODEL,
            name=step,
            parent="agent",
            provider="desk",
            model=model,
            input={"messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]},
            output={"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"},
        )
        for step, (system, user, answer, model) in asked.items()
    ]
    agent = RecordedStep(key="agent", type=StepType.AGENT, name="desk", input={"task": "help"})
    last = RecordedStep(key="said", type=StepType.OUTPUT, name="answer", parent="agent", output={"text": verdict})
    run = RecordedRun(external_id=name, name="desk", app="desk", format="test", steps=(agent, *steps, last))
    return UUID(str(record(run).run_id))


def test_value_that_code_copies_follows_a_new_answer(ruled: Ruled) -> None:
    """Neither run counted 30: what the judge is asked then is known from how both copied their figures."""
    asked_of_judge: list[str] = []

    def respond(asked: Asked) -> str:
        if asked.system.startswith("Count"):
            return f"Bern had {FAULTS[asked.system.split()[1], asked.model]} of them."
        asked_of_judge.append(asked.user)
        return "Alarm." if int(asked.user.rpartition(" ")[2]) > 20 else "Fine."

    ruled.rule.append(respond)
    base, other = counted("one", "all", "m1"), counted("two", "heavy", "m2")
    diff = post(ruled.client, "/diffs", {"base": str(base), "candidate": str(other)}).json()["id"]
    work_off(ruled.queued)
    found = ruled.prove(diff, **live(parts=False, mediators=False))
    assert "Is it bad?\nBern: 30" in asked_of_judge
    assert (found["verdict"], found["confidence"]) == ("single", "medium")
    [[name]] = found["primary"]
    assert next(atom for atom in found["atoms"] if atom["id"] == name)["category"] == "prompt"


def test_separate_recordings_are_proved_by_making_one_the_other(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "It is lost." if asked.model == "m1" else "It is on its way.")
    said = (("What about order A-1?", (Says("It is on its way."),)),)
    other = record(order_desk(said, external_id="desk-2", model="m2", parameters={"temperature": 0.5})).run_id
    diff = post(ruled.client, "/diffs", {"base": str(ruled.run), "candidate": str(other)}).json()["id"]
    found = ruled.prove(diff, **live())
    assert (found["verdict"], found["confidence"]) == ("single", "high")
    named = next(atom for atom in found["atoms"] if atom["id"] == found["primary"][0][0])
    assert named["title"] == "Switching the model from m1 to m2"
    assert len(found["atoms"]) == 2


def request_ids(name: str, at: str, model: str, answer: str) -> UUID:
    """Somebody asks about an order; the call of the tool has an id of its own in every run."""
    asks = Asks("get_order", {"order_id": "A-1", "request_id": at}, {"status": answer})
    run = order_desk([("Where is it?", (asks, Says(f"It is {answer}.")))], external_id=name, model=model)
    return UUID(str(record(run).run_id))


def test_what_the_app_leaves_out_of_its_signatures_makes_no_call_another_one(
    client: Client, no_queue: list[tuple[str, str]]
) -> None:
    """The other recording's call differs only in an id that the accepted list leaves out: it answers the probe."""
    base = request_ids("a", "0b6e1c1e-5d3f-4e0a-9a51-7b0f7a1d2c3e", "m1", "lost")
    other = request_ids("b", "1b6e1c1e-5d3f-4e0a-9a51-7b0f7a1d2c3e", "m2", "sent")
    diff = post(client, "/diffs", {"base": str(base), "candidate": str(other)}).json()["id"]
    asked = {"question": "tool_calls"}
    before = post(client, f"/diffs/{diff}/prove/preview", asked).json()
    pointers = {"tool": "/request_id", "model": "/messages/*/tool_calls/*/arguments/request_id"}
    rules = [IgnoreRule.model_validate({"type": type, "pointer": pointer}) for type, pointer in pointers.items()]
    ignore_lists.sign(ignore_lists.set_rules(app="desk", rules=rules, by="somebody"))
    after = post(client, f"/diffs/{diff}/prove/preview", asked).json()
    assert (before["differs"], after["differs"]) == (True, False)


def test_a_question_without_its_checks_is_refused(client: Client, no_queue: list[tuple[str, str]]) -> None:
    one, other = record(order_desk()).run_id, record(order_desk(external_id="desk-2", model="m2")).run_id
    diff = post(client, "/diffs", {"base": str(one), "candidate": str(other)}).json()["id"]
    refused = post(client, f"/diffs/{diff}/prove", {"question": "check"})
    assert (refused.status_code, refused.json()["where"]) == (422, "/checks")
    assert post(client, f"/diffs/{diff}/prove/preview", {"question": "check"}).json()["refusals"]
    plan = post(client, f"/diffs/{diff}/prove/preview").json()
    assert (plan["differs"], plan["warnings"][0][:9]) == (False, "Both runs")
    assert not Proof.objects.exists()
