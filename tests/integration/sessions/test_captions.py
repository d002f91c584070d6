"""How forks are recognised: by their change and its effect."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from replay.execution import runner, task_names
from replay.models import ReplaySession
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.captions.queries import NO_CAPTION, captions_of
from traces.core.ids import new_id
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Run, RunOutcome, Step
from traces.runs.services import copy_steps, open_run, record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
ANSWER = "You are welcome, have a pleasant afternoon."
CHANGE = {"text": "get_order status: lost in transit → delivered", "target": "tool answer", "count": 1}


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def source() -> str:
    return str(record(order_desk()).run_id)


def fork(client: Client, run: str) -> dict[str, Any]:
    """Fork a run with another status of the order, and replay it."""
    order = {"id": "A-1", "status": "delivered", "carrier": "northern parcels"}
    overrides = {"overrides": [{"match": {"step": 4}, "tool": {"output": order}}]}
    request = {"run": run, "fork_step": 3, "overrides": overrides}
    session = client.post("/api/v1/replays", request, content_type="application/json").json()
    assert session["change"] == CHANGE
    runner.execute(UUID(session["id"]))
    return dict(get(client, f"replays/{session['id']}"))


def get(client: Client, path: str) -> Any:
    return client.get(f"/api/v1/{path}").json()


def test_fork_shows_its_change_and_effect(client: Client, source: str) -> None:
    session = fork(client, source)
    run, root = get(client, "runs")["runs"]
    assert (run["change"], run["source_answer"], run["source_outcome"]) == (CHANGE, ANSWER, "unknown")
    assert (root["change"], root["answer"], root["source_answer"], root["source_outcome"]) == (None, ANSWER, None, None)
    assert (session["answer"], session["source_answer"]) == (run["answer"], ANSWER)
    RunOutcome.objects.filter(run_id=run["id"]).update(reason="the order is late")
    session = get(client, f"replays/{session['id']}")
    assert (session["outcome_reason"], session["source_outcome_reason"]) == ("the order is late", "")
    detail = get(client, f"runs/{source}")
    assert [item["change"] for item in (detail, *detail["derived"])] == [None, CHANGE]
    assert [item["change"] for item in get(client, f"runs/{source}/tree")["runs"]] == [None, CHANGE]


def test_diff_shows_both_captions(client: Client, source: str) -> None:
    body = {"base": source, "candidate": fork(client, source)["run"]}
    report = client.post("/api/v1/diffs", body, content_type="application/json").json()
    [row] = get(client, "diffs")["diffs"]
    assert report["captions"] == row["captions"] == get(client, f"diffs/{report['id']}")["captions"]
    assert [report["captions"][side]["change"] for side in ("base", "candidate")] == [None, CHANGE]
    assert report["captions"]["base"]["answer"] == ANSWER


def test_row_has_the_model_from_the_changed_step_on(client: Client, source: str) -> None:
    root = Run.objects.get(id=source)
    run = open_run(name=root.name, app=root.app, source_run=root, fork_sequence_no=5)
    copy_steps(
        source_run_id=root.id,
        run_id=run.id,
        first=1,
        last=root.step_count,
        label=Label.EXACT,
        reason=Reason.SOURCE_OUTPUT_REUSED,
    )
    Step.objects.filter(run=run, type=StepType.MODEL, sequence_no__gte=5).update(model="m2")
    assert [row["model"] for row in get(client, "runs")["runs"]] == ["m2", "m1"]


@pytest.mark.parametrize("path", ["runs", "replays", "runs/last/tree"])
def test_captions_of_a_list_take_one_query(client: Client, source: str, path: str) -> None:
    fork(client, source)
    with CaptureQueriesContext(connection) as of_one:
        get(client, path)
    fork(client, source)
    with CaptureQueriesContext(connection) as of_two:
        get(client, path)
    assert len(of_two) == len(of_one)


def test_session_from_before_changes_were_stored(client: Client, source: str) -> None:
    session = fork(client, source)
    ReplaySession.objects.update(change=None)
    change = {"text": "step 4 replaced", "target": "tool answer", "count": 1}
    assert get(client, f"replays/{session['id']}")["change"] == change


def test_run_gets_a_name_and_a_note(client: Client, source: str) -> None:
    digest = Run.objects.get(id=source).content_digest
    naming = {"title": " Cents fix ", "note": "Try it on B-2001, too."}
    renamed = client.patch(f"/api/v1/runs/{source}", naming, content_type="application/json")
    assert (renamed.status_code, renamed.json()["title"], renamed.json()["name"]) == (200, "Cents fix", "order desk")
    client.patch(f"/api/v1/runs/{source}", {"note": ""}, content_type="application/json")
    [row] = get(client, "runs")["runs"]
    assert (row["title"], row["note"]) == ("Cents fix", "")
    assert Run.objects.get(id=source).content_digest == digest
    assert [entry["action"] for entry in get(client, "audit")["entries"]] == ["run_renamed"] * 2
    client.delete(f"/api/v1/runs/{source}")
    assert get(client, f"runs/{source}/deletion")["name"] == "Cents fix"


def test_too_long_name_is_refused(client: Client, source: str) -> None:
    answer = client.patch(f"/api/v1/runs/{source}", {"title": "x" * 121}, content_type="application/json")
    assert (answer.status_code, answer.json()["where"]) == (422, "/title")


def test_run_that_was_deleted_meanwhile_has_an_empty_caption() -> None:
    run = Run(id=new_id(), source_run_id=new_id())
    assert {id: item.caption for id, item in captions_of([run]).items()} == {run.id: NO_CAPTION}
