"""Who may do what, on a server that others can reach."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from cockpit import tokens
from cockpit.models import ApiToken
from cockpit.schemas import Role

pytestmark = pytest.mark.django_db


@pytest.fixture
def reachable(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True


def _bearer(role: Role) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens.create(name=role, role=role)}"}


def test_on_loopback_nobody_logs_in() -> None:
    access = Client().get("/api/v1/access").json()
    assert access == {"login_required": False, "name": "local", "role": "admin"}


@pytest.mark.usefixtures("reachable")
def test_without_a_token_nothing_is_told() -> None:
    response = Client().get("/api/v1/runs")
    assert response.status_code == 401
    assert response.json()["code"] == "auth_required"
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("path", ["health", "ready", "access", "schema", "docs"])
def test_signs_of_life_and_the_description_are_open(path: str) -> None:
    assert Client().get(f"/api/v1/{path}").status_code == 200


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize(
    ("role", "method", "path", "allowed"),
    [
        ("viewer", "get", "/api/v1/none", True),
        ("viewer", "post", "/api/v1/none", False),
        ("viewer", "delete", "/api/v1/none", False),
        ("debugger", "post", "/api/v1/none", True),
        ("debugger", "put", "/api/v1/tools", False),
        ("admin", "put", "/api/v1/tools", True),
    ],
)
def test_a_role_decides_what_may_be_done(role: Role, method: str, path: str, allowed: bool) -> None:
    response = Client().generic(method.upper(), path, headers=_bearer(role))
    assert (response.status_code != 403) is allowed


@pytest.mark.usefixtures("reachable")
def test_a_revoked_token_opens_nothing() -> None:
    header = _bearer("admin")
    assert Client().get("/api/v1/none", headers=header).status_code == 404
    assert tokens.revoke(ApiToken.objects.get().id)
    assert Client().get("/api/v1/none", headers=header).status_code == 401


@pytest.mark.usefixtures("reachable")
def test_a_session_ends_with_its_token() -> None:
    client = Client()
    secret = tokens.create(name="ada", role="viewer")
    login = client.post("/api/v1/login", {"token": secret}, content_type="application/json")
    assert login.json() == {"login_required": True, "name": "ada", "role": "viewer"}
    assert client.get("/api/v1/none").status_code == 404
    tokens.revoke(ApiToken.objects.get().id)
    assert client.get("/api/v1/none").status_code == 401


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("over_tls", [True, False])
def test_cookies_that_were_given_over_tls_stay_on_it(over_tls: bool) -> None:
    secret = tokens.create(name="ada", role="viewer")
    login = Client().post("/api/v1/login", {"token": secret}, content_type="application/json", secure=over_tls)
    assert {name: bool(cookie["secure"]) for name, cookie in login.cookies.items()} == {
        "sessionid": over_tls, "csrftoken": over_tls,
    }  # fmt: skip


@pytest.mark.usefixtures("reachable")
def test_a_wrong_token_does_not_log_in() -> None:
    response = Client().post("/api/v1/login", {"token": "fp_wrong"}, content_type="application/json")
    assert response.status_code == 401


@pytest.mark.usefixtures("reachable")
def test_a_session_must_send_the_csrf_token_back() -> None:
    client = Client(enforce_csrf_checks=True)
    secret = tokens.create(name="ada", role="debugger")
    client.post("/api/v1/login", {"token": secret}, content_type="application/json")
    assert client.post("/api/v1/none").status_code == 403
    token = client.cookies["csrftoken"].value
    assert client.post("/api/v1/none", headers={"X-CSRFToken": token}).status_code == 404


def test_a_page_of_another_site_cannot_make_the_browser_write() -> None:
    foreign = {"Origin": "https://elsewhere.example"}
    assert Client().post("/api/v1/none", headers=foreign).status_code == 403
    assert Client().post("/api/v1/none", headers={"Origin": "http://testserver"}).status_code == 404


def test_a_secret_is_stored_only_as_a_hash() -> None:
    secret = tokens.create(name="ada", role="viewer")
    stored = ApiToken.objects.values().get()
    assert all(secret not in str(value) for value in stored.values())


def test_last_use_is_noted_once_a_minute() -> None:
    secret = tokens.create(name="ada", role="viewer")
    tokens.find(secret)
    recent = timezone.now() - timedelta(seconds=30)
    ApiToken.objects.update(last_used_at=recent)
    tokens.find(secret)
    assert ApiToken.objects.get().last_used_at == recent
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    tokens.find(secret)
    assert ApiToken.objects.filter(last_used_at__gt=recent).exists()


@pytest.mark.usefixtures("reachable")
def test_a_token_is_made_listed_and_revoked() -> None:
    admin = _bearer("admin")
    made = Client().post(
        "/api/v1/tokens", {"name": "nightly", "role": "viewer"}, content_type="application/json", headers=admin
    )
    assert made.status_code == 201
    secret, token = made.json()["secret"], made.json()["id"]
    assert Client().get("/api/v1/runs", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    listed = Client().get("/api/v1/tokens", headers=admin).json()["tokens"]
    assert [(one["name"], one["secret"]) for one in listed] == [("nightly", None), ("admin", None)]
    assert Client().delete(f"/api/v1/tokens/{token}", headers=admin).status_code == 204
    assert Client().get("/api/v1/runs", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert Client().delete(f"/api/v1/tokens/{token}", headers=admin).status_code == 404


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("path", ["tokens", "settings"])
def test_only_whoever_runs_the_server_sees_who_comes_in_and_how_it_is_set_up(path: str) -> None:
    assert Client().get(f"/api/v1/{path}", headers=_bearer("debugger")).status_code == 403
    assert Client().get(f"/api/v1/{path}", headers=_bearer("admin")).status_code == 200


def test_settings_say_whether_a_key_is_set_and_never_the_key(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PROVIDERS = {"lab": {"protocol": "openai", "base_url": "http://lab/v1", "api_key_env": "LAB"}}
    monkeypatch.setenv("LAB", "sk-very-secret")
    answered = Client().get("/api/v1/settings")
    lab = next(one for one in answered.json()["providers"] if one["name"] == "lab")
    assert lab["key"] == "LAB is set"
    assert b"sk-very-secret" not in answered.content


def test_a_token_without_a_name_is_refused() -> None:
    refused = Client().post("/api/v1/tokens", {"name": " ", "role": "viewer"}, content_type="application/json")
    assert refused.status_code == 422
    assert refused.json()["where"] == "/name"
