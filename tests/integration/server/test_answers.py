"""What every answer of the server carries."""

from typing import get_args
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from cockpit.http import tokens
from cockpit.http.schemas import Role

pytestmark = pytest.mark.django_db


def test_ready_names_each_dependency() -> None:
    response = Client().get("/api/v1/ready")
    assert response.json() == {"ready": True, "checks": {"database": "ok", "broker": "ok", "storage": "ok"}}


def test_not_ready_says_what_is_wrong(settings: Settings) -> None:
    settings.STORAGES = {**settings.STORAGES, "artifacts": {"BACKEND": "nowhere.Storage"}}
    response = Client().get("/api/v1/ready")
    assert response.status_code == 503
    assert "nowhere" in response.json()["checks"]["storage"]


def test_what_is_wrong_with_a_dependency_is_told_to_admins_only(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    settings.STORAGES = {**settings.STORAGES, "artifacts": {"BACKEND": "nowhere.Storage"}}
    bearer = {role: {"Authorization": f"Bearer {tokens.create(name=role, role=role)}"} for role in get_args(Role)}
    said = {role: Client().get("/api/v1/ready", headers=sent).json()["checks"] for role, sent in bearer.items()}
    said["nobody"] = Client().get("/api/v1/ready").json()["checks"]
    assert "nowhere" in said.pop("admin")["storage"]
    hidden = {"database": "ok", "broker": "ok", "storage": "unavailable; see the server log"}
    assert said == dict.fromkeys(("viewer", "debugger", "nobody"), hidden)


def test_a_database_that_is_away_while_the_caller_is_looked_up_is_said_to_be_away(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LOGIN_REQUIRED = True
    monkeypatch.setattr(tokens, "find", Mock(side_effect=OperationalError("server at 10.0.0.5 closed the connection")))
    answered = Client(raise_request_exception=False).get("/api/v1/runs", headers={"Authorization": "Bearer fp_x"})
    assert answered.status_code == 503
    problem = answered.json()
    assert (problem["code"], problem["retryable"]) == ("dependency_unavailable", True)
    assert "10.0.0.5" not in answered.content.decode()


def test_an_unknown_address_of_the_api_is_a_problem_with_the_callers_request_id() -> None:
    response = Client().get("/api/v1/none", headers={"X-Request-ID": "abc-12345"})
    assert response.status_code == 404
    assert response["Content-Type"] == "application/problem+json"
    assert response["X-Request-ID"] == response.json()["request_id"] == "abc-12345"


def test_an_ill_formed_request_id_is_replaced() -> None:
    response = Client().get("/api/v1/none", headers={"X-Request-ID": "a b\tc"})
    assert len(response["X-Request-ID"]) == 32


def test_broken_json_is_named() -> None:
    response = Client().post("/api/v1/login", "{", content_type="application/json")
    assert response.status_code == 400
    assert response.json()["code"] == "validation_error"
    assert "not JSON" in response.json()["detail"]


def test_a_key_that_occurs_twice_is_refused() -> None:
    body = '{"user": {"name": "a", "name": "b"}}'
    response = Client().post("/api/v1/login", body, content_type="application/json")
    problem = response.json()
    assert (response.status_code, problem["code"], problem["where"]) == (422, "validation_error", "/user")
    assert "the key 'name' occurs twice" in problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "accept", "status"),
    [
        ("GET", "/api/v1/schema", "text/html", 406),
        ("POST", "/api/v1/runs/import", "application/x-ndjson", 400),
    ],
)
def test_a_problem_is_json_also_where_the_answer_would_be_something_else(
    method: str, path: str, accept: str, status: int
) -> None:
    answered = Client().generic(method, path, headers={"Accept": accept})
    assert (answered.status_code, answered["Content-Type"]) == (status, "application/problem+json")
    assert answered.json()["status"] == status


def test_no_script_may_stand_in_a_page() -> None:
    policy = Client().get("/")["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy


def test_every_address_outside_the_api_is_the_browser_application(settings: Settings, tmp_path: object) -> None:
    settings.FRONTEND_DIST = tmp_path
    (settings.FRONTEND_DIST / "index.html").write_text("<!doctype html>cockpit")
    response = Client().get("/runs/some/deep/address")
    assert response.status_code == 200
    assert b"cockpit" in response.content
    assert response["Cache-Control"] == "no-cache"


def test_an_asset_of_another_build_is_missing_and_no_page(settings: Settings, tmp_path: object) -> None:
    settings.FRONTEND_DIST = tmp_path
    (settings.FRONTEND_DIST / "index.html").write_text("<!doctype html>cockpit")
    assert Client().get("/assets/RunPage-old.js").status_code == 404


def test_a_missing_build_says_how_to_build(settings: Settings, tmp_path: object) -> None:
    settings.FRONTEND_DIST = tmp_path
    response = Client().get("/")
    assert response.status_code == 503
    assert b"make setup" in response.content


def test_the_documentation_loads_nothing_from_elsewhere() -> None:
    page = Client().get("/api/v1/docs").content.decode()
    assert "http" not in page.replace("<!DOCTYPE html>", "")
