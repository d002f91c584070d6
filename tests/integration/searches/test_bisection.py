"""Bisections over REST: a failing run is regenerated with a real model server until its commit step is found."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import Settings

from diffing import services as diffs
from diffing.schemas.report import DiffOptions
from replay import tasks
from replay.bisection import scheduler, services
from replay.execution import runner, task_names
from replay.live import providers
from replay.models import Bisection, BisectionProbe
from tests.support.patience import wait_until
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, order_desk
from tests.support.servers.provider_server import Exchange, openai_chunk, provider_server
from traces.runs.services import open_run, record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
LIMIT_S = 60
TURNS = 8
CHECK = [{"kind": "contains", "text": "all is well"}]
QUICK: dict[str, Any] = {"checks": CHECK, "reproduce": 1, "samples": 1, "confirm": 1}


def conversation(bad: int | None) -> list[tuple[str, tuple[Reply, ...]]]:
    """Turns of one answer each; the answer at `bad` breaks every later one."""
    texts = ["all is well" if bad is None or turn < bad else "it broke" for turn in range(TURNS)]
    if bad is not None:
        texts[bad] = "I delete the order"
    return [(f"question {turn}", (Reply(f"{text} {turn}"),)) for turn, text in enumerate(texts)]


def answers(exchange: Exchange) -> None:
    """Like the recorded model: all is well unless the order was deleted before."""
    earlier = [str(message.get("content")) for message in exchange.body["messages"]]
    broken = any("I delete" in text for text in earlier)
    exchange.stream()
    exchange.send(openai_chunk({"role": "assistant", "content": "it broke" if broken else "all is well"}))
    exchange.send(openai_chunk(finish="stop", usage={"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}))
    exchange.send("[DONE]")


@pytest.fixture
def desk(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Exchange]]:
    with provider_server(answers) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        monkeypatch.setenv("FORKPOINT_PROVIDERS", json.dumps(settings.PROVIDERS))  # for a worker that starts later
        yield running.requests
        providers.close()


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the sessions that would be queued; the test runs them itself."""
    capture_tasks(monkeypatch, task_names.COMPARE)
    return capture_tasks(monkeypatch, task_names.EXECUTE)


def failing(bad: int = 3) -> str:
    return str(record(order_desk(conversation(bad), external_id=f"fails-at-{bad}")).run_id)


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json", headers=headers)


def work_off(queue: list[str]) -> None:
    while queue:
        tasks.execute(queue.pop(0))


def model_step(turn: int) -> int:
    """The number of a turn's model step: the agent comes first, then each turn with its one answer."""
    return 3 + 2 * turn


def test_worker_finds_the_commit_step(client: Client, desk: list[Exchange], request: pytest.FixtureRequest) -> None:
    run = failing(3)
    request.getfixturevalue("worker")
    response = post(client, f"/runs/{run}/bisect", {"checks": CHECK}, **{"Idempotency-Key": "once"})
    assert response.status_code == 201, response.json()
    repeated_response = post(client, f"/runs/{run}/bisect", {"checks": CHECK}, **{"Idempotency-Key": "once"})
    assert repeated_response.json()["id"] == response.json()["id"]

    def look() -> Any:
        view = client.get(f"/api/v1/bisections/{response.json()['id']}").json()
        return None if view["status"] == "running" else view

    view = wait_until(look, LIMIT_S)
    assert view["status"] == "completed", view
    result = view["result"]
    assert (result["reproduction"], result["repeats"]["passed"], result["rescue"]) == (
        "does_not_reproduce",
        3,
        "rescued",
    )
    commit = result["commit"]
    assert commit["step"]["sequence_no"] == model_step(3)
    assert commit["kept"]["sequence_no"] == model_step(4)
    assert commit["earliest"]["sequence_no"] == model_step(0)
    assert (commit["confidence"], commit["monotone"], commit["settled"]) == ("high", True, True)
    assert "Point of no return: step 9" in result["sentence"]
    assert client.get("/api/v1/bisections", {"run": run}).json()["bisections"][0]["sentence"] == result["sentence"]


def test_probes_are_hidden_from_lists(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    run = failing(5)
    post(client, f"/runs/{run}/bisect", QUICK)
    work_off(queue)
    assert [row["id"] for row in client.get("/api/v1/runs").json()["runs"]] == [run]
    probes = client.get("/api/v1/runs", {"source": "probe"}).json()["runs"]
    assert {probe["source_run"] for probe in probes} == {run}
    assert client.get("/api/v1/runs/last").json()["id"] == run
    assert client.get(f"/api/v1/runs/{run}").json()["derived"] == []
    assert client.get("/api/v1/replays").json()["sessions"] == []
    facets = client.get("/api/v1/runs/facets").json()
    assert [app["count"] for app in facets["apps"]] == [1]
    assert {source["value"]: source["count"] for source in facets["sources"]}["probe"] == len(probes)


def test_preview_bounds_the_cost(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    run = failing(5)
    plan = post(client, "/bisections/preview", {"run": run, **QUICK}).json()
    assert (len(plan["forks"]), plan["refusals"]) == (TURNS, [])
    assert desk == []
    bisection = post(client, f"/runs/{run}/bisect", QUICK).json()
    work_off(queue)
    view = client.get(f"/api/v1/bisections/{bisection['id']}").json()
    assert view["result"]["commit"]["step"]["sequence_no"] == model_step(5)
    assert view["probes"] <= plan["most_probes"]
    assert len(desk) == view["live_calls"] <= plan["most_live_calls"]


def test_only_steps_after_the_fork_are_regenerated(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    post(client, f"/runs/{failing(3)}/bisect", {**QUICK, "parallel": 1})
    work_off(queue)
    for probe in BisectionProbe.objects.select_related("session"):
        assert probe.session.live_calls == TURNS - probe.place


def test_findings_survive_an_exhausted_budget(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    body = {"checks": CHECK, "reproduce": 1, "budget": {"max_live_calls": 20}}
    bisection = post(client, f"/runs/{failing(3)}/bisect", body).json()
    work_off(queue)
    view = client.get(f"/api/v1/bisections/{bisection['id']}").json()
    assert len(desk) <= 20
    assert view["status"] == "completed"
    assert "live calls of 20 are left" in view["error"]
    assert view["result"]["rescue"] == "rescued"
    assert view["result"]["commit"]["confidence"] == "low"


def test_bisection_resumes_between_two_probes(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    bisection = post(client, f"/runs/{failing(2)}/bisect", QUICK).json()
    while queue:
        runner.execute(UUID(queue.pop(0)))  # and the process ends before it looks what comes next
        if not queue:
            services.requeue_unfinished()
    view = client.get(f"/api/v1/bisections/{bisection['id']}").json()
    assert view["status"] == "completed"
    assert view["result"]["commit"]["step"]["sequence_no"] == model_step(2)


def test_concurrent_workers_start_each_probe_once(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    bisection = post(client, f"/runs/{failing(2)}/bisect", {"checks": CHECK, "parallel": 1}).json()
    runner.execute(UUID(queue.pop(0)))
    sessions_by_call = [scheduler.advance(UUID(bisection["id"])) for _ in range(3)]
    assert [len(sessions) for sessions in sessions_by_call] == [1, 0, 0]


def test_cancelled_bisection_keeps_its_result(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    bisection = post(client, f"/runs/{failing(3)}/bisect", {"checks": CHECK, "parallel": 1}).json()
    tasks.execute(queue.pop(0))
    cancelled_view = post(client, f"/bisections/{bisection['id']}/cancel").json()
    assert cancelled_view["status"] == "cancelled"
    assert [probe["verdict"] for probe in cancelled_view["results"]] == ["passed", "unclear"]
    assert cancelled_view["result"]["rescue"] == "rescued"
    work_off(queue)
    services.requeue_unfinished()
    assert queue == []
    assert len(desk) == TURNS


def test_diff_bisects_its_failing_run(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    fails = UUID(failing(3))
    passes = record(order_desk(conversation(None), external_id="passes")).run_id
    report = diffs.diff(base_id=passes, candidate_id=fails, options=DiffOptions(similarity="lexical"))
    response = post(client, f"/diffs/{report.id}/bisect", {"checks": CHECK})
    assert response.status_code == 201, response.json()
    assert (response.json()["run"], response.json()["diff"]) == (str(fails), str(report.id))
    assert response.json()["side"] == "candidate"
    vague = post(client, f"/diffs/{report.id}/bisect", {"checks": [{"kind": "contains", "text": "nonsense"}]})
    assert vague.status_code == 422
    assert "distinguish them" in vague.json()["detail"]


def test_judged_failure_is_bisected(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    """The question is the outcome; a check with the name of the person's judgement judges the forks."""
    run = failing(3)
    body: dict[str, Any] = {**QUICK, "question": "outcome", "checks": []}
    plan = post(client, "/bisections/preview", {**body, "run": run}).json()
    assert "the outcome of the run is unknown" in plan["refusals"][0]["detail"]
    post(client, f"/runs/{run}/judgements", {"kind": "fail", "name": "review"})
    refused = post(client, f"/runs/{run}/bisect", body)
    assert (refused.status_code, refused.json()["where"]) == (422, "/checks")
    assert "add a check named “review”" in refused.json()["detail"]
    body["checks"] = [{**CHECK[0], "name": "review"}]
    bisection = post(client, f"/runs/{run}/bisect", body).json()
    assert bisection["recorded"] == [{"name": "outcome", "passed": False, "detail": "review"}]
    work_off(queue)
    view = client.get(f"/api/v1/bisections/{bisection['id']}").json()
    assert (view["status"], view["result"]["commit"]["step"]["sequence_no"]) == ("completed", model_step(3))
    assert {check["name"] for probe in view["results"] for check in probe["checks"]} == {"outcome", "review"}


def test_passing_judgement_has_nothing_to_bisect(client: Client, desk: list[Exchange], queue: list[str]) -> None:
    run = failing(3)
    post(client, f"/runs/{run}/judgements", {"kind": "score", "name": "helpful", "value": 0.8})
    body = {**QUICK, "question": "judgement", "judgement": "helpful", "at_least": 0.5}
    body["checks"] = [{"kind": "contains", "text": "broke", "name": "helpful"}]
    plan = post(client, "/bisections/preview", {**body, "run": run}).json()
    assert "passes by its judgement helpful" in plan["refusals"][0]["detail"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/checks"),
        ({"question": "judgement", "checks": CHECK}, "/judgement"),
        ({"checks": [{"kind": "contains", "text": "it broke"}]}, "/checks"),
        ({"checks": [{"kind": "regex", "pattern": "("}]}, "/checks/0"),
        ({"checks": CHECK, "policy": {"order": "reuse"}}, "/policy/order"),
        ({"checks": CHECK, "budget": {"max_cost_usd": 1.0}}, "/budget/max_cost_usd"),
        (
            {"checks": CHECK, "overrides": {"overrides": [{"match": {"step": 3}, "output": "x"}]}},
            "/overrides/overrides/0/match/step",
        ),
    ],
)
def test_invalid_bisection_is_refused_with_its_place(
    client: Client, desk: list[Exchange], queue: list[str], body: dict[str, Any], pointer: str
) -> None:
    run = failing(3)
    response = post(client, f"/runs/{run}/bisect", body)
    assert (response.status_code, response.json()["where"]) == (422, pointer)
    plan = post(client, "/bisections/preview", {**body, "run": run}).json()
    assert [refusal["where"] for refusal in plan["refusals"]] == [pointer]
    assert not Bisection.objects.exists()


def test_unsealed_run_gets_a_single_refusal(client: Client) -> None:
    unsealed_run = open_run(name="open", app="desk", source_run=None)
    body = {"run": str(unsealed_run.id), "checks": [{"kind": "regex", "pattern": ".*"}]}
    plan = post(client, "/bisections/preview", body).json()
    assert [(refusal["code"], refusal["where"]) for refusal in plan["refusals"]] == [("source_not_sealed", "/run")]


def test_unanswered_probe_has_no_verdict(
    client: Client, desk: list[Exchange], settings: Settings, queue: list[str]
) -> None:
    bisection = post(client, f"/runs/{failing(3)}/bisect", {"checks": CHECK}).json()
    settings.PROVIDERS = {}
    providers.close()
    work_off(queue)
    view = client.get(f"/api/v1/bisections/{bisection['id']}").json()
    assert (view["status"], view["result"]["reproduction"]) == ("failed", "unclear")
    assert "no provider answered for its model" in view["error"]


def test_run_without_a_provider_is_refused(client: Client, settings: Settings, queue: list[str]) -> None:
    settings.PROVIDERS = {}
    response = post(client, f"/runs/{failing(3)}/bisect", {"checks": CHECK})
    assert response.status_code == 422
    assert "nothing is configured to execute" in response.json()["detail"]
