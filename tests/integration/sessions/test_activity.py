"""The list of everything that was done with runs."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from cockpit.http import tokens
from diffing import queries as diff_queries
from diffing import services as diffs
from diffing.models import DiffReport, Evidence
from replay.execution import runner, task_names
from replay.models import Bisection, Calibration, Proof, ReplaySession
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.captions.queries import captions_of
from traces.models import Run, RunOutcome
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
    proof = Proof.objects.create(
        diff=diff, request={}, status="completed", evidence_id=evidence.id, worked_at=timezone.now()
    )
    probe = ReplaySession.objects.get(id=post(client, "/replays", fork)["id"])
    ReplaySession.objects.filter(id=probe.id).update(cost_usd=Decimal("0.25"), is_probe=True)
    # One session may answer several probes, and is paid once.
    for number in (1, 2):
        proof.probes.create(number=number, key=str(number), ask={}, configuration="", session=probe)
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
    costs = {kind: entry["cost_usd"] for kind, entry in by_kind.items()}
    assert costs == {"replay": 0, "proof": 0.25, "experiment": 0, "bisection": 0, "diff": None, "calibration": None}
    assert by_kind["bisection"]["state"] == "cancelled"


def test_progress_never_exceeds_its_total(client: Client) -> None:
    do_everything(client, str(record(order_desk()).run_id))
    ReplaySession.objects.update(status="awaiting_operator", resolved_steps=F("planned_steps") + 2)
    replay = next(entry for entry in activity(client)["activities"] if entry["kind"] == "replay")
    assert replay["progress"]["finished"] == replay["progress"]["total"]


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


def kinds(client: Client, query: str) -> list[str]:
    return [entry["kind"] for entry in activity(client, query)["activities"]]


def test_entries_are_filtered_by_state_outcome_text_and_time(client: Client) -> None:
    do_everything(client, str(record(order_desk()).run_id))
    RunOutcome.objects.filter(run=DiffReport.objects.get().candidate).update(outcome="passed")
    assert set(kinds(client, "?state=running")) == {"replay", "experiment"}
    assert kinds(client, "?state=cancelled,failed") == ["bisection"]
    assert set(kinds(client, "?outcome=passed")) == {"proof", "diff", "replay"}
    assert kinds(client, "?outcome=failed") == []
    assert kinds(client, "?q=OUTPUTS") == ["experiment"]
    assert kinds(client, "?q=get_order+did+it") == ["proof"]
    answer = captions_of([DiffReport.objects.get().candidate])
    answer_text = next(caption.caption.answer for caption in answer.values() if caption.caption.answer)
    assert {"replay", "diff", "proof"} <= set(kinds(client, f"?q={quote(answer_text.upper())}"))
    change = next(entry["subject"] for entry in activity(client, "?kind=diff")["activities"])
    assert {"replay", "diff", "proof"} <= set(kinds(client, f"?q={quote(change)}"))
    now = timezone.now()
    earlier, later = ((now + timedelta(hours=hours)).isoformat().replace("+00:00", "Z") for hours in (-1, 1))
    everything = kinds(client, "")
    assert kinds(client, f"?since={earlier}&until={later}") == everything
    assert (kinds(client, f"?until={earlier}"), kinds(client, f"?since={later}")) == ([], [])
    for query, place in (("?state=done", "/state"), ("?outcome=good", "/outcome"), ("?since=monday", "/since")):
        refusal = client.get(f"/api/v1/activity{query}")
        assert (refusal.status_code, refusal.json()["where"]) == (400, place)


def test_list_says_who_started_what(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    ada = Client(headers={"Authorization": f"Bearer {tokens.create(name='ada', role='debugger')}"})
    run = str(record(order_desk()).run_id)
    do_everything(ada, run)
    Proof.objects.update(by="grace")
    names = {entry["kind"]: entry["author"] for entry in activity(ada)["activities"]}
    assert (names["replay"], names["experiment"], names["proof"], names["bisection"]) == ("ada", "ada", "grace", "")
    assert ada.get("/api/v1/activity/authors").json() == {"authors": ["ada", "grace"]}
    assert kinds(ada, "?author=grace") == ["proof"]
    assert set(kinds(ada, "?author=ada")) == {"replay", "experiment"}


def test_diff_of_a_fork_is_its_change_and_its_effect(client: Client) -> None:
    run = record(order_desk()).run_id
    changes = [{"match": {"step": 4}, "tool": {"output": "not found"}}]
    fork = {"run": str(run), "fork_step": 3, "overrides": {"overrides": changes}}
    session = ReplaySession.objects.get(id=post(client, "/replays", fork)["id"])
    runner.execute(session.id)
    runner.compare(session.id)
    by_kind = {entry["kind"]: entry for entry in activity(client)["activities"]}
    attribution = diff_queries.report(UUID(by_kind["diff"]["id"])).attribution
    assert attribution.headline is not None
    assert by_kind["diff"]["subject"] == by_kind["replay"]["subject"] != ""
    assert by_kind["diff"]["finding"] == attribution.headline.effect != attribution.sentence
    assert by_kind["diff"]["author"] == by_kind["replay"]["author"] == "local"


def test_diffs_of_probes_are_not_listed(client: Client) -> None:
    do_everything(client, str(record(order_desk()).run_id))
    assert kinds(client, "?kind=diff") == ["diff"]
    ReplaySession.objects.filter(run=DiffReport.objects.get().candidate).update(is_probe=True)
    assert kinds(client, "?kind=diff") == []


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
