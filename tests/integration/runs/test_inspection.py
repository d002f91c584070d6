"""Places to inspect in a failing run, and similar passing runs, through the API."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.support.replay_runs import Reply, ToolCall, order_desk
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind, JudgementSource, StepStatus, StepType
from traces.ingest.outcome_rules import OutcomeCriteria, Threshold
from traces.judgements.rule_changes import set_rule
from traces.models import Artifact, Step
from traces.runs.services import record, retention

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


def reward(value: float) -> RecordedJudgement:
    return RecordedJudgement(name="reward", kind=JudgementKind.SCORE, value=value, source=JudgementSource.IMPORT)


def run(name: str, said: str, *, passed: bool, task: int = 1) -> RecordedRun:
    lookup = ToolCall("get_order", {"id": "W-4410"}, "Error: no such order", StepStatus.OK)
    talk = [("Where is my order W-4410?", (lookup, Reply(said)))]
    whole = order_desk(talk)
    return replace(
        whole, external_id=name, name=name, metadata={"task_id": task}, judgements=(reward(1.0 if passed else 0.0),)
    )


def places(client: Client, run_id: Any) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run_id}/places")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_failed_run_shows_places(client: Client) -> None:
    failed = record(run("failed", "It has 37 parts.", passed=False)).run_id
    document = places(client, failed)
    assert [place["kind"] for place in document["places"]] == ["judgement", "hidden_error", "unsupported_claim"]
    assert document["outcome"] == "failed"
    assert document["places"][0]["title"] == "reward (import): 0"
    assert document["unread"] == 0
    assert {kind["kind"]: kind["places"] for kind in document["kinds"]}["hidden_error"] == 1


def test_scores_below_app_threshold_are_places(client: Client) -> None:
    helpful = RecordedJudgement(name="helpful", kind=JudgementKind.SCORE, value=0.4, source=JudgementSource.IMPORT)
    judgement = replace(run("judged", "It is lost.", passed=True), judgements=(reward(1.0), helpful))
    run_id = record(judgement).run_id
    assert "judgement" not in [place["kind"] for place in places(client, run_id)["places"]]
    set_rule("desk", OutcomeCriteria(thresholds={"helpful": Threshold(at_least=0.7)}), by="ops")
    titles = [place["title"] for place in places(client, run_id)["places"] if place["kind"] == "judgement"]
    assert titles == ["helpful (import): 0.4"]


def test_withdrawn_judgements_are_not_places(client: Client) -> None:
    run_id = record(run("judged", "It is lost.", passed=True)).run_id
    for kind in ("fail", "pass"):
        body = {"name": "person", "kind": kind, "step": 2}
        said = client.post(f"/api/v1/runs/{run_id}/judgements", body, content_type="application/json")
        assert said.status_code in (200, 201), said.content
    assert "judgement" not in [place["kind"] for place in places(client, run_id)["places"]]


def test_failed_check_is_one_place(client: Client) -> None:
    check = ToolCall("check", {}, "over the limit", StepStatus.ERROR)
    talk = order_desk([("Where is my order W-4410?", (check, Reply("It is lost.")))])
    key = next(step.key for step in talk.steps if step.type is StepType.TOOL)
    verdict = RecordedJudgement(
        name="check",
        kind=JudgementKind.FAIL,
        source=JudgementSource.VALIDATOR,
        text="over the limit",
        step=key,
    )
    document = places(client, record(replace(talk, judgements=(verdict,))).run_id)
    assert [(place["kind"], place["text"]) for place in document["places"]] == [("judgement", "over the limit")]
    assert [(kind["kind"], kind["places"]) for kind in document["kinds"]] == [("judgement", 1)]


def test_nearest_passing_runs_share_the_task(client: Client) -> None:
    passed = [record(run(f"passed {at}", "It is lost.", passed=True, task=at)).run_id for at in (1, 2)]
    failed = record(run("failed", "It is on its way.", passed=False)).run_id
    [nearest] = places(client, failed)["passing"]
    assert (nearest["id"], nearest["nearness"]) == (str(passed[0]), "same_task")
    other_task = record(run("other", "It is on its way.", passed=False, task=9)).run_id
    assert {item["nearness"] for item in places(client, other_task)["passing"]} == {"same_input"}


def test_damaged_content_is_counted(client: Client) -> None:
    failed = record(run("failed", "It has 37 parts.", passed=False)).run_id
    refs = Step.objects.filter(run_id=failed, type="tool").values("output_ref")
    with retention():
        Artifact.objects.filter(sha256__in=list(refs.values_list("output_ref", flat=True))).delete()
    document = places(client, failed)
    assert document["unread"] == 1
    assert "hidden_error" not in [place["kind"] for place in document["places"]]


def test_queries_do_not_grow_with_steps(client: Client) -> None:
    counts = []
    for turns in (2, 40):
        talk = [(f"Question {at}?", (Reply(f"Answer {at}{at}."),)) for at in range(turns)]
        run_id = record(replace(order_desk(talk), external_id=f"run {turns}")).run_id
        with CaptureQueriesContext(
            connection,
        ) as query_log:
            places(client, run_id)
        counts.append(len(query_log))
    assert counts[1] <= counts[0] + 2
