"""Searches whose replays let the agent itself run."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from diffing import services as diffing
from replay.core.errors import ReplayFailure
from replay.execution import leases, task_names
from replay.experiments import scheduler
from replay.models import Experiment, Proof, ProofProbe, ReplaySession, Rerun, Runner
from replay.reruns import answers, exchanges
from replay.reruns.resolutions import CallInFlight, CallRefusal
from replay.reruns.schemas import ToolQuestion
from replay.reruns.tools import calls
from replay.sessions import create, prepare
from replay.sessions.schemas import ReplayRequest
from replay.tool_review.services import decide
from tests.support.agent_requests import first_request
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, ToolCall, order_desk
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType
from traces.models import Run
from traces.redaction.raw_responses import RAW_RESPONSE
from traces.runs.services import record

# Of the order desk. Nothing intercepts them: its recording is of no SDK.
TOOLS = ["get_order", "search_policy", "send_email"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    return Run.objects.get(id=record(order_desk()).run_id)


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def add_runner(run: Run) -> None:
    Runner.objects.create(
        app=run.app, name="desk-1", connection="here", last_seen_at=Now(), command=["agent"], tools_to_run=TOOLS
    )


def test_experiment_of_an_agent_starts_it_for_every_row(client: Client, run: Run) -> None:
    body = {"run": str(run.id), "engine": "agent", "samples": 2, "budget": {"max_live_calls": 1}}
    decide(dict.fromkeys(TOOLS, True), author="me")
    refusal = post(client, "/experiments", body)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "no_runner")
    add_runner(run)
    answer = post(client, "/experiments", body)
    assert answer.status_code == 201, answer.json()
    sessions = ReplaySession.objects.order_by("created_at")
    assert [session.engine for session in sessions] == ["agent", "agent"]
    request = first_request(run)
    first, second = (rerun_of(session) for session in sessions)
    # A sample is a new answer, although the recording has this very call.
    assert answers.resolve(first.id, request).response is None
    with pytest.raises(CallRefusal, match="budget allows 1 live call"):
        answers.resolve(second.id, request)
    experiment = Experiment.objects.get()
    assert experiment.live_calls == 1
    with pytest.raises(ReplayFailure):
        scheduler.take_call(experiment.id, 1)
    # The agent makes the calls: a row is as slow as its run.
    ReplaySession.objects.filter(rerun=first).update(run=run)
    rows = client.get(f"/api/v1/experiments/{experiment.id}").json()["results"]
    assert [row["latency_ms"] for row in rows] == [run.duration_ms, None]


@pytest.mark.parametrize("kind", ["experiments", "bisections", "proofs"])
def test_search_of_an_agent_says_which_runner_it_waits_for(client: Client, run: Run, kind: str) -> None:
    add_runner(run)
    view = started_search(client, run, kind)
    path = f"/api/v1/{kind}/{view['id']}"
    assert client.get(path).json()["waits_for"] == ""
    Runner.objects.update(connection="")
    waits_for = client.get(path).json()["waits_for"]
    assert waits_for.startswith(f"no runner of {run.app} is online; start one")
    assert f"forkpoint runner --app {run.app} -- " in waits_for
    # A session that runs, or asks the operator, waits for no runner.
    ReplaySession.objects.update(status="awaiting_operator", question={"text": "May it run?"})
    assert client.get(path).json()["waits_for"] == ""


def started_search(client: Client, run: Run, kind: str) -> Any:
    """Start a search whose replays a runner has to start."""
    check = {"kind": "contains", "text": "nothing says this"}
    if kind == "experiments":
        return post(client, "/experiments", {"run": str(run.id), "engine": "agent", "samples": 2}).json()
    if kind == "bisections":
        return post(client, f"/runs/{run.id}/bisect", {"engine": "agent", "checks": [check], "reproduce": 2}).json()
    proof = Proof.objects.create(
        diff=diffing.diff(base_id=run.id, candidate_id=run.id), request={"engine": "agent"}, worked_at=timezone.now()
    )
    body = {"run": str(run.id), "engine": "agent", "overrides": {"overrides": []}}
    probe_of(proof, create.create(prepare.prepare(ReplayRequest.model_validate(body))), 1)
    return {"id": str(proof.id)}


def rerun_of(session: ReplaySession) -> Rerun:
    session.rerun = Rerun.objects.create(
        source_run=session.source_run,
        profile=session.profile,
        fork_sequence_no=session.fork_sequence_no,
        is_live=True,
    )
    session.save()
    return session.rerun


def test_probes_of_a_bisection_start_the_agent(client: Client, run: Run) -> None:
    check = {"kind": "contains", "text": "nothing says this"}
    body = {"engine": "agent", "checks": [check], "reproduce": 2}
    path = f"/runs/{run.id}/bisect"
    decide(dict.fromkeys(TOOLS, True), author="me")
    refusal = post(client, path, body)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "no_runner"), refusal.json()
    add_runner(run)
    answer = post(client, path, body)
    assert answer.status_code == 201, answer.json()
    assert {session.engine for session in ReplaySession.objects.all()} == {"agent"}


def probe_of(proof: Proof, session: ReplaySession, number: int) -> Rerun:
    """Make a session a probe, and open its rerun."""
    rerun = rerun_of(session)
    ask: JSONObject = {"applied": [], "side": "base", "clamp": None, "repeat": 0}
    ProofProbe.objects.create(proof=proof, number=number, key=f"k{number}", ask=ask, session=session)
    return rerun


def stored_lines(body: JSONObject, text: str) -> bytes:
    """The events of a call and its answer, as the gateway stores them."""
    call = {"provider": "test", "model_id": "m1", "api": "openai.chat", "request": body}
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    response = {"status": 200, "api": "openai.chat", "headers": [], "text": json.dumps(answer)}
    result = {"status": "success", "response": answer, RAW_RESPONSE: response}
    events = [("model_called", call), ("model_result", result)]
    lines = [{"event_type": type, "step_id": "s1", "payload": payload} for type, payload in events]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_probes_of_a_proof_share_live_answers(run: Run) -> None:
    """An equal call that another probe makes is awaited, and then has its answer: it is paid once."""
    turns = (ToolCall("get_order", {"order_id": "A-9"}, "lost"), Reply("It is lost."))
    other = order_desk([("Where is A-9?", turns)], external_id="desk-2")
    candidate = Run.objects.get(id=record(other).run_id)
    proof = Proof.objects.create(
        diff=diffing.diff(base_id=run.id, candidate_id=candidate.id), request={}, worked_at=timezone.now()
    )
    override = {"match": {"type": "model"}, "prompt": {"system": "Answer in verse."}}
    body = {"run": str(run.id), "engine": "agent", "overrides": {"overrides": [override]}}
    preparation = prepare.prepare(ReplayRequest.model_validate(body))
    first, second, stranger = (create.create(preparation) for _ in range(3))
    reruns = [probe_of(proof, session, number) for number, session in enumerate((first, second), 1)]
    sent: JSONObject = {"model": "m1", "messages": [{"role": "user", "content": "Something new."}]}
    request = replace(first_request(run), provider="test", api="openai.chat").with_edits(sent)
    live = answers.resolve(reruns[0].id, request, owner=leases.new_owner())
    assert (live.response, live.call_id is not None) == (None, True)
    with pytest.raises(CallInFlight):
        answers.resolve(reruns[1].id, request, owner=leases.new_owner())
    exchanges.store_live(live.call_id or 0, stored_lines(live.body or {}, "A verse."), app=run.app)
    shared = answers.resolve(reruns[1].id, request, owner=leases.new_owner())
    assert shared.response is not None
    assert b"A verse." in shared.response.body
    assert reruns[1].calls.get().label == "cached"
    # Each answer is given once, and a session that is no probe of the proof does not get it.
    assert answers.resolve(reruns[1].id, request, owner=leases.new_owner()).response is None
    assert answers.resolve(rerun_of(stranger).id, request, owner=leases.new_owner()).response is None
    question = ToolQuestion(type=StepType.TOOL, name="get_order", arguments={"order_id": "A-9"})
    answer = calls.answer(reruns[1], question)
    assert (answer.decision, answer.output, answer.step) == ("cached", "lost", None)
    assert calls.answer(reruns[1], question).decision == "refusal"
