"""Consent to tools of an agent that nothing intercepts, before the agent starts."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.test import Client

from cockpit.demo.agent.loading import load_recording
from cockpit.demo.agent.scenarios import SCENARIOS, Scenario
from diffing import services as diffing
from forkpoint.vocabulary import INTERCEPTION_MARK
from replay.agents import connections, dispatch
from replay.bisection import scheduler
from replay.execution import task_names
from replay.models import Bisection, ReplaySession, Rerun, Runner
from replay.runners import recorded_tools
from replay.tool_review.services import decide
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.model_calls import PROVIDER_RAN
from traces.models import Run
from traces.runs.services import record

pytestmark = pytest.mark.django_db(transaction=True)
TOOLS = ["get_order", "search_policy", "send_email"]
CHECK = {"kind": "contains", "text": "nothing says this"}


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def with_marks(run: RecordedRun, marks: Mapping[str, str]) -> RecordedRun:
    """Return the run with marks on the calls of some tools."""
    steps = tuple(
        replace(step, attributes={**step.attributes, marks[step.tool_name]: True}) if step.tool_name in marks else step
        for step in run.steps
    )
    return replace(run, steps=steps)


def store(marks: Mapping[str, str] | None = None, *, format: str = "forkpoint") -> Run:
    run = replace(with_marks(order_desk(), marks or {}), external_id=uuid4().hex, format=format)
    return Run.objects.get(id=record(run).run_id)


def add_runner(app: str, *tools: str, name: str = "desk-1", **fields: Any) -> Runner:
    return Runner.objects.create(
        app=app, name=name, connection=name, last_seen_at=Now(), command=["a"], tools_to_run=[*tools], **fields
    )


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def fork(run: Run, **fields: Any) -> dict[str, Any]:
    prompt = {"match": {"type": "model"}, "prompt": {"system": "Answer in verse."}}
    return {"run": str(run.id), "engine": "agent", "overrides": {"overrides": [prompt]}, **fields}


def consents(plan: Any) -> dict[str, str | None]:
    return {tool["name"]: tool["consent"] for tool in plan["unintercepted_tools"]}


def allow(runner: Runner, *tools: str) -> None:
    runner.tools_to_run = [*tools]
    runner.save()


def test_agent_starts_only_with_consent_to_each_tool(client: Client) -> None:
    run = store()
    runner = add_runner(run.app)
    plan = post(client, "/replays/preview", fork(run)).json()
    assert consents(plan) == dict.fromkeys(TOOLS)
    assert not any("get_order" in warning for warning in plan["warnings"])
    assert [refusal["code"] for refusal in plan["refusals"]] == ["consent_required"]
    allow(runner, *TOOLS[:2])
    refusal = post(client, "/replays", fork(run))
    assert (refusal.status_code, refusal.json()["code"]) == (409, "consent_required")
    assert "Start the runner with --allow-tool send_email" in refusal.json()["detail"]
    assert "get_order" not in refusal.json()["detail"]
    assert not ReplaySession.objects.exists()
    decide({"get_order": True}, author="me")
    allow(runner, "send_email", "search_policy")
    plan = post(client, "/replays/preview", fork(run)).json()
    assert (plan["refusals"], consents(plan)) == (
        [],
        {"get_order": "review", "search_policy": "runner", "send_email": "runner"},
    )
    assert not any(step["name"] == "send_email" and "blocked" in step["reason"] for step in plan["steps"])
    assert post(client, "/replays", fork(run)).status_code == 201


def test_calls_of_these_tools_are_not_planned_as_exact(client: Client) -> None:
    run = store()
    add_runner(run.app, *TOOLS)
    calls = run.steps.filter(type="tool").count()
    followed = post(client, "/replays/preview", fork(run, engine="follow", overrides={"overrides": []})).json()
    for untouched in ("true", "false"):
        body = fork(run, overrides={"overrides": []})
        plan = post(client, f"/replays/preview?untouched={untouched}", body).json()
        assert plan["counts"]["exact"] == followed["counts"]["exact"] - calls
        assert (plan["counts"]["simulated"], plan["actions"]["live"]) == (calls, calls)
        assert sum(plan["actions"].values()) == sum(followed["actions"].values())


def test_no_request_allows_a_tool(client: Client) -> None:
    run = store()
    add_runner(run.app)
    assert post(client, "/replays", fork(run, allow_tools=TOOLS)).status_code == 422
    assert not ReplaySession.objects.exists()


def test_only_a_runner_whose_user_consented_gets_the_session(client: Client) -> None:
    run = store()
    careful, bold = add_runner(run.app), add_runner(run.app, *TOOLS, name="desk-2")
    assert consents(post(client, "/replays/preview", fork(run)).json()) == dict.fromkeys(TOOLS, "runner")
    assert post(client, "/replays", fork(run)).status_code == 201
    assert dispatch.claim(careful) is None
    assert dispatch.claim(bold) is not None


def test_session_waits_for_consent_that_was_withdrawn_meanwhile(client: Client) -> None:
    run = store()
    runner = add_runner(run.app, *TOOLS[1:])
    decide({"get_order": True}, author="me")
    assert post(client, "/replays", fork(run)).status_code == 201
    decide({"get_order": False}, author="me")
    assert dispatch.claim(runner) is None
    allow(runner, *TOOLS)
    assert dispatch.claim(runner) is not None


def test_probe_that_starts_without_consent_waits_for_it(client: Client) -> None:
    run = store()
    bold = add_runner(run.app, *TOOLS)
    body = {"checks": [CHECK], "engine": "agent"}
    assert post(client, f"/runs/{run.id}/bisect", body).status_code == 201
    ReplaySession.objects.all().delete()
    connections.disconnect(bold)
    careful = add_runner(run.app, name="desk-2")
    scheduler.advance(Bisection.objects.get().id)
    assert ReplaySession.objects.exists()
    assert dispatch.claim(careful) is None
    allow(careful, *TOOLS)
    assert dispatch.claim(careful) is not None


def test_another_runner_of_a_session_allows_only_what_its_own_user_does(client: Client) -> None:
    run = store(dict.fromkeys(TOOLS, INTERCEPTION_MARK))
    bold = add_runner(run.app, "send_email", tools_to_ask=["*"])
    assert post(client, "/replays", fork(run)).status_code == 201
    session = dispatch.claim(bold)
    assert session is not None
    assert session.rerun is not None
    assert session.rerun.tools_to_run == ["send_email"]
    dispatch.lose(session.id, bold)
    Runner.objects.filter(id=bold.id).update(connection="", last_seen_at=Now() - timedelta(days=1))
    session = dispatch.claim(add_runner(run.app, name="desk-2"))
    assert session is not None
    assert session.rerun is not None
    rerun = Rerun.objects.get(id=session.rerun.id)
    assert (rerun.attempt, rerun.tools_to_run, rerun.tools_to_ask) == (2, [], [])


def test_auto_follows_the_recording_without_consent_and_says_why(client: Client) -> None:
    run = store()
    runner = add_runner(run.app)
    plan = post(client, "/replays/preview", fork(run, engine="auto")).json()
    assert (plan["engine"], plan["refusals"], consents(plan)) == ("follow", [], dict.fromkeys(TOOLS))
    assert "Follows the recording" in plan["warnings"][0]
    assert "get_order, search_policy, send_email" in plan["warnings"][0]
    allow(runner, *TOOLS)
    plan = post(client, "/replays/preview", fork(run, engine="auto")).json()
    assert plan["engine"] == "agent"


def test_searches_need_consent(client: Client) -> None:
    run = store()
    runner = add_runner(run.app)
    diff = diffing.diff(base_id=run.id, candidate_id=run.id)
    searches: list[tuple[str, str, dict[str, Any]]] = [
        ("/experiments", "/experiments/preview", {"run": str(run.id), "samples": 2}),
        (f"/runs/{run.id}/bisect", "/bisections/preview", {"checks": [CHECK], "reproduce": 2}),
        (f"/diffs/{diff.id}/prove", f"/diffs/{diff.id}/prove/preview", {}),
    ]
    for path, preview_path, body in searches:
        body = {**body, "engine": "agent"}
        own = {"run": str(run.id)} if "bisect" in path else {}
        allow(runner)
        plan = post(client, preview_path, {**body, **own}).json()
        assert [refusal["code"] for refusal in plan["refusals"]] == ["consent_required"], path
        assert consents(plan) == dict.fromkeys(TOOLS), path
        refusal = post(client, path, body)
        assert (refusal.status_code, refusal.json()["code"]) == (409, "consent_required"), path
        allow(runner, *TOOLS)
        plan = post(client, preview_path, {**body, **own}).json()
        assert (plan["refusals"], consents(plan)) == ([], dict.fromkeys(TOOLS, "runner")), path
    assert not ReplaySession.objects.exists()
    assert post(client, "/experiments", {"run": str(run.id), "samples": 2, "engine": "agent"}).status_code == 201
    assert ReplaySession.objects.count() == 2


def test_plans_of_searches_count_the_starts_of_the_agent(client: Client) -> None:
    run = store(dict.fromkeys(TOOLS, INTERCEPTION_MARK))
    add_runner(run.app)
    body = {"run": str(run.id), "samples": 3}
    assert post(client, "/experiments/preview", {**body, "engine": "agent"}).json()["agent_starts"] == 3
    assert post(client, "/experiments/preview", body).json()["agent_starts"] == 0
    body = {"run": str(run.id), "checks": [CHECK], "engine": "agent"}
    plan = post(client, "/bisections/preview", body).json()
    assert (plan["agent_starts"], plan["most_agent_starts"]) == (plan["probes"], plan["most_probes"])
    assert plan["agent_starts"] > 0


def test_reruns_need_consent(client: Client) -> None:
    run = store({"get_order": PROVIDER_RAN}, format="openai")
    # What was only offered to the model matters where it may answer differently than recorded.
    for body, tools in (({"compare": True}, TOOLS[1:2]), ({}, TOOLS[1:]), ({"live": True}, TOOLS[1:])):
        refusal = post(client, "/reruns", {"run": str(run.id), **body})
        assert (refusal.status_code, refusal.json()["code"]) == (409, "consent_required")
        assert f"really runs them again: {', '.join(tools)}." in refusal.json()["detail"]
        for option in ("allow_tools", "hook_tools"):
            answer = post(client, "/reruns", {"run": str(run.id), option: tools, **body})
            real_tools = [] if option == "hook_tools" else tools
            assert (answer.status_code, answer.json()["real_tools"]) == (201, real_tools)


def test_rerun_is_not_resumed_after_consent_was_withdrawn(client: Client) -> None:
    run = store()
    decide({"get_order": True}, author="me")
    prompt = {"match": {"type": "model"}, "prompt": {"system": "Answer in verse."}}
    body = {"run": str(run.id), "overrides": {"overrides": [prompt]}, "allow_tools": TOOLS[1:]}
    rerun = post(client, "/reruns", body).json()
    assert post(client, f"/reruns/{rerun['id']}/resume", {}).status_code == 200
    decide({"get_order": False}, author="me")
    refusal = post(client, f"/reruns/{rerun['id']}/resume", {})
    assert (refusal.status_code, refusal.json()["code"]) == (409, "consent_required")


def test_forks_of_a_recording_have_its_marks(client: Client) -> None:
    run = store(dict.fromkeys(TOOLS, INTERCEPTION_MARK))
    derived = store()
    derived.source_run = run
    assert recorded_tools.find_unintercepted(derived, is_open=True) == []


def test_tool_that_an_answer_requests_counts_without_a_step() -> None:
    desk = with_marks(order_desk(), {"get_order": INTERCEPTION_MARK})
    steps = tuple(step for step in desk.steps if step.tool_name != "search_policy")
    run = Run.objects.get(id=record(replace(desk, steps=steps)).run_id)
    assert recorded_tools.find_unintercepted(run, is_open=False) == ["search_policy"]


def test_offered_tool_counts_as_the_tools_that_were_called() -> None:
    calls = dict.fromkeys(TOOLS[:2], INTERCEPTION_MARK)
    assert recorded_tools.find_unintercepted(store(calls), is_open=True) == []
    assert recorded_tools.find_unintercepted(store({"get_order": INTERCEPTION_MARK}), is_open=True) == TOOLS[1:]


def test_hook_counts_as_interception_of_the_tools_that_were_called(client: Client) -> None:
    run = store()
    hooks = {"hook_tools": TOOLS[:2]}
    answer = post(client, "/reruns", {"run": str(run.id), **hooks})
    assert (answer.status_code, answer.json()["real_tools"]) == (201, [])
    assert post(client, "/reruns", {"run": str(run.id), "hook_tools": TOOLS[:1]}).status_code == 409
    assert post(client, "/reruns", {"run": str(run.id), "allow_tools": TOOLS[:2]}).status_code == 409
    add_runner(run.app, tools_with_hook=TOOLS[:2])
    assert consents(post(client, "/replays/preview", fork(run)).json()) == dict.fromkeys(TOOLS[:2], "runner")


def test_plan_lists_the_hosts_that_the_agent_asked_for(client: Client) -> None:
    run = store(dict.fromkeys(TOOLS, INTERCEPTION_MARK))
    add_runner(run.app)
    rerun = post(client, "/reruns", {"run": str(run.id)}).json()
    for host in ("mail.example:25", "api.example", "api.example"):
        assert post(client, f"/reruns/{rerun['id']}.1/hosts", {"host": host}).status_code == 200
    hosts = ["mail.example:25", "api.example"]
    assert client.get(f"/api/v1/reruns/{rerun['id']}").json()["hosts"] == hosts
    plan = post(client, "/replays/preview", fork(run)).json()
    assert plan["hosts"] == hosts
    assert any("mail.example:25, api.example" in warning for warning in plan["warnings"])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.slug)
def test_tools_of_the_demo_are_intercepted(scenario: Scenario) -> None:
    run = Run.objects.get(id=record(load_recording(scenario.slug)).run_id)
    called_names = recorded_tools.find_unintercepted(run, is_open=False)
    assert called_names == []


def store_steps(*steps: RecordedStep) -> Run:
    return Run.objects.get(id=record(replace(order_desk(), steps=steps, external_id=uuid4().hex)).run_id)


@pytest.mark.parametrize("fields", [{"intercepted": False}, {"intercepted": "no"}, {"http_response": {"status": 200}}])
def test_fields_of_other_recorders_are_no_marks(fields: JSONObject) -> None:
    steps = (replace(step, attributes=fields) if step.type is StepType.TOOL else step for step in order_desk().steps)
    assert recorded_tools.find_unintercepted(store_steps(*steps), is_open=True) == TOOLS


def test_mark_in_a_recording_of_another_recorder_is_none() -> None:
    desk = with_marks(order_desk(), dict.fromkeys(TOOLS, INTERCEPTION_MARK))
    run = Run.objects.get(id=record(replace(desk, format="otlp", external_id=uuid4().hex)).run_id)
    assert recorded_tools.find_unintercepted(run, is_open=True) == TOOLS


@pytest.mark.parametrize("name", ["get_order", "admin__get_order"])
def test_tool_that_shares_a_name_with_an_intercepted_one_counts(name: str) -> None:
    desk = with_marks(order_desk(), dict.fromkeys(TOOLS, INTERCEPTION_MARK))
    call = next(step for step in desk.steps if step.tool_name == "get_order")
    plain_call = replace(call, key="plain", tool_name=name, attributes={})
    run = store_steps(*desk.steps, plain_call)
    assert recorded_tools.find_unintercepted(run, is_open=False) == [name]
    assert recorded_tools.find_unintercepted(store_steps(*desk.steps), is_open=False) == []


def test_tools_offered_to_any_model_of_a_run_count() -> None:
    desk = order_desk()
    second = [step.key for step in desk.steps if step.type is StepType.MODEL][1]
    steps = (
        replace(step, input={**as_object(step.input), "tools": [{"name": "wipe_disk"}]}) if step.key == second else step
        for step in desk.steps
    )
    assert "wipe_disk" in recorded_tools.find_unintercepted(store_steps(*steps), is_open=True)


def test_offered_tool_that_another_run_called_without_a_mark_counts() -> None:
    calls = dict.fromkeys(TOOLS[:2], INTERCEPTION_MARK)
    run = store(calls)
    call = next(step for step in order_desk().steps if step.tool_name == "get_order")
    mail = store_steps(*order_desk().steps, replace(call, key="mail", tool_name="send_email"))
    assert mail.app == run.app
    assert recorded_tools.find_unintercepted(run, is_open=True) == ["send_email"]
