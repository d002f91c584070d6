"""Experiments over REST: many forks of one run, by a real worker with a real model server."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from replay import tasks
from replay.core.errors import ReplayFailure
from replay.execution import runner, task_names
from replay.experiments import queries, scheduler, services
from replay.live import providers
from replay.models import Experiment, ExperimentRow, ReplaySession
from replay.sessions import prepare
from replay.sessions.services import requeue_unfinished
from tests.bench import recordings
from tests.services.sockets import open_socket
from tests.support import proofs
from tests.support.demo import load_demo
from tests.support.patience import wait_until
from tests.support.queues import capture_tasks
from tests.support.recordings import tool_message
from tests.support.replay_runs import Reply, order_desk
from tests.support.servers.provider_server import Exchange, openai_chunk, provider_server
from traces.core.json_types import JSONObject, JSONValue
from traces.models import Judgement, RunOutcome
from traces.payloads.messages import ModelRequest
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
LIMIT_S = 60
MODELS: dict[str, Any] = {"type": "model"}
local_model = proofs.local_model


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json", headers=headers)


def wait_for_end(client: Client, experiment: str, *, with_results: bool = True) -> dict[str, Any]:
    """The experiment once every row has ended and, if requested, was judged."""
    view: dict[str, Any] = {}

    def look() -> dict[str, Any] | None:
        view.update(client.get(f"/api/v1/experiments/{experiment}").json())
        rows = [row for row in view["results"] if row["status"].startswith("completed")]
        is_done = view["status"] != "running" and (not with_results or all(row["checks"] is not None for row in rows))
        return view if is_done else None

    return wait_until(look, LIMIT_S, lambda: f"{view['status']}: {[row['status'] for row in view['results']]}")


@pytest.fixture
def no_queue(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the sessions that would be queued; the test runs them itself."""
    capture_tasks(monkeypatch, task_names.COMPARE)
    return capture_tasks(monkeypatch, task_names.EXECUTE)


@pytest.fixture
def desk(settings: Settings) -> Iterator[str]:
    """A run, and a model server that answers every call with the model's name."""

    def respond(exchange: Exchange) -> None:
        exchange.stream()
        exchange.send(openai_chunk({"role": "assistant", "content": f"I am {exchange.body['model']}"}))
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        exchange.send(openai_chunk(finish="stop", usage=usage))
        exchange.send("[DONE]")

    with provider_server(respond) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield str(record(order_desk()).run_id)
        providers.close()


def matrix(run: str, *names: str, **more: Any) -> dict[str, Any]:
    values = [
        {"name": name, "overrides": [{"match": MODELS, "model": {"provider": "desk", "model": name}}]} for name in names
    ]
    return {"run": run, "fork_step": 3, "axes": [{"name": "model", "values": values}], **more}


def work_off(queue: list[str]) -> None:
    """Run the sessions one after another, as a worker would."""
    while queue:
        tasks.execute(queue.pop(0))


def test_experiment_compares_models_and_prompts(
    client: Client, local_model: None, request: pytest.FixtureRequest
) -> None:
    """The small model mistakes cents for euros unless the prompt states the unit."""
    request.getfixturevalue("worker")
    fixed_session = load_demo()
    assert fixed_session is not None
    prompt_overrides = fixed_session.profile.profile["overrides"]
    body = {
        "run": str(fixed_session.source_run_id),
        "fork_step": fixed_session.fork_sequence_no,
        "name": "Units",
        "samples": 2,
        "axes": [
            {
                "name": "model",
                "values": [
                    {"name": name, "overrides": [{"match": MODELS, "model": {"model": name}}]}
                    for name in ("desk-small-1", "desk-large-1")
                ],
            },
            {
                "name": "prompt",
                "values": [{"name": "as recorded"}, {"name": "units told", "overrides": prompt_overrides}],
            },
        ],
        "checks": [{"kind": "contains", "text": "42.00 EUR"}],
    }
    plan = post(client, "/experiments/preview", body).json()
    assert (plan["rows"], len(plan["cells"]), plan["refusals"]) == (8, 4, [])
    assert plan["live_calls"] > 8
    response = post(client, "/experiments", body, **{"Idempotency-Key": "once"})
    assert response.status_code == 201, response.json()
    repeated_response = post(client, "/experiments", body, **{"Idempotency-Key": "once"})
    assert repeated_response.json()["id"] == response.json()["id"]
    view = wait_for_end(client, response.json()["id"])
    assert (view["status"], view["finished"], view["failed"]) == ("completed", 8, 0)
    rates = {tuple(setting["value"] for setting in cell["settings"]): cell["pass_rate"] for cell in view["aggregates"]}
    assert rates[("desk-small-1", "as recorded")] == 0
    assert rates[("desk-small-1", "units told")] == 1
    for row in view["results"]:
        assert row["diff"] is not None
        assert 0 <= row["ars"] <= 1
        assert row["live_calls"] > 0
        assert row["latency_ms"] > 0
        (check,) = Judgement.objects.filter(run=row["run"], source="check")
        passes = row["checks"][0]["passed"]
        assert (check.name, check.kind) == (row["checks"][0]["name"], "pass" if passes else "fail")
        # the demo's validator does not run in a fork: a check that passes alone verifies nothing
        assert RunOutcome.objects.get(run=row["run"]).outcome == ("unverified" if passes else "failed")
    assert ReplaySession.objects.filter(experiment_row__isnull=False).count() == 8
    first, second = view["results"][0]["run"], view["results"][1]["run"]
    assert post(client, "/diffs", {"base": first, "candidate": second}).status_code in (200, 201)


def test_joint_plans_equal_separate_plans(desk: str) -> None:
    """Cells share what is read of the run, and nothing else."""
    request = services.parse(matrix(desk, "a", "m1", policy={"order": "reuse"}))
    together = services.plan_cells(request)
    assert len({cell.overrides.digest for cell, _ in together}) == 2
    for _, replay in [*together, *reversed(together)]:
        assert prepare.prepare(replay.request, brief=True).plan == replay.plan


def test_plan_finds_a_result_of_another_run(settings: Settings) -> None:
    """Cells whose results no run contains share a plan; the others look up their requests."""
    settings.PROVIDERS = {"openai": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    run = recordings.desk(2, "source")
    ask, look, tell = run.steps[:3]
    assert isinstance(tell.input, dict)
    messages: list[JSONValue] = [*ModelRequest(tell.input).messages[:-1], tool_message("call-0", "Lost.")]
    changed_reader = replace(tell, input={**tell.input, "messages": messages})
    record(replace(run, external_id="other", steps=(ask, replace(look, output="Lost."), changed_reader)))
    values: list[JSONValue] = [
        {"name": text, "overrides": [{"match": {"type": "tool"}, "tool": {"output": text}}]}
        for text in ("Gone.", "Lost.", "Late.")
    ]
    axes: JSONValue = [{"name": "result", "values": values}]
    run_id = str(record(run).run_id)
    request = services.parse({"run": run_id, "fork_step": 1, "axes": axes, "policy": {"order": "reuse"}})
    joint_plans = [replay.plan for _, replay in services.plan_cells(request)]
    assert [plan.live_calls for plan in joint_plans] == [2, 1, 2]
    assert [
        prepare.prepare(replay.request, brief=True).plan for _, replay in services.plan_cells(request)
    ] == joint_plans


def test_planning_queries_do_not_grow_with_the_run(desk: str) -> None:
    """Data for live calls is prefetched, whether or not an override names the step."""
    counts = []
    for turns in (10, 60):
        conversation = [(f"Where is A-{at}?", [Reply(f"It is lost, {at}.")]) for at in range(turns)]
        run = str(record(order_desk(conversation, external_id=f"{turns} turns")).run_id)
        answer: JSONObject = {"message": {"role": "assistant", "content": "Gone."}}
        overrides: JSONObject = {"overrides": [{"match": {"step": 3}, "output": answer}]}
        experiment_request = services.parse({"run": run, "fork_step": 3, "overrides": overrides})
        with CaptureQueriesContext(connection) as queries_made:
            [(_, replay)] = services.plan_cells(experiment_request)
        assert replay.plan.live_calls == turns - 1
        counts.append(len(queries_made))
    assert abs(counts[1] - counts[0]) < 10  # not one for each turn


def test_parallel_limits_running_rows(client: Client, desk: str, no_queue: list[str]) -> None:
    experiment = post(client, "/experiments", matrix(desk, "a", "b", "c", "d", parallel=2)).json()
    assert len(no_queue) == 2
    assert [row["queued"] for row in experiment["results"]] == [False, False, True, True]
    requeue_unfinished()
    assert len(set(no_queue)) == 2  # those whose turn it is, again
    tasks.execute(no_queue[0])
    assert len(set(no_queue)) == 3
    work_off(no_queue)
    assert wait_for_end(client, experiment["id"], with_results=False)["finished"] == 4


def test_experiment_resumes_after_a_crash(client: Client, desk: str, no_queue: list[str]) -> None:
    experiment = post(client, "/experiments", matrix(desk, "a", "b", "c", parallel=1)).json()
    runner.execute(UUID(no_queue.pop()))  # and the process ends before it queues the next one
    no_queue.clear()
    services.requeue_unfinished()
    assert len(no_queue) == 1
    work_off(no_queue)
    assert wait_for_end(client, experiment["id"], with_results=False)["finished"] == 3
    for session in ExperimentRow.objects.values_list("session_id", flat=True):
        tasks.compare(str(session))
    rows = client.get(f"/api/v1/experiments/{experiment['id']}").json()["results"]
    assert all(row["answer"] for row in rows)
    assert services.requeue_unfinished() == 0


def test_cancelled_experiment_starts_no_row(client: Client, desk: str, no_queue: list[str]) -> None:
    experiment = post(client, "/experiments", matrix(desk, "a", "b", "c", parallel=1)).json()
    tasks.execute(no_queue.pop(0))
    cancelled_view = post(client, f"/experiments/{experiment['id']}/cancel").json()
    assert cancelled_view["status"] == "cancelled"
    assert [row["status"] for row in cancelled_view["results"]][1:] == ["cancelled", "cancelled"]
    assert cancelled_view["results"][0]["status"].startswith("completed")
    work_off(no_queue)
    services.requeue_unfinished()
    assert no_queue == []
    assert client.get("/api/v1/experiments").json()["experiments"][0]["status"] == "cancelled"


def test_placeholder_answer_is_unverified(client: Client, desk: str, no_queue: list[str]) -> None:
    """Without a live call nothing answers the changed prompt, so a check of the answer decides nothing."""
    body = matrix(desk, "a", policy={"allow": [], "order": "reuse"}, checks=[{"kind": "contains", "text": "42.00 EUR"}])
    experiment = post(client, "/experiments", body).json()
    work_off(no_queue)
    tasks.compare(experiment["results"][0]["session"])
    view = wait_for_end(client, experiment["id"])
    (row,), (cell,) = view["results"], view["aggregates"]
    assert "a placeholder stands for the model's answer" in row["unverified"]
    assert (cell["finished"], cell["unverified"], cell["pass_rate"]) == (1, 1, None)
    assert [check.kind for check in Judgement.objects.filter(run=row["run"], source="check")] == ["not_run"]


def test_budget_limits_all_rows_together(client: Client, desk: str, no_queue: list[str]) -> None:
    body = matrix(desk, "a", "b", "c", budget={"max_live_calls": 3}, parallel=4)
    experiment = post(client, "/experiments", body).json()
    workers = [threading.Thread(target=_execute, args=(session,)) for session in no_queue]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    view = wait_for_end(client, experiment["id"], with_results=False)
    assert sum(row["live_calls"] for row in view["results"]) == 3
    assert Experiment.objects.get().live_calls == 3
    failed = [row for row in view["results"] if row["status"] == "failed_execution"]
    assert failed
    assert all("allows 3 live calls" in row["error"] for row in failed)


def _execute(session: str) -> None:
    from django.db import connections

    try:
        runner.execute(UUID(session))
    finally:
        connections.close_all()


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"samples": 0}, "validation_error", "/samples"),
        ({"samples": 2, "policy": {"order": "reuse"}}, "policy_conflict", "/policy/order"),
        ({"checks": [{"kind": "regex", "pattern": "("}]}, "validation_error", "/checks/0"),
        (
            {"fork_step": 5, "overrides": {"overrides": [{"match": {"step": 4}, "output": 1}]}},
            "override_before_fork",
            "/overrides/overrides/0/match/step",
        ),
        (
            {
                "axes": [
                    {
                        "name": "x",
                        "values": [{"name": "y", "overrides": [{"match": {"step": 4}, "model": {"model": "m"}}]}],
                    }
                ]
            },
            "override_matches_nothing",
            "/axes/0/values/0/overrides/0/model",
        ),
    ],
)
def test_invalid_experiment_is_refused_with_its_place(
    client: Client, desk: str, no_queue: list[str], change: dict[str, Any], code: str, pointer: str
) -> None:
    response = post(client, "/experiments", {**matrix(desk, "a"), **change})
    assert (response.status_code, response.json()["code"], response.json()["where"]) == (422, code, pointer)
    assert not Experiment.objects.exists()
    assert not ReplaySession.objects.exists()
    if change.get("samples") != 0:
        plan = post(client, "/experiments/preview", {**matrix(desk, "a"), **change}).json()
        assert (code, pointer) in [(refusal["code"], refusal["where"]) for refusal in plan["refusals"]]


def test_reused_key_is_a_conflict(client: Client, desk: str, no_queue: list[str]) -> None:
    assert post(client, "/experiments", matrix(desk, "a"), **{"Idempotency-Key": "k"}).status_code == 201
    assert post(client, "/experiments", matrix(desk, "b"), **{"Idempotency-Key": "k"}).status_code == 409


def test_watcher_sees_changes_once_in_order(client: Client, desk: str, no_queue: list[str]) -> None:
    view = post(client, "/experiments", matrix(desk, "a", "b", parallel=1)).json()
    experiment, last_seq = UUID(view["id"]), view["seq"]
    rows = {row["number"]: row for row in view["results"]}
    while no_queue:
        tasks.execute(no_queue.pop(0))
        messages = queries.messages_after(experiment, last_seq)
        numbers = [message.seq for message in messages]
        assert numbers == sorted(set(numbers))
        assert numbers[0] > last_seq
        last_seq = numbers[-1]
        for message in messages:
            if message.type == "experiment_row":
                rows[message.row.number] = message.row.model_dump(mode="json")
    assert queries.messages_after(experiment, last_seq) == []
    now = client.get(f"/api/v1/experiments/{experiment}").json()
    assert list(rows.values()) == now["results"]
    assert now["seq"] == last_seq


@pytest.mark.parametrize(
    ("spending", "code"),
    [({"cost_usd": "0.49"}, None), ({"cost_usd": "0.5"}, "budget_cost"), ({"live_calls": 2}, "budget_live_calls")],
)
def test_call_beyond_the_budget_is_refused(spending: dict[str, Any], code: str | None) -> None:
    run = record(order_desk([("Where is A-1?", [Reply("There.")])])).run_id
    experiment = Experiment.objects.create(
        source_run_id=run, fork_sequence_no=1, request={}, parallel=2, max_cost_usd="0.5", max_live_calls=2, **spending
    )
    before = experiment.live_calls
    if code is None:
        scheduler.take_call(experiment.id, 3)
    else:
        with pytest.raises(ReplayFailure) as error:
            scheduler.take_call(experiment.id, 3)
        assert (error.value.code, error.value.step) == (code, 3)
    experiment.refresh_from_db()
    assert experiment.live_calls == before + (code is None)


@pytest.mark.asyncio
async def test_socket_sends_experiment_changes(desk: str, no_queue: list[str]) -> None:
    request = services.parse(matrix(desk, "a"))
    experiment = await database_sync_to_async(services.start)(request)
    view = await database_sync_to_async(queries.view)(experiment)
    async with open_socket(f"experiment={experiment.id}&after={view.seq}") as socket:
        await socket.connect()
        await asyncio.sleep(0.1)
        await database_sync_to_async(scheduler.touch)(UUID(no_queue[0]))
        row, sums = await socket.next(), await socket.next()
    assert (row["type"], row["row"]["number"], sums["type"]) == ("experiment_row", 1, "experiment")
    assert view.seq < row["seq"] < sums["seq"]
