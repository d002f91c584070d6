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

pytestmark = pytest.mark.django_db(transaction=True)
FOUND = {"documents": [{"id": "a", "content": "Lost parcels are refunded.", "score": 0.9}]}


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Disable the queue: the tests run trials themselves."""
    return capture_tasks(monkeypatch, task_names.TRY_OUT)


@pytest.fixture
def endpoint(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(lambda exchange: exchange.status(200, FOUND)) as server:
        settings.TOOLS = {"get_order": {"http": {"url": f"{server.base_url}/orders"}, "timeout_s": 5}}
        settings.RETRIEVERS = {"policies": {"http": {"url": f"{server.base_url}/search"}, "timeout_s": 5}}
        yield server


def post(path: str, body: Any, **headers: str) -> Any:
    return Client().post(f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers)


def get(path: str, **headers: str) -> Any:
    return Client().get(f"/api/v1/{path}", headers=headers)


def tried(path: str, body: Any, queued: list[str]) -> Any:
    """Return the finished trial."""
    started = post(path, body)
    assert started.status_code == 202, started.json()
    assert (started.json()["status"], queued) == ("pending", [started.json()["id"]])
    runner.run(Trial.objects.get().id)
    return get(f"trials/{started.json()['id']}").json()


def test_safe_tool_trial_runs_once(endpoint: ProviderServer, queued: list[str]) -> None:
    services.decide({"get_order": True}, author="ada")
    seen = tried("tools/trials", {"name": "get_order", "arguments": {"order_id": "B-9"}}, queued)
    assert (seen["status"], seen["output"], seen["output_status"]) == ("succeeded", FOUND, "ok")
    assert (seen["by"], seen["executor"], seen["confirmed"]) == ("local", "http POST 127.0.0.1", False)
    assert seen["duration_ms"] > 0
    asked = endpoint.seen[0]
    assert (asked.body, asked.headers["forkpoint-replay"]) == ({"order_id": "B-9"}, f"trial-{seen['id']}")
    runner.run(Trial.objects.get().id)  # the queue says it twice
    assert len(endpoint.seen) == 1
    assert [one["id"] for one in get("trials?kind=tool&name=get_order").json()["trials"]] == [seen["id"]]
    assert get("trials?kind=retrieval").json()["trials"] == []


@pytest.mark.parametrize(
    ("safe", "why"), [(None, "it has not been reviewed"), (False, "reviewed as having side effects")]
)
def test_unsafe_tool_trial_needs_confirmation(
    endpoint: ProviderServer, queued: list[str], safe: bool | None, why: str
) -> None:
    services.decide({"get_order": safe}, author="ada")
    refused = post("tools/trials", {"name": "get_order"})
    assert (refused.status_code, refused.json()["code"]) == (409, "tool_review_required")
    assert why in refused.json()["detail"]
    assert (Trial.objects.count(), queued) == (0, [])
    seen = tried("tools/trials", {"name": "get_order", "confirmed": True}, queued)
    assert (seen["status"], seen["confirmed"]) == ("succeeded", True)


def test_trial_reports_tool_errors_and_failures(endpoint: ProviderServer, queued: list[str]) -> None:
    endpoint.respond = lambda exchange: exchange.status(404, {"error": "no such order"})
    seen = tried("tools/trials", {"name": "get_order", "confirmed": True}, queued)
    assert (seen["status"], seen["output_status"], seen["output"]) == ("succeeded", "error", {"error": "no such order"})
    Trial.objects.all().delete()
    queued.clear()
    endpoint.respond = lambda exchange: exchange.status(500, "oops")
    seen = tried("tools/trials", {"name": "get_order", "confirmed": True}, queued)
    assert (seen["status"], seen["error_code"], len(endpoint.seen)) == ("failed", "tool_unavailable", 2)
    assert "oops" in seen["error"]


def test_retriever_trial_shows_documents(endpoint: ProviderServer, queued: list[str]) -> None:
    listed = get("retrievers").json()["retrievers"]
    assert [(one["name"], one["kind"], one["serves"], one["top_k"]) for one in listed] == [
        ("policies", "http", ["policies"], 10)
    ]
    body = {"name": "policies", "query": "lost", "top_k": 3, "filters": {"lang": "en"}}
    seen = tried("retrievers/trials", body, queued)
    assert (seen["status"], seen["output"]["documents"]) == ("succeeded", FOUND["documents"])
    assert endpoint.seen[0].body == {"query": "lost", "top_k": 3, "filters": {"lang": "en"}}


@pytest.mark.parametrize(
    ("path", "body", "where"),
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
def test_invalid_trial_is_refused(path: str, body: Any, where: str) -> None:
    refused = post(path, body)
    assert refused.status_code == 422
    assert refused.json()["where"] == where


@pytest.mark.usefixtures("endpoint")
def test_trial_of_dead_worker_fails(queued: list[str]) -> None:
    post("tools/trials", {"name": "get_order", "confirmed": True})
    trial = Trial.objects.get()
    past = timezone.now() - timedelta(seconds=1)
    Trial.objects.filter(id=trial.id).update(status="running", over_at=past)
    seen = get(f"trials/{trial.id}").json()
    assert (seen["status"], seen["error_code"]) == ("failed", "worker_lost")
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
    started = post("tools/trials", {"name": "get_order", "confirmed": True}).json()

    def look() -> Any:
        view = get(f"trials/{started['id']}").json()
        return None if view["status"] in {"pending", "running"} else view

    seen = wait_until(look, 30)
    assert (seen["status"], seen["output"]) == ("succeeded", FOUND)
