"""Trials of tools and retrievers, over REST."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from cockpit.http import tokens
from cockpit.http.schemas import Role
from replay.execution import task_names
from replay.models import Trial
from replay.tool_review import services
from replay.trials import runner
from tests.support.patience import wait_until
from tests.support.queues import capture_tasks
from tests.support.servers.provider_server import ProviderServer, provider_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
SEARCH_RESULT = {"documents": [{"id": "a", "content": "Lost parcels are refunded.", "score": 0.9}]}


@pytest.fixture(autouse=True)
def queue(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Disable the queue: the tests run trials themselves."""
    return capture_tasks(monkeypatch, task_names.TRY_OUT)


@pytest.fixture
def endpoint(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(lambda exchange: exchange.status(200, SEARCH_RESULT)) as server:
        settings.TOOLS = {"get_order": {"http": {"url": f"{server.base_url}/orders"}, "timeout_s": 5}}
        settings.RETRIEVERS = {"policies": {"http": {"url": f"{server.base_url}/search"}, "timeout_s": 5}}
        yield server


def post(path: str, body: Any, **headers: str) -> Any:
    return Client().post(f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers)


def get(path: str, **headers: str) -> Any:
    return Client().get(f"/api/v1/{path}", headers=headers)


def run_trial(path: str, body: Any, queue: list[str]) -> Any:
    """Return the finished trial."""
    response = post(path, body)
    assert response.status_code == 202, response.json()
    assert (response.json()["status"], queue) == ("pending", [response.json()["id"]])
    runner.run(Trial.objects.get().id)
    return get(f"trials/{response.json()['id']}").json()


def test_safe_tool_trial_runs_once(endpoint: ProviderServer, queue: list[str]) -> None:
    services.decide({"get_order": True}, author="ada")
    trial = run_trial("tools/trials", {"name": "get_order", "arguments": {"order_id": "B-9"}}, queue)
    assert (trial["status"], trial["output"], trial["output_status"]) == ("succeeded", SEARCH_RESULT, "ok")
    assert (trial["by"], trial["executor"], trial["confirmed"]) == ("local", "http POST 127.0.0.1", False)
    assert trial["duration_ms"] > 0
    exchange = endpoint.requests[0]
    assert (exchange.body, exchange.headers["forkpoint-replay"]) == ({"order_id": "B-9"}, f"trial-{trial['id']}")
    runner.run(Trial.objects.get().id)  # the queue says it twice
    assert len(endpoint.requests) == 1
    assert [item["id"] for item in get("trials?kind=tool&name=get_order").json()["trials"]] == [trial["id"]]
    assert get("trials?kind=retrieval").json()["trials"] == []


@pytest.mark.parametrize(
    ("safe", "reason"), [(None, "it has not been reviewed"), (False, "reviewed as having side effects")]
)
def test_unsafe_tool_trial_needs_confirmation(
    endpoint: ProviderServer, queue: list[str], safe: bool | None, reason: str
) -> None:
    services.decide({"get_order": safe}, author="ada")
    refusal = post("tools/trials", {"name": "get_order"})
    assert (refusal.status_code, refusal.json()["code"]) == (409, "tool_review_required")
    assert reason in refusal.json()["detail"]
    assert (Trial.objects.count(), queue) == (0, [])
    trial = run_trial("tools/trials", {"name": "get_order", "confirmed": True}, queue)
    assert (trial["status"], trial["confirmed"]) == ("succeeded", True)


def test_trial_reports_tool_errors_and_failures(endpoint: ProviderServer, queue: list[str]) -> None:
    endpoint.respond = lambda exchange: exchange.status(404, {"error": "no such order"})
    trial = run_trial("tools/trials", {"name": "get_order", "confirmed": True}, queue)
    assert (trial["status"], trial["output_status"], trial["output"]) == (
        "succeeded",
        "error",
        {"error": "no such order"},
    )
    Trial.objects.all().delete()
    queue.clear()
    endpoint.respond = lambda exchange: exchange.status(500, "oops")
    trial = run_trial("tools/trials", {"name": "get_order", "confirmed": True}, queue)
    assert (trial["status"], trial["error_code"], len(endpoint.requests)) == ("failed", "tool_unavailable", 2)
    assert "oops" in trial["error"]


def test_retriever_trial_shows_documents(endpoint: ProviderServer, queue: list[str]) -> None:
    retrievers = get("retrievers").json()["retrievers"]
    assert [(item["name"], item["kind"], item["serves"], item["top_k"]) for item in retrievers] == [
        ("policies", "http", ["policies"], 10)
    ]
    body = {"name": "policies", "query": "lost", "top_k": 3, "filters": {"lang": "en"}}
    trial = run_trial("retrievers/trials", body, queue)
    assert (trial["status"], trial["output"]["documents"]) == ("succeeded", SEARCH_RESULT["documents"])
    assert endpoint.requests[0].body == {"query": "lost", "top_k": 3, "filters": {"lang": "en"}}


@pytest.mark.parametrize(
    ("path", "body", "location"),
    [
        ("tools/trials", {"name": "other"}, "/name"),
        ("tools/trials", {"name": "get_order", "arguments": [1]}, "/arguments"),
        ("tools/trials", {"name": "get_order", "confirmed": "yes"}, "/confirmed"),
        ("retrievers/trials", {"name": "other", "query": "q"}, "/name"),
        ("retrievers/trials", {"name": "policies", "query": ""}, "/query"),
        ("retrievers/trials", {"name": "policies", "query": "q", "top_k": -1}, "/top_k"),
    ],
)
@pytest.mark.usefixtures("endpoint")
def test_invalid_trial_is_refused(path: str, body: Any, location: str) -> None:
    response = post(path, body)
    assert response.status_code == 422
    assert response.json()["where"] == location


@pytest.mark.usefixtures("endpoint")
def test_trial_of_dead_worker_fails(queue: list[str]) -> None:
    post("tools/trials", {"name": "get_order", "confirmed": True})
    trial = Trial.objects.get()
    past = timezone.now() - timedelta(seconds=1)
    Trial.objects.filter(id=trial.id).update(status="running", over_at=past)
    view = get(f"trials/{trial.id}").json()
    assert (view["status"], view["error_code"]) == ("failed", "worker_lost")
    assert get("trials/nothing").status_code == 404
    Trial.objects.filter(id=trial.id).update(status="pending", at=past - runner.PENDING_LIMIT)
    runner.run(trial.id)
    assert "nothing ran" in get(f"trials/{trial.id}").json()["error"]


@pytest.mark.usefixtures("endpoint")
def test_trials_require_an_administrator(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    roles: tuple[tuple[Role, int], ...] = (("viewer", 403), ("debugger", 403), ("admin", 202))
    for role, status in roles:
        headers = {"Authorization": f"Bearer {tokens.create(name=role, role=role)}"}
        assert post("tools/trials", {"name": "get_order", "confirmed": True}, **headers).status_code == status
        assert post("retrievers/trials", {"name": "policies", "query": "q"}, **headers).status_code == status
        assert get("trials", **headers).status_code == (200 if role == "admin" else 403)
        assert get("retrievers", **headers).status_code == 200
    assert set(Trial.objects.values_list("by", flat=True)) == {"admin"}


def test_worker_runs_the_trial(
    endpoint: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.undo()  # this time it is queued
    monkeypatch.setenv("FORKPOINT_TOOLS", json.dumps(settings.TOOLS))
    request.getfixturevalue("worker")
    pending_trial = post("tools/trials", {"name": "get_order", "confirmed": True}).json()

    def look() -> Any:
        view = get(f"trials/{pending_trial['id']}").json()
        return None if view["status"] in {"pending", "running"} else view

    finished_trial = wait_until(look, 30)
    assert (finished_trial["status"], finished_trial["output"]) == ("succeeded", SEARCH_RESULT)
