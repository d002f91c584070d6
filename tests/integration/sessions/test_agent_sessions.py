"""Sessions in which the agent itself runs, as the API shows them."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from pytest_django import Settings

from replay.agents import dispatch, output, progress
from replay.execution import runner, task_names
from replay.models import ReplaySession, RerunCall, Runner, RunnerOutput
from replay.reruns.tools import consents
from replay.sessions import services
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.core.vocabulary import Reason
from traces.models import Run
from traces.redaction.markers import Digester
from traces.redaction_policies.key import redaction_key
from traces.runs.services import record

# Of the order desk. Nothing intercepts them: its recording is of no SDK.
TOOLS = ["get_order", "search_policy", "send_email"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


@pytest.fixture
def body(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    wrong = {"match": {"type": "model"}, "prompt": {"system": "Answer in verse."}}
    run = str(record(order_desk()).run_id)
    return {"run": run, "fork_step": 3, "engine": "agent", "overrides": {"overrides": [wrong]}}


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def add_runner(app: str, name: str, **fields: Any) -> Runner:
    command = ["node", "a.js"]
    fields = {"tools_to_run": TOOLS, **fields}
    return Runner.objects.create(app=app, name=name, connection="here", last_seen_at=Now(), command=command, **fields)


def test_agent_needs_a_runner_that_is_online(client: Client, body: dict[str, Any]) -> None:
    app = Run.objects.get().app
    lost = add_runner(app, "lost")
    Runner.objects.update(last_seen_at=Now() - timedelta(minutes=1))
    refusal = post(client, "/replays", body)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "no_runner")
    assert f"forkpoint runner --app {app} -- python agent.py {{input}}" in refusal.json()["detail"]
    add_runner(app, "desk-1")
    assert post(client, "/replays", body).status_code == 201
    runners = client.get(f"/api/v1/runners?app={app}").json()["runners"]
    assert [(item["name"], item["state"], item["busy"]) for item in runners] == [
        ("desk-1", "online", 0),
        (lost.name, "offline", 0),
    ]
    assert client.get("/api/v1/runners?app=other").json() == {"runners": []}


def test_variables_need_a_runner_that_allows_them(client: Client, body: dict[str, Any]) -> None:
    app = Run.objects.get().app
    strict = add_runner(app, "strict", env_allow=["REGION"])
    body["variables"] = {"CITY": "Oslo", "REGION": ""}
    refusal = post(client, "/replays", body)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "variable_not_allowed")
    assert "--env-allow CITY --env-allow REGION" in refusal.json()["detail"]
    open_runner = add_runner(app, "open", env_allow=["CITY", "REGION"])
    session = post(client, "/replays", body).json()["id"]
    assert dispatch.claim(strict) is None
    claim = dispatch.claim(open_runner)
    assert claim is not None
    assert (str(claim.id), claim.variables) == (session, body["variables"])
    digest = Digester(redaction_key()).marker("variable", b"Oslo")
    assert client.get(f"/api/v1/replays/{session}").json()["variables"]["CITY"] == digest
    for change in ({"variables": {"A=B": ""}}, {"variables": {"CITY": "\0"}}, {"engine": "follow"}):
        assert post(client, "/replays", {**body, **change}).status_code == 422
    shown_runners = client.get(f"/api/v1/runners?app={app}").json()["runners"]
    assert [item["env_allow"] for item in shown_runners] == [["CITY", "REGION"], ["REGION"]]


def test_fork_follows_the_recording_where_hooks_are_to_decide(
    client: Client, body: dict[str, Any], settings: Settings
) -> None:
    add_runner(Run.objects.get().app, "desk-1")

    def plan(engine: str) -> tuple[str, bool]:
        plan = post(client, "/replays/preview", {**body, "engine": engine}).json()
        return plan["engine"], any("hooks of the server are not asked" in warning for warning in plan["warnings"])

    assert plan("auto") == ("agent", False)
    settings.HOOKS = {"gate": {"events": ["pre_tool_use"], "answer": {"action": "deny"}}}
    assert plan("auto") == ("follow", False)
    assert plan("agent") == ("agent", True)


def test_fork_of_a_fork_follows_it_if_the_agent_lacks_its_changes(client: Client, body: dict[str, Any]) -> None:
    add_runner(Run.objects.get().app, "desk-1")
    result = {"match": {"type": "tool", "name": "get_order"}, "tool": {"output": {"status": "lost"}}}

    def plan_of_fork(*overrides: Any, engine: str = "auto") -> tuple[str, str]:
        """Return the engine of a fork of a fork with these overrides, and the first warning of its plan."""
        request = {**body, "engine": "follow", "overrides": {"overrides": overrides}}
        session = ReplaySession.objects.get(id=post(client, "/replays", request).json()["id"])
        runner.execute(session.id)
        session.refresh_from_db()
        plan = post(client, "/replays/preview", {"run": str(session.run_id), "engine": engine}).json()
        return plan["engine"], next(iter(plan["warnings"]), "")

    assert plan_of_fork(result)[0] == "agent"
    prompt = body["overrides"]["overrides"][0]
    engine, warning = plan_of_fork(result, prompt)
    assert engine == "follow"
    assert warning == (
        "Follows the recording. The agent's code does not have what earlier forks changed in its requests (prompt)."
    )
    assert plan_of_fork(prompt, engine="agent")[0] == "agent"


@pytest.mark.parametrize("end", ["cancel", "finish"])
def test_values_of_variables_go_when_the_session_ends(client: Client, body: dict[str, Any], end: str) -> None:
    runner = add_runner(Run.objects.get().app, "desk-1", env_allow=["CITY"])
    body["variables"] = {"CITY": "Oslo"}
    session = ReplaySession.objects.get(id=post(client, "/replays", body).json()["id"])
    assert session.variables == body["variables"]
    if end == "cancel":
        services.cancel(session.id)
    else:
        dispatch.claim(runner)
        progress.finish(session.id, runner.connection, exit_code=1)
    session.refresh_from_db()
    assert (session.ended_at is not None, session.variables) == (True, {})
    digests = client.get(f"/api/v1/replays/{session.id}").json()["variables"]
    assert digests == {"CITY": Digester(redaction_key()).marker("variable", b"Oslo")}


def test_session_waits_while_its_agent_asks(client: Client, body: dict[str, Any]) -> None:
    desk = add_runner(Run.objects.get().app, "desk-1")
    body["policy"] = {"tools": {"ask": ["send_*"]}, "budget": {"deadline_s": 600}}
    id = post(client, "/replays", body).json()["id"]
    session = dispatch.claim(desk)
    assert session is not None
    assert session.rerun is not None
    tools = f"/reruns/{session.rerun.id}/tools"

    def ask(city: str) -> str:
        question = {"type": "tool", "name": "send_letter", "arguments": {"city": city}, "call": city}
        return str(post(client, tools, question).json()["decision"])

    def view() -> tuple[str, str, Any]:
        row = ReplaySession.objects.get()
        return row.status, row.owner, (row.question or {}).get("arguments")

    assert [ask("Bern"), ask("Rome")] == ["ask", "ask"]
    assert view() == ("awaiting_operator", "here", {"city": "Bern"})
    assert progress.interruption(session.id, "here") is None
    assert dispatch.claim(desk, except_for=[session.id]) is None
    # It is not reviewed, and its runner did not allow it.
    assert post(client, f"/replays/{id}/answer", {"sequence_no": 1, "action": "run"}).status_code == 409
    answer = {"sequence_no": 1, "action": "answer", "output": "sent"}
    assert [post(client, f"/replays/{id}/answer", answer).status_code for _ in range(2)] == [200, 200]
    assert (ask("Bern"), view()) == ("overridden", ("awaiting_operator", "here", {"city": "Rome"}))
    dispatch.lose(session.id, desk)
    assert view() == ("awaiting_operator", "", {"city": "Rome"})
    assert dispatch.adopt(session.id, desk) is not None
    assert view() == ("awaiting_operator", "here", {"city": "Rome"})
    an_hour_ago = F("started_at") - timedelta(hours=1)
    ReplaySession.objects.update(started_at=an_hour_ago, heartbeat_at=an_hour_ago)
    post(client, f"/replays/{id}/answer", {"sequence_no": 2, "action": "fallback"})
    assert progress.interruption(session.id, "here") is None
    assert (ask("Rome"), view()) == ("refusal", ("running", "here", None))
    assert ask("Oslo") == "ask"
    progress.finish(session.id, "here", exit_code=5)
    assert view() == ("failed_execution", "", None)
    assert ReplaySession.objects.get().error.endswith("a tool: the operator refused this call of send_letter")


@pytest.mark.parametrize("is_probe", [False, True])
def test_held_back_answer_waits_for_consent(client: Client, body: dict[str, Any], is_probe: bool) -> None:
    app = Run.objects.get().app
    desk, other_desk = add_runner(app, "desk-1"), add_runner(app, "desk-2", tools_to_run=[*TOOLS, "wipe"])
    id = post(client, "/replays", {**body, "policy": {"allow": ["model"], "budget": {"deadline_s": 60}}}).json()["id"]
    ReplaySession.objects.update(is_probe=is_probe)
    session = dispatch.claim(desk)
    assert session is not None
    assert session.rerun is not None
    call = RerunCall.objects.create(rerun=session.rerun, label="simulated", reason=Reason.LIVE_MODEL)
    assert "--allow-tool wipe" in consents.refuse_tools(call.id, ["wipe", "send_email"])
    # Also an agent that handles the error has not got the answer.
    progress.finish(session.id, "here", exit_code=0)
    view = client.get(f"/api/v1/replays/{id}").json()
    if is_probe:
        assert view["status"] == "failed_execution"
        return
    assert (view["status"], view["exit_code"], view["tools_to_allow"]) == ("awaiting_operator", 0, [*TOOLS, "wipe"])
    assert "calls wipe" in view["current"]
    assert dispatch.claim(desk) is None
    ReplaySession.objects.update(started_at=Now() - timedelta(minutes=10))
    claim = dispatch.claim(other_desk)
    assert claim is not None
    assert progress.interruption(claim.id, "here") is None
    assert claim.rerun is not None
    assert (str(claim.id), claim.rerun.attempt, claim.rerun.ended_at) == (id, 2, None)
    assert consents.refuse_tools(call.id, ["wipe"]) == ""
    question = {"type": "tool", "name": "send_letter", "arguments": {}}
    assert post(client, f"/reruns/{claim.rerun.id}/tools", question).json()["decision"] == "refusal"
    # A refused call of a tool waits, too.
    progress.finish(session.id, "here", exit_code=5)
    view = client.get(f"/api/v1/replays/{id}").json()
    assert (view["status"], view["tools_to_allow"]) == ("awaiting_operator", [*TOOLS, "send_letter"])
    assert view["current"].startswith("This call of send_letter is not in the recording")
    assert dispatch.claim(other_desk) is None
    third_desk = add_runner(app, "desk-3", tools_to_run=[*TOOLS, "send_letter"])
    assert dispatch.claim(third_desk) is not None
    assert post(client, f"/reruns/{claim.rerun.id}/tools", question).json()["decision"] == "run"
    progress.finish(session.id, "here", exit_code=0)
    assert client.get(f"/api/v1/replays/{id}").json()["status"] != "awaiting_operator"


def test_worker_leaves_the_agent_to_a_runner(client: Client, body: dict[str, Any]) -> None:
    add_runner(Run.objects.get().app, "desk-1")
    session = post(client, "/replays", body).json()
    assert (session["engine"], session["runner"], session["exit_code"]) == ("agent", None, None)
    assert not runner.execute(ReplaySession.objects.get().id)
    assert services.requeue_unfinished() == 0
    assert ReplaySession.objects.get().status == "pending"


def test_agent_cannot_be_forked_by_what_only_the_recording_has(client: Client, body: dict[str, Any]) -> None:
    add_runner(Run.objects.get().app, "desk-1")
    provider = {"match": {"type": "model"}, "model": {"provider": "other"}}
    refusal = post(client, "/replays", {**body, "overrides": {"overrides": [provider]}})
    assert (refusal.status_code, refusal.json()["where"]) == (422, "/overrides/overrides/0"), refusal.json()
    plan = post(client, "/replays/preview", body).json()
    assert plan["refusals"] == []
    assert plan["warnings"][0].startswith("The agent runs again")
    followed_plan = post(client, "/replays/preview", {**body, "engine": "follow"}).json()
    # An agent gets no placeholders.
    assert ["placeholder" in str(shown_plan["warnings"]) for shown_plan in (plan, followed_plan)] == [False, True]


def test_output_shows_what_is_missing(client: Client, body: dict[str, Any]) -> None:
    add_runner(Run.objects.get().app, "desk-1")
    session = ReplaySession.objects.get(id=post(client, "/replays", body).json()["id"])
    path = f"/api/v1/replays/{session.id}/output"
    assert client.get(path).json() == {"lines": [], "exit_code": None, "truncated": False}
    for attempt, no, text in ((2, 1, "c"), (1, 2, "b"), (1, 1, "a")):
        RunnerOutput.objects.create(
            session=session, attempt=attempt, no=no, stream="stdout", text=text, at="2026-01-01T00:00Z"
        )
    shown_output = client.get(path).json()
    assert ([line["text"] for line in shown_output["lines"]], shown_output["truncated"]) == (["a", "b", "c"], False)
    RunnerOutput.objects.filter(text="a").delete()
    assert client.get(path).json()["truncated"]


def test_runner_stores_a_limited_number_of_lines(
    client: Client, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "MOST_LINES", 2)
    agent_runner = add_runner(Run.objects.get().app, "desk-1")
    post(client, "/replays", body)
    session = dispatch.claim(agent_runner)
    assert session is not None
    at = datetime.fromisoformat("2026-01-01T00:00Z")
    for attempt, no in ((1, 9), (1, 8), (1, 7), (1, 1), (2, 1)):
        output.append(session, attempt, [output.PrintedLine(no=no, stream="stdout", text="x", at=at)])
    assert [*RunnerOutput.objects.order_by("id").values_list("attempt", "no")] == [(1, 9), (1, 8)]


def test_plan_counts_the_live_calls_of_an_agent_with_a_key_of_its_own(
    client: Client, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    recording = order_desk(external_id="openai")
    steps = [replace(step, provider="openai" if step.provider else "") for step in recording.steps]
    run = str(record(replace(recording, steps=(*steps,))).run_id)
    plans = {
        engine: post(client, "/replays/preview", {**body, "run": run, "engine": engine}).json()
        for engine in ("follow", "agent")
    }
    assert (plans["follow"]["live_calls"], plans["agent"]["live_calls"] > 0) == (0, True)
