"""Proofs over REST: counterfactual replays of stored runs, with live calls to a real model server."""

from dataclasses import replace
from itertools import cycle
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from diffing.models import Evidence
from replay.models import Proof, ReplaySession
from tests.support import proofs
from tests.support.demo import load_demo
from tests.support.patience import wait_until
from tests.support.proofs import (
    HELPFUL,
    MODELS,
    ModelCall,
    RuleDesk,
    candidate_of,
    fork_and_diff,
    live,
    post,
    setting,
    system,
    work_off,
)
from tests.support.replay_runs import SYSTEM, Reply, ToolCall, order_desk
from traces.call_index import ignore_lists
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.runs.services import record
from traces.signatures.ignore_rules import IgnoreRule

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
LIMIT_S = 90
local_model, no_queue, rule_desk = proofs.local_model, proofs.no_queue, proofs.rule_desk


def test_worker_proves_the_demo_prompt_fix(client: Client, local_model: None, request: pytest.FixtureRequest) -> None:
    """Estimate, then one cause with high confidence and its mediators; every form of the report states it."""
    request.getfixturevalue("worker")
    session = load_demo()
    assert session is not None

    def is_compared() -> bool:
        session.refresh_from_db()
        return session.diff_id is not None

    wait_until(is_compared, LIMIT_S)
    plan = post(client, f"/diffs/{session.diff_id}/prove/preview").json()
    assert (plan["sampled"], plan["repeats"], plan["refusals"], plan["missing"]) == (True, 20, [], [])
    assert plan["live_calls"] == 60
    proof_view = post(client, f"/diffs/{session.diff_id}/prove", live(), **{"Idempotency-Key": "once"}).json()
    repeated_view = post(client, f"/diffs/{session.diff_id}/prove", live(), **{"Idempotency-Key": "once"}).json()
    assert repeated_view["id"] == proof_view["id"]

    def look() -> Any:
        view = client.get(f"/api/v1/proofs/{proof_view['id']}").json()
        return None if view["status"] in {"pending", "running"} else view

    proof = wait_until(look, LIMIT_S)
    findings = proof["findings"]
    assert (findings["verdict"], findings["confidence"], findings["scope"]) == ("single", "high", "over repeats")
    assert findings["noise"]["p"] < 0.01
    assert [step["role"] for step in findings["mediators"]] == ["entry", "commitment"]
    assert {step["evidence"] for step in findings["mediators"]} == {"tested"}
    report = client.get(f"/api/v1/diffs/{session.diff_id}").json()
    assert report["attribution"]["confidence"] == "high"
    sentence = report["attribution"]["sentence"]
    assert sentence == report["summary"]
    assert sentence.startswith(report["observed"]["sentence"])
    assert "Replays show it both ways" in sentence
    assert report["observed"]["confidence"] == "medium"
    assert [evidence["id"] for evidence in report["evidence"]] == [proof["evidence"]]
    diffs = client.get("/api/v1/diffs").json()["diffs"]
    assert (diffs[0]["confidence"], diffs[0]["sentence"]) == ("high", findings["conclusion"])
    effect = report["attribution"]["headline"]["effect"]
    assert diffs[0]["headline"]["effect"] == effect
    entries = client.get("/api/v1/activity", {"kind": "proof,diff"}).json()["activities"]
    assert {entry["finding"] for entry in entries} == {effect}
    for form in ("md", "html"):
        text = client.get(f"/api/v1/diffs/{session.diff_id}", {"format": form}).content.decode()
        assert "Proved by replaying" in text
    token = post(client, f"/diffs/{session.diff_id}/shares").json()["url"].rpartition("/share/")[2]
    assert client.get(f"/api/v1/share/{token}").json()["evidence"] == report["evidence"]
    assert ReplaySession.objects.filter(proof_probes__isnull=False, compared_at=None).count() == 0


def test_decisive_sentence_is_found_among_idle_changes(rule_desk: RuleDesk) -> None:
    """Every probe needs a new answer, so the change is proved by repeats of the decisive probes."""
    rule_desk.rule.append(lambda call: "Have a refund." if "Offer a refund." in call.system else "It is lost.")
    prompt = HELPFUL.replace("full sentences", "whole sentences")
    findings = rule_desk.prove(rule_desk.diff(system(prompt), setting(temperature=0.7)), **live())
    assert (findings["verdict"], findings["confidence"]) == ("single", "high")
    assert "Repeated replays show" in findings["rule"]
    repeats = [probe for probe in findings["probes"] if probe["purpose"] == "repeat"]
    assert len(repeats) == 4  # both runs unchanged, one with only the cause, the other without it
    assert all(probe["repeats"] >= 4 for probe in repeats)
    atoms = {atom["title"]: (atom["sufficient"], atom["necessary"]) for atom in findings["atoms"]}
    assert atoms["Setting temperature of model steps to 0.7"] == (False, False)
    assert atoms["Adding “Offer a refund.”"] == (True, True)
    assert atoms["Changing “full” to “whole” in the text"] == (False, False)
    assert findings["live_calls"] == sum(probe["live_calls"] for probe in findings["probes"])


def test_substitute_models_are_named_first(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "Have a refund." if "refund" in call.system else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL))
    rule_desk.substitutes.append("m1-mini")
    findings = rule_desk.prove(diff, **live(parts=False))
    first = "m1-mini of desk in place of m1 of desk. "
    assert first in findings["conclusion"].partition(" made the difference")[0]
    report = rule_desk.client.get(f"/api/v1/diffs/{diff}").json()
    assert first in report["summary"].partition(" made the difference")[0]


def test_substitutes_of_stored_answers_are_named(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "Have a refund." if "refund" in call.system else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL), setting(temperature=0.7))
    rule_desk.substitutes.append("m1-mini")
    rule_desk.prove(diff, budget={"live_calls": 8, "repeats": 0}, parts=False, mediators=False)
    findings = rule_desk.prove(diff, budget={"live_calls": 0, "repeats": 0}, parts=False, mediators=False)
    assert findings["live_calls"] == 0
    assert "m1-mini of desk in place of m1 of desk. " in findings["conclusion"]


def test_mutually_needed_changes_are_joint(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "Refund!" if "refund" in call.system and call.model == "m2" else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL), setting(model="m2"), {"match": MODELS, "model": {"temperature": 1.0}})
    findings = rule_desk.prove(diff, **live(parts=False))
    assert (findings["verdict"], findings["confidence"]) == ("joint", "medium")
    assert [len(causes) for causes in findings["primary"]] == [2]
    members = [atom for atom in findings["atoms"] if atom["id"] in findings["primary"][0]]
    assert {(atom["category"], atom["sufficient"], atom["necessary"]) for atom in members} == {
        ("prompt", False, True),
        ("model", False, True),
    }
    # The repeats are stored: the next question about the same runs draws none of them again.
    exact = rule_desk.prove(diff, question="answer_exact", **live(parts=False))
    assert exact["noise"]["status"] == "rejected"
    assert all(probe["live_calls"] == 0 for probe in exact["probes"] if probe["purpose"] == "repeat")
    assert Evidence.objects.count() == 2


def test_either_change_is_sufficient(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "Refund!" if "refund" in call.system or call.model == "m2" else "It is lost.")
    findings = rule_desk.prove(rule_desk.diff(system(HELPFUL), setting(model="m2")), **live(parts=False))
    assert (findings["verdict"], findings["confidence"]) == ("over_determined", "medium")
    assert sorted(len(causes) for causes in findings["primary"]) == [1, 1]
    assert findings["conclusion"].startswith("The difference has several causes")


def test_fork_of_fork_is_compared_with_common_ancestor(rule_desk: RuleDesk) -> None:
    """Each generation's change is separate, and both sides are replays of one run."""
    rule_desk.rule.append(lambda call: "Have a refund." if "Offer a refund." in call.system else "It is lost.")
    first = candidate_of(rule_desk.client, rule_desk.diff(system(HELPFUL)))
    second = candidate_of(
        rule_desk.client, fork_and_diff(rule_desk.client, rule_desk.queue, first, 3, setting(temperature=0.7))
    )
    diff = post(rule_desk.client, "/diffs", {"base": str(rule_desk.run), "candidate": str(second)}).json()["id"]
    work_off(rule_desk.queue)
    assert rule_desk.client.get(f"/api/v1/diffs/{diff}").json()["attribution"]["confidence"] is not None
    findings = rule_desk.prove(diff, budget={"live_calls": 8, "repeats": 0}, parts=False, mediators=False)
    assert (findings["verdict"], findings["confidence"]) == ("single", "low")  # chance was not asked about
    enough = {atom["title"]: atom["sufficient"] for atom in findings["atoms"]}
    assert len(enough) == 2
    assert enough.pop("Setting temperature of model steps to 0.7") is False
    assert [*enough.values()] == [True]
    assert not any("recorded separately" in assumption for assumption in findings["assumptions"])
    assert all(atom["base"] and atom["candidate"] for atom in findings["atoms"])


def test_offered_tools_can_be_the_cause(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "I mailed you." if "send_email" in call.tools else "I cannot mail.")
    tools = [{"name": "get_order"}, {"name": "search_policy"}]
    findings = rule_desk.prove(
        rule_desk.diff(setting(tools=tools, parameters={"tool_choice": "auto"})), **live(parts=False)
    )
    assert (findings["verdict"], findings["confidence"]) == ("single", "high")
    [[name]] = findings["primary"]
    titles = {atom["id"]: atom["title"] for atom in findings["atoms"]}
    assert titles[name] == "Offering the tools get_order, search_policy"
    assert any(atom["title"] == "Setting tool_choice of model steps to “auto”" for atom in findings["atoms"])


def test_parameter_the_provider_ignores_is_unproved(rule_desk: RuleDesk) -> None:
    """Answers with it and without it would be the same, which shows nothing."""
    answers = cycle(["Yes.", "No."])
    rule_desk.rule.append(lambda call: next(answers))
    diff = rule_desk.diff(setting(parameters={"wisdom": "high"}))
    findings = rule_desk.prove(diff, **live())
    assert (findings["confidence"], findings["noise"]["status"]) == ("low", "not_run")
    assert "desk does not accept wisdom" in findings["noise"]["reason"]


def record_lookup(name: str, order: str, state: str) -> UUID:
    """The agent's code looks up an order and passes the result to the model."""
    message = f"The order desk found this about it: {state}."
    messages: list[JSONValue] = [SYSTEM, {"role": "user", "content": message}]
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
            output=message,
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


def test_changed_tool_arguments_can_be_the_cause(rule_desk: RuleDesk) -> None:
    """Only the other run recorded the tool's answer, in its own environment, so it proves one direction."""
    rule_desk.rule.append(lambda call: "It is " + call.user.rpartition(": ")[2])
    base = record_lookup("one", "A-1", "lost by northern parcels")
    candidate = record_lookup("two", "A-2", "delivered on monday morning")
    diff = post(rule_desk.client, "/diffs", {"base": str(base), "candidate": str(candidate)}).json()["id"]
    work_off(rule_desk.queue)
    findings = rule_desk.prove(diff, parts=False, mediators=False)
    [atom] = findings["atoms"]
    assert (atom["sufficient"], atom["necessary"], atom["category"]) == (None, True, "tool")
    # Chance was not tested: no repeat was drawn.
    assert (findings["verdict"], findings["confidence"], findings["live_calls"]) == ("single", "low", 0)
    assert any("only one run made would get the same answer" in assumption for assumption in findings["assumptions"])


FAULTS = {("all", "m1"): 45, ("heavy", "m1"): 17, ("all", "m2"): 30, ("heavy", "m2"): 12}


def record_counter(name: str, weight: str, model_name: str) -> UUID:
    """A counter whose number the agent's code puts into the judge's request."""
    faults = FAULTS[weight, model_name]
    verdict = "Alarm." if faults > 20 else "Fine."
    fields = {
        "counter": (f"Count {weight} faults.", "Report of Bern", f"Bern had {faults} of them.", model_name),
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
        for step, (system, user, answer, model) in fields.items()
    ]
    agent = RecordedStep(key="agent", type=StepType.AGENT, name="desk", input={"task": "help"})
    last = RecordedStep(key="said", type=StepType.OUTPUT, name="answer", parent="agent", output={"text": verdict})
    run = RecordedRun(external_id=name, name="desk", app="desk", format="test", steps=(agent, *steps, last))
    return UUID(str(record(run).run_id))


def test_copied_value_follows_a_new_answer(rule_desk: RuleDesk) -> None:
    """Neither run counted 30; how both copied their numbers determines the judge's input."""
    asked_of_judge: list[str] = []

    def respond(call: ModelCall) -> str:
        if call.system.startswith("Count"):
            return f"Bern had {FAULTS[call.system.split()[1], call.model]} of them."
        asked_of_judge.append(call.user)
        return "Alarm." if int(call.user.rpartition(" ")[2]) > 20 else "Fine."

    rule_desk.rule.append(respond)
    base, candidate = record_counter("one", "all", "m1"), record_counter("two", "heavy", "m2")
    diff = post(rule_desk.client, "/diffs", {"base": str(base), "candidate": str(candidate)}).json()["id"]
    work_off(rule_desk.queue)
    findings = rule_desk.prove(diff, **live(parts=False, mediators=False))
    assert "Is it bad?\nBern: 30" in asked_of_judge
    assert (findings["verdict"], findings["confidence"]) == ("single", "medium")
    [[name]] = findings["primary"]
    assert next(atom for atom in findings["atoms"] if atom["id"] == name)["category"] == "prompt"


OPENINGS = ("Sure.", "Well then.", "Of course.", "Let me see.", "Right away.", "Here you are.", "Yes.")
DESKS = {"billing": "Desk 4 owns invoices.", "technical": "Desk 9 owns devices."}


def ticket_queue(system: str) -> str:
    return "technical" if "Screens" in system else "billing"


def record_router(name: str, rule: str, opening: str) -> UUID:
    """A router whose answer selects the desk in the agent's code, of one version; only the code reads it."""
    system = f"Sort the ticket.{rule}"
    desk = DESKS[ticket_queue(system)]
    fields = {
        "router": (system, "My screen is broken.", f"{opening} It is for {ticket_queue(system)}."),
        "writer": ("Answer the customer.", desk, f"Go to it: {desk}"),
    }
    steps = [
        RecordedStep(
            key=step,
            type=StepType.MODEL,
            name=step,
            parent="agent",
            provider="desk",
            model="m1",
            input={"messages": [{"role": "system", "content": prompt}, {"role": "user", "content": user}]},
            output={"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"},
        )
        for step, (prompt, user, answer) in fields.items()
    ]
    agent = RecordedStep(key="agent", type=StepType.AGENT, name="desk", input={"task": "help"})
    output = RecordedStep(
        key="output", type=StepType.OUTPUT, name="answer", parent="agent", output={"text": f"Go to it: {desk}"}
    )
    run = RecordedRun(external_id=name, name="desk", app="desk", format="test", steps=(agent, *steps, output))
    return UUID(str(record(replace(run, metadata={"code": {"logic": "one"}})).run_id))


def test_wording_of_a_router_is_learned_from_repeats(rule_desk: RuleDesk) -> None:
    """No answer of the router equals a recorded one, but repeats show which words are wording."""
    openings = cycle(OPENINGS)

    def respond(call: ModelCall) -> str:
        if call.system.startswith("Sort"):
            return f"{next(openings)} It is for {ticket_queue(call.system)}."
        return f"Go to it: {call.user}"

    rule_desk.rule.append(respond)
    base, candidate = record_router("one", "", "Hm."), record_router("two", " Screens are devices.", "Oh.")
    diff = post(rule_desk.client, "/diffs", {"base": str(base), "candidate": str(candidate)}).json()["id"]
    work_off(rule_desk.queue)
    findings = rule_desk.prove(diff, **live(parts=False, mediators=False))
    assert (findings["verdict"], findings["confidence"]) == ("single", "medium")
    [[name]] = findings["primary"]
    assert next(atom for atom in findings["atoms"] if atom["id"] == name)["category"] == "prompt"
    assert findings["noise"]["base_n"] >= 4


def test_separate_recordings_are_proved(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "It is lost." if call.model == "m1" else "It is on its way.")
    conversation = (("What about order A-1?", (Reply("It is on its way."),)),)
    candidate = record(
        order_desk(conversation, external_id="desk-2", model="m2", parameters={"temperature": 0.5})
    ).run_id
    diff = post(rule_desk.client, "/diffs", {"base": str(rule_desk.run), "candidate": str(candidate)}).json()["id"]
    findings = rule_desk.prove(diff, **live())
    assert (findings["verdict"], findings["confidence"]) == ("single", "high")
    cause = next(atom for atom in findings["atoms"] if atom["id"] == findings["primary"][0][0])
    assert cause["title"] == "Switching the model from m1 to m2"
    assert len(findings["atoms"]) == 2


def request_ids(name: str, at: str, model: str, answer: str) -> UUID:
    """A question about an order; the tool call has a different request id in every run."""
    asks = ToolCall("get_order", {"order_id": "A-1", "request_id": at}, {"status": answer})
    run = order_desk([("Where is it?", (asks, Reply(f"It is {answer}.")))], external_id=name, model=model)
    return UUID(str(record(run).run_id))


def test_ignored_fields_do_not_change_calls(client: Client, no_queue: list[tuple[str, str]]) -> None:
    """The other recording's call differs only in an ignored id, so it answers the probe."""
    base = request_ids("a", "0b6e1c1e-5d3f-4e0a-9a51-7b0f7a1d2c3e", "m1", "lost")
    candidate = request_ids("b", "1b6e1c1e-5d3f-4e0a-9a51-7b0f7a1d2c3e", "m2", "sent")
    diff = post(client, "/diffs", {"base": str(base), "candidate": str(candidate)}).json()["id"]
    body = {"question": "tool_calls"}
    before = post(client, f"/diffs/{diff}/prove/preview", body).json()
    pointers = {"tool": "/request_id", "model": "/messages/*/tool_calls/*/arguments/request_id"}
    rules = [IgnoreRule.model_validate({"type": type, "pointer": pointer}) for type, pointer in pointers.items()]
    ignore_lists.sign(ignore_lists.set_rules(app="desk", rules=rules, by="somebody"))
    after = post(client, f"/diffs/{diff}/prove/preview", body).json()
    assert (before["differs"], after["differs"]) == (True, False)


def test_question_without_checks_is_refused(client: Client, no_queue: list[tuple[str, str]]) -> None:
    base, candidate = record(order_desk()).run_id, record(order_desk(external_id="desk-2", model="m2")).run_id
    diff = post(client, "/diffs", {"base": str(base), "candidate": str(candidate)}).json()["id"]
    response = post(client, f"/diffs/{diff}/prove", {"question": "check"})
    assert (response.status_code, response.json()["where"]) == (422, "/checks")
    assert post(client, f"/diffs/{diff}/prove/preview", {"question": "check"}).json()["refusals"]
    plan = post(client, f"/diffs/{diff}/prove/preview").json()
    assert (plan["differs"], plan["warnings"][0][:9]) == (False, "Both runs")
    assert not Proof.objects.exists()
