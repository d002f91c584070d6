"""The REST API of replay sessions."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client

from replay.execution import runner, task_names
from replay.models import ReplaySession
from tests.support.query_plans import rows_read
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.core.ids import new_id
from traces.runs.services import record

pytestmark = pytest.mark.django_db(transaction=True)
REUSE = ("reuse", "exact", "source_output_reused")


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def body() -> dict[str, Any]:
    wrong = {"match": {"step": 4}, "tool": {"output": "not found"}}
    return {"run": str(record(order_desk()).run_id), "fork_step": 3, "overrides": {"overrides": [wrong]}}


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json", headers=headers)


def test_preview_lists_steps_from_fork(client: Client, body: dict[str, Any]) -> None:
    answer = post(client, "/replays/preview", body)
    assert answer.status_code == 200
    plan = answer.json()
    assert [step["sequence_no"] for step in plan["steps"]] == list(range(1, 11))
    assert [step["reason"] for step in plan["steps"][:2]] == ["derived"] * 2  # they hold what follows
    assert (plan["actions"]["inherited"], plan["actions"]["reuse"], plan["refusals"]) == (0, 1, [])
    assert client.get("/api/v1/replays").json() == {"sessions": []}


def test_list_does_not_read_probes(client: Client, body: dict[str, Any]) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads a small table from beginning to end")
    post(client, "/replays", body)
    session = ReplaySession.objects.get()
    columns = {field.attname: getattr(session, field.attname) for field in ReplaySession._meta.concrete_fields}
    columns |= {"run_id": None, "is_probe": True}
    ReplaySession.objects.bulk_create(ReplaySession(**columns | {"id": new_id()}) for _ in range(1_000))
    assert len(client.get("/api/v1/replays").json()["sessions"]) == 1
    assert rows_read(lambda: client.get("/api/v1/replays")) < 200


@pytest.mark.parametrize("entries", [1, 0])
def test_preview_can_omit_untouched_steps(client: Client, body: dict[str, Any], entries: int) -> None:
    del body["overrides"]["overrides"][entries:]
    whole = post(client, "/replays/preview?untouched=true", body).json()
    brief = post(client, "/replays/preview?untouched=false", body).json()
    left_out = [step for step in whole["steps"] if step not in brief["steps"]]
    assert {**brief, "steps": whole["steps"]} == whole
    assert {(step["action"], step["label"], step["reason"]) for step in left_out} == {REUSE}
    assert len(left_out) + len(brief["steps"]) == len(whole["steps"])
    refusal = post(client, "/replays/preview?untouched=0", body)
    assert (refusal.status_code, refusal.json()["where"]) == (400, "/untouched")


def test_replay_is_launched_and_found(client: Client, body: dict[str, Any]) -> None:
    response = post(client, "/replays", body, **{"Idempotency-Key": "k1"})
    assert response.status_code == 201
    session = response.json()
    assert post(client, "/replays", body, **{"Idempotency-Key": "k1"}).json()["id"] == session["id"]
    runner.execute(UUID(session["id"]))
    after = client.get(f"/api/v1/replays/{session['id']}").json()
    assert (after["status"], after["counts"]["exact"], after["counts"]["simulated"]) == ("completed_mixed", 1, 9)
    assert [item["id"] for item in client.get(f"/api/v1/replays?run={body['run']}").json()["sessions"]] == [
        session["id"]
    ]


def test_waiting_session_is_cancelled_immediately(client: Client, body: dict[str, Any]) -> None:
    session = post(client, "/replays", body).json()
    assert post(client, f"/replays/{session['id']}/cancel").json()["status"] == "cancelled"
    refusal = post(client, f"/replays/{session['id']}/answer", {"sequence_no": 4, "action": "fallback"})
    assert (refusal.status_code, refusal.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("change", "status", "code", "location"),
    [
        ({"fork_step": 77}, 404, "not_found", "/fork_step"),
        ({"run": "nothing"}, 404, "not_found", ""),
        ({"policy": {"max_turns": 0}}, 422, "validation_error", "/policy/max_turns"),
        ({"fork_step": 5}, 422, "override_before_fork", "/overrides/overrides/0/match/step"),
    ],
)
def test_errors_name_their_location(
    client: Client, body: dict[str, Any], change: dict[str, Any], status: int, code: str, location: str
) -> None:
    answer = post(client, "/replays", {**body, **change})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["where"]) == (status, code, location)


def test_preview_contains_refusals(client: Client, body: dict[str, Any]) -> None:
    plan = post(client, "/replays/preview", {**body, "fork_step": 5}).json()
    assert [refusal["code"] for refusal in plan["refusals"]] == ["override_before_fork"]


def test_providers_are_listed_without_keys(client: Client, settings: Any) -> None:
    settings.PROVIDERS = {
        "desk": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "DESK_KEY"}
    }
    providers = client.get("/api/v1/providers").json()["providers"]
    assert providers[-1] | {"models": []} == {
        "name": "desk",
        "protocol": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "models": [],
        "local": False,
        "description": "",
    }
