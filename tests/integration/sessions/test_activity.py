"""The list of everything that was done with runs."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from diffing import services as diffs
from diffing.models import Evidence
from replay.execution import runner, task_names
from replay.models import Bisection, Calibration, Proof, ReplaySession
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.models import Run
from traces.runs.services import record

pytestmark = pytest.mark.django_db(transaction=True)
KINDS = ["replay", "diff", "proof", "experiment", "bisection", "calibration"]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def post(client: Client, path: str, body: Any) -> Any:
    answer = client.post(f"/api/v1{path}", body, content_type="application/json")
    assert answer.status_code < 300, answer.content
    return answer.json()


def activity(client: Client, query: str = "") -> Any:
    answer = client.get(f"/api/v1/activity{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def do_everything(client: Client, run: str) -> None:
    """Replay, compare, prove, vary, bisect and calibrate a run."""
    wrong = {"match": {"step": 4}, "tool": {"output": "not found"}}
    fork = {"run": run, "fork_step": 3, "overrides": {"overrides": [wrong]}}
    session = ReplaySession.objects.get(id=post(client, "/replays", fork)["id"])
    runner.execute(session.id)
    session.refresh_from_db()
    source, derived = (Run.objects.get(id=ref) for ref in (run, str(session.run_id)))
    diff = diffs.diff(base_id=source.id, candidate_id=derived.id)
    evidence = Evidence.objects.create(
        diff=diff,
        question="0" * 64,
        verdict="proven",
        confidence="high",
        conclusion="The output of get_order did it.",
        created_at=timezone.now(),
        body={},
    )
    Proof.objects.create(diff=diff, request={}, status="completed", evidence_id=evidence.id, worked_at=timezone.now())
    axis = {"name": "output", "values": [{"name": "wrong", "overrides": [wrong]}, {"name": "as recorded"}]}
    post(
        client,
        "/experiments",
        {"run": run, "fork_step": 3, "axes": [axis], "name": "Outputs", "policy": {"order": "reuse"}},
    )
    check = {"checks": [{"kind": "contains", "text": "refunded"}]}
    Bisection.objects.create(run=source, request=check, forks=[], recorded=[], status="cancelled")
    Calibration.objects.create(base=source, candidate=derived, found={})


def test_one_list_has_every_kind(client: Client) -> None:
    run = str(record(order_desk()).run_id)
    do_everything(client, run)
    entries = activity(client)["activities"]
    by_kind = {entry["kind"]: entry for entry in entries}
    assert set(by_kind) == set(KINDS)
    assert [entry["id"] for entry in entries] == sorted((entry["id"] for entry in entries), reverse=True)
    assert {entry["run"] for entry in entries} == {run}
    proof = by_kind["proof"]
    assert (proof["state"], proof["finding"], proof["confidence"]) == (
        "completed",
        "The output of get_order did it.",
        "high",
    )
    assert (by_kind["replay"]["state"], by_kind["replay"]["fork_sequence_no"]) == ("completed", 3)
    assert by_kind["experiment"]["progress"] == {"finished": 0, "total": 2}
    assert by_kind["experiment"]["subject"] == "Outputs"
    assert by_kind["bisection"]["state"] == "cancelled"


def test_pages_follow_each_other_without_gaps(client: Client) -> None:
    do_everything(client, str(record(order_desk()).run_id))
    whole = activity(client)
    ids: list[str] = []
    page = activity(client, "?limit=2")
    while True:
        ids += [entry["id"] for entry in page["activities"]]
        if page["next"] is None:
            break
        page = activity(client, f"?limit=2&cursor={page['next']}")
    assert whole["next"] is None
    assert ids == [entry["id"] for entry in whole["activities"]]


def test_entries_are_filtered_by_kind(client: Client) -> None:
    do_everything(client, str(record(order_desk()).run_id))
    entries = activity(client, "?kind=proof,bisection")["activities"]
    assert [entry["kind"] for entry in entries] == ["bisection", "proof"]
    for query, place in (("?kind=proof,run", "/kind"), ("?cursor=soon", "/cursor")):
        refusal = client.get(f"/api/v1/activity{query}")
        assert (refusal.status_code, refusal.json()["where"]) == (400, place)


def test_longer_list_takes_no_more_queries(client: Client) -> None:
    run = str(record(order_desk()).run_id)
    do_everything(client, run)
    with CaptureQueriesContext(connection) as few:
        activity(client)
    for _ in range(3):
        fork = {
            "run": run,
            "fork_step": 3,
            "overrides": {"overrides": [{"match": {"step": 4}, "tool": {"output": "no"}}]},
        }
        runner.execute(UUID(post(client, "/replays", fork)["id"]))
        Bisection.objects.create(
            run_id=run, request={"checks": [{"kind": "contains", "text": "x"}]}, forks=[], recorded=[], status="failed"
        )
    with CaptureQueriesContext(connection) as many:
        assert len(activity(client)["activities"]) > len(KINDS)
    assert len(many) == len(few)


def test_probes_and_older_entries_are_read_from_indexes() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL chooses by statistics")
    listed = ReplaySession.objects.filter(is_probe=False, id__lt=UUID(int=2**127)).order_by("-id")[:50]
    assert "session_listed" in listed.explain()
