"""Values beyond the limits of columns and clocks are rejected with their location, on any database."""

from typing import Any

import pytest
from django.test import Client

from tests.support.recordings import order_run
from traces.runs.services import record

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
OVERRIDES = [{"match": {"type": "tool"}, "output": "x"}]
AXES = [{"name": "answer", "values": [{"name": "other", "overrides": OVERRIDES}]}]


@pytest.fixture
def run() -> str:
    return str(record(order_run()).run_id)


def rejected_location(client: Client, url: str, body: Any, **headers: str) -> str:
    """Return the location in the error response of a rejected request."""
    response = client.post(f"/api/v1/{url}", body, content_type="application/json", headers=headers)
    assert response.status_code == 422, response.content
    location: str = response.json()["where"]
    return location


@pytest.mark.parametrize(
    ("policy", "location"),
    [
        ({"budget": {"max_cost_usd": "inf"}}, "/budget/max_cost_usd"),
        ({"budget": {"max_cost_usd": 1e20}}, "/budget/max_cost_usd"),
        ({"budget": {"max_live_calls": 2**31}}, "/budget/max_live_calls"),
        ({"budget": {"max_steps": 2**31}}, "/budget/max_steps"),
        ({"budget": {"deadline_s": 1e300}}, "/budget/deadline_s"),
        ({"retries": {"cap_s": "inf"}}, "/retries/cap_s"),
        ({"retries": {"initial_s": "nan"}}, "/retries/initial_s"),
        ({"retries": {"base": 1e300}}, "/retries/base"),
        ({"max_turns": 2**31}, "/max_turns"),
    ],
)
def test_policy_beyond_limits_is_rejected(client: Client, run: str, policy: Any, location: str) -> None:
    assert rejected_location(client, "replays", {"run": run, "policy": policy}) == f"/policy{location}"
    assert rejected_location(client, "policies", {"name": "wild", "policy": policy}) == f"/policy{location}"


@pytest.mark.parametrize("budget", [{"max_cost_usd": "inf"}, {"max_cost_usd": 1e6}, {"max_live_calls": 2**40}])
def test_experiment_budget_beyond_limits_is_rejected(client: Client, run: str, budget: Any) -> None:
    (field,) = budget
    body = {"run": run, "axes": AXES, "budget": budget}
    assert rejected_location(client, "experiments", body) == f"/budget/{field}"


def test_too_long_idempotency_key_is_rejected(client: Client, run: str) -> None:
    assert rejected_location(client, "replays", {"run": run}, **{"Idempotency-Key": "k" * 201}) == "Idempotency-Key"
    longest_key = {"Idempotency-Key": "k" * 200}
    session_ids = [
        client.post("/api/v1/replays", {"run": run}, content_type="application/json", headers=longest_key).json()["id"]
        for _ in range(2)
    ]
    assert session_ids[0] == session_ids[1]


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("runs/{run}/steps/" + "9" * 5000, 404),
        ("runs/{run}/steps?after=" + "9" * 5000, 200),
        ("replays/{session}/messages?after=" + "9" * 30, 200),
        ("replays/{session}/messages?after=-1", 400),
        ("replays?limit=" + "9" * 5000, 200),
        ("runs?q=" + "a%20" * 900, 200),
        ("runs?q=" + "a%20" * 3000, 400),
        ("runs?q=" + "%20".join(f"w{number}" for number in range(3000)), 400),
    ],
)
def test_long_url_values_are_answered(client: Client, run: str, url: str, status: int) -> None:
    session = client.post("/api/v1/replays", {"run": run}, content_type="application/json").json()["id"]
    assert client.get("/api/v1/" + url.format(run=run, session=session)).status_code == status


def test_search_for_nul_finds_nothing(client: Client, run: str) -> None:
    assert client.get("/api/v1/runs?q=order%00").json()["runs"] == []
