"""Numbers and texts that no column or clock holds are refused with their place, whatever the database."""

from typing import Any

import pytest
from django.test import Client

from tests.support.recordings import order_run
from traces.runs.services import record

pytestmark = pytest.mark.django_db
WHAT_IF = [{"match": {"type": "tool"}, "output": "x"}]
AXES = [{"name": "answer", "values": [{"name": "other", "overrides": WHAT_IF}]}]


@pytest.fixture
def run() -> str:
    return str(record(order_run()).run_id)


def refused(client: Client, url: str, body: Any, **headers: str) -> str:
    """Where the refusal says that the mistake is."""
    response = client.post(f"/api/v1/{url}", body, content_type="application/json", headers=headers)
    assert response.status_code == 422, response.content
    where: str = response.json()["where"]
    return where


@pytest.mark.parametrize(
    ("policy", "where"),
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
def test_a_policy_beyond_all_bounds_is_refused(client: Client, run: str, policy: Any, where: str) -> None:
    assert refused(client, "replays", {"run": run, "policy": policy}) == f"/policy{where}"
    assert refused(client, "policies", {"name": "wild", "policy": policy}) == f"/policy{where}"


@pytest.mark.parametrize("budget", [{"max_cost_usd": "inf"}, {"max_cost_usd": 1e6}, {"max_live_calls": 2**40}])
def test_so_is_the_budget_of_an_experiment(client: Client, run: str, budget: Any) -> None:
    (field,) = budget
    asked = {"run": run, "axes": AXES, "budget": budget}
    assert refused(client, "experiments", asked) == f"/budget/{field}"


def test_an_idempotency_key_that_cannot_be_kept_is_refused(client: Client, run: str) -> None:
    assert refused(client, "replays", {"run": run}, **{"Idempotency-Key": "k" * 201}) == "Idempotency-Key"
    longest = {"Idempotency-Key": "k" * 200}
    started = [
        client.post("/api/v1/replays", {"run": run}, content_type="application/json", headers=longest).json()["id"]
        for _ in range(2)
    ]
    assert started[0] == started[1]


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
        ("runs?q=" + "%20".join(f"w{at}" for at in range(3000)), 400),
    ],
)
def test_numbers_and_searches_of_any_length_in_an_address_are_answered(
    client: Client, run: str, url: str, status: int
) -> None:
    session = client.post("/api/v1/replays", {"run": run}, content_type="application/json").json()["id"]
    assert client.get("/api/v1/" + url.format(run=run, session=session)).status_code == status


def test_a_search_for_a_nul_finds_nothing(client: Client, run: str) -> None:
    assert client.get("/api/v1/runs?q=order%00").json()["runs"] == []
