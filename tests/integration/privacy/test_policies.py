"""Redaction policies over REST: versions, validation, roles, and trying a draft."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.support.recordings import assistant, model_step, order_run, tool_step, user
from tests.support.redactions import secrets
from traces.models import Artifact, RedactionPolicy
from traces.redaction_policies.key import redaction_key
from traces.runs import services
from traces.search import indexer

pytestmark = pytest.mark.django_db
SECRET = secrets()["GitHub"]
RULE = {"name": "order", "action": "redact", "path": "/input/order_id", "step_types": ["tool"], "reason": "order ids"}


def put(client: Client, **body: Any) -> Any:
    return client.put("/api/v1/redaction-policies", body, content_type="application/json")


def test_policy_is_stored_in_versions(client: Client) -> None:
    first = put(client, app="desk", rules=[RULE]).json()
    assert (first["version"], first["by"], first["rules"][0]["reason"]) == (1, "local", "order ids")
    assert put(client, app="desk", rules=[RULE]).json()["version"] == 1
    assert put(client, app="desk", rules=[]).json()["version"] == 2
    history = client.get("/api/v1/redaction-policies/history?app=desk").json()["versions"]
    assert [row["version"] for row in history] == [2, 1]
    current = client.get("/api/v1/redaction-policies").json()
    assert [(row["app"], row["version"]) for row in current["policies"]] == [("desk", 2)]
    assert {"kind": "github-classic-token", "title": "Github Classic Token"} in current["secrets"]


def test_invalid_policy_names_the_place(client: Client) -> None:
    response = put(client, rules=[{**RULE, "path": "order_id"}])
    assert response.status_code == 422
    assert (response.json()["where"], "JSON pointer" in response.json()["detail"]) == ("/rules/0/path", True)
    assert not RedactionPolicy.objects.exists()


def test_missing_library_is_refused(client: Client) -> None:
    response = put(client, personal_data=["email"])
    assert (response.status_code, response.json()["where"]) == (422, "/personal_data")


def test_trial_stores_nothing(client: Client) -> None:
    body = {"rules": [RULE], "sample": {"order_id": "A-1", "note": f"key {SECRET}"}}
    response = client.post("/api/v1/redaction-policies/try", body, content_type="application/json").json()
    assert SECRET not in str(response)
    assert [(mark["path"], mark["kind"], mark["reason"]) for mark in response["marks"]] == [
        ("/order_id", "order", "order ids"),
        ("/note", "github-classic-token", "Secret: Github Classic Token"),
    ]
    assert response["failure"] == ""
    assert not RedactionPolicy.objects.exists()
    assert not Artifact.objects.exists()


def test_policy_of_all_apps_applies_with_the_own_one(client: Client) -> None:
    put(client, rules=[RULE])
    put(client, app="order-desk", rules=[{**RULE, "name": "status", "path": "/output/status"}])
    run_id = services.record(order_run(app="order-desk")).run_id
    step = client.get(f"/api/v1/runs/{run_id}/steps/3").json()
    assert step["input"]["order_id"].startswith("[redacted:order:")
    assert step["output"]["status"].startswith("[redacted:status:")
    assert step["redactions"] == {"order": "order ids", "status": "order ids"}


def test_search_finds_the_marker_of_a_value_but_not_the_value(client: Client) -> None:
    put(client, rules=[{**RULE, "path": "/output/status"}])
    steps = (
        model_step("ask", [user(f"The key is {SECRET}")], assistant("Thanks.")),
        tool_step("look", "call-1", "A-7", {"status": "zanzibar", "carrier": "Northwind"}),
    )
    run_id = services.record(order_run(steps=steps)).run_id
    while indexer.work():
        pass
    marker = client.get(f"/api/v1/runs/{run_id}/steps/2").json()["output"]["status"]

    def matches(q: str) -> int:
        return len(client.get("/api/v1/runs", {"q": q}).json()["runs"])

    assert (matches(marker), matches("northwind")) == (1, 1)
    assert (matches(SECRET), matches(SECRET[:12]), matches("zanzibar")) == (0, 0, 0)


def test_reason_of_a_former_rule_is_still_shown(client: Client) -> None:
    put(client, rules=[RULE])
    run_id = services.record(order_run()).run_id
    put(client, rules=[])
    assert client.get(f"/api/v1/runs/{run_id}/steps/3").json()["redactions"] == {"order": "order ids"}


def test_key_is_private_and_stays(settings: Any) -> None:
    settings.REDACTION_KEY = ""
    key = redaction_key()
    path = Path(settings.REDACTION_KEY_FILE)
    assert path.read_bytes() == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(key) >= 32
    settings.REDACTION_KEY = "k" * 40
    assert redaction_key() == b"k" * 40


def test_note_of_a_person_is_redacted(client: Client) -> None:
    run_id = services.record(order_run()).run_id
    body = {"kind": "note", "text": f"it leaked {SECRET}"}
    response = client.post(f"/api/v1/runs/{run_id}/judgements", body, content_type="application/json")
    assert response.status_code == 201
    assert response.json()["text"].startswith("it leaked [redacted:github-classic-token:")
