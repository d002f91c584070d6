"""Properties of every server response."""

from typing import Any, get_args
from unittest.mock import Mock

import pytest
import redis
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from cockpit.http import tokens
from cockpit.http.schemas import Role
from tests.support.comparing import failing_refund
from tests.support.stored_diffs import store_run
from traces.models import Step

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def test_ready_names_each_dependency() -> None:
    response = Client().get("/api/v1/ready")
    assert response.json() == {"ready": True, "checks": {"database": "ok", "broker": "ok", "storage": "ok"}}


def test_not_ready_states_the_problem(settings: Settings) -> None:
    settings.STORAGES = {**settings.STORAGES, "artifacts": {"BACKEND": "nowhere.Storage"}}
    response = Client().get("/api/v1/ready")
    assert response.status_code == 503
    assert "nowhere" in response.json()["checks"]["storage"]


@pytest.mark.own_services
def test_not_ready_with_a_full_redis(settings: Settings) -> None:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.config_set("maxmemory", "1")
        try:
            response = Client().get("/api/v1/ready")
        finally:
            client.config_set("maxmemory", "0")
    assert response.status_code == 503
    assert "maxmemory" in response.json()["checks"]["broker"]
    assert Client().get("/api/v1/ready").status_code == 200


def test_only_admins_see_dependency_errors(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    settings.STORAGES = {**settings.STORAGES, "artifacts": {"BACKEND": "nowhere.Storage"}}
    bearer = {role: {"Authorization": f"Bearer {tokens.create(name=role, role=role)}"} for role in get_args(Role)}
    checks = {role: Client().get("/api/v1/ready", headers=headers).json()["checks"] for role, headers in bearer.items()}
    checks["nobody"] = Client().get("/api/v1/ready").json()["checks"]
    assert "nowhere" in checks.pop("admin")["storage"]
    hidden = {"database": "ok", "broker": "ok", "storage": "unavailable; see the server log"}
    assert checks == dict.fromkeys(("sender", "viewer", "debugger", "nobody"), hidden)


def test_database_outage_during_login_is_reported(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LOGIN_REQUIRED = True
    monkeypatch.setattr(tokens, "find", Mock(side_effect=OperationalError("server at 10.0.0.5 closed the connection")))
    response = Client(raise_request_exception=False).get("/api/v1/runs", headers={"Authorization": "Bearer fp_x"})
    assert response.status_code == 503
    problem = response.json()
    assert (problem["code"], problem["retryable"]) == ("dependency_unavailable", True)
    assert "10.0.0.5" not in response.content.decode()


def test_unknown_api_path_keeps_request_id() -> None:
    response = Client().get("/api/v1/none", headers={"X-Request-ID": "abc-12345"})
    assert response.status_code == 404
    assert response["Content-Type"] == "application/problem+json"
    assert response["X-Request-ID"] == response.json()["request_id"] == "abc-12345"


def test_malformed_request_id_is_replaced() -> None:
    response = Client().get("/api/v1/none", headers={"X-Request-ID": "a b\tc"})
    assert len(response["X-Request-ID"]) == 32


def test_malformed_json_is_reported() -> None:
    response = Client().post("/api/v1/login", "{", content_type="application/json")
    assert response.status_code == 400
    assert response.json()["code"] == "validation_error"
    assert "not JSON" in response.json()["detail"]


def test_duplicate_key_is_rejected() -> None:
    body = '{"user": {"name": "a", "name": "b"}}'
    response = Client().post("/api/v1/login", body, content_type="application/json")
    problem = response.json()
    assert (response.status_code, problem["code"], problem["where"]) == (422, "validation_error", "/user")
    assert "the key “name” occurs twice" in problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "accept", "status"),
    [
        ("GET", "/api/v1/schema", "text/html", 406),
        ("POST", "/api/v1/runs/import", "application/x-ndjson", 400),
    ],
)
def test_problems_are_json_for_every_accept_header(method: str, path: str, accept: str, status: int) -> None:
    response = Client().generic(method, path, headers={"Accept": accept})
    assert (response.status_code, response["Content-Type"]) == (status, "application/problem+json")
    assert response.json()["status"] == status


def test_inline_scripts_are_forbidden() -> None:
    assert Client().get("/api/v1/runs")["Cache-Control"] == "private, no-store"
    policy = Client().get("/")["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy


def test_other_paths_serve_browser_application(settings: Settings, tmp_path: object) -> None:
    settings.FRONTEND_DIST = tmp_path
    (settings.FRONTEND_DIST / "index.html").write_text("<!doctype html>cockpit")
    response = Client().get("/runs/some/deep/address")
    assert response.status_code == 200
    assert b"cockpit" in response.content
    assert response["Cache-Control"] == "no-cache"


def test_asset_of_other_build_is_not_found(settings: Settings, tmp_path: object) -> None:
    settings.FRONTEND_DIST = tmp_path
    (settings.FRONTEND_DIST / "index.html").write_text("<!doctype html>cockpit")
    assert Client().get("/assets/RunPage-old.js").status_code == 404


def test_missing_build_explains_how_to_build(settings: Settings, tmp_path: object) -> None:
    settings.FRONTEND_DIST = tmp_path
    response = Client().get("/")
    assert response.status_code == 503
    assert b"make setup" in response.content


def test_api_docs_load_nothing_external() -> None:
    page = Client().get("/api/v1/docs").content.decode()
    assert "http" not in page.replace("<!DOCTYPE html>", "")
    assert Client().options("/api/v1/docs").status_code == 405


def test_repeated_requests_create_one_thing() -> None:
    run = store_run(failing_refund()).id
    tools = [*Step.objects.filter(run=run, type="tool").values_list("name", flat=True)]
    bodies: dict[str, dict[str, Any]] = {
        "run-views": {"name": "Failed", "query": "outcome=failed"},
        f"runs/{run}/judgements": {"name": "note", "kind": "note", "text": "Look here"},
        f"comments?kind=run&subject={run}": {"step": 1, "text": "Look here"},
        "gateway/sessions": {"app": "desk"},
        "reruns": {"run": str(run), "compare": True, "allow_tools": tools},
    }
    for path, body in bodies.items():
        first, again = (_post(path, body) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 201), (path, first.content)
        name = "session" if path == "gateway/sessions" else "id"
        assert first.json()[name] == again.json()[name], path
    assert _post("gateway/sessions", {"app": "shop"}).status_code == 409


def _post(path: str, body: object) -> Any:
    return Client().post(f"/api/v1/{path}", body, content_type="application/json", headers={"Idempotency-Key": "k"})
