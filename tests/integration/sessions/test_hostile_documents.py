"""Hostile override profiles, policies and checks, and values that databases cannot store unchanged."""

from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from replay.execution import runner, task_names
from replay.models import OverrideProfile, ReplaySession
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
HUGE = 1e300  # PostgreSQL writes out its 301 digits


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def run() -> str:
    return str(record(order_desk()).run_id)


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def fork(run: str, *entries: dict[str, Any]) -> dict[str, Any]:
    return {"run": run, "overrides": {"overrides": list(entries)}}


def nested_lists(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_numbers_and_the_order_of_members_round_trip(client: Client, run: str) -> None:
    output = {"count": HUGE, "least": 2**63 - 1, "text": "12345678901234567890"}
    body = fork(run, {"match": {"step": 4}, "tool": {"output": output}})
    response = post(client, "/replays", body)
    assert response.status_code == 201, response.content
    runner.execute(UUID(response.json()["id"]))
    [session] = client.get("/api/v1/replays").json()["sessions"]
    assert session["status"] == "completed_mixed"
    stored_output = session["overrides"]["overrides"][0]["tool"]["output"]
    assert [*stored_output.items()] == [*output.items()]
    step = client.get(f"/api/v1/runs/{session['run']}/steps/4").json()
    assert step["output"] == output


def test_deepest_valid_document_is_stored(client: Client, run: str) -> None:
    response = post(client, "/replays", fork(run, {"match": {"step": 4}, "tool": {"output": nested_lists(195)}}))
    assert response.status_code == 201, response.content


@pytest.mark.parametrize("levels", [196, 900])
@pytest.mark.parametrize("path", ["/replays/preview", "/replays", "/profiles", "/experiments"])
def test_deep_nesting_is_refused_with_location(client: Client, run: str, path: str, levels: int) -> None:
    answer = post(client, path, fork(run, {"match": {"step": 4}, "tool": {"output": nested_lists(levels)}}))
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "validation_error")
    assert problem["where"].startswith("/overrides/overrides/0/tool/output/0/0")
    assert not ReplaySession.objects.exists()
    assert not OverrideProfile.objects.exists()


def test_error_detail_quotes_are_short(client: Client) -> None:
    answer = post(client, "/replays/preview", {"run": "x" * 100_000})
    assert answer.status_code == 404
    assert len(answer.content) < 3_000


def test_duplicate_tool_decisions_are_refused(client: Client) -> None:
    decisions = [{"name": "pay", "safe": True}, {"name": "pay", "safe": False}]
    answer = client.put("/api/v1/tools", {"decisions": decisions}, content_type="application/json")
    assert (answer.status_code, answer.json()["detail"]) == (422, "“pay” has two decisions")
