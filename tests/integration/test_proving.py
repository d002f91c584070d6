"""Proving causes over REST: counterfactual replays of stored runs that ask a real model server where they have to."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import Settings

from cockpit.demo import loading, model_server, provider
from cockpit.demo.scenarios import REFUND
from diffing.models import Evidence
from replay import providers, runner, tasks
from replay.models import Proof, ProofProbe, ReplaySession
from replay.proving import running, services
from replay.proving.probing import Laboratory
from tests.provider_server import Exchange, openai_chunk, provider_server
from tests.replay_runs import SYSTEM, Asks, Says, order_desk
from traces import ignore_lists
from traces import queries as recorded
from traces.ignoring import IgnoreRule
from traces.json_types import JSONObject, JSONValue
from traces.models import Run
from traces.recording import RecordedRun, RecordedStep
from traces.services import record
from traces.vocabulary import StepType

pytestmark = pytest.mark.django_db(transaction=True)
LIMIT_S = 90
MODELS: dict[str, Any] = {"type": "model"}
UNITS = "Order totals are in cents, refunds are in euros: convert before you refund."


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    return client.post(f"/api/v1{path}", body or {}, content_type="application/json", headers=headers)


@pytest.fixture
def local_model(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[None]:
    """The demo's model, known to every process: to a worker that starts later, too."""
    configured = {"local": {"protocol": "openai", "base_url": model_server.start()}}
    settings.PROVIDERS = configured
    monkeypatch.setenv("FORKPOINT_PROVIDERS", json.dumps(configured))
    yield
    providers.close()
    provider.stop()


@pytest.fixture
def no_queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What would be queued; the test works it off itself."""
    queued: list[tuple[str, str]] = []

    def put(name: str) -> Callable[[str], None]:
        return lambda key: queued.append((name, key))

    for task in (tasks.execute, tasks.prove, tasks.compare):
        monkeypatch.setattr(task, "delay", put(task.name))
    return queued


def work_off(queued: list[tuple[str, str]]) -> None:
    """What a worker does, one task after the other."""
    named = {task.name: task for task in (tasks.execute, tasks.prove, tasks.compare)}
    while queued:
        name, key = queued.pop(0)
        named[name](key)


def desk_run() -> tuple[Run, int, str]:
    """The refund that goes wrong, its first model step, and its system prompt."""
    loading.put_in_store()
    run = Run.objects.get(app="order-desk", external_id=loading._recording(REFUND).external_id)
    steps = recorded.steps(run.id)
    first = next(step for step in steps if step.type == StepType.MODEL)
    prompt = next(step for step in steps if step.type == StepType.PROMPT)
    from traces import store

    said = store.payload(prompt.output_ref)
    return run, first.sequence_no, str(said["text"] if isinstance(said, dict) else said)


def forked(client: Client, queued: list[tuple[str, str]], run: UUID, fork: int, *entries: Any) -> str:
    """The diff of a fork with these overrides."""
    body = {"run": str(run), "fork_step": fork, "overrides": {"overrides": list(entries)}}
    session = post(client, "/replays", body).json()
    work_off(queued)
    found = client.get(f"/api/v1/replays/{session['id']}").json()
    assert found["status"].startswith("completed"), found["error"]
    return str(found["diff"])


def prove(client: Client, queued: list[tuple[str, str]], diff: str, **request: Any) -> dict[str, Any]:
    started = post(client, f"/diffs/{diff}/prove", request)
    assert started.status_code == 201, started.json()
    work_off(queued)
    found: dict[str, Any] = client.get(f"/api/v1/proofs/{started.json()['id']}").json()
    assert found["status"] == "completed", found["error"]
    return dict(found["findings"])


def live(calls: int = 400, **more: Any) -> dict[str, Any]:
    return {"budget": {"live_calls": calls}, **more}


def test_the_mended_prompt_of_the_demo_is_proved_by_a_worker(
    client: Client, local_model: None, request: pytest.FixtureRequest
) -> None:
    """Price first; then one cause, high, with the steps through which it worked; the report says so everywhere."""
    request.getfixturevalue("worker")
    session = loading.put_in_store()
    until = time.monotonic() + LIMIT_S
    while session.diff_id is None and time.monotonic() < until:
        time.sleep(0.05)
        session.refresh_from_db()
    plan = post(client, f"/diffs/{session.diff_id}/prove/preview").json()
    assert (plan["sampled"], plan["repeats"], plan["refusals"], plan["missing"]) == (True, 20, [], [])
    assert plan["live_calls"] == 60
    started = post(client, f"/diffs/{session.diff_id}/prove", live(), **{"Idempotency-Key": "once"}).json()
    again = post(client, f"/diffs/{session.diff_id}/prove", live(), **{"Idempotency-Key": "once"}).json()
    assert again["id"] == started["id"]
    while (proof := client.get(f"/api/v1/proofs/{started['id']}").json())["status"] in {"pending", "running"}:
        assert time.monotonic() < until, proof["progress"]
        time.sleep(0.05)
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


@dataclass(frozen=True)
class Asked:
    system: str
    model: str
    temperature: float
    user: str = ""
    tools: frozenset[str] = frozenset()


@dataclass
class Ruled:
    """A model that answers by a rule from what it is asked, and a run in which it gave one answer."""

    client: Client
    queued: list[tuple[str, str]]
    run: UUID
    rule: list[Callable[[Asked], str]]

    def diff(self, *entries: Any) -> str:
        return forked(self.client, self.queued, self.run, 3, *entries)

    def prove(self, diff: str, **request: Any) -> dict[str, Any]:
        return prove(self.client, self.queued, diff, **request)


@pytest.fixture
def ruled(client: Client, no_queue: list[tuple[str, str]], settings: Settings) -> Iterator[Ruled]:
    rule: list[Callable[[Asked], str]] = []

    def respond(exchange: Exchange) -> None:
        body = exchange.body
        system = next(str(each["content"]) for each in body["messages"] if each["role"] == "system")
        asked = Asked(
            system=system, model=body["model"], temperature=body.get("temperature", 0.0),
            user=next(str(each["content"]) for each in reversed(body["messages"]) if each["role"] == "user"),
            tools=frozenset(tool["function"]["name"] for tool in body.get("tools", ())),
        )  # fmt: skip
        text = rule[0](asked)
        exchange.stream()
        exchange.send(openai_chunk({"role": "assistant", "content": text}))
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        exchange.send(openai_chunk(finish="stop", usage=usage))
        exchange.send("[DONE]")

    said = (("What about order A-1?", (Says("It is lost."),)),)
    with provider_server(respond) as server:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{server.base_url}/v1"}}
        yield Ruled(client, no_queue, UUID(str(record(order_desk(said)).run_id)), rule)
        providers.close()


def system(text: str) -> dict[str, Any]:
    return {"match": MODELS, "prompt": {"system": text}}


def setting(**fields: Any) -> dict[str, Any]:
    return {"match": MODELS, "model": fields}


HELPFUL = "You are the order desk. Answer in full sentences. Offer a refund."


def test_one_change_among_idle_ones_is_the_cause_and_its_sentence_is_found(ruled: Ruled) -> None:
    """Asked anew for every probe, a change is proved by repeats of what decides."""
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    told = HELPFUL.replace("full sentences", "whole sentences")
    found = ruled.prove(ruled.diff(system(told), setting(temperature=0.7)), **live())
    assert (found["verdict"], found["confidence"]) == ("single", "high")
    assert "over repeats" in found["rule"]
    atoms = {atom["title"]: (atom["sufficient"], atom["necessary"]) for atom in found["atoms"]}
    assert atoms["Setting temperature of model steps to 0.7"] == (False, False)
    assert atoms["Adding “Offer a refund.”"] == (True, True)
    assert atoms["Changing “full” to “whole” in the text"] == (False, False)
    assert found["live_calls"] == sum(probe["live_calls"] for probe in found["probes"])


def test_two_changes_that_need_each_other_are_one_joint_cause(ruled: Ruled) -> None:
    ruled.rule.append(lambda asked: "Refund!" if "refund" in asked.system and asked.model == "m2" else "It is lost.")
    diff = ruled.diff(system(HELPFUL), setting(model="m2"), {"match": MODELS, "model": {"temperature": 1.0}})
    found = ruled.prove(diff, **live(parts=False))
    assert (found["verdict"], found["confidence"]) == ("joint", "medium")
    assert [len(one) for one in found["primary"]] == [2]
    members = [atom for atom in found["atoms"] if atom["id"] in found["primary"][0]]
    assert {(atom["category"], atom["sufficient"], atom["necessary"]) for atom in members} == {
        ("prompt", False, True), ("model", False, True),
    }  # fmt: skip
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
    assert found["conclusion"].startswith("The difference has more causes than it needs")


def candidate_of(client: Client, diff: str) -> UUID:
    return UUID(client.get(f"/api/v1/diffs/{diff}").json()["candidate"]["id"])


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
    assert not any("separate recordings" in each for each in found["assumptions"])
    assert all(atom["base"] and atom["candidate"] for atom in found["atoms"])


def test_what_an_earlier_fork_has_drawn_is_still_a_draw(ruled: Ruled) -> None:
    """The second fork keeps the answer that the first one asked for, and chance has a say in it as before."""
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    first = candidate_of(ruled.client, ruled.diff(system(HELPFUL)))
    kept = {"match": {"step": 3}, "model": {"unset": ["seed"]}}  # nothing is set there: the answer stays
    second = candidate_of(ruled.client, forked(ruled.client, ruled.queued, first, 3, kept))
    diff = post(ruled.client, "/diffs", {"base": str(ruled.run), "candidate": str(second)}).json()["id"]
    plan = post(ruled.client, f"/diffs/{diff}/prove/preview").json()
    assert (plan["sampled"], plan["differs"]) == (True, True)


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
    assert "desk has no place for wisdom" in found["noise"]["reason"]


def looked_up(name: str, order: str, state: str) -> UUID:
    """Code looks an order up, and tells the model what it found."""
    told = f"The order desk found this about it: {state}."
    messages: list[JSONValue] = [SYSTEM, {"role": "user", "content": told}]
    answer: JSONObject = {"message": {"role": "assistant", "content": f"It is {state}."}, "finish_reason": "stop"}
    steps = (
        RecordedStep(key="agent", type=StepType.AGENT, name="desk", input={"task": "help"}),
        RecordedStep(key="look", type=StepType.TOOL, name="look_up", tool_name="look_up", parent="agent",
                     input={"order": order}, output=told),
        RecordedStep(key="ask", type=StepType.MODEL, name="desk", parent="agent", provider="desk", model="m1",
                     input={"messages": messages}, output=answer),
        RecordedStep(key="said", type=StepType.OUTPUT, name="answer", parent="agent",
                     output={"text": f"It is {state}."}),
    )  # fmt: skip
    run = RecordedRun(external_id=name, name="desk", app="desk", format="test", steps=steps)
    return UUID(str(record(run).run_id))


def test_a_tool_that_code_called_with_other_arguments_is_a_cause(ruled: Ruled) -> None:
    """The other run recorded what it answers then, so that nobody has to be asked."""
    ruled.rule.append(lambda asked: "It is " + asked.user.rpartition(": ")[2])
    base = looked_up("one", "A-1", "lost by northern parcels")
    other = looked_up("two", "A-2", "delivered on monday morning")
    diff = post(ruled.client, "/diffs", {"base": str(base), "candidate": str(other)}).json()["id"]
    work_off(ruled.queued)
    found = ruled.prove(diff, parts=False, mediators=False)
    [atom] = found["atoms"]
    assert (atom["sufficient"], atom["necessary"], atom["category"]) == (True, True, "tool")
    assert (found["verdict"], found["live_calls"]) == ("single", 0)
    assert any("only one of the runs made is taken to be answered the same" in each for each in found["assumptions"])


def test_what_chance_does_is_noise(ruled: Ruled) -> None:
    """A reworded prompt changes every call after it, and the model answers as it likes."""
    answers = cycle(["Yes.", "Yes.", "No.", "No.", "Yes.", "No.", "Yes."])
    ruled.rule.append(lambda asked: next(answers))
    diff = ruled.diff(system("You are the order desk. Answer in whole sentences."))
    found = ruled.prove(diff, **live())
    assert (found["verdict"], found["confidence"], found["primary"]) == ("noise", "noise", [])
    assert found["noise"]["status"] == "not_rejected"
    assert "within what chance makes" in found["conclusion"]
    assert ruled.client.get(f"/api/v1/diffs/{diff}").json()["attribution"]["verdict"] == "noise"


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


def answered(proof: UUID | str) -> dict[str, Any]:
    """The probes that came to an answer."""
    probes = ProofProbe.objects.filter(proof=UUID(str(proof)), seen__isnull=False)
    return {probe.key: probe.seen for probe in probes if probe.seen and probe.seen["outcome"] != "needs_live"}


def test_a_proof_goes_on_where_it_was_left(ruled: Ruled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes it up makes no probe again."""
    ruled.rule.append(lambda asked: "Have a refund." if "Offer a refund." in asked.system else "It is lost.")
    diff = ruled.diff(system(HELPFUL))
    proof = post(ruled.client, f"/diffs/{diff}/prove", live(parts=False)).json()["id"]
    walked: list[str] = []
    walk = Laboratory._walked

    def dying(self: Laboratory, setup: Any) -> Any:
        walked.append(setup.overrides.digest + setup.side)
        if len(walked) == 2:
            raise SystemExit
        return walk(self, setup)

    monkeypatch.setattr(Laboratory, "_walked", dying)
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
    begun = running.advance(UUID(proof))
    assert len(begun) == 8  # four of each side, side by side
    for session in begun[:2]:
        runner.execute(session)
    assert running.advance(UUID(proof))
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
    assert plan["missing"] == ["nothing is configured to ask m1 anew"]
    found = ruled.prove(diff, **live())
    assert (found["confidence"], found["noise"]["status"], found["live_calls"]) == ("low", "not_run", 0)
    assert "nothing is configured to ask m1" in found["rule"]


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


def test_a_question_without_its_checks_is_refused(client: Client, no_queue: list[tuple[str, str]]) -> None:
    one, other = record(order_desk()).run_id, record(order_desk(external_id="desk-2", model="m2")).run_id
    diff = post(client, "/diffs", {"base": str(one), "candidate": str(other)}).json()["id"]
    refused = post(client, f"/diffs/{diff}/prove", {"question": "check"})
    assert (refused.status_code, refused.json()["where"]) == (422, "/checks")
    assert post(client, f"/diffs/{diff}/prove/preview", {"question": "check"}).json()["refusals"]
    plan = post(client, f"/diffs/{diff}/prove/preview").json()
    assert (plan["differs"], plan["warnings"][0][:9]) == (False, "Both runs")
    assert not Proof.objects.exists()
