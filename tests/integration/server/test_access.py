"""Access control of a server that others can reach."""

import asyncio
import time
from base64 import b64encode
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from cockpit.asgi import application
from cockpit.http import gateway_sessions, tokens
from cockpit.http.schemas import Role
from cockpit.models import ApiToken

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


@pytest.fixture
def reachable(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True


def _bearer(role: Role) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens.create(name=role, role=role)}"}


def test_loopback_needs_no_login() -> None:
    access = Client().get("/api/v1/access").json()
    assert access == {"login_required": False, "name": "local", "role": "admin"}


@pytest.mark.usefixtures("reachable")
def test_request_without_token_is_rejected() -> None:
    response = Client().get("/api/v1/runs")
    assert response.status_code == 401
    assert response.json()["code"] == "auth_required"
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("path", ["health", "ready", "access", "schema", "docs"])
def test_health_and_schema_are_public(path: str) -> None:
    assert Client().get(f"/api/v1/{path}").status_code == 200


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize(
    ("role", "method", "path", "is_allowed"),
    [
        ("viewer", "get", "/api/v1/none", True),
        ("viewer", "post", "/api/v1/none", False),
        ("viewer", "delete", "/api/v1/none", False),
        ("debugger", "post", "/api/v1/none", True),
        ("viewer", "post", "/v1/traces", False),
        ("viewer", "post", "/api/v1/events", False),
        ("viewer", "post", "/api/public/ingestion", False),
        ("viewer", "post", "/langsmith/runs/multipart", False),
        ("sender", "post", "/v1/traces", True),
        ("sender", "post", "/otel/v1/traces", True),
        ("sender", "post", "/api/v1/events", True),
        ("sender", "post", "/api/v1/runs", True),
        ("sender", "post", "/api/v1/runs/a/events", True),
        ("sender", "post", "/api/v1/runs/a/finalize", True),
        ("sender", "post", "/api/v1/krabs/events", True),
        ("sender", "get", "/api/v1/session-files/codex/s1?file=a.jsonl", True),
        ("sender", "post", "/api/v1/session-files/codex/s1?file=a.jsonl", True),
        ("sender", "delete", "/api/v1/session-files/codex/s1", False),
        ("viewer", "post", "/api/v1/krabs/events", False),
        ("sender", "post", "/api/v1/runs/import", False),
        ("sender", "get", "/api/v1/runs", False),
        ("debugger", "post", "/v1/traces", True),
        ("debugger", "put", "/api/v1/tools", False),
        ("debugger", "put", "/api/v1/outcome-rules/desk", False),
        ("viewer", "get", "/api/v1/outcome-rules/desk", True),
        ("viewer", "get", "/api/v1/audit", True),
        ("viewer", "get", "/metrics", True),
        ("sender", "get", "/metrics", False),
        ("viewer", "post", "/api/v1/retention/plan", True),
        ("debugger", "post", "/api/v1/retention/purge", False),
        ("admin", "put", "/api/v1/tools", True),
    ],
)
def test_role_limits_methods(role: Role, method: str, path: str, is_allowed: bool) -> None:
    response = Client().generic(method.upper(), path, headers=_bearer(role))
    assert (response.status_code != 403) is is_allowed


@pytest.mark.usefixtures("reachable")
def test_keys_of_langfuse_and_langsmith_are_tokens() -> None:
    secret = tokens.create(name="agents", role="sender")
    pair = b64encode(f"pk-anything:{secret}".encode()).decode()
    for headers in ({"Authorization": f"Basic {pair}"}, {"x-api-key": secret}):
        assert Client().post("/v1/metrics", b"", content_type="application/json", headers=headers).status_code == 200
    wrong = b64encode(b"pk-anything:sk-wrong").decode()
    for headers in ({"Authorization": f"Basic {wrong}"}, {"Authorization": "Basic ?"}, {"x-api-key": "wrong"}):
        assert Client().post("/v1/metrics", b"", content_type="application/json", headers=headers).status_code == 401


@pytest.mark.usefixtures("reachable")
def test_address_of_krabs_contains_the_token() -> None:
    pair = b64encode(f"krabs:{tokens.create(name='agents', role='sender')}".encode()).decode()
    sent = [
        Client().post("/api/v1/krabs/events", b"[]", content_type="application/json", headers=headers).status_code
        for headers in ({"Authorization": f"Basic {pair}"}, {})
    ]
    assert sent == [200, 401]


@pytest.mark.usefixtures("reachable")
def test_revoked_token_is_rejected() -> None:
    header = _bearer("admin")
    assert Client().get("/api/v1/none", headers=header).status_code == 404
    assert tokens.revoke(ApiToken.objects.get().id)
    assert Client().get("/api/v1/none", headers=header).status_code == 401


@pytest.mark.usefixtures("reachable")
def test_session_ends_with_its_token() -> None:
    client = Client()
    secret = tokens.create(name="ada", role="viewer")
    login = client.post("/api/v1/login", {"token": secret}, content_type="application/json")
    assert login.json() == {"login_required": True, "name": "ada", "role": "viewer"}
    assert client.get("/api/v1/none").status_code == 404
    tokens.revoke(ApiToken.objects.get().id)
    assert client.get("/api/v1/none").status_code == 401


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("over_tls", [True, False])
def test_cookies_set_over_tls_are_secure(over_tls: bool) -> None:
    secret = tokens.create(name="ada", role="viewer")
    login = Client().post("/api/v1/login", {"token": secret}, content_type="application/json", secure=over_tls)
    assert {name: bool(cookie["secure"]) for name, cookie in login.cookies.items()} == {
        "sessionid": over_tls,
        "csrftoken": over_tls,
    }


@pytest.mark.usefixtures("reachable")
def test_wrong_token_cannot_log_in() -> None:
    response = Client().post("/api/v1/login", {"token": "fp_wrong"}, content_type="application/json")
    assert response.status_code == 401


@pytest.mark.usefixtures("reachable")
def test_token_that_only_sends_cannot_log_in() -> None:
    client = Client()
    secret = tokens.create(name="collector", role="sender")
    response = client.post("/api/v1/login", {"token": secret}, content_type="application/json")
    assert (response.status_code, response.json()["detail"].split(".")[0]) == (403, "This token can only send runs")
    assert "sessionid" not in client.cookies


@pytest.mark.usefixtures("reachable")
def test_session_needs_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    secret = tokens.create(name="ada", role="debugger")
    client.post("/api/v1/login", {"token": secret}, content_type="application/json")
    assert client.post("/api/v1/none").status_code == 403
    token = client.cookies["csrftoken"].value
    assert client.post("/api/v1/none", headers={"X-CSRFToken": token}).status_code == 404
    # A page can make the browser send this: the address of its form contains a user name.
    assert client.post("/api/v1/none", headers={"Authorization": "Basic dXNlcjo="}).status_code == 403


def test_cross_site_write_is_rejected() -> None:
    foreign = {"Origin": "https://elsewhere.example"}
    assert Client().post("/api/v1/none", headers=foreign).status_code == 403
    assert Client().post("/api/v1/none", headers={"Origin": "http://testserver"}).status_code == 404
    assert Client().post("/api/v1/none", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


@pytest.mark.parametrize(("mode", "status"), [("no-cors", 403), ("cors", 403), ("navigate", 200)])
def test_other_site_only_links_to_the_server(mode: str, status: int) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode}
    assert Client().get("/api/v1/runs", headers=headers).status_code == status


def test_secret_is_stored_as_hash() -> None:
    secret = tokens.create(name="ada", role="viewer")
    row = ApiToken.objects.values().get()
    assert all(secret not in str(value) for value in row.values())


def test_last_use_is_updated_once_per_minute() -> None:
    secret = tokens.create(name="ada", role="viewer")
    tokens.find(secret)
    recent = timezone.now() - timedelta(seconds=30)
    ApiToken.objects.update(last_used_at=recent)
    tokens.find(secret)
    assert ApiToken.objects.get().last_used_at == recent
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    tokens.find(secret)
    assert ApiToken.objects.filter(last_used_at__gt=recent).exists()


def test_token_reads_while_nothing_can_be_written() -> None:
    """On a full disk, or while PostgreSQL is read-only, the time of last use is not worth a refusal."""
    secret = tokens.create(name="ada", role="viewer")

    def refuse_updates(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE"):
            raise OperationalError("database or disk is full")
        return execute(sql, *rest)

    with connection.execute_wrapper(refuse_updates):
        assert tokens.find(secret) == ApiToken.objects.get(last_used_at=None)


@pytest.mark.usefixtures("reachable")
def test_token_is_created_listed_and_revoked() -> None:
    admin = _bearer("admin")
    response = Client().post(
        "/api/v1/tokens", {"name": "nightly", "role": "viewer"}, content_type="application/json", headers=admin
    )
    assert response.status_code == 201
    secret, token = response.json()["secret"], response.json()["id"]
    assert Client().get("/api/v1/runs", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    token_list = Client().get("/api/v1/tokens", headers=admin).json()["tokens"]
    assert [(token_view["name"], token_view["secret"]) for token_view in token_list] == [
        ("nightly", None),
        ("admin", None),
    ]
    assert Client().delete(f"/api/v1/tokens/{token}", headers=admin).status_code == 204
    assert Client().get("/api/v1/runs", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert Client().delete(f"/api/v1/tokens/{token}", headers=admin).status_code == 404


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("path", ["tokens", "settings"])
def test_only_admins_see_tokens_and_settings(path: str) -> None:
    assert Client().get(f"/api/v1/{path}", headers=_bearer("debugger")).status_code == 403
    assert Client().get(f"/api/v1/{path}", headers=_bearer("admin")).status_code == 200


def test_settings_hide_provider_keys(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PROVIDERS = {"lab": {"protocol": "openai", "base_url": "http://lab/v1", "api_key_env": "LAB"}}
    monkeypatch.setenv("LAB", "sk-very-secret")
    response = Client().get("/api/v1/settings")
    lab = next(token_view for token_view in response.json()["providers"] if token_view["name"] == "lab")
    assert lab["key"] == "LAB is set"
    assert b"sk-very-secret" not in response.content


def test_token_needs_name() -> None:
    response = Client().post("/api/v1/tokens", {"name": " ", "role": "viewer"}, content_type="application/json")
    assert response.status_code == 422
    assert response.json()["where"] == "/name"


def test_active_token_names_are_unique() -> None:
    tokens.create(name="ada", role="viewer")
    body = {"name": " Ada ", "role": "admin"}
    response = Client().post("/api/v1/tokens", body, content_type="application/json")
    assert (response.status_code, response.json()["where"]) == (409, "/name")
    assert tokens.revoke(ApiToken.objects.get().id)
    assert Client().post("/api/v1/tokens", body, content_type="application/json").status_code == 201


def test_long_queries_are_rejected() -> None:
    response = Client().get("/api/v1/runs", {"q": "x" * 2_001})
    assert (response.status_code, response.json()["where"]) == (400, "/q")
    flood = Client().get("/api/v1/runs", {"app": "x" * 60_000})
    assert (flood.status_code, flood.json()["code"]) == (414, "validation_error")


def test_ready_writes_a_probe_file(settings: Settings) -> None:
    folder = Path(settings.STORAGES["artifacts"]["OPTIONS"]["location"])
    folder.mkdir(exist_ok=True)
    (folder / "probes").rmdir() if (folder / "probes").is_dir() else None
    (folder / "probes").touch()  # files can be written, but not this one
    try:
        ready = Client().get("/api/v1/ready")
        assert (ready.status_code, ready.json()["checks"]["database"]) == (503, "ok")
        assert "artifact storage" in ready.json()["checks"]["storage"]
    finally:
        (folder / "probes").unlink()
    assert Client().get("/api/v1/ready").json()["checks"]["storage"] == "ok"
    assert list((folder / "probes").iterdir()) == []


@pytest.mark.usefixtures("reachable")
def test_wrong_tokens_are_throttled() -> None:
    right = {"Authorization": f"Bearer {tokens.create(name='ada', role='viewer')}"}
    wrong = {"Authorization": "Bearer fp_wrong"}
    client = Client(REMOTE_ADDR="10.0.0.7")
    answers = [client.get("/api/v1/runs", headers=wrong) for _ in range(21)]
    assert [answer.status_code for answer in answers] == [401] * 20 + [429]
    assert answers[-1]["Retry-After"] == "60"
    assert client.get("/api/v1/runs", headers=right).status_code == 200
    assert Client(REMOTE_ADDR="10.0.0.8").get("/api/v1/runs", headers=wrong).status_code == 401


@pytest.mark.usefixtures("reachable")
def test_logins_are_throttled_per_address() -> None:
    right, wrong = {"token": tokens.create(name="ada", role="viewer")}, {"token": "fp_wrong"}
    client, elsewhere = Client(REMOTE_ADDR="10.0.0.9"), Client(REMOTE_ADDR="10.0.0.10")
    codes = [client.post("/api/v1/login", wrong, content_type="application/json").status_code for _ in range(21)]
    assert codes == [401] * 20 + [429]
    assert client.post("/api/v1/login", right, content_type="application/json").status_code == 429
    assert elsewhere.post("/api/v1/login", right, content_type="application/json").status_code == 200


@pytest.mark.parametrize("is_login_required", [True, False])
def test_credential_of_a_program_is_no_token(settings: Settings, is_login_required: bool) -> None:
    settings.LOGIN_REQUIRED = is_login_required
    program = gateway_sessions.Session(run_id=str(uuid4()), start=time.time())
    old_program = replace(program, start=program.start - 8 * 24 * 3600)

    def status(session: gateway_sessions.Session, method: str, path: str) -> int:
        headers = {"Authorization": f"Bearer {gateway_sessions.sign(session)}"}
        return Client().generic(method, path, headers=headers, content_type="application/x-ndjson").status_code

    assert status(program, "POST", "/api/v1/events") == 200
    for method, path in (("GET", "/api/v1/runs"), ("POST", "/api/v1/reruns"), ("POST", "/v1/traces")):
        assert status(program, method, path) == 403
    assert status(replace(program, is_rerun=True), "POST", "/api/v1/events") == 403
    if is_login_required:
        assert status(old_program, "POST", "/api/v1/events") == 401


@pytest.mark.usefixtures("reachable")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/v1/imports", [], 401),
        ("/api/v1/imports", [(b"origin", b"https://elsewhere.example")], 403),
        ("/api/v1/login", [], 413),
        ("/project/a/traces/b", [], 413),
    ],
)
def test_unauthorized_body_is_not_read(path: str, headers: list[tuple[bytes, bytes]], status: int) -> None:
    messages: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("the body was read")

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-length", b"1000000000"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8700),
    }
    asyncio.run(application(scope, receive, send))
    assert messages[0]["status"] == status
    assert (b"connection", b"close") in messages[0]["headers"]
